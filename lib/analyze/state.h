/*
 * What is known of registers and stack at one point of a function, in terms of what they were at its start; and how one
 * instruction changes that. Architecture-neutral: runs effects, has never seen an instruction.
 */
#ifndef SW_ANALYZE_STATE_H
#define SW_ANALYZE_STATE_H

#include "arch/arch.h"

/*
 * A value, symbolic:
 *   SW_VAL_UNKNOWN   anything
 *   a register       what register `base - 1` held at the start, + off; with deref: the word that lay there, + add
 *   SW_VAL_POINT     a stack pointer made by a computation that is not followed (alignment, alloca): the value made at
 *                    the code offset `point`, + off; deref likewise. SW_POINT_ANY: sp itself at the last branch
 *   SW_VAL_CONST     off
 *   SW_VAL_NEAR      an address: the start of the code + off
 *   SW_VAL_TABLE     an element of the table at the start of the code + off, `point` as the size of SW_EFFECT_ELEMENT;
 *                    with deref: such an element, shifted left by `point` >> SW_TABLE_SHIFT, + the start of the code + add
 * A register's or constant's `point`: so many eighths of a scalable vector are to be added.
 * copy: moved out of sp as it was, perhaps to be moved back.
 * weak: a call has happened since; only a stack probe keeps such a register, and the move to sp that follows it tells.
 */
enum { SW_VAL_UNKNOWN = 0, SW_VAL_POINT = 64, SW_VAL_CONST = 65, SW_VAL_NEAR = 66, SW_VAL_TABLE = 67 };

#define SW_POINT_ANY UINT32_MAX

enum { SW_TABLE_SHIFT = 16 };

struct sw_val {
    uint8_t base;
    bool deref;
    bool weak;
    bool copy;
    uint32_t point;
    int32_t off;
    int32_t add;
};

/* A stack word whose content is known: where (a value), and what. */
struct sw_slot {
    struct sw_val at;
    struct sw_val holds;
};

enum { SW_STATE_SLOTS = 28 };

/*
 * reg       By register number of regs.h; pc's entry is where a return leads.
 * ret_at    From where a return loaded pc.
 * slots     The first slot_count, in the order of their making.
 * compared  The last two registers compared, SW_NOREG: none.  limit  What compared[0] was compared with, if a constant.
 * bound     An index is known to be below it, by a compare and branch a few instructions ago; 0: nothing is known.
 * fp_above_sp  How far fp was above sp at the start, where that is known (has_distance): a word stored through one of
 *           them may be loaded through the other.
 */
struct sw_state {
    struct sw_val reg[SW_REGS_MAX];
    struct sw_val ret_at;
    int32_t fp_above_sp;
    int32_t limit;
    uint32_t bound;
    uint8_t compared[2];
    bool has_distance;
    uint8_t slot_count;
    struct sw_slot slots[SW_STATE_SLOTS];
};

/* Every register holds itself, no slot is known. */
void sw_state_start(struct sw_state *state);

/* What is known, no more: the bytes behind the last slot are not copied. */
void sw_state_copy(struct sw_state *to, const struct sw_state *from);

/* Runs the effects of one instruction at the code offset `point`. */
void sw_state_run(struct sw_state *state, const struct sw_arch *arch, const struct sw_insn *insn, uint32_t point);

/* A call is about to be made, or has been: what lies below sp is its to overwrite. */
void sw_state_give_below(struct sw_state *state, const struct sw_arch *arch);

/* On the way on which the last compare found equality: sp is what it was compared with. */
void sw_state_equal(struct sw_state *state, const struct sw_arch *arch);

/*
 * Forgets what does not matter across blocks, so that states of different paths become the same. forward: the start is
 * not the function's, and words loaded from its frame may be saved registers.
 */
void sw_state_trim(struct sw_state *state, const struct sw_arch *arch, bool forward);

/* Whether two trimmed states are the same; what holds in both (at the code offset `point` where they meet). */
bool sw_state_same(const struct sw_state *a, const struct sw_state *b);
void sw_state_meet(struct sw_state *state, const struct sw_state *other, const struct sw_arch *arch, uint32_t point);

/*
 * Whether fp says in both where the frame is, the same: then sp may be moved as the code likes (alloca). sp is
 * somewhere below fp: one such state is like another.
 */
bool sw_state_share_frame(const struct sw_state *a, const struct sw_state *b, const struct sw_arch *arch);
void sw_state_lose_sp(struct sw_state *state, const struct sw_arch *arch);

bool sw_val_same(struct sw_val a, struct sw_val b);
/* The start value of register n, itself. */
bool sw_val_is_start(struct sw_val v, unsigned n);
/* v + off, unknown when it cannot be expressed. */
struct sw_val sw_val_plus(struct sw_val v, int64_t off);
/* The content of the word at `at`: a known slot's, else a word of the start's memory, else unknown. */
struct sw_val sw_state_word(const struct sw_state *state, const struct sw_arch *arch, struct sw_val at);

#endif

/*
 * What is known of registers and stack at one point of a function, in terms of their values at its start; and how one
 * instruction changes that. Runs effects, independent of the machine; refuses to know instructions.
 */
#ifndef SW_ANALYZE_STATE_H
#define SW_ANALYZE_STATE_H

#include "arch/arch.h"

/*
 * A symbolic value:
 *   SW_VAL_UNKNOWN   anything
 *   a register       what register `base - 1` held at the start, + off; with deref: the word at that address, + add
 *   SW_VAL_POINT     a stack pointer from a computation that is not followed (alignment, alloca): the value made at the
 *                    code offset `point`, + off; deref as above. SW_POINT_SP: sp itself at the last branch
 *   SW_VAL_CONST     off
 *   SW_VAL_NEAR      an address: the start of the code + off
 *   SW_VAL_TABLE     an element of the table at the start of the code + off, `point` as the size of SW_EFFECT_ELEMENT;
 *                    with deref: such an element, shifted left by `point` >> SW_TABLE_SHIFT, + the code's start + add
 *
 * For a register or constant, `point` counts eighths of a scalable vector to be added.
 * copy  Moved out of sp unchanged, perhaps to be moved back. Of SW_VAL_NEAR: it may be a switch's table, see
 *       control_flow.h.
 * weak  A call has happened since. Only a stack probe preserves such a register; a move of it to sp shows that one did.
 */
enum { SW_VAL_UNKNOWN = 0, SW_VAL_POINT = 64, SW_VAL_CONST = 65, SW_VAL_NEAR = 66, SW_VAL_TABLE = 67 };

#define SW_POINT_SP UINT32_MAX

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

/* A stack word with known content: its address and what it holds. at.weak: sp has risen above it since. */
struct sw_slot {
    struct sw_val at;
    struct sw_val holds;
};

enum { SW_STATE_SLOTS = 28 };

/*
 * How far fp is above sp where a run starts. is_used: the answer depends on that, or on its not being known.
 */
struct sw_fp_distance {
    int32_t above_sp;
    bool is_known;
    bool is_used;
};

/*
 * reg          By register number of regs.h; pc's entry is where a return leads.
 * ret_at       The address from which a return loaded pc.
 * slots        The first slot_count are valid, in the order in which they were stored.
 * compared     The last two registers compared; SW_NOREG: none.
 * limit        What compared[0] was compared with, if a constant.
 * bound        An index is known to be below it, by a compare and branch a few instructions ago; 0: nothing is known.
 * fp           How far fp was above sp at the start, if that is known: then a word stored through one of them can be
 *              loaded through the other. May be null.
 */
struct sw_state {
    struct sw_val reg[SW_REGS_MAX];
    struct sw_val ret_at;
    struct sw_fp_distance *fp;
    int32_t limit;
    uint32_t bound;
    uint8_t compared[2];
    uint8_t slot_count;
    struct sw_slot slots[SW_STATE_SLOTS];
};

/* The start: every register holds itself, no slot is known. */
void sw_state_start(struct sw_state *state);

/* Copies only what is valid: the bytes behind the last slot are not copied. */
void sw_state_copy(struct sw_state *to, const struct sw_state *from);

/* Runs the effects of one instruction at the code offset `point`. */
void sw_state_run(struct sw_state *state, const struct sw_arch *arch, const struct sw_insn *insn, uint32_t point);

/* At an indirect jump: whether it goes where the word popped last says. Then the state is as behind a return. */
bool sw_state_returns(struct sw_state *state, const struct sw_arch *arch);

/* Forgets words below sp: a call is about to be made, or has been, and may overwrite them. */
void sw_state_forget_below_sp(struct sw_state *state, const struct sw_arch *arch);

/* On the path on which the last compare found equality: sp is what it was compared with. */
void sw_state_assume_equal(struct sw_state *state, const struct sw_arch *arch);

/*
 * Forgets what does not matter across blocks, so that states of different paths become equal. forward: the start is not
 * the function's, so words loaded from its frame may be saved registers.
 */
void sw_state_trim(struct sw_state *state, const struct sw_arch *arch, bool forward);

/*
 * same: whether two trimmed states are equal. meet: keeps what holds in both; `point` is the code offset where they
 * meet.
 */
bool sw_state_same(const struct sw_state *a, const struct sw_state *b);
void sw_state_meet(struct sw_state *state, const struct sw_state *other, const struct sw_arch *arch, uint32_t point);

/*
 * share_frame: whether fp locates the frame in both states, and equally; then the code may move sp freely (alloca).
 * lose_sp: sp is only known to be below fp, so all such states are equal.
 */
bool sw_state_share_frame(const struct sw_state *a, const struct sw_state *b, const struct sw_arch *arch);
void sw_state_lose_sp(struct sw_state *state, const struct sw_arch *arch);

bool sw_val_same(struct sw_val a, struct sw_val b);
/* Whether v is the start value of register n. */
bool sw_val_is_start(struct sw_val v, unsigned n);
/* v + off; unknown when that cannot be expressed. */
struct sw_val sw_val_plus(struct sw_val v, int64_t off);
/* The content of the word at `at`: a known slot's, else a word of memory at the start, else unknown. */
struct sw_val sw_state_word(const struct sw_state *state, const struct sw_arch *arch, struct sw_val at);

#endif

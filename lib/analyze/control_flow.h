/*
 * Paths and blocks: what the analyses of a function and forward from a pc share. A path is followed in work->current;
 * where it may come together with others a block keeps its state.
 */
#ifndef SW_ANALYZE_FLOW_H
#define SW_ANALYZE_FLOW_H

#include "analyze/analyze.h"

/*
 * Of blocks and paths. BEHIND_CALL: there by a call's return only, which may never happen. ASSUMED: no path was seen to
 * lead there. A path that is surer than those that came to a block before replaces them. AT_INDIRECT: the block is an
 * indirect jump, kept for what may lie behind it. PADDED, with BEHIND_CALL: filler lies between the call and the block.
 */
enum { SW_BLOCK_BEHIND_CALL = 1, SW_BLOCK_AT_INDIRECT = 2, SW_BLOCK_ASSUMED = 4, SW_BLOCK_PADDED = 8 };

enum { SW_NO_BLOCK = 0xffff, SW_NO_STATE = 0xffff };

/* How far a path's or block's state is from having been seen: 0, behind a call, assumed. */
static inline unsigned sw_flow_doubt(unsigned flags)
{
    return flags & SW_BLOCK_ASSUMED ? 2 : flags & SW_BLOCK_BEHIND_CALL ? 1 : 0;
}

/* blocks.c: the block that begins at an address; that begins nearest in front of it or at it, but below `under`. */
uint16_t sw_flow_block(const struct sw_analysis *w, uint64_t address);
uint16_t sw_flow_block_before(const struct sw_analysis *w, uint64_t address, uint64_t under);
/* A new block at an address, in the state work->other; it is queued unless it is AT_INDIRECT. */
void sw_flow_add_block(struct sw_analysis *w, uint64_t address, uint8_t flags);
void sw_flow_queue(struct sw_analysis *w, uint16_t block);
/* The index of a trimmed state, kept once, or SW_NO_STATE. */
uint16_t sw_flow_intern(struct sw_analysis *w, const struct sw_state *state);
/* sp in a state. */
struct sw_val sw_flow_sp(const struct sw_analysis *w, const struct sw_state *state);
/* Notes an instruction's bytes. Whether a byte was seen as part of one; as the first of one. False far behind begin. */
void sw_flow_mark_seen(struct sw_analysis *w, uint64_t pc, unsigned length);
bool sw_flow_was_seen(const struct sw_analysis *w, uint64_t address);
bool sw_flow_is_start(const struct sw_analysis *w, uint64_t address);

/* A new run from begin with nothing known; what is known of calls that do not return stays. */
void sw_flow_start(struct sw_analysis *w, const struct sw_code *code, uint64_t begin, uint64_t end, bool forward,
                   const int32_t *fp_above_sp);

/* The path in work->current, of the path flags given, comes to an address. */
void sw_flow_arrive(struct sw_analysis *w, uint64_t address, uint8_t flags);

/* The next block to follow; false: none is left. Its state becomes work->current. */
bool sw_flow_next(struct sw_analysis *w, uint64_t *pc);

/* The instruction at pc. False: none, or the budget is used up. */
bool sw_flow_insn(struct sw_analysis *w, uint64_t pc, struct sw_insn *insn);

/* Effects and control flow of an instruction on work->current. False: the path does not go on behind it. */
bool sw_flow_follow(struct sw_analysis *w, const struct sw_insn *insn, uint64_t pc);

/* A block's state. pack.c */
const struct sw_state *sw_flow_state(struct sw_analysis *w, const struct sw_block *block);

/*
 * noreturn.c: whether a call, `next` behind it, was found not to return; sw_flow_blame says so of the one in front of
 * the place `behind` (from begin), and ends the run: what was learnt behind it is wrong. The place behind the call that
 * a block with BEHIND_CALL is there by. Which call a path did not return from, that has sp at `deep` where `right` is
 * right. At a return: a path whose sp is not the entry's.
 */
bool sw_flow_is_dead_call(struct sw_analysis *w, const struct sw_insn *insn, uint64_t next);
void sw_flow_blame(struct sw_analysis *w, uint32_t behind);
uint32_t sw_flow_place_behind(const struct sw_analysis *w, const struct sw_block *block);
uint32_t sw_flow_culprit(const struct sw_analysis *w, uint32_t last, struct sw_val deep, struct sw_val right);
void sw_flow_check_return(struct sw_analysis *w);

/*
 * switch_table.c: the target of a table's element; false: it leads nowhere near. Keeps a table without a bound for later.
 * Whether the words at an address look like the cases of a switch, or it is code of the function itself.
 */
bool sw_flow_element(const struct sw_analysis *w, struct sw_val table, uint32_t i, uint64_t *target);
void sw_flow_keep_table(struct sw_analysis *w, struct sw_val table);
bool sw_flow_may_be_table(const struct sw_analysis *w, uint64_t address);

/*
 * unreached.c: code up to a pc that no path led to is entered in the likeliest state. False: there is none. Whether there may
 * be any.
 */
bool sw_flow_enter_gap(struct sw_analysis *w, uint64_t pc);
bool sw_flow_may_have_gap(struct sw_analysis *w, uint64_t pc);

#endif

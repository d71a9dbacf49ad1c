/*
 * Paths and blocks: what the analysis of a function and the one forward from a pc share. A path is followed in
 * work->current. Where paths may come together, a block keeps a state.
 *
 * The files call each other in one direction: function.c, forward.c → unreached.c → control_flow.c → noreturn.c,
 * switch_table.c, outlined.c → blocks.c; pack.c → blocks.c.
 */
#ifndef SW_ANALYZE_CONTROL_FLOW_H
#define SW_ANALYZE_CONTROL_FLOW_H

#include "analyze/analyze.h"

/*
 * Flags of blocks and paths. A path in less doubt than those that reached a block before replaces their state.
 *
 * AFTER_CALL   Reached only by the return of a call, which may never happen.
 * AT_INDIRECT  The block is an indirect jump, kept for code that may follow it.
 * ASSUMED      No path was seen to lead here.
 * PADDED       With AFTER_CALL: there is padding between the call and the block.
 */
enum { SW_BLOCK_AFTER_CALL = 1, SW_BLOCK_AT_INDIRECT = 2, SW_BLOCK_ASSUMED = 4, SW_BLOCK_PADDED = 8 };

/* BLOCKS_A_UNIT, BYTES_A_UNIT: how many are looked through for one unit of work (struct sw_meter). */
enum { SW_NO_BLOCK = 0xffff, SW_NO_STATE = 0xffff, SW_FLOW_BLOCKS_A_UNIT = 64, SW_FLOW_BYTES_A_UNIT = 256 };

/* How doubtful a path or block is: 0: it was seen; 1: it follows a call; 2: it is assumed. */
static inline unsigned sw_flow_doubt(unsigned flags)
{
    return flags & SW_BLOCK_ASSUMED ? 2 : flags & SW_BLOCK_AFTER_CALL ? 1 : 0;
}

/* ---- blocks.c ---- */

/* The block that begins at an address; or nearest at or in front of it, but below `under`. SW_NO_BLOCK: none. */
uint16_t sw_flow_block(const struct sw_analysis *w, uint64_t address);
uint16_t sw_flow_block_before(const struct sw_analysis *w, uint64_t address, uint64_t under);

/* Adds a block with the state work->other. It is queued, unless it is AT_INDIRECT. */
void sw_flow_add_block(struct sw_analysis *w, uint64_t address, uint8_t flags);
void sw_flow_queue(struct sw_analysis *w, uint16_t block);

/* The index of a trimmed state; equal states are stored once. SW_NO_STATE: no room. */
uint16_t sw_flow_intern(struct sw_analysis *w, const struct sw_state *state);

/* The value of sp in a state. */
struct sw_val sw_flow_sp(const struct sw_analysis *w, const struct sw_state *state);

/* Forgets all blocks and all that was seen: what most functions need of that memory is made ready, the rest later. */
void sw_flow_forget_blocks(struct sw_analysis *w);

/* Notes bytes as seen that are no instruction which was followed: they are not entered again. */
void sw_flow_pass_over(struct sw_analysis *w, uint64_t pc, unsigned length);

/*
 * Notes an instruction's bytes. Whether a byte was seen as part of one: false far from begin; as the first of one:
 * there, it may be said of a byte that was not.
 */
void sw_flow_mark_seen(struct sw_analysis *w, uint64_t pc, unsigned length);
bool sw_flow_was_seen(const struct sw_analysis *w, uint64_t address);
bool sw_flow_is_insn_start(const struct sw_analysis *w, uint64_t address);

/* ---- noreturn.c ---- */

/* Whether a call was found not to return; `next` is its return address. */
bool sw_flow_is_noreturn(struct sw_analysis *w, const struct sw_insn *insn, uint64_t next);

/* Ends the run: what it has learnt is wrong, and the next one will know better. */
void sw_flow_restart(struct sw_analysis *w);

/*
 * Notes that the call with this return point (an offset from begin; 0: none) does not return, and ends the run: what
 * was learnt behind the call is wrong.
 */
void sw_flow_mark_noreturn(struct sw_analysis *w, uint32_t point);

/* Whether an instruction behind a call begins another function: the call does not return. */
bool sw_flow_runs_into_function(const struct sw_analysis *w, const struct sw_insn *insn);

/* The return point of the call through which a block with AFTER_CALL is reached. */
uint32_t sw_flow_return_point(const struct sw_analysis *w, const struct sw_block *block);

/*
 * The call that did not return on a path that has sp at `deep` where `right` is right. last: the return point of the
 * path's last call.
 */
uint32_t sw_flow_find_noreturn(const struct sw_analysis *w, uint32_t last, struct sw_val deep, struct sw_val right);

/* At a return: if sp is not what it was at the entry, notes the call that did not return. */
void sw_flow_check_return(struct sw_analysis *w);

/* ---- switch_table.c ---- */

/* The target of element i of a table. False: it cannot be read, or leads nowhere near. */
bool sw_flow_element(const struct sw_analysis *w, struct sw_val table, uint32_t i, uint64_t *target);

/* Keeps a table without a bound, to be followed when nothing else is left. */
void sw_flow_keep_table(struct sw_analysis *w, struct sw_val table);

/*
 * Addresses of data that is no table, such as strings, would only make states differ. They are forgotten where paths
 * may meet (settle_data), or when they are stored. Those that stay are marked (copy): they were found to look like
 * tables.
 *
 * note_data    In front of each instruction.
 * wants_table  At an indirect jump: whether it goes through such an address that was forgotten before. Then the run
 *              ends, and the next one keeps what is in that register.
 */
void sw_flow_settle_data(struct sw_analysis *w, struct sw_state *state);
void sw_flow_note_data(struct sw_analysis *w, const struct sw_insn *insn);
bool sw_flow_wants_table(struct sw_analysis *w);

/* ---- outlined.c ---- */

/*
 * What a call leads to. OUTLINED: a piece of the caller's own code, which returns, calls functions, or jumps to one
 * that returns to the call.
 */
enum sw_flow_outlined { SW_NOT_OUTLINED, SW_OUTLINED_RETURNS, SW_OUTLINED_CALLS, SW_OUTLINED_JUMPS };

/*
 * Runs what a call leads to, if that is such a piece. next: the call's return address. before: in front of the call,
 * after: behind it; work->other may be either.
 */
enum sw_flow_outlined sw_flow_run_outlined(struct sw_analysis *w, const struct sw_insn *call, uint64_t next,
                                           const struct sw_state *before, struct sw_state *after);

/*
 * In a piece the caller may have its own return address in any register that the piece does not change: the rule at pc
 * keeps them, if what begins where the analysis does has the shape of one, and has not called yet.
 */
void sw_flow_keep_of_caller(struct sw_analysis *w, uint64_t pc, struct sw_rule *rule);

/* ---- control_flow.c ---- */

/* Forgets what one run has learnt for the next one: before the first. */
void sw_flow_forget_runs(struct sw_analysis *w);

/* Starts a run from begin with nothing known, except the calls that were found not to return. */
void sw_flow_start(struct sw_analysis *w, const struct sw_code *code, uint64_t begin, uint64_t end, bool forward,
                   struct sw_fp_distance *fp);

/* The path in work->current, with these flags, reaches an address. */
void sw_flow_arrive(struct sw_analysis *w, uint64_t address, uint8_t flags);

/* The next block to follow; its state becomes work->current. False: none is left. */
bool sw_flow_next(struct sw_analysis *w, uint64_t *pc);

/* Decodes the instruction at pc. False: there is none, or the budget is used up. */
bool sw_flow_insn(struct sw_analysis *w, uint64_t pc, struct sw_insn *insn);

/*
 * Runs an instruction's effects on work->current, and follows its control flow. False: the path ends here; at a return
 * work->returned is set.
 */
bool sw_flow_follow(struct sw_analysis *w, const struct sw_insn *insn, uint64_t pc);

/* Whether an indirect jump drops what is on top of the stack: the end of a thunk that stands for `jmp reg`. */
bool sw_flow_drops(const struct sw_analysis *w, const struct sw_insn *insn);

/* ---- unreached.c ---- */

/* Enters code up to pc that no path reached, in the likeliest state. False: there is no such code. */
bool sw_flow_enter_unreached(struct sw_analysis *w, uint64_t pc);

/* Whether pc may be in such code. */
bool sw_flow_may_be_unreached(struct sw_analysis *w, uint64_t pc);

/* ---- pack.c ---- */

/* A block's state, unpacked if need be. */
const struct sw_state *sw_flow_state(struct sw_analysis *w, const struct sw_block *block);

#endif

/*
 * A memo from the inside: how a call of sw_snapshot asks it and has itself noted (memo.h).
 */
#ifndef SW_NOTING_H
#define SW_NOTING_H

#include "snapshot/call.h"
#include "snapshot/memo.h"

/* ---- for sw_snapshot ---- */

/* The noted answer, if it holds: the call is entered as by the ladder, and the callbacks are made. */
bool sw_memo_recall(struct sw_call *call, HRESULT *hr);

/* Around a call that was not recalled. */
void sw_memo_begin(struct sw_call *call);
void sw_memo_end(struct sw_call *call, HRESULT hr);

/* ---- for the fold; memo: that of a call whose answer is being noted ---- */

/* A step from a frame to the caller, both as the walk knows them; the frame's entry is as it was before the step. */
struct sw_memo_frame {
    uint64_t step, slots, pc, sp, fp;
};
struct sw_memo_frame sw_memo_frame_of(const struct sw_walk *walk);
void sw_memo_note_step(struct sw_memo *memo, const struct sw_memo_frame *from, const struct sw_walk *to);

/* A frame of a batch. */
void sw_memo_note_frame(struct sw_memo *memo, const struct sw_trace_frame *frame);

/* The walk has ended at that frame. */
void sw_memo_note_end(struct sw_memo *memo, const struct sw_memo_frame *last, enum sw_stop stop);

/* The frames up to here were walked for their registers only; a record gives these of the frame that was reached. */
void sw_memo_note_reached(struct sw_memo *memo, uint64_t given);

/* The frame pointer of the frame where the walk stands is compared. */
void sw_memo_note_use(struct sw_memo *memo);

/* The registers there are kept for a callback that may be made later. */
void sw_memo_note_registers(struct sw_memo *memo);

/* A callback that is being made: where the walk stands, and the CONTEXT, or null. */
struct sw_memo_callback {
    uint64_t pc;
    enum sw_kind kind;
    const BYTE *context;
    ULONG32 size;
};
void sw_memo_note_callback(struct sw_memo *memo, const struct sw_frame_info *info, const struct sw_memo_callback *made);

#endif

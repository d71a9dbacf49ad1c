/*
 * What the parts of the fold share: how far a walk's frames have been folded into callbacks. start.c says where walks
 * start, fold.c goes along them, fold_frame.c decides which frames are told of, and callback.c tells.
 */
#ifndef SW_FOLD_H
#define SW_FOLD_H

#include "snapshot/noting.h"
#include "unwind/unwind.h"

/* What the frame before was. A SWALLOWING frame is managed and hides the run behind it: exception dispatch, a filter.
 */
enum before { NOTHING = 0, MANAGED, SWALLOWING, NATIVE };

/*
 * Frames until now, and how far up the stack and the list of transition records they have come.
 *
 * cursor   In the transition records.  has_record: the one taken last has not been reached yet.  is_noted: it is the
 *          frame's.
 * hidden   Managed frames since the last callback.  has_run: a run in work->run is to be told of; run_hidden: what
 *          hidden was when it was met.
 * not_higher  How many frames lay no higher than the one before.
 * seen     Callbacks that were to be made. Those from the left_from-th up to the left_to-th are left out.
 * noted_flags  ContextFlags of the record whose frame has been reached.
 * shown_pc The pc of the first frame as it was given, if that is padding behind the method. 0: it is not.
 * claimed  The registers that a callback may rely on, by bit; pc: the number of the program counter.
 * context_size  Of the CONTEXT that is handed out; 0: none.
 * unwound_count  How many rows of work->unwound are filled.  unwound_end: above all of them.
 * handler, handler_fp  A handler was met (a catch, finally or fault funclet), and frames are passed over until its
 *          method's own is reached, which has the same frame pointer. 0: none.  handler_is_leaf: it was being executed.
 * replay   The walker's, taken; or null.
 * behind_leaf  The frame before was managed and is the one that was being executed.
 * overtaken  The walk has read a return address that the runtime had just replaced, and stands where it leads.
 */
struct sw_fold {
    struct sw_call *call;
    enum before before;
    uint64_t sp;
    uint64_t cursor;
    uint64_t handler;
    uint64_t handler_fp;
    struct sw_replay *replay;
    unsigned unwound_count;
    uint64_t unwound_end;
    uint64_t claimed;
    unsigned pc;
    ULONG32 context_size;
    uint32_t frames_left;
    uint32_t hidden;
    uint32_t run_hidden;
    uint32_t seen;
    uint32_t not_higher;
    uint32_t left_from, left_to;
    uint64_t shown_pc;
    uint32_t noted_flags;
    bool has_record;
    bool is_noted;
    bool has_run;
    bool documented;
    bool behind_leaf;
    bool handler_is_leaf;
    bool overtaken;
};

/* ---- start.c ---- */

/*
 * Where to start: regs null for nowhere. exact: their pc was being executed. reached: the walk stands there already, in
 * front of its frame.
 */
struct sw_start {
    const struct sw_regs *regs;
    bool exact;
    bool reached;
};

/* Where the first stretch starts, by the flavour; where to go on behind one that ended in a native run. */
struct sw_start sw_fold_start(struct sw_fold *fold);
struct sw_start sw_fold_go_on(struct sw_fold *fold);

/* sw_walk_next of the fold's walk, noted where the answer is. */
bool sw_fold_next(const struct sw_fold *fold);

/* Starts the walk of a stretch, of at most `most` frames. */
void sw_fold_begin_walk(const struct sw_fold *fold, const struct sw_regs *regs, bool exact, uint32_t most);

/*
 * The next record that leads to a managed frame above the stack pointer `above`; those below are passed over for good.
 * Null when there is none.
 */
struct sw_transition *sw_fold_take_record(struct sw_fold *fold, uint64_t above);

/* ---- fold_frame.c ---- */

/* Registers of one frame become those of another: the ones with these numbers, by bit, which from has. */
static inline void sw_fold_take_registers(struct sw_regs *to, const struct sw_regs *from, uint64_t which)
{
    for (uint64_t rest = which; rest != 0; rest &= rest - 1)
        sw_regs_set(to, (unsigned)__builtin_ctzll(rest), from->r[__builtin_ctzll(rest) % SW_REGS_MAX]);
}

/* Notes which parts of the stack exceptions in flight have unwound; before the first frame. */
void sw_fold_find_unwound(struct sw_fold *fold);

/* Takes the next frame. False: the callback wants no more, frames go in circles, or the walk was overtaken. */
enum { SW_FOLD_NOT_HIGHER_MAX = 256 };
bool sw_fold_frame(struct sw_fold *fold, const struct sw_frame *frame);

/*
 * A run is told of when it is known what called into it: the CLR swallows it when that is exception dispatch, through a
 * hidden stub too. At the end there is nothing any more. False: the callback wants no more.
 */
bool sw_fold_report_run(struct sw_fold *fold, bool swallowed);

/*
 * Whether managed frames without flags have nothing to them but to be called back, this one and those above it. sp: of
 * this one. No callback changes that.
 */
static inline bool sw_fold_calls_back_managed(const struct sw_fold *fold, uint64_t sp)
{
    return fold->before == MANAGED && fold->handler == 0 && sp >= fold->unwound_end && !fold->has_run &&
           fold->left_to == 0;
}

/* ---- callback.c ---- */

/* What is the same in every callback. */
void sw_fold_prepare_callbacks(struct sw_fold *fold);

/* From now on callbacks get a CONTEXT with these ContextFlags; 0: with those that it has. */
void sw_fold_set_context_flags(const struct sw_fold *fold, uint32_t flags);

/* From now on their ContextFlags say that a frame was unwound from a call: CONTEXT_UNWOUND_TO_CALL. */
void sw_fold_note_unwound(const struct sw_fold *fold);

/* The record that the next callback's frameInfo refers to. */
static inline struct sw_frame_info *sw_fold_next_record(const struct sw_fold *fold)
{
    const uint32_t turn = fold->documented ? fold->call->reported % SW_FRAME_RECORDS : 0;
    return &fold->call->work->records[turn];
}

/* Calls back for a frame, with its registers or with noted ones. False: the callback wants no more. */
bool sw_fold_call_back(struct sw_fold *fold, FunctionID function, const struct sw_frame *frame,
                       const struct sw_regs *regs);

#endif

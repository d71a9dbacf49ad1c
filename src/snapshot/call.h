/*
 * What the rooms of the contract share: one call of sw_snapshot on its way from the door (snapshot.c) down the ladder
 * of checks (ladder.c) into the fold (fold.c); and what all of them ask on the way (call.c).
 */
#ifndef SW_CONTRACT_H
#define SW_CONTRACT_H

#include "snapshot/threads.h"
#include "walk/batch.h"
#include "walk/scratch.h"

#include <snapwalk/context.h>
#include <snapwalk/snapshot.h>

/*
 * Words of engine->state, each of which several callers may change.
 *
 * CALLS  One for each call that goes on; 0: free. Otherwise an address in the call's scratch: of the record whose
 *        callback is running, or an odd one while none is.
 */
enum sw_engine_state {
    SW_STATE_ANSWERING,  /* a call is writing engine->refusal and engine->stop */
    SW_STATE_NEXT_FIRST, /* how many of the following were written */
    SW_STATE_FIRST,      /* OS ids of threads whose first walk of another thread has reported a frame */
    SW_STATE_CALLS = SW_ENGINE_STATE - SW_ENGINE_CALLS,
    SW_STATE_END = SW_ENGINE_STATE
};

static inline uint64_t sw_state_get(const struct sw_engine *engine, unsigned word)
{
    return __atomic_load_n(&engine->state[word], __ATOMIC_RELAXED);
}

enum { SW_FRAME_RECORDS = 16 };

/* Exceptions in flight that are looked at: each caught one inside another's handler is one more. */
enum { SW_UNWOUND_MAX = 16 };

/*
 * Working memory of a call: the last SW_SNAPSHOT_ROOM bytes of the scratch, which the walker leaves alone.
 *
 * walker   The engine's, with the stack bounds of the target.
 * batch    Frames that the walk has not gone to yet.
 * record   The transition record that was taken last.  run: the leaf end of the native run that was met last.
 * noted    Registers of a frame, with what a record says of them.
 * unwound  Parts of the stack that exceptions in flight have unwound.
 * stopped  Registers of the target when it is another thread.
 * records  What frameInfo refers to. The CLR uses one for a whole walk; the documented flavour takes them in turn, so
 *          that a frameInfo kept from one callback to the next can be told.
 */
struct sw_call_work {
    _Alignas(16) uint8_t context[SW_CONTEXT_MAX_BYTES];
    struct sw_walker walker;
    struct sw_walk walk;
    struct sw_batch batch;
    struct sw_transition record;
    struct sw_frame run;
    struct sw_regs noted;
    struct sw_regs stopped;
    struct sw_regs seed;
    struct sw_refusal refusal;
    struct {
        uint64_t low, high;
    } unwound[SW_UNWOUND_MAX];
    struct sw_frame_info records[SW_FRAME_RECORDS];
};

/*
 * One call. Lives on the stack of sw_snapshot, so that a nested call, which may use the same scratch, harms nothing
 * before it is refused; work may be touched from the rung on behind which no other call has the scratch.
 *
 * thread   The target's id; the caller's own for 0; still 0 when the caller is no thread of the table.
 * caller   The caller's OS id; 0: not known.
 * held     The target in the thread table.  rival  Who walks the target already, and is in the way; 0: nobody.
 * live     The call's word of engine->state; null before it has one.
 * own      The caller's real registers, or null.  top  The target's, as far as they are known yet, or null.
 * context  The caller's seed as it came; null once it is dropped.  seed  What the walk may start from, or null.
 * left_out Callbacks that were not made, between the two ends.
 * stop     Why the walk ended.  reason What decided the answer, in a word for people.  reported Callbacks made.
 * refused  More about a refusal, in work; null: there is no more than the reason.
 * memo     May hold the answer; or null.  noting: the memo, while the answer is being noted.
 * locked, suspended  What finishing must undo, beside held and live.
 */
struct sw_call {
    struct sw_engine *engine;
    struct sw_memo *memo;
    struct sw_memo *noting;
    struct sw_scratch *scratch;
    struct sw_call_work *work;
    StackSnapshotCallback *callback;
    void *client_data;
    const BYTE *context;
    ULONG32 context_size;
    ULONG32 info_flags;
    ThreadID thread;
    uint64_t caller;
    struct sw_thread target;
    const struct sw_regs *own;
    const struct sw_regs *top;
    const struct sw_regs *seed;
    enum sw_status suspending;
    struct sw_held held;
    uint64_t rival;
    uint64_t *live;
    uint32_t reported;
    uint32_t left_out;
    enum sw_stop stop;
    const char *reason;
    struct sw_refusal *refused;
    bool locked;
    bool suspended;
};

static inline bool sw_call_is_for_caller(const struct sw_call *call)
{
    return call->caller != 0 && call->target.os_id == call->caller;
}

/* What code is at an exact pc: a range of the code map, a method of a precompiled image, or else native. */
struct sw_range sw_code_at(const struct sw_walker *walker, uint64_t pc);

/*
 * What code the runtime takes an address for that it is given: as sw_code_at; in the coreclr flavours padding right
 * behind a method of the JIT is that method's (clr-contract.md section 2.5).
 */
struct sw_range sw_code_given(const struct sw_engine *engine, uint64_t pc);

static inline bool sw_kind_is_managed(enum sw_kind kind)
{
    return kind == SW_KIND_JIT || kind == SW_KIND_NGEN;
}

static inline bool sw_code_is_managed(const struct sw_range *code)
{
    return sw_kind_is_managed((enum sw_kind)code->kind);
}

/* The id of managed code as the runtime knows it; ip: an address in it. */
FunctionID sw_function_of(const struct sw_engine *engine, const struct sw_range *code, uint64_t ip);

/* The target's transition record behind `*cursor` (0: the innermost), which moves on. False: there is none. */
bool sw_call_record(const struct sw_call *call, uint64_t *cursor, struct sw_transition *record);

/* Asks the runtime about the target as it is now. update: the scratch is the call's, whose walk goes by that, too. */
void sw_call_ask(struct sw_call *call);
void sw_call_update(struct sw_call *call);

/* Whether a CONTEXT of that machine may have that size. */
bool sw_call_is_context_size(enum sw_machine machine, ULONG32 size);

/* Tells the user of a broken rule of conduct. */
void sw_call_report(const struct sw_call *call, enum sw_conduct rule);

/* A refusal to fill in; the reason is added at the end. The scratch must be the call's. */
struct sw_refusal *sw_call_explain(struct sw_call *call);

/* What the call's word is while no callback runs. */
static inline uint64_t sw_call_idle(const struct sw_call *call)
{
    return (uintptr_t)call->work | 1u;
}

/* The frameInfo that may be read from now on; null: none. */
static inline void sw_call_set_live(const struct sw_call *call, const struct sw_frame_info *record)
{
    __atomic_store_n(call->live, record ? (uintptr_t)record : sw_call_idle(call), __ATOMIC_RELAXED);
}

/* A step of the ladder: the call takes a word of engine->state, if one is free. */
void sw_call_enter_engine(struct sw_call *call);

/* Goes down the ladder. True: it ends here with *hr. False: walk. */
bool sw_ladder(struct sw_call *call, HRESULT *hr);

/* Walks and calls back. */
HRESULT sw_fold(struct sw_call *call);

#endif

/*
 * The entry to the contract: sw_snapshot and two small functions beside it. Prepares a call, takes it down the ladder
 * and into the fold, and undoes on every path what was done on the way. Knows no check and no frame.
 *
 * Source: ICorProfilerInfo2::DoStackSnapshot, ICorProfilerInfo::GetFunctionFromIP; clr-contract.md sections 1 and 3.5.
 */
#include "snapshot/noting.h"

#include "clr/clr.h"
#include "unwind/request.h"

#include <assert.h>

static_assert(sizeof(struct sw_call_work) + _Alignof(struct sw_call_work) <= SW_SNAPSHOT_ROOM,
              "the contract's part of the scratch");
static_assert(SW_SNAPSHOT_ROOM < SW_SCRATCH_BYTES, "the contract's part of the scratch");
static_assert(sizeof(void *) != 8 || offsetof(struct sw_frame_info, known) == 40, "the CLR's part of the record");

/* A scratch is aligned for words; a CONTEXT needs 16 bytes. */
static struct sw_call_work *work_of(struct sw_scratch *scratch, const struct sw_walker *walker)
{
    uint8_t *part = (uint8_t *)scratch + sw_scratch_bytes_of(walker) - SW_SNAPSHOT_ROOM;
    const uintptr_t over = (uintptr_t)part % _Alignof(struct sw_call_work);
    return (struct sw_call_work *)(void *)(over ? part + (_Alignof(struct sw_call_work) - over) : part);
}

/* The caller's own OS id and, for thread 0, its ThreadID. */
static void find_caller(struct sw_call *call)
{
    const struct sw_suspender *suspender = call->engine->suspender;
    if (suspender && suspender->current)
        call->caller = suspender->current(suspender->arg);
    if (call->thread == 0)
        call->thread = (ThreadID)sw_threads_id_of(call->engine->threads, call->caller);
}

/* Notes that the caller has walked another thread and received a frame (D26). */
static void note_first_walk(const struct sw_call *call)
{
    enum { CALLERS = SW_STATE_CALLS - SW_STATE_FIRST };
    uint64_t *state = call->engine->state;
    if (call->caller == 0 || sw_call_is_for_caller(call) || call->reported == 0)
        return;
    for (unsigned i = SW_STATE_FIRST; i < SW_STATE_CALLS; i++)
        if (sw_state_get(call->engine, i) == call->caller)
            return;
    const uint64_t turn = __atomic_fetch_add(&state[SW_STATE_NEXT_FIRST], 1, __ATOMIC_RELAXED);
    __atomic_store_n(&state[SW_STATE_FIRST + turn % CALLERS], call->caller, __ATOMIC_RELAXED);
}

/* Of answers that are given at the same moment the engine keeps one, whole. With a memo nobody else has the engine. */
static void keep_answer(const struct sw_call *call, const struct sw_refusal *refusal)
{
    struct sw_engine *engine = call->engine;
    uint64_t *answering = &engine->state[SW_STATE_ANSWERING];
    if (!call->memo && __atomic_exchange_n(answering, 1, __ATOMIC_ACQUIRE) != 0)
        return;
    engine->stop = call->stop;
    if (refusal->hr != S_OK)
        engine->refusal = *refusal;
    if (!call->memo)
        __atomic_store_n(answering, 0, __ATOMIC_RELEASE);
}

static void tell_answer(const struct sw_call *call, const struct sw_refusal *refusal)
{
    const struct sw_answer answer = { .thread = call->thread,
                                      .hr = refusal->hr,
                                      .stop = call->stop,
                                      .callbacks = call->reported,
                                      .left_out = call->left_out,
                                      .refusal = refusal->hr == S_OK ? NULL : refusal };
    if (call->engine->on_answer)
        call->engine->on_answer(call->engine->answer_arg, &answer);
}

/*
 * The target runs and is free before its removal may go on, and before anybody is told. Apart: what is told does not
 * lie on the stack during the walk.
 */
static SW_APART HRESULT finish(struct sw_call *call, HRESULT hr)
{
    const struct sw_suspender *suspender = call->engine->suspender;
    struct sw_refusal refusal = call->refused ? *call->refused : (struct sw_refusal){ 0 };
    if (call->suspended)
        (void)suspender->resume(suspender->arg, call->target.os_id);
    if (call->locked)
        sw_threads_unlock(call->held);
    sw_threads_leave(call->held);
    if (hr == S_OK)
        note_first_walk(call);
    refusal.hr = hr;
    refusal.reason = call->reason;
    keep_answer(call, &refusal);
    if (call->live)
        __atomic_store_n(call->live, 0, __ATOMIC_RELEASE);
    tell_answer(call, &refusal);
    return hr;
}

static bool is_usable(const struct sw_engine *engine)
{
    uint64_t asked = 0;
    for (size_t i = 0; i < sizeof engine->reserved / sizeof engine->reserved[0]; i++)
        asked |= engine->reserved[i];
    return engine->walker && engine->threads && (unsigned)engine->flavour < SW_FLAVOUR_COUNT && asked == 0 &&
           sw_walker_is_usable(engine->walker);
}

HRESULT sw_snapshot(struct sw_engine *engine, struct sw_scratch *scratch, ThreadID thread,
                    StackSnapshotCallback *callback, ULONG32 info_flags, void *client_data, BYTE context[],
                    ULONG32 context_size)
{
    return sw_memo_snapshot(NULL, engine, scratch, thread, callback, info_flags, client_data, context, context_size);
}

HRESULT sw_memo_snapshot(struct sw_memo *memo, struct sw_engine *engine, struct sw_scratch *scratch, ThreadID thread,
                         StackSnapshotCallback *callback, ULONG32 info_flags, void *client_data, BYTE context[],
                         ULONG32 context_size)
{
    struct sw_regs own;
    HRESULT hr = S_OK;
    if (!engine || !scratch || !is_usable(engine))
        return E_INVALIDARG;
    struct sw_call call = { .engine = engine,
                            .memo = memo,
                            .scratch = scratch,
                            .work = work_of(scratch, engine->walker),
                            .callback = callback,
                            .client_data = client_data,
                            .context = context,
                            .context_size = context_size,
                            .info_flags = info_flags,
                            .thread = thread };
    const struct sw_suspender *suspender = engine->suspender;
    find_caller(&call);
    /* Here and not in a callee: the captured frame must exist until the walk is over. */
    const bool captured = suspender && suspender->capture && suspender->capture(suspender->arg, &own) == SW_OK;
    if (captured)
        sw_code_pc(engine->walker, &own);
    call.own = captured ? &own : NULL;
    if (sw_memo_recall(&call, &hr))
        return finish(&call, hr);
    sw_memo_begin(&call);
    if (!sw_ladder(&call, &hr))
        hr = sw_fold(&call);
    sw_memo_end(&call, hr);
    return finish(&call, hr);
}

/* Whether some call's callback with that frameInfo is running. */
static bool is_live(const struct sw_engine *engine, COR_PRF_FRAME_INFO frame_info)
{
    for (unsigned i = SW_STATE_CALLS; i < SW_STATE_END; i++)
        if (sw_state_get(engine, i) == frame_info)
            return (frame_info & 1u) == 0 && frame_info != 0;
    return false;
}

HRESULT sw_frame_info_read(struct sw_engine *engine, COR_PRF_FRAME_INFO frame_info, struct sw_frame_info *info)
{
    if (!engine || !info)
        return E_INVALIDARG;
    if (!is_live(engine, frame_info)) {
        if (engine->on_conduct)
            engine->on_conduct(engine->conduct_arg, SW_CONDUCT_STALE_FRAME, 0);
        return E_INVALIDARG;
    }
    *info = *(const struct sw_frame_info *)frame_info;
    return S_OK;
}

/*
 * In a perf map the id of CoreCLR's JIT code is only its address. The header in front of the code has the real id. 0:
 * the runtime has not prepared the precompiled method, and an address is no id that it could be asked about.
 */
static FunctionID function_at(const struct sw_engine *engine, const struct sw_range *code, uint64_t ip)
{
    const struct sw_walker *walker = engine->walker;
    struct sw_rule rule;
    struct sw_clr_jit_code about;
    const bool is_ours = sw_arch_of(walker->machine) != NULL;
    const bool has_header =
        sw_has_clr_header(code) && code->id == code->begin && is_ours && (walker->flags & SW_WALK_NO_TABLES) == 0;
    if (has_header && sw_clr_jit_rule(walker->machine, code->unwind != SW_UNWIND_CLR_WINDOWS, &walker->memory,
                                      code->begin, code->end, ip, true, &rule, &about) == SW_OK)
        return (FunctionID)about.function;
    if (engine->inspector && (code->flags & SW_RANGE_ADDRESS_ID) != 0)
        return (FunctionID)engine->inspector->function(engine->inspector->arg, ip);
    return sw_function_of(engine, code, ip);
}

HRESULT sw_function_from_ip(const struct sw_engine *engine, uint64_t ip, FunctionID *function)
{
    if (!engine || !engine->walker)
        return E_INVALIDARG;
    const bool documented = engine->flavour == SW_FLAVOUR_DOCUMENTED;
    if (!documented && (engine->runtime & SW_RUNTIME_HEAP_READY) == 0)
        return CORPROF_E_NOT_YET_AVAILABLE;
    ip = sw_code_address(engine->walker, ip);
    const struct sw_range code = sw_code_given(engine, ip);
    const bool is_method = sw_code_is_managed(&code) && (documented || (code.flags & SW_RANGE_HIDDEN) == 0);
    const FunctionID found = is_method ? function_at(engine, &code, ip) : 0;
    if (function && (found != 0 || documented))
        *function = found;
    return found != 0 ? S_OK : E_FAIL;
}

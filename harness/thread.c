/*
 * Threads and their steps: what each does, which callbacks belong to it, and what makes no sense. Who carries it out is
 * the stage's.
 *
 * A step that moves a thread waits while the profiler has the runtime suspended, or walks that thread; a suspension
 * waits for steps that are going on (runtime.c). Callbacks are no moves: they run while the runtime may be suspended.
 */
#include "stage.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code.h"
#include "gate.h"

struct sw_tube_thread *sw_tube_current(const struct sw_tube *tube)
{
    struct sw_tube_thread *thread = sw_tube_playing;
    return thread && thread->tube == tube ? thread : NULL;
}

/* ---- moves ---- */

void sw_tube_begin_move(struct sw_tube_thread *thread)
{
    struct sw_tube *tube = thread->tube;
    pthread_mutex_lock(&tube->moves);
    while ((atomic_load(&tube->suspended) & SW_SUSPENDED_BY_PROFILER) != 0 || atomic_load(&thread->walks) != 0)
        pthread_cond_wait(&tube->moved, &tube->moves);
    tube->moving++;
    pthread_mutex_unlock(&tube->moves);
}

void sw_tube_end_move(struct sw_tube_thread *thread)
{
    struct sw_tube *tube = thread->tube;
    pthread_mutex_lock(&tube->moves);
    tube->moving--;
    pthread_cond_broadcast(&tube->moved);
    pthread_mutex_unlock(&tube->moves);
}

static void move(struct sw_tube_thread *thread, void (*how)(struct sw_tube_thread *thread))
{
    sw_tube_begin_move(thread);
    how(thread);
    sw_tube_end_move(thread);
}

/* ---- what makes no sense ---- */

static enum sw_status usable(const struct sw_tube_thread *thread, const char *step)
{
    if (!thread)
        return SW_E_ARGUMENT;
    if (!atomic_load(&thread->ended))
        return SW_OK;
    return sw_tube_problem_set(thread->tube, SW_E_GONE, "%s: thread %s has ended", step, thread->name);
}

/* The same, and managed code is on top. A spin ends. */
static enum sw_status in_managed(struct sw_tube_thread *thread, const char *step)
{
    const enum sw_status status = usable(thread, step);
    if (status != SW_OK)
        return status;
    const struct sw_tube_frame *top = sw_tube_top(thread);
    if (top && top->kind == SW_FRAME_MANAGED)
        return SW_OK;
    return sw_tube_problem_set(thread->tube, SW_E_NOT_FOUND, "%s: thread %s is not in managed code", step,
                               thread->name);
}

/* Ends a spin, and makes sure that there is room for another frame. */
static enum sw_status ready(struct sw_tube_thread *thread, const char *step)
{
    if (atomic_load(&thread->place) == SW_PLACE_SPINS)
        move(thread, thread->tube->stage->still);
    if (atomic_load(&thread->depth) < SW_TUBE_DEPTH)
        return SW_OK;
    return sw_tube_problem_set(thread->tube, SW_E_LIMIT, "%s: the stack of thread %s has %d frames", step, thread->name,
                               SW_TUBE_DEPTH);
}

static void push(struct sw_tube_thread *thread, enum sw_tube_frame_kind kind, struct sw_tube_function *function,
                 const char *name)
{
    const unsigned depth = atomic_load(&thread->depth);
    struct sw_tube_frame *frame = &thread->frames[depth];
    *frame = (struct sw_tube_frame){ .kind = kind, .function = function };
    if (function)
        frame->code = &function->code[(atomic_load(&function->versions) - 1) % SW_TUBE_VERSIONS];
    else
        snprintf(frame->name, sizeof frame->name, "%s", name ? name : "native");
    frame->regs.machine = thread->tube->machine;
    atomic_store(&thread->depth, depth + 1);
}

/* ---- callbacks on a thread ---- */

struct transition {
    struct sw_tube *tube;
    FunctionID function;
    COR_PRF_TRANSITION_REASON reason;
};

static void into_native(void *arg)
{
    const struct transition *about = arg;
    SW_RAISE(about->tube, ManagedToUnmanagedTransition, about->function, about->function, about->reason);
}

static void into_managed(void *arg)
{
    const struct transition *about = arg;
    SW_RAISE(about->tube, UnmanagedToManagedTransition, about->function, about->function, about->reason);
}

/* Where a frame's kind is left for the other, the profiler hears of it. */
static void tell_transition(struct sw_tube_thread *thread, bool to_managed, const struct sw_tube_function *function,
                            COR_PRF_TRANSITION_REASON reason)
{
    struct transition about = { thread->tube, sw_tube_function_id(function), reason };
    thread->tube->stage->perform(thread, to_managed ? into_managed : into_native, &about);
}

/* ---- code ---- */

/* A mapper is asked once for each function; without one, a function's client id is its own. */
static void map_id(struct sw_tube_function *function)
{
    struct sw_tube *tube = function->tube;
    const FunctionID id = sw_tube_function_id(function);
    BOOL hook = TRUE;
    if (atomic_load(&function->versions) != 0)
        return;
    function->client = id;
    if (tube->mapper2)
        function->client = tube->mapper2(id, tube->mapper_data, &hook);
    else if (tube->mapper)
        function->client = tube->mapper(id, &hook);
    function->hooked = hook != 0 && (atomic_load(&tube->mask_low) & COR_PRF_MONITOR_ENTERLEAVE) != 0;
}

static uint16_t range_flags(uint32_t flags)
{
    return (uint16_t)((flags & SW_TUBE_HIDDEN ? SW_RANGE_HIDDEN : 0) |
                      (flags & SW_TUBE_EH_DISPATCH ? SW_RANGE_EH_DISPATCH : 0));
}

static HRESULT add_version(struct sw_tube_function *function, ReJITID rejit, bool precompiled)
{
    const unsigned versions = atomic_load(&function->versions);
    struct sw_tube_code *code = &function->code[versions % SW_TUBE_VERSIONS];
    if (versions == SW_TUBE_VERSIONS)
        return E_FAIL;
    *code = (struct sw_tube_code){ .rejit = rejit };
    pthread_mutex_lock(&function->tube->lock);
    enum sw_status status = sw_code_make(function, code);
    const struct sw_range range = { .begin = code->begin,
                                    .end = code->end,
                                    .id = sw_tube_function_id(function),
                                    .kind = precompiled ? SW_KIND_NGEN : SW_KIND_JIT,
                                    .unwind = SW_UNWIND_ANALYSIS,
                                    .flags = range_flags(function->flags) };
    if (status == SW_OK)
        status = sw_codemap_add(function->tube->codemap, &range);
    pthread_mutex_unlock(&function->tube->lock);
    if (status != SW_OK)
        return status == SW_E_NO_MEMORY ? E_OUTOFMEMORY : E_FAIL;
    atomic_fetch_add(&function->versions, 1);
    return S_OK;
}

static HRESULT compile_dynamic(struct sw_tube_function *function)
{
    static const BYTE no_il[] = { 0x06, 0x2a }; /* a tiny header; ret */
    const FunctionID id = sw_tube_function_id(function);
    SW_RAISE(function->tube, DynamicMethodJITCompilationStarted, id, id, TRUE, no_il, sizeof no_il);
    const HRESULT hr = add_version(function, 0, false);
    SW_RAISE(function->tube, DynamicMethodJITCompilationFinished, id, id, hr, TRUE);
    return hr;
}

/* False: the profiler does not want the precompiled code, so it is compiled. */
static bool find_precompiled(struct sw_tube_function *function, HRESULT *hr)
{
    const FunctionID id = sw_tube_function_id(function);
    const bool is_first = atomic_load(&function->versions) == 0;
    const bool is_allowed = (atomic_load(&function->tube->mask_low) & COR_PRF_DISABLE_ALL_NGEN_IMAGES) == 0;
    BOOL use = TRUE;
    if (!(function->flags & SW_TUBE_PRECOMPILED) || !is_first || !is_allowed)
        return false;
    SW_RAISE(function->tube, JITCachedFunctionSearchStarted, id, id, &use);
    if (!use)
        return false;
    *hr = add_version(function, 0, true);
    SW_RAISE(function->tube, JITCachedFunctionSearchFinished, id, id, COR_PRF_CACHED_FUNCTION_FOUND);
    return true;
}

HRESULT sw_tube_make_code(struct sw_tube_function *function, ReJITID rejit)
{
    struct sw_tube *tube = function->tube;
    const FunctionID id = sw_tube_function_id(function);
    HRESULT hr = S_OK;
    map_id(function);
    if (function->flags & SW_TUBE_HIDDEN)
        return compile_dynamic(function);
    sw_tube_type_announce(function->type);
    if (find_precompiled(function, &hr))
        return hr;
    if (rejit != 0)
        SW_RAISE(tube, ReJITCompilationStarted, id, id, rejit, TRUE);
    else
        SW_RAISE(tube, JITCompilationStarted, id, id, TRUE);
    hr = add_version(function, rejit, false);
    if (rejit != 0)
        SW_RAISE(tube, ReJITCompilationFinished, id, id, rejit, hr, TRUE);
    else
        SW_RAISE(tube, JITCompilationFinished, id, id, hr, TRUE);
    return hr;
}

struct compilation {
    struct sw_tube_function *function;
    HRESULT hr;
};

static void compile_here(void *arg)
{
    struct compilation *of = arg;
    of->hr = sw_tube_make_code(of->function, 0);
}

enum sw_status sw_tube_compile(struct sw_tube_function *function, struct sw_tube_thread *thread)
{
    struct compilation of = { function, S_OK };
    if (!function)
        return SW_E_ARGUMENT;
    const enum sw_status status = thread ? usable(thread, "compile") : SW_OK;
    if (status != SW_OK)
        return status;
    if (atomic_load(&function->unloaded))
        return sw_tube_problem_set(function->tube, SW_E_GONE, "compile: %s is unloaded", function->name);
    if (thread)
        function->tube->stage->perform(thread, compile_here, &of);
    else
        compile_here(&of);
    if (of.hr == S_OK)
        return SW_OK;
    return sw_tube_problem_set(function->tube, of.hr == E_OUTOFMEMORY ? SW_E_NO_MEMORY : SW_E_LIMIT,
                               "compile: %s has no room for another version", function->name);
}

static bool is_on_a_stack(const struct sw_tube_function *function)
{
    const struct sw_tube *tube = function->tube;
    for (size_t i = 0; i < sw_list_count(&tube->threads); i++) {
        struct sw_tube_thread *const *thread = sw_list_at(&tube->threads, sizeof *thread, i);
        const unsigned depth = atomic_load(&(*thread)->ended) ? 0 : atomic_load(&(*thread)->depth);
        for (unsigned at = 0; at < depth; at++)
            if ((*thread)->frames[at].function == function)
                return true;
    }
    return false;
}

enum sw_status sw_tube_function_unload(struct sw_tube_function *function)
{
    if (!function)
        return SW_E_ARGUMENT;
    struct sw_tube *tube = function->tube;
    const FunctionID id = sw_tube_function_id(function);
    if (atomic_load(&function->unloaded))
        return sw_tube_problem_set(tube, SW_E_GONE, "unload: %s is unloaded already", function->name);
    if (is_on_a_stack(function))
        return sw_tube_problem_set(tube, SW_E_BUSY, "unload: %s is on a stack", function->name);
    if (function->flags & SW_TUBE_HIDDEN)
        SW_RAISE(tube, DynamicMethodUnloaded, id, id);
    else
        SW_RAISE(tube, FunctionUnloadStarted, id, id);
    pthread_mutex_lock(&tube->lock);
    enum sw_status status = SW_OK;
    for (unsigned i = 0; i < atomic_load(&function->versions) && status == SW_OK; i++)
        status = sw_codemap_remove(tube->codemap, function->code[i].begin);
    atomic_store(&function->unloaded, true);
    pthread_mutex_unlock(&tube->lock);
    return status;
}

/* ---- steps ---- */

/* The engine asks the table whether the caller of a walk has run managed code (D22). A walk may hold the thread. */
static void note_managed(const struct sw_tube_thread *thread)
{
    struct sw_thread fact;
    if (sw_threads_find(thread->tube->table, sw_tube_thread_id(thread), &fact) != SW_OK)
        return;
    fact.flags |= SW_THREAD_RAN_MANAGED;
    while (sw_threads_update(thread->tube->table, &fact) == SW_E_BUSY)
        sched_yield();
}

enum sw_status sw_tube_call(struct sw_tube_thread *thread, struct sw_tube_function *function)
{
    enum sw_status status = usable(thread, "call");
    if (status == SW_OK && (!function || function->tube != thread->tube))
        status = sw_tube_problem_set(thread->tube, SW_E_ARGUMENT, "call: thread %s: no such function", thread->name);
    if (status == SW_OK)
        status = ready(thread, "call");
    const struct sw_tube_frame *top = status == SW_OK ? sw_tube_top(thread) : NULL;
    if (top && top->kind == SW_FRAME_HELPER)
        status = sw_tube_problem_set(thread->tube, SW_E_NOT_FOUND, "call: the helper %s cannot call managed code",
                                     top->name);
    if (status == SW_OK && atomic_load(&function->unloaded))
        status = sw_tube_problem_set(thread->tube, SW_E_GONE, "call: %s is unloaded", function->name);
    if (status == SW_OK && atomic_load(&function->versions) == 0)
        status = sw_tube_compile(function, thread);
    if (status != SW_OK)
        return status;
    if (!top || top->kind == SW_FRAME_NATIVE)
        tell_transition(thread, true, function, COR_PRF_TRANSITION_CALL);
    if (!atomic_exchange(&thread->ran_managed, true))
        note_managed(thread);
    sw_tube_begin_move(thread);
    push(thread, SW_FRAME_MANAGED, function, NULL);
    thread->tube->stage->enter(thread);
    sw_tube_end_move(thread);
    sw_tube_hook(thread, true);
    return SW_OK;
}

static enum sw_status go_native(struct sw_tube_thread *thread, enum sw_tube_frame_kind kind, const char *name,
                                const char *step)
{
    enum sw_status status = in_managed(thread, step);
    if (status == SW_OK)
        status = ready(thread, step);
    if (status != SW_OK)
        return status;
    if (kind == SW_FRAME_NATIVE)
        tell_transition(thread, false, sw_tube_top(thread)->function, COR_PRF_TRANSITION_CALL);
    sw_tube_begin_move(thread);
    push(thread, kind, NULL, name);
    thread->tube->stage->enter(thread);
    sw_tube_end_move(thread);
    return SW_OK;
}

enum sw_status sw_tube_native(struct sw_tube_thread *thread, const char *name)
{
    return go_native(thread, SW_FRAME_NATIVE, name, "native");
}

enum sw_status sw_tube_helper(struct sw_tube_thread *thread, const char *name)
{
    return go_native(thread, SW_FRAME_HELPER, name, "helper");
}

enum sw_status sw_tube_give_back(struct sw_tube_thread *thread)
{
    enum sw_status status = usable(thread, "return");
    if (status != SW_OK)
        return status;
    const struct sw_tube_frame *top = sw_tube_top(thread);
    if (!top)
        return sw_tube_problem_set(thread->tube, SW_E_NOT_FOUND, "return: thread %s has no frame", thread->name);
    if (atomic_load(&thread->place) == SW_PLACE_SPINS)
        move(thread, thread->tube->stage->still);
    const struct sw_tube_frame left = *top;
    if (left.kind == SW_FRAME_MANAGED)
        sw_tube_hook(thread, false);
    move(thread, thread->tube->stage->leave);
    top = sw_tube_top(thread);
    if (left.kind == SW_FRAME_NATIVE)
        tell_transition(thread, true, top->function, COR_PRF_TRANSITION_RETURN);
    else if (left.kind == SW_FRAME_MANAGED && (!top || top->kind == SW_FRAME_NATIVE))
        tell_transition(thread, false, left.function, COR_PRF_TRANSITION_RETURN);
    return SW_OK;
}

enum sw_status sw_tube_spin(struct sw_tube_thread *thread)
{
    const enum sw_status status = in_managed(thread, "spin");
    if (status == SW_OK && atomic_load(&thread->place) != SW_PLACE_SPINS)
        move(thread, thread->tube->stage->spin);
    return status;
}

enum sw_status sw_tube_run(struct sw_tube_thread *thread, void (*function)(void *arg), void *arg)
{
    enum sw_status status = usable(thread, "run");
    if (status != SW_OK)
        return status;
    if (!function)
        return sw_tube_problem_set(thread->tube, SW_E_ARGUMENT, "run: thread %s: no function", thread->name);
    const struct sw_tube_frame *top = sw_tube_top(thread);
    const bool is_call = top && top->kind == SW_FRAME_MANAGED;
    if (is_call)
        status = sw_tube_native(thread, "run");
    if (status != SW_OK)
        return status;
    thread->tube->stage->perform(thread, function, arg);
    return is_call ? sw_tube_give_back(thread) : SW_OK;
}

/* ---- birth and end ---- */

struct birth {
    struct sw_tube_thread *thread;
    uint64_t stack_begin, stack_end;
};

/* On the new thread. It is listed before its first callback (clr-contract.md section 8, EnumThreads). */
static void announce_thread(void *arg)
{
    const struct birth *of = arg;
    struct sw_tube_thread *thread = of->thread;
    struct sw_tube *tube = thread->tube;
    const ThreadID id = sw_tube_thread_id(thread);
    WCHAR name[64];
    ULONG units = 0;
    for (; thread->name[units] != 0 && units < sizeof name / sizeof *name; units++)
        name[units] = (WCHAR)(unsigned char)thread->name[units];
    SW_RAISE(tube, ThreadCreated, id, id);
    SW_RAISE(tube, ThreadAssignedToOSThread, id, id, (DWORD)atomic_load(&thread->os_id));
    SW_RAISE(tube, ThreadNameChanged, id, id, units, name);
}

static struct sw_tube_thread *make_thread(struct sw_tube *tube, const char *name)
{
    struct sw_tube_thread *thread = calloc(1, sizeof *thread);
    struct sw_tube_thread **slot = thread ? sw_list_add(&tube->threads, sizeof *slot) : NULL;
    if (slot)
        thread->name = strdup(name);
    if (!slot || !thread->name) {
        free(thread);
        return NULL;
    }
    thread->tube = tube;
    thread->index = sw_list_count(&tube->threads);
    *slot = thread;
    return thread;
}

static bool is_named(const struct sw_tube *tube, const char *name)
{
    for (size_t i = 0; i < sw_list_count(&tube->threads); i++) {
        struct sw_tube_thread *const *thread = sw_list_at(&tube->threads, sizeof *thread, i);
        if (!atomic_load(&(*thread)->ended) && strcmp((*thread)->name, name) == 0)
            return true;
    }
    return false;
}

struct sw_tube_thread *sw_tube_thread_start(struct sw_tube *tube, const char *name)
{
    if (!tube)
        return NULL;
    if (!atomic_load(&tube->started) || atomic_load(&tube->shut_down)) {
        (void)sw_tube_problem_set(tube, SW_E_NOT_FOUND, "thread: the runtime is not running");
        return NULL;
    }
    if (!name || is_named(tube, name)) {
        (void)sw_tube_problem_set(tube, SW_E_EXISTS, "thread: %s", name ? "there is one of that name" : "no name");
        return NULL;
    }
    struct birth of = { .thread = make_thread(tube, name) };
    enum sw_status status = of.thread ? tube->stage->start(of.thread, &of.stack_begin, &of.stack_end) : SW_E_NO_MEMORY;
    if (status == SW_OK) {
        sw_list_publish(&tube->threads);
        const struct sw_thread fact = { .id = sw_tube_thread_id(of.thread),
                                        .os_id = atomic_load(&of.thread->os_id),
                                        .stack_begin = of.stack_begin,
                                        .stack_end = of.stack_end };
        status = sw_threads_add(tube->table, &fact);
    }
    if (status != SW_OK) { /* where it was started it stays in the list, and ends with the tube */
        (void)sw_tube_problem_set(tube, status, "thread: %s cannot be made (%s)", name, sw_status_name(status));
        return NULL;
    }
    tube->stage->perform(of.thread, announce_thread, &of);
    return of.thread;
}

static void tell_of_end(void *arg)
{
    struct sw_tube_thread *thread = arg;
    const ThreadID id = sw_tube_thread_id(thread);
    SW_RAISE(thread->tube, ThreadDestroyed, id, id);
}

/*
 * On the ending thread, whose id is good until the callback returns. The profiler should wait in it for its walks of
 * the thread; what is still going on afterwards is a broken rule (D23).
 */
static void announce_end(struct sw_tube_thread *thread)
{
    struct sw_tube *tube = thread->tube;
    tube->stage->perform(thread, tell_of_end, thread);
    if (atomic_load(&thread->walks) != 0)
        sw_tube_broke(tube, SW_TUBE_DESTROYED_IN_WALK, "ThreadDestroyed", "thread %s was being walked", thread->name);
    while (sw_threads_remove(tube->table, sw_tube_thread_id(thread)) == SW_E_BUSY)
        sched_yield();
}

static enum sw_status return_from_all(struct sw_tube_thread *thread)
{
    enum sw_status status = usable(thread, "end");
    while (status == SW_OK && sw_tube_top(thread))
        status = sw_tube_give_back(thread);
    return status;
}

static void finish(struct sw_tube_thread *thread)
{
    atomic_store(&thread->ended, true);
    thread->tube->stage->end(thread);
}

enum sw_status sw_tube_end(struct sw_tube_thread *thread)
{
    const enum sw_status status = return_from_all(thread);
    if (status != SW_OK)
        return status;
    announce_end(thread);
    finish(thread);
    return SW_OK;
}

static void tell_of_shutdown(void *arg)
{
    struct sw_tube *tube = arg;
    SW_RAISE(tube, Shutdown, 0);
    atomic_store(&tube->shut_down, true);
}

/* Shutdown comes on the first thread that is left, as on the main thread of .NET, without a ThreadDestroyed for it. */
void sw_tube_end_all(struct sw_tube *tube)
{
    struct sw_tube_thread *last = NULL;
    for (size_t i = sw_list_count(&tube->threads); i-- > 0;) {
        struct sw_tube_thread *const *thread = sw_list_at(&tube->threads, sizeof *thread, i);
        if (atomic_load(&(*thread)->ended) || !(*thread)->stage)
            continue;
        if (last)
            (void)sw_tube_end(last);
        last = *thread;
    }
    if (!last || return_from_all(last) != SW_OK) {
        tell_of_shutdown(tube);
        return;
    }
    tube->stage->perform(last, tell_of_shutdown, tube);
    while (sw_threads_remove(tube->table, sw_tube_thread_id(last)) == SW_E_BUSY)
        sched_yield();
    finish(last);
}

ThreadID sw_tube_thread_id(const struct sw_tube_thread *thread)
{
    return thread ? sw_tube_id(SW_ID_THREAD, thread->index) : 0;
}

uint64_t sw_tube_thread_os_id(const struct sw_tube_thread *thread)
{
    return thread ? atomic_load(&thread->os_id) : 0;
}

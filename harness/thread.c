/*
 * Threads and their steps: what each does, which callbacks belong to it, and what makes no sense. Who carries it out is
 * the stage's.
 *
 * A step that moves a thread waits while the profiler has the runtime suspended, or walks that thread; a suspension
 * waits for steps that are going on (runtime.c). Callbacks are no moves: they run while the runtime may be suspended.
 */
#include "stage.h"

#include <stdio.h>

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

enum sw_status sw_tube_usable(const struct sw_tube_thread *thread, const char *step)
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
    const enum sw_status status = sw_tube_usable(thread, step);
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
    enum sw_status status = sw_tube_usable(thread, "call");
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
    enum sw_status status = sw_tube_usable(thread, "return");
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
    enum sw_status status = sw_tube_usable(thread, "run");
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

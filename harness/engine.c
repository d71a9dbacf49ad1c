/*
 * The tube as a target of the library's engine: how its threads are stopped, what mode they are in, and what transition
 * records they would have. Knows the contract's words (mode, record) and no step.
 *
 * A thread that stands is walked without being stopped for real: steps wait for the walk. One that runs a callback, a
 * function of the test, or a loop is stopped by a signal.
 *
 * Source: clr-contract.md sections 2 and 3; clr-observed.md section 1.
 */
#include "stage.h"

#include <snapwalk/self.h>

#include "code.h"

/* A thread that ends while it is walked has to be let go of, too. */
static struct sw_tube_thread *thread_by_os_id(const struct sw_tube *tube, uint64_t os_id)
{
    for (size_t i = 0; i < sw_list_count(&tube->threads); i++) {
        struct sw_tube_thread *const *thread = sw_list_at(&tube->threads, sizeof *thread, i);
        const bool is_there = !atomic_load(&(*thread)->ended) || atomic_load(&(*thread)->walks) != 0;
        if (is_there && atomic_load(&(*thread)->os_id) == os_id)
            return *thread;
    }
    return NULL;
}

/* Holds a thread where it is, unless it moves just now: then waits until it is there. */
static void hold(struct sw_tube_thread *thread)
{
    struct sw_tube *tube = thread->tube;
    pthread_mutex_lock(&tube->moves);
    while (tube->moving != 0)
        pthread_cond_wait(&tube->moved, &tube->moves);
    atomic_fetch_add(&thread->walks, 1);
    pthread_mutex_unlock(&tube->moves);
}

static void let_go(struct sw_tube_thread *thread)
{
    struct sw_tube *tube = thread->tube;
    pthread_mutex_lock(&tube->moves);
    atomic_fetch_sub(&thread->walks, 1);
    pthread_cond_broadcast(&tube->moved);
    pthread_mutex_unlock(&tube->moves);
}

static enum sw_status suspend(void *arg, uint64_t os_id, struct sw_regs *regs)
{
    struct sw_tube *tube = arg;
    struct sw_tube_thread *thread = thread_by_os_id(tube, os_id);
    if (!thread)
        return SW_E_GONE;
    hold(thread);
    if (tube->stage->stopped(thread, regs))
        return SW_OK;
    const enum sw_status status = tube->real.suspend(tube->real.arg, os_id, regs);
    if (status == SW_OK)
        atomic_fetch_add(&thread->signalled, 1);
    else
        let_go(thread);
    return status;
}

static enum sw_status resume(void *arg, uint64_t os_id)
{
    struct sw_tube *tube = arg;
    struct sw_tube_thread *thread = thread_by_os_id(tube, os_id);
    enum sw_status status = SW_OK;
    if (!thread)
        return SW_E_NOT_FOUND;
    if (atomic_load(&thread->signalled) != 0) {
        atomic_fetch_sub(&thread->signalled, 1);
        status = tube->real.resume(tube->real.arg, os_id);
    }
    let_go(thread);
    return status;
}

static uint64_t current(void *arg)
{
    const struct sw_tube_thread *thread = sw_tube_current(arg);
    return thread ? atomic_load(&thread->os_id) : sw_self_thread();
}

/* Of a simulated thread the registers that it has; the conductor's own are of no use. */
static enum sw_status capture_simulated(void *arg, struct sw_regs *regs)
{
    struct sw_tube_thread *thread = sw_tube_current(arg);
    return thread && thread->tube->stage->stopped(thread, regs) ? SW_OK : SW_E_UNSUPPORTED;
}

/* ---- what the runtime knows of a thread ---- */

/* Whether the runtime has noted where the code of this frame was left: by a P/Invoke, a callback, or a suspension. */
static bool has_record(const struct sw_tube_thread *thread, unsigned depth, unsigned at)
{
    const struct sw_tube_frame *frame = &thread->frames[at];
    const bool in_callback = atomic_load(&thread->callbacks) != 0;
    const bool is_suspended = atomic_load(&thread->tube->suspended) != 0;
    if (frame->kind != SW_FRAME_MANAGED)
        return false;
    if (at + 1 == depth)
        return in_callback || is_suspended;
    if (thread->frames[at + 1].kind == SW_FRAME_HELPER)
        return in_callback || is_suspended;
    return thread->frames[at + 1].kind == SW_FRAME_NATIVE;
}

/* The runtime notes where managed code goes on, its stack pointer and frame pointer; no other register (W65). */
static struct sw_regs noted(const struct sw_regs *regs)
{
    const unsigned numbers[] = { sw_regs_pc_number(regs->machine), sw_regs_sp_number(regs->machine),
                                 sw_regs_fp_number(regs->machine) };
    struct sw_regs note = { .machine = regs->machine };
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sw_regs_has(regs, numbers[i]))
            sw_regs_set(&note, numbers[i], regs->r[numbers[i]]);
    return note;
}

static bool record(void *arg, const struct sw_thread *fact, uint64_t *cursor, struct sw_transition *into)
{
    const struct sw_tube_thread *thread = sw_tube_thread_of(arg, (ThreadID)fact->id);
    const unsigned depth = thread ? atomic_load(&thread->depth) : 0;
    for (uint64_t n = *cursor; n < depth; n++) {
        const unsigned at = depth - 1 - (unsigned)n;
        if (!has_record(thread, depth, at))
            continue;
        *cursor = n + 1;
        *into = (struct sw_transition){ .address = sw_regs_sp(&thread->frames[at].regs),
                                        .has_method = true,
                                        .regs = noted(&thread->frames[at].regs) };
        return true;
    }
    *cursor = depth;
    return false;
}

static enum sw_mode mode_of(const struct sw_tube_thread *thread)
{
    const unsigned depth = atomic_load(&thread->depth);
    if (depth == 0 || atomic_load(&thread->tube->suspended) != 0)
        return SW_MODE_PREEMPTIVE;
    if (thread->frames[depth - 1].kind == SW_FRAME_NATIVE)
        return SW_MODE_PREEMPTIVE;
    return atomic_load(&thread->callbacks) != 0 ? SW_MODE_PREEMPTIVE : SW_MODE_COOPERATIVE;
}

static void update(void *arg, struct sw_thread *fact)
{
    const struct sw_tube_thread *thread = sw_tube_thread_of(arg, (ThreadID)fact->id);
    if (!thread)
        return;
    const unsigned depth = atomic_load(&thread->depth);
    const bool is_suspended = atomic_load(&thread->tube->suspended) != 0;
    fact->mode = mode_of(thread);
    fact->flags &=
        ~(SW_THREAD_RAN_MANAGED | SW_THREAD_RESUMABLE_TOP | SW_THREAD_EXCEPTION_PASS2 | SW_THREAD_FORBID_SUSPEND);
    if (atomic_load(&thread->ran_managed))
        fact->flags |= SW_THREAD_RAN_MANAGED;
    if (is_suspended && depth != 0 && thread->frames[depth - 1].kind == SW_FRAME_MANAGED)
        fact->flags |= SW_THREAD_RESUMABLE_TOP;
    if (atomic_load(&thread->dispatching))
        fact->flags |= SW_THREAD_EXCEPTION_PASS2;
    if (sw_tube_in_callback() == SW_CB(RuntimeThreadSuspended)) /* the runtime holds what a suspension needs */
        fact->flags |= SW_THREAD_FORBID_SUSPEND;
}

/* The frames that the second pass has been through, by their stack pointers. */
static bool unwound(void *arg, const struct sw_thread *fact, uint64_t *cursor, uint64_t *low, uint64_t *high)
{
    const struct sw_tube_thread *thread = sw_tube_thread_of(arg, (ThreadID)fact->id);
    const unsigned from = thread ? atomic_load(&thread->unwound) : 0;
    if (from == 0 || *cursor != 0)
        return false;
    *cursor = 1;
    *low = 0;
    *high = sw_regs_sp(&thread->frames[from - 1].regs);
    return true;
}

static uint64_t no_function(void *arg, uint64_t address)
{
    (void)arg, (void)address;
    return 0;
}

static void on_conduct(void *arg, enum sw_conduct rule, ThreadID target)
{
    static const enum sw_tube_rule ours[SW_CONDUCT_COUNT] = { [SW_CONDUCT_MANAGED_SUSPENDER] =
                                                                  SW_TUBE_MANAGED_SUSPENDER,
                                                              [SW_CONDUCT_NO_FIRST_WALK] = SW_TUBE_NO_FIRST_WALK,
                                                              [SW_CONDUCT_NESTED_WALK] = SW_TUBE_NESTED_WALK,
                                                              [SW_CONDUCT_STALE_FRAME] = SW_TUBE_STALE_FRAME };
    struct sw_tube *tube = arg;
    const struct sw_tube_thread *thread = sw_tube_thread_of(tube, target);
    if (rule == SW_CONDUCT_NO_FIRST_WALK && sw_tube_is_initialized(tube))
        return;
    if ((unsigned)rule < SW_CONDUCT_COUNT && !tube->looking)
        sw_tube_broke(tube, ours[rule], "DoStackSnapshot", "thread %s was the target", thread ? thread->name : "?");
}

/* ---- making it ---- */

static enum sw_status make_walker(struct sw_tube *tube)
{
    enum sw_status status = sw_codemap_create(NULL, &tube->codemap);
    if (status == SW_OK)
        status = sw_analysis_cache_create(NULL, 1 << 20, &tube->analysis_cache);
    if (status == SW_OK && !tube->options.simulated)
        status = sw_images_create(NULL, &tube->images);
    if (status == SW_OK && !tube->options.simulated)
        status = sw_self_walker(&tube->walker, tube->codemap, tube->images);
    if (tube->options.simulated)
        tube->walker =
            (struct sw_walker){ .memory = { .read = sw_tube_simulated_read, .arg = tube }, .codemap = tube->codemap };
    tube->walker.machine = tube->machine;
    tube->walker.flags = SW_WALK_NO_FRAME_POINTER; /* .NET guesses nothing */
    tube->walker.analysis_cache = tube->analysis_cache;
    tube->walker.budget = SW_WALK_BUDGET_UNLIMITED;
    return status;
}

enum sw_status sw_tube_engine_create(struct sw_tube *tube)
{
    enum { SUSPENDED_AT_ONCE = 64 };
    enum sw_status status = make_walker(tube);
    if (status == SW_OK)
        status = sw_threads_create(NULL, NULL, NULL, &tube->table);
    if (status == SW_OK && !tube->options.simulated)
        status = sw_self_suspender_create(NULL, 0, SUSPENDED_AT_ONCE, &tube->self_suspender);
    if (status != SW_OK)
        return status;
    if (tube->self_suspender)
        tube->real = sw_self_get_suspender(tube->self_suspender);
    tube->suspender = (struct sw_suspender){ .suspend = suspend,
                                             .resume = resume,
                                             .current = current,
                                             .capture = tube->self_suspender ? tube->real.capture : capture_simulated,
                                             .wait = tube->real.wait,
                                             .arg = tube };
    tube->inspector = (struct sw_inspector){ update, record, unwound, no_function, tube };
    tube->engine = (struct sw_engine){ .walker = &tube->walker,
                                       .threads = tube->table,
                                       .suspender = &tube->suspender,
                                       .inspector = &tube->inspector,
                                       .flavour = tube->options.flavour,
                                       .options = tube->options.simulated ? 0 : SW_ENGINE_OWN_PROCESS,
                                       .loadable = sw_self_loadable,
                                       .on_conduct = on_conduct,
                                       .conduct_arg = tube };
    return sw_profiler_info_create(&tube->engine, NULL, NULL, &tube->inner);
}

enum sw_status sw_tube_engine_refresh(struct sw_tube *tube)
{
    return tube->images ? sw_images_add_self(tube->images) : SW_OK;
}

void sw_tube_engine_destroy(struct sw_tube *tube)
{
    sw_profiler_info_destroy(tube->inner);
    sw_self_suspender_destroy(tube->self_suspender);
    sw_threads_destroy(tube->table);
    sw_analysis_cache_destroy(tube->analysis_cache);
    sw_images_destroy(tube->images);
    sw_codemap_destroy(tube->codemap);
}

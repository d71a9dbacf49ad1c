/*
 * Threads: their birth and their end, as the profiler hears of them, and the end of all of them.
 *
 * Source: clr-contract.md section 8 (EnumThreads); clr-windows-observed.md section 3, behind its table.
 */
#include "stage.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

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
    enum sw_status status = sw_tube_usable(thread, "end");
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

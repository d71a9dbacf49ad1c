/*
 * Events of the CLR → thread table; and what the runtime's own structures say about an address or a thread at the
 * moment of a walk. Knows that only the thread itself can find out where its stack is.
 */
#include "base/hot.h"
#include "clr/internal.h"

/* What is asked of the runtime's structures now is noted in no memo. */
static void ask_unwatched(struct sw_clr *clr)
{
    atomic_fetch_add_explicit(&clr->unwatched, 1, memory_order_relaxed);
}

/* Code may run before its event has come: another thread may still be about to report it. */
bool sw_clr_find(void *arg, uint64_t address, struct sw_range *code)
{
    struct sw_clr *clr = arg;
    const struct sw_memory memory = sw_self_memory();
    ask_unwatched(clr);
    return clr->layout_status == SW_OK && sw_clr_find_code(&clr->layout, &memory, address, code);
}

/* Writers take turns without a lock: removing a thread may wait for a walk, and nothing else must wait with it. */
static enum sw_status put_thread(struct sw_clr *clr, const struct sw_thread *thread)
{
    enum sw_status status;
    for (;;) {
        status = sw_threads_add(clr->threads, thread);
        if (status == SW_OK)
            atomic_fetch_add(&clr->thread_count, 1);
        if (status == SW_E_EXISTS)
            status = sw_threads_update(clr->threads, thread);
        atomic_fetch_add(&clr->thread_changes, 1); /* behind the change: who counted before, asks again */
        if (status != SW_E_BUSY)
            return status;
        sw_clr_host_yield();
    }
}

static void note_thread(struct sw_clr *clr, ThreadID id, DWORD os_id)
{
    struct sw_thread thread;
    if (sw_threads_find(clr->threads, id, &thread) != SW_OK)
        thread = (struct sw_thread){ .id = id };
    thread.os_id = thread.os_id ? thread.os_id : os_id;
    thread.flags |= SW_THREAD_RAN_MANAGED;
    if (thread.stack_end == 0 && thread.os_id == sw_clr_caller(clr) &&
        sw_self_stack(&thread.stack_begin, &thread.stack_end) != SW_OK)
        thread.stack_begin = thread.stack_end = 0;
    if (put_thread(clr, &thread) != SW_OK)
        sw_clr_count_failure(clr);
}

void sw_clr_thread_created(struct sw_clr *clr, ThreadID thread)
{
    DWORD os_id = 0;
    if (clr->info->lpVtbl->GetThreadInfo(clr->info, thread, &os_id) != S_OK)
        os_id = 0;
    note_thread(clr, thread, os_id);
    sw_clr_grow(clr);
}

void sw_clr_thread_assigned(struct sw_clr *clr, ThreadID thread, DWORD os_id)
{
    note_thread(clr, thread, os_id);
}

void sw_clr_thread_destroyed(struct sw_clr *clr, ThreadID thread)
{
    enum sw_status status;
    while ((status = sw_threads_remove(clr->threads, thread)) == SW_E_BUSY)
        sw_clr_host_yield();
    atomic_fetch_add(&clr->thread_changes, 1);
    if (status == SW_OK)
        atomic_fetch_sub(&clr->thread_count, 1);
}

void sw_clr_confirm_layout(struct sw_clr *clr)
{
    const struct sw_memory memory = sw_self_memory();
    const uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    uint64_t begin, end;
    ThreadID thread;
    if (clr->is_confirmed || clr->layout_status != SW_OK || !clr->layout.closed ||
        clr->info->lpVtbl->GetCurrentThreadID(clr->info, &thread) != S_OK || sw_self_stack(&begin, &end) != SW_OK)
        return;
    if (!sw_clr_thread_fits(&clr->layout, &memory, thread, here, end))
        clr->layout_status = SW_E_UNSUPPORTED;
    clr->is_confirmed = true;
}

void sw_clr_add_threads(struct sw_clr *clr)
{
    ICorProfilerInfo4 *info4 = NULL;
    ICorProfilerThreadEnum *threads = NULL;
    ThreadID id;
    ULONG got = 0;
    void *found = NULL;
    if (clr->info->lpVtbl->QueryInterface(clr->info, &IID_ICorProfilerInfo4, &found) == S_OK)
        info4 = found;
    if (!info4 || info4->lpVtbl->EnumThreads(info4, &threads) != S_OK) {
        sw_clr_count_failure(clr);
        return;
    }
    while (threads->lpVtbl->Next(threads, 1, &id, &got) == S_OK && got == 1)
        sw_clr_thread_created(clr, id);
    threads->lpVtbl->Release(threads);
}

/* ---- at the moment of a walk ---- */

/* What a snapshot reads of it is noted. */
static struct sw_memory object_of(const struct sw_clr_lease *lease, uint64_t thread)
{
    return sw_memo_watch(lease->memo, SW_MEMO_OBJECT, sw_clr_object(lease->clr, thread));
}

/* The caller's own stack does not change from here on. */
static struct sw_memory stack_of(const struct sw_clr_lease *lease)
{
    struct sw_memory memory = sw_self_memory();
    memory.window = lease->stack;
    return sw_memo_watch(lease->memo, SW_MEMO_STACK, memory);
}

/*
 * How far the calling thread's own stack may be loaded from. A page of it is asked about when it is first met: to ask
 * is a system call on Windows, dearer than the walk. What a thread uses of its stack stays committed, and the guard
 * page of its growth is below. Whoever guards a page in use later on does so against the thread itself.
 *
 * Source: "Thread Stack Size", "Creating Guard Pages", Microsoft Learn.
 */
static uint64_t own_loadable(struct sw_clr_lease *lease, uint64_t from, const struct sw_thread *thread)
{
    if (lease->asked_by == thread->os_id && from >= lease->asked.begin && lease->asked.end == thread->stack_end)
        return lease->asked.end;
    const uint64_t end = lease->clr->loadable(NULL, from, thread->stack_end);
    lease->asked_by = thread->os_id;
    lease->asked = (struct sw_window){ .begin = from, .end = end };
    return end;
}

/* All of the page that the caller is on is in use. */
static void note_stack(struct sw_clr_lease *lease, const struct sw_thread *thread)
{
    enum { PAGE = 4096 };
    const uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0), page = here / PAGE * PAGE;
    const uint64_t from = page > thread->stack_begin ? page : thread->stack_begin;
    lease->stack = (struct sw_window){ 0 };
    if (here < thread->stack_begin || here >= thread->stack_end)
        return;
    const uint64_t end = own_loadable(lease, from, thread);
    lease->stack = (struct sw_window){ from, end, (const uint8_t *)(uintptr_t)from };
}

/* The caller's own stack is in use from here on: what lies between here and the part that is known is not asked for. */
SW_HOT uint64_t sw_clr_loadable(void *arg, uint64_t from, uint64_t end)
{
    const struct sw_clr_lease *lease = arg;
    const uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    const uint64_t begin = here < lease->stack.begin ? here : lease->stack.begin;
    return from >= begin && from < lease->stack.end ? lease->stack.end : lease->clr->loadable(NULL, from, end);
}

static bool is_managed(void *arg, uint64_t address)
{
    const struct sw_clr *clr = arg;
    struct sw_range range;
    return sw_codemap_find(clr->codemap, address, &range) == SW_OK ||
           sw_images_find_method(clr->images, address, &range) == SW_OK || sw_clr_find(arg, address, &range);
}

SW_HOT void sw_clr_note_hijack(struct sw_clr *clr, const struct sw_memory *object, const struct sw_thread *thread,
                               struct sw_walker *walker)
{
    uint64_t at, by;
    walker->replaced.at = walker->replaced.original = 0;
    if (clr->layout_status == SW_OK && sw_clr_thread_hijack(&clr->layout, object, thread->id, thread->stack_begin,
                                                            thread->stack_end, is_managed, clr, &at, &by)) {
        walker->replaced.at = at;
        walker->replaced.original = by;
    }
}

/*
 * Whether a thread is in a region where it must not be suspended, as in RuntimeThreadSuspended. Where its own count of
 * them is not known: the runtime's answer to the calling thread, about an address that is none of its own, is then
 * another one. The documented contract does not ask.
 */
static bool forbids_suspension(const struct sw_clr_lease *lease, const struct sw_thread *thread)
{
    const struct sw_clr *clr = lease->clr;
    const struct sw_memory object = object_of(lease, thread->id);
    bool forbids;
    if (lease->engine.flavour == SW_FLAVOUR_DOCUMENTED)
        return false;
    if (clr->layout_status == SW_OK && sw_clr_thread_forbids(&clr->layout, &object, thread->id, &forbids))
        return forbids;
    ask_unwatched(lease->clr);
    return thread->os_id == atomic_load(&lease->inside) &&
           clr->info->lpVtbl->GetFunctionFromIP(clr->info, NULL, NULL) == CORPROF_E_ASYNCHRONOUS_UNSAFE;
}

void sw_clr_update(void *arg, struct sw_thread *thread)
{
    struct sw_clr_lease *lease = arg;
    struct sw_clr *clr = lease->clr;
    note_stack(lease, thread);
    thread->flags &= ~(uint32_t)(SW_THREAD_FORBID_SUSPEND | SW_THREAD_EXCEPTION_PASS2);
    if (forbids_suspension(lease, thread))
        thread->flags |= SW_THREAD_FORBID_SUSPEND;
    struct sw_clr_exception exception;
    uint64_t cursor = 0;
    if (clr->layout_status != SW_OK)
        return;
    const struct sw_memory object = object_of(lease, thread->id), stack = stack_of(lease);
    sw_clr_note_hijack(clr, &object, thread, &lease->walker);
    (void)sw_clr_thread_mode(&clr->layout, &object, thread->id, &thread->mode);
    if (sw_clr_thread_exception(&clr->layout, &object, &stack, thread->id, &cursor, &exception) &&
        exception.second_pass && !exception.entered)
        thread->flags |= SW_THREAD_EXCEPTION_PASS2;
}

static bool is_managed_frame(const struct sw_frame *frame)
{
    return frame->code.kind == SW_KIND_JIT || frame->code.kind == SW_KIND_NGEN;
}

/*
 * Unwinds native code up to the managed frame that a record means: so many frames, or all. What leads elsewhere leads
 * nowhere.
 */
static void unwind_native(struct sw_clr_lease *lease, const struct sw_thread *thread, uint32_t native,
                          struct sw_regs *regs)
{
    struct sw_walk *walk = &lease->workspace->walk;
    struct sw_walker walker = lease->walker;
    ask_unwatched(lease->clr);
    walker.memory = sw_self_memory();
    walker.replay = NULL;
    walker.max_frames = native + 1;
    walker.stack_begin = thread->stack_begin;
    walker.stack_end = thread->stack_end;
    sw_walk_start(walk, &walker, &lease->workspace->inner, regs, false);
    uint32_t left = native;
    while (sw_walk_next(walk) && left != 0 && (native != SW_CLR_ALL_NATIVE || !is_managed_frame(&walk->frame)))
        left--;
    if (walk->stop == SW_STOP_NONE && is_managed_frame(&walk->frame))
        *regs = walk->frame.regs;
    else
        regs->known = 0;
}

bool sw_clr_any_record(struct sw_clr_lease *lease, const struct sw_thread *thread, uint64_t *cursor,
                       struct sw_transition *record)
{
    const struct sw_clr *clr = lease->clr;
    uint32_t native;
    if (clr->layout_status != SW_OK)
        return false;
    const struct sw_memory object = object_of(lease, thread->id), stack = stack_of(lease);
    if (!sw_clr_thread_record(&clr->layout, &object, &stack, thread->id, cursor, record, &native))
        return false;
    if (native != 0)
        unwind_native(lease, thread, native, &record->regs);
    return true;
}

/* Native code, too, calls what has to be prepared first. */
bool sw_clr_record(void *arg, const struct sw_thread *thread, uint64_t *cursor, struct sw_transition *record)
{
    struct sw_clr_lease *lease = arg;
    if (!sw_clr_any_record(lease, thread, cursor, record))
        return false;
    if (record->regs.known != 0 && !is_managed(lease->clr, sw_regs_pc(&record->regs) - !record->exact))
        record->regs.known = 0;
    return true;
}

bool sw_clr_unwound(void *arg, const struct sw_thread *thread, uint64_t *cursor, uint64_t *low, uint64_t *high)
{
    const struct sw_clr_lease *lease = arg;
    const struct sw_clr *clr = lease->clr;
    struct sw_clr_exception exception;
    if (clr->layout_status != SW_OK)
        return false;
    const struct sw_memory object = object_of(lease, thread->id), stack = stack_of(lease);
    if (!sw_clr_thread_exception(&clr->layout, &object, &stack, thread->id, cursor, &exception))
        return false;
    *low = exception.second_pass ? exception.low : 0;
    *high = exception.second_pass ? exception.high : 0;
    return true;
}

/*
 * The runtime is not asked: of a precompiled method that it has not prepared it knows nothing, and crashes. What it has
 * prepared is in its table, by the entry that the image's own table gives.
 */
uint64_t sw_clr_function(void *arg, uint64_t address)
{
    struct sw_clr *clr = ((const struct sw_clr_lease *)arg)->clr;
    const struct sw_memory memory = sw_self_memory();
    struct sw_range method;
    uint64_t function;
    ask_unwatched(clr);
    if (clr->layout_status != SW_OK || sw_images_find_method(clr->images, address, &method) != SW_OK ||
        !sw_clr_find_entry(&clr->layout, &memory, method.id, &function))
        return 0;
    return function;
}

/*
 * Walks of the calling thread from its signal handler, beside the contract: frames, addresses alone, a seed. Knows
 * leases and the runtime's notes of managed code; refuses to know DoStackSnapshot.
 */
#include "base/hot.h"
#include "clr/internal.h"

#include "fast/cache.h"

#include <snapwalk/context.h>

/*
 * Where what may be loaded of the calling thread's stack begins: so far below sp that the fast lane serves the frame
 * that stands there. `here` is of a frame that runs meanwhile: a handler's lies below on the same stack, and what is
 * between is in use. Otherwise, on an alternate stack, no other page than that of sp is taken for one that is mapped.
 */
static uint64_t window_begin(const struct sw_thread *thread, uint64_t sp, uint64_t here)
{
    enum { PAGE = 4096 };
    const uint64_t wanted = sp - thread->stack_begin > SW_LANE_BELOW ? sp - SW_LANE_BELOW : thread->stack_begin;
    const uint64_t mapped = here >= thread->stack_begin && here < sp ? here : sp & ~(uint64_t)(PAGE - 1);
    return wanted > mapped ? wanted : mapped;
}

/* Whether lease->thread is the calling one. What another sample has asked the table for is there as a rule. */
SW_HOT static bool knows_thread(struct sw_clr_lease *lease)
{
    const uint64_t self = atomic_load_explicit(&lease->inside, memory_order_relaxed);
    const uint64_t changes = atomic_load(&lease->clr->thread_changes);
    if (lease->thread.os_id == self && lease->thread_as_of == changes)
        return true;
    lease->thread_as_of = changes;
    if (sw_threads_find_os(lease->clr->threads, self, &lease->thread) != SW_OK)
        lease->thread.os_id = 0;
    return lease->thread.os_id == self;
}

/* Declares the calling thread's stack to a walker, if the thread is known. here: of a frame of the caller. */
SW_HOT static void declare_stack(struct sw_walker *walker, struct sw_clr_lease *lease, uint64_t sp, uint64_t here)
{
    struct sw_clr *clr = lease->clr;
    const struct sw_thread *thread = &lease->thread;
    lease->stack = (struct sw_window){ 0 };
    if (!lease->thread.os_id)
        return;
    walker->stack_begin = thread->stack_begin;
    walker->stack_end = thread->stack_end;
    const struct sw_memory object = sw_clr_object(clr, thread->id);
    sw_clr_note_hijack(clr, &object, thread, walker);
    if (sp >= thread->stack_begin && sp < thread->stack_end) {
        const uint64_t begin = window_begin(thread, sp, here), end = sw_clr_loadable(lease, sp, thread->stack_end);
        walker->memory.window = lease->stack = (struct sw_window){ begin, end, (const uint8_t *)(uintptr_t)begin };
    }
}

/* Passes frames to the user's sink, and remembers the sp of the last one. */
struct forwarding {
    bool (*sink)(void *arg, const struct sw_frame *frame);
    void *arg;
    uint64_t sp;
};

static bool forward_frame(void *arg, const struct sw_frame *frame)
{
    struct forwarding *forwarding = arg;
    forwarding->sp = sw_regs_sp(&frame->regs);
    return forwarding->sink(forwarding->arg, frame);
}

/*
 * The runtime's next transition record further out than the last frame. The runtime's assembly code that replaces
 * return addresses or whole contexts cannot be unwound at every instruction, whatever its tables say.
 */
static bool next_record(struct sw_clr_lease *lease, const struct sw_thread *thread, uint64_t sp, uint64_t *cursor,
                        struct sw_transition *record)
{
    while (sw_clr_any_record(lease, thread, cursor, record))
        if (record->regs.known != 0 && sw_regs_sp(&record->regs) > sp)
            return true;
    return false;
}

/*
 * A request from a signal handler. It runs where the thread has as much room as on the lease's stack, whose pages
 * nobody else uses; otherwise on that one, because the interrupted stack may be the alternate one of another handler
 * and nearly used up.
 */
struct request {
    struct sw_clr_lease *lease;
    const void *ucontext;
    struct forwarding forwarding;
    enum sw_stop stop;
    const struct sw_regs *start;
    struct sw_regs *seed;
    enum sw_status status;
};

SW_HOT static void run_request(struct request *request, void (*run)(void *arg))
{
    const struct sw_thread *thread = &request->lease->thread;
    const uint64_t here = (uint64_t)(uintptr_t)request;
    if (knows_thread(request->lease) && here < thread->stack_end && here >= thread->stack_begin + SW_CLR_STACK)
        run(request);
    else
        sw_run_on(request->lease->workspace->stack + SW_CLR_STACK, run, request);
    sw_clr_release_lease(request->lease);
}

static enum sw_stop continue_walk(const struct sw_walker *walker, struct sw_scratch *scratch,
                                  const struct sw_transition *record, struct forwarding *forwarding)
{
    struct sw_walk walk;
    sw_walk_start(&walk, walker, scratch, &record->regs, record->exact);
    while (sw_walk_next(&walk))
        if (!forward_frame(forwarding, &walk.frame))
            return SW_STOP_ABORTED;
    return walk.stop;
}

/* Of walks in handlers. A snapshot is made outside of them, and has no limit. */
static void set_walker(struct sw_walker *walker, const struct sw_clr_lease *lease)
{
    *walker = lease->walker;
    walker->budget = SW_WALK_BUDGET_DEFAULT;
    walker->max_frames = atomic_load(&lease->clr->limit);
}

/* Where the handler's thread was interrupted, and the walker for it. */
struct interrupted {
    struct sw_walker walker;
    struct sw_regs start;
};

/*
 * The least page around a pc that the calling thread was interrupted at: it is mapped for as long as the thread stands
 * there. Only code that the runtime's compiler made is loaded from there, which the runtime's own unwinder loads, too.
 */
static struct sw_window executing(uint64_t pc)
{
    enum { PAGE = 4096 };
    const uint64_t begin = pc & ~(uint64_t)(PAGE - 1);
    return (struct sw_window){ begin, begin + PAGE, (const uint8_t *)(uintptr_t)begin };
}

SW_HOT static bool open_interrupted(const struct request *request, struct interrupted *at)
{
    set_walker(&at->walker, request->lease);
    if (sw_clr_host_registers(at->walker.machine, request->ucontext, &at->start) != SW_OK)
        return false;
    at->walker.code = executing(sw_regs_pc(&at->start));
    declare_stack(&at->walker, request->lease, sw_regs_sp(&at->start), (uint64_t)(uintptr_t)request);
    return true;
}

static enum sw_stop walk_frames(struct sw_clr_lease *lease, const struct interrupted *at, struct forwarding *forwarding)
{
    struct sw_scratch *scratch = &lease->workspace->scratch;
    struct sw_transition record;
    uint64_t cursor = 0;
    enum sw_stop stop = sw_walk_all(&at->walker, scratch, &at->start, forward_frame, forwarding);
    while (lease->thread.os_id && stop != SW_STOP_ROOT && stop != SW_STOP_ABORTED && stop != SW_STOP_FRAME_LIMIT &&
           next_record(lease, &lease->thread, forwarding->sp, &cursor, &record))
        stop = continue_walk(&at->walker, scratch, &record, forwarding);
    return stop;
}

static void walk_request(void *arg)
{
    struct request *request = arg;
    struct interrupted at;
    if (open_interrupted(request, &at))
        request->stop = walk_frames(request->lease, &at, &request->forwarding);
}

enum sw_stop sw_clr_walk(struct sw_clr *clr, const void *ucontext,
                         bool (*sink)(void *arg, const struct sw_frame *frame), void *arg)
{
    struct request request = { .ucontext = ucontext, .forwarding = { sink, arg, 0 }, .stop = SW_STOP_BAD_START };
    request.lease = clr && ucontext && sink ? sw_clr_take_lease(clr, false) : NULL;
    if (request.lease)
        run_request(&request, walk_request);
    return request.stop;
}

/* ---- addresses ---- */

struct pcs {
    struct request request;
    uint64_t *at;
    size_t most;
    size_t count;
};

/* Room for one more is not left: the walk ends. */
static bool keep_pc(void *arg, const struct sw_frame *frame)
{
    struct pcs *pcs = arg;
    if (pcs->count == pcs->most)
        return false;
    pcs->at[pcs->count++] = sw_regs_pc(&frame->regs);
    return true;
}

/* Where addresses alone do not come to the root, frames may, by the runtime's records. */
SW_HOT static void addresses_request(void *arg)
{
    struct pcs *pcs = arg;
    struct sw_clr_lease *lease = pcs->request.lease;
    struct interrupted at;
    if (!open_interrupted(&pcs->request, &at))
        return;
    enum sw_stop *stop = &pcs->request.stop;
    pcs->count = sw_walk_addresses(&at.walker, &lease->workspace->scratch, &at.start, true, pcs->at, pcs->most, stop);
    if (*stop == SW_STOP_ROOT || *stop == SW_STOP_NONE || *stop == SW_STOP_FRAME_LIMIT || !lease->thread.os_id)
        return;
    pcs->count = 0;
    *stop = walk_frames(lease, &at, &pcs->request.forwarding);
    if (*stop == SW_STOP_ABORTED)
        *stop = SW_STOP_NONE;
}

/* A thread begins at its own lease, so that what a lease remembers of a stack is mostly of the same one. */
SW_HOT size_t sw_clr_addresses(struct sw_clr *clr, const void *ucontext, uint64_t *pcs, size_t most, enum sw_stop *stop)
{
    struct pcs walked = { .request = { .ucontext = ucontext, .stop = SW_STOP_BAD_START }, .at = pcs, .most = most };
    walked.request.forwarding = (struct forwarding){ keep_pc, &walked, 0 };
    walked.request.lease = clr && ucontext && pcs && most ? sw_clr_take_lease(clr, true) : NULL;
    if (walked.request.lease)
        run_request(&walked.request, addresses_request);
    if (stop)
        *stop = walked.request.stop;
    return walked.count;
}

enum sw_status sw_clr_find_range(struct sw_clr *clr, uint64_t address, struct sw_range *range)
{
    struct sw_image image;
    if (!clr || !range)
        return SW_E_ARGUMENT;
    if (sw_codemap_find(clr->codemap, address, range) == SW_OK ||
        sw_images_find_method(clr->images, address, range) == SW_OK)
        return SW_OK;
    const bool is_native = sw_images_find(clr->images, address, &image) == SW_OK;
    return !is_native && sw_clr_find(clr, address, range) ? SW_OK : SW_E_NOT_FOUND;
}

/* ---- a seed ---- */

static void seed_request(void *arg)
{
    struct request *request = arg;
    struct sw_clr_lease *lease = request->lease;
    struct sw_walker walker;
    set_walker(&walker, lease);
    declare_stack(&walker, lease, sw_regs_sp(request->start), (uint64_t)(uintptr_t)request);
    request->status = sw_walk_find_seed(&walker, &lease->workspace->scratch, request->start, request->seed, NULL);
}

enum sw_status sw_clr_find_seed(struct sw_clr *clr, const struct sw_regs *start, BYTE context[], ULONG32 size)
{
    struct sw_regs seed;
    struct request request = { .start = start, .seed = &seed };
    if (!clr || !start || !context)
        return SW_E_ARGUMENT;
    request.lease = sw_clr_take_lease(clr, false);
    if (!request.lease)
        return SW_E_BUSY;
    run_request(&request, seed_request);
    return request.status == SW_OK ? sw_context_store(SW_CONTEXT_WIN32, &seed, context, size) : request.status;
}

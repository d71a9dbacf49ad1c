/*
 * Walks of this process' threads, with working memory out of a fixed supply, so that any number of threads and signal
 * handlers can walk at once. Knows leases; what a walk is and what the contract says are the engine's.
 */
#include "runtime/own.h"

#include <snapwalk/context.h>

#include <string.h>
#include <ucontext.h>

/* Code runs before its event has come: another thread may still be on the way to tell of it. */
bool sw_clr_find(void *arg, uint64_t address, struct sw_range *code)
{
    const struct sw_clr *clr = arg;
    const struct sw_memory memory = sw_self_memory();
    return clr->layout_status == SW_OK && sw_clr_find_code(&clr->layout, &memory, address, code);
}

void sw_clr_leases_init(struct sw_clr *clr)
{
    clr->finder = (struct sw_code_finder){ sw_clr_find, clr };
    for (unsigned i = 0; i < SW_CLR_LEASES; i++) {
        struct sw_clr_lease *lease = &clr->leases[i];
        lease->clr = clr;
        lease->scratch = &clr->scratches[i];
        lease->inspector = (struct sw_inspector){ sw_clr_look, sw_clr_record, sw_clr_dead, sw_clr_function, lease };
        lease->walker = (struct sw_walker){ .machine = SW_MACHINE_X64,
                                            .memory = sw_self_memory(),
                                            .codemap = clr->codemap,
                                            .images = clr->images,
                                            .finder = &clr->finder,
                                            .kept = clr->kept,
                                            .cache = clr->cache };
        lease->engine = (struct sw_engine){ .walker = &lease->walker,
                                            .threads = clr->threads,
                                            .suspender = &clr->suspender,
                                            .inspector = &lease->inspector,
                                            .options = SW_ENGINE_OWN_PROCESS };
    }
}

static struct sw_clr_lease *take_lease(struct sw_clr *clr)
{
    const uint64_t self = sw_self_thread();
    for (unsigned i = 0; i < SW_CLR_LEASES; i++) {
        uint64_t nobody = 0;
        if (atomic_load_explicit(&clr->leases[i].inside, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong(&clr->leases[i].inside, &nobody, self))
            return &clr->leases[i];
    }
    return NULL;
}

static void give_back(struct sw_clr_lease *lease)
{
    lease->target = 0;
    atomic_store(&lease->inside, 0);
}

/*
 * Whether the runtime has started, which no event tells. It checks that before it refuses unknown flags, and does
 * nothing more (clr-contract.md section 1, steps 1 and 3).
 */
static uint32_t runtime_of(struct sw_clr *clr)
{
    enum { NO_SUCH_FLAG = 4 };
    ICorProfilerInfo3 *info = clr->info;
    const uint32_t known = atomic_load(&clr->runtime);
    if ((known & SW_RUNTIME_STARTED) != 0 ||
        info->lpVtbl->DoStackSnapshot(info, 0, NULL, NO_SUCH_FLAG, NULL, NULL, 0) == CORPROF_E_STACKSNAPSHOT_UNSAFE)
        return known;
    return atomic_fetch_or(&clr->runtime, SW_RUNTIME_READY) | SW_RUNTIME_READY;
}

HRESULT sw_clr_snapshot(struct sw_clr *clr, enum sw_flavour flavour, ThreadID thread, StackSnapshotCallback *callback,
                        ULONG32 info_flags, void *client_data, BYTE context[], ULONG32 context_size)
{
    struct sw_clr_lease *lease = clr ? take_lease(clr) : NULL;
    if (!lease)
        return clr ? CORPROF_E_STACKSNAPSHOT_UNSAFE : E_INVALIDARG;
    struct sw_engine *engine = &lease->engine;
    engine->flavour = flavour;
    engine->runtime = runtime_of(clr);
    if (clr->info->lpVtbl->GetEventMask(clr->info, &engine->event_mask) != S_OK)
        engine->event_mask = 0;
    engine->context_size = flavour == SW_FLAVOUR_DOCUMENTED ? 0 : SW_CONTEXT_MAX_BYTES;
    const HRESULT hr =
        sw_snapshot(engine, lease->scratch, thread, callback, info_flags, client_data, context, context_size);
    give_back(lease);
    return hr;
}

HRESULT sw_clr_function_from_ip(struct sw_clr *clr, enum sw_flavour flavour, uint64_t ip, FunctionID *function)
{
    if (!clr)
        return E_INVALIDARG;
    const struct sw_clr_lease *any = &clr->leases[0];
    const struct sw_engine engine = {
        .walker = &any->walker, .inspector = &any->inspector, .flavour = flavour, .runtime = runtime_of(clr)
    };
    return sw_function_from_ip(&engine, ip, function);
}

/* In this process a stack can be loaded directly from where its thread stands to its end. */
static void declare_stack(struct sw_walker *walker, const struct sw_clr *clr, uint64_t sp)
{
    struct sw_thread thread;
    if (sw_threads_find_os(clr->threads, sw_self_thread(), &thread) != SW_OK)
        return;
    walker->stack_begin = thread.stack_begin;
    walker->stack_end = thread.stack_end;
    if (sp >= thread.stack_begin && sp < thread.stack_end)
        walker->memory.window = (struct sw_window){ sp, thread.stack_end, (const uint8_t *)(uintptr_t)sp };
}

enum sw_stop sw_clr_walk(struct sw_clr *clr, const void *ucontext,
                         bool (*sink)(void *arg, const struct sw_frame *frame), void *arg)
{
    struct sw_regs start;
    struct sw_clr_lease *lease = NULL;
    if (clr && ucontext && sink &&
        sw_context_load(SW_CONTEXT_UCONTEXT, SW_MACHINE_X64, ucontext, sizeof(ucontext_t), &start) == SW_OK)
        lease = take_lease(clr);
    if (!lease)
        return SW_STOP_BAD_START;
    struct sw_walker walker = lease->walker;
    declare_stack(&walker, clr, sw_regs_sp(&start));
    const enum sw_stop stop = sw_walk_all(&walker, lease->scratch, &start, sink, arg);
    give_back(lease);
    return stop;
}

enum sw_status sw_clr_find_seed(struct sw_clr *clr, const struct sw_regs *start, BYTE context[], ULONG32 size)
{
    struct sw_regs seed;
    if (!clr || !start || !context)
        return SW_E_ARGUMENT;
    struct sw_clr_lease *lease = take_lease(clr);
    if (!lease)
        return SW_E_BUSY;
    struct sw_walker walker = lease->walker;
    declare_stack(&walker, clr, sw_regs_sp(start));
    enum sw_status status = sw_walk_find_seed(&walker, lease->scratch, start, &seed, NULL);
    give_back(lease);
    return status == SW_OK ? sw_context_store(SW_CONTEXT_WIN32, &seed, context, size) : status;
}

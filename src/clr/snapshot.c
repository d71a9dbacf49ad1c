/*
 * Snapshots of this process' threads. Working memory comes from a fixed number of leases, so that any number of threads
 * and signal handlers can walk at once. Knows leases; what a walk is and what the contract says belong to the engine.
 */
#include "base/hot.h"
#include "clr/internal.h"

#include <string.h>

/* Machine and signatures of this process; what its own threads' stacks are is found out in each walk. */
static void note_process(struct sw_walker *walker)
{
    struct sw_walker self;
    struct sw_regs here;
    sw_self_capture(&here);
    walker->machine = here.machine;
    walker->pac_mask = sw_self_walker(&self, NULL, NULL) == SW_OK ? self.pac_mask : 0;
}

static uint32_t options_of(const struct sw_clr *clr)
{
    return SW_ENGINE_OWN_PROCESS | (atomic_load(&clr->both_ends) ? SW_ENGINE_BOTH_ENDS : 0) |
           (sw_clr_host_system() == SW_CLR_WINDOWS ? SW_ENGINE_WINDOWS_CODE : 0) |
           (clr->layout_status == SW_OK && clr->layout.native_dispatch ? SW_ENGINE_NATIVE_DISPATCH : 0);
}

void sw_clr_leases_init(struct sw_clr *clr)
{
    struct sw_walker process;
    note_process(&process);
    clr->finder = (struct sw_code_finder){ sw_clr_find, clr };
    for (unsigned i = 0; i < SW_CLR_LEASES; i++) {
        struct sw_clr_lease *lease = &clr->leases[i];
        lease->clr = clr;
        lease->inspector =
            (struct sw_inspector){ sw_clr_update, sw_clr_record, sw_clr_unwound, sw_clr_function, lease };
        lease->walker = (struct sw_walker){ .machine = process.machine,
                                            .memory = sw_self_memory(),
                                            .codemap = clr->codemap,
                                            .images = clr->images,
                                            .finder = &clr->finder,
                                            .replay = lease->walker.replay,
                                            .pac_mask = process.pac_mask,
                                            .budget = SW_WALK_BUDGET_UNLIMITED };
        lease->engine = (struct sw_engine){ .walker = &lease->walker,
                                            .threads = clr->threads,
                                            .suspender = &clr->suspender,
                                            .inspector = &lease->inspector,
                                            .options = options_of(clr),
                                            .loadable = sw_clr_loadable,
                                            .loadable_arg = lease };
    }
}

/* The caches may have been replaced since the lease was held last. What is found now lasts until it is given back. */
static bool try_lease(struct sw_clr *clr, unsigned i, uint64_t self)
{
    struct sw_clr_lease *lease = &clr->leases[i];
    uint64_t nobody = 0;
    if (atomic_load_explicit(&lease->inside, memory_order_relaxed) != 0 ||
        !atomic_compare_exchange_strong(&lease->inside, &nobody, self))
        return false;
    lease->walker.cache = atomic_load(&clr->cache);
    lease->walker.analysis_cache = atomic_load(&clr->analysis_cache);
    return true;
}

SW_HOT struct sw_clr_lease *sw_clr_take_lease(struct sw_clr *clr, bool own)
{
    const uint64_t self = sw_clr_caller(clr);
    const unsigned count = atomic_load(&clr->lease_count);
    const uint64_t first = own ? self : 0;
    for (unsigned i = 0; i < count; i++) {
        const unsigned n = (unsigned)((first + i) % count);
        if (try_lease(clr, n, self))
            return &clr->leases[n];
    }
    return NULL;
}

/* Prefers the lease with which the caller's stack was walked last, then one never used, then any. */
static struct sw_clr_lease *take_own_lease(struct sw_clr *clr)
{
    const uint64_t self = sw_clr_caller(clr);
    for (unsigned pass = 0; pass < 2; pass++)
        for (unsigned i = 0; i < atomic_load(&clr->lease_count); i++) {
            struct sw_clr_lease *lease = &clr->leases[i];
            if (atomic_load_explicit(&lease->last, memory_order_relaxed) == (pass ? 0 : self) &&
                try_lease(clr, i, self))
                return lease;
        }
    return sw_clr_take_lease(clr, false);
}

SW_HOT void sw_clr_release_lease(struct sw_clr_lease *lease)
{
    const uint64_t turns = atomic_load_explicit(&lease->turns, memory_order_relaxed); /* only its holder counts */
    atomic_store_explicit(&lease->turns, turns + 1, memory_order_relaxed);
    atomic_store_explicit(&lease->inside, 0, memory_order_release);
}

/*
 * Whether the runtime has started, which no event reports. DoStackSnapshot checks that before it refuses unknown flags,
 * and then does nothing more (clr-contract.md section 1, steps 1 and 3).
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

/* The CLR's own; 0: that of the machine's usual one. */
static uint32_t context_size_of(const struct sw_clr *clr)
{
    return clr->layout_status == SW_OK ? clr->layout.context_size : 0;
}

/*
 * Whether the runtime knows the calling thread, whose event has not come yet: the finalizer's loads classes before. It
 * has no managed frame, and the CLR answers so; of a thread that it does not know it says that there is nothing to do.
 */
static bool is_not_told_of(struct sw_clr *clr)
{
    ThreadID id;
    return sw_threads_find_os(clr->threads, sw_clr_caller(clr), NULL) != SW_OK &&
           clr->info->lpVtbl->GetCurrentThreadID(clr->info, &id) == S_OK;
}

HRESULT sw_clr_snapshot(struct sw_clr *clr, enum sw_flavour flavour, ThreadID thread, StackSnapshotCallback *callback,
                        ULONG32 info_flags, void *client_data, BYTE context[], ULONG32 context_size)
{
    struct sw_clr_lease *lease = clr ? take_own_lease(clr) : NULL;
    if (!lease)
        return clr ? CORPROF_E_STACKSNAPSHOT_UNSAFE : E_INVALIDARG;
    struct sw_engine *engine = &lease->engine;
    engine->flavour = flavour;
    engine->runtime = runtime_of(clr);
    if (clr->info->lpVtbl->GetEventMask(clr->info, &engine->event_mask) != S_OK)
        engine->event_mask = 0;
    engine->context_size = flavour == SW_FLAVOUR_DOCUMENTED ? 0 : context_size_of(clr);
    engine->options = options_of(clr);
    lease->walker.max_frames = atomic_load(&clr->limit);
    const uint64_t unwatched = atomic_load_explicit(&clr->unwatched, memory_order_relaxed);
    HRESULT hr = sw_memo_snapshot(lease->memo, engine, &lease->workspace->scratch, thread, callback, info_flags,
                                  client_data, context, context_size);
    if (atomic_load_explicit(&clr->unwatched, memory_order_relaxed) != unwatched)
        sw_memo_spoil(lease->memo); /* another thread's may be meant: then it is noted again */
    if (hr == S_OK && engine->stop == SW_STOP_NONE && thread == 0 && flavour != SW_FLAVOUR_DOCUMENTED &&
        is_not_told_of(clr))
        hr = E_FAIL;
    const uint64_t self = atomic_load_explicit(&lease->inside, memory_order_relaxed);
    atomic_store_explicit(&lease->last, self, memory_order_relaxed);
    sw_clr_release_lease(lease);
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

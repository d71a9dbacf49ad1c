/*
 * Starts and stops following a runtime: its interface, its own description of its structures, and the parts of an
 * engine. Refuses to know events (events.c) and walks (snapshot.c).
 */
#include "clr/internal.h"

#include "common/alloc.h"

#include <dlfcn.h>
#include <string.h>
#include <time.h>

enum { ANALYSIS_CACHE_BYTES = 8 << 20, CACHE_ENTRIES = 1 << 16 };

static void *interface_of(IUnknown *info, const IID *iid)
{
    void *found = NULL;
    if (info->lpVtbl->QueryInterface(info, iid, &found) != S_OK)
        return NULL;
    return found;
}

/* The code of the runtime's object is in the library that exports its data contract descriptor. */
static enum sw_status read_layout(struct sw_clr *clr)
{
    const struct sw_memory memory = sw_self_memory();
    union {
        const void *code;
        HRESULT(STDMETHODCALLTYPE *function)(ICorProfilerInfo3 *, REFIID, void **);
    } in = { .function = clr->info->lpVtbl->QueryInterface };
    Dl_info about;
    if (!dladdr(in.code, &about) || !about.dli_fname)
        return SW_E_NOT_FOUND;
    void *library = dlopen(about.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
    void *descriptor = library ? dlsym(library, "DotNetRuntimeContractDescriptor") : NULL;
    const enum sw_status status =
        descriptor ? sw_clr_layout_read(&memory, (uint64_t)(uintptr_t)descriptor, &clr->alloc, &clr->layout)
                   : SW_E_NOT_FOUND;
    if (library)
        dlclose(library);
    return status;
}

/*
 * The OS id of the calling thread without a system call; a walk used to make several. The clock id of a thread's
 * processor time contains it. Signal safe: both libcs only read their own record of the thread.
 *
 * Source: pthread_getcpuclockid(3); linux/posix-timers.h, MAKE_THREAD_CPUCLOCK.
 */
static uint64_t self_by_clock(void *arg)
{
    enum { KIND_BITS = 3 };
    clockid_t clock;
    (void)arg;
    return pthread_getcpuclockid(pthread_self(), &clock) == 0 ? (uint32_t) ~(clock >> KIND_BITS) : sw_self_thread();
}

static enum sw_status make_parts(struct sw_clr *clr)
{
    enum sw_status status = sw_codemap_create(&clr->alloc, &clr->codemap);
    if (status == SW_OK)
        status = sw_images_create(&clr->alloc, &clr->images);
    if (status == SW_OK)
        status = sw_analysis_cache_create(&clr->alloc, ANALYSIS_CACHE_BYTES, &clr->analysis_cache);
    if (status == SW_OK)
        status = sw_cache_create(&clr->alloc, CACHE_ENTRIES, &clr->cache);
    if (status == SW_OK)
        status = sw_self_suspender_create(&clr->alloc, 0, SW_CLR_LEASES, &clr->suspender_state);
    if (status != SW_OK)
        return status;
    clr->suspender = sw_self_get_suspender(clr->suspender_state);
    if (self_by_clock(NULL) == sw_self_thread())
        clr->suspender.current = self_by_clock;
    status = sw_threads_create(&clr->alloc, clr->suspender.wait, clr->suspender.arg, &clr->threads);
    for (unsigned i = 0; i < SW_CLR_LEASES && status == SW_OK; i++)
        status = sw_replay_create(&clr->alloc, SW_CLR_REPLAY_FRAMES, &clr->leases[i].walker.replay);
    clr->workspaces = clr->alloc.get(clr->alloc.arg, SW_CLR_LEASES * sizeof *clr->workspaces);
    return status == SW_OK && !clr->workspaces ? SW_E_NO_MEMORY : status;
}

/* What is known about the runtime's structures and frames holds for x64 only. */
static bool is_understood_here(void)
{
    struct sw_regs here;
    sw_self_capture(&here);
    return here.machine == SW_MACHINE_X64;
}

enum sw_status sw_clr_create(const struct sw_alloc *alloc, IUnknown *info, struct sw_clr **clr)
{
    if (!info || !clr || !sw_alloc_usable(alloc))
        return SW_E_ARGUMENT;
    if (!is_understood_here())
        return SW_E_UNSUPPORTED;
    const struct sw_alloc from = sw_alloc_resolve(alloc);
    struct sw_clr *made = from.get(from.arg, sizeof *made);
    if (!made)
        return SW_E_NO_MEMORY;
    memset(made, 0, sizeof *made);
    made->alloc = from;
    if (pthread_mutex_init(&made->lock, NULL) != 0) {
        from.put(from.arg, made, sizeof *made);
        return SW_E_OS;
    }
    made->info = interface_of(info, &IID_ICorProfilerInfo3);
    made->info9 = interface_of(info, &IID_ICorProfilerInfo9);
    enum sw_status status = made->info ? make_parts(made) : SW_E_UNSUPPORTED;
    if (status != SW_OK) {
        sw_clr_destroy(made);
        return status;
    }
    made->layout_status = read_layout(made);
    sw_clr_leases_init(made);
    sw_clr_refresh_images(made, true);
    *clr = made;
    return SW_OK;
}

void sw_clr_destroy(struct sw_clr *clr)
{
    if (!clr)
        return;
    const struct sw_alloc to = clr->alloc;
    sw_self_suspender_destroy(clr->suspender_state);
    sw_threads_destroy(clr->threads);
    for (unsigned i = 0; i < SW_CLR_LEASES; i++)
        sw_replay_destroy(clr->leases[i].walker.replay);
    sw_cache_destroy(clr->cache);
    sw_analysis_cache_destroy(clr->analysis_cache);
    sw_images_destroy(clr->images);
    sw_codemap_destroy(clr->codemap);
    if (clr->workspaces)
        to.put(to.arg, clr->workspaces, SW_CLR_LEASES * sizeof *clr->workspaces);
    pthread_mutex_destroy(&clr->lock);
    to.put(to.arg, clr, sizeof *clr);
}

void sw_clr_set_runtime(struct sw_clr *clr, uint32_t set, uint32_t clear)
{
    atomic_fetch_or(&clr->runtime, set);
    atomic_fetch_and(&clr->runtime, ~clear);
}

void sw_clr_set_frame_limit(struct sw_clr *clr, uint32_t max_frames, bool both_ends)
{
    atomic_store(&clr->limit, max_frames);
    atomic_store(&clr->both_ends, both_ends);
}

void sw_clr_get_counts(const struct sw_clr *clr, struct sw_clr_counts *counts)
{
    *counts = (struct sw_clr_counts){ .functions = sw_codemap_count(clr->codemap),
                                      .images = atomic_load(&clr->refreshes),
                                      .threads = sw_threads_list(clr->threads, NULL, 0),
                                      .failures = atomic_load(&clr->failures),
                                      .layout = clr->layout_status };
}

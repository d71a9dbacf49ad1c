/*
 * Starts and stops following a runtime: its interface, its own description of its structures, and the parts of an
 * engine. Refuses to know events (events.c) and walks (snapshot.c).
 */
#include "clr/internal.h"

#include "code/images.h"
#include "common/alloc.h"

#include <string.h>

static void *interface_of(IUnknown *info, const IID *iid)
{
    void *found = NULL;
    if (info->lpVtbl->QueryInterface(info, iid, &found) != S_OK)
        return NULL;
    return found;
}

/* The version that the runtime says of itself; machine and system are this code's own. */
static struct sw_clr_runtime ask_runtime(struct sw_clr *clr)
{
    struct sw_regs here;
    COR_PRF_RUNTIME_TYPE type;
    USHORT instance, major, minor, build, fix;
    sw_self_capture(&here);
    struct sw_clr_runtime runtime = { .machine = here.machine, .system = sw_clr_host_system() };
    if (clr->info->lpVtbl->GetRuntimeInformation(clr->info, &instance, &type, &major, &minor, &build, &fix, 0, NULL,
                                                 NULL) == S_OK)
        runtime.major = major;
    if (runtime.major != 0)
        memcpy(clr->version, (const USHORT[]){ major, minor, build }, sizeof clr->version);
    return runtime;
}

/*
 * The code of the runtime's object is in the file that exports what describes it; or in a library that stands between
 * the runtime and this one.
 */
static enum sw_status read_layout(struct sw_clr *clr)
{
    const struct sw_memory memory = sw_self_memory();
    struct sw_clr_runtime runtime = ask_runtime(clr);
    union {
        const void *code;
        HRESULT(STDMETHODCALLTYPE *function)(ICorProfilerInfo3 *, REFIID, void **);
    } in = { .function = clr->info->lpVtbl->QueryInterface };
    const struct sw_clr_exports exports = sw_clr_host_exports(in.code);
    const struct sw_clr_library library = { exports.begin, exports.end, exports.table };
    if (exports.begin == 0)
        return SW_E_NOT_FOUND;
    sw_images_set_staying(clr->images, exports.begin); /* nobody can unload a runtime */
    runtime.descriptor = exports.descriptor;
    const enum sw_status status = sw_clr_layout_read(&memory, &runtime, &clr->alloc, &clr->layout);
    if (status != SW_OK || !clr->layout.closed)
        return status;
    return library.table ? sw_clr_layout_recognise(&memory, &library, &clr->layout) : SW_E_NOT_FOUND;
}

static enum sw_status make_parts(struct sw_clr *clr)
{
    enum sw_status status = sw_clr_host_create(&clr->alloc, &clr->host);
    if (status == SW_OK)
        status = sw_codemap_create(&clr->alloc, &clr->codemap);
    if (status == SW_OK)
        status = sw_images_create(&clr->alloc, &clr->images);
    if (status == SW_OK)
        status = sw_self_suspender_create(&clr->alloc, 0, SW_CLR_LEASES, &clr->suspender_state);
    if (status != SW_OK)
        return status;
    clr->suspender = sw_clr_host_suspender(clr->suspender_state);
    status = sw_threads_create(&clr->alloc, clr->suspender.wait, clr->suspender.arg, &clr->threads);
    return status == SW_OK ? sw_clr_memory_create(clr) : status;
}

enum sw_status sw_clr_create(const struct sw_alloc *alloc, IUnknown *info, struct sw_clr **clr)
{
    if (!info || !clr || !sw_alloc_usable(alloc))
        return SW_E_ARGUMENT;
    const struct sw_alloc from = sw_alloc_resolve(alloc);
    struct sw_clr *made = from.get(from.arg, sizeof *made);
    if (!made)
        return SW_E_NO_MEMORY;
    memset(made, 0, sizeof *made);
    made->alloc = from;
    made->loadable = sw_self_loadable;
    made->info = interface_of(info, &IID_ICorProfilerInfo3);
    made->info9 = interface_of(info, &IID_ICorProfilerInfo9);
    enum sw_status status = made->info ? make_parts(made) : SW_E_UNSUPPORTED;
    if (status != SW_OK) {
        sw_clr_destroy(made);
        return status;
    }
    made->refresh_from = UINT64_MAX;
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
    sw_clr_memory_destroy(clr);
    sw_images_destroy(clr->images);
    sw_codemap_destroy(clr->codemap);
    sw_clr_host_destroy(clr->host);
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
                                      .cache_bytes = sw_clr_cache_bytes(clr),
                                      .leases = atomic_load(&clr->lease_count),
                                      .layout = clr->layout_status };
}

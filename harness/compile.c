/*
 * Compiling functions: the callbacks of a compilation, by the kind of code; its versions; unloading. Knows no step of a
 * thread and no instruction.
 *
 * Source: clr-observed.md section 2; corprof-abi.md section 7.2.
 */
#include "code.h"
#include "stage.h"

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
    const enum sw_status status = thread ? sw_tube_usable(thread, "compile") : SW_OK;
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

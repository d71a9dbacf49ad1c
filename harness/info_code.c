/*
 * ICorProfilerInfo by subject: where functions' code is, and whose code an address is in. A function may have several
 * versions of code (tiers, ReJIT); addresses are looked up by the library's own object.
 *
 * Source: clr-contract.md section 8; the documentation of each method; dotnet/runtime
 * src/coreclr/vm/proftoeeinterfaceimpl.cpp.
 */
#include "info.h"

#include <string.h>

static struct sw_tube_function *function_of(ICorProfilerInfo15 *This, FunctionID id)
{
    return sw_tube_function_of(sw_info_tube(This), id);
}

/* The library's object is an ICorProfilerInfo15 as well. */
static ICorProfilerInfo15 *inner_of(ICorProfilerInfo15 *This)
{
    return (ICorProfilerInfo15 *)sw_info_tube(This)->inner;
}

/* The version of a function's code that holds an address, null: none. */
static const struct sw_tube_code *version_at(const struct sw_tube_function *function, uint64_t address)
{
    const unsigned versions = atomic_load(&function->versions);
    for (unsigned i = 0; i < versions; i++)
        if (address >= function->code[i].begin && address < function->code[i].end)
            return &function->code[i];
    return NULL;
}

static const struct sw_tube_code *newest(const struct sw_tube_function *function)
{
    const unsigned versions = atomic_load(&function->versions);
    return versions ? &function->code[versions - 1] : NULL;
}

static const struct sw_tube_code *first_of_rejit(const struct sw_tube_function *function, ReJITID rejit)
{
    const unsigned versions = atomic_load(&function->versions);
    for (unsigned i = 0; i < versions; i++)
        if (function->code[i].rejit == rejit)
            return &function->code[i];
    return NULL;
}

/* ---- where code is ---- */

/* Code is in one piece. */
static HRESULT give_code(const struct sw_tube_code *code, ULONG32 capacity, ULONG32 *count, COR_PRF_CODE_INFO infos[])
{
    if (capacity != 0 && !infos)
        return E_INVALIDARG;
    if (!code)
        return CORPROF_E_FUNCTION_NOT_COMPILED;
    if (capacity != 0)
        infos[0] = (COR_PRF_CODE_INFO){ (UINT_PTR)code->begin, (SIZE_T)(code->end - code->begin) };
    SW_OUT(count, 1);
    return S_OK;
}

HRESULT STDMETHODCALLTYPE sw_info_GetCodeInfo2(ICorProfilerInfo15 *This, FunctionID id, ULONG32 capacity,
                                               ULONG32 *count, COR_PRF_CODE_INFO infos[])
{
    const struct sw_tube_function *function = function_of(This, id);
    return function ? give_code(newest(function), capacity, count, infos) : E_INVALIDARG;
}

HRESULT STDMETHODCALLTYPE sw_info_GetCodeInfo(ICorProfilerInfo15 *This, FunctionID id, LPCBYTE *start, ULONG *size)
{
    COR_PRF_CODE_INFO info;
    const HRESULT hr = sw_info_GetCodeInfo2(This, id, 1, NULL, &info);
    if (hr != S_OK)
        return hr;
    SW_OUT(start, (LPCBYTE)info.startAddress);
    SW_OUT(size, (ULONG)info.size);
    return S_OK;
}

HRESULT STDMETHODCALLTYPE sw_info_GetCodeInfo3(ICorProfilerInfo15 *This, FunctionID id, ReJITID rejit, ULONG32 capacity,
                                               ULONG32 *count, COR_PRF_CODE_INFO infos[])
{
    const struct sw_tube_function *function = function_of(This, id);
    return function ? give_code(first_of_rejit(function, rejit), capacity, count, infos) : E_INVALIDARG;
}

/* By the address of its first instruction. */
HRESULT STDMETHODCALLTYPE sw_info_GetCodeInfo4(ICorProfilerInfo15 *This, UINT_PTR start, ULONG32 capacity,
                                               ULONG32 *count, COR_PRF_CODE_INFO infos[])
{
    ICorProfilerInfo15 *inner = inner_of(This);
    FunctionID id = 0;
    const HRESULT hr = inner->lpVtbl->GetFunctionFromIP3(inner, (LPCBYTE)start, &id, NULL);
    const struct sw_tube_function *function = hr == S_OK ? function_of(This, id) : NULL;
    const struct sw_tube_code *code = function ? version_at(function, start) : NULL;
    return give_code(code && code->begin == start ? code : NULL, capacity, count, infos);
}

HRESULT STDMETHODCALLTYPE sw_info_GetNativeCodeStartAddresses(ICorProfilerInfo15 *This, FunctionID id, ReJITID rejit,
                                                              ULONG32 capacity, ULONG32 *count, UINT_PTR starts[])
{
    const struct sw_tube_function *function = function_of(This, id);
    UINT_PTR found[SW_TUBE_VERSIONS];
    ULONG32 there = 0;
    if (!function)
        return E_INVALIDARG;
    const unsigned versions = atomic_load(&function->versions);
    for (unsigned i = 0; i < versions; i++)
        if (function->code[i].rejit == rejit)
            found[there++] = (UINT_PTR)function->code[i].begin;
    SW_OUT(count, there);
    if (starts && capacity < there)
        return SW_E_INSUFFICIENT_BUFFER;
    if (starts && there)
        memcpy(starts, found, there * sizeof *starts);
    return S_OK;
}

/* Whether a version is the first of its ReJITID. */
static bool is_first_of_rejit(const struct sw_tube_function *function, unsigned version)
{
    return first_of_rejit(function, function->code[version].rejit) == &function->code[version];
}

HRESULT STDMETHODCALLTYPE sw_info_GetReJITIDs(ICorProfilerInfo15 *This, FunctionID id, ULONG capacity, ULONG *count,
                                              ReJITID ids[])
{
    const struct sw_tube_function *function = function_of(This, id);
    ULONG there = 0;
    if (!function || !count || (capacity != 0 && !ids))
        return E_INVALIDARG;
    const unsigned versions = atomic_load(&function->versions);
    for (unsigned i = 0; i < versions; i++) {
        if (!is_first_of_rejit(function, i))
            continue;
        if (there < capacity)
            ids[there] = function->code[i].rejit;
        there++;
    }
    *count = there;
    return there > capacity ? S_FALSE : S_OK;
}

/* ---- whose code ---- */

HRESULT STDMETHODCALLTYPE sw_info_GetFunctionFromIP(ICorProfilerInfo15 *This, LPCBYTE ip, FunctionID *id)
{
    ICorProfilerInfo15 *inner = inner_of(This);
    return inner->lpVtbl->GetFunctionFromIP(inner, ip, id);
}

static void give_rejit(ICorProfilerInfo15 *This, LPCBYTE ip, FunctionID id, ReJITID *rejit)
{
    const struct sw_tube_function *function = function_of(This, id);
    const struct sw_tube_code *code = function ? version_at(function, (uint64_t)(uintptr_t)ip) : NULL;
    SW_OUT(rejit, code ? code->rejit : 0);
}

HRESULT STDMETHODCALLTYPE sw_info_GetFunctionFromIP2(ICorProfilerInfo15 *This, LPCBYTE ip, FunctionID *id,
                                                     ReJITID *rejit)
{
    ICorProfilerInfo15 *inner = inner_of(This);
    FunctionID found = 0;
    const HRESULT hr = inner->lpVtbl->GetFunctionFromIP2(inner, ip, &found, NULL);
    if (hr != S_OK)
        return hr;
    SW_OUT(id, found);
    give_rejit(This, ip, found, rejit);
    return S_OK;
}

HRESULT STDMETHODCALLTYPE sw_info_GetFunctionFromIP3(ICorProfilerInfo15 *This, LPCBYTE ip, FunctionID *id,
                                                     ReJITID *rejit)
{
    ICorProfilerInfo15 *inner = inner_of(This);
    FunctionID found = 0;
    const HRESULT hr = inner->lpVtbl->GetFunctionFromIP3(inner, ip, &found, NULL);
    if (hr != S_OK)
        return hr;
    SW_OUT(id, found);
    give_rejit(This, ip, found, rejit);
    return S_OK;
}

/* ---- what is compiled ---- */

/* What a compiler made at run time, and a profiler may ask about. */
static bool is_jitted(const struct sw_tube_function *function)
{
    return !atomic_load(&function->unloaded) && !(function->flags & (SW_TUBE_PRECOMPILED | SW_TUBE_HIDDEN)) &&
           atomic_load(&function->versions) > 0;
}

/* A function's entries, at most `capacity`; returns how many there are. Without ReJIT ids there is one. */
static size_t list_function(const struct sw_tube_function *function, bool with_rejit, COR_PRF_FUNCTION *items,
                            size_t capacity)
{
    const unsigned versions = with_rejit ? atomic_load(&function->versions) : 1;
    size_t count = 0;
    for (unsigned i = 0; i < versions; i++) {
        if (!is_first_of_rejit(function, i))
            continue;
        if (count < capacity)
            items[count] =
                (COR_PRF_FUNCTION){ sw_tube_function_id(function), with_rejit ? function->code[i].rejit : 0 };
        count++;
    }
    return count;
}

static size_t list_functions(const struct sw_tube *tube, bool with_rejit, COR_PRF_FUNCTION *items, size_t capacity)
{
    size_t count = 0;
    for (size_t i = 0; i < sw_list_count(&tube->functions); i++) {
        const struct sw_tube_function *function = sw_list_at(&tube->functions, sizeof *function, i);
        const size_t room = count < capacity ? capacity - count : 0;
        if (is_jitted(function))
            count += list_function(function, with_rejit, room ? items + count : NULL, room);
    }
    return count;
}

static HRESULT enumerate(ICorProfilerInfo15 *This, bool with_rejit, ICorProfilerFunctionEnum **out)
{
    const struct sw_tube *tube = sw_info_tube(This);
    void *items;
    if (!out)
        return E_INVALIDARG;
    const size_t capacity = list_functions(tube, with_rejit, NULL, 0);
    struct sw_enumerator *made = sw_enumerator_create(sw_info_of(This), SW_ENUM_FUNCTIONS, capacity, &items);
    *out = (ICorProfilerFunctionEnum *)made;
    if (!made)
        return E_OUTOFMEMORY;
    const size_t now = list_functions(tube, with_rejit, items, capacity);
    sw_enumerator_shorten(made, now < capacity ? now : capacity);
    return S_OK;
}

HRESULT STDMETHODCALLTYPE sw_info_EnumJITedFunctions(ICorProfilerInfo15 *This, ICorProfilerFunctionEnum **out)
{
    return enumerate(This, false, out);
}

HRESULT STDMETHODCALLTYPE sw_info_EnumJITedFunctions2(ICorProfilerInfo15 *This, ICorProfilerFunctionEnum **out)
{
    return enumerate(This, true, out);
}

/*
 * ICorProfilerInfo by subject: the IL of methods. Every method's is the smallest there is, `ret` behind a tiny header,
 * until the profiler sets another. Nothing reads what it sets but the profiler itself: the tube's code is machine code.
 *
 * Source: ECMA-335 II.25.4.2 (tiny and fat headers); dotnet/runtime src/coreclr/vm/proftoeeinterfaceimpl.cpp, same
 * names (arguments).
 */
#include "info.h"

#include <stdlib.h>

enum { METHOD_DEF = 0x06000000, FAT = 3, FAT_FLAGS = 3, TINY_SHIFT = 2, FAT_CODE_SIZE = 4 };

static const BYTE smallest[] = { 1 << TINY_SHIFT | 2, 0x2a };

/* The method that a token names; null: none. */
static struct sw_tube_function *method_of(ICorProfilerInfo15 *This, ModuleID module_id, mdMethodDef method)
{
    const struct sw_tube_module *module = sw_tube_module_of(sw_info_tube(This), module_id);
    return module && (method & 0xff000000) == METHOD_DEF ? sw_tube_function_at(module, method & 0xffffff) : NULL;
}

/* The size of a body with its header, without sections behind it: what a profiler's own says of itself. */
static ULONG size_of(const BYTE *body)
{
    if ((body[0] & FAT_FLAGS) != FAT)
        return 1 + (ULONG)(body[0] >> TINY_SHIFT);
    const ULONG header = (ULONG)(body[1] >> 4) * 4;
    ULONG code = 0;
    for (unsigned i = 0; i < 4; i++)
        code |= (ULONG)body[FAT_CODE_SIZE + i] << 8 * i;
    return header + code;
}

HRESULT STDMETHODCALLTYPE sw_info_GetILFunctionBody(ICorProfilerInfo15 *This, ModuleID module, mdMethodDef method,
                                                    LPCBYTE *header, ULONG *size)
{
    const struct sw_tube_function *function = method_of(This, module, method);
    if (!function)
        return E_INVALIDARG;
    const BYTE *set = atomic_load(&function->il);
    SW_OUT(header, set ? set : smallest);
    SW_OUT(size, set ? size_of(set) : sizeof smallest);
    return S_OK;
}

HRESULT STDMETHODCALLTYPE sw_info_SetILFunctionBody(ICorProfilerInfo15 *This, ModuleID module, mdMethodDef method,
                                                    LPCBYTE header)
{
    struct sw_tube_function *function = method_of(This, module, method);
    if (!function || !header)
        return E_INVALIDARG;
    atomic_store(&function->il, header);
    return S_OK;
}

HRESULT STDMETHODCALLTYPE sw_info_SetILInstrumentedCodeMap(ICorProfilerInfo15 *This, FunctionID function, BOOL start,
                                                           ULONG count, COR_IL_MAP entries[])
{
    (void)start;
    if (!sw_tube_function_of(sw_info_tube(This), function) || (count && !entries))
        return E_INVALIDARG;
    return S_OK;
}

/* ---- the allocator: the bodies that it gives live as long as the tube ---- */

static HRESULT STDMETHODCALLTYPE query(IMethodMalloc *This, REFIID riid, void **out)
{
    (void)riid;
    *out = This;
    return S_OK;
}

static ULONG STDMETHODCALLTYPE one_reference(IMethodMalloc *This)
{
    (void)This;
    return 1;
}

static PVOID STDMETHODCALLTYPE allocate(IMethodMalloc *This, ULONG size)
{
    struct sw_tube_info *info =
        (struct sw_tube_info *)(void *)((char *)This - offsetof(struct sw_tube_info, allocator));
    pthread_mutex_lock(&info->lock);
    void **slot = sw_list_add(&info->bodies, sizeof *slot);
    void *body = slot ? calloc(1, size) : NULL;
    if (body) {
        *slot = body;
        sw_list_publish(&info->bodies);
    }
    pthread_mutex_unlock(&info->lock);
    return body;
}

static const IMethodMallocVtbl allocator_table = { query, one_reference, one_reference, allocate };

HRESULT STDMETHODCALLTYPE sw_info_GetILFunctionBodyAllocator(ICorProfilerInfo15 *This, ModuleID module,
                                                             IMethodMalloc **allocator)
{
    struct sw_tube_info *info = sw_info_of(This);
    if (!sw_tube_module_of(info->tube, module) || !allocator)
        return E_INVALIDARG;
    info->allocator.lpVtbl = &allocator_table;
    *allocator = &info->allocator;
    return S_OK;
}

void sw_info_free_bodies(struct sw_tube_info *info)
{
    for (size_t i = 0; i < sw_list_count(&info->bodies); i++)
        free(*(void **)sw_list_at(&info->bodies, sizeof(void *), i));
    sw_list_free(&info->bodies);
}

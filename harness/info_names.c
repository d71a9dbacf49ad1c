/*
 * ICorProfilerInfo by subject: what functions, classes, modules, assemblies and the application domain are called, and
 * which is in which. Knows the world's lists; what a function's code is, is info_code.c's.
 *
 * Source: clr-contract.md section 8; metadata-abi.md section 6; the documentation of each method; dotnet/runtime
 * src/coreclr/vm/proftoeeinterfaceimpl.cpp (order of checks, optional outputs, cut and refused names).
 */
#include "info.h"

#include <stdio.h>
#include <unistd.h>

enum { TYPE_DEF = 0x02000000, METHOD_DEF = 0x06000000, OBJECT_BYTES = 24 };

/* What a profiler sees of where modules lie, and of the one application domain. */
static const char folder[] = "/app/", domain_name[] = "clrhost";

HRESULT sw_info_name_cut(const char *name, WCHAR *to, ULONG size, ULONG *count)
{
    const size_t need = sw_text_to_wide(name, to, to ? size : 0);
    SW_OUT(count, (ULONG)need);
    return S_OK;
}

HRESULT sw_info_name_whole(const char *name, WCHAR *to, ULONG size, ULONG *count)
{
    const size_t need = sw_text_to_wide(name, NULL, 0);
    const bool fits = !to || size == 0 || size >= need;
    SW_OUT(count, (ULONG)need);
    if (to && size)
        sw_text_to_wide(fits ? name : "", to, size);
    return fits ? S_OK : SW_E_INSUFFICIENT_BUFFER;
}

static struct sw_tube_function *function_of(ICorProfilerInfo15 *This, FunctionID id)
{
    return sw_tube_function_of(sw_info_tube(This), id);
}

static struct sw_tube_module *module_of(ICorProfilerInfo15 *This, ModuleID id)
{
    return sw_tube_module_of(sw_info_tube(This), id);
}

static ClassID class_id(const struct sw_tube_type *type)
{
    return type ? sw_tube_id(SW_ID_CLASS, type->index) : 0;
}

/* ---- functions ---- */

/* Of a generic class no class is told: which instance it is does not follow from the function. */
HRESULT STDMETHODCALLTYPE sw_info_GetFunctionInfo(ICorProfilerInfo15 *This, FunctionID id, ClassID *class,
                                                  ModuleID *module, mdToken *token)
{
    const struct sw_tube_function *function = function_of(This, id);
    if (!function)
        return E_INVALIDARG;
    SW_OUT(class, sw_tube_type_parameters(function->type) ? 0 : class_id(function->type));
    SW_OUT(module, sw_tube_module_id(function->type->module));
    SW_OUT(token, function->token);
    return S_OK;
}

/* 0 is no frame. */
static bool is_of_function(struct sw_tube *tube, COR_PRF_FRAME_INFO frame, FunctionID id)
{
    bool live = true;
    return frame == 0 || (sw_tube_frame_function(tube, frame, &live) == id && live);
}

/* The tube's methods have no type parameters of their own; their class is the shared one. */
HRESULT STDMETHODCALLTYPE sw_info_GetFunctionInfo2(ICorProfilerInfo15 *This, FunctionID id, COR_PRF_FRAME_INFO frame,
                                                   ClassID *class, ModuleID *module, mdToken *token, ULONG32 capacity,
                                                   ULONG32 *count, ClassID arguments[])
{
    const struct sw_tube_function *function = function_of(This, id);
    if (!function || !is_of_function(sw_info_tube(This), frame, id) || (capacity != 0 && !arguments))
        return E_INVALIDARG;
    SW_OUT(class, class_id(function->type));
    SW_OUT(module, sw_tube_module_id(function->type->module));
    SW_OUT(token, function->token);
    SW_OUT(count, 0);
    return S_OK;
}

HRESULT STDMETHODCALLTYPE sw_info_GetTokenAndMetaDataFromFunction(ICorProfilerInfo15 *This, FunctionID id, REFIID riid,
                                                                  IUnknown **import, mdToken *token)
{
    const struct sw_tube_function *function = function_of(This, id);
    if (!function)
        return E_INVALIDARG;
    SW_OUT(token, function->token);
    return import ? sw_tube_metadata(function->type->module, 0, riid, import) : S_OK;
}

HRESULT STDMETHODCALLTYPE sw_info_GetFunctionFromToken(ICorProfilerInfo15 *This, ModuleID id, mdToken token,
                                                       FunctionID *function_id)
{
    const struct sw_tube_module *module = module_of(This, id);
    if (!module || (token & 0xff000000) != METHOD_DEF)
        return E_INVALIDARG;
    const struct sw_tube_function *function = sw_tube_function_at(module, token & 0xffffff);
    if (!function || atomic_load(&function->unloaded))
        return E_INVALIDARG;
    if (sw_tube_type_parameters(function->type))
        return CORPROF_E_FUNCTION_IS_PARAMETERIZED;
    SW_OUT(function_id, sw_tube_function_id(function));
    return S_OK;
}

HRESULT STDMETHODCALLTYPE sw_info_IsFunctionDynamic(ICorProfilerInfo15 *This, FunctionID id, BOOL *dynamic)
{
    const struct sw_tube_function *function = function_of(This, id);
    if (!function)
        return E_INVALIDARG;
    SW_OUT(dynamic, (function->flags & SW_TUBE_HIDDEN) != 0);
    return S_OK;
}

HRESULT STDMETHODCALLTYPE sw_info_GetDynamicFunctionInfo(ICorProfilerInfo15 *This, FunctionID id, ModuleID *module,
                                                         PCCOR_SIGNATURE *blob, ULONG *blob_size, ULONG size,
                                                         ULONG *count, WCHAR name[])
{
    static const BYTE signature[] = { 0x00, 0x00, 0x01 }; /* static void () */
    const struct sw_tube_function *function = function_of(This, id);
    if (!function || !(function->flags & SW_TUBE_HIDDEN))
        return E_INVALIDARG;
    SW_OUT(module, sw_tube_module_id(function->type->module));
    if (blob && blob_size) {
        *blob = signature;
        *blob_size = sizeof signature;
    }
    return sw_info_name_whole(function->name, name, size, count);
}

/* ---- classes and objects ---- */

HRESULT STDMETHODCALLTYPE sw_info_GetClassIDInfo(ICorProfilerInfo15 *This, ClassID id, ModuleID *module,
                                                 mdTypeDef *token)
{
    const struct sw_tube_type *type = sw_tube_type_of(sw_info_tube(This), id);
    if (!type)
        return E_INVALIDARG;
    SW_OUT(module, sw_tube_module_id(type->module));
    SW_OUT(token, type->token);
    return S_OK;
}

/* Without room the count is how many arguments there are, else how many were written. All are the shared one. */
HRESULT STDMETHODCALLTYPE sw_info_GetClassIDInfo2(ICorProfilerInfo15 *This, ClassID id, ModuleID *module,
                                                  mdTypeDef *token, ClassID *parent, ULONG32 capacity, ULONG32 *count,
                                                  ClassID arguments[])
{
    const struct sw_tube *tube = sw_info_tube(This);
    const struct sw_tube_type *type = sw_tube_type_of(tube, id);
    if (!type || (capacity != 0 && !arguments))
        return E_INVALIDARG;
    const ULONG32 all = sw_tube_type_parameters(type), given = capacity == 0 || all < capacity ? all : capacity;
    SW_OUT(module, sw_tube_module_id(type->module));
    SW_OUT(token, type->token);
    SW_OUT(parent, class_id(sw_tube_type_parent(type)));
    SW_OUT(count, given);
    for (ULONG32 i = 0; capacity != 0 && i < given; i++)
        arguments[i] = tube->core_canon ? sw_tube_id(SW_ID_CLASS, tube->core_canon) : 0;
    return S_OK;
}

/* The tube has no arrays. */
HRESULT STDMETHODCALLTYPE sw_info_IsArrayClass(ICorProfilerInfo15 *This, ClassID id, CorElementType *element,
                                               ClassID *class, ULONG *rank)
{
    (void)element, (void)rank;
    if (!sw_tube_type_of(sw_info_tube(This), id))
        return E_INVALIDARG;
    SW_OUT(class, 0);
    return S_FALSE;
}

HRESULT STDMETHODCALLTYPE sw_info_GetClassFromToken(ICorProfilerInfo15 *This, ModuleID id, mdTypeDef token,
                                                    ClassID *class)
{
    const struct sw_tube_module *module = module_of(This, id);
    const bool is_type = module && (token & 0xff000000) == TYPE_DEF;
    const struct sw_tube_type *type = is_type ? sw_tube_type_at(module, token & 0xffffff) : NULL;
    if (!type)
        return E_INVALIDARG;
    if (sw_tube_type_parameters(type))
        return CORPROF_E_TYPE_IS_PARAMETERIZED;
    SW_OUT(class, class_id(type));
    return S_OK;
}

HRESULT STDMETHODCALLTYPE sw_info_GetClassFromObject(ICorProfilerInfo15 *This, ObjectID id, ClassID *class)
{
    const struct sw_tube_type *type = sw_tube_object_type(sw_info_tube(This), id);
    if (!type)
        return E_INVALIDARG;
    SW_OUT(class, class_id(type));
    return S_OK;
}

/* All are the smallest that there are: a header, a method table, and a word. */
HRESULT STDMETHODCALLTYPE sw_info_GetObjectSize2(ICorProfilerInfo15 *This, ObjectID id, SIZE_T *size)
{
    if (!sw_tube_object_type(sw_info_tube(This), id))
        return E_INVALIDARG;
    SW_OUT(size, OBJECT_BYTES);
    return S_OK;
}

HRESULT STDMETHODCALLTYPE sw_info_GetObjectSize(ICorProfilerInfo15 *This, ObjectID id, ULONG *size)
{
    SIZE_T whole = 0;
    const HRESULT hr = sw_info_GetObjectSize2(This, id, &whole);
    if (hr == S_OK)
        SW_OUT(size, (ULONG)whole);
    return hr;
}

/* ---- modules, assemblies, the domain ---- */

HRESULT STDMETHODCALLTYPE sw_info_GetModuleMetaData(ICorProfilerInfo15 *This, ModuleID id, DWORD flags, REFIID riid,
                                                    IUnknown **out)
{
    return sw_tube_metadata(module_of(This, id), flags, riid, out);
}

/* Until ModuleLoadFinished base and assembly are not told: CORPROF_E_DATAINCOMPLETE, if they were asked for. */
HRESULT STDMETHODCALLTYPE sw_info_GetModuleInfo2(ICorProfilerInfo15 *This, ModuleID id, LPCBYTE *base, ULONG size,
                                                 ULONG *count, WCHAR name[], AssemblyID *assembly, DWORD *flags)
{
    char path[1024];
    const struct sw_tube_module *module = module_of(This, id);
    if (!module)
        return E_INVALIDARG;
    const bool loaded = atomic_load(&module->loaded);
    snprintf(path, sizeof path, "%s%s", folder, module->name);
    const HRESULT hr = sw_info_name_whole(path, name, size, count);
    SW_OUT(flags, COR_PRF_MODULE_DISK);
    SW_OUT(base, loaded ? (LPCBYTE)(uintptr_t)module->base : NULL);
    SW_OUT(assembly, loaded ? sw_tube_id(SW_ID_ASSEMBLY, module->index) : (AssemblyID)PROFILER_PARENT_UNKNOWN);
    return !loaded && (base || assembly) ? CORPROF_E_DATAINCOMPLETE : hr;
}

HRESULT STDMETHODCALLTYPE sw_info_GetModuleInfo(ICorProfilerInfo15 *This, ModuleID id, LPCBYTE *base, ULONG size,
                                                ULONG *count, WCHAR name[], AssemblyID *assembly)
{
    return sw_info_GetModuleInfo2(This, id, base, size, count, name, assembly, NULL);
}

HRESULT STDMETHODCALLTYPE sw_info_GetAssemblyInfo(ICorProfilerInfo15 *This, AssemblyID id, ULONG size, ULONG *count,
                                                  WCHAR name[], AppDomainID *domain, ModuleID *module_id)
{
    char simple[1024];
    const struct sw_tube_module *module = module_of(This, sw_tube_id(SW_ID_MODULE, sw_tube_index(SW_ID_ASSEMBLY, id)));
    if (!module)
        return E_INVALIDARG;
    sw_tube_assembly_name(module, simple, sizeof simple);
    SW_OUT(domain, sw_tube_id(SW_ID_DOMAIN, 0));
    SW_OUT(module_id, sw_tube_module_id(module));
    return sw_info_name_cut(simple, name, size, count);
}

HRESULT STDMETHODCALLTYPE sw_info_GetAppDomainInfo(ICorProfilerInfo15 *This, AppDomainID id, ULONG size, ULONG *count,
                                                   WCHAR name[], ProcessID *process)
{
    (void)This;
    if (id != sw_tube_id(SW_ID_DOMAIN, 0))
        return E_INVALIDARG;
    SW_OUT(process, (ProcessID)getpid());
    return sw_info_name_cut(domain_name, name, size, count);
}

HRESULT STDMETHODCALLTYPE sw_info_GetAppDomainsContainingModule(ICorProfilerInfo15 *This, ModuleID id, ULONG32 capacity,
                                                                ULONG32 *count, AppDomainID domains[])
{
    if (!module_of(This, id) || (!domains && capacity != 0) || !count)
        return E_INVALIDARG;
    *count = 1;
    if (capacity != 0)
        domains[0] = sw_tube_id(SW_ID_DOMAIN, 0);
    return S_OK;
}

HRESULT STDMETHODCALLTYPE sw_info_EnumModules(ICorProfilerInfo15 *This, ICorProfilerModuleEnum **out)
{
    const struct sw_tube *tube = sw_info_tube(This);
    const size_t all = sw_list_count(&tube->modules);
    size_t count = 0;
    void *items;
    if (!out)
        return E_INVALIDARG;
    struct sw_enumerator *made = sw_enumerator_create(sw_info_of(This), SW_ENUM_MODULES, all, &items);
    *out = (ICorProfilerModuleEnum *)made;
    if (!made)
        return E_OUTOFMEMORY;
    for (size_t i = 0; i < all; i++) {
        const struct sw_tube_module *module = sw_list_at(&tube->modules, sizeof *module, i);
        if (atomic_load(&module->loaded))
            ((ModuleID *)items)[count++] = sw_tube_module_id(module);
    }
    sw_enumerator_shorten(made, count);
    return S_OK;
}

/* There are none. */
HRESULT STDMETHODCALLTYPE sw_info_EnumModuleFrozenObjects(ICorProfilerInfo15 *This, ModuleID id,
                                                          ICorProfilerObjectEnum **out)
{
    void *items;
    if (!out)
        return E_INVALIDARG;
    if (!module_of(This, id))
        return CORPROF_E_DATAINCOMPLETE;
    *out = (ICorProfilerObjectEnum *)sw_enumerator_create(sw_info_of(This), SW_ENUM_OBJECTS, 0, &items);
    return *out ? S_OK : E_OUTOFMEMORY;
}

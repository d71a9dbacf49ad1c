/*
 * A profiler around another: it writes down which methods of ICorProfilerInfo the other calls, with their answers, and
 * in which callbacks. The same library, unchanged, in .NET and in the tube. RECORDER_PROFILER: the other's file;
 * RECORDER_OUT: where the lines go. Arguments are forwarded as they are: the table has each slot's own signature.
 */
#include <snapwalk/corprof.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "info_slots.h"

#pragma GCC diagnostic ignored "-Woverride-init"

static ICorProfilerInfo15 *inner;
static const ICorProfilerCallback11Vtbl *real;
static ICorProfilerCallback11Vtbl patched;
static FILE *out;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void write_line(const char *kind, const char *name, unsigned answer)
{
    pthread_mutex_lock(&lock);
    fprintf(out, "%s %s %08x\n", kind, name, answer);
    fflush(out);
    pthread_mutex_unlock(&lock);
}

#define PASSED(kind, n, ...) , n
#define FORWARD(Self, result, name, parameters)                                                                        \
    static result STDMETHODCALLTYPE call_##name parameters                                                             \
    {                                                                                                                  \
        (void)This;                                                                                                    \
        const result hr = inner->lpVtbl->name(inner SW_ARGS_##name(PASSED));                                           \
        write_line("call", #name, (unsigned)hr);                                                                       \
        return hr;                                                                                                     \
    }
#define FORWARDED(Self, result, name, parameters) .name = call_##name,
#define EVERY_SLOT(SLOT, Self)                                                                                         \
    SW_OWN_SLOTS_ICorProfilerInfo(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo2(SLOT, Self)                               \
        SW_OWN_SLOTS_ICorProfilerInfo3(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo4(SLOT, Self)                          \
            SW_OWN_SLOTS_ICorProfilerInfo5(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo6(SLOT, Self)                      \
                SW_OWN_SLOTS_ICorProfilerInfo7(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo8(SLOT, Self)                  \
                    SW_OWN_SLOTS_ICorProfilerInfo9(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo10(SLOT, Self)             \
                        SW_OWN_SLOTS_ICorProfilerInfo11(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo12(SLOT, Self)        \
                            SW_OWN_SLOTS_ICorProfilerInfo13(SLOT, Self) SW_OWN_SLOTS_ICorProfilerInfo14(SLOT, Self)    \
                                SW_OWN_SLOTS_ICorProfilerInfo15(SLOT, Self)

EVERY_SLOT(FORWARD, ICorProfilerInfo15)

/* ---- the object given to the other profiler ---- */

static ICorProfilerInfo15 face;

static HRESULT STDMETHODCALLTYPE query(ICorProfilerInfo15 *This, REFIID riid, void **found)
{
    const HRESULT hr = inner->lpVtbl->QueryInterface(inner, riid, found);
    (void)This;
    if (hr == S_OK && *found == inner)
        *found = &face;
    write_line("call", "QueryInterface", (unsigned)hr);
    return hr;
}

static ULONG STDMETHODCALLTYPE one_reference(ICorProfilerInfo15 *This)
{
    (void)This;
    return 1;
}

static const ICorProfilerInfo15Vtbl face_table = { EVERY_SLOT(FORWARDED, ICorProfilerInfo15).QueryInterface = query,
                                                   .AddRef = one_reference, .Release = one_reference };

/* ---- the callbacks in which it does something ---- */

static HRESULT STDMETHODCALLTYPE initialize(ICorProfilerCallback11 *This, IUnknown *info)
{
    inner = (ICorProfilerInfo15 *)(void *)info;
    face.lpVtbl = &face_table;
    write_line("callback", "Initialize", 0);
    return real->Initialize(This, (IUnknown *)(void *)&face);
}

static HRESULT STDMETHODCALLTYPE domain_begins(ICorProfilerCallback11 *This, AppDomainID domain)
{
    write_line("callback", "AppDomainCreationStarted", 0);
    return real->AppDomainCreationStarted(This, domain);
}

static HRESULT STDMETHODCALLTYPE domain_created(ICorProfilerCallback11 *This, AppDomainID domain, HRESULT status)
{
    write_line("callback", "AppDomainCreationFinished", 0);
    return real->AppDomainCreationFinished(This, domain, status);
}

static HRESULT STDMETHODCALLTYPE module_attached(ICorProfilerCallback11 *This, ModuleID module, AssemblyID assembly)
{
    write_line("callback", "ModuleAttachedToAssembly", 0);
    return real->ModuleAttachedToAssembly(This, module, assembly);
}

static HRESULT STDMETHODCALLTYPE assembly_loaded(ICorProfilerCallback11 *This, AssemblyID assembly, HRESULT status)
{
    write_line("callback", "AssemblyLoadFinished", 0);
    return real->AssemblyLoadFinished(This, assembly, status);
}

static HRESULT STDMETHODCALLTYPE jit_started(ICorProfilerCallback11 *This, FunctionID function, BOOL may_block)
{
    write_line("callback", "JITCompilationStarted", 0);
    return real->JITCompilationStarted(This, function, may_block);
}

static HRESULT STDMETHODCALLTYPE shut_down(ICorProfilerCallback11 *This)
{
    write_line("callback", "Shutdown", 0);
    return real->Shutdown(This);
}

/* The other's object gets a copy of its table, in which these stand. Tables are read as far as the newest version. */
static void patch(ICorProfilerCallback11 *object)
{
    real = object->lpVtbl;
    memcpy(&patched, real, sizeof patched);
    patched.Initialize = initialize;
    patched.AppDomainCreationStarted = domain_begins;
    patched.AppDomainCreationFinished = domain_created;
    patched.ModuleAttachedToAssembly = module_attached;
    patched.AssemblyLoadFinished = assembly_loaded;
    patched.JITCompilationStarted = jit_started;
    patched.Shutdown = shut_down;
    object->lpVtbl = &patched;
}

/* ---- the library ---- */

static IClassFactory *other;

static HRESULT STDMETHODCALLTYPE factory_query(IClassFactory *This, REFIID riid, void **found)
{
    (void)riid;
    *found = This;
    return S_OK;
}

static ULONG STDMETHODCALLTYPE factory_refer(IClassFactory *This)
{
    (void)This;
    return 1;
}

static HRESULT STDMETHODCALLTYPE create(IClassFactory *This, IUnknown *outer, REFIID riid, void **object)
{
    (void)This;
    const HRESULT hr = other->lpVtbl->CreateInstance(other, outer, riid, object);
    if (hr == S_OK)
        patch(*object);
    return hr;
}

static HRESULT STDMETHODCALLTYPE lock_server(IClassFactory *This, BOOL lock_it)
{
    (void)This, (void)lock_it;
    return S_OK;
}

static const IClassFactoryVtbl factory_table = { factory_query, factory_refer, factory_refer, create, lock_server };
static IClassFactory factory = { &factory_table };

HRESULT STDMETHODCALLTYPE DllGetClassObject(const CLSID *clsid, REFIID riid, void **object);
__attribute__((visibility("default"))) HRESULT STDMETHODCALLTYPE DllGetClassObject(const CLSID *clsid, REFIID riid,
                                                                                   void **object)
{
    void *library = dlopen(getenv("RECORDER_PROFILER"), RTLD_LAZY);
    union {
        void *address;
        HRESULT(STDMETHODCALLTYPE *get)(const CLSID *clsid, REFIID riid, void **object);
    } symbol = { .address = library ? dlsym(library, "DllGetClassObject") : NULL };
    void *found = NULL;
    out = fopen(getenv("RECORDER_OUT"), "w");
    if (!symbol.address || !out || symbol.get(clsid, riid, &found) != S_OK)
        return CLASS_E_CLASSNOTAVAILABLE;
    other = found;
    *object = &factory;
    return S_OK;
}

/*
 * Asks for every version of ICorProfilerInfo, 16 down to 1 (there is no 16), and reads outputs after failures, as some
 * profilers do by mistake: a host that leaves garbage there crashes it. It exits with an error message at what it did
 * not expect; PROBER_OUT names the file of what it found.
 *
 * Source: metadata-abi.md rows 10.2.7 (probing), 10.1.9, 10.5.3, 10.6.1, 10.6.4 (outputs).
 */
#define CALLBACK_VERSION 11
#include "com.h"

#include <stdio.h>
#include <stdlib.h>

enum { VERSIONS = 16 };

static ICorProfilerInfo15 *info;
static char found[1024];

static void note(const char *what, HRESULT hr)
{
    const size_t used = strlen(found);
    snprintf(found + used, sizeof found - used, "%s %08x\n", what, (unsigned)hr);
}

/* How many versions there are: each refusal has to leave null. */
static unsigned probe(IUnknown *given)
{
    static const IID none = { 0x12345678, 0x1234, 0x1234, { 1, 2, 3, 4, 5, 6, 7, 8 } };
    const IID *const versions[VERSIONS] = {
        &IID_ICorProfilerInfo,   &IID_ICorProfilerInfo2,  &IID_ICorProfilerInfo3,  &IID_ICorProfilerInfo4,
        &IID_ICorProfilerInfo5,  &IID_ICorProfilerInfo6,  &IID_ICorProfilerInfo7,  &IID_ICorProfilerInfo8,
        &IID_ICorProfilerInfo9,  &IID_ICorProfilerInfo10, &IID_ICorProfilerInfo11, &IID_ICorProfilerInfo12,
        &IID_ICorProfilerInfo13, &IID_ICorProfilerInfo14, &IID_ICorProfilerInfo15, &none,
    };
    unsigned known = 0;
    for (unsigned version = VERSIONS; version-- > 0;) {
        void *object = &known;
        const HRESULT hr = given->lpVtbl->QueryInterface(given, versions[version], &object);
        if (hr == S_OK) {
            known++;
            ((IUnknown *)object)->lpVtbl->Release(object);
        } else if (hr != E_NOINTERFACE || object)
            note("a refusal that leaves something", hr);
    }
    return known;
}

/* What failed calls leave in their outputs is used as if they had succeeded. */
static void read_after_failures(void)
{
    ClassID class_id = 0;
    ModuleID module = 0;
    mdToken token = 0;
    IUnknown *metadata = NULL;
    ULONG length = 0;
    note("GetFunctionInfo", info->lpVtbl->GetFunctionInfo(info, 0, &class_id, &module, &token));
    note("GetModuleMetaData", info->lpVtbl->GetModuleMetaData(info, module, 0, &IID_IUnknown, &metadata));
    if (metadata)
        metadata->lpVtbl->Release(metadata);
    const BYTE *il = NULL;
    note("GetILFunctionBody", info->lpVtbl->GetILFunctionBody(info, module, token, &il, &length));
    for (ULONG i = 0; il && i < length; i++)
        token += il[i];
    IMethodMalloc *memory = NULL;
    note("GetILFunctionBodyAllocator", info->lpVtbl->GetILFunctionBodyAllocator(info, module, &memory));
    if (memory)
        memory->lpVtbl->Release(memory);
}

static HRESULT STDMETHODCALLTYPE initialize(ICorProfilerCallback11 *self, IUnknown *given)
{
    char text[64];
    void *object = NULL;
    (void)self;
    snprintf(text, sizeof text, "%u versions", probe(given));
    note(text, S_OK);
    if (given->lpVtbl->QueryInterface(given, &IID_ICorProfilerInfo15, &object) != S_OK)
        return E_FAIL;
    info = object;
    COR_PRF_RUNTIME_TYPE type;
    USHORT major;
    note("GetRuntimeInformation",
         info->lpVtbl->GetRuntimeInformation(info, NULL, &type, &major, NULL, NULL, NULL, 0, NULL, NULL));
    return info->lpVtbl->SetEventMask2(info, COR_PRF_MONITOR_JIT_COMPILATION, 0);
}

static HRESULT STDMETHODCALLTYPE jit_started(ICorProfilerCallback11 *self, FunctionID function, BOOL may_block)
{
    static bool done;
    (void)self, (void)function, (void)may_block;
    if (!done)
        read_after_failures();
    done = true;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE shut_down(ICorProfilerCallback11 *self)
{
    const char *path = getenv("PROBER_OUT");
    FILE *to = path ? fopen(path, "we") : stderr;
    (void)self;
    if (to)
        fputs(found, to);
    if (to && path)
        fclose(to);
    info->lpVtbl->Release(info);
    return S_OK;
}

static ICorProfilerCallback11Vtbl table = { COM_SLOTS, .Initialize = initialize, .JITCompilationStarted = jit_started,
                                            .Shutdown = shut_down };
static ICorProfilerCallback11 profiler = { &table };

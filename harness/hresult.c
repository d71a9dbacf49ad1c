/*
 * Names of HRESULTs, as people write and read them. Knows the profiling interface's and what metadata answers. Source:
 * corprof.h; metadata-abi.md section 1, 1.5.
 */
#include "tube.h"

#include <stdio.h>
#include <string.h>

#define ROW(name)                                                                                                      \
    {                                                                                                                  \
#name, name                                                                                                    \
    }

static const struct {
    const char *name;
    HRESULT hr;
} rows[] = {
    ROW(S_OK),
    ROW(S_FALSE),
    ROW(E_NOTIMPL),
    ROW(E_NOINTERFACE),
    ROW(E_POINTER),
    ROW(E_ABORT),
    ROW(E_FAIL),
    ROW(E_UNEXPECTED),
    ROW(E_ACCESSDENIED),
    ROW(E_HANDLE),
    ROW(E_OUTOFMEMORY),
    ROW(E_INVALIDARG),
    ROW(CLASS_E_NOAGGREGATION),
    ROW(CLASS_E_CLASSNOTAVAILABLE),
    ROW(CORPROF_E_FUNCTION_NOT_COMPILED),
    ROW(CORPROF_E_DATAINCOMPLETE),
    ROW(CORPROF_E_FUNCTION_NOT_IL),
    ROW(CORPROF_E_NOT_MANAGED_THREAD),
    ROW(CORPROF_E_CALL_ONLY_FROM_INIT),
    ROW(CORPROF_E_NOT_YET_AVAILABLE),
    ROW(CORPROF_E_TYPE_IS_PARAMETERIZED),
    ROW(CORPROF_E_FUNCTION_IS_PARAMETERIZED),
    ROW(CORPROF_E_STACKSNAPSHOT_INVALID_TGT_THREAD),
    ROW(CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX),
    ROW(CORPROF_E_STACKSNAPSHOT_UNSAFE),
    ROW(CORPROF_E_STACKSNAPSHOT_ABORTED),
    ROW(CORPROF_E_LITERALS_HAVE_NO_ADDRESS),
    ROW(CORPROF_E_UNSUPPORTED_CALL_SEQUENCE),
    ROW(CORPROF_E_ASYNCHRONOUS_UNSAFE),
    ROW(CORPROF_E_CLASSID_IS_ARRAY),
    ROW(CORPROF_E_CLASSID_IS_COMPOSITE),
    ROW(CORPROF_E_PROFILER_DETACHING),
    ROW(CORPROF_E_PROFILER_NOT_ATTACHABLE),
    ROW(CORPROF_E_PROFILER_ALREADY_ACTIVE),
    ROW(CORPROF_E_CALLBACK3_REQUIRED),
    ROW(CORPROF_E_UNSUPPORTED_FOR_ATTACHING_PROFILER),
    ROW(CORPROF_E_IRREVERSIBLE_INSTRUMENTATION_PRESENT),
    ROW(CORPROF_E_RUNTIME_UNINITIALIZED),
    ROW(CORPROF_E_IMMUTABLE_FLAGS_SET),
    ROW(CORPROF_E_PROFILER_NOT_YET_INITIALIZED),
    ROW(CORPROF_E_INCONSISTENT_WITH_FLAGS),
    ROW(CORPROF_E_PROFILER_CANCEL_ACTIVATION),
    ROW(CORPROF_E_CONCURRENT_GC_NOT_PROFILABLE),
    ROW(CORPROF_E_DEBUGGING_DISABLED),
    ROW(CORPROF_E_TIMEOUT_WAITING_FOR_CONCURRENT_GC),
    ROW(CORPROF_E_MODULE_IS_DYNAMIC),
    ROW(CORPROF_E_CALLBACK4_REQUIRED),
    ROW(CORPROF_E_REJIT_NOT_ENABLED),
    ROW(CORPROF_E_FUNCTION_IS_COLLECTIBLE),
    ROW(CORPROF_E_CALLBACK6_REQUIRED),
    ROW(CORPROF_E_CALLBACK7_REQUIRED),
    ROW(CORPROF_E_REJIT_INLINING_DISABLED),
    ROW(CORPROF_E_SUSPENSION_IN_PROGRESS),
    ROW(CORPROF_E_NOT_GC_OBJECT),
    ROW(CORPROF_E_MODULE_IS_ENC),
    { "CLDB_S_TRUNCATION", (HRESULT)0x00131106u },
    { "CLDB_E_INDEX_NOTFOUND", (HRESULT)0x80131124u },
    { "CLDB_E_RECORD_NOTFOUND", (HRESULT)0x80131130u },
    { "META_E_INVALID_TOKEN_TYPE", (HRESULT)0x8013115fu },
    { "META_E_BAD_INPUT_PARAMETER", (HRESULT)0x80131193u },
    { "ERROR_INSUFFICIENT_BUFFER", (HRESULT)0x8007007au },
    { "ERROR_ENVVAR_NOT_FOUND", (HRESULT)0x800700cbu },
};

const char *sw_tube_hresult_name(HRESULT hr)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].hr == hr)
            return rows[i].name;
    return NULL;
}

const char *sw_tube_hresult_text(HRESULT hr, char text[16])
{
    const char *name = sw_tube_hresult_name(hr);
    snprintf(text, 16, "0x%08x", (unsigned)hr);
    return name ? name : text;
}

bool sw_tube_hresult_named(const char *name, HRESULT *hr)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, name) == 0) {
            *hr = rows[i].hr;
            return true;
        }
    return false;
}

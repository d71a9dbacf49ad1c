/*
 * Names of methods and types, by GetModuleMetaData as most profilers do it. corprof.h has no IMetaDataImport: the four
 * methods that are needed are called by their slots.
 *
 * Source: .NET documentation of IMetaDataImport; metadata-abi.md sections 3, 7, 8.
 */
#ifndef NAMES_H
#define NAMES_H

#include <snapwalk/corprof.h>

#include <stdio.h>
#include <string.h>

enum { SLOT_TYPE_PROPS = 12, SLOT_METHOD_PROPS = 30, SLOT_NESTED_PROPS = 62, NAME_UNITS = 256, OF_READ = 0 };

static const IID IID_IMetaDataImport_ = {
    0x7dac8207, 0xd3ae, 0x4c75, { 0x9b, 0x67, 0x92, 0x80, 0x1a, 0x49, 0x7d, 0x44 }
};

typedef HRESULT get_type_props(void *self, mdTypeDef type, WCHAR name[], ULONG units, ULONG *length, DWORD *flags,
                               mdToken *base);
typedef HRESULT get_method_props(void *self, mdMethodDef method, mdTypeDef *type, WCHAR name[], ULONG units,
                                 ULONG *length, DWORD *attributes, PCCOR_SIGNATURE *signature, ULONG *signature_size,
                                 ULONG *rva, DWORD *flags);
typedef HRESULT get_nested_props(void *self, mdTypeDef type, mdTypeDef *outer);

static inline void *metadata_slot(IUnknown *metadata, unsigned slot)
{
    void *const *const *object = (void *const *const *)(void *)metadata;
    return (*object)[slot];
}

/* Characters outside ASCII become '?': the name is for people. */
static inline void append_name(char *to, size_t size, const WCHAR *name)
{
    size_t at = strlen(to);
    for (; *name && at + 1 < size; name++)
        to[at++] = *name < 0x80 ? (char)*name : '?';
    to[at] = 0;
}

/* "Outer+Inner": outward to the type that is in no other. */
static inline void append_type(IUnknown *metadata, mdTypeDef type, char *to, size_t size)
{
    get_nested_props *nested = (get_nested_props *)metadata_slot(metadata, SLOT_NESTED_PROPS);
    get_type_props *props = (get_type_props *)metadata_slot(metadata, SLOT_TYPE_PROPS);
    WCHAR name[NAME_UNITS] = { 0 };
    mdTypeDef outer = 0;
    if (nested(metadata, type, &outer) == S_OK && (outer & 0xffffff) != 0) {
        append_type(metadata, outer, to, size);
        snprintf(to + strlen(to), size - strlen(to), "+");
    }
    if (SUCCEEDED(props(metadata, type, name, NAME_UNITS, NULL, NULL, NULL)))
        append_name(to, size, name);
}

static inline HRESULT method_name(ICorProfilerInfo *info, ModuleID module, mdMethodDef token, char *to, size_t size)
{
    IUnknown *metadata = NULL;
    WCHAR name[NAME_UNITS] = { 0 };
    mdTypeDef type = 0;
    HRESULT hr = info->lpVtbl->GetModuleMetaData(info, module, OF_READ, &IID_IMetaDataImport_, &metadata);
    if (hr != S_OK || !metadata)
        return hr == S_OK ? E_FAIL : hr;
    get_method_props *props = (get_method_props *)metadata_slot(metadata, SLOT_METHOD_PROPS);
    to[0] = 0;
    hr = props(metadata, token, &type, name, NAME_UNITS, NULL, NULL, NULL, NULL, NULL, NULL);
    if (SUCCEEDED(hr)) {
        append_type(metadata, type, to, size);
        snprintf(to + strlen(to), size - strlen(to), ".");
        append_name(to, size, name);
    }
    metadata->lpVtbl->Release(metadata);
    return hr;
}

static inline HRESULT class_name(ICorProfilerInfo *info, ClassID class_id, char *to, size_t size)
{
    ModuleID module = 0;
    mdTypeDef type = 0;
    IUnknown *metadata = NULL;
    HRESULT hr = info->lpVtbl->GetClassIDInfo(info, class_id, &module, &type);
    if (hr == S_OK)
        hr = info->lpVtbl->GetModuleMetaData(info, module, OF_READ, &IID_IMetaDataImport_, &metadata);
    if (hr != S_OK || !metadata)
        return hr == S_OK ? E_FAIL : hr;
    to[0] = 0;
    append_type(metadata, type, to, size);
    metadata->lpVtbl->Release(metadata);
    return S_OK;
}

#endif

/*
 * IMetaDataImport2's table: what serves it, and what its methods answer of tables that are empty in every module here.
 * There are types, methods, generic parameters, one assembly and one reference to the core library.
 *
 * Source: metadata-abi.md sections 3, 4 and 8.
 */
#include "metadata.h"

static HRESULT STDMETHODCALLTYPE query_interface(IMetaDataImport2 *This, REFIID riid, void **out)
{
    return sw_metadata_query(sw_metadata_of(This), riid, out);
}

static ULONG STDMETHODCALLTYPE add_ref(IMetaDataImport2 *This)
{
    return sw_metadata_add_ref(sw_metadata_of(This));
}

static ULONG STDMETHODCALLTYPE release(IMetaDataImport2 *This)
{
    return sw_metadata_release(sw_metadata_of(This));
}

void STDMETHODCALLTYPE sw_import_CloseEnum(IMetaDataImport2 *This, HCORENUM handle)
{
    (void)This;
    sw_metadata_close(handle);
}

HRESULT STDMETHODCALLTYPE sw_import_CountEnum(IMetaDataImport2 *This, HCORENUM handle, ULONG *count)
{
    (void)This;
    return sw_metadata_count(handle, count);
}

HRESULT STDMETHODCALLTYPE sw_import_ResetEnum(IMetaDataImport2 *This, HCORENUM handle, ULONG position)
{
    (void)This;
    return sw_metadata_reset(handle, position);
}

HRESULT STDMETHODCALLTYPE sw_import_GetScopeProps(IMetaDataImport2 *This, WCHAR *name, ULONG size, ULONG *count,
                                                  GUID *mvid)
{
    SW_OUT(mvid, sw_import_module(This)->mvid);
    return sw_metadata_name(sw_import_module(This)->name, name, size, count);
}

HRESULT STDMETHODCALLTYPE sw_import_GetModuleFromScope(IMetaDataImport2 *This, mdModule *module)
{
    (void)This;
    SW_OUT(module, mdtModule + 1);
    return S_OK;
}

/* Absent, always: the outputs stay (row 8.16). */
HRESULT STDMETHODCALLTYPE sw_import_GetCustomAttributeByName(IMetaDataImport2 *This, mdToken owner, const WCHAR *name,
                                                             const void **data, ULONG *size)
{
    (void)This, (void)owner, (void)data, (void)size;
    return name ? S_FALSE : E_INVALIDARG;
}

/* Nothing but IL, for any machine; once it has been opened for writing, no answer (row 8.24). */
HRESULT STDMETHODCALLTYPE sw_import_GetPEKind(IMetaDataImport2 *This, DWORD *kind, DWORD *machine)
{
    enum { IL_ONLY = 1, ANY_MACHINE = 0x014c };
    const bool written = atomic_load(&sw_metadata_of(This)->written);
    SW_OUT(kind, written ? 0 : IL_ONLY);
    SW_OUT(machine, written ? 0 : ANY_MACHINE);
    return written ? S_FALSE : S_OK;
}

HRESULT STDMETHODCALLTYPE sw_import_GetVersionString(IMetaDataImport2 *This, WCHAR *name, DWORD size, DWORD *count)
{
    (void)This;
    return sw_metadata_name("v4.0.30319", name, size, count);
}

/* ---- the table ---- */

/*
 * What the methods answer that ask for what no module has here: rows of empty tables, and relations between rows.
 * Nothing is written. E_NOTIMPL: what the real one does is not known to us.
 */
#define SLOT_OF(name) (offsetof(struct IMetaDataImport2Vtbl, name) / sizeof(void *))
static const HRESULT answers[sizeof(struct IMetaDataImport2Vtbl) / sizeof(void *)] = {
    [SLOT_OF(GetInterfaceImplProps)] = CLDB_E_INDEX_NOTFOUND,
    [SLOT_OF(GetMemberRefProps)] = CLDB_E_INDEX_NOTFOUND,
    [SLOT_OF(GetEventProps)] = CLDB_E_INDEX_NOTFOUND,
    [SLOT_OF(GetMethodSemantics)] = CLDB_E_RECORD_NOTFOUND,
    [SLOT_OF(GetFieldMarshal)] = CLDB_E_RECORD_NOTFOUND,
    [SLOT_OF(GetPermissionSetProps)] = CLDB_E_INDEX_NOTFOUND,
    [SLOT_OF(GetSigFromToken)] = CLDB_E_INDEX_NOTFOUND,
    [SLOT_OF(GetModuleRefProps)] = CLDB_E_INDEX_NOTFOUND,
    [SLOT_OF(GetTypeSpecFromToken)] = CLDB_E_INDEX_NOTFOUND,
    [SLOT_OF(GetUserString)] = CLDB_E_INDEX_NOTFOUND,
    [SLOT_OF(GetPinvokeMap)] = CLDB_E_RECORD_NOTFOUND,
    [SLOT_OF(GetParamForMethodIndex)] = CLDB_E_RECORD_NOTFOUND,
    [SLOT_OF(GetCustomAttributeProps)] = CLDB_E_INDEX_NOTFOUND,
    [SLOT_OF(GetFieldProps)] = CLDB_E_INDEX_NOTFOUND,
    [SLOT_OF(GetPropertyProps)] = CLDB_E_INDEX_NOTFOUND,
    [SLOT_OF(GetParamProps)] = CLDB_E_INDEX_NOTFOUND,
    [SLOT_OF(GetMethodSpecProps)] = CLDB_E_INDEX_NOTFOUND,
    [SLOT_OF(GetGenericParamConstraintProps)] = CLDB_E_INDEX_NOTFOUND,
    [SLOT_OF(GetNativeCallConvFromSig)] = E_NOTIMPL,
};

/* clang-format off */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter" /* who knows nothing uses no argument */
#pragma GCC diagnostic ignored "-Woverride-init"    /* the later initialiser is meant to win (C11 6.7.9p19) */
SW_SLOTS_IMetaDataImport2(SW_ABSENT_SLOT, SW_ABSENT_ENUM, IMetaDataImport2)

const struct IMetaDataImport2Vtbl sw_metadata_import_table = {
    SW_SLOTS_IMetaDataImport2(SW_ABSENT, SW_ABSENT, IMetaDataImport2)
    .QueryInterface = query_interface,
    .AddRef = add_ref,
    .Release = release,
    .CloseEnum = sw_import_CloseEnum,
    .CountEnum = sw_import_CountEnum,
    .ResetEnum = sw_import_ResetEnum,
    .EnumTypeDefs = sw_import_EnumTypeDefs,
    .EnumTypeRefs = sw_import_EnumTypeRefs,
    .FindTypeDefByName = sw_import_FindTypeDefByName,
    .GetScopeProps = sw_import_GetScopeProps,
    .GetModuleFromScope = sw_import_GetModuleFromScope,
    .GetTypeDefProps = sw_import_GetTypeDefProps,
    .GetTypeRefProps = sw_import_GetTypeRefProps,
    .ResolveTypeRef = sw_import_ResolveTypeRef,
    .EnumMembers = sw_import_EnumMethods,
    .EnumMembersWithName = sw_import_EnumMethodsWithName,
    .EnumMethods = sw_import_EnumMethods,
    .EnumMethodsWithName = sw_import_EnumMethodsWithName,
    .FindMember = sw_import_FindMember,
    .FindMethod = sw_import_FindMethod,
    .FindField = sw_import_FindField,
    .FindMemberRef = sw_import_FindMemberRef,
    .GetMethodProps = sw_import_GetMethodProps,
    .GetClassLayout = sw_import_GetClassLayout,
    .GetRVA = sw_import_GetRVA,
    .GetNameFromToken = sw_import_GetNameFromToken,
    .FindTypeRef = sw_import_FindTypeRef,
    .GetMemberProps = sw_import_GetMemberProps,
    .GetCustomAttributeByName = sw_import_GetCustomAttributeByName,
    .IsValidToken = sw_import_IsValidToken,
    .GetNestedClassProps = sw_import_GetNestedClassProps,
    .IsGlobal = sw_import_IsGlobal,
    .EnumGenericParams = sw_import_EnumGenericParams,
    .GetGenericParamProps = sw_import_GetGenericParamProps,
    .GetPEKind = sw_import_GetPEKind,
    .GetVersionString = sw_import_GetVersionString,
};
/* clang-format on */
#pragma GCC diagnostic pop

/*
 * IMetaDataAssemblyImport of a module: its one assembly, and its reference to the core library. Files, exported types
 * and resources are empty tables.
 *
 * Source: metadata-abi.md sections 5 and 7, rows 8.17, 8.18 and 8.26.
 */
#include "metadata.h"

enum { SHA1 = 0x8004 };

static const char core_assembly[] = "System.Runtime";
static const BYTE core_key_token[] = { 0xb0, 0x3f, 0x5f, 0x7f, 0x11, 0xd5, 0x0a, 0x3a };
static const BYTE no_key[1];

/* Of the neutral culture: the locale's buffer is the caller's, and stays. */
static void put_version(ASSEMBLYMETADATA *metadata, USHORT major)
{
    if (!metadata)
        return;
    metadata->usMajorVersion = major;
    metadata->usMinorVersion = metadata->usBuildNumber = metadata->usRevisionNumber = 0;
    metadata->cbLocale = metadata->ulProcessor = metadata->ulOS = 0;
}

static HRESULT STDMETHODCALLTYPE query_interface(IMetaDataAssemblyImport *This, REFIID riid, void **out)
{
    return sw_metadata_query(sw_metadata_of(This), riid, out);
}

static ULONG STDMETHODCALLTYPE add_ref(IMetaDataAssemblyImport *This)
{
    return sw_metadata_add_ref(sw_metadata_of(This));
}

static ULONG STDMETHODCALLTYPE release(IMetaDataAssemblyImport *This)
{
    return sw_metadata_release(sw_metadata_of(This));
}

static HRESULT STDMETHODCALLTYPE get_assembly_props(IMetaDataAssemblyImport *This, mdAssembly token, const void **key,
                                                    ULONG *key_size, ULONG *hash, WCHAR *name, ULONG size, ULONG *count,
                                                    ASSEMBLYMETADATA *metadata, DWORD *flags)
{
    char text[1024];
    if (sw_row_of(token) != 1)
        return CLDB_E_INDEX_NOTFOUND;
    SW_OUT(key, no_key);
    SW_OUT(key_size, 0);
    SW_OUT(hash, SHA1);
    SW_OUT(flags, 0);
    put_version(metadata, 1);
    sw_tube_assembly_name(sw_metadata_of(This)->module, text, sizeof text);
    return sw_metadata_name(text, name, size, count);
}

static HRESULT STDMETHODCALLTYPE get_assembly_ref_props(IMetaDataAssemblyImport *This, mdAssemblyRef token,
                                                        const void **key, ULONG *key_size, WCHAR *name, ULONG size,
                                                        ULONG *count, ASSEMBLYMETADATA *metadata, const void **hash,
                                                        ULONG *hash_size, DWORD *flags)
{
    const struct sw_tube_module *module = sw_metadata_of(This)->module;
    if (sw_row_of(token) != 1 || !sw_metadata_has_references(module))
        return CLDB_E_INDEX_NOTFOUND;
    SW_OUT(key, core_key_token);
    SW_OUT(key_size, sizeof core_key_token);
    SW_OUT(hash, no_key);
    SW_OUT(hash_size, 0);
    SW_OUT(flags, 0);
    put_version(metadata, (USHORT)module->tube->version);
    return sw_metadata_name(core_assembly, name, size, count);
}

static size_t list_assembly_refs(const struct sw_tube_module *module, const struct sw_metadata_query *query,
                                 mdToken tokens[], size_t capacity)
{
    (void)query;
    if (!sw_metadata_has_references(module))
        return 0;
    if (capacity)
        tokens[0] = mdtAssemblyRef + 1;
    return 1;
}

static HRESULT STDMETHODCALLTYPE enum_assembly_refs(IMetaDataAssemblyImport *This, HCORENUM *handle,
                                                    mdAssemblyRef tokens[], ULONG max, ULONG *count)
{
    const struct sw_metadata_query query = { 0, NULL };
    return sw_metadata_enumerate(sw_metadata_of(This), handle, list_assembly_refs, &query, tokens, max, count);
}

static HRESULT STDMETHODCALLTYPE get_assembly_from_scope(IMetaDataAssemblyImport *This, mdAssembly *token)
{
    (void)This;
    SW_OUT(token, mdtAssembly + 1);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE find_exported_type_by_name(IMetaDataAssemblyImport *This, const WCHAR *name,
                                                            mdToken enclosing, mdExportedType *token)
{
    (void)This, (void)name, (void)enclosing;
    SW_OUT(token, mdtExportedType);
    return CLDB_E_RECORD_NOTFOUND;
}

static HRESULT STDMETHODCALLTYPE find_manifest_resource_by_name(IMetaDataAssemblyImport *This, const WCHAR *name,
                                                                mdManifestResource *token)
{
    (void)This, (void)name;
    SW_OUT(token, mdtManifestResource);
    return CLDB_E_RECORD_NOTFOUND;
}

static void STDMETHODCALLTYPE close_enum(IMetaDataAssemblyImport *This, HCORENUM handle)
{
    (void)This;
    sw_metadata_close(handle);
}

/* Rows of empty tables; nothing is written. */
#define SLOT_OF(name) (offsetof(struct IMetaDataAssemblyImportVtbl, name) / sizeof(void *))
static const HRESULT answers[sizeof(struct IMetaDataAssemblyImportVtbl) / sizeof(void *)] = {
    [SLOT_OF(GetFileProps)] = CLDB_E_INDEX_NOTFOUND,
    [SLOT_OF(GetExportedTypeProps)] = CLDB_E_INDEX_NOTFOUND,
    [SLOT_OF(GetManifestResourceProps)] = CLDB_E_INDEX_NOTFOUND,
    [SLOT_OF(FindAssembliesByName)] = E_NOTIMPL,
};

/* clang-format off */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter" /* who knows nothing uses no argument */
#pragma GCC diagnostic ignored "-Woverride-init"    /* the later initialiser is meant to win (C11 6.7.9p19) */
SW_OWN_SLOTS_IMetaDataAssemblyImport(SW_ABSENT_SLOT, SW_ABSENT_ENUM, IMetaDataAssemblyImport)

const struct IMetaDataAssemblyImportVtbl sw_metadata_assembly_table = {
    SW_OWN_SLOTS_IMetaDataAssemblyImport(SW_ABSENT, SW_ABSENT, IMetaDataAssemblyImport)
    .QueryInterface = query_interface,
    .AddRef = add_ref,
    .Release = release,
    .GetAssemblyProps = get_assembly_props,
    .GetAssemblyRefProps = get_assembly_ref_props,
    .EnumAssemblyRefs = enum_assembly_refs,
    .GetAssemblyFromScope = get_assembly_from_scope,
    .FindExportedTypeByName = find_exported_type_by_name,
    .FindManifestResourceByName = find_manifest_resource_by_name,
    .CloseEnum = close_enum,
};
/* clang-format on */
#pragma GCC diagnostic pop

/*
 * A module's metadata object: its interfaces, their reference count, and what the rooms behind them share. Refuses to
 * know any table's rows.
 *
 * Source: metadata-abi.md sections 2, 6 and 7.
 */
#include "metadata.h"

#include <stdlib.h>
#include <string.h>

/* ---- the object ---- */

struct sw_metadata *sw_metadata_of(const void *interface)
{
    return (struct sw_metadata *)((uintptr_t)interface & ~(uintptr_t)(SW_METADATA_ALIGN - 1));
}

static const struct {
    const IID *iid;
    size_t offset;
    bool writes;
} faces[] = {
    { &IID_IUnknown, offsetof(struct sw_metadata, import), false },
    { &IID_IMetaDataImport, offsetof(struct sw_metadata, import), false },
    { &IID_IMetaDataImport2, offsetof(struct sw_metadata, import), false },
    { &IID_IMetaDataAssemblyImport, offsetof(struct sw_metadata, assembly), false },
    { &IID_IMetaDataTables, offsetof(struct sw_metadata, tables), false },
    { &IID_IMetaDataTables2, offsetof(struct sw_metadata, tables), false },
    { &IID_IMetaDataInfo, offsetof(struct sw_metadata, info), false },
    { &IID_IMetaDataEmit, offsetof(struct sw_metadata, emit), true },
    { &IID_IMetaDataEmit2, offsetof(struct sw_metadata, emit), true },
    { &IID_IMetaDataAssemblyEmit, offsetof(struct sw_metadata, assembly_emit), true },
    { &IID_IMetaDataFilter, offsetof(struct sw_metadata, filter), false },
};
_Static_assert(offsetof(struct sw_metadata, import) == 0 && offsetof(struct sw_metadata, assembly) == sizeof(void *) &&
                   offsetof(struct sw_metadata, tables) == 2 * sizeof(void *) &&
                   offsetof(struct sw_metadata, emit) == 4 * sizeof(void *),
               "interfaces lie as in the CLR (section 2)");
_Static_assert(sizeof(struct sw_metadata) <= SW_METADATA_ALIGN, "an interface leads to its object");

HRESULT sw_metadata_query(struct sw_metadata *metadata, const IID *iid, void **out)
{
    if (!out)
        return E_POINTER;
    *out = NULL;
    for (size_t i = 0; iid && i < sizeof faces / sizeof faces[0]; i++) {
        if (memcmp(iid, faces[i].iid, sizeof *iid) != 0)
            continue;
        if (faces[i].writes)
            atomic_store(&metadata->written, true);
        sw_metadata_add_ref(metadata);
        *out = (char *)metadata + faces[i].offset;
        return S_OK;
    }
    return E_NOINTERFACE;
}

ULONG sw_metadata_add_ref(struct sw_metadata *metadata)
{
    return atomic_fetch_add(&metadata->references, 1) + 1;
}

/* The object lives as long as its tube: one reference too few is not followed by a use of freed memory (row 2.3). */
ULONG sw_metadata_release(struct sw_metadata *metadata)
{
    ULONG old = atomic_load(&metadata->references);
    while (old > 0 && !atomic_compare_exchange_weak(&metadata->references, &old, old - 1))
        ;
    return old > 0 ? old - 1 : 0;
}

static HRESULT STDMETHODCALLTYPE refusal_query(IUnknown *This, REFIID riid, void **out)
{
    return sw_metadata_query(sw_metadata_of(This), riid, out);
}

static ULONG STDMETHODCALLTYPE refusal_add_ref(IUnknown *This)
{
    return sw_metadata_add_ref(sw_metadata_of(This));
}

static ULONG STDMETHODCALLTYPE refusal_release(IUnknown *This)
{
    return sw_metadata_release(sw_metadata_of(This));
}

static HRESULT STDMETHODCALLTYPE refuse(void *This)
{
    (void)This;
    return E_NOTIMPL;
}

/*
 * Long enough for IMetaDataEmit2, the longest of them. One function refuses all methods, whatever their arguments: who
 * calls cleans up, on every machine of 64 bits.
 */
#define TEN(x) x, x, x, x, x, x, x, x, x, x
static const struct {
    IUnknownVtbl unknown;
    HRESULT(STDMETHODCALLTYPE *methods[80])(void *);
} refusals = { { refusal_query, refusal_add_ref, refusal_release },
               { TEN(refuse), TEN(refuse), TEN(refuse), TEN(refuse), TEN(refuse), TEN(refuse), TEN(refuse),
                 TEN(refuse) } };

static struct sw_metadata *create(struct sw_tube_module *module)
{
    struct sw_metadata *made = aligned_alloc(SW_METADATA_ALIGN, SW_METADATA_ALIGN);
    if (!made)
        return NULL;
    const struct sw_metadata_refusal refusal = { &refusals };
    *made = (struct sw_metadata){ .import = { &sw_metadata_import_table },
                                  .assembly = { &sw_metadata_assembly_table },
                                  .tables = refusal,
                                  .info = refusal,
                                  .emit = refusal,
                                  .assembly_emit = refusal,
                                  .filter = refusal,
                                  .module = module,
                                  .references = 1 };
    return made;
}

/* Whoever is first makes it; who comes second at the same time takes the first one's. */
static struct sw_metadata *metadata_of(struct sw_tube_module *module)
{
    struct sw_metadata *metadata = atomic_load(&module->metadata);
    if (metadata)
        return metadata;
    struct sw_metadata *made = create(module);
    if (!made || atomic_compare_exchange_strong(&module->metadata, &metadata, made))
        return made;
    free(made);
    return metadata;
}

HRESULT sw_tube_metadata(struct sw_tube_module *module, DWORD flags, const IID *iid, IUnknown **out)
{
    if (!module || (flags & ~(DWORD)(ofWrite | ofNoTransform)))
        return E_INVALIDARG;
    struct sw_metadata *metadata = metadata_of(module);
    if (!metadata)
        return E_OUTOFMEMORY;
    if (flags & ofWrite)
        atomic_store(&metadata->written, true);
    void *found = NULL;
    const HRESULT hr = out ? sw_metadata_query(metadata, iid, &found) : S_OK;
    SW_OUT(out, found);
    return hr;
}

size_t sw_tube_metadata_leaks(const struct sw_tube *tube)
{
    size_t leaks = 0;
    for (size_t i = 0; i < sw_list_count(&tube->modules); i++) {
        const struct sw_tube_module *module = sw_list_at(&tube->modules, sizeof *module, i);
        const struct sw_metadata *metadata = atomic_load(&module->metadata);
        const ULONG references = metadata ? atomic_load(&metadata->references) : 0;
        leaks += references > 1 ? references - 1 : 0;
    }
    return leaks;
}

void sw_tube_metadata_free(struct sw_tube *tube)
{
    for (size_t i = 0; i < sw_list_count(&tube->modules); i++) {
        struct sw_tube_module *module = sw_list_at(&tube->modules, sizeof *module, i);
        free(atomic_exchange(&module->metadata, NULL));
    }
}

/* ---- what the rooms share ---- */

HRESULT sw_metadata_name(const char *name, WCHAR *to, ULONG size, ULONG *count)
{
    const size_t need = sw_text_to_wide(name, to, to ? size : 0);
    SW_OUT(count, (ULONG)need);
    return to && size < need ? CLDB_S_TRUNCATION : S_OK;
}

bool sw_metadata_has_references(const struct sw_tube_module *module)
{
    const struct sw_tube *tube = module->tube;
    const struct sw_tube_type *object = sw_list_at(&tube->types, sizeof *object, tube->core_object);
    return tube->core_object == 0 || object->module != module;
}

HRESULT sw_metadata_found(mdToken found, mdToken nil, const WCHAR *name, mdToken *token)
{
    if (!name)
        return E_INVALIDARG;
    SW_OUT(token, found ? found : nil);
    return found ? S_OK : CLDB_E_RECORD_NOTFOUND;
}

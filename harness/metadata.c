/*
 * A module's metadata object: its interfaces, their reference count, and IMetaDataImport2. There are types, methods,
 * generic parameters, one assembly and one reference to the core library; all other tables are empty. Names come from
 * world.c's lists. What is not known of a method's outputs here stays as the caller had it (row 7.5).
 *
 * Source: metadata-abi.md sections 2, 3, 4 and 6 to 8; ECMA-335 II.23.1 (flags), II.23.2.1 (signatures).
 */
#include "metadata.h"

#include <stdlib.h>
#include <string.h>

/* Flags: public; nested public; before field init; public, static, hide by sig. */
enum { TYPE_PUBLIC = 0x00100001, TYPE_NESTED_PUBLIC = 0x00100002, METHOD_FLAGS = 0x0096, FIRST_RVA = 0x2050 };

/* The signature of each method: static void (). */
static const BYTE signature[] = { 0x00, 0x00, 0x01 };

static const char core_type[] = "System.Object";

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

/* ---- names and rows ---- */

HRESULT sw_metadata_name(const char *name, WCHAR *to, ULONG size, ULONG *count)
{
    const size_t need = sw_text_to_wide(name, to, to ? size : 0);
    SW_OUT(count, (ULONG)need);
    return to && size < need ? CLDB_S_TRUNCATION : S_OK;
}

static const struct sw_tube_module *module_of(IMetaDataImport2 *This)
{
    return sw_metadata_of(This)->module;
}

bool sw_metadata_has_references(const struct sw_tube_module *module)
{
    const struct sw_tube *tube = module->tube;
    const struct sw_tube_type *object = sw_list_at(&tube->types, sizeof *object, tube->core_object);
    return tube->core_object == 0 || object->module != module;
}

/* Row 1 of TypeDef, `<Module>`, is also meant by 0 and by the nil token where a method's class is asked for. */
static const struct sw_tube_type *class_at(const struct sw_tube_module *module, mdTypeDef token)
{
    return sw_tube_type_at(module, sw_row_of(token) ? sw_row_of(token) : 1);
}

static mdTypeDef class_token(const struct sw_tube_function *function)
{
    return sw_row_of(function->type->token) == 1 ? mdtTypeDef : function->type->token;
}

/* The first generic parameter's row of a type: those of the types before it come first. */
static uint32_t first_parameter(const struct sw_tube_module *module, uint32_t type_row)
{
    uint32_t row = 1;
    for (uint32_t i = 1; i < type_row; i++)
        row += sw_tube_type_parameters(sw_tube_type_at(module, i));
    return row;
}

/* The type that a generic parameter is of, and its number there; null: no such row. */
static const struct sw_tube_type *parameter_at(const struct sw_tube_module *module, uint32_t row, ULONG *number)
{
    const struct sw_tube_type *type;
    uint32_t first = 1;
    for (uint32_t i = 1; (type = sw_tube_type_at(module, i)); i++) {
        const uint32_t count = sw_tube_type_parameters(type);
        if (row >= first && row - first < count) {
            *number = row - first;
            return type;
        }
        first += count;
    }
    return NULL;
}

/* ---- lists for enumerations ---- */

static void put_token(mdToken tokens[], size_t capacity, size_t at, mdToken token)
{
    if (at < capacity)
        tokens[at] = token;
}

static size_t list_types(const struct sw_tube_module *module, const struct sw_metadata_query *query, mdToken tokens[],
                         size_t capacity)
{
    size_t count = 0;
    (void)query;
    for (uint32_t row = 2; sw_tube_type_at(module, row); row++)
        put_token(tokens, capacity, count++, mdtTypeDef + row);
    return count;
}

static size_t list_type_refs(const struct sw_tube_module *module, const struct sw_metadata_query *query,
                             mdToken tokens[], size_t capacity)
{
    (void)query;
    put_token(tokens, capacity, 0, mdtTypeRef + 1);
    return sw_metadata_has_references(module) ? 1 : 0;
}

static size_t list_methods(const struct sw_tube_module *module, const struct sw_metadata_query *query, mdToken tokens[],
                           size_t capacity)
{
    const struct sw_tube_type *type = sw_tube_type_at(module, query->row);
    const struct sw_tube_function *function;
    size_t count = 0;
    for (uint32_t row = 1; (function = sw_tube_function_at(module, row)); row++)
        if (function->type == type && (!query->name || sw_text_equals(query->name, function->name)))
            put_token(tokens, capacity, count++, function->token);
    return count;
}

static size_t list_parameters(const struct sw_tube_module *module, const struct sw_metadata_query *query,
                              mdToken tokens[], size_t capacity)
{
    const struct sw_tube_type *type = sw_tube_type_at(module, query->row);
    const unsigned count = type ? sw_tube_type_parameters(type) : 0;
    const uint32_t first = count ? first_parameter(module, query->row) : 0;
    for (unsigned i = 0; i < count; i++)
        put_token(tokens, capacity, i, mdtGenericParam + first + i);
    return count;
}

static HRESULT enumerate_methods(IMetaDataImport2 *This, HCORENUM *handle, mdTypeDef token, const WCHAR *name,
                                 mdToken tokens[], ULONG max, ULONG *count)
{
    const struct sw_tube_type *type = class_at(module_of(This), token);
    if (handle && !*handle && !type)
        return CLDB_E_INDEX_NOTFOUND;
    const struct sw_metadata_query query = { type ? sw_row_of(type->token) : 0, name };
    return sw_metadata_enumerate(sw_metadata_of(This), handle, list_methods, &query, tokens, max, count);
}

/* ---- IMetaDataImport2 ---- */

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

static void STDMETHODCALLTYPE close_enum(IMetaDataImport2 *This, HCORENUM handle)
{
    (void)This;
    sw_metadata_close(handle);
}

static HRESULT STDMETHODCALLTYPE count_enum(IMetaDataImport2 *This, HCORENUM handle, ULONG *count)
{
    (void)This;
    return sw_metadata_count(handle, count);
}

static HRESULT STDMETHODCALLTYPE reset_enum(IMetaDataImport2 *This, HCORENUM handle, ULONG position)
{
    (void)This;
    return sw_metadata_reset(handle, position);
}

static HRESULT STDMETHODCALLTYPE enum_type_defs(IMetaDataImport2 *This, HCORENUM *handle, mdTypeDef tokens[], ULONG max,
                                                ULONG *count)
{
    const struct sw_metadata_query query = { 0, NULL };
    return sw_metadata_enumerate(sw_metadata_of(This), handle, list_types, &query, tokens, max, count);
}

static HRESULT STDMETHODCALLTYPE enum_type_refs(IMetaDataImport2 *This, HCORENUM *handle, mdTypeRef tokens[], ULONG max,
                                                ULONG *count)
{
    const struct sw_metadata_query query = { 0, NULL };
    return sw_metadata_enumerate(sw_metadata_of(This), handle, list_type_refs, &query, tokens, max, count);
}

static HRESULT STDMETHODCALLTYPE enum_methods(IMetaDataImport2 *This, HCORENUM *handle, mdTypeDef type,
                                              mdMethodDef tokens[], ULONG max, ULONG *count)
{
    return enumerate_methods(This, handle, type, NULL, tokens, max, count);
}

static HRESULT STDMETHODCALLTYPE enum_methods_with_name(IMetaDataImport2 *This, HCORENUM *handle, mdTypeDef type,
                                                        const WCHAR *name, mdMethodDef tokens[], ULONG max,
                                                        ULONG *count)
{
    return enumerate_methods(This, handle, type, name, tokens, max, count);
}

static HRESULT STDMETHODCALLTYPE enum_generic_params(IMetaDataImport2 *This, HCORENUM *handle, mdToken owner,
                                                     mdGenericParam tokens[], ULONG max, ULONG *count)
{
    const struct sw_metadata_query query = { sw_table_of(owner) == mdtTypeDef ? sw_row_of(owner) : 0, NULL };
    return sw_metadata_enumerate(sw_metadata_of(This), handle, list_parameters, &query, tokens, max, count);
}

static HRESULT STDMETHODCALLTYPE get_scope_props(IMetaDataImport2 *This, WCHAR *name, ULONG size, ULONG *count,
                                                 GUID *mvid)
{
    SW_OUT(mvid, module_of(This)->mvid);
    return sw_metadata_name(module_of(This)->name, name, size, count);
}

static HRESULT STDMETHODCALLTYPE get_module_from_scope(IMetaDataImport2 *This, mdModule *module)
{
    (void)This;
    SW_OUT(module, mdtModule + 1);
    return S_OK;
}

/* Nested types are found by their own name and their outer type; 0, nil and the module mean: not nested. */
static bool is_searched(const struct sw_tube_type *type, const WCHAR *name, const struct sw_tube_type *outer)
{
    return sw_tube_type_outer(type) == outer && sw_text_equals(name, type->full);
}

static HRESULT STDMETHODCALLTYPE find_type_def_by_name(IMetaDataImport2 *This, const WCHAR *name, mdToken enclosing,
                                                       mdTypeDef *token)
{
    const struct sw_tube_module *module = module_of(This);
    const bool nested = sw_table_of(enclosing) == mdtTypeDef && sw_row_of(enclosing) != 0;
    const struct sw_tube_type *outer = nested ? sw_tube_type_at(module, sw_row_of(enclosing)) : NULL, *type;
    if (!name)
        return E_INVALIDARG;
    SW_OUT(token, mdtTypeDef);
    if (nested && !outer)
        return CLDB_E_RECORD_NOTFOUND;
    for (uint32_t row = 1; (type = sw_tube_type_at(module, row)); row++) {
        if (!is_searched(type, name, outer))
            continue;
        SW_OUT(token, type->token);
        return S_OK;
    }
    return CLDB_E_RECORD_NOTFOUND;
}

static DWORD type_flags(const struct sw_tube_type *type)
{
    if (sw_row_of(type->token) == 1)
        return 0;
    return sw_tube_type_outer(type) ? TYPE_NESTED_PUBLIC : TYPE_PUBLIC;
}

/* System.Object, by TypeRef or in its own module by TypeDef; nil of `<Module>` and of itself (row 8.2). */
static mdToken extends_token(const struct sw_tube_type *type)
{
    const struct sw_tube_type *parent = sw_tube_type_parent(type);
    if (sw_row_of(type->token) <= 1 || type->index == type->module->tube->core_object)
        return mdtTypeRef;
    return parent && parent->module == type->module ? parent->token : mdtTypeRef + 1;
}

static HRESULT STDMETHODCALLTYPE get_type_def_props(IMetaDataImport2 *This, mdTypeDef token, WCHAR *name, ULONG size,
                                                    ULONG *count, DWORD *flags, mdToken *extends)
{
    const struct sw_tube_type *type = sw_tube_type_at(module_of(This), sw_row_of(token));
    if (sw_table_of(token) != mdtTypeDef)
        return S_FALSE;
    if (!type && sw_row_of(token) != 0)
        return CLDB_E_INDEX_NOTFOUND;
    SW_OUT(flags, type ? type_flags(type) : 0);
    SW_OUT(extends, type ? extends_token(type) : mdtTypeRef);
    return sw_metadata_name(type ? type->full : "", name, size, count);
}

static HRESULT STDMETHODCALLTYPE get_type_ref_props(IMetaDataImport2 *This, mdTypeRef token, mdToken *scope,
                                                    WCHAR *name, ULONG size, ULONG *count)
{
    const uint32_t row = sw_row_of(token);
    if (sw_table_of(token) != mdtTypeRef)
        return S_FALSE;
    if (row > 1 || (row == 1 && !sw_metadata_has_references(module_of(This))))
        return CLDB_E_INDEX_NOTFOUND;
    SW_OUT(scope, row ? mdtAssemblyRef + 1 : 0);
    return sw_metadata_name(row ? core_type : "", name, size, count);
}

/* Across assemblies: the core library's metadata, with a reference of its own. */
static HRESULT STDMETHODCALLTYPE resolve_type_ref(IMetaDataImport2 *This, mdTypeRef token, REFIID riid,
                                                  IUnknown **scope, mdTypeDef *type_def)
{
    const struct sw_tube *tube = module_of(This)->tube;
    const struct sw_tube_type *object = sw_list_at(&tube->types, sizeof *object, tube->core_object);
    if (sw_table_of(token) != mdtTypeRef || sw_row_of(token) != 1 || tube->core_object == 0)
        return CLDB_E_INDEX_NOTFOUND;
    const HRESULT hr = sw_tube_metadata(object->module, ofRead, riid, scope);
    if (hr == S_OK)
        SW_OUT(type_def, object->token);
    return hr;
}

/* A method of a type by its name, and its signature if one is given; 0: none. */
static mdMethodDef find_method_token(IMetaDataImport2 *This, mdTypeDef type, const WCHAR *name, const BYTE *blob,
                                     ULONG size)
{
    const struct sw_tube_type *class = class_at(module_of(This), type);
    if (!class || (blob && size && (size != sizeof signature || memcmp(blob, signature, size) != 0)))
        return 0;
    const struct sw_metadata_query query = { sw_row_of(class->token), name };
    mdToken token = 0;
    return list_methods(module_of(This), &query, &token, 1) ? token : 0;
}

static HRESULT find(mdToken found, mdToken nil, const WCHAR *name, mdToken *token)
{
    if (!name)
        return E_INVALIDARG;
    SW_OUT(token, found ? found : nil);
    return found ? S_OK : CLDB_E_RECORD_NOTFOUND;
}

static HRESULT STDMETHODCALLTYPE find_method(IMetaDataImport2 *This, mdTypeDef type, const WCHAR *name,
                                             const BYTE *blob, ULONG size, mdMethodDef *token)
{
    return find(name ? find_method_token(This, type, name, blob, size) : 0, mdtMethodDef, name, token);
}

static HRESULT STDMETHODCALLTYPE find_member(IMetaDataImport2 *This, mdTypeDef type, const WCHAR *name,
                                             const BYTE *blob, ULONG size, mdToken *token)
{
    return find(name ? find_method_token(This, type, name, blob, size) : 0, mdtFieldDef, name, token);
}

static HRESULT STDMETHODCALLTYPE find_field(IMetaDataImport2 *This, mdTypeDef type, const WCHAR *name, const BYTE *blob,
                                            ULONG size, mdFieldDef *token)
{
    (void)This, (void)type, (void)blob, (void)size;
    return find(0, mdtFieldDef, name, token);
}

static HRESULT STDMETHODCALLTYPE find_member_ref(IMetaDataImport2 *This, mdTypeRef type, const WCHAR *name,
                                                 const BYTE *blob, ULONG size, mdMemberRef *token)
{
    (void)This, (void)type, (void)blob, (void)size;
    return find(0, mdtMemberRef, name, token);
}

static HRESULT STDMETHODCALLTYPE find_type_ref(IMetaDataImport2 *This, mdToken scope, const WCHAR *name,
                                               mdTypeRef *token)
{
    const bool there = scope == mdtAssemblyRef + 1 && sw_metadata_has_references(module_of(This)) && name &&
                       sw_text_equals(name, core_type);
    return find(there ? mdtTypeRef + 1 : 0, mdtTypeRef, name, token);
}

/* The table of the token is not looked at (row 7.7). */
static HRESULT STDMETHODCALLTYPE get_method_props(IMetaDataImport2 *This, mdMethodDef token, mdTypeDef *class,
                                                  WCHAR *name, ULONG size, ULONG *count, DWORD *flags,
                                                  const BYTE **blob, ULONG *blob_size, ULONG *rva, DWORD *impl_flags)
{
    const struct sw_tube_function *function = sw_tube_function_at(module_of(This), sw_row_of(token));
    if (!function)
        return CLDB_E_INDEX_NOTFOUND;
    SW_OUT(class, class_token(function));
    SW_OUT(flags, METHOD_FLAGS);
    SW_OUT(blob, signature);
    SW_OUT(blob_size, sizeof signature);
    SW_OUT(rva, FIRST_RVA + 16 * sw_row_of(function->token));
    SW_OUT(impl_flags, 0);
    return sw_metadata_name(function->name, name, size, count);
}

/* The last three are of fields; a method leaves them alone. */
static HRESULT STDMETHODCALLTYPE get_member_props(IMetaDataImport2 *This, mdToken token, mdTypeDef *class, WCHAR *name,
                                                  ULONG size, ULONG *count, DWORD *flags, const BYTE **blob,
                                                  ULONG *blob_size, ULONG *rva, DWORD *impl_flags, DWORD *value_type,
                                                  const void **value, ULONG *value_size)
{
    (void)value_type, (void)value, (void)value_size;
    if (sw_table_of(token) != mdtMethodDef)
        return CLDB_E_INDEX_NOTFOUND;
    return get_method_props(This, token, class, name, size, count, flags, blob, blob_size, rva, impl_flags);
}

static HRESULT STDMETHODCALLTYPE get_rva(IMetaDataImport2 *This, mdToken token, ULONG *rva, DWORD *impl_flags)
{
    return get_method_props(This, token, NULL, NULL, 0, NULL, NULL, NULL, NULL, rva, impl_flags);
}

static HRESULT STDMETHODCALLTYPE get_class_layout(IMetaDataImport2 *This, mdTypeDef type, DWORD *pack,
                                                  COR_FIELD_OFFSET offsets[], ULONG max, ULONG *count, ULONG *size)
{
    (void)This, (void)type, (void)offsets, (void)max, (void)count;
    SW_OUT(pack, 0);
    SW_OUT(size, 0);
    return CLDB_E_RECORD_NOTFOUND;
}

/* A token's own name, without a namespace; null: it has none. */
static const char *own_name(const struct sw_tube_module *module, mdToken token)
{
    const uint32_t row = sw_row_of(token);
    const struct sw_tube_type *type = sw_tube_type_at(module, row);
    const struct sw_tube_function *function = sw_tube_function_at(module, row);
    switch (sw_table_of(token)) {
    case mdtModule:
        return row == 1 ? module->name : NULL;
    case mdtTypeRef:
        return row == 1 && sw_metadata_has_references(module) ? strrchr(core_type, '.') + 1 : NULL;
    case mdtTypeDef:
        return type ? type->name : NULL;
    case mdtMethodDef:
        return function ? function->name : NULL;
    default:
        return NULL;
    }
}

static HRESULT STDMETHODCALLTYPE get_name_from_token(IMetaDataImport2 *This, mdToken token, const char **name)
{
    const char *found = own_name(module_of(This), token);
    if (!found)
        return CLDB_E_INDEX_NOTFOUND;
    SW_OUT(name, found);
    return S_OK;
}

/* Absent, always: the outputs stay (row 8.16). */
static HRESULT STDMETHODCALLTYPE get_custom_attribute_by_name(IMetaDataImport2 *This, mdToken owner, const WCHAR *name,
                                                              const void **data, ULONG *size)
{
    (void)This, (void)owner, (void)data, (void)size;
    return name ? S_FALSE : E_INVALIDARG;
}

static BOOL STDMETHODCALLTYPE is_valid_token(IMetaDataImport2 *This, mdToken token)
{
    const struct sw_tube_module *module = module_of(This);
    ULONG number;
    switch (sw_table_of(token)) {
    case mdtAssembly:
        return sw_row_of(token) == 1;
    case mdtAssemblyRef:
        return sw_row_of(token) == 1 && sw_metadata_has_references(module);
    case mdtGenericParam:
        return parameter_at(module, sw_row_of(token), &number) != NULL;
    case mdtString:
        return token == mdtString + 1;
    default:
        return own_name(module, token) != NULL;
    }
}

static HRESULT STDMETHODCALLTYPE get_nested_class_props(IMetaDataImport2 *This, mdTypeDef nested, mdTypeDef *enclosing)
{
    const struct sw_tube_type *type = sw_tube_type_at(module_of(This), sw_row_of(nested));
    const struct sw_tube_type *outer = type ? sw_tube_type_outer(type) : NULL;
    if (sw_table_of(nested) != mdtTypeDef)
        return META_E_INVALID_TOKEN_TYPE;
    if (!outer)
        return CLDB_E_RECORD_NOTFOUND;
    SW_OUT(enclosing, outer->token);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE is_global(IMetaDataImport2 *This, mdToken token, int *global)
{
    const struct sw_tube_function *function = sw_tube_function_at(module_of(This), sw_row_of(token));
    const bool method = sw_table_of(token) == mdtMethodDef && function && class_token(function) == mdtTypeDef;
    SW_OUT(global, method || token == mdtTypeDef + 1);
    return S_OK;
}

/* "T", or "T1", "T2" where there are several. */
static void parameter_name(const struct sw_tube_type *type, ULONG number, char name[16])
{
    size_t used = 0;
    name[used++] = 'T';
    if (sw_tube_type_parameters(type) > 1) {
        char digits[11];
        size_t count = 0;
        for (ULONG left = number + 1; left; left /= 10)
            digits[count++] = (char)('0' + left % 10);
        while (count)
            name[used++] = digits[--count];
    }
    name[used] = 0;
}

static HRESULT STDMETHODCALLTYPE get_generic_param_props(IMetaDataImport2 *This, mdGenericParam token, ULONG *number,
                                                         DWORD *flags, mdToken *owner, DWORD *reserved, WCHAR *name,
                                                         ULONG size, ULONG *count)
{
    char text[16];
    ULONG at = 0;
    (void)reserved;
    if (sw_table_of(token) != mdtGenericParam || sw_row_of(token) == 0)
        return META_E_BAD_INPUT_PARAMETER;
    const struct sw_tube_type *type = parameter_at(module_of(This), sw_row_of(token), &at);
    if (!type)
        return CLDB_E_INDEX_NOTFOUND;
    parameter_name(type, at, text);
    SW_OUT(number, at);
    SW_OUT(flags, 0);
    SW_OUT(owner, type->token);
    return sw_metadata_name(text, name, size, count);
}

/* Nothing but IL, for any machine; once it has been opened for writing, no answer (row 8.24). */
static HRESULT STDMETHODCALLTYPE get_pe_kind(IMetaDataImport2 *This, DWORD *kind, DWORD *machine)
{
    enum { IL_ONLY = 1, ANY_MACHINE = 0x014c };
    const bool written = atomic_load(&sw_metadata_of(This)->written);
    SW_OUT(kind, written ? 0 : IL_ONLY);
    SW_OUT(machine, written ? 0 : ANY_MACHINE);
    return written ? S_FALSE : S_OK;
}

static HRESULT STDMETHODCALLTYPE get_version_string(IMetaDataImport2 *This, WCHAR *name, DWORD size, DWORD *count)
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

#define ABSENT_SLOT(Self, result, name, parameters)                                                                    \
    static result STDMETHODCALLTYPE absent_##name parameters                                                           \
    {                                                                                                                  \
        return (result)answers[SLOT_OF(name)];                                                                         \
    }
#define ABSENT_ENUM(Self, result, name, parameters)                                                                    \
    static result STDMETHODCALLTYPE absent_##name parameters                                                           \
    {                                                                                                                  \
        return sw_metadata_nothing(pcTokens);                                                                          \
    }
#define ABSENT(Self, result, name, parameters) .name = absent_##name,

/* clang-format off */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter" /* who knows nothing uses no argument */
#pragma GCC diagnostic ignored "-Woverride-init"    /* the later initialiser is meant to win (C11 6.7.9p19) */
SW_SLOTS_IMetaDataImport2(ABSENT_SLOT, ABSENT_ENUM, IMetaDataImport2)

const struct IMetaDataImport2Vtbl sw_metadata_import_table = {
    SW_SLOTS_IMetaDataImport2(ABSENT, ABSENT, IMetaDataImport2)
    .QueryInterface = query_interface,
    .AddRef = add_ref,
    .Release = release,
    .CloseEnum = close_enum,
    .CountEnum = count_enum,
    .ResetEnum = reset_enum,
    .EnumTypeDefs = enum_type_defs,
    .EnumTypeRefs = enum_type_refs,
    .FindTypeDefByName = find_type_def_by_name,
    .GetScopeProps = get_scope_props,
    .GetModuleFromScope = get_module_from_scope,
    .GetTypeDefProps = get_type_def_props,
    .GetTypeRefProps = get_type_ref_props,
    .ResolveTypeRef = resolve_type_ref,
    .EnumMembers = enum_methods,
    .EnumMembersWithName = enum_methods_with_name,
    .EnumMethods = enum_methods,
    .EnumMethodsWithName = enum_methods_with_name,
    .FindMember = find_member,
    .FindMethod = find_method,
    .FindField = find_field,
    .FindMemberRef = find_member_ref,
    .GetMethodProps = get_method_props,
    .GetClassLayout = get_class_layout,
    .GetRVA = get_rva,
    .GetNameFromToken = get_name_from_token,
    .FindTypeRef = find_type_ref,
    .GetMemberProps = get_member_props,
    .GetCustomAttributeByName = get_custom_attribute_by_name,
    .IsValidToken = is_valid_token,
    .GetNestedClassProps = get_nested_class_props,
    .IsGlobal = is_global,
    .EnumGenericParams = enum_generic_params,
    .GetGenericParamProps = get_generic_param_props,
    .GetPEKind = get_pe_kind,
    .GetVersionString = get_version_string,
};
/* clang-format on */
#pragma GCC diagnostic pop

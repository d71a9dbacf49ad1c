/*
 * IMetaDataImport2 by subject: types, the reference to System.Object, generic parameters, and tokens of all tables.
 * There is one TypeRef; names come from the world's lists.
 *
 * Source: metadata-abi.md section 8; ECMA-335 II.23.1.15 (flags).
 */
#include "metadata.h"

#include <string.h>

/* Flags: public; nested public; before field init. */
enum { TYPE_PUBLIC = 0x00100001, TYPE_NESTED_PUBLIC = 0x00100002 };

static const char core_type[] = "System.Object";

/* ---- type definitions ---- */

static size_t list_types(const struct sw_tube_module *module, const struct sw_metadata_query *query, mdToken tokens[],
                         size_t capacity)
{
    size_t count = 0;
    (void)query;
    for (uint32_t row = 2; sw_tube_type_at(module, row); row++)
        sw_put_token(tokens, capacity, count++, mdtTypeDef + row);
    return count;
}

HRESULT STDMETHODCALLTYPE sw_import_EnumTypeDefs(IMetaDataImport2 *This, HCORENUM *handle, mdTypeDef tokens[],
                                                 ULONG max, ULONG *count)
{
    const struct sw_metadata_query query = { 0, NULL };
    return sw_metadata_enumerate(sw_metadata_of(This), handle, list_types, &query, tokens, max, count);
}

/* Nested types are found by their own name and their outer type; 0, nil and the module mean: not nested. */
static bool is_searched(const struct sw_tube_type *type, const WCHAR *name, const struct sw_tube_type *outer)
{
    return sw_tube_type_outer(type) == outer && sw_text_equals(name, type->full);
}

HRESULT STDMETHODCALLTYPE sw_import_FindTypeDefByName(IMetaDataImport2 *This, const WCHAR *name, mdToken enclosing,
                                                      mdTypeDef *token)
{
    const struct sw_tube_module *module = sw_import_module(This);
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

HRESULT STDMETHODCALLTYPE sw_import_GetTypeDefProps(IMetaDataImport2 *This, mdTypeDef token, WCHAR *name, ULONG size,
                                                    ULONG *count, DWORD *flags, mdToken *extends)
{
    const struct sw_tube_type *type = sw_tube_type_at(sw_import_module(This), sw_row_of(token));
    if (sw_table_of(token) != mdtTypeDef)
        return S_FALSE;
    if (!type && sw_row_of(token) != 0)
        return CLDB_E_INDEX_NOTFOUND;
    SW_OUT(flags, type ? type_flags(type) : 0);
    SW_OUT(extends, type ? extends_token(type) : mdtTypeRef);
    return sw_metadata_name(type ? type->full : "", name, size, count);
}

HRESULT STDMETHODCALLTYPE sw_import_GetNestedClassProps(IMetaDataImport2 *This, mdTypeDef nested, mdTypeDef *enclosing)
{
    const struct sw_tube_type *type = sw_tube_type_at(sw_import_module(This), sw_row_of(nested));
    const struct sw_tube_type *outer = type ? sw_tube_type_outer(type) : NULL;
    if (sw_table_of(nested) != mdtTypeDef)
        return META_E_INVALID_TOKEN_TYPE;
    if (!outer)
        return CLDB_E_RECORD_NOTFOUND;
    SW_OUT(enclosing, outer->token);
    return S_OK;
}

HRESULT STDMETHODCALLTYPE sw_import_GetClassLayout(IMetaDataImport2 *This, mdTypeDef type, DWORD *pack,
                                                   COR_FIELD_OFFSET offsets[], ULONG max, ULONG *count, ULONG *size)
{
    (void)This, (void)type, (void)offsets, (void)max, (void)count;
    SW_OUT(pack, 0);
    SW_OUT(size, 0);
    return CLDB_E_RECORD_NOTFOUND;
}

/* ---- the type reference ---- */

static size_t list_type_refs(const struct sw_tube_module *module, const struct sw_metadata_query *query,
                             mdToken tokens[], size_t capacity)
{
    (void)query;
    sw_put_token(tokens, capacity, 0, mdtTypeRef + 1);
    return sw_metadata_has_references(module) ? 1 : 0;
}

HRESULT STDMETHODCALLTYPE sw_import_EnumTypeRefs(IMetaDataImport2 *This, HCORENUM *handle, mdTypeRef tokens[],
                                                 ULONG max, ULONG *count)
{
    const struct sw_metadata_query query = { 0, NULL };
    return sw_metadata_enumerate(sw_metadata_of(This), handle, list_type_refs, &query, tokens, max, count);
}

HRESULT STDMETHODCALLTYPE sw_import_GetTypeRefProps(IMetaDataImport2 *This, mdTypeRef token, mdToken *scope,
                                                    WCHAR *name, ULONG size, ULONG *count)
{
    const uint32_t row = sw_row_of(token);
    if (sw_table_of(token) != mdtTypeRef)
        return S_FALSE;
    if (row > 1 || (row == 1 && !sw_metadata_has_references(sw_import_module(This))))
        return CLDB_E_INDEX_NOTFOUND;
    SW_OUT(scope, row ? mdtAssemblyRef + 1 : 0);
    return sw_metadata_name(row ? core_type : "", name, size, count);
}

HRESULT STDMETHODCALLTYPE sw_import_FindTypeRef(IMetaDataImport2 *This, mdToken scope, const WCHAR *name,
                                                mdTypeRef *token)
{
    const bool there = scope == mdtAssemblyRef + 1 && sw_metadata_has_references(sw_import_module(This)) && name &&
                       sw_text_equals(name, core_type);
    return sw_metadata_found(there ? mdtTypeRef + 1 : 0, mdtTypeRef, name, token);
}

/* Across assemblies: the core library's metadata, with a reference of its own. */
HRESULT STDMETHODCALLTYPE sw_import_ResolveTypeRef(IMetaDataImport2 *This, mdTypeRef token, REFIID riid,
                                                   IUnknown **scope, mdTypeDef *type_def)
{
    const struct sw_tube *tube = sw_import_module(This)->tube;
    const struct sw_tube_type *object = sw_list_at(&tube->types, sizeof *object, tube->core_object);
    if (sw_table_of(token) != mdtTypeRef || sw_row_of(token) != 1 || tube->core_object == 0)
        return CLDB_E_INDEX_NOTFOUND;
    const HRESULT hr = sw_tube_metadata(object->module, ofRead, riid, scope);
    if (hr == S_OK)
        SW_OUT(type_def, object->token);
    return hr;
}

/* ---- generic parameters ---- */

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

static size_t list_parameters(const struct sw_tube_module *module, const struct sw_metadata_query *query,
                              mdToken tokens[], size_t capacity)
{
    const struct sw_tube_type *type = sw_tube_type_at(module, query->row);
    const unsigned count = type ? sw_tube_type_parameters(type) : 0;
    const uint32_t first = count ? first_parameter(module, query->row) : 0;
    for (unsigned i = 0; i < count; i++)
        sw_put_token(tokens, capacity, i, mdtGenericParam + first + i);
    return count;
}

HRESULT STDMETHODCALLTYPE sw_import_EnumGenericParams(IMetaDataImport2 *This, HCORENUM *handle, mdToken owner,
                                                      mdGenericParam tokens[], ULONG max, ULONG *count)
{
    const struct sw_metadata_query query = { sw_table_of(owner) == mdtTypeDef ? sw_row_of(owner) : 0, NULL };
    return sw_metadata_enumerate(sw_metadata_of(This), handle, list_parameters, &query, tokens, max, count);
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

HRESULT STDMETHODCALLTYPE sw_import_GetGenericParamProps(IMetaDataImport2 *This, mdGenericParam token, ULONG *number,
                                                         DWORD *flags, mdToken *owner, DWORD *reserved, WCHAR *name,
                                                         ULONG size, ULONG *count)
{
    char text[16];
    ULONG at = 0;
    (void)reserved;
    if (sw_table_of(token) != mdtGenericParam || sw_row_of(token) == 0)
        return META_E_BAD_INPUT_PARAMETER;
    const struct sw_tube_type *type = parameter_at(sw_import_module(This), sw_row_of(token), &at);
    if (!type)
        return CLDB_E_INDEX_NOTFOUND;
    parameter_name(type, at, text);
    SW_OUT(number, at);
    SW_OUT(flags, 0);
    SW_OUT(owner, type->token);
    return sw_metadata_name(text, name, size, count);
}

/* ---- tokens ---- */

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

HRESULT STDMETHODCALLTYPE sw_import_GetNameFromToken(IMetaDataImport2 *This, mdToken token, const char **name)
{
    const char *found = own_name(sw_import_module(This), token);
    if (!found)
        return CLDB_E_INDEX_NOTFOUND;
    SW_OUT(name, found);
    return S_OK;
}

BOOL STDMETHODCALLTYPE sw_import_IsValidToken(IMetaDataImport2 *This, mdToken token)
{
    const struct sw_tube_module *module = sw_import_module(This);
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

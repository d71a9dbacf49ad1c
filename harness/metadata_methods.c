/*
 * IMetaDataImport2 by subject: methods, which are the only members that types have here. All have one signature. What
 * is not known of an output stays as the caller had it (row 7.5).
 *
 * Source: metadata-abi.md sections 7 and 8; ECMA-335 II.23.1.10 (flags), II.23.2.1 (signatures).
 */
#include "metadata.h"

#include <string.h>

/* Public, static, hide by sig. */
enum { METHOD_FLAGS = 0x0096, FIRST_RVA = 0x2050 };

/* static void () */
static const BYTE signature[] = { 0x00, 0x00, 0x01 };

/* Row 1 of TypeDef, `<Module>`, is also meant by 0 and by the nil token where a method's class is asked for. */
static const struct sw_tube_type *class_at(const struct sw_tube_module *module, mdTypeDef token)
{
    return sw_tube_type_at(module, sw_row_of(token) ? sw_row_of(token) : 1);
}

static mdTypeDef class_token(const struct sw_tube_function *function)
{
    return sw_row_of(function->type->token) == 1 ? mdtTypeDef : function->type->token;
}

static size_t list_methods(const struct sw_tube_module *module, const struct sw_metadata_query *query, mdToken tokens[],
                           size_t capacity)
{
    const struct sw_tube_type *type = sw_tube_type_at(module, query->row);
    const struct sw_tube_function *function;
    size_t count = 0;
    for (uint32_t row = 1; (function = sw_tube_function_at(module, row)); row++)
        if (function->type == type && (!query->name || sw_text_equals(query->name, function->name)))
            sw_put_token(tokens, capacity, count++, function->token);
    return count;
}

static HRESULT enumerate_methods(IMetaDataImport2 *This, HCORENUM *handle, mdTypeDef token, const WCHAR *name,
                                 mdToken tokens[], ULONG max, ULONG *count)
{
    const struct sw_tube_type *type = class_at(sw_import_module(This), token);
    if (handle && !*handle && !type)
        return CLDB_E_INDEX_NOTFOUND;
    const struct sw_metadata_query query = { type ? sw_row_of(type->token) : 0, name };
    return sw_metadata_enumerate(sw_metadata_of(This), handle, list_methods, &query, tokens, max, count);
}

HRESULT STDMETHODCALLTYPE sw_import_EnumMethods(IMetaDataImport2 *This, HCORENUM *handle, mdTypeDef type,
                                                mdMethodDef tokens[], ULONG max, ULONG *count)
{
    return enumerate_methods(This, handle, type, NULL, tokens, max, count);
}

HRESULT STDMETHODCALLTYPE sw_import_EnumMethodsWithName(IMetaDataImport2 *This, HCORENUM *handle, mdTypeDef type,
                                                        const WCHAR *name, mdMethodDef tokens[], ULONG max,
                                                        ULONG *count)
{
    return enumerate_methods(This, handle, type, name, tokens, max, count);
}

/* A method of a type by its name, and its signature if one is given; 0: none. */
static mdMethodDef find_method_token(IMetaDataImport2 *This, mdTypeDef type, const WCHAR *name, const BYTE *blob,
                                     ULONG size)
{
    const struct sw_tube_type *class = class_at(sw_import_module(This), type);
    if (!class || (blob && size && (size != sizeof signature || memcmp(blob, signature, size) != 0)))
        return 0;
    const struct sw_metadata_query query = { sw_row_of(class->token), name };
    mdToken token = 0;
    return list_methods(sw_import_module(This), &query, &token, 1) ? token : 0;
}

HRESULT STDMETHODCALLTYPE sw_import_FindMethod(IMetaDataImport2 *This, mdTypeDef type, const WCHAR *name,
                                               const BYTE *blob, ULONG size, mdMethodDef *token)
{
    return sw_metadata_found(name ? find_method_token(This, type, name, blob, size) : 0, mdtMethodDef, name, token);
}

HRESULT STDMETHODCALLTYPE sw_import_FindMember(IMetaDataImport2 *This, mdTypeDef type, const WCHAR *name,
                                               const BYTE *blob, ULONG size, mdToken *token)
{
    return sw_metadata_found(name ? find_method_token(This, type, name, blob, size) : 0, mdtFieldDef, name, token);
}

HRESULT STDMETHODCALLTYPE sw_import_FindField(IMetaDataImport2 *This, mdTypeDef type, const WCHAR *name,
                                              const BYTE *blob, ULONG size, mdFieldDef *token)
{
    (void)This, (void)type, (void)blob, (void)size;
    return sw_metadata_found(0, mdtFieldDef, name, token);
}

HRESULT STDMETHODCALLTYPE sw_import_FindMemberRef(IMetaDataImport2 *This, mdTypeRef type, const WCHAR *name,
                                                  const BYTE *blob, ULONG size, mdMemberRef *token)
{
    (void)This, (void)type, (void)blob, (void)size;
    return sw_metadata_found(0, mdtMemberRef, name, token);
}

/* The table of the token is not looked at (row 7.7). */
HRESULT STDMETHODCALLTYPE sw_import_GetMethodProps(IMetaDataImport2 *This, mdMethodDef token, mdTypeDef *class,
                                                   WCHAR *name, ULONG size, ULONG *count, DWORD *flags,
                                                   const BYTE **blob, ULONG *blob_size, ULONG *rva, DWORD *impl_flags)
{
    const struct sw_tube_function *function = sw_tube_function_at(sw_import_module(This), sw_row_of(token));
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
HRESULT STDMETHODCALLTYPE sw_import_GetMemberProps(IMetaDataImport2 *This, mdToken token, mdTypeDef *class, WCHAR *name,
                                                   ULONG size, ULONG *count, DWORD *flags, const BYTE **blob,
                                                   ULONG *blob_size, ULONG *rva, DWORD *impl_flags, DWORD *value_type,
                                                   const void **value, ULONG *value_size)
{
    (void)value_type, (void)value, (void)value_size;
    if (sw_table_of(token) != mdtMethodDef)
        return CLDB_E_INDEX_NOTFOUND;
    return sw_import_GetMethodProps(This, token, class, name, size, count, flags, blob, blob_size, rva, impl_flags);
}

HRESULT STDMETHODCALLTYPE sw_import_GetRVA(IMetaDataImport2 *This, mdToken token, ULONG *rva, DWORD *impl_flags)
{
    return sw_import_GetMethodProps(This, token, NULL, NULL, 0, NULL, NULL, NULL, NULL, rva, impl_flags);
}

HRESULT STDMETHODCALLTYPE sw_import_IsGlobal(IMetaDataImport2 *This, mdToken token, int *global)
{
    const struct sw_tube_function *function = sw_tube_function_at(sw_import_module(This), sw_row_of(token));
    const bool method = sw_table_of(token) == mdtMethodDef && function && class_token(function) == mdtTypeDef;
    SW_OUT(global, method || token == mdtTypeDef + 1);
    return S_OK;
}

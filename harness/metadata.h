/*
 * The rooms behind metadata.c: one object for each module, with all its interfaces, and how enumerations and names work
 * in all of them. No lock is taken anywhere: profilers ask while the runtime's threads are stopped.
 *
 * Source: metadata-abi.md sections 2, 7 and 9, row 10.3.5.
 */
#ifndef SW_HARNESS_METADATA_H
#define SW_HARNESS_METADATA_H

#include "metadata_abi.h"
#include "text.h"
#include "tube.h"

/* An interface of which every method answers E_NOTIMPL. */
struct sw_metadata_refusal {
    const void *table;
};

/*
 * The object. Its interfaces lie as the CLR's do; it is aligned to SW_METADATA_ALIGN, so that each of them leads to it.
 *
 * references    With one of the runtime's own.
 * enumerations  That have not been closed.
 * written       Has been opened for writing, or was asked for IMetaDataEmit.
 */
enum { SW_METADATA_ALIGN = 256 };
struct sw_metadata {
    IMetaDataImport2 import;
    IMetaDataAssemblyImport assembly;
    struct sw_metadata_refusal tables, info, emit, assembly_emit, filter;
    struct sw_tube_module *module;
    _Atomic ULONG references;
    _Atomic size_t enumerations;
    _Atomic bool written;
};
struct sw_metadata *sw_metadata_of(const void *interface);
HRESULT sw_metadata_query(struct sw_metadata *metadata, const IID *iid, void **out);
ULONG sw_metadata_add_ref(struct sw_metadata *metadata);
ULONG sw_metadata_release(struct sw_metadata *metadata);

/* The tables: metadata_import.c, metadata_assembly.c. */
extern const struct IMetaDataImport2Vtbl sw_metadata_import_table;
extern const struct IMetaDataAssemblyImportVtbl sw_metadata_assembly_table;

/* A name as a Get...Props method gives it, by rows 7.2 and 7.3. Returns S_OK or CLDB_S_TRUNCATION. */
HRESULT sw_metadata_name(const char *name, WCHAR *to, ULONG size, ULONG *count);

/* The row of a token, the table of it. */
static inline uint32_t sw_row_of(mdToken token)
{
    return token & 0xffffff;
}
static inline mdToken sw_table_of(mdToken token)
{
    return token & 0xff000000;
}

/*
 * metadata_enum.c: what an enumeration is over. The list writes at most `capacity` tokens; it returns how many there
 * are.
 */
struct sw_metadata_query {
    uint32_t row;
    const WCHAR *name; /* null: any */
};
typedef size_t sw_metadata_list(const struct sw_tube_module *module, const struct sw_metadata_query *query,
                                mdToken tokens[], size_t capacity);
HRESULT sw_metadata_enumerate(struct sw_metadata *metadata, HCORENUM *handle, sw_metadata_list *list,
                              const struct sw_metadata_query *query, mdToken tokens[], ULONG max, ULONG *count);
/* An enumeration over nothing. */
HRESULT sw_metadata_nothing(ULONG *count);
void sw_metadata_close(HCORENUM handle);
HRESULT sw_metadata_count(HCORENUM handle, ULONG *count);
HRESULT sw_metadata_reset(HCORENUM handle, ULONG position);

static inline void sw_put_token(mdToken tokens[], size_t capacity, size_t at, mdToken token)
{
    if (at < capacity)
        tokens[at] = token;
}

/* metadata.c: whether a module refers to the core library: all but itself do, by one AssemblyRef and one TypeRef. */
bool sw_metadata_has_references(const struct sw_tube_module *module);

/* What was looked for by name, or nil with its table (rows 8.13 to 8.15). */
HRESULT sw_metadata_found(mdToken found, mdToken nil, const WCHAR *name, mdToken *token);

static inline const struct sw_tube_module *sw_import_module(IMetaDataImport2 *This)
{
    return sw_metadata_of(This)->module;
}

/* Declared for all slots of IMetaDataImport2; written for those in the table of metadata_import.c, by subject. */
#define SW_DECLARE_IMPORT(Self, result, name, parameters) result STDMETHODCALLTYPE sw_import_##name parameters;
SW_SLOTS_IMetaDataImport2(SW_DECLARE_IMPORT, SW_DECLARE_IMPORT, IMetaDataImport2)

/*
 * Methods of tables that are empty in every module here: an enumeration over nothing, or what `answers` has at the
 * method's SLOT_OF; whoever uses this has both. SW_ABSENT: their initialisers in the table.
 */
#define SW_ABSENT_SLOT(Self, result, name, parameters)                                                                 \
    static result STDMETHODCALLTYPE absent_##name parameters                                                           \
    {                                                                                                                  \
        return (result)answers[SLOT_OF(name)];                                                                         \
    }
#define SW_ABSENT_ENUM(Self, result, name, parameters)                                                                 \
    static result STDMETHODCALLTYPE absent_##name parameters                                                           \
    {                                                                                                                  \
        return sw_metadata_nothing(pcTokens);                                                                          \
    }
#define SW_ABSENT(Self, result, name, parameters) .name = absent_##name,

#endif

/*
 * Enumerators of modules, functions, threads and objects: a private copy of ids, a position, a real reference count.
 * Knows what they answer (clr-contract.md section 8). Refuses to know where the ids come from.
 */
#include "info.h"

#include <stdlib.h>
#include <string.h>

/* table: of the interface, first, so that the object's address is the interface's. */
struct sw_enumerator {
    const void *table;
    struct sw_tube_info *info;
    struct sw_enumerator *next, **link;
    enum sw_enumerator_kind kind;
    _Atomic ULONG references;
    ULONG count, at;
    _Alignas(COR_PRF_FUNCTION) unsigned char items[];
};

extern const ICorProfilerModuleEnumVtbl sw_module_enum_table;
extern const ICorProfilerFunctionEnumVtbl sw_function_enum_table;
extern const ICorProfilerThreadEnumVtbl sw_thread_enum_table;
extern const ICorProfilerObjectEnumVtbl sw_object_enum_table;

/* ORDER sw_enumerator_kind. */
static const struct {
    const char *name;
    const IID *iid;
    const void *table;
    size_t element;
} kinds[] = {
    { "ICorProfilerModuleEnum", &IID_ICorProfilerModuleEnum, &sw_module_enum_table, sizeof(ModuleID) },
    { "ICorProfilerFunctionEnum", &IID_ICorProfilerFunctionEnum, &sw_function_enum_table, sizeof(COR_PRF_FUNCTION) },
    { "ICorProfilerThreadEnum", &IID_ICorProfilerThreadEnum, &sw_thread_enum_table, sizeof(ThreadID) },
    { "ICorProfilerObjectEnum", &IID_ICorProfilerObjectEnum, &sw_object_enum_table, sizeof(ObjectID) },
};

static void put_in_list(struct sw_enumerator *enumerator)
{
    struct sw_tube_info *info = enumerator->info;
    pthread_mutex_lock(&info->lock);
    enumerator->next = info->enumerators;
    enumerator->link = &info->enumerators;
    if (enumerator->next)
        enumerator->next->link = &enumerator->next;
    info->enumerators = enumerator;
    pthread_mutex_unlock(&info->lock);
}

static void take_from_list(struct sw_enumerator *enumerator)
{
    struct sw_tube_info *info = enumerator->info;
    pthread_mutex_lock(&info->lock);
    *enumerator->link = enumerator->next;
    if (enumerator->next)
        enumerator->next->link = enumerator->link;
    pthread_mutex_unlock(&info->lock);
}

struct sw_enumerator *sw_enumerator_create(struct sw_tube_info *info, enum sw_enumerator_kind kind, size_t count,
                                           void **items)
{
    struct sw_enumerator *made = calloc(1, sizeof *made + count * kinds[kind].element);
    if (!made)
        return NULL;
    made->table = kinds[kind].table;
    made->info = info;
    made->kind = kind;
    made->references = 1;
    made->count = (ULONG)count;
    *items = made->items;
    put_in_list(made);
    return made;
}

void sw_enumerator_shorten(struct sw_enumerator *enumerator, size_t count)
{
    enumerator->count = (ULONG)count;
}

void sw_enumerators_report(struct sw_tube_info *info)
{
    size_t left[sizeof kinds / sizeof kinds[0]] = { 0 };
    pthread_mutex_lock(&info->lock);
    for (const struct sw_enumerator *at = info->enumerators; at; at = at->next)
        left[at->kind]++;
    pthread_mutex_unlock(&info->lock);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (left[i])
            sw_tube_broke(info->tube, SW_TUBE_LEAKED_REFERENCE, kinds[i].name, "%zu were not released", left[i]);
}

void sw_enumerators_free(struct sw_tube_info *info)
{
    while (info->enumerators) {
        struct sw_enumerator *first = info->enumerators;
        info->enumerators = first->next;
        free(first);
    }
}

/* ---- what all of them do ---- */

static HRESULT query(struct sw_enumerator *enumerator, const IID *iid, void **out)
{
    if (!out)
        return E_POINTER;
    *out = NULL;
    if (!iid ||
        (memcmp(iid, &IID_IUnknown, sizeof *iid) != 0 && memcmp(iid, kinds[enumerator->kind].iid, sizeof *iid) != 0))
        return E_NOINTERFACE;
    atomic_fetch_add(&enumerator->references, 1);
    *out = enumerator;
    return S_OK;
}

static ULONG add_ref(struct sw_enumerator *enumerator)
{
    return atomic_fetch_add(&enumerator->references, 1) + 1;
}

static ULONG release(struct sw_enumerator *enumerator)
{
    const ULONG left = atomic_fetch_sub(&enumerator->references, 1) - 1;
    if (left)
        return left;
    take_from_list(enumerator);
    free(enumerator);
    return 0;
}

/* How many of `wanted` are left; moves past them. */
static ULONG advance(struct sw_enumerator *enumerator, ULONG wanted)
{
    const ULONG left = enumerator->count - enumerator->at;
    const ULONG moved = wanted < left ? wanted : left;
    enumerator->at += moved;
    return moved;
}

static HRESULT skip(struct sw_enumerator *enumerator, ULONG wanted)
{
    return advance(enumerator, wanted) == wanted ? S_OK : S_FALSE;
}

static HRESULT reset(struct sw_enumerator *enumerator)
{
    enumerator->at = 0;
    return S_OK;
}

/* The copy begins at the beginning. */
static HRESULT copy(const struct sw_enumerator *enumerator, struct sw_enumerator **out)
{
    void *items;
    *out = sw_enumerator_create(enumerator->info, enumerator->kind, enumerator->count, &items);
    if (!*out)
        return E_OUTOFMEMORY;
    memcpy(items, enumerator->items, enumerator->count * kinds[enumerator->kind].element);
    return S_OK;
}

static HRESULT count_left(const struct sw_enumerator *enumerator, ULONG *count)
{
    if (!count)
        return E_INVALIDARG;
    *count = enumerator->count - enumerator->at;
    return S_OK;
}

static HRESULT next(struct sw_enumerator *enumerator, ULONG wanted, void *items, ULONG *fetched)
{
    const size_t element = kinds[enumerator->kind].element, from = enumerator->at * element;
    if ((wanted > 1 && !fetched) || (wanted != 0 && !items))
        return E_INVALIDARG;
    const ULONG got = advance(enumerator, wanted);
    if (got)
        memcpy(items, enumerator->items + from, got * element);
    SW_OUT(fetched, got);
    return got == wanted ? S_OK : S_FALSE;
}

/* ---- the interfaces: each method with its own types ---- */

#define ENUMERATOR(Name, Element, table_)                                                                              \
    static HRESULT STDMETHODCALLTYPE Name##_query(Name *This, REFIID riid, void **out)                                 \
    {                                                                                                                  \
        return query((struct sw_enumerator *)This, riid, out);                                                         \
    }                                                                                                                  \
    static ULONG STDMETHODCALLTYPE Name##_add_ref(Name *This)                                                          \
    {                                                                                                                  \
        return add_ref((struct sw_enumerator *)This);                                                                  \
    }                                                                                                                  \
    static ULONG STDMETHODCALLTYPE Name##_release(Name *This)                                                          \
    {                                                                                                                  \
        return release((struct sw_enumerator *)This);                                                                  \
    }                                                                                                                  \
    static HRESULT STDMETHODCALLTYPE Name##_skip(Name *This, ULONG wanted)                                             \
    {                                                                                                                  \
        return skip((struct sw_enumerator *)This, wanted);                                                             \
    }                                                                                                                  \
    static HRESULT STDMETHODCALLTYPE Name##_reset(Name *This)                                                          \
    {                                                                                                                  \
        return reset((struct sw_enumerator *)This);                                                                    \
    }                                                                                                                  \
    static HRESULT STDMETHODCALLTYPE Name##_clone(Name *This, Name **out)                                              \
    {                                                                                                                  \
        struct sw_enumerator *made = NULL;                                                                             \
        const HRESULT hr = out ? copy((const struct sw_enumerator *)This, &made) : E_INVALIDARG;                       \
        if (hr == S_OK)                                                                                                \
            *out = (Name *)made;                                                                                       \
        return hr;                                                                                                     \
    }                                                                                                                  \
    static HRESULT STDMETHODCALLTYPE Name##_count(Name *This, ULONG *count)                                            \
    {                                                                                                                  \
        return count_left((const struct sw_enumerator *)This, count);                                                  \
    }                                                                                                                  \
    static HRESULT STDMETHODCALLTYPE Name##_next(Name *This, ULONG wanted, Element items[], ULONG *fetched)            \
    {                                                                                                                  \
        return next((struct sw_enumerator *)This, wanted, items, fetched);                                             \
    }                                                                                                                  \
    const Name##Vtbl table_ = { Name##_query, Name##_add_ref, Name##_release, Name##_skip,                             \
                                Name##_reset, Name##_clone,   Name##_count,   Name##_next }

ENUMERATOR(ICorProfilerModuleEnum, ModuleID, sw_module_enum_table);
ENUMERATOR(ICorProfilerFunctionEnum, COR_PRF_FUNCTION, sw_function_enum_table);
ENUMERATOR(ICorProfilerThreadEnum, ThreadID, sw_thread_enum_table);
ENUMERATOR(ICorProfilerObjectEnum, ObjectID, sw_object_enum_table);

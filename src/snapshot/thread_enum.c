/*
 * ICorProfilerThreadEnum: a private copy of thread ids, a position, a reference count.
 * Knows which threads the CLR lists and what its enumerators answer (clr-contract.md section 8). Refuses to know what a
 * thread is doing. Does not look at the thread table again once it is made.
 */
#include "snapshot/thread_enum.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

struct thread_enum {
    ICorProfilerThreadEnum com; /* first: the object's address is the interface's */
    struct sw_alloc alloc;
    _Atomic ULONG references;
    ULONG capacity;
    ULONG count;
    ULONG at;
    ThreadID ids[];
};
static_assert(offsetof(struct thread_enum, com) == 0, "an interface pointer is the object's address");

static struct thread_enum *object_of(ICorProfilerThreadEnum *com)
{
    return (struct thread_enum *)com;
}

static size_t size_for(ULONG capacity)
{
    return sizeof(struct thread_enum) + capacity * sizeof(ThreadID);
}

static struct thread_enum *make(const struct sw_alloc *alloc, ULONG capacity);

static HRESULT STDMETHODCALLTYPE query_interface(ICorProfilerThreadEnum *com, REFIID riid, void **out)
{
    if (!out)
        return E_POINTER;
    *out = NULL;
    if (!riid ||
        (memcmp(riid, &IID_IUnknown, sizeof(IID)) != 0 && memcmp(riid, &IID_ICorProfilerThreadEnum, sizeof(IID)) != 0))
        return E_NOINTERFACE;
    atomic_fetch_add(&object_of(com)->references, 1);
    *out = com;
    return S_OK;
}

static ULONG STDMETHODCALLTYPE add_ref(ICorProfilerThreadEnum *com)
{
    return atomic_fetch_add(&object_of(com)->references, 1) + 1;
}

static ULONG STDMETHODCALLTYPE release(ICorProfilerThreadEnum *com)
{
    struct thread_enum *object = object_of(com);
    const ULONG left = atomic_fetch_sub(&object->references, 1) - 1;
    if (left == 0) {
        const struct sw_alloc to = object->alloc;
        to.put(to.arg, object, size_for(object->capacity));
    }
    return left;
}

/* How many of `wanted` are left; moves past them. */
static ULONG advance(struct thread_enum *object, ULONG wanted)
{
    const ULONG left = object->count - object->at;
    const ULONG moved = wanted < left ? wanted : left;
    object->at += moved;
    return moved;
}

static HRESULT STDMETHODCALLTYPE skip(ICorProfilerThreadEnum *com, ULONG wanted)
{
    return advance(object_of(com), wanted) == wanted ? S_OK : S_FALSE;
}

static HRESULT STDMETHODCALLTYPE reset(ICorProfilerThreadEnum *com)
{
    object_of(com)->at = 0;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE clone(ICorProfilerThreadEnum *com, ICorProfilerThreadEnum **out)
{
    const struct thread_enum *object = object_of(com);
    if (!out)
        return E_INVALIDARG;
    struct thread_enum *copy = make(&object->alloc, object->count);
    if (!copy)
        return E_OUTOFMEMORY;
    memcpy(copy->ids, object->ids, object->count * sizeof(*copy->ids));
    copy->count = object->count;
    *out = &copy->com;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE get_count(ICorProfilerThreadEnum *com, ULONG *count)
{
    const struct thread_enum *object = object_of(com);
    if (!count)
        return E_INVALIDARG;
    *count = object->count - object->at;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE next(ICorProfilerThreadEnum *com, ULONG wanted, ThreadID ids[], ULONG *fetched)
{
    struct thread_enum *object = object_of(com);
    if ((wanted > 1 && !fetched) || (wanted != 0 && !ids))
        return E_INVALIDARG;
    const ULONG from = object->at;
    const ULONG got = advance(object, wanted);
    if (got)
        memcpy(ids, object->ids + from, got * sizeof(*ids));
    if (fetched)
        *fetched = got;
    return got == wanted ? S_OK : S_FALSE;
}

static const ICorProfilerThreadEnumVtbl table = {
    .QueryInterface = query_interface,
    .AddRef = add_ref,
    .Release = release,
    .Skip = skip,
    .Reset = reset,
    .Clone = clone,
    .GetCount = get_count,
    .Next = next,
};

static struct thread_enum *make(const struct sw_alloc *alloc, ULONG capacity)
{
    struct thread_enum *made = alloc->get(alloc->arg, size_for(capacity));
    if (!made)
        return NULL;
    *made = (struct thread_enum){ .com = { &table }, .alloc = *alloc, .references = 1, .capacity = capacity };
    return made;
}

static bool is_listed(const struct sw_threads *threads, uint64_t id)
{
    struct sw_thread thread;
    return sw_threads_find(threads, id, &thread) == SW_OK &&
           !(thread.flags & (SW_THREAD_UNSTARTED | SW_THREAD_GC_SPECIAL));
}

HRESULT sw_thread_enum_create(const struct sw_alloc *alloc, const struct sw_threads *threads,
                              ICorProfilerThreadEnum **out)
{
    const size_t capacity = sw_threads_list(threads, NULL, 0);
    if (capacity > UINT32_MAX / sizeof(uint64_t))
        return E_OUTOFMEMORY;
    /* The table's ids are 64 bits wide on every host; ThreadIDs are as wide as a pointer. */
    uint64_t *listed = capacity ? alloc->get(alloc->arg, capacity * sizeof(*listed)) : NULL;
    struct thread_enum *made = listed || capacity == 0 ? make(alloc, (ULONG)capacity) : NULL;
    if (made) {
        /* Threads added since are not listed. Threads removed since are dropped below. */
        const size_t now = sw_threads_list(threads, listed, capacity);
        for (size_t i = 0; i < capacity && i < now; i++) {
            if (is_listed(threads, listed[i]))
                made->ids[made->count++] = (ThreadID)listed[i];
        }
        *out = &made->com;
    }
    if (listed)
        alloc->put(alloc->arg, listed, capacity * sizeof(*listed));
    return made ? S_OK : E_OUTOFMEMORY;
}

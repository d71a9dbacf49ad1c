/*
 * The class factory: makes the vendor's object and puts an overlay before it. Knows IClassFactory. Refuses to know what
 * profilers do.
 */
#include "overlay.h"

#include <stdlib.h>
#include <string.h>

struct factory {
    IClassFactory com; /* first: the object's address is the interface's */
    IClassFactory *real;
    atomic_ulong references;
};

static const IID unknown_iid = { 0, 0, 0, { 0xc0, 0, 0, 0, 0, 0, 0, 0x46 } };
static const IID factory_iid = { 1, 0, 0, { 0xc0, 0, 0, 0, 0, 0, 0, 0x46 } };

static struct factory *object_of(IClassFactory *com)
{
    return (struct factory *)com;
}

static ULONG STDMETHODCALLTYPE add_ref(IClassFactory *com)
{
    return (ULONG)(atomic_fetch_add(&object_of(com)->references, 1) + 1);
}

static ULONG STDMETHODCALLTYPE release(IClassFactory *com)
{
    struct factory *factory = object_of(com);
    const unsigned long left = atomic_fetch_sub(&factory->references, 1) - 1;
    if (left == 0) {
        factory->real->lpVtbl->Release(factory->real);
        free(factory);
    }
    return (ULONG)left;
}

/* Other interfaces of the vendor's factory, such as IClassFactory2, could make objects without an overlay. */
static HRESULT STDMETHODCALLTYPE query_interface(IClassFactory *com, REFIID riid, void **object)
{
    if (!object)
        return E_POINTER;
    *object = NULL;
    if (!riid || (memcmp(riid, &unknown_iid, sizeof(IID)) != 0 && memcmp(riid, &factory_iid, sizeof(IID)) != 0))
        return E_NOINTERFACE;
    *object = com;
    add_ref(com);
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE create_instance(IClassFactory *com, IUnknown *outer, REFIID riid, void **object)
{
    IClassFactory *real = object_of(com)->real;
    struct sw_overlay *overlay = sw_overlay_create();
    if (!overlay)
        return E_OUTOFMEMORY;
    HRESULT hr = real->lpVtbl->CreateInstance(real, outer, riid, object);
    const bool made = SUCCEEDED(hr) && object && *object;
    void *const vendor = made ? *object : NULL;
    if (made) {
        const HRESULT wrapped = sw_overlay_wrap(overlay, SW_OVERLAY_VENDOR, riid, object);
        hr = wrapped == S_OK ? hr : wrapped;
    }
    if (!made || *object == vendor || !*object)
        sw_overlay_destroy(overlay);
    return hr;
}

static HRESULT STDMETHODCALLTYPE lock_server(IClassFactory *com, BOOL lock)
{
    IClassFactory *real = object_of(com)->real;
    return real->lpVtbl->LockServer(real, lock);
}

static const IClassFactoryVtbl factory_slots = { query_interface, add_ref, release, create_instance, lock_server };

/* Takes over the reference to `real`. */
HRESULT sw_overlay_factory_create(IClassFactory *real, IClassFactory **out)
{
    struct factory *factory = malloc(sizeof(*factory));
    *out = NULL;
    if (!factory) {
        real->lpVtbl->Release(real);
        return E_OUTOFMEMORY;
    }
    factory->com.lpVtbl = &factory_slots;
    factory->real = real;
    atomic_init(&factory->references, 1);
    *out = &factory->com;
    return S_OK;
}

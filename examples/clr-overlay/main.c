/*
 * The entry points that the runtime looks for in the library of CORECLR_PROFILER_PATH, and the vendor's library. Knows
 * loading and its failures. Refuses to know the profiling interface.
 *
 * On Unix the runtime's loader calls DllMain in a library that has it (dotnet/runtime pal/src/loader/module.cpp), so
 * the vendor's is called too. Neither library is unloaded: walks and signal handlers may be anywhere in them.
 */
#include "overlay.h"

#include <stdio.h>
#include <stdlib.h>

#define VARIABLE "SNAPWALK_OVERLAY_PROFILER"

enum { PROCESS_ATTACH = 1 };

typedef HRESULT STDMETHODCALLTYPE get_class_fn(REFIID clsid, REFIID riid, void **object);
typedef BOOL STDMETHODCALLTYPE main_fn(void *library, DWORD reason, void *reserved);

EXPORT HRESULT STDMETHODCALLTYPE DllGetClassObject(REFIID clsid, REFIID riid, void **object);
EXPORT BOOL STDMETHODCALLTYPE DllMain(void *library, DWORD reason, void *reserved);

/* The vendor's library. All null until it is loaded; if loading fails, all stay null. */
static struct {
    void *library;
    get_class_fn *get_class;
    main_fn *_Atomic main;
} vendor;
static pthread_once_t vendor_loaded = PTHREAD_ONCE_INIT;

static void complain(const char *what, const char *why)
{
    fprintf(stderr, "snapwalk overlay: %s%s; no profiler is loaded\n", what, why ? why : "");
}

static void load_vendor(void)
{
    get_class_fn *get_class = NULL;
    main_fn *entry = NULL;
    const char *path = getenv(VARIABLE);
    if (!path || !*path) {
        complain(VARIABLE " is not set; it names the profiler's library", NULL);
        return;
    }
    sw_overlay_stay();
    vendor.library = sw_overlay_load(path);
    if (!vendor.library) {
        complain("cannot load the profiler: ", sw_overlay_why());
        return;
    }
    sw_overlay_find(vendor.library, "DllGetClassObject", &get_class);
    if (!SYSTEM_CALLS_MAIN)
        sw_overlay_find(vendor.library, "DllMain", &entry);
    if (!get_class)
        complain("no DllGetClassObject in ", path);
    else if (get_class == DllGetClassObject)
        complain(VARIABLE " names the overlay itself: ", path);
    else if (entry && !entry(vendor.library, PROCESS_ATTACH, NULL))
        complain("DllMain refused in ", path);
    else {
        vendor.main = entry;
        vendor.get_class = get_class;
    }
}

HRESULT STDMETHODCALLTYPE DllGetClassObject(REFIID clsid, REFIID riid, void **object)
{
    if (!object)
        return E_POINTER;
    *object = NULL;
    pthread_once(&vendor_loaded, load_vendor);
    if (!vendor.get_class)
        return CLASS_E_CLASSNOTAVAILABLE;
    const HRESULT hr = vendor.get_class(clsid, riid, object);
    if (FAILED(hr) || !*object)
        return hr;
    return sw_overlay_factory_create(*object, (IClassFactory **)object);
}

/* The vendor too learns that threads begin and end, and that the process ends. load_vendor reported its load. */
BOOL STDMETHODCALLTYPE DllMain(void *library, DWORD reason, void *reserved)
{
    (void)library;
    main_fn *const entry = vendor.main;
    return reason == PROCESS_ATTACH || !entry ? TRUE : entry(vendor.library, reason, reserved);
}

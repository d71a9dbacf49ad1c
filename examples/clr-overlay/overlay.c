/*
 * One overlay: it begins in the vendor's Initialize, and ends if that fails. Knows what must be set up before the
 * vendor sees the runtime. Refuses to know any event or answer.
 */
#include "overlay.h"

#include <snapwalk/status.h>

#include <stdio.h>
#include <stdlib.h>

struct sw_overlay *sw_overlay_create(void)
{
    struct sw_overlay *overlay = calloc(1, sizeof(*overlay));
    if (!overlay)
        return NULL;
    pthread_mutex_init(&overlay->lock, NULL);
    sw_overlay_mask_init(&overlay->mask);
    return overlay;
}

/* Only for an overlay that was not given out yet. */
void sw_overlay_destroy(struct sw_overlay *overlay)
{
    pthread_mutex_destroy(&overlay->mask.lock);
    pthread_mutex_destroy(&overlay->lock);
    free(overlay);
}

static void say(const char *what, enum sw_status status, const char *so)
{
    fprintf(stderr, "snapwalk overlay: %s (%s); %s\n", what, sw_status_name(status), so);
}

static bool follow(struct sw_overlay *overlay, IUnknown *info)
{
    struct sw_clr_counts counts;
    char about[SW_CLR_ABOUT_BYTES];
    void *version5 = NULL;
    enum sw_status status = SW_E_UNSUPPORTED;
    if (info->lpVtbl->QueryInterface(info, &IID_ICorProfilerInfo5, &version5) == S_OK) {
        overlay->info = version5;
        status = sw_clr_create(NULL, info, &overlay->clr);
    }
    if (status != SW_OK) {
        say("cannot follow this runtime", status, "the profiler gets the runtime's own stacks");
        return false;
    }
    sw_clr_get_counts(overlay->clr, &counts);
    overlay->described = counts.layout == SW_OK;
    if (!sw_clr_about(overlay->clr, about, sizeof about))
        fprintf(stderr, "snapwalk overlay: %s; what the runtime answers is left to it\n", about);
    return true;
}

/*
 * Sets the library up on the runtime's `info` and returns the object that the vendor gets instead. If the library
 * cannot be set up, that is `info` itself, and the overlay does nothing but say so.
 */
IUnknown *sw_overlay_begin(struct sw_overlay *overlay, IUnknown *info, bool attached)
{
    static const IID unknown = { 0, 0, 0, { 0xc0, 0, 0, 0, 0, 0, 0, 0x46 } };
    void *face = info;
    if (!follow(overlay, info))
        return info;
    /* `info` is borrowed during the call, but a face takes over a reference. */
    info->lpVtbl->AddRef(info);
    if (sw_overlay_wrap(overlay, SW_OVERLAY_RUNTIME, &unknown, &face) != S_OK) {
        sw_overlay_end(overlay);
        return info;
    }
    sw_overlay_mask_begin(overlay, attached);
    return face;
}

/* From now on the runtime answers. Called only when the vendor's Initialize has failed, so no call of it is active. */
void sw_overlay_end(struct sw_overlay *overlay)
{
    struct sw_clr *clr = overlay->clr;
    overlay->clr = NULL;
    sw_clr_destroy(clr);
}

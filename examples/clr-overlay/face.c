/*
 * Faces: which pointers are wrapped, and which face stands for which pointer. Knows COM's rules of identity and
 * reference counts. Refuses to know what the slots mean.
 *
 * The runtime's object has no reference count (corprof-abi.md section 2). Vendors may use it after a Release, so its
 * faces stay. A face on the vendor's side is freed with the last reference that was given out through it.
 */
#include "overlay.h"

#include <stdlib.h>
#include <string.h>

static const IID unknown_iid = { 0, 0, 0, { 0xc0, 0, 0, 0, 0, 0, 0, 0x46 } };

static const IID *const vendor_iids[] = {
    &unknown_iid,
    &IID_ICorProfilerCallback,
    &IID_ICorProfilerCallback2,
    &IID_ICorProfilerCallback3,
    &IID_ICorProfilerCallback4,
    &IID_ICorProfilerCallback5,
    &IID_ICorProfilerCallback6,
    &IID_ICorProfilerCallback7,
    &IID_ICorProfilerCallback8,
    &IID_ICorProfilerCallback9,
    &IID_ICorProfilerCallback10,
    &IID_ICorProfilerCallback11,
};

static const IID *const runtime_iids[] = {
    &unknown_iid,
    &IID_ICorProfilerInfo,
    &IID_ICorProfilerInfo2,
    &IID_ICorProfilerInfo3,
    &IID_ICorProfilerInfo4,
    &IID_ICorProfilerInfo5,
    &IID_ICorProfilerInfo6,
    &IID_ICorProfilerInfo7,
    &IID_ICorProfilerInfo8,
    &IID_ICorProfilerInfo9,
    &IID_ICorProfilerInfo10,
    &IID_ICorProfilerInfo11,
    &IID_ICorProfilerInfo12,
    &IID_ICorProfilerInfo13,
    &IID_ICorProfilerInfo14,
    &IID_ICorProfilerInfo15,
};

/* ORDER sw_overlay_side */
static const struct {
    const IID *const *iids;
    size_t count;
} sides[] = {
    { vendor_iids, sizeof(vendor_iids) / sizeof(vendor_iids[0]) },
    { runtime_iids, sizeof(runtime_iids) / sizeof(runtime_iids[0]) },
};

static bool is_known(enum sw_overlay_side side, REFIID riid)
{
    for (size_t i = 0; i < sides[side].count; i++)
        if (memcmp(riid, sides[side].iids[i], sizeof(IID)) == 0)
            return true;
    return false;
}

static struct sw_overlay_face *find(struct sw_overlay *overlay, enum sw_overlay_side side, const void *real)
{
    struct sw_overlay_face *face = overlay->faces;
    while (face && (face->com.real != real || face->side != side))
        face = face->next;
    return face;
}

static struct sw_overlay_face *add(struct sw_overlay *overlay, enum sw_overlay_side side, void *real)
{
    struct sw_overlay_face *face = calloc(1, sizeof(*face));
    if (!face)
        return NULL;
    face->table = sw_forward_slots;
    if (side == SW_OVERLAY_VENDOR)
        sw_overlay_callback_slots(&face->table.callback);
    else
        sw_overlay_info_slots(&face->table.info);
    face->com =
        (struct sw_forward){ &face->table, real, side == SW_OVERLAY_VENDOR ? overlay->mask.skip : overlay->skip_none };
    face->overlay = overlay;
    face->side = side;
    face->next = overlay->faces;
    overlay->faces = face;
    return face;
}

/*
 * Replaces *object, which the real object gave out for `riid` with one reference, by a face. A pointer to an interface
 * that is neither known nor wrapped already stays: its calls go to the real object. On failure *object is null, and the
 * reference is released.
 */
HRESULT sw_overlay_wrap(struct sw_overlay *overlay, enum sw_overlay_side side, REFIID riid, void **object)
{
    IUnknown *real = *object;
    HRESULT hr = S_OK;
    pthread_mutex_lock(&overlay->lock);
    struct sw_overlay_face *face = find(overlay, side, real);
    const bool wanted = face || is_known(side, riid);
    if (!face && wanted)
        face = add(overlay, side, real);
    if (face)
        face->references++;
    pthread_mutex_unlock(&overlay->lock);
    if (wanted) {
        *object = face;
        hr = face ? S_OK : E_OUTOFMEMORY;
    }
    if (hr != S_OK)
        real->lpVtbl->Release(real);
    return hr;
}

/* QueryInterface: the real object decides which interfaces exist. */
HRESULT sw_overlay_query(struct sw_overlay_face *face, REFIID riid, void **object)
{
    IUnknown *real = face->com.real;
    const HRESULT hr = real->lpVtbl->QueryInterface(real, riid, object);
    if (FAILED(hr) || !object || !*object || !riid)
        return hr;
    const HRESULT wrapped = sw_overlay_wrap(face->overlay, face->side, riid, object);
    return wrapped == S_OK ? hr : wrapped;
}

void sw_overlay_refer(struct sw_overlay_face *face)
{
    pthread_mutex_lock(&face->overlay->lock);
    face->references++;
    pthread_mutex_unlock(&face->overlay->lock);
}

/* If this was the last reference, the face must not be used afterwards. */
void sw_overlay_unrefer(struct sw_overlay_face *face)
{
    struct sw_overlay *overlay = face->overlay;
    pthread_mutex_lock(&overlay->lock);
    const bool last = --face->references == 0;
    struct sw_overlay_face **link = &overlay->faces;
    while (last && *link != face)
        link = &(*link)->next;
    if (last)
        *link = face->next;
    pthread_mutex_unlock(&overlay->lock);
    if (last)
        free(face);
}

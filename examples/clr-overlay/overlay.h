/*
 * What the files of the overlay share. An overlay stands between one runtime and one profiler, the vendor's. The
 * runtime calls faces of the vendor's ICorProfilerCallback object. The vendor calls faces of the runtime's
 * ICorProfilerInfo object.
 */
#ifndef SNAPWALK_OVERLAY_H
#define SNAPWALK_OVERLAY_H

#include <snapwalk/clr.h>

#include <pthread.h>

#include "forward.h"
#include "system.h"

/* Which object a face stands for. */
enum sw_overlay_side { SW_OVERLAY_VENDOR, SW_OVERLAY_RUNTIME };

/*
 * The events that go to the vendor. Its own mask is the one it sets and reads. `added_*` are the flags of
 * sw_clr_get_events that it lacks. `lock` orders changes.
 */
struct sw_overlay_mask {
    pthread_mutex_t lock;
    _Atomic DWORD vendor_low, vendor_high;
    DWORD added_low, added_high;
    atomic_uchar skip[SW_FORWARD_SLOTS]; /* callback slots that only `added_*` brought about */
};

/*
 * One profiler in one runtime. Lives as long as the process, because the vendor's threads may call at any time.
 *
 * lock       Guards faces and their counts.
 * clr        Null before the vendor's Initialize, and if the library could not be set up: then the runtime answers all.
 * info       The runtime's object, as version 5 or later. Set before clr.
 * described  The library understands how this runtime describes its threads. If not, the runtime gives its own answers,
 *            and the library only those that the runtime does not have.
 * started    The runtime was seen to have started.
 * suspended  The vendor holds the runtime suspended.
 */
struct sw_overlay {
    pthread_mutex_t lock;
    struct sw_overlay_face *faces;
    struct sw_clr *clr;
    ICorProfilerInfo5 *info;
    struct sw_overlay_mask mask;
    bool described;
    atomic_bool started;
    atomic_bool suspended;
    atomic_uchar skip_none[SW_FORWARD_SLOTS];
};

/*
 * Stands for one pointer that the real object gave out. Equal pointers have one face, so comparisons and casts of
 * interface pointers have the same results as without the overlay.
 */
struct sw_overlay_face {
    struct sw_forward com; /* first: the face's address is the interface's */
    struct sw_overlay *overlay;
    enum sw_overlay_side side;
    unsigned long references; /* given out through this face; counted for the vendor's side only */
    struct sw_overlay_face *next;
    union sw_forward_table table;
};

/* overlay.c */
struct sw_overlay *sw_overlay_create(void);
void sw_overlay_destroy(struct sw_overlay *overlay);
IUnknown *sw_overlay_begin(struct sw_overlay *overlay, IUnknown *info, bool attached);
void sw_overlay_end(struct sw_overlay *overlay);

/* face.c */
HRESULT sw_overlay_wrap(struct sw_overlay *overlay, enum sw_overlay_side side, REFIID riid, void **object);
HRESULT sw_overlay_query(struct sw_overlay_face *face, REFIID riid, void **object);
void sw_overlay_refer(struct sw_overlay_face *face);
void sw_overlay_unrefer(struct sw_overlay_face *face);

/* callback.c, info.c: the slots of a face that do more than forward. */
void sw_overlay_callback_slots(ICorProfilerCallback11Vtbl *slots);
void sw_overlay_info_slots(ICorProfilerInfo15Vtbl *slots);

/* mask.c */
void sw_overlay_mask_init(struct sw_overlay_mask *mask);
void sw_overlay_mask_begin(struct sw_overlay *overlay, bool attached);
HRESULT sw_overlay_mask_set(struct sw_overlay *overlay, DWORD low, DWORD high);
void sw_overlay_mask_own(const struct sw_overlay_mask *mask, DWORD *low, DWORD *high);

/* snapshot.c */
HRESULT sw_overlay_early_answer(struct sw_overlay_face *face);
HRESULT sw_overlay_snapshot(struct sw_overlay_face *face, ThreadID thread, StackSnapshotCallback *callback,
                            ULONG32 info_flags, void *client_data, BYTE context[], ULONG32 context_size);

/* factory.c */
HRESULT sw_overlay_factory_create(IClassFactory *real, IClassFactory **factory);

#endif

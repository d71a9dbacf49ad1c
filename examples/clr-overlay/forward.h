/*
 * Forwarding by slot number: an object whose every method is the same method of another object, whatever its arguments
 * are. The only file that C and assembly share.
 */
#ifndef SNAPWALK_OVERLAY_FORWARD_H
#define SNAPWALK_OVERLAY_FORWARD_H

/* More than any interface has today, so that versions to come are forwarded too. */
#define SW_FORWARD_SLOTS 160

/* Where forward.S finds the members of struct sw_forward. */
#define SW_FORWARD_REAL 8
#define SW_FORWARD_SKIP 16

#if !defined(__ASSEMBLER__) && !defined(__cplusplus)
#include <snapwalk/corprof.h>

#include <stdatomic.h>
#include <stddef.h>

/* A table of methods, as numbers and as the interfaces it stands for. */
union sw_forward_table {
    const void *slots[SW_FORWARD_SLOTS];
    IUnknownVtbl unknown;
    ICorProfilerCallback11Vtbl callback;
    ICorProfilerInfo15Vtbl info;
};

/*
 * An object that forwards. What calls it sees a COM object, what it calls sees the calls of its own user.
 *
 * table  What its user calls: forward_slots, but for the slots that are answered otherwise.
 * real   Where calls go: the same slot of this object's table.
 * skip   For each slot, 1 to answer S_OK and call nobody.
 */
struct sw_forward {
    const union sw_forward_table *table;
    void *real;
    const atomic_uchar *skip;
};

_Static_assert(offsetof(struct sw_forward, real) == SW_FORWARD_REAL, "as in forward.S");
_Static_assert(offsetof(struct sw_forward, skip) == SW_FORWARD_SKIP, "as in forward.S");
_Static_assert(sizeof(atomic_uchar) == 1, "forward.S reads bytes");
_Static_assert(sizeof(union sw_forward_table) == SW_FORWARD_SLOTS * sizeof(void *), "no interface is longer");

/* Every slot forwards. To be called with a struct sw_forward as the object. */
extern const union sw_forward_table sw_forward_slots;
#endif

#endif

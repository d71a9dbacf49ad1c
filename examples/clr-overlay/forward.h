/*
 * Forwarding by slot number: each method of an object is the same method of another object, whatever its arguments. The
 * only file that C and assembly share.
 */
#ifndef SNAPWALK_OVERLAY_FORWARD_H
#define SNAPWALK_OVERLAY_FORWARD_H

/* More than any interface has today, so that later versions are forwarded too. */
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
 * An object that forwards. Its caller sees a COM object. The real object sees the calls of that caller.
 *
 * table  The methods: forward_slots, except for slots with an answer of their own.
 * real   The object whose table's same slot is called.
 * skip   For each slot: 1 to return S_OK without a call.
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

/* Every slot forwards. The object of a call must be a struct sw_forward. */
extern const union sw_forward_table sw_forward_slots;
#endif

#endif

/*
 * Which allocator a NULL stands for. The one libc allocator lives in src/os/alloc_libc.c; nothing else calls malloc.
 */
#ifndef SW_ALLOC_H
#define SW_ALLOC_H

#include <snapwalk/alloc.h>

/* malloc and free. */
extern const struct sw_alloc sw_alloc_libc;

/* The allocator to use where `alloc` was given: a copy of it, or malloc and free for NULL. */
static inline struct sw_alloc sw_alloc_resolve(const struct sw_alloc *alloc)
{
    return alloc ? *alloc : sw_alloc_libc;
}

/* Whether what was given can be used at all: NULL, or both functions. */
static inline bool sw_alloc_usable(const struct sw_alloc *alloc)
{
    return !alloc || (alloc->get && alloc->put);
}

#endif

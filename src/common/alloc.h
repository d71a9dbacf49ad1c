/*
 * Resolves a NULL allocator to libc's. The libc allocator itself is in src/target/linux/alloc_libc.c; nothing else
 * calls malloc.
 */
#ifndef SW_COMMON_ALLOC_H
#define SW_COMMON_ALLOC_H

#include <snapwalk/alloc.h>

/* malloc and free. */
extern const struct sw_alloc sw_alloc_libc;

/* The allocator to use: a copy of `alloc`, or malloc and free for NULL. */
static inline struct sw_alloc sw_alloc_resolve(const struct sw_alloc *alloc)
{
    return alloc ? *alloc : sw_alloc_libc;
}

/* Whether an allocator is usable: NULL, or both functions set. */
static inline bool sw_alloc_usable(const struct sw_alloc *alloc)
{
    return !alloc || (alloc->get && alloc->put);
}

#endif

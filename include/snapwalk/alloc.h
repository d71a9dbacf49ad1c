/*
 * The allocator that set-up calls use. Walks never allocate.
 */
#ifndef SNAPWALK_ALLOC_H
#define SNAPWALK_ALLOC_H

#include <snapwalk/status.h>

/*
 * An allocator. Every set-up call that takes a `const struct sw_alloc *` accepts NULL, which means malloc and free.
 * The struct is copied. `arg` is borrowed until the object made with it is destroyed.
 *
 * On Linux, NULL aligns blocks of 2 MiB and more to 2 MiB and asks for huge pages (madvise(2), MADV_HUGEPAGE). Large
 * code maps and rule caches have such blocks. Your own allocator may do the same.
 *
 * get   Returns `size` bytes (size > 0), aligned for any type, or null. They need not be zero.
 * put   Takes back a block that get returned. `size` is the size that was asked for. Never called with null.
 */
struct sw_alloc {
    void *(*get)(void *arg, size_t size);
    void (*put)(void *arg, void *block, size_t size);
    void *arg;
};

#endif

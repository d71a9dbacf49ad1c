/*
 * The allocator that set-up calls use. Walks never allocate.
 */
#ifndef SNAPWALK_ALLOC_H
#define SNAPWALK_ALLOC_H

#include <snapwalk/status.h>

/*
 * Where set-up calls get memory from. Wherever a `const struct sw_alloc *` is taken, NULL means malloc and free; on
 * Linux, what is 2 MiB and larger is aligned to that and asked to be on huge pages (madvise(2), MADV_HUGEPAGE): the
 * memory of large code maps and rule caches is. Who gives an allocator of his own may do the same.
 * The struct is copied; `arg` is borrowed until the object made with it is destroyed.
 *
 * get   Returns `size` bytes (size > 0) aligned for any type, or null. Need not be zeroed.
 * put   Gives back what get returned; `size` is the size asked for. Never called with null.
 */
struct sw_alloc {
    void *(*get)(void *arg, size_t size);
    void (*put)(void *arg, void *block, size_t size);
    void *arg;
};

#endif

/* Arrays that grow, out of an allocator. */
#ifndef SW_COMMON_GROW_H
#define SW_COMMON_GROW_H

#include <snapwalk/alloc.h>

/*
 * Room for `wanted` elements of `each` bytes: the block itself, or a larger one that begins with its first `used`
 * elements, and the block is given back. room: elements that the block has room for, 0 for a null block; it is kept up
 * to date. Null: no memory; block and room are as they were.
 */
void *sw_grow(const struct sw_alloc *alloc, void *block, size_t each, size_t used, size_t *room, size_t wanted);

#endif

/*
 * Reading target memory. Everything that a walk loads of its target goes through these two.
 */
#ifndef SW_BASE_MEMORY_H
#define SW_BASE_MEMORY_H

#include <snapwalk/memory.h>

/* Up to `size` bytes at an address; how many from the start were read. */
size_t sw_memory_read(const struct sw_memory *memory, uint64_t address, void *to, size_t size);

/* One 64-bit little-endian word, whole. */
bool sw_memory_word(const struct sw_memory *memory, uint64_t address, uint64_t *word);

#endif

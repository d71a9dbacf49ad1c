/*
 * Reading target memory. Everything that a walk loads of its target goes through these two.
 */
#ifndef SW_BASE_MEMORY_H
#define SW_BASE_MEMORY_H

#include <snapwalk/memory.h>

/* Of functions that load words of the window: often it is this thread's stack, so they are of other functions' frames,
 * which AddressSanitizer would take for a mistake. */
#if defined(__GNUC__)
#define SW_LOADS_STACK __attribute__((no_sanitize_address))
#else
#define SW_LOADS_STACK
#endif

/* Up to `size` bytes at an address; how many from the start were read. */
size_t sw_memory_read(const struct sw_memory *memory, uint64_t address, void *to, size_t size);

/* One 64-bit little-endian word, whole. */
bool sw_memory_word(const struct sw_memory *memory, uint64_t address, uint64_t *word);

#endif

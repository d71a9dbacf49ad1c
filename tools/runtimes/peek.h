/* Reading a target's memory, all or nothing. */
#ifndef RUNTIMES_PEEK_H
#define RUNTIMES_PEEK_H

#include <snapwalk/memory.h>

#include <stdbool.h>

/* False: not all of it can be read. */
bool peek(const struct sw_memory *memory, uint64_t address, void *to, size_t size);

/* A string up to its NUL, cut to size - 1 bytes. */
bool peek_text(const struct sw_memory *memory, uint64_t address, char *text, size_t size);

#endif

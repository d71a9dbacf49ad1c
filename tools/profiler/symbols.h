/* Names of native code from files of debug information that a system keeps apart (/usr/lib/debug/.build-id). */
#ifndef PROFILER_SYMBOLS_H
#define PROFILER_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The function around an address of a file.
 *
 * build_id  In hex; empty: none is found.
 * address   As the file's symbols count it: less what it is moved by in memory.
 *
 * False: no file, or no function there whose size is known: what is near is not taken for it. One at a time.
 */
bool symbols_name(const char *build_id, uint64_t address, char *name, size_t size);
void symbols_close(void);

#endif

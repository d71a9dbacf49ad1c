/* Where functions of ELF files begin, by the table that they have for unwinding, in a target's memory. */
#ifndef RUNTIMES_FUNCTIONS_H
#define RUNTIMES_FUNCTIONS_H

#include <snapwalk/image.h>
#include <snapwalk/memory.h>

#include <stdbool.h>

/*
 * The address from which unwind data describes the code at an address: that of the function, or of the part of it that
 * a compiler set apart. No symbol is needed. False: no file is there, or none with such a table.
 */
bool function_begin(const struct sw_images *images, const struct sw_memory *memory, uint64_t address, uint64_t *begin);

/*
 * x64: what the call in front of a return address calls, where the instruction has its target in it. 0: it has none, or
 * is no such call.
 */
uint64_t function_called(const struct sw_memory *memory, uint64_t address);

#endif

/* What stands in front of a return address, as far as bytes say. */
#ifndef RUNTIMES_CALLSITE_H
#define RUNTIMES_CALLSITE_H

#include <snapwalk/memory.h>

#include <stdbool.h>

/* x64: whether the instruction in front of an address is a call. Others may end in the same bytes. */
bool is_behind_call(const struct sw_memory *memory, uint64_t address);

/* ARM64: the same. */
bool is_behind_branch_with_link(const struct sw_memory *memory, uint64_t address);

#endif

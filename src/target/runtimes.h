/* A list of the runtimes that were found: the first of each kind. */
#ifndef SW_TARGET_RUNTIMES_H
#define SW_TARGET_RUNTIMES_H

#include <snapwalk/runtime_kind.h>

/* All zero: empty. is_there, address: by kind. */
struct sw_runtime_list {
    bool is_there[SW_RUNTIME_KINDS];
    uint64_t address[SW_RUNTIME_KINDS];
};

/* add: what is mapped at an address, if it is a runtime. copy: by rank; returns how many there are. */
void sw_runtime_list_add(struct sw_runtime_list *list, const struct sw_memory *memory, uint64_t address);
size_t sw_runtime_list_copy(const struct sw_runtime_list *list, struct sw_runtime *runtimes, size_t capacity);

#endif

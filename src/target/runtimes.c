/* The runtimes of a target, from its files. Refuses to know how one is known (src/names). */
#include "target/runtimes.h"

#include <snapwalk/core.h>

void sw_runtime_list_add(struct sw_runtime_list *list, const struct sw_memory *memory, uint64_t address)
{
    enum sw_runtime_kind kind;
    if (sw_runtime_at(memory, address, &kind) != SW_OK || list->is_there[kind])
        return;
    list->is_there[kind] = true;
    list->address[kind] = address;
}

size_t sw_runtime_list_copy(const struct sw_runtime_list *list, struct sw_runtime *runtimes, size_t capacity)
{
    size_t count = 0;
    for (unsigned kind = SW_RUNTIME_NATIVE + 1; kind < SW_RUNTIME_KINDS; kind++) {
        if (!list->is_there[kind])
            continue;
        if (runtimes && count < capacity)
            runtimes[count] = (struct sw_runtime){ (enum sw_runtime_kind)kind, list->address[kind] };
        count++;
    }
    return count;
}

size_t sw_core_runtimes(struct sw_core *core, struct sw_runtime *runtimes, size_t capacity)
{
    struct sw_runtime_list list = { 0 };
    struct sw_core_file file;
    const struct sw_memory memory = sw_core_memory(core);
    for (size_t i = 0; core && sw_core_get_file(core, i, &file); i++)
        sw_runtime_list_add(&list, &memory, file.address);
    return sw_runtime_list_copy(&list, runtimes, capacity);
}

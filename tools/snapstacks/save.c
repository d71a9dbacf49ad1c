#include "save.h"

#include "refuse.h"

#include <stdio.h>
#include <stdlib.h>

static bool write_piece(void *arg, const void *bytes, size_t size)
{
    return fwrite(bytes, 1, size, arg) == size;
}

static void add(const struct target *target, uint64_t tid, struct sw_scratch *scratch)
{
    struct sw_core_thread thread = { .tid = tid };
    struct sw_regs regs;
    struct sw_walker walker;
    if (target->core)
        must(sw_core_find_thread(target->core, tid, &thread), "threads");
    target_look(target, tid, &regs, &walker);
    const enum sw_status status = sw_capsule_add_thread(target->capsule, &thread, &regs, &walker, scratch);
    if (status == SW_E_LIMIT)
        complain("thread %llu: its stack did not fit into the capsule as a whole", (unsigned long long)tid);
    else
        must(status, "capsule");
}

/* The one that crashed first: readers expect that. */
static void add_threads(const struct target *target, const struct stacks *stacks, struct sw_scratch *scratch)
{
    struct sw_core_info info = { 0 };
    if (target->core)
        must(sw_core_describe(target->core, &info), "core");
    if (info.crashed)
        add(target, info.crashed, scratch);
    for (size_t i = 0; i < stacks->count; i++)
        if (stacks->at[i].tid != info.crashed)
            add(target, stacks->at[i].tid, scratch);
}

/* Names of code without a file. */
static void add_names(const struct target *target, const struct stacks *stacks)
{
    for (size_t i = 0; i < stacks->count; i++)
        for (uint32_t n = 0; n < stacks->at[i].count; n++) {
            const struct place *place = stacks->at[i].frames[n].place;
            if (*place->function &&
                sw_capsule_set_name(target->capsule, place->lookup, place->function) == SW_E_NO_MEMORY)
                must(SW_E_NO_MEMORY, "capsule");
        }
}

void save(const struct target *target, const struct stacks *stacks, const char *path)
{
    struct sw_scratch *scratch = malloc(sizeof *scratch);
    must(scratch ? SW_OK : SW_E_NO_MEMORY, "capsule");
    add_threads(target, stacks, scratch);
    free(scratch);
    add_names(target, stacks);
    FILE *file = fopen(path, "wb");
    if (!file)
        refuse_with(EXIT_FAILED, path, "cannot be written; choose another --save");
    const struct sw_capsule_sink sink = { write_piece, file };
    const enum sw_status status = sw_capsule_write(target->capsule, &sink);
    if ((fclose(file) != 0 && status == SW_OK) || status == SW_E_OS)
        refuse_with(EXIT_FAILED, path, "could not be written to its end");
    must(status, path);
}

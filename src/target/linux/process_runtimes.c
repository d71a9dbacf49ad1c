/* The runtimes of another process: what is mapped of files with their first bytes. */
#include "target/linux/process.h"
#include "target/runtimes.h"

enum { ROWS_OF_A_FILE = 64 };

/* What is mapped more than once is looked at once, where it is so in a row. */
static bool is_file(const struct sw_map *map, const struct sw_map *before)
{
    return map->inode && map->offset == 0 && map->readable && !(before && sw_maps_same_file(map, before));
}

/*
 * Whether there is code up to the next file: .NET maps most assemblies as data. Code without a file counts, as where a
 * program moves its own to large pages (Node).
 */
static bool has_code(const struct sw_process *process, size_t at)
{
    const struct sw_map *file = &process->maps[at], *end = &process->maps[process->map_count];
    for (const struct sw_map *map = file; map < end && map - file < ROWS_OF_A_FILE; map++)
        if (map->inode && !sw_maps_same_file(map, file))
            return false;
        else if (map->executable)
            return true;
    return false;
}

size_t sw_process_runtimes(struct sw_process *process, struct sw_runtime *runtimes, size_t capacity)
{
    struct sw_runtime_list list = { 0 };
    const struct sw_map *before = NULL;
    if (!process || sw_process_captured_maps(process) != SW_OK)
        return 0;
    const bool has_pages = process->capture.pages.pages.tags != NULL;
    const struct sw_memory memory = has_pages ? sw_process_captured_memory(process) : sw_process_memory(process);
    for (size_t i = 0; i < process->map_count; i++) {
        const struct sw_map *map = &process->maps[i];
        if (is_file(map, before) && has_code(process, i))
            sw_runtime_list_add(&list, &memory, map->begin);
        before = map;
    }
    return sw_runtime_list_copy(&list, runtimes, capacity);
}

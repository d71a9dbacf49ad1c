/* The runtimes of another process: what is mapped of files with their first bytes. */
#include "target/linux/process.h"
#include "target/runtimes.h"

/* What is mapped more than once is looked at once, where it is so in a row. */
static bool is_file(const struct sw_map *map, const struct sw_map *before)
{
    return map->inode && map->offset == 0 && map->readable && !(before && sw_maps_same_file(map, before));
}

size_t sw_process_runtimes(struct sw_process *process, struct sw_runtime *runtimes, size_t capacity)
{
    struct sw_runtime_list list = { 0 };
    const struct sw_map *before = NULL;
    if (!process || sw_process_captured_maps(process) != SW_OK)
        return 0;
    const bool has_pages = process->capture.pages.pages.slots != NULL;
    const struct sw_memory memory = has_pages ? sw_process_captured_memory(process) : sw_process_memory(process);
    for (size_t i = 0; i < process->map_count; i++) {
        const struct sw_map *map = &process->maps[i];
        /* .NET maps most assemblies as data; Node moves its code to large pages, which are of no file. */
        if (is_file(map, before) && sw_maps_have_code(process->maps, process->map_count, i, true))
            sw_runtime_list_add(&list, &memory, map->begin);
        before = map;
    }
    return sw_runtime_list_copy(&list, runtimes, capacity);
}

/*
 * A capsule of another process: its memory map, name, arguments and auxiliary vector. Source: proc(5),
 * /proc/pid/{auxv,cmdline,comm}; Linux Documentation/admin-guide/mm/pagemap.rst.
 */
#include "target/capsule.h"
#include "core/write.h"
#include "target/linux/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, PAGES_AT_ONCE = 512 };

/* Words of /proc/PID/pagemap, one for each page of 4 KiB. */
#define PAGE_PRESENT (UINT64_C(1) << 63)
#define PAGE_SWAPPED (UINT64_C(1) << 62)
#define PAGE_OF_FILE (UINT64_C(1) << 61)

/* pages: /proc/PID/pagemap. Where it tells nothing, they may be. */
static bool has_own_pages(int pages, const struct sw_map *map)
{
    uint64_t words[PAGES_AT_ONCE];
    const uint64_t end = map->end / SW_CORE_PAGE;
    for (uint64_t page = map->begin / SW_CORE_PAGE, count; page < end; page += count) {
        count = end - page < PAGES_AT_ONCE ? end - page : PAGES_AT_ONCE;
        if (pread(pages, words, count * sizeof words[0], (off_t)(page * sizeof words[0])) !=
            (ssize_t)(count * sizeof words[0]))
            return true;
        for (uint64_t i = 0; i < count; i++)
            if ((words[i] & PAGE_SWAPPED) || ((words[i] & PAGE_PRESENT) && !(words[i] & PAGE_OF_FILE)))
                return true;
    }
    return false;
}

static enum sw_status add_map(struct sw_capsule *capsule, int pages, const struct sw_map *map)
{
    char path[PATH_BYTES];
    bool deleted = true;
    const bool has_file = sw_maps_path(map, path, sizeof path, &deleted) == SW_OK && !deleted && path[0] == '/' &&
                          strncmp(path, "/dev/", 5) != 0;
    const uint32_t flags = (map->readable ? SW_CORE_READ : 0u) | (map->writable ? SW_CORE_WRITE : 0u) |
                           (map->executable ? SW_CORE_EXECUTE : 0u);
    const struct sw_capsule_map row = { .begin = map->begin,
                                        .end = map->end,
                                        .offset = map->offset,
                                        .flags = flags,
                                        .is_copy = has_file && !map->shared && has_own_pages(pages, map) };
    return sw_capsule_add_map(capsule, &row, has_file ? path : NULL);
}

/* What cannot be read stays empty. */
static void read_words(struct sw_capsule *capsule, struct sw_process *process)
{
    struct sw_os_text text;
    if (sw_process_read_text(process, "comm", &text) == SW_OK) {
        snprintf(capsule->name, sizeof capsule->name, "%.*s", (int)strcspn(text.bytes, "\n"), text.bytes);
        sw_os_free_text(&process->alloc, &text);
    }
    if (sw_process_read_text(process, "cmdline", &text) != SW_OK)
        return;
    for (size_t i = 0; i < text.size && i < sizeof capsule->arguments - 1; i++)
        capsule->arguments[i] = text.bytes[i] ? text.bytes[i] : ' ';
    sw_os_free_text(&process->alloc, &text);
}

static enum sw_status read_auxv(struct sw_capsule *capsule, struct sw_process *process)
{
    struct sw_os_text text;
    enum sw_status status = sw_process_read_text(process, "auxv", &text);
    if (status != SW_OK)
        return status;
    status = sw_capsule_set_auxv(capsule, text.bytes, text.size);
    sw_os_free_text(&process->alloc, &text);
    return status;
}

enum sw_status sw_capsule_add_process(struct sw_capsule *capsule, struct sw_process *process)
{
    if (!capsule || !process)
        return SW_E_ARGUMENT;
    if (capsule->has_process)
        return SW_E_EXISTS;
    capsule->has_process = true;
    capsule->pid = (uint64_t)process->pid;
    read_words(capsule, process);
    enum sw_status status = read_auxv(capsule, process);
    if (status == SW_OK)
        status = sw_process_read_maps(process);
    char path[SW_PROC_PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/pagemap", process->live_tid);
    const int pages = open(path, O_RDONLY | O_CLOEXEC);
    for (size_t i = 0; i < process->map_count && status == SW_OK; i++)
        status = add_map(capsule, pages, &process->maps[i]);
    if (pages >= 0)
        close(pages);
    return status;
}

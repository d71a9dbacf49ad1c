/*
 * A capsule of another process: its memory map, name, arguments and auxiliary vector. Source: proc(5),
 * /proc/pid/{auxv,cmdline,comm}; Linux Documentation/admin-guide/mm/pagemap.rst.
 */
#include "target/capsule.h"
#include "base/magic.h"
#include "base/memory.h"
#include "core/write.h"
#include "target/linux/process.h"

#include <snapwalk/jitdump.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* CLEAN_LEAST: pages that are worth a program header. */
enum { PATH_BYTES = 4096, PAGES_AT_ONCE = 512, CLEAN_LEAST = 16 };

/* Words of /proc/PID/pagemap, one for each page of 4 KiB. */
#define PAGE_PRESENT (UINT64_C(1) << 63)
#define PAGE_SWAPPED (UINT64_C(1) << 62)
#define PAGE_OF_FILE (UINT64_C(1) << 61)

static bool is_own_page(uint64_t word)
{
    return (word & PAGE_SWAPPED) || ((word & PAGE_PRESENT) && !(word & PAGE_OF_FILE));
}

/*
 * Where pages end that are all the process's own, or all not, from a page on. pages: /proc/PID/pagemap. What it tells
 * nothing of may be its own.
 */
static uint64_t end_of_run(int pages, uint64_t page, uint64_t end, bool *is_own)
{
    uint64_t words[PAGES_AT_ONCE], at = page;
    *is_own = true;
    while (at < end) {
        const uint64_t count = end - at < PAGES_AT_ONCE ? end - at : PAGES_AT_ONCE;
        if (pread(pages, words, count * sizeof words[0], (off_t)(at * sizeof words[0])) !=
            (ssize_t)(count * sizeof words[0]))
            return *is_own ? end : at;
        if (at == page)
            *is_own = is_own_page(words[0]);
        for (uint64_t i = 0; i < count; i++, at++)
            if (is_own_page(words[i]) != *is_own)
                return at;
    }
    return end;
}

static bool has_own_pages(int pages, const struct sw_map *map)
{
    bool is_own;
    const uint64_t begin = map->begin / SW_CORE_PAGE, end = map->end / SW_CORE_PAGE;
    return end_of_run(pages, begin, end, &is_own) < end || is_own;
}

/* Pages of a mapping, of which it may have none. */
static enum sw_status add_part(struct sw_capsule *capsule, const struct sw_capsule_map *map, const char *path,
                               uint64_t begin, uint64_t end, bool is_clean)
{
    struct sw_capsule_map part = *map;
    part.begin = begin * SW_CORE_PAGE;
    part.end = end * SW_CORE_PAGE;
    part.offset += part.begin - map->begin;
    part.is_more = part.begin > map->begin;
    part.is_clean = is_clean;
    return begin < end ? sw_capsule_add_map(capsule, &part, path) : SW_OK;
}

/*
 * A mapping that may be written: long parts of it that nobody has written are as in the file. .NET keeps there what
 * says how frames of precompiled code are found.
 */
static enum sw_status add_parts(struct sw_capsule *capsule, int pages, const struct sw_capsule_map *map,
                                const char *path)
{
    const uint64_t end = map->end / SW_CORE_PAGE;
    uint64_t from = map->begin / SW_CORE_PAGE, next;
    enum sw_status status = SW_OK;
    bool is_own;
    for (uint64_t page = from; page < end && status == SW_OK; page = next) {
        next = end_of_run(pages, page, end, &is_own);
        if (is_own || next - page < CLEAN_LEAST)
            continue;
        status = add_part(capsule, map, path, from, page, false);
        if (status == SW_OK)
            status = add_part(capsule, map, path, page, next, true);
        from = next;
    }
    return status == SW_OK ? add_part(capsule, map, path, from, end, false) : status;
}

/*
 * Code in a file that is no image, as of SBCL: a reader of the capsule takes no such file, so that what is read of it
 * is kept. An image has its first bytes mapped; a jitdump file is asked for by its name.
 */
static bool is_of_image(struct sw_process *process, const struct sw_map *map)
{
    uint8_t magic[SW_MAGIC_BYTES];
    const struct sw_bytes begin = { magic, sizeof magic, 0 };
    const struct sw_memory memory = sw_process_memory(process);
    for (size_t i = 0; i < process->map_count; i++) {
        const struct sw_map *first = &process->maps[i];
        if (first->offset == 0 && sw_maps_same_file(first, map) &&
            sw_memory_read(&memory, first->begin, magic, sizeof magic) == sizeof magic && sw_begins_image(begin))
            return true;
    }
    return false;
}

static enum sw_status add_map(struct sw_capsule *capsule, struct sw_process *process, int pages,
                              const struct sw_map *map)
{
    char path[PATH_BYTES];
    bool deleted = true;
    const bool has_file = sw_maps_path(map, path, sizeof path, &deleted) == SW_OK && !deleted && path[0] == '/' &&
                          strncmp(path, "/dev/", 5) != 0 &&
                          (!map->executable || sw_jitdump_is_path(path) || is_of_image(process, map));
    const uint32_t flags = (map->readable ? SW_CORE_READ : 0u) | (map->writable ? SW_CORE_WRITE : 0u) |
                           (map->executable ? SW_CORE_EXECUTE : 0u);
    const struct sw_capsule_map row = { .begin = map->begin,
                                        .end = map->end,
                                        .offset = map->offset,
                                        .flags = flags,
                                        .is_copy = has_file && !map->shared && has_own_pages(pages, map) };
    return has_file && map->writable && !map->shared ? add_parts(capsule, pages, &row, path)
                                                     : sw_capsule_add_map(capsule, &row, has_file ? path : NULL);
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
        status = add_map(capsule, process, pages, &process->maps[i]);
    if (pages >= 0)
        close(pages);
    return status;
}

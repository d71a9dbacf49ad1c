/*
 * What is kept for a walk to be made again: what it reads, the used stack, headers of images, the linker's list. Knows
 * walks and what they read; refuses to know operating systems and how the file looks (capsule_write.c).
 */
#include "target/capsule.h"

#include "base/interval.h"
#include "base/memory.h"
#include "common/alloc.h"
#include "common/grow.h"
#include "core/core.h"

#include <string.h>

enum { CODE_PAGE = 4096 };
enum { MOST_DEFAULT = 64 << 20, HEADER_BYTES = 4096, HEADER_NOTE_MOST = 1024, HEADER_NOTES = 8, HEADER_PE = 1024 };
enum { STACK_MOST = 16 << 10, BELOW_SP = 128, PATH_MOST = 4096, NAME_MOST = 1023, STRUCTURE_BYTES = 40 };

enum sw_status sw_capsule_create(const struct sw_alloc *alloc, enum sw_machine machine, size_t most,
                                 struct sw_capsule **capsule)
{
    const struct sw_alloc from = sw_alloc_resolve(alloc);
    if (!capsule || !sw_alloc_usable(alloc) || (machine != SW_MACHINE_X64 && machine != SW_MACHINE_ARM64))
        return SW_E_ARGUMENT;
    struct sw_capsule *made = from.get(from.arg, sizeof *made);
    if (!made)
        return SW_E_NO_MEMORY;
    *made = (struct sw_capsule){ .alloc = from, .machine = machine };
    made->store = (struct sw_store){ .alloc = from, .most = (most ? most : MOST_DEFAULT) / SW_STORE_BLOCK };
    made->other.capsule = made->walk.capsule = made;
    *capsule = made;
    return SW_OK;
}

static void drop(const struct sw_capsule *capsule, void *block, size_t size)
{
    if (block)
        capsule->alloc.put(capsule->alloc.arg, block, size);
}

void sw_capsule_destroy(struct sw_capsule *capsule)
{
    if (!capsule)
        return;
    for (size_t i = 0; i < capsule->map_count; i++)
        drop(capsule, capsule->maps[i].path, capsule->maps[i].path_room);
    for (size_t i = 0; i < capsule->range_count; i++)
        drop(capsule, capsule->ranges[i].name, capsule->ranges[i].name_room);
    drop(capsule, capsule->maps, capsule->map_room * sizeof *capsule->maps);
    drop(capsule, capsule->threads, capsule->thread_room * sizeof *capsule->threads);
    drop(capsule, capsule->ranges, capsule->range_room * sizeof *capsule->ranges);
    drop(capsule, capsule->images, capsule->image_room * sizeof *capsule->images);
    drop(capsule, capsule->auxv, capsule->auxv_size);
    sw_store_drop(&capsule->store);
    drop(capsule, capsule, sizeof *capsule);
}

/* ---- the process ---- */

static char *copy_text(const struct sw_capsule *capsule, const char *text, size_t size)
{
    char *copy = capsule->alloc.get(capsule->alloc.arg, size + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, size);
    copy[size] = 0;
    return copy;
}

enum sw_status sw_capsule_add_map(struct sw_capsule *capsule, const struct sw_capsule_map *map, const char *path)
{
    const size_t count = capsule->map_count, size = path ? strlen(path) : 0;
    struct sw_capsule_map *maps =
        sw_grow(&capsule->alloc, capsule->maps, sizeof *maps, count, &capsule->map_room, count + 1);
    if (!maps)
        return SW_E_NO_MEMORY;
    capsule->maps = maps;
    maps[count] = *map;
    maps[count].path = NULL;
    if (path) {
        maps[count].path = copy_text(capsule, path, size);
        if (!maps[count].path)
            return SW_E_NO_MEMORY;
        maps[count].path_room = size + 1;
    }
    capsule->map_count++;
    return SW_OK;
}

enum sw_status sw_capsule_set_auxv(struct sw_capsule *capsule, const void *bytes, size_t size)
{
    uint8_t *copy = capsule->alloc.get(capsule->alloc.arg, size ? size : 1);
    if (!copy)
        return SW_E_NO_MEMORY;
    if (size)
        memcpy(copy, bytes, size);
    drop(capsule, capsule->auxv, capsule->auxv_size);
    capsule->auxv = copy;
    capsule->auxv_size = size ? size : 1;
    const struct sw_core_process process = { .auxv = { copy, size, 0 } };
    capsule->entry = sw_core_auxv(&process, SW_AUXV_ENTRY);
    return SW_OK;
}

static const struct sw_capsule_map *map_at(const struct sw_capsule *capsule, uint64_t address)
{
    const size_t at = sw_intervals_above(capsule->maps, sizeof *capsule->maps, capsule->map_count, address);
    return at < capsule->map_count && capsule->maps[at].begin <= address ? &capsule->maps[at] : NULL;
}

/* ---- keeping ---- */

/* A reader of the core reads such memory from the file. */
static bool is_in_file(const struct sw_capsule *capsule, uint64_t address)
{
    const struct sw_capsule_map *map = map_at(capsule, address);
    return map && map->path && (map->is_clean || (!map->is_copy && !(map->flags & SW_CORE_WRITE)));
}

static void keep_block(struct sw_capsule *capsule, const struct sw_memory *memory, uint64_t address)
{
    struct sw_store_block block = { .address = address };
    if (sw_store_has(&capsule->store, address) ||
        sw_memory_read(memory, address, block.bytes, sizeof block.bytes) != sizeof block.bytes)
        return;
    const enum sw_status status = sw_store_add(&capsule->store, &block);
    if (status != SW_OK)
        capsule->status = status;
}

/* Keeps the blocks around [address, address + size). Memory begins and ends at pages, so blocks are whole. */
static void keep(struct sw_capsule *capsule, const struct sw_memory *memory, uint64_t address, size_t size,
                 bool also_files)
{
    const uint64_t first = address & ~(uint64_t)(SW_STORE_BLOCK - 1);
    for (uint64_t at = first; size && at - first < address - first + size && at >= first; at += SW_STORE_BLOCK)
        if (also_files || !is_in_file(capsule, at))
            keep_block(capsule, memory, at);
}

static size_t read_and_keep(void *arg, uint64_t address, void *to, size_t size)
{
    const struct sw_capsule_source *source = arg;
    const size_t got = sw_memory_read(&source->memory, address, to, size);
    keep(source->capsule, &source->memory, address, got, false);
    return got;
}

/*
 * A walk looks at whole pages to see whether there is code. Where none can be, the capsule says so by its maps, and a
 * reader looks at nothing. sp: that mapping is the stack.
 */
static bool is_vain(const struct sw_capsule *capsule, uint64_t address, size_t size)
{
    const struct sw_capsule_map *map = map_at(capsule, address);
    return size == CODE_PAGE && address % CODE_PAGE == 0 && map && !(map->flags & SW_CORE_EXECUTE) &&
           (capsule->sp < map->begin || capsule->sp >= map->end);
}

static size_t read_in_walk(void *arg, uint64_t address, void *to, size_t size)
{
    const struct sw_capsule_source *source = arg;
    const size_t got = sw_memory_read(&source->memory, address, to, size);
    if (!is_vain(source->capsule, address, size))
        keep(source->capsule, &source->memory, address, got, false);
    return got;
}

struct sw_memory sw_capsule_memory(struct sw_capsule *capsule, const struct sw_memory *source)
{
    if (!capsule || !source)
        return (struct sw_memory){ 0 };
    capsule->other.memory = *source;
    return (struct sw_memory){ .read = read_and_keep, .arg = &capsule->other };
}

/* ---- images ---- */

/* The headers of an ELF file, and its notes, by which a file is known. */
static void keep_elf(struct sw_capsule *capsule, const struct sw_memory *memory, uint64_t begin,
                     const struct sw_core_headers *headers)
{
    struct sw_core_header header;
    uint64_t base;
    keep(capsule, memory, begin, (size_t)(headers->table + headers->count * 56), true);
    if (!sw_core_link_base(headers, &base))
        return;
    for (uint64_t n = 0, notes = 0; sw_core_header(headers, n, &header) && notes < HEADER_NOTES; n++)
        if (header.type == SW_CORE_NOTE && header.file_size <= HEADER_NOTE_MOST) {
            keep(capsule, memory, begin + (header.address - base), (size_t)header.file_size, true);
            notes++;
        }
}

static void keep_headers(struct sw_capsule *capsule, const struct sw_memory *memory, uint64_t begin)
{
    uint8_t bytes[HEADER_BYTES];
    struct sw_core_headers headers;
    const size_t got = sw_memory_read(memory, begin, bytes, sizeof bytes);
    if (sw_core_headers_read((struct sw_bytes){ bytes, got, begin }, &headers) == SW_OK)
        keep_elf(capsule, memory, begin, &headers);
    else
        keep(capsule, memory, begin, got < HEADER_PE ? got : HEADER_PE, true);
}

static void note_image(struct sw_capsule *capsule, const struct sw_memory *memory, const struct sw_images *images,
                       uint64_t address)
{
    struct sw_image image;
    const size_t count = capsule->image_count;
    if (sw_images_find(images, address, &image) != SW_OK)
        return;
    for (size_t i = 0; i < count; i++)
        if (capsule->images[i] == image.begin)
            return;
    uint64_t *begins =
        sw_grow(&capsule->alloc, capsule->images, sizeof *begins, count, &capsule->image_room, count + 1);
    if (!begins) {
        capsule->status = SW_E_NO_MEMORY;
        return;
    }
    capsule->images = begins;
    begins[capsule->image_count++] = image.begin;
    if (!map_at(capsule, image.begin) || map_at(capsule, image.begin)->path)
        keep_headers(capsule, memory, image.begin);
    else
        keep(capsule, memory, image.begin, (size_t)(image.end - image.begin), true); /* the vdso has no file */
}

/* Keeps the structure, of whose members one is read: r_debug, a link_map. */
static size_t read_member(void *arg, uint64_t address, void *to, size_t size)
{
    const struct sw_capsule_source *source = arg;
    const size_t got = sw_memory_read(&source->memory, address, to, size);
    keep(source->capsule, &source->memory, address, got < STRUCTURE_BYTES ? STRUCTURE_BYTES : got, false);
    return got;
}

/* Debuggers find libraries by the dynamic linker's list. */
static void keep_links(struct sw_capsule *capsule)
{
    uint8_t bytes[HEADER_BYTES];
    struct sw_core_headers headers;
    struct sw_core_link link;
    const struct sw_memory memory = { .read = read_member, .arg = &capsule->walk };
    const struct sw_capsule_map *map = map_at(capsule, capsule->entry);
    while (map && map > capsule->maps && map->offset && map[-1].path && map->path && !strcmp(map[-1].path, map->path))
        map--;
    capsule->has_links = true;
    if (!map || map->offset)
        return;
    const size_t got = sw_memory_read(&capsule->walk.memory, map->begin, bytes, sizeof bytes);
    uint64_t base;
    if (sw_core_headers_read((struct sw_bytes){ bytes, got, map->begin }, &headers) != SW_OK ||
        !sw_core_link_base(&headers, &base))
        return;
    keep_elf(capsule, &capsule->walk.memory, map->begin, &headers);
    struct sw_core_links links = sw_core_links_over(&headers, &memory, map->begin - base);
    while (sw_core_links_next(&links, &link)) {
        char part[SW_STORE_BLOCK];
        for (uint64_t at = link.name; at - link.name < PATH_MOST; at += sizeof part)
            if (sw_memory_read(&memory, at, part, sizeof part) != sizeof part || memchr(part, 0, sizeof part))
                break;
    }
}

/* ---- threads ---- */

static void note_range(struct sw_capsule *capsule, const struct sw_range *range)
{
    const size_t count = capsule->range_count;
    if (range->kind == SW_KIND_NATIVE || range->begin >= range->end || (range->flags & SW_RANGE_FROM_FINDER) ||
        (range->flags & SW_RANGE_ADDRESS_ID))
        return;
    for (size_t i = 0; i < count; i++)
        if (capsule->ranges[i].range.begin == range->begin)
            return;
    struct sw_capsule_range *ranges =
        sw_grow(&capsule->alloc, capsule->ranges, sizeof *ranges, count, &capsule->range_room, count + 1);
    if (!ranges) {
        capsule->status = SW_E_NO_MEMORY;
        return;
    }
    capsule->ranges = ranges;
    ranges[capsule->range_count++] = (struct sw_capsule_range){ .range = *range };
}

enum sw_status sw_capsule_set_name(struct sw_capsule *capsule, uint64_t address, const char *name)
{
    if (!capsule || !name)
        return SW_E_ARGUMENT;
    for (size_t i = 0; i < capsule->range_count; i++) {
        struct sw_capsule_range *range = &capsule->ranges[i];
        if (address < range->range.begin || address >= range->range.end)
            continue;
        const size_t length = strlen(name), size = length < NAME_MOST ? length : NAME_MOST;
        char *copy = copy_text(capsule, name, size);
        if (!copy)
            return SW_E_NO_MEMORY;
        drop(capsule, range->name, range->name_room);
        range->name = copy;
        range->name_room = size + 1;
        return SW_OK;
    }
    return SW_E_NOT_FOUND;
}

/* What the walk met. Returns the highest sp. */
static uint64_t walk(struct sw_capsule *capsule, const struct sw_walker *walker, struct sw_scratch *scratch,
                     const struct sw_regs *regs)
{
    struct sw_walk walk;
    uint64_t top = sw_regs_sp(regs);
    sw_walk_start(&walk, walker, scratch, regs, true);
    while (sw_walk_next(&walk)) {
        const uint64_t sp = sw_regs_sp(&walk.frame.regs);
        top = sp > top ? sp : top;
        note_range(capsule, &walk.frame.code);
        if (walker->images)
            note_image(capsule, &capsule->walk.memory, walker->images, walk.frame.lookup);
    }
    return top;
}

static bool add_row(struct sw_capsule *capsule, const struct sw_core_thread *about, const struct sw_regs *regs,
                    uint64_t pac_mask)
{
    const size_t count = capsule->thread_count;
    struct sw_capsule_thread *threads =
        sw_grow(&capsule->alloc, capsule->threads, sizeof *threads, count, &capsule->thread_room, count + 1);
    if (!threads)
        return false;
    capsule->threads = threads;
    threads[count] = (struct sw_capsule_thread){ *about, *regs };
    if (about->pac_mask == 0)
        threads[count].about.pac_mask = pac_mask;
    capsule->thread_count++;
    return true;
}

enum sw_status sw_capsule_add_thread(struct sw_capsule *capsule, const struct sw_core_thread *thread,
                                     const struct sw_regs *regs, const struct sw_walker *walker,
                                     struct sw_scratch *scratch)
{
    if (!capsule || !thread || !regs || !walker || !scratch || regs->machine != capsule->machine)
        return SW_E_ARGUMENT;
    if (!add_row(capsule, thread, regs, walker->pac_mask))
        return SW_E_NO_MEMORY;
    struct sw_walker reading = *walker;
    capsule->walk.memory = walker->memory;
    capsule->status = SW_OK;
    reading.memory = (struct sw_memory){ .read = read_in_walk, .arg = &capsule->walk };
    capsule->sp = sw_regs_sp(regs);
    reading.cache = NULL;
    reading.analysis_cache = NULL;
    reading.replay = NULL;
    if (!capsule->has_links)
        keep_links(capsule);
    const uint64_t top = walk(capsule, &reading, scratch, regs), sp = sw_regs_sp(regs);
    const enum sw_status status = capsule->status;
    const uint64_t begin = sp > BELOW_SP ? sp - BELOW_SP : sp, used = top - begin + SW_STORE_BLOCK;
    keep(capsule, &walker->memory, begin, used < STACK_MOST ? (size_t)used : STACK_MOST, true);
    return status;
}

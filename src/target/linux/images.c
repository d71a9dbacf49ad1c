/*
 * Files and target memory → images in the set, on Linux. Knows where a file lies in the target, and what owns the
 * memory of its tables; refuses to know the formats (lib/elf, lib/pe, lib/clr), which ELF tables are taken
 * (images_cfi.c) and how the set works (src/code/images.c).
 */
#include "target/linux/images.h"

#include "base/magic.h"
#include "code/originals.h"
#include "common/alloc.h"
#include "elf/elf.h"
#include "target/linux/lazy_file.h"
#include "target/linux/os.h"
#include "target/linux/pin.h"
#include "unwind/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Behind so many open files the descriptors are left to others. */
enum { PAGE = 4096, MEMORY_IMAGE_MAX = 64 << 20, DESCRIPTORS_MOST = 256 };

void sw_images_release_elf(struct sw_image_entry *entry, const struct sw_alloc *alloc)
{
    if (entry->elf)
        sw_elf_close(entry->elf);
    if (entry->held)
        alloc->put(alloc->arg, entry->held, entry->held_size);
}

static void release_file(struct sw_image_entry *entry, const struct sw_alloc *alloc)
{
    (void)alloc;
    sw_elf_close(entry->elf);
    sw_lazy_file_close(entry->held);
}

/* Closes the file where it fails, and else with the image. */
static enum sw_status open_stored(struct sw_images *images, struct sw_image_entry *entry, int fd,
                                  struct sw_lazy_file **file, uint64_t *room)
{
    const enum sw_status status = sw_lazy_file_open(sw_images_alloc(images), fd, PAGE, file);
    if (status != SW_OK)
        return status;
    entry->held = *file;
    entry->held_size = sizeof **file;
    entry->release = release_file;
    return sw_elf_is_stored((*file)->fd, (*file)->size, room) ? SW_OK : SW_E_LIMIT;
}

/* ELF ----------------------------------------------------------------------------------------------------------- */

/* Where the segments are in the target, given the address of file offset 0. */
static void note_code(struct sw_image_entry *entry, const struct sw_elf_segment *segment)
{
    const uint64_t begin = segment->address & ~(uint64_t)(PAGE - 1);
    const uint64_t end = (segment->address + segment->size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    if (!segment->executable)
        return;
    entry->code_begin = entry->code_end == 0 || begin < entry->code_begin ? begin : entry->code_begin;
    entry->code_end = end > entry->code_end ? end : entry->code_end;
}

/* first: an address in what the kernel starts, as struct sw_image_file has it. */
static enum sw_status place_elf(struct sw_image_entry *entry, uint64_t address, uint64_t first)
{
    struct sw_elf_segment segment;
    uint64_t low = UINT64_MAX;
    uint64_t high = 0;
    uint64_t zero = 0; /* link-time address that corresponds to file offset 0 */
    for (size_t i = 0; sw_elf_segment(entry->elf, i, &segment); i++) {
        uint64_t end;
        if (!sw_add_u64(segment.address, segment.size, &end))
            return SW_E_MALFORMED;
        if (segment.address < low) {
            low = segment.address;
            zero = segment.address - segment.offset;
        }
        high = end > high ? end : high;
        note_code(entry, &segment);
    }
    if (low >= high)
        return SW_E_MALFORMED;
    entry->info.bias = address - zero;
    entry->info.begin = entry->info.bias + (low & ~(uint64_t)(PAGE - 1));
    entry->info.end = entry->info.bias + high;
    entry->info.machine = sw_elf_machine(entry->elf);
    entry->code_begin += entry->info.bias;
    entry->code_end += entry->info.bias;
    const bool is_first = first >= entry->info.begin && first < entry->info.end;
    const uint64_t start = sw_elf_start(entry->elf, is_first);
    entry->start = start ? entry->info.bias + start : 0;
    return SW_OK; /* insert looks at whether it wraps, which another mapping of the file may not */
}

static enum sw_status fill_elf(struct sw_images *images, struct sw_image_entry *entry, uint64_t address, uint64_t first)
{
    if (!entry->release)
        entry->release = sw_images_release_elf;
    const enum sw_status status = place_elf(entry, address, first);
    return status == SW_OK ? sw_images_take_sections(images, entry) : status;
}

/* Of a file that stays open. */
static enum sw_status fill_stored_elf(struct sw_images *images, struct sw_image_entry *entry,
                                      const struct sw_image_file *file, int fd)
{
    struct sw_lazy_file *stored;
    uint64_t room;
    enum sw_status status = open_stored(images, entry, fd, &stored, &room);
    if (status == SW_OK)
        status = sw_elf_open_stored((struct sw_bytes){ stored->bytes, stored->size, 0 }, &stored->store, &entry->elf);
    if (status != SW_OK)
        return status;
    sw_elf_set_room(entry->elf, room);
    entry->cfi.store = &stored->store;
    return fill_elf(images, entry, file->address, file->first);
}

/* PE ------------------------------------------------------------------------------------------------------------ */

/* Of an image of the runtime its tables are read; of others all, as names may lie anywhere in them. */
static void settle(struct sw_image_entry *entry, struct sw_lazy_file *file)
{
    if (entry->has_clr)
        sw_pe_settle(&entry->pe, entry->clr.functions);
    else
        sw_lazy_file_want(file, 0, file->size);
    sw_lazy_file_settle(file);
    entry->pe.store = entry->clr.pe.store = NULL;
}

static enum sw_status fill_pe(struct sw_images *images, struct sw_image_entry *entry, uint64_t address, int fd,
                              bool stays_open)
{
    struct sw_lazy_file *stored;
    enum sw_status status = open_stored(images, entry, fd, &stored, NULL);
    if (status != SW_OK)
        return status;
    status = sw_pe_open_stored((struct sw_bytes){ stored->bytes, stored->size, address }, &stored->store, &entry->pe);
    if (status == SW_OK)
        status = sw_sources_open_pe(images, entry);
    if (status != SW_OK)
        return status;
    if (stays_open && entry->has_clr)
        sw_pe_want_exports(&entry->pe);
    else
        settle(entry, stored);
    return SW_OK;
}

/* Both ---------------------------------------------------------------------------------------------------------- */

static bool starts_like_pe(int fd)
{
    uint8_t magic[SW_MAGIC_BYTES];
    const ssize_t got = pread(fd, magic, sizeof magic, 0);
    return sw_begins_pe((struct sw_bytes){ magic, got > 0 ? (size_t)got : 0, 0 });
}

/* A whole file, or an image as it is mapped. */
static enum sw_status fill_bytes(struct sw_images *images, struct sw_image_entry *entry,
                                 const struct sw_image_file *file, bool is_mapped)
{
    const struct sw_bytes bytes = file->bytes;
    if (sw_begins_pe(bytes)) {
        const enum sw_status status = sw_pe_open(bytes, is_mapped, &entry->pe);
        return status == SW_OK ? sw_sources_open_pe(images, entry) : status;
    }
    const enum sw_status status = sw_elf_open_bytes(bytes, &entry->elf);
    if (status == SW_OK && file->room)
        sw_elf_set_room(entry->elf, file->room);
    return status == SW_OK ? fill_elf(images, entry, file->address, file->first) : status;
}

static enum sw_status fill(struct sw_images *images, struct sw_image_entry *entry, const struct sw_image_file *file)
{
    int fd;
    if (file->bytes.size)
        return fill_bytes(images, entry, file, false);
    enum sw_status status = sw_os_open_regular(file->open_path, &fd);
    if (status != SW_OK)
        return status == SW_E_UNSUPPORTED ? status : SW_E_OS;
    const bool stays_open = file->stays_open && fd < DESCRIPTORS_MOST;
    if (starts_like_pe(fd))
        return fill_pe(images, entry, file->address, fd, stays_open);
    if (stays_open)
        return fill_stored_elf(images, entry, file, fd);
    status = sw_elf_open_file(fd, &entry->elf);
    close(fd);
    return status == SW_OK ? fill_elf(images, entry, file->address, file->first) : status;
}

/* Inserts a filled entry, or discards it. */
static enum sw_status insert_or_discard(struct sw_images *images, struct sw_image_entry *entry, enum sw_status status,
                                        uint64_t *end)
{
    const uint64_t entry_end = entry->info.end;
    entry->seen = true;
    if (status == SW_OK)
        status = sw_images_insert(images, entry);
    if (status != SW_OK)
        sw_images_discard(images, entry);
    else if (end)
        *end = entry_end;
    return status;
}

/* False: it cannot be looked at. */
static bool make_key(const struct sw_image_file *file, struct sw_file_key *key)
{
    enum { SECOND_NS = 1000000000 };
    struct stat st;
    *key = (struct sw_file_key){ .bytes = file->bytes.bytes, .size = file->bytes.size };
    if (key->bytes)
        return true;
    if (stat(file->open_path, &st) != 0)
        return false;
    key->device = st.st_dev;
    key->inode = st.st_ino;
    key->size = (uint64_t)st.st_size;
    key->written_ns = (uint64_t)st.st_mtim.tv_sec * SECOND_NS + (uint64_t)st.st_mtim.tv_nsec;
    key->changed_ns = (uint64_t)st.st_ctim.tv_sec * SECOND_NS + (uint64_t)st.st_ctim.tv_nsec;
    return true;
}

static bool has_header(const struct sw_image_entry *entry, struct sw_bytes header)
{
    const struct sw_bytes bytes = entry->pe.bytes;
    return header.size == 0 || (header.size <= bytes.size && memcmp(bytes.bytes, header.bytes, header.size) == 0);
}

/* An image at its place, of a file of which everything is made by the first that comes. */
static enum sw_status fill_shared(struct sw_images *images, struct sw_image_entry *entry,
                                  const struct sw_image_file *file)
{
    struct sw_file_key key;
    bool is_new;
    if (!make_key(file, &key))
        return SW_E_OS;
    struct sw_image_original *original = sw_images_original(images, &key, &is_new);
    if (!original)
        return SW_E_NO_MEMORY;
    if (is_new) {
        original->address = file->address;
        original->status = fill(images, &original->entry, file);
    }
    if (original->status != SW_OK)
        return original->status;
    if (!has_header(&original->entry, file->header))
        return SW_E_NOT_FOUND;
    sw_images_copy(original, file->address - original->address, entry);
    return SW_OK;
}

enum sw_status sw_images_put_file(struct sw_images *images, const struct sw_image_file *file, uint64_t *end)
{
    struct sw_image_entry *entry = sw_images_make(images, file->path);
    if (!entry)
        return SW_E_NO_MEMORY;
    entry->origin = file->origin;
    entry->identity = file->identity;
    return insert_or_discard(images, entry, fill_shared(images, entry, file), end);
}

/* Copies page by page. Unreadable pages become zeros: an image has holes between its sections. */
static void copy_pages(uint8_t *to, uint64_t address, uint64_t size, const struct sw_memory *memory)
{
    for (uint64_t at = 0; at < size;) {
        const uint64_t to_page = PAGE - (address + at) % PAGE;
        const size_t part = (size_t)(to_page < size - at ? to_page : size - at);
        if (memory->read(memory->arg, address + at, to + at, part) != part)
            memset(to + at, 0, part);
        at += part;
    }
}

static enum sw_status copy_memory(struct sw_images *images, struct sw_image_entry *entry, uint64_t address,
                                  uint64_t size, const struct sw_memory *memory)
{
    const struct sw_alloc *alloc = sw_images_alloc(images);
    uint8_t magic[SW_MAGIC_BYTES];
    entry->held = alloc->get(alloc->arg, (size_t)size);
    if (!entry->held)
        return SW_E_NO_MEMORY;
    entry->held_size = (size_t)size;
    entry->release = sw_images_release_elf;
    if (memory->read(memory->arg, address, entry->held, (size_t)size) == size)
        return SW_OK;
    const size_t begin = size < sizeof magic ? 0 : memory->read(memory->arg, address, magic, sizeof magic);
    if (!sw_begins_pe((struct sw_bytes){ magic, begin, address }))
        return SW_E_UNREADABLE;
    copy_pages(entry->held, address, size, memory);
    return SW_OK;
}

enum sw_status sw_images_put_memory(struct sw_images *images, const struct sw_image_file *file, uint64_t size,
                                    const struct sw_memory *memory)
{
    if (size > MEMORY_IMAGE_MAX)
        return SW_E_UNSUPPORTED;
    struct sw_image_entry *entry = sw_images_make(images, file->path);
    if (!entry)
        return SW_E_NO_MEMORY;
    entry->origin = file->origin;
    entry->identity = file->identity;
    enum sw_status status = copy_memory(images, entry, file->address, size, memory);
    const struct sw_image_file copy = { .address = file->address, .bytes = { entry->held, size, file->address } };
    if (status == SW_OK)
        status = fill_bytes(images, entry, &copy, true);
    return insert_or_discard(images, entry, status, NULL);
}

enum sw_status sw_images_add_file(struct sw_images *images, const char *path, uint64_t address)
{
    const struct sw_image_file file = { .open_path = path, .path = path, .address = address };
    if (!images || !path)
        return SW_E_ARGUMENT;
    enum sw_status status = sw_images_lock(images);
    if (status != SW_OK)
        return status;
    status = sw_images_put_file(images, &file, NULL);
    sw_images_unlock(images);
    return status;
}

enum sw_status sw_images_add_memory(struct sw_images *images, const char *name, uint64_t address, uint64_t size,
                                    const struct sw_memory *memory)
{
    const struct sw_image_file file = { .path = name, .address = address };
    if (!images || !name || !memory || !memory->read || size == 0 || size > MEMORY_IMAGE_MAX)
        return SW_E_ARGUMENT;
    enum sw_status status = sw_images_lock(images);
    if (status != SW_OK)
        return status;
    status = sw_images_put_memory(images, &file, size, memory);
    sw_images_unlock(images);
    return status;
}

/* Refresh ------------------------------------------------------------------------------------------------------- */

void sw_images_mark(struct sw_images *images, const void *origin)
{
    struct sw_image_entry *entry;
    for (size_t i = 0; (entry = sw_images_at(images, i)) != NULL; i++)
        entry->seen = entry->seen && entry->origin != origin;
}

bool sw_images_keep(struct sw_images *images, const struct sw_image_file *file, uint64_t *end)
{
    /* Under the writer's lock, so it may be changed. */
    struct sw_image_entry *entry = (struct sw_image_entry *)(uintptr_t)sw_images_entry(images, file->address);
    if (!entry || entry->info.begin != file->address)
        return false;
    /* An image registered by hand stays, whatever it is. */
    const bool same = entry->identity == file->identity && strcmp(entry->info.path, file->path) == 0;
    if (entry->origin == file->origin && !same)
        return sw_images_drop(images, entry->info.begin) != SW_OK;
    entry->seen = true;
    *end = entry->info.end;
    return true;
}

static bool is_unseen(const struct sw_image_entry *entry, const void *origin)
{
    return !entry->seen && entry->origin == origin;
}

enum sw_status sw_images_sweep(struct sw_images *images, const void *origin)
{
    const enum sw_status status = sw_images_drop_if(images, is_unseen, origin);
    return status == SW_E_NOT_FOUND ? SW_OK : status;
}

/*
 * What is executable, and what hardly can become so: private mappings of files, heap and stack. Anonymous memory may be
 * a runtime's, which makes it executable later; so may memory that is shared or reserved.
 */
static enum sw_span_kind kind_of(const struct sw_map *map)
{
    static const char heap[] = "[heap]", stack[] = "[stack]";
    const bool is_named =
        map->path_size != 0 &&
        (map->inode != 0 || (map->path_size == sizeof heap - 1 && memcmp(map->path, heap, sizeof heap - 1) == 0) ||
         (map->path_size == sizeof stack - 1 && memcmp(map->path, stack, sizeof stack - 1) == 0));
    if (!map->readable || (!map->executable && (map->shared || !is_named)))
        return SW_SPAN_UNKNOWN;
    return map->executable ? SW_SPAN_CODE : SW_SPAN_DATA;
}

void sw_images_append_span(struct sw_span *spans, size_t *count, struct sw_span span)
{
    struct sw_span *last = *count ? &spans[*count - 1] : NULL;
    if (last && last->end == span.begin && last->kind == span.kind)
        last->end = span.end;
    else if (span.kind != SW_SPAN_UNKNOWN)
        spans[(*count)++] = span;
}

enum sw_status sw_images_take_maps(struct sw_images *images, const struct sw_map *maps, size_t count)
{
    const struct sw_alloc *alloc = sw_images_alloc(images);
    struct sw_span *spans = alloc->get(alloc->arg, (count + 1) * sizeof *spans);
    size_t used = 0;
    if (!spans)
        return SW_E_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        sw_images_append_span(spans, &used, (struct sw_span){ maps[i].begin, maps[i].end, kind_of(&maps[i]) });
    const enum sw_status status = sw_images_set_spans(images, spans, used);
    alloc->put(alloc->arg, spans, (count + 1) * sizeof *spans);
    return status;
}

/*
 * A PE file whose sections are not page-aligned is read, not mapped (Wine does so for most DLLs that are not its own).
 * Then its code is in memory without a file, at the address in the header.
 */
static bool has_code_in_place(const struct sw_map *maps, size_t count, const struct sw_map *site,
                              const struct sw_memory *memory)
{
    uint8_t header[PAGE];
    struct sw_pe pe;
    const struct sw_bytes bytes = { header, sizeof header, site->begin };
    if (memory->read(memory->arg, site->begin, header, sizeof header) != sizeof header ||
        sw_pe_open(bytes, true, &pe) != SW_OK)
        return false;
    const struct sw_map *map = site;
    for (; map < maps + count && map->begin - site->begin < pe.size_of_image; map++)
        if (map->executable && !map->shared && map->inode == 0 &&
            sw_pe_is_code(&pe, (uint32_t)(map->begin - site->begin)))
            return true;
    return false;
}

const struct sw_map *sw_images_next_site(const struct sw_map *maps, size_t count, size_t *at, uint64_t floor,
                                         const struct sw_memory *memory, bool *is_pe)
{
    for (; *at < count; ++*at) {
        const struct sw_map *map = &maps[*at];
        uint8_t magic[SW_MAGIC_BYTES];
        const struct sw_bytes begin = { magic, sizeof magic, map->begin };
        if (map->begin < floor || map->offset != 0 || map->inode == 0 || map->shared || !map->readable)
            continue;
        if (memory->read(memory->arg, map->begin, magic, sizeof magic) != sizeof magic)
            continue;
        *is_pe = sw_begins_pe(begin);
        if (!*is_pe && !sw_begins_elf(begin))
            continue;
        if (!sw_maps_have_code(maps, count, *at, false) && !(*is_pe && has_code_in_place(maps, count, map, memory)))
            continue;
        ++*at;
        return map;
    }
    return NULL;
}

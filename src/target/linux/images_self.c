/*
 * The images of this process: ELF objects from the dynamic linker, the vdso, ReadyToRun images from the memory map. The
 * unwind tables and the code of objects that stay mapped as long as the process runs are used where they are: already
 * relocated, no copy, no bias. What may be unmapped at any time, libraries that were opened and PE images, is used from
 * its file, if that is still the one that is mapped, or copied; its code is read by the walker's reader, which cannot
 * fault.
 *
 * Source: dl_iterate_phdr(3), getauxval(3); win-x64-unwind.md section 7.
 */
#include "target/linux/images.h"

#include "elf/elf.h"
#include "target/linux/lasting.h"
#include "target/linux/os.h"

#include <snapwalk/follow.h>
#include <snapwalk/self.h>

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { PAGE = 4096, PATH_BYTES = 4096, HEADERS = 64 };

/* The origin of the images that a refresh of this process may drop. */
static const char origin_self;

/* The state of a refresh. If maps is empty, there are no PE images, and the vdso has no symbols. */
struct refresh {
    struct sw_images *images;
    enum sw_status status;
    uint64_t vdso;
    bool vdso_seen;
    bool overlap; /* an image was left out because an old one is in its place */
    const struct sw_map *maps;
    size_t map_count;
    struct sw_lasting lasting;
    ElfW(Phdr) headers[HEADERS]; /* of the object that is looked at */
    char path[PATH_BYTES];
};

/* ELF ----------------------------------------------------------------------------------------------------------- */

/* lasts: it stays mapped. */
struct object {
    uint64_t bias;
    const ElfW(Phdr) * headers;
    size_t count;
    bool lasts;
};

/* The bytes of a segment where it is mapped. */
static struct sw_bytes segment_bytes(const struct object *object, const ElfW(Phdr) * segment)
{
    const uint64_t address = object->bias + segment->p_vaddr;
    return (struct sw_bytes){ (const uint8_t *)(uintptr_t)address, segment->p_filesz, address };
}

static const ElfW(Phdr) * segment_around(const struct object *object, const ElfW(Phdr) * part)
{
    for (size_t i = 0; i < object->count; i++) {
        const ElfW(Phdr) *segment = &object->headers[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_R) && part->p_vaddr >= segment->p_vaddr &&
            part->p_filesz <= segment->p_filesz &&
            part->p_vaddr - segment->p_vaddr <= segment->p_filesz - part->p_filesz)
            return segment;
    }
    return NULL;
}

/* Finds the tables. The header leads to .eh_frame, which may be in another segment. */
static bool take_tables(const struct object *object, struct sw_image_entry *entry)
{
    const ElfW(Phdr) *header = NULL;
    for (size_t i = 0; i < object->count && !header; i++)
        if (object->headers[i].p_type == PT_GNU_EH_FRAME)
            header = &object->headers[i];
    if (!header || !segment_around(object, header))
        return false;
    entry->cfi.machine = entry->info.machine;
    entry->cfi.header = segment_bytes(object, header);
    for (size_t i = 0; i < object->count && !entry->has_cfi; i++) {
        const ElfW(Phdr) *segment = &object->headers[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_R))
            continue;
        entry->has_cfi =
            sw_cfi_frame_of_header(entry->cfi.header, segment_bytes(object, segment), &entry->cfi.frame) == SW_OK;
    }
    return entry->has_cfi;
}

/* Around the executable segments. */
static void locate_code(const struct object *object, struct sw_image_entry *entry)
{
    for (size_t i = 0; i < object->count; i++) {
        const ElfW(Phdr) *segment = &object->headers[i];
        const uint64_t begin = (object->bias + segment->p_vaddr) & ~(uint64_t)(PAGE - 1);
        const uint64_t end = (object->bias + segment->p_vaddr + segment->p_memsz + PAGE - 1) & ~(uint64_t)(PAGE - 1);
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
            continue;
        entry->code_begin = entry->code_end == 0 || begin < entry->code_begin ? begin : entry->code_begin;
        entry->code_end = end > entry->code_end ? end : entry->code_end;
    }
}

static struct sw_bytes code_of(const struct object *object)
{
    for (size_t i = 0; i < object->count; i++) {
        const ElfW(Phdr) *segment = &object->headers[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & (PF_R | PF_X)) == (PF_R | PF_X))
            return segment_bytes(object, segment);
    }
    return (struct sw_bytes){ 0 };
}

/* Of the program and of its linker, which ran first; of others the header says something only in their files. */
static uint64_t start_of(const struct object *object, const struct sw_image *info)
{
    const uint64_t program = getauxval(AT_ENTRY), linker = getauxval(AT_BASE);
    if (program >= info->begin && program < info->end)
        return program;
    if (linker == 0 || object->bias != linker || info->begin != linker)
        return 0;
    return linker + ((const ElfW(Ehdr) *)(uintptr_t)linker)->e_entry;
}

static void locate_object(const struct object *object, struct sw_image *info)
{
    uint64_t low = UINT64_MAX;
    uint64_t high = 0;
    for (size_t i = 0; i < object->count; i++) {
        const ElfW(Phdr) *segment = &object->headers[i];
        if (segment->p_type != PT_LOAD)
            continue;
        low = segment->p_vaddr < low ? segment->p_vaddr : low;
        high = segment->p_vaddr + segment->p_memsz > high ? segment->p_vaddr + segment->p_memsz : high;
    }
    info->begin = low < high ? object->bias + (low & ~(uint64_t)(PAGE - 1)) : 0;
    info->end = low < high ? object->bias + high : 0;
    info->bias = object->bias;
    info->machine = sw_os_machine();
}

/* The vdso is in no file, so its symbols are read where it is mapped. */
static void open_vdso(const struct refresh *refresh, struct sw_image_entry *entry)
{
    const struct sw_map *map = sw_maps_find(refresh->maps, refresh->map_count, refresh->vdso);
    if (!map || !map->readable || map->begin != refresh->vdso)
        return;
    const struct sw_bytes bytes = { (const uint8_t *)(uintptr_t)map->begin, map->end - map->begin, map->begin };
    if (sw_elf_open_bytes(bytes, &entry->elf) != SW_OK)
        entry->elf = NULL;
}

/* Registers an object whose tables are mapped. */
static enum sw_status put_mapped(struct refresh *refresh, const struct object *object, const struct sw_image *info)
{
    struct sw_image_entry *entry = sw_images_make(refresh->images, info->path);
    if (!entry)
        return SW_E_NO_MEMORY;
    const char *path = entry->info.path;
    entry->info = *info;
    entry->info.path = path;
    entry->origin = &origin_self;
    entry->seen = true;
    entry->release = sw_images_release_elf;
    entry->start = start_of(object, info);
    locate_code(object, entry);
    if (object->lasts)
        entry->code = code_of(object);
    const bool found = take_tables(object, entry);
    if (info->begin == refresh->vdso)
        open_vdso(refresh, entry);
    enum sw_status status = found || entry->elf ? SW_OK : SW_E_NOT_FOUND;
    if (found)
        status = object->lasts ? sw_images_complete_mapped(refresh->images, entry)
                               : sw_images_detach_mapped(refresh->images, entry);
    if (status == SW_OK)
        status = sw_images_insert(refresh->images, entry);
    if (status != SW_OK)
        sw_images_discard(refresh->images, entry);
    return status;
}

static enum sw_status put_object(struct refresh *refresh, const struct object *object, const char *path)
{
    struct sw_image info = { .path = path };
    uint64_t end;
    locate_object(object, &info);
    const struct sw_image_file file = {
        .open_path = path, .path = path, .address = info.begin, .origin = &origin_self
    };
    if (info.begin >= info.end || sw_images_keep(refresh->images, &file, &end))
        return SW_OK;
    const enum sw_status status = put_mapped(refresh, object, &info);
    /* Linked without .eh_frame_hdr: only the file can show the sections. */
    return status == SW_E_NOT_FOUND ? sw_images_put_file(refresh->images, &file, NULL) : status;
}

static void note_status(struct refresh *refresh, enum sw_status status)
{
    if (sw_images_fatal(status))
        refresh->status = status;
    refresh->overlap |= status == SW_E_OVERLAP;
}

static void name_of_program(struct refresh *refresh)
{
    const ssize_t got = readlink("/proc/self/exe", refresh->path, sizeof refresh->path - 1);
    refresh->path[got > 0 ? got : 0] = 0;
}

static bool has_segment_at(const struct dl_phdr_info *info, uint64_t address)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_addr + info->dlpi_phdr[i].p_vaddr == address)
            return true;
    return false;
}

/*
 * Whether the object's mapping still has its file behind it: one that was cut short has pages that fault. Its dynamic
 * section lies behind all that is looked at here. Replaces the program headers by a copy.
 */
static bool is_whole(struct refresh *refresh, struct dl_phdr_info *info)
{
    const struct sw_memory memory = sw_self_memory();
    const size_t size = info->dlpi_phnum * sizeof *info->dlpi_phdr;
    char bytes[256];
    if (info->dlpi_phnum > HEADERS)
        return true;
    if (memory.read(memory.arg, (uint64_t)(uintptr_t)info->dlpi_phdr, refresh->headers, size) != size)
        return false;
    info->dlpi_phdr = refresh->headers;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &refresh->headers[i];
        const uint64_t end = info->dlpi_addr + segment->p_vaddr + segment->p_filesz;
        if (segment->p_type == PT_DYNAMIC && segment->p_filesz >= sizeof bytes &&
            memory.read(memory.arg, end - sizeof bytes, bytes, sizeof bytes) != sizeof bytes)
            return false;
    }
    return true;
}

static int each_object(struct dl_phdr_info *listed, size_t size, void *arg)
{
    struct refresh *refresh = arg;
    struct dl_phdr_info copy = *listed, *info = &copy;
    if (!is_whole(refresh, info))
        return 0;
    const bool lasts = sw_lasting_is(&refresh->lasting, info, sw_images_get_staying(refresh->images));
    struct object object = { info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum, lasts };
    const char *path = info->dlpi_name;
    (void)size;
    if (refresh->vdso && has_segment_at(info, refresh->vdso)) {
        refresh->vdso_seen = object.lasts = true;
        path = "[vdso]";
    } else if (!path || !*path) {
        name_of_program(refresh);
        path = refresh->path;
    }
    note_status(refresh, put_object(refresh, &object, path));
    return refresh->status != SW_OK;
}

/* For C libraries whose linker does not list the vdso. The kernel made it, so its headers can be trusted. */
static void put_vdso(struct refresh *refresh)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)(uintptr_t)refresh->vdso;
    const ElfW(Phdr) *segments = (const ElfW(Phdr) *)(uintptr_t)(refresh->vdso + header->e_phoff);
    uint64_t first = 0;
    for (size_t i = header->e_phnum; i-- > 0;)
        if (segments[i].p_type == PT_LOAD)
            first = segments[i].p_vaddr - segments[i].p_offset;
    const struct object object = { refresh->vdso - first, segments, header->e_phnum, true };
    note_status(refresh, put_object(refresh, &object, "[vdso]"));
}

/* PE ------------------------------------------------------------------------------------------------------------ */

static void put_all_pe(struct refresh *refresh)
{
    const struct sw_memory memory = sw_self_memory();
    const struct sw_map *map;
    uint64_t floor = 0;
    size_t at = 0;
    bool is_pe;
    while (refresh->status == SW_OK &&
           (map = sw_images_next_site(refresh->maps, refresh->map_count, &at, floor, &memory, &is_pe)) != NULL)
        if (is_pe)
            note_status(refresh, sw_images_put_own_pe(refresh->images, &origin_self, map, &floor));
}

enum sw_status sw_images_add_mapped(struct sw_images *images, uint64_t address, bool lasts)
{
    if (!images)
        return SW_E_ARGUMENT;
    enum sw_status status = sw_images_lock(images);
    if (status != SW_OK)
        return status;
    status = sw_images_put_mapped_pe(images, &origin_self, address, lasts);
    sw_images_unlock(images);
    return status;
}

static void refresh_all(struct refresh *refresh)
{
    refresh->vdso_seen = refresh->overlap = false;
    refresh->lasting.began = false;
    refresh->lasting.count = 0;
    sw_images_mark(refresh->images, &origin_self);
    dl_iterate_phdr(each_object, refresh);
    if (refresh->status == SW_OK && refresh->vdso && !refresh->vdso_seen)
        put_vdso(refresh);
    if (refresh->status == SW_OK)
        put_all_pe(refresh);
    if (refresh->status == SW_OK)
        refresh->status = sw_images_sweep(refresh->images, &origin_self);
}

enum sw_status sw_images_add_self(struct sw_images *images)
{
    struct refresh refresh = { .images = images };
    struct sw_os_text text;
    if (!images)
        return SW_E_ARGUMENT;
    const struct sw_alloc *alloc = sw_images_alloc(images);
    enum sw_status status = sw_os_read_file(alloc, "/proc/self/maps", &text);
    if (status != SW_OK)
        return status == SW_E_NO_MEMORY ? status : SW_E_OS;
    const size_t count = sw_maps_parse(text.bytes, text.size, NULL, 0);
    struct sw_map *maps = count ? alloc->get(alloc->arg, count * sizeof *maps) : NULL;
    status = count && !maps ? SW_E_NO_MEMORY : sw_images_lock(images);
    if (status == SW_OK) {
        refresh.maps = maps;
        refresh.map_count = sw_maps_parse(text.bytes, text.size, maps, count);
        refresh.vdso = getauxval(AT_SYSINFO_EHDR);
        refresh_all(&refresh);
        if (refresh.status == SW_OK && refresh.overlap)
            refresh_all(&refresh);
        if (refresh.status == SW_OK)
            refresh.status = sw_images_take_maps(images, maps, refresh.map_count);
        sw_images_unlock(images);
        status = refresh.status;
    }
    if (maps)
        alloc->put(alloc->arg, maps, count * sizeof *maps);
    sw_os_free_text(alloc, &text);
    return status;
}

/* The dynamic linker tells nobody. */
enum sw_status sw_images_follow_self(struct sw_images *images, struct sw_images_follower **follower)
{
    return images && follower ? SW_E_UNSUPPORTED : SW_E_ARGUMENT;
}

void sw_images_unfollow(struct sw_images_follower *follower)
{
    (void)follower;
}

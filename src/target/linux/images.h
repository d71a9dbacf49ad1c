/* Registers images in the set, for the files that find them. Everything here is called under the set's writer lock. */
#ifndef SW_TARGET_LINUX_IMAGES_H
#define SW_TARGET_LINUX_IMAGES_H

#include "code/images.h"
#include "target/linux/maps.h"

/*
 * A file to register.
 *
 * open_path   What to open. path: the image's name.
 * address     ELF: where file offset 0 is mapped; PE: the base address.
 * bytes       The whole file, with its address, borrowed for the life of the image: then nothing is opened. Else
 *             empty.
 * room        How much may be unpacked of them, if they have holes; else 0.
 * first       An address in the image that the kernel starts first: the dynamic linker of a program that has one. 0:
 *             not known. The program itself is known by its file.
 * stays_open  Of what is opened, tables are read when walks look at them, for which it stays open. Else at once.
 * header      PE: what the file that is opened has to begin with. Empty: it may be any.
 */
struct sw_image_file {
    const char *open_path;
    const char *path;
    uint64_t address;
    const void *origin;
    uint64_t identity;
    struct sw_bytes bytes;
    struct sw_bytes header;
    uint64_t room;
    uint64_t first;
    bool stays_open;
};

/* Returns as sw_images_add_file; SW_E_NOT_FOUND (another header). end: receives the end of the image; may be null. */
enum sw_status sw_images_put_file(struct sw_images *images, const struct sw_image_file *file, uint64_t *end);

/* An image of `size` bytes that is mapped at file->address, copied from there. Returns as sw_images_add_memory. */
enum sw_status sw_images_put_memory(struct sw_images *images, const struct sw_image_file *file, uint64_t size,
                                    const struct sw_memory *memory);

/*
 * A PE image of this process, by its first row. end: receives its end. put_mapped_pe: the one at an address.
 *
 * Returns  As sw_images_put_file and sw_images_put_memory, and as sw_images_add_mapped.
 */
enum sw_status sw_images_put_own_pe(struct sw_images *images, const void *origin, const struct sw_map *map,
                                    uint64_t *end);
enum sw_status sw_images_put_mapped_pe(struct sw_images *images, const void *origin, uint64_t address, bool lasts);

/* For entry->release: closes entry->elf, and frees entry->held, which is the allocator's. */
void sw_images_release_elf(struct sw_image_entry *entry, const struct sw_alloc *alloc);

/*
 * A refresh. mark marks the images of an origin as not seen. keep says whether the file is registered already, marks it
 * as seen and returns its end; another file of the same origin at its address is dropped. sweep drops those that were
 * not seen. If a new image overlaps one that no longer exists, SW_E_OVERLAP requests another round after the sweep.
 */
void sw_images_mark(struct sw_images *images, const void *origin);
bool sw_images_keep(struct sw_images *images, const struct sw_image_file *file, uint64_t *end);
enum sw_status sw_images_sweep(struct sw_images *images, const void *origin);

/*
 * The map of the target's memory into the set, for sw_images_span. append_span: to spans, which have room.
 *
 * Returns  SW_OK; SW_E_NO_MEMORY.
 */
enum sw_status sw_images_take_maps(struct sw_images *images, const struct sw_map *maps, size_t count);
void sw_images_append_span(struct sw_span *spans, size_t *count, struct sw_span span);

/*
 * The unwind tables of an ELF image whose entry->elf is open, as they stand in the file. complete_mapped: of one whose
 * .eh_frame and its header were found where they are mapped; the file, if it is still that file, is only asked for a
 * .debug_frame, for what .eh_frame does not cover. detach_mapped: of one that may be unmapped before it is removed: its
 * file, if it is still that file, is used for all tables, else those that are mapped are copied.
 *
 * Returns  SW_OK, with entry->has_cfi if there are tables; SW_E_NO_MEMORY.
 */
enum sw_status sw_images_take_sections(struct sw_images *images, struct sw_image_entry *entry);
enum sw_status sw_images_complete_mapped(struct sw_images *images, struct sw_image_entry *entry);
enum sw_status sw_images_detach_mapped(struct sw_images *images, struct sw_image_entry *entry);

/*
 * The next mapping that may be an image: the lowest row with offset 0, private, readable, with ELF's or PE's first
 * bytes, and an executable row of the same file closely behind it. For PE, an executable row without a file also counts
 * if the header has code there.
 *
 * at       The row to continue from; starts at 0. floor: rows that begin below it are skipped (inside the last image).
 *
 * Returns  The row, or null at the end.
 */
const struct sw_map *sw_images_next_site(const struct sw_map *maps, size_t count, size_t *at, uint64_t floor,
                                         const struct sw_memory *memory, bool *is_pe);

/* Whether a status ends a refresh. Any other one means that the image is left out. */
static inline bool sw_images_fatal(enum sw_status status)
{
    return status == SW_E_NO_MEMORY;
}

#endif

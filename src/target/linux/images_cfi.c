/*
 * Chooses the call frame information of an ELF image: .eh_frame, through its header if that can be searched, else by an
 * index made here; and .debug_frame for code that .eh_frame leaves out, from the file or from its MiniDebugInfo. Knows
 * sections by name and what owns the memory; refuses to know their contents (lib/cfi, lib/elf).
 */
#include "target/linux/images.h"

#include "elf/elf.h"

#include <string.h>

static enum sw_status make_index(struct sw_images *images, struct sw_image_entry *entry, struct sw_cfi *cfi)
{
    const struct sw_alloc *alloc = sw_images_alloc(images);
    struct sw_image_index *index_out = &entry->index[cfi == &entry->beside];
    const size_t count = sw_cfi_index(cfi, NULL, 0);
    if (count == 0)
        return SW_OK;
    if (count > SIZE_MAX / sizeof(struct sw_cfi_entry))
        return SW_E_NO_MEMORY;
    struct sw_cfi_entry *entries = alloc->get(alloc->arg, count * sizeof *entries);
    if (!entries)
        return SW_E_NO_MEMORY;
    const size_t filled = sw_cfi_index(cfi, entries, count);
    *index_out = (struct sw_image_index){ entries, count * sizeof *entries };
    cfi->index = entries;
    cfi->index_count = filled < count ? filled : count;
    return SW_OK;
}

/* Without them the search takes longer, that is all. */
static void make_pieces(struct sw_images *images, struct sw_image_entry *entry)
{
    const struct sw_alloc *alloc = sw_images_alloc(images);
    struct sw_cfi *cfi = &entry->cfi;
    unsigned shift = 0;
    const size_t count = sw_cfi_pieces(cfi, NULL, 0, &shift), size = (count + 1) * sizeof *cfi->pieces;
    uint32_t *pieces = count ? alloc->get(alloc->arg, size) : NULL;
    if (!pieces)
        return;
    (void)sw_cfi_pieces(cfi, pieces, count + 1, &shift);
    entry->index[0] = (struct sw_image_index){ pieces, size };
    cfi->pieces = pieces;
    cfi->piece_count = count;
    cfi->piece_shift = shift;
}

/*
 * Without a sound header (missing, without a table, or falsely sorted) every search would be slow, so an index is made.
 */
static enum sw_status check_header(struct sw_images *images, struct sw_image_entry *entry)
{
    if (sw_cfi_header_is_sound(&entry->cfi)) {
        make_pieces(images, entry);
        return SW_OK;
    }
    entry->cfi.header = (struct sw_bytes){ 0 };
    return make_index(images, entry, &entry->cfi);
}

/* A section at its address in the target; empty: there is none. */
static struct sw_bytes section(const struct sw_image_entry *entry, const char *name)
{
    struct sw_bytes bytes;
    if (sw_elf_section(entry->elf, name, &bytes) != SW_OK)
        return (struct sw_bytes){ 0 };
    bytes.address += entry->info.bias;
    return bytes;
}

/*
 * Whether .eh_frame covers the code, except start-up code and stubs, for which unpacking a MiniDebugInfo is not
 * worthwhile.
 */
static bool is_covered(const struct sw_image_entry *entry)
{
    enum { START_UP_CODE = 512 };
    struct sw_elf_segment segment;
    const uint64_t bias = entry->info.bias;
    for (size_t n = 0; entry->has_cfi && sw_elf_segment(entry->elf, n, &segment); n++)
        if (segment.executable && sw_cfi_widest_gap(&entry->cfi, segment.address + bias,
                                                    segment.address + segment.size + bias) >= START_UP_CODE)
            return false;
    return entry->has_cfi;
}

static struct sw_bytes debug_frame(const struct sw_image_entry *entry)
{
    if (section(entry, ".gnu_debugdata").size > 0 && is_covered(entry))
        return (struct sw_bytes){ 0 };
    return section(entry, ".debug_frame");
}

/* .debug_frame becomes the second table beside .eh_frame, or the only one. Its addresses are link-time ones. */
static enum sw_status take_debug_frame(struct sw_images *images, struct sw_image_entry *entry, struct sw_bytes frame)
{
    struct sw_cfi *cfi = entry->has_cfi ? &entry->beside : &entry->cfi;
    if (frame.size == 0)
        return SW_OK;
    *cfi = (struct sw_cfi){
        .machine = entry->info.machine, .is_debug_frame = true, .frame = frame, .bias = entry->info.bias
    };
    if (entry->has_cfi)
        entry->cfi.beside = cfi;
    entry->has_cfi = true;
    return make_index(images, entry, cfi);
}

enum sw_status sw_images_take_sections(struct sw_images *images, struct sw_image_entry *entry)
{
    struct sw_cfi *cfi = &entry->cfi;
    cfi->machine = entry->info.machine;
    cfi->bias = entry->info.bias;
    cfi->frame = section(entry, ".eh_frame");
    cfi->header = section(entry, ".eh_frame_hdr");
    entry->has_cfi = cfi->frame.size != 0;
    const enum sw_status status = entry->has_cfi ? check_header(images, entry) : SW_OK;
    return status == SW_OK ? take_debug_frame(images, entry, debug_frame(entry)) : status;
}

/* Whether the file is the one that is mapped, as far as its header shows: another may have replaced it on disk. */
static bool is_same_file(const struct sw_image_entry *entry, struct sw_bytes mapped)
{
    struct sw_bytes stored;
    return sw_elf_section(entry->elf, ".eh_frame_hdr", &stored) == SW_OK && stored.size == mapped.size &&
           stored.address + entry->info.bias == mapped.address && memcmp(stored.bytes, mapped.bytes, stored.size) == 0;
}

enum sw_status sw_images_complete_mapped(struct sw_images *images, struct sw_image_entry *entry)
{
    const struct sw_bytes mapped = entry->cfi.header;
    enum sw_status status = check_header(images, entry);
    if (status != SW_OK || entry->elf || sw_elf_open(entry->info.path, &entry->elf) != SW_OK)
        return status;
    const struct sw_bytes frame = debug_frame(entry);
    if (frame.size > 0 && is_same_file(entry, mapped))
        status = take_debug_frame(images, entry, frame);
    if (entry->beside.frame.size == 0) { /* not needed for walks; a name look-up opens it again */
        sw_elf_close(entry->elf);
        entry->elf = NULL;
    }
    return status;
}

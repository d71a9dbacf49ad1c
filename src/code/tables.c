/*
 * Opening of unwind tables: indexes where a table has none, and what is taken from which section. Refuses to know where
 * sections come from (src/target) and what stands in them (lib/).
 */
#include "code/tables.h"

#include "common/alloc.h"

/* ---- DWARF ---- */

static enum sw_status make_index(struct sw_images *images, struct sw_image_entry *entry, struct sw_cfi *cfi)
{
    const struct sw_alloc *alloc = sw_images_alloc(images);
    struct sw_image_index *index = &entry->index[cfi == &entry->beside];
    const size_t count = sw_cfi_index(cfi, NULL, 0);
    if (count == 0)
        return SW_OK;
    if (count > SIZE_MAX / sizeof(struct sw_cfi_entry))
        return SW_E_NO_MEMORY;
    struct sw_cfi_entry *entries = alloc->get(alloc->arg, count * sizeof *entries);
    if (!entries)
        return SW_E_NO_MEMORY;
    const size_t filled = sw_cfi_index(cfi, entries, count);
    *index = (struct sw_image_index){ entries, count * sizeof *entries };
    cfi->index = entries;
    cfi->index_count = filled < count ? filled : count;
    return SW_OK;
}

/* Without them the search takes longer, that is all. Tables that are read as they are needed are not searched often. */
static void make_pieces(struct sw_images *images, struct sw_image_entry *entry)
{
    const struct sw_alloc *alloc = sw_images_alloc(images);
    struct sw_cfi *cfi = &entry->cfi;
    unsigned shift = 0;
    const size_t count = cfi->store ? 0 : sw_cfi_pieces(cfi, NULL, 0, &shift), size = (count + 1) * sizeof *cfi->pieces;
    uint32_t *pieces = count ? alloc->get(alloc->arg, size) : NULL;
    if (!pieces)
        return;
    (void)sw_cfi_pieces(cfi, pieces, count + 1, &shift);
    entry->index[0] = (struct sw_image_index){ pieces, size };
    cfi->pieces = pieces;
    cfi->piece_count = count;
    cfi->piece_shift = shift;
}

/* A header that is not there, has no table, or lies about its order would make every search a long one. */
enum sw_status sw_open_eh_frame(struct sw_images *images, struct sw_image_entry *entry, struct sw_bytes section,
                                const struct sw_sections *sections)
{
    struct sw_cfi *cfi = &entry->cfi;
    cfi->machine = entry->info.machine;
    cfi->frame = section;
    cfi->no_reading = true;
    cfi->header = sections->find(sections, entry, ".eh_frame_hdr");
    entry->has_cfi = true;
    if (sw_cfi_header_is_sound(cfi)) {
        make_pieces(images, entry);
        return SW_OK;
    }
    cfi->header = (struct sw_bytes){ 0 };
    return make_index(images, entry, cfi);
}

/* Addresses in it are link-time ones. */
enum sw_status sw_open_debug_frame(struct sw_images *images, struct sw_image_entry *entry, struct sw_bytes section,
                                   const struct sw_sections *sections)
{
    struct sw_cfi *cfi = entry->has_cfi ? &entry->beside : &entry->cfi;
    (void)sections;
    *cfi = (struct sw_cfi){ .machine = entry->info.machine,
                            .is_debug_frame = true,
                            .no_reading = true,
                            .frame = section,
                            .bias = entry->info.bias };
    if (entry->has_cfi)
        entry->cfi.beside = cfi;
    entry->has_cfi = true;
    return make_index(images, entry, cfi);
}

enum sw_status sw_open_sframe(struct sw_images *images, struct sw_image_entry *entry, struct sw_bytes section,
                              const struct sw_sections *sections)
{
    (void)images, (void)sections;
    entry->has_sframe =
        sw_sframe_open(section, &entry->sframe) == SW_OK && entry->sframe.machine == entry->info.machine;
    return SW_OK;
}

/* ---- PE ---- */

enum sw_status sw_open_ready_to_run(struct sw_images *images, struct sw_image_entry *entry, struct sw_bytes section,
                                    const struct sw_sections *sections)
{
    (void)section, (void)sections;
    const struct sw_alloc *alloc = sw_images_alloc(images);
    const enum sw_status status = sw_images_has_methods(images)
                                      ? sw_clr_image_open(&entry->pe, alloc, &entry->clr)
                                      : sw_clr_image_open_bare(&entry->pe, alloc, &entry->clr);
    entry->has_clr = status == SW_OK;
    return status == SW_E_NO_MEMORY ? status : SW_OK;
}

enum sw_status sw_open_exceptions(struct sw_images *images, struct sw_image_entry *entry, struct sw_bytes section,
                                  const struct sw_sections *sections)
{
    (void)images, (void)section, (void)sections;
    entry->has_pe = true;
    entry->exceptions_status = SW_E_NOT_FOUND;
    if (!entry->has_clr)
        entry->exceptions_status = sw_pe_exceptions(&entry->pe, &entry->exceptions);
    return SW_OK;
}

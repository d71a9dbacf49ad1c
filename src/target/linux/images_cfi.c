/*
 * Where the unwind sections of an ELF image are found: in the file or where it is mapped; .debug_frame, for the code
 * that .eh_frame leaves out, in the file or in its MiniDebugInfo. Refuses to know what stands in them (lib/cfi,
 * lib/elf) and who opens them (src/unwind/sources.c).
 */
#include "target/linux/images.h"

#include "elf/elf.h"
#include "unwind/sources.h"

#include <string.h>

/* A section at its address in the target; empty when there is none. */
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
    enum { START_UP_CODE = 512, MOST_READ = 8 }; /* each time all FDEs are read; files have one or two */
    struct sw_elf_segment segment;
    const uint64_t bias = entry->info.bias;
    unsigned read = 0;
    for (size_t n = 0; entry->has_cfi && sw_elf_segment(entry->elf, n, &segment); n++)
        if (segment.executable &&
            (++read > MOST_READ || sw_cfi_widest_gap(&entry->cfi, segment.address + bias,
                                                     segment.address + segment.size + bias) >= START_UP_CODE))
            return false;
    return entry->has_cfi;
}

static struct sw_bytes debug_frame(const struct sw_image_entry *entry)
{
    if (section(entry, ".gnu_debugdata").size > 0 && is_covered(entry))
        return (struct sw_bytes){ 0 };
    return section(entry, ".debug_frame");
}

static struct sw_bytes find_in_file(const struct sw_sections *sections, struct sw_image_entry *entry, const char *name)
{
    (void)sections;
    return strcmp(name, ".debug_frame") == 0 ? debug_frame(entry) : section(entry, name);
}

enum sw_status sw_images_take_sections(struct sw_images *images, struct sw_image_entry *entry)
{
    const struct sw_sections sections = { find_in_file };
    entry->cfi.bias = entry->info.bias;
    return sw_sources_open(images, entry, &sections);
}

/* ---- an image that is mapped in this process ---- */

/* Where the tables that its program headers lead to are mapped. */
struct mapped {
    struct sw_sections sections;
    struct sw_bytes frame, header;
};

/* The very file that is mapped, as far as its header can tell: another one may have taken its place on the disk. */
static bool is_same_file(const struct sw_image_entry *entry, struct sw_bytes mapped)
{
    struct sw_bytes stored;
    return sw_elf_section(entry->elf, ".eh_frame_hdr", &stored) == SW_OK && stored.size == mapped.size &&
           stored.address + entry->info.bias == mapped.address && memcmp(stored.bytes, mapped.bytes, stored.size) == 0;
}

static struct sw_bytes find_mapped(const struct sw_sections *sections, struct sw_image_entry *entry, const char *name)
{
    const struct mapped *mapped = (const struct mapped *)sections;
    if (strcmp(name, ".eh_frame") == 0)
        return mapped->frame;
    if (strcmp(name, ".eh_frame_hdr") == 0)
        return mapped->header;
    if (strcmp(name, ".debug_frame") != 0 || entry->held || entry->elf ||
        sw_elf_open(entry->info.path, &entry->elf) != SW_OK)
        return (struct sw_bytes){ 0 };
    const struct sw_bytes frame = debug_frame(entry);
    return frame.size > 0 && is_same_file(entry, mapped->header) ? frame : (struct sw_bytes){ 0 };
}

/* The mapped tables in memory of the entry's own. */
static enum sw_status copy_mapped(struct sw_images *images, struct sw_image_entry *entry, struct mapped *mapped)
{
    const struct sw_alloc *alloc = sw_images_alloc(images);
    const size_t frame = mapped->frame.size, header = mapped->header.size;
    uint8_t *copy = alloc->get(alloc->arg, frame + header);
    if (!copy)
        return SW_E_NO_MEMORY;
    entry->held = copy;
    entry->held_size = frame + header;
    memcpy(copy, mapped->frame.bytes, frame);
    memcpy(copy + frame, mapped->header.bytes, header);
    mapped->frame.bytes = copy;
    mapped->header.bytes = copy + frame;
    return SW_OK;
}

enum sw_status sw_images_detach_mapped(struct sw_images *images, struct sw_image_entry *entry)
{
    struct mapped mapped = { { find_mapped }, entry->cfi.frame, entry->cfi.header };
    entry->has_cfi = false;
    if (sw_elf_open(entry->info.path, &entry->elf) == SW_OK) {
        if (is_same_file(entry, mapped.header))
            return sw_images_take_sections(images, entry);
        sw_elf_close(entry->elf);
        entry->elf = NULL;
    }
    const enum sw_status status = copy_mapped(images, entry, &mapped);
    return status == SW_OK ? sw_sources_open(images, entry, &mapped.sections) : status;
}

enum sw_status sw_images_complete_mapped(struct sw_images *images, struct sw_image_entry *entry)
{
    const struct mapped mapped = { { find_mapped }, entry->cfi.frame, entry->cfi.header };
    const bool was_open = entry->elf != NULL;
    const enum sw_status status = sw_sources_open(images, entry, &mapped.sections);
    if (!was_open && entry->elf && entry->beside.frame.size == 0) { /* not needed for walks; names open it again */
        sw_elf_close(entry->elf);
        entry->elf = NULL;
    }
    return status;
}

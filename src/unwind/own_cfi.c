/*
 * Code with call frame information that is in no file (a JIT compiler's) as an image of its own, with a copy of the
 * records. A fixed frame becomes such records: one CIE, which says all, and one FDE. Knows how the few instructions
 * that this takes are written; refuses to know how they are read (lib/cfi).
 *
 * Source: LSB, "Exception Frames"; DWARF 5 section 7.24; dwarf-cfi.md.
 */
#include "unwind/sources.h"

#include "base/expr.h"
#include "code/images.h"

#include <snapwalk/jit.h>

#include <string.h>

/* ---- records ---- */

struct own_table {
    struct sw_sections sections;
    struct sw_bytes frame;
};

static struct sw_bytes find(const struct sw_sections *sections, struct sw_image_entry *entry, const char *name)
{
    const struct own_table *table = (const struct own_table *)sections;
    (void)entry;
    return strcmp(name, ".eh_frame") == 0 ? table->frame : (struct sw_bytes){ 0 };
}

static void release_held(struct sw_image_entry *entry, const struct sw_alloc *alloc)
{
    if (entry->held)
        alloc->put(alloc->arg, entry->held, entry->held_size);
}

static enum sw_status fill(struct sw_images *images, struct sw_image_entry *entry, const struct sw_cfi_table *table)
{
    const struct sw_alloc *alloc = sw_images_alloc(images);
    uint8_t *bytes = alloc->get(alloc->arg, table->size);
    if (!bytes)
        return SW_E_NO_MEMORY;
    memcpy(bytes, table->eh_frame, table->size);
    entry->held = bytes;
    entry->held_size = table->size;
    entry->release = release_held;
    entry->no_names = true;
    entry->info.machine = table->machine;
    entry->info.begin = entry->code_begin = table->begin;
    entry->info.end = entry->code_end = table->end;
    const struct own_table own = { { find }, { bytes, table->size, table->address } };
    const enum sw_status status = sw_sources_open(images, entry, &own.sections);
    return status == SW_OK && entry->cfi.index_count == 0 ? SW_E_MALFORMED : status;
}

static bool is_range(enum sw_machine machine, uint64_t begin, uint64_t end)
{
    return (machine == SW_MACHINE_X64 || machine == SW_MACHINE_ARM64) && begin < end;
}

enum sw_status sw_images_add_cfi(struct sw_images *images, const char *name, const struct sw_cfi_table *table)
{
    if (!images || !name || !table || !is_range(table->machine, table->begin, table->end) || !table->eh_frame ||
        table->size == 0 || table->size > SW_CFI_BYTES_MAX || table->address > UINT64_MAX - table->size)
        return SW_E_ARGUMENT;
    enum sw_status status = sw_images_lock(images);
    if (status != SW_OK)
        return status;
    struct sw_image_entry *entry = sw_images_make(images, name);
    status = entry ? fill(images, entry, table) : SW_E_NO_MEMORY;
    if (status == SW_OK)
        status = sw_images_insert(images, entry);
    if (status != SW_OK && entry)
        sw_images_discard(images, entry);
    sw_images_unlock(images);
    return status;
}

/* ---- a fixed frame as records ---- */

enum { DEF_CFA = 0x0c, UNDEFINED = 0x07, OFFSET = 0x80, WORD = 8, LENGTH = 4, RECORDS_MAX = 512 };

struct records {
    uint8_t bytes[RECORDS_MAX];
    size_t size;
};

static void put(struct records *to, uint64_t byte)
{
    to->bytes[to->size++] = (uint8_t)byte;
}

static void put_number(struct records *to, uint64_t number, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        put(to, number >> 8 * i);
}

static void put_uleb(struct records *to, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        put(to, number | 0x80);
    put(to, number);
}

/* With no-operations to full words, and its length in front. */
static void end_record(struct records *to, size_t begin)
{
    while (to->size % WORD != 0)
        put(to, 0);
    const uint64_t length = to->size - begin - LENGTH;
    for (unsigned i = 0; i < LENGTH; i++)
        to->bytes[begin + i] = (uint8_t)(length >> 8 * i);
}

/* DWARF's number of a register of regs.h. */
static unsigned dwarf_of(enum sw_machine machine, unsigned reg)
{
    unsigned number = 0;
    while (sw_dwarf_reg(machine, number) != reg)
        number++;
    return number;
}

static void put_saved(struct records *to, const struct sw_fixed_frame *frame, unsigned reg, uint64_t at)
{
    put(to, OFFSET | dwarf_of(frame->machine, reg));
    put_uleb(to, (frame->size - at) / WORD);
}

static void put_rules(struct records *to, const struct sw_fixed_frame *frame, unsigned ra)
{
    put(to, DEF_CFA);
    put_uleb(to, dwarf_of(frame->machine, frame->base));
    put_uleb(to, frame->size);
    if (sw_regs_link_number(frame->machine) == SW_REGS_MAX)
        put_saved(to, frame, ra, frame->size - WORD);
    for (size_t i = 0; i < frame->saved_count; i++)
        put_saved(to, frame, frame->saved[i].reg, frame->saved[i].at);
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        if (frame->lost >> n & 1) {
            put(to, UNDEFINED);
            put_uleb(to, dwarf_of(frame->machine, n));
        }
}

/* Version 1, no augmentation, so that addresses are whole; units of 1 and -8. */
static void put_records(struct records *to, const struct sw_fixed_frame *frame)
{
    const unsigned link = sw_regs_link_number(frame->machine);
    const unsigned ra = link == SW_REGS_MAX ? sw_regs_pc_number(frame->machine) : link;
    put_number(to, 0, LENGTH + 4);
    put_number(to, 1, 2);
    put(to, 1);
    put(to, 0x78);
    put(to, dwarf_of(frame->machine, ra));
    put_rules(to, frame, ra);
    end_record(to, 0);
    const size_t begin = to->size;
    put_number(to, 0, LENGTH);
    put_number(to, begin + LENGTH, 4);
    put_number(to, frame->begin, 8);
    put_number(to, frame->end - frame->begin, 8);
    end_record(to, begin);
}

/* The stack pointer and the program counter follow from the frame itself. */
static bool is_kept(enum sw_machine machine, unsigned reg)
{
    return reg < sw_regs_count(machine) && reg != sw_regs_sp_number(machine) && reg != sw_regs_pc_number(machine);
}

static bool is_usable(const struct sw_fixed_frame *frame)
{
    if (!is_range(frame->machine, frame->begin, frame->end))
        return false;
    const enum sw_machine machine = frame->machine;
    const uint32_t least = sw_regs_link_number(machine) == SW_REGS_MAX ? WORD : 0;
    bool is_good = frame->size % WORD == 0 && frame->size >= least && frame->size <= SW_FIXED_FRAME_MAX &&
                   (is_kept(machine, frame->base) || frame->base == sw_regs_sp_number(machine)) &&
                   frame->saved_count <= SW_REGS_MAX && (frame->saved || frame->saved_count == 0);
    for (size_t i = 0; is_good && i < frame->saved_count; i++)
        is_good = is_kept(machine, frame->saved[i].reg) && frame->saved[i].at % WORD == 0 &&
                  frame->saved[i].at < frame->size - least;
    for (unsigned n = 0; is_good && n < 64; n++)
        is_good = !(frame->lost >> n & 1) || is_kept(machine, n);
    return is_good;
}

enum sw_status sw_images_add_frame(struct sw_images *images, const char *name, const struct sw_fixed_frame *frame)
{
    struct records records = { .size = 0 };
    if (!images || !name || !frame || !is_usable(frame))
        return SW_E_ARGUMENT;
    put_records(&records, frame);
    const struct sw_cfi_table table = { frame->machine, frame->begin, frame->end, records.bytes, records.size, 0 };
    return sw_images_add_cfi(images, name, &table);
}

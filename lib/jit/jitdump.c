/*
 * Records of jitdump files, in either byte order. Every byte is hostile: lengths are checked where they are read.
 * Follows jit-interfaces.md section 3 (the Linux perf jitdump specification, as V8 and .NET write it).
 */
#include "jit/jitdump.h"

#include <string.h>

enum { MAGIC = 0x4a695444, MAGIC_SWAPPED = 0x4454694a, VERSION = 1, ELF_X64 = 62, ELF_ARM64 = 183 };

static uint64_t field(struct sw_cursor *c, unsigned size, bool is_big)
{
    const uint8_t *from = sw_cursor_take(c, size);
    uint64_t value = 0;
    for (unsigned i = 0; from && i < size; i++)
        value = value << 8 | from[is_big ? i : size - 1 - i];
    return value;
}

enum sw_status sw_jitdump_header(struct sw_bytes bytes, struct sw_jitdump_header *header)
{
    struct sw_cursor c = sw_cursor_over(bytes);
    if (bytes.size < SW_JITDUMP_HEADER_BYTES)
        return SW_E_TRUNCATED;
    const uint64_t magic = field(&c, 4, false);
    if (magic != MAGIC && magic != MAGIC_SWAPPED)
        return SW_E_MALFORMED;
    header->is_big = magic == MAGIC_SWAPPED;
    const uint64_t version = field(&c, 4, header->is_big);
    header->size = (uint32_t)field(&c, 4, header->is_big);
    const uint64_t machine = field(&c, 4, header->is_big);
    header->machine = machine == ELF_X64 ? SW_MACHINE_X64 : machine == ELF_ARM64 ? SW_MACHINE_ARM64 : SW_MACHINE_NONE;
    if (version != VERSION || header->machine == SW_MACHINE_NONE)
        return SW_E_UNSUPPORTED;
    return header->size >= SW_JITDUMP_HEADER_BYTES ? SW_OK : SW_E_MALFORMED;
}

enum sw_status sw_jitdump_prefix(struct sw_bytes bytes, bool is_big, uint32_t *kind, uint32_t *size)
{
    struct sw_cursor c = sw_cursor_over(bytes);
    *kind = (uint32_t)field(&c, 4, is_big);
    *size = (uint32_t)field(&c, 4, is_big);
    if (bytes.size < SW_JITDUMP_PREFIX_BYTES)
        return SW_E_TRUNCATED;
    return *size >= SW_JITDUMP_PREFIX_BYTES ? SW_OK : SW_E_MALFORMED;
}

static bool is_range(uint64_t begin, uint64_t size)
{
    uint64_t end;
    return begin && size && sw_add_u64(begin, size, &end);
}

/* The record has to have room for the code, as the specification says, although nobody reads it here. */
static bool load(struct sw_cursor *c, bool is_big, uint32_t size, struct sw_jitdump_record *record)
{
    sw_cursor_take(c, 16); /* pid, tid, vma */
    record->begin = field(c, 8, is_big);
    record->code_size = field(c, 8, is_big);
    sw_cursor_take(c, 8); /* index */
    record->name = sw_cursor_string(c);
    if (!record->name || !sw_cursor_ok(c))
        return false;
    record->name_size = strlen(record->name) + 1;
    return is_range(record->begin, record->code_size) &&
           record->code_size <= size - SW_JITDUMP_LOAD_BYTES - record->name_size;
}

static bool move(struct sw_cursor *c, bool is_big, struct sw_jitdump_record *record)
{
    sw_cursor_take(c, 16); /* pid, tid, vma */
    record->from = field(c, 8, is_big);
    record->begin = field(c, 8, is_big);
    record->code_size = field(c, 8, is_big);
    sw_cursor_take(c, 8); /* index */
    return sw_cursor_ok(c) && is_range(record->begin, record->code_size);
}

/* .eh_frame, and .eh_frame_hdr behind it. */
static bool unwind(struct sw_cursor *c, bool is_big, struct sw_jitdump_record *record)
{
    const uint64_t size = field(c, 8, is_big);
    const uint64_t header_size = field(c, 8, is_big);
    sw_cursor_take(c, 8); /* how much of it the runtime has mapped */
    const uint8_t *data = sw_cursor_take(c, size);
    if (!data || header_size > size)
        return false;
    record->frames = (struct sw_bytes){ data, size - header_size, 0 };
    return true;
}

enum sw_status sw_jitdump_record(struct sw_bytes bytes, bool is_big, struct sw_jitdump_record *record)
{
    struct sw_cursor c = sw_cursor_over(bytes);
    const uint32_t kind = (uint32_t)field(&c, 4, is_big);
    const uint32_t size = (uint32_t)field(&c, 4, is_big);
    bool fits = true;
    *record = (struct sw_jitdump_record){ .kind = kind };
    sw_cursor_take(&c, SW_JITDUMP_PREFIX_BYTES - 8);
    if (!sw_cursor_ok(&c) || bytes.size > size)
        return SW_E_MALFORMED;
    if (kind == SW_JITDUMP_LOAD)
        fits = load(&c, is_big, size, record);
    else if (kind == SW_JITDUMP_MOVE)
        fits = move(&c, is_big, record);
    else if (kind == SW_JITDUMP_UNWIND)
        fits = unwind(&c, is_big, record);
    return fits && sw_cursor_ok(&c) ? SW_OK : SW_E_MALFORMED;
}

/*
 * Reads gHotSpotVMStructs and gHotSpotVMTypes once, by the layout that the machine exports beside them. Knows which
 * rows are needed; refuses to know what they are for.
 *
 * Source: OpenJDK 17, src/hotspot/share/runtime/vmStructs.hpp (the two tables, their strides and offsets).
 */
#include "hotspot_tables.h"

#include "peek.h"

#include <snapwalk/names.h>

#include <string.h>

/* A machine has some 3,000 rows. */
enum { ROWS_MOST = 20000, ROW_BYTES_MOST = 256, WORD_MOST = 64 };

/* ORDER hotspot_field. or_type: where other versions have the field. */
static const struct {
    const char *type, *field, *or_type;
} wanted[HOTSPOT_FIELDS] = {
    { "CodeCache", "_heaps", NULL },
    { "GrowableArrayBase", "_len", "GenericGrowableArray" },
    { "GrowableArray<int>", "_data", NULL },
    { "CodeHeap", "_memory", NULL },
    { "CodeHeap", "_segmap", NULL },
    { "CodeHeap", "_log2_segment_size", NULL },
    { "VirtualSpace", "_low", NULL },
    { "VirtualSpace", "_high", NULL },
    { "HeapBlock::Header", "_used", NULL },
    { "HeapBlock", "", NULL },
    { "CodeBlob", "_name", NULL },
    { "CodeBlob", "_size", NULL },
    { "CodeBlob", "_frame_size", NULL },
    { "CodeBlob", "_frame_complete_offset", NULL },
    { "CodeBlob", "_code_begin", NULL },
    { "CodeBlob", "_code_end", NULL },
    { "CompiledMethod", "_method", "nmethod" },
    { "CompiledMethod", "_scopes_data_begin", NULL },
    { "CompiledMethod", "_deopt_handler_begin", NULL },
    { "nmethod", "_metadata_offset", NULL },
    { "nmethod", "_scopes_pcs_offset", NULL },
    { "nmethod", "_dependencies_offset", NULL },
    { "nmethod", "_orig_pc_offset", NULL },
    { "PcDesc", "", NULL },
    { "PcDesc", "_pc_offset", NULL },
    { "PcDesc", "_scope_decode_offset", NULL },
    { "Method", "_constMethod", NULL },
    { "ConstMethod", "_constants", NULL },
    { "ConstMethod", "_name_index", NULL },
    { "ConstMethod", "_signature_index", NULL },
    { "ConstantPool", "_pool_holder", NULL },
    { "ConstantPool", "", NULL },
    { "Klass", "_name", NULL },
    { "Symbol", "_length", NULL },
    { "Symbol", "_body", NULL },
    { "StubRoutines", "_call_stub_return_address", NULL },
    { "Abstract_VM_Version", "_vm_major_version", NULL },
    { "ConstMethod", "", NULL },
    { "ConstMethod", "_flags", NULL },
    { "ConstMethod", "_code_size", NULL },
    { "ConstantPool", "_source_file_name_index", NULL },
};

/* A table and where its members are: offsets that the machine exports as 64-bit variables. */
struct table {
    uint64_t rows, stride, type_at, field_at, is_static_at, offset_at, address_at, size_at;
};

static bool read_variable(struct sw_images *images, const struct sw_memory *memory, const char *name, uint64_t *value)
{
    uint64_t address;
    return sw_images_symbol(images, name, &address) == SW_OK && peek(memory, address, value, sizeof *value);
}

static bool read_struct_table(struct sw_images *i, const struct sw_memory *m, struct table *t)
{
    return read_variable(i, m, "gHotSpotVMStructs", &t->rows) &&
           read_variable(i, m, "gHotSpotVMStructEntryArrayStride", &t->stride) &&
           read_variable(i, m, "gHotSpotVMStructEntryTypeNameOffset", &t->type_at) &&
           read_variable(i, m, "gHotSpotVMStructEntryFieldNameOffset", &t->field_at) &&
           read_variable(i, m, "gHotSpotVMStructEntryIsStaticOffset", &t->is_static_at) &&
           read_variable(i, m, "gHotSpotVMStructEntryOffsetOffset", &t->offset_at) &&
           read_variable(i, m, "gHotSpotVMStructEntryAddressOffset", &t->address_at);
}

static bool read_type_table(struct sw_images *i, const struct sw_memory *m, struct table *t)
{
    return read_variable(i, m, "gHotSpotVMTypes", &t->rows) &&
           read_variable(i, m, "gHotSpotVMTypeEntryArrayStride", &t->stride) &&
           read_variable(i, m, "gHotSpotVMTypeEntryTypeNameOffset", &t->type_at) &&
           read_variable(i, m, "gHotSpotVMTypeEntrySizeOffset", &t->size_at);
}

static bool has_type(size_t row, const char *type)
{
    return strcmp(wanted[row].type, type) == 0 || (wanted[row].or_type && strcmp(wanted[row].or_type, type) == 0);
}

static uint64_t word_in(const uint8_t *row, uint64_t at)
{
    uint64_t value = 0;
    if (at <= ROW_BYTES_MOST - sizeof value)
        memcpy(&value, row + at, sizeof value);
    return value;
}

/* What a row says, for each wanted field that it is of. */
static void take_row(const struct table *t, const uint8_t *row, const char *type, const char *field,
                     uint64_t fields[HOTSPOT_FIELDS], uint64_t *found)
{
    const bool is_type = !*field, is_static = (word_in(row, t->is_static_at) & UINT32_MAX) != 0;
    for (size_t i = 0; i < HOTSPOT_FIELDS; i++) {
        if (*found >> i & 1 || !has_type(i, type) || strcmp(wanted[i].field, field) != 0)
            continue;
        fields[i] = word_in(row, is_type ? t->size_at : is_static ? t->address_at : t->offset_at);
        *found |= UINT64_C(1) << i;
    }
}

static void read_rows(const struct sw_memory *memory, const struct table *t, bool has_fields,
                      uint64_t fields[HOTSPOT_FIELDS], uint64_t *found)
{
    uint8_t row[ROW_BYTES_MOST] = { 0 };
    char type[WORD_MOST], field[WORD_MOST] = "";
    if (t->stride < 2 * sizeof(uint64_t) || t->stride > ROW_BYTES_MOST)
        return;
    for (size_t n = 0; n < ROWS_MOST; n++) {
        if (!peek(memory, t->rows + n * t->stride, row, t->stride) || word_in(row, t->type_at) == 0)
            return;
        if (peek_text(memory, word_in(row, t->type_at), type, sizeof type) &&
            (!has_fields || peek_text(memory, word_in(row, t->field_at), field, sizeof field)))
            take_row(t, row, type, field, fields, found);
    }
}

static bool has_all(uint64_t found, unsigned first, unsigned end)
{
    const uint64_t wanted_bits = ((UINT64_C(1) << end) - 1) & ~((UINT64_C(1) << first) - 1);
    return (found & wanted_bits) == wanted_bits;
}

bool hotspot_tables_read(struct sw_images *images, const struct sw_memory *memory, uint64_t fields[HOTSPOT_FIELDS],
                         bool *has_lines)
{
    struct table structs = { 0 }, types = { 0 };
    uint64_t found = 0;
    if (!read_struct_table(images, memory, &structs) || !read_type_table(images, memory, &types))
        return false;
    read_rows(memory, &structs, true, fields, &found);
    read_rows(memory, &types, false, fields, &found);
    *has_lines = has_all(found, HOTSPOT_CONST_BYTES, HOTSPOT_FIELDS);
    return has_all(found, 0, HOTSPOT_CONST_BYTES);
}

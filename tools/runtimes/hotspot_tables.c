/*
 * Reads gHotSpotVMStructs and gHotSpotVMTypes once, by the layout that the machine exports beside them. Knows which
 * rows are needed; refuses to know what they are for.
 *
 * Source: OpenJDK 17, src/hotspot/share/runtime/vmStructs.hpp (the two tables, their strides and offsets); what 21, 25
 * and 26 export.
 */
#include "hotspot_tables.h"

#include "peek.h"

#include <snapwalk/names.h>

#include <string.h>

/* A machine has some 3,000 rows. */
enum { ROWS_MOST = 20000, ROW_BYTES_MOST = 256, WORD_MOST = 64 };

enum { ALWAYS = 1, ADDRESSES = 2, OFFSETS = 4, LINES = 8 };

/* or_type, or_field: how other versions call it. */
static const struct {
    const char *type, *field, *or_type, *or_field;
    unsigned group;
} wanted[HOTSPOT_FIELDS] = {
    [HOTSPOT_HEAPS] = { "CodeCache", "_heaps", NULL, NULL, ALWAYS },
    [HOTSPOT_ARRAY_LEN] = { "GrowableArrayBase", "_len", "GenericGrowableArray", NULL, ALWAYS },
    [HOTSPOT_ARRAY_DATA] = { "GrowableArray<int>", "_data", NULL, NULL, ALWAYS },
    [HOTSPOT_HEAP_MEMORY] = { "CodeHeap", "_memory", NULL, NULL, ALWAYS },
    [HOTSPOT_HEAP_SEGMAP] = { "CodeHeap", "_segmap", NULL, NULL, ALWAYS },
    [HOTSPOT_HEAP_LOG2] = { "CodeHeap", "_log2_segment_size", NULL, NULL, ALWAYS },
    [HOTSPOT_SPACE_LOW] = { "VirtualSpace", "_low", NULL, NULL, ALWAYS },
    [HOTSPOT_SPACE_HIGH] = { "VirtualSpace", "_high", NULL, NULL, ALWAYS },
    [HOTSPOT_HEADER_USED] = { "HeapBlock::Header", "_used", NULL, NULL, ALWAYS },
    [HOTSPOT_HEADER_BYTES] = { "HeapBlock", "", NULL, NULL, ALWAYS },
    [HOTSPOT_BLOB_NAME] = { "CodeBlob", "_name", NULL, NULL, ALWAYS },
    [HOTSPOT_BLOB_SIZE] = { "CodeBlob", "_size", NULL, NULL, ALWAYS },
    [HOTSPOT_BLOB_FRAME_SIZE] = { "CodeBlob", "_frame_size", NULL, NULL, ALWAYS },
    [HOTSPOT_BLOB_FRAME_COMPLETE] = { "CodeBlob", "_frame_complete_offset", NULL, NULL, ALWAYS },
    [HOTSPOT_COMPILED_METHOD] = { "CompiledMethod", "_method", "nmethod", NULL, ALWAYS },
    [HOTSPOT_NMETHOD_PCS] = { "nmethod", "_scopes_pcs_offset", NULL, NULL, ALWAYS },
    [HOTSPOT_NMETHOD_ORIGINAL_PC] = { "nmethod", "_orig_pc_offset", NULL, NULL, ALWAYS },
    [HOTSPOT_PC_DESC_BYTES] = { "PcDesc", "", NULL, NULL, ALWAYS },
    [HOTSPOT_PC_DESC_PC] = { "PcDesc", "_pc_offset", NULL, NULL, ALWAYS },
    [HOTSPOT_PC_DESC_SCOPE] = { "PcDesc", "_scope_decode_offset", NULL, NULL, ALWAYS },
    [HOTSPOT_METHOD_CONST] = { "Method", "_constMethod", NULL, NULL, ALWAYS },
    [HOTSPOT_CONST_POOL] = { "ConstMethod", "_constants", NULL, NULL, ALWAYS },
    [HOTSPOT_CONST_NAME] = { "ConstMethod", "_name_index", NULL, NULL, ALWAYS },
    [HOTSPOT_CONST_SIGNATURE] = { "ConstMethod", "_signature_index", NULL, NULL, ALWAYS },
    [HOTSPOT_POOL_HOLDER] = { "ConstantPool", "_pool_holder", NULL, NULL, ALWAYS },
    [HOTSPOT_POOL_BYTES] = { "ConstantPool", "", NULL, NULL, ALWAYS },
    [HOTSPOT_KLASS_NAME] = { "Klass", "_name", NULL, NULL, ALWAYS },
    [HOTSPOT_SYMBOL_LENGTH] = { "Symbol", "_length", NULL, NULL, ALWAYS },
    [HOTSPOT_SYMBOL_BODY] = { "Symbol", "_body", NULL, NULL, ALWAYS },
    [HOTSPOT_CALL_STUB_RETURN] = { "StubRoutines", "_call_stub_return_address", NULL, NULL, ALWAYS },
    [HOTSPOT_MAJOR_VERSION] = { "Abstract_VM_Version", "_vm_major_version", NULL, NULL, ALWAYS },
    [HOTSPOT_BLOB_CODE_BEGIN] = { "CodeBlob", "_code_begin", NULL, NULL, ADDRESSES },
    [HOTSPOT_BLOB_CODE_END] = { "CodeBlob", "_code_end", NULL, NULL, ADDRESSES },
    [HOTSPOT_COMPILED_SCOPES] = { "CompiledMethod", "_scopes_data_begin", NULL, NULL, ADDRESSES },
    [HOTSPOT_COMPILED_DEOPT] = { "CompiledMethod", "_deopt_handler_begin", NULL, NULL, ADDRESSES },
    [HOTSPOT_NMETHOD_METADATA] = { "nmethod", "_metadata_offset", NULL, NULL, ADDRESSES },
    [HOTSPOT_NMETHOD_PCS_END] = { "nmethod", "_dependencies_offset", NULL, NULL, ADDRESSES },
    [HOTSPOT_BLOB_CODE_OFFSET] = { "CodeBlob", "_code_offset", NULL, NULL, OFFSETS },
    [HOTSPOT_BLOB_DATA_OFFSET] = { "CodeBlob", "_data_offset", NULL, NULL, OFFSETS },
    [HOTSPOT_BLOB_MUTABLE] = { "CodeBlob", "_mutable_data", NULL, NULL, OFFSETS },
    [HOTSPOT_BLOB_RELOCATION_BYTES] = { "CodeBlob", "_relocation_size", NULL, NULL, OFFSETS },
    [HOTSPOT_NMETHOD_IMMUTABLE] = { "nmethod", "_immutable_data", NULL, NULL, OFFSETS },
    [HOTSPOT_NMETHOD_SCOPES_OFFSET] = { "nmethod", "_scopes_data_offset", NULL, NULL, OFFSETS },
    [HOTSPOT_NMETHOD_DEOPT_OFFSET] = { "nmethod", "_deopt_handler_offset", NULL, "_deopt_handler_entry_offset",
                                       OFFSETS },
    [HOTSPOT_CONST_BYTES] = { "ConstMethod", "", NULL, NULL, LINES },
    [HOTSPOT_CONST_FLAGS] = { "ConstMethod", "_flags", NULL, "_flags._flags", LINES },
    [HOTSPOT_CONST_CODE_SIZE] = { "ConstMethod", "_code_size", NULL, NULL, LINES },
    [HOTSPOT_POOL_SOURCE] = { "ConstantPool", "_source_file_name_index", NULL, NULL, LINES },
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

static bool is_one(const char *name, const char *one, const char *other)
{
    return strcmp(one, name) == 0 || (other && strcmp(other, name) == 0);
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
        if (*found >> i & 1 || !is_one(type, wanted[i].type, wanted[i].or_type) ||
            !is_one(field, wanted[i].field, wanted[i].or_field))
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

/* The groups of which no field is missing. */
static unsigned whole_groups(uint64_t found)
{
    unsigned whole = ALWAYS | ADDRESSES | OFFSETS | LINES;
    for (size_t i = 0; i < HOTSPOT_FIELDS; i++)
        if (!(found >> i & 1))
            whole &= ~wanted[i].group;
    return whole;
}

bool hotspot_tables_read(struct sw_images *images, const struct sw_memory *memory, struct hotspot_fields *fields)
{
    struct table structs = { 0 }, types = { 0 };
    uint64_t found = 0;
    if (!read_struct_table(images, memory, &structs) || !read_type_table(images, memory, &types))
        return false;
    read_rows(memory, &structs, true, fields->at, &found);
    read_rows(memory, &types, false, fields->at, &found);
    const unsigned whole = whole_groups(found);
    fields->has_offsets = whole & OFFSETS;
    fields->has_lines = whole & LINES;
    return whole & ALWAYS && whole & (ADDRESSES | OFFSETS);
}

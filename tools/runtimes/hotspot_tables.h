/* The tables by which a HotSpot virtual machine describes its structures: offsets of fields, addresses of variables. */
#ifndef RUNTIMES_HOTSPOT_TABLES_H
#define RUNTIMES_HOTSPOT_TABLES_H

#include <snapwalk/image.h>
#include <snapwalk/memory.h>

/* ORDER hotspot_field: hotspot_tables.c. Of variables the address, of types (their field is "") the size. */
enum hotspot_field {
    HOTSPOT_HEAPS,
    HOTSPOT_ARRAY_LEN,
    HOTSPOT_ARRAY_DATA,
    HOTSPOT_HEAP_MEMORY,
    HOTSPOT_HEAP_SEGMAP,
    HOTSPOT_HEAP_LOG2,
    HOTSPOT_SPACE_LOW,
    HOTSPOT_SPACE_HIGH,
    HOTSPOT_HEADER_USED,
    HOTSPOT_HEADER_BYTES,
    HOTSPOT_BLOB_NAME,
    HOTSPOT_BLOB_SIZE,
    HOTSPOT_BLOB_FRAME_SIZE,
    HOTSPOT_BLOB_FRAME_COMPLETE,
    HOTSPOT_BLOB_CODE_BEGIN,
    HOTSPOT_BLOB_CODE_END,
    HOTSPOT_COMPILED_METHOD,
    HOTSPOT_COMPILED_SCOPES,
    HOTSPOT_COMPILED_DEOPT,
    HOTSPOT_NMETHOD_METADATA,
    HOTSPOT_NMETHOD_PCS,
    HOTSPOT_NMETHOD_PCS_END,
    HOTSPOT_NMETHOD_ORIGINAL_PC,
    HOTSPOT_PC_DESC_BYTES,
    HOTSPOT_PC_DESC_PC,
    HOTSPOT_PC_DESC_SCOPE,
    HOTSPOT_METHOD_CONST,
    HOTSPOT_CONST_POOL,
    HOTSPOT_CONST_NAME,
    HOTSPOT_CONST_SIGNATURE,
    HOTSPOT_POOL_HOLDER,
    HOTSPOT_POOL_BYTES,
    HOTSPOT_KLASS_NAME,
    HOTSPOT_SYMBOL_LENGTH,
    HOTSPOT_SYMBOL_BODY,
    HOTSPOT_CALL_STUB_RETURN,
    HOTSPOT_MAJOR_VERSION,
    HOTSPOT_CONST_BYTES, /* from here on: for lines only */
    HOTSPOT_CONST_FLAGS,
    HOTSPOT_CONST_CODE_SIZE,
    HOTSPOT_POOL_SOURCE,
    HOTSPOT_FIELDS
};

/* False: there are no tables, or a field is missing. has_lines: those for lines are there, too. */
bool hotspot_tables_read(struct sw_images *images, const struct sw_memory *memory, uint64_t fields[HOTSPOT_FIELDS],
                         bool *has_lines);

#endif

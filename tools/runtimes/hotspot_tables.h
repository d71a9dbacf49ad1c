/* The tables by which a HotSpot virtual machine describes its structures: offsets of fields, addresses of variables. */
#ifndef RUNTIMES_HOTSPOT_TABLES_H
#define RUNTIMES_HOTSPOT_TABLES_H

#include <snapwalk/image.h>
#include <snapwalk/memory.h>

/*
 * Of variables the address, of types (their field is "") the size. Which are there says how a blob of code is
 * described: by addresses (seen in Java 17 and 21), or by offsets (25 and 26).
 */
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
    HOTSPOT_COMPILED_METHOD,
    HOTSPOT_NMETHOD_PCS,
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
    /* by addresses */
    HOTSPOT_BLOB_CODE_BEGIN,
    HOTSPOT_BLOB_CODE_END,
    HOTSPOT_COMPILED_SCOPES,
    HOTSPOT_COMPILED_DEOPT,
    HOTSPOT_NMETHOD_METADATA,
    HOTSPOT_NMETHOD_PCS_END,
    /* by offsets */
    HOTSPOT_BLOB_CODE_OFFSET,
    HOTSPOT_BLOB_DATA_OFFSET,
    HOTSPOT_BLOB_MUTABLE,
    HOTSPOT_BLOB_RELOCATION_BYTES,
    HOTSPOT_NMETHOD_IMMUTABLE,
    HOTSPOT_NMETHOD_SCOPES_OFFSET,
    HOTSPOT_NMETHOD_DEOPT_OFFSET,
    /* for lines */
    HOTSPOT_CONST_BYTES,
    HOTSPOT_CONST_FLAGS,
    HOTSPOT_CONST_CODE_SIZE,
    HOTSPOT_POOL_SOURCE,
    HOTSPOT_FIELDS
};

struct hotspot_fields {
    uint64_t at[HOTSPOT_FIELDS];
    bool has_offsets; /* else addresses */
    bool has_lines;
};

/* False: there are no tables, or a field is missing. */
bool hotspot_tables_read(struct sw_images *images, const struct sw_memory *memory, struct hotspot_fields *fields);

#endif

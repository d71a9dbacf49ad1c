/* What the parts of the reader of HotSpot share: the machine, and blobs of code in its cache. */
#ifndef RUNTIMES_HOTSPOT_PARTS_H
#define RUNTIMES_HOTSPOT_PARTS_H

#include "hotspot.h"
#include "hotspot_tables.h"
#include "peek.h"

enum { HOTSPOT_HEAPS_MOST = 8, HOTSPOT_BLOB_NAME_BYTES = 40 };

struct heap {
    uint64_t low, high, segments, segments_end;
    unsigned log2;
};

struct hotspot {
    struct sw_memory memory;
    struct hotspot_fields fields;
    struct heap heaps[HOTSPOT_HEAPS_MOST];
    size_t heap_count;
    uint64_t call_stub_return;
    bool counts_from_one; /* numbers in scopes: since 20 no byte of them is 0 */
};

enum blob_kind { BLOB_OTHER, BLOB_METHOD, BLOB_INTERPRETER };

struct blob {
    uint64_t address, begin, end;
    uint32_t frame_words;
    enum blob_kind kind;
    char name[HOTSPOT_BLOB_NAME_BYTES];
};

static inline bool get_word(const struct hotspot *h, uint64_t address, uint64_t *word)
{
    return peek(&h->memory, address, word, sizeof *word);
}

static inline bool get_int(const struct hotspot *h, uint64_t address, uint32_t *value)
{
    return peek(&h->memory, address, value, sizeof *value);
}

/* What the machine says of a field. */
static inline uint64_t field_of(const struct hotspot *h, enum hotspot_field field)
{
    return h->fields.at[field];
}

/* The blob around an address. */
bool hotspot_find_blob(struct hotspot *hotspot, uint64_t address, struct blob *blob);

/* The Method of an interpreted frame: that its names can be read says that there is one. */
bool hotspot_interpreted(const struct hotspot *hotspot, const struct sw_memory *stack, const struct sw_regs *regs,
                         uint64_t *method);

/* Where a blob's code is. */
bool hotspot_extent(const struct hotspot *hotspot, struct blob *blob);

/* Behind how many bytes of a blob its frame is there; false: never. */
bool hotspot_complete(const struct hotspot *hotspot, const struct blob *blob, uint32_t *bytes);

/* What belongs to a compiled method: descriptions of pcs, scopes, metadata, and the handler that leaves it. */
struct method_parts {
    uint64_t descs, descs_end, scopes, metadata, deopt;
};
bool hotspot_method_parts(const struct hotspot *hotspot, const struct blob *blob, struct method_parts *parts);

/* A number of 1 to 5 bytes; a byte of 192 or more says that another follows. Moves *at behind it. */
bool hotspot_number(const struct hotspot *hotspot, uint64_t *at, uint32_t *number);

/* A text among a class's constants, by its number, which stands at an address. */
bool hotspot_constant(const struct hotspot *hotspot, uint64_t pool, uint64_t number_at, char *text, size_t size);

/* Where a method's bytecode is. */
bool hotspot_code(const struct hotspot *hotspot, uint64_t method, uint64_t *code, uint16_t *size);

/* Sets file and line of a call. */
void hotspot_line(const struct hotspot *hotspot, uint64_t method, uint32_t bytecode, struct hotspot_call *call);

/* Whether a frame is in code that hotspot_find has found. */
static inline bool is_in_cache(const struct sw_frame *frame)
{
    return frame->regs.machine == SW_MACHINE_X64 && frame->code.flags & SW_RANGE_FROM_FINDER;
}

#endif

/*
 * Finds the blob of code around an address in the code cache, by the segment map of its heaps. Knows the structures by
 * hotspot_tables.h.
 *
 * Source: OpenJDK 17, src/hotspot/share/memory/heap.cpp (segment map), code/codeBlob.hpp.
 */
#include "hotspot_parts.h"

#include <stdlib.h>
#include <string.h>

enum { SEGMENT_HOPS_MOST = 4096 };

static bool read_heap(const struct hotspot *h, uint64_t address, struct heap *heap)
{
    const uint64_t memory = address + field_of(h, HOTSPOT_HEAP_MEMORY),
                   segments = address + field_of(h, HOTSPOT_HEAP_SEGMAP);
    uint32_t log2;
    if (!get_word(h, memory + field_of(h, HOTSPOT_SPACE_LOW), &heap->low) ||
        !get_word(h, memory + field_of(h, HOTSPOT_SPACE_HIGH), &heap->high) ||
        !get_word(h, segments + field_of(h, HOTSPOT_SPACE_LOW), &heap->segments) ||
        !get_word(h, segments + field_of(h, HOTSPOT_SPACE_HIGH), &heap->segments_end) ||
        !get_int(h, address + field_of(h, HOTSPOT_HEAP_LOG2), &log2) || log2 < 3 || log2 > 20)
        return false;
    heap->log2 = log2;
    return heap->low < heap->high;
}

/* The heaps grow while the machine runs: they are read whenever an address is in none. */
static void read_heaps(struct hotspot *h)
{
    uint64_t array, data, heap;
    uint32_t count = 0;
    h->heap_count = 0;
    if (!get_word(h, field_of(h, HOTSPOT_HEAPS), &array) ||
        !get_int(h, array + field_of(h, HOTSPOT_ARRAY_LEN), &count) ||
        !get_word(h, array + field_of(h, HOTSPOT_ARRAY_DATA), &data))
        return;
    for (uint32_t i = 0; i < count && i < HOTSPOT_HEAPS_MOST; i++)
        if (get_word(h, data + 8 * i, &heap) && read_heap(h, heap, &h->heaps[h->heap_count]))
            h->heap_count++;
}

static const struct heap *heap_of(const struct hotspot *h, uint64_t address)
{
    for (size_t i = 0; i < h->heap_count; i++)
        if (address >= h->heaps[i].low && address < h->heaps[i].high)
            return &h->heaps[i];
    return NULL;
}

/* Each byte of the map says how many segments back its block begins, or a part of the way; 0: here; 255: free. */
static bool find_block(const struct hotspot *h, const struct heap *heap, uint64_t address, uint64_t *block)
{
    uint64_t segment = (address - heap->low) >> heap->log2;
    uint8_t back;
    for (unsigned hops = 0; hops < SEGMENT_HOPS_MOST; hops++) {
        if (heap->segments + segment >= heap->segments_end || !peek(&h->memory, heap->segments + segment, &back, 1) ||
            back == 255 || back > segment)
            return false;
        if (back == 0) {
            *block = heap->low + (segment << heap->log2);
            return true;
        }
        segment -= back;
    }
    return false;
}

static enum blob_kind kind_of(const char *name)
{
    if (strcmp(name, "nmethod") == 0 || strcmp(name, "native nmethod") == 0)
        return BLOB_METHOD;
    return strcmp(name, "Interpreter") == 0 ? BLOB_INTERPRETER : BLOB_OTHER;
}

bool hotspot_find_blob(struct hotspot *h, uint64_t address, struct blob *blob)
{
    uint64_t block, name;
    uint8_t used;
    if (!heap_of(h, address))
        read_heaps(h);
    const struct heap *heap = heap_of(h, address);
    if (!heap || !find_block(h, heap, address, &block) ||
        !peek(&h->memory, block + field_of(h, HOTSPOT_HEADER_USED), &used, 1) || !used)
        return false;
    blob->address = block + field_of(h, HOTSPOT_HEADER_BYTES);
    if (!hotspot_extent(h, blob) ||
        !get_int(h, blob->address + field_of(h, HOTSPOT_BLOB_FRAME_SIZE), &blob->frame_words) ||
        !get_word(h, blob->address + field_of(h, HOTSPOT_BLOB_NAME), &name) ||
        !peek_text(&h->memory, name, blob->name, sizeof blob->name))
        return false;
    blob->kind = kind_of(blob->name);
    return address >= blob->begin && address < blob->end && blob->end <= heap->high;
}

enum sw_status hotspot_open(struct sw_images *images, const struct sw_memory *memory, struct hotspot **hotspot)
{
    struct hotspot *h = calloc(1, sizeof *h);
    uint32_t release = 0;
    if (!h)
        return SW_E_NO_MEMORY;
    h->memory = *memory;
    if (!hotspot_tables_read(images, memory, &h->fields) || !get_int(h, field_of(h, HOTSPOT_MAJOR_VERSION), &release) ||
        !get_word(h, field_of(h, HOTSPOT_CALL_STUB_RETURN), &h->call_stub_return)) {
        free(h);
        return SW_E_NOT_FOUND;
    }
    h->counts_from_one = release >= 20;
    *hotspot = h;
    return SW_OK;
}

void hotspot_close(struct hotspot *hotspot)
{
    free(hotspot);
}

bool hotspot_find(void *hotspot, uint64_t address, struct sw_range *code)
{
    struct blob blob;
    if (!hotspot_find_blob(hotspot, address, &blob))
        return false;
    const bool is_method = blob.kind == BLOB_METHOD;
    *code = (struct sw_range){ .begin = blob.begin,
                               .end = blob.end,
                               .id = blob.address,
                               .kind = is_method ? SW_KIND_JIT : SW_KIND_STUB,
                               .unwind = SW_UNWIND_FOREIGN };
    return true;
}

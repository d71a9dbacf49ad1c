/*
 * The runtime's own look-up of JIT code: a map of code ranges, four levels of 256 pointers over pieces of 128 KiB, and
 * in each code heap a nibble map that says where methods begin. Knows these two and the position of the code header;
 * refuses to know what a method is. All data is the target's and may change meanwhile; data that does not fit together
 * gives no answer.
 *
 *   nibble map   A u32 covers 256 bytes in 8 nibbles, the first 32 bytes in the highest bits. A nibble n says that a
 *                method begins 4 * (n - 1) bytes into its 32 bytes; 0: none does. A u32 whose lowest nibble is above 8
 *                is a pointer: all 256 bytes belong to the method at base + (u32 & ~15) + 4 * (lowest - 9).
 *
 * Source: dotnet/runtime docs/design/datacontracts/ExecutionManager.md (contract version 2); checked on .NET 10.0.12.
 */
#include "clr/clr.h"
#include "clr/ranges.h"

#include "base/bytes.h"

enum {
    LEVELS = 4,
    LEVEL_BITS = 8,
    PIECE_BITS = 17,
    FRAGMENTS_MAX = 64,
    COLLECTIBLE = 1, /* flag of a range section */
    CODE_HEAP = 2,
    STUB_LAST = 15, /* a "code header" up to this is the number of a kind of stub */
    NIBBLES = 8,
    NIBBLE_BYTES = 32,
    ENTRY_BYTES = NIBBLES * NIBBLE_BYTES,
    DYNAMIC = 7 /* classification of a method: no metadata */
};

static bool word_at(const struct sw_clr_reader *l, uint64_t base, enum sw_clr_field field, uint64_t *value)
{
    return sw_memory_word(l->memory, base + l->layout->at[field], value);
}

/* The list of fragments for the 128 KiB around an address. A pointer's lowest bit marks collectible code. */
static bool find_fragments(const struct sw_clr_reader *l, uint64_t address, uint64_t *fragment)
{
    uint64_t at = l->layout->code + l->layout->at[SW_CLR_MAP_TOP];
    for (unsigned level = LEVELS; level > 0; level--) {
        const unsigned shift = PIECE_BITS + (level - 1) * LEVEL_BITS;
        if (!sw_memory_word(l->memory, at, &at))
            return false;
        at &= ~UINT64_C(1);
        if (at == 0)
            return false;
        at += 8 * (address >> shift & ((1u << LEVEL_BITS) - 1));
    }
    return sw_memory_word(l->memory, at, fragment);
}

/* The fragment around an address: a section, and the addresses that are its. */
struct fragment {
    uint64_t begin, end, section;
};

static bool find_fragment(const struct sw_clr_reader *l, uint64_t address, struct fragment *found)
{
    uint64_t fragment;
    if (!find_fragments(l, address, &fragment))
        return false;
    for (unsigned i = 0; i < FRAGMENTS_MAX && (fragment & ~UINT64_C(1)) != 0; i++) {
        fragment &= ~UINT64_C(1);
        if (!word_at(l, fragment, SW_CLR_FRAGMENT_BEGIN, &found->begin) ||
            !word_at(l, fragment, SW_CLR_FRAGMENT_END, &found->end))
            return false;
        if (address >= found->begin && address < found->end)
            return word_at(l, fragment, SW_CLR_FRAGMENT_SECTION, &found->section);
        if (!word_at(l, fragment, SW_CLR_FRAGMENT_NEXT, &fragment))
            return false;
    }
    return false;
}

bool sw_clr_find_section(const struct sw_clr_reader *l, uint64_t address, uint64_t *section)
{
    struct fragment fragment;
    if (!find_fragment(l, address, &fragment))
        return false;
    *section = fragment.section;
    return true;
}

static bool is_code_heap(const struct sw_clr_reader *l, uint64_t section, uint32_t *flags)
{
    uint8_t bytes[4];
    if (sw_memory_read(l->memory, section + l->layout->at[SW_CLR_SECTION_FLAGS], bytes, sizeof bytes) != sizeof bytes)
        return false;
    *flags = sw_load32(bytes);
    return (*flags & CODE_HEAP) != 0;
}

bool sw_clr_find_heap(const struct sw_clr_layout *layout, const struct sw_memory *memory, uint64_t address,
                      struct sw_clr_heap *heap)
{
    const struct sw_clr_reader l = { layout, memory };
    struct fragment fragment;
    uint32_t flags;
    if (!find_fragment(&l, address, &fragment) || !is_code_heap(&l, fragment.section, &flags))
        return false;
    *heap = (struct sw_clr_heap){ fragment.begin, fragment.end, flags & COLLECTIBLE };
    return true;
}

struct heap {
    uint64_t begin, end, base, map;
    uint32_t flags;
};

static bool find_heap(const struct sw_clr_reader *l, uint64_t address, struct heap *heap)
{
    uint64_t section, node;
    if (!sw_clr_find_section(l, address, &section) || !is_code_heap(l, section, &heap->flags) ||
        !word_at(l, section, SW_CLR_SECTION_HEAP, &node))
        return false;
    return word_at(l, node, SW_CLR_HEAP_BEGIN, &heap->begin) && word_at(l, node, SW_CLR_HEAP_END, &heap->end) &&
           word_at(l, node, SW_CLR_HEAP_BASE, &heap->base) && word_at(l, node, SW_CLR_HEAP_MAP, &heap->map) &&
           address >= heap->begin && address < heap->end && address >= heap->base;
}

static bool entry_of(const struct sw_clr_reader *l, const struct heap *heap, uint64_t index, uint32_t *entry)
{
    uint8_t bytes[4];
    if (sw_memory_read(l->memory, heap->map + 4 * index, bytes, sizeof bytes) != sizeof bytes)
        return false;
    *entry = sw_load32(bytes);
    return true;
}

static bool is_pointer(uint32_t entry, uint64_t *offset)
{
    const uint64_t low = entry & 15u;
    if (low <= 8)
        return false;
    *offset = entry - low + 4 * (low - 9);
    return true;
}

/*
 * The last method that begins in the first `nibbles` nibbles of an entry. In the last of them, only up to byte
 * `within`.
 */
static bool last_begin(uint32_t entry, unsigned nibbles, unsigned within, uint64_t *offset)
{
    for (unsigned i = nibbles; i-- > 0;) {
        const unsigned n = entry >> (4 * (NIBBLES - 1 - i)) & 15u;
        if (n == 0 || (i == nibbles - 1 && 4 * (n - 1) > within))
            continue;
        *offset = NIBBLE_BYTES * i + 4 * (n - 1);
        return true;
    }
    return false;
}

/*
 * The last method that begins in front of an entry: the entry before says it. Where maps have no pointers, entries of 0
 * stand for code in the middle of a method, whose length is the limit.
 */
static bool find_before(const struct sw_clr_reader *l, const struct heap *heap, uint64_t index, uint64_t *offset)
{
    uint32_t entry = 0;
    for (uint32_t i = 0; i < l->layout->map_search && index != 0 && entry == 0; i++)
        if (!entry_of(l, heap, --index, &entry))
            return false;
    if (is_pointer(entry, offset))
        return true;
    if (!last_begin(entry, NIBBLES, NIBBLE_BYTES, offset))
        return false;
    *offset += index * ENTRY_BYTES;
    return true;
}

/* The begin of the method that contains an address: in this entry, or in one before. */
static bool find_begin(const struct sw_clr_reader *l, const struct heap *heap, uint64_t address, uint64_t *begin)
{
    const uint64_t from_base = address - heap->base, index = from_base / ENTRY_BYTES;
    const unsigned within = (unsigned)(from_base % ENTRY_BYTES);
    uint32_t entry;
    uint64_t offset;
    if (!entry_of(l, heap, index, &entry))
        return false;
    if (is_pointer(entry, &offset)) {
        *begin = heap->base + offset;
        return true;
    }
    if (last_begin(entry, within / NIBBLE_BYTES + 1, within % NIBBLE_BYTES, &offset)) {
        *begin = heap->base + index * ENTRY_BYTES + offset;
        return true;
    }
    if (!find_before(l, heap, index, &offset))
        return false;
    *begin = heap->base + offset;
    return true;
}

static bool is_dynamic(const struct sw_clr_reader *l, uint64_t method)
{
    uint8_t flags[2];
    return sw_memory_read(l->memory, method + l->layout->at[SW_CLR_METHOD_FLAGS], flags, sizeof flags) ==
               sizeof flags &&
           (flags[0] & 7u) == DYNAMIC;
}

bool sw_clr_find_code(const struct sw_clr_layout *layout, const struct sw_memory *memory, uint64_t address,
                      struct sw_range *range)
{
    const struct sw_clr_reader l = { layout, memory };
    struct heap heap;
    uint64_t begin, end, method, header;
    if (!find_heap(&l, address, &heap) || !find_begin(&l, &heap, address, &begin) || begin < heap.begin ||
        begin > address || !sw_memory_word(memory, begin - 8, &header) || header <= STUB_LAST ||
        sw_clr_jit_extent(layout->machine, memory, begin, heap.end, &end, &method) != SW_OK || address >= end)
        return false;
    *range = (struct sw_range){ .begin = begin,
                                .end = end,
                                .id = method,
                                .image = heap.flags & COLLECTIBLE,
                                .kind = SW_KIND_JIT,
                                .unwind = SW_UNWIND_CLR_HEADER,
                                .flags = is_dynamic(&l, method) ? SW_RANGE_HIDDEN : 0 };
    return true;
}

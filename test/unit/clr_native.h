/*
 * A runtime's structures in the memory of this process: the map of one heap of JIT code with one collectible method in
 * it, and a thread's object. For src/clr, which follows the runtime of its own process. The offsets are clr_target.h's.
 */
#ifndef TEST_UNIT_CLR_NATIVE_H
#define TEST_UNIT_CLR_NATIVE_H

#include "clr_target.h"

#include "clr/internal.h"

#include <sys/mman.h>

enum { NATIVE_HEAP_BYTES = 0x10000, NATIVE_AT = 0x148, NATIVE_SIZE = 0x48, NATIVE_UNWIND = 0x4000 };

static struct native {
    uint8_t *heap; /* aligned as the runtime's */
    _Alignas(16) uint8_t map[16];
    uint64_t levels[4][256];
    _Alignas(16) uint8_t fragment[32], section[48], node[64], nibbles[NATIVE_HEAP_BYTES / 64];
    _Alignas(16) uint8_t header[128], methods[2][32];
    _Alignas(16) uint8_t thread[1536 + 16], exception[192], frame[256];
    _Alignas(16) uint8_t module[16], ready[32], buckets[4][64]; /* of precompiled methods that are prepared */
    struct sw_clr_layout layout;
} native;

static inline uint64_t native_at(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static inline void native_put(uint8_t *to, unsigned offset, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        to[offset + i] = (uint8_t)(value >> (8 * i));
}

static inline void native_set(uint8_t *structure, enum sw_clr_field field, uint64_t value, unsigned size)
{
    native_put(structure, native.layout.at[field], value, size);
}

/* The method: where it is, and its FunctionID. */
static inline uint64_t native_begin_of(void)
{
    return native_at(native.heap + NATIVE_AT);
}

static inline uint64_t native_method(void)
{
    return native_at(native.methods[0]);
}

/* Into the heap, `offset` bytes behind its place. */
static inline void native_put_method(unsigned offset, unsigned method)
{
    const uint32_t begin = NATIVE_AT + offset;
    memset(native.nibbles, 0, sizeof native.nibbles);
    native_put(native.nibbles, begin / 256 * 4, (uint64_t)(begin % 32 / 4 + 1) << (28 - begin % 256 / 32 * 4), 4);
    native_put(native.heap, begin - 8, native_at(native.header), 8);
    native_put(native.header, 8, 0, 8);
    native_put(native.header, 24, native_at(native.methods[method]), 8);
    native_put(native.header, 32, 1, 4);
    native_put(native.header, 36, begin, 4);
    native_put(native.header, 40, begin + NATIVE_SIZE, 4);
    native_put(native.header, 44, NATIVE_UNWIND, 4);
    native_set(native.methods[method], SW_CLR_METHOD_FLAGS, 0x18, 2);
}

static inline void native_free_method(void)
{
    memset(native.nibbles, 0, sizeof native.nibbles);
}

static inline void native_put_map(void)
{
    const uint64_t heap = native_at(native.heap);
    enum { COLLECTIBLE = 1, CODE_HEAP = 2 };
    native_set(native.map, SW_CLR_MAP_TOP, native_at(native.levels[0]), 8);
    for (unsigned level = 0; level < 4; level++)
        native.levels[level][heap >> (17 + 8 * (3 - level)) & 255] =
            level < 3 ? native_at(native.levels[level + 1]) : native_at(native.fragment);
    native_set(native.fragment, SW_CLR_FRAGMENT_BEGIN, heap, 8);
    native_set(native.fragment, SW_CLR_FRAGMENT_END, heap + NATIVE_HEAP_BYTES, 8);
    native_set(native.fragment, SW_CLR_FRAGMENT_SECTION, native_at(native.section), 8);
    native_set(native.section, SW_CLR_SECTION_FLAGS, CODE_HEAP | COLLECTIBLE, 4);
    native_set(native.section, SW_CLR_SECTION_HEAP, native_at(native.node), 8);
    native_set(native.node, SW_CLR_HEAP_BEGIN, heap + 0x40, 8);
    native_set(native.node, SW_CLR_HEAP_END, heap + 0x8000, 8);
    native_set(native.node, SW_CLR_HEAP_BASE, heap, 8);
    native_set(native.node, SW_CLR_HEAP_MAP, native_at(native.nibbles), 8);
}

/* All of it as it is at first: the method is in the heap, and the thread is nowhere. */
static inline void native_begin(void)
{
    static const uint8_t unwind[] = { 0x19, 0, 0, 0, 0, 0, 0, 0 };
    uint8_t *heap = native.heap;
    if (!heap) {
        heap = mmap(NULL, 3 * NATIVE_HEAP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(heap, MAP_FAILED);
        heap += NATIVE_HEAP_BYTES - native_at(heap) % NATIVE_HEAP_BYTES;
    }
    memset(&native, 0, sizeof native);
    native.heap = heap;
    memset(heap, 0, NATIVE_HEAP_BYTES);
    memcpy(heap + NATIVE_UNWIND, unwind, sizeof unwind);
    native.layout = target_layout();
    native.layout.code = native_at(native.map);
    native_put_map();
    native_put_method(0, 0);
}

/* Where an image may lie whose module is the runtime's: in the same piece of the address space, behind all code. */
static inline uint8_t *native_image(void)
{
    return native.heap + 0x9000;
}

/* A precompiled method, by where it begins, is prepared: its FunctionID. */
static inline void native_prepare(uint64_t entry, uint64_t method)
{
    enum { MODULE = 24, READY = 8, COMPOSITE = 8, ENTRIES = 16, BUCKETS = 8, VALUES = 32, NUMBER = 3 };
    static const uint16_t offsets[SW_CLR_ENTRY_FIELDS] = {
        [SW_CLR_SECTION_MODULE] = MODULE, [SW_CLR_MODULE_READY] = READY,     [SW_CLR_READY_COMPOSITE] = COMPOSITE,
        [SW_CLR_READY_ENTRIES] = ENTRIES, [SW_CLR_MAP_BUCKETS] = BUCKETS,    [SW_CLR_BUCKET_KEYS] = 0,
        [SW_CLR_BUCKET_VALUES] = VALUES,  [SW_CLR_BUCKET_SIZE] = 2 * VALUES,
    };
    uint8_t *bucket = native.buckets[1 + (uint32_t)(entry >> 2) % NUMBER];
    memcpy(native.layout.entry, offsets, sizeof offsets);
    native.layout.has_entries = true;
    native_put(native.section, MODULE, native_at(native.module), 8);
    native_put(native.module, READY, native_at(native.ready), 8);
    native_put(native.ready, COMPOSITE, native_at(native.ready), 8);
    native_put(native.ready, ENTRIES + BUCKETS, native_at(native.buckets), 8);
    native_put(native.buckets[0], 0, NUMBER, 8);
    native_put(bucket, 0, entry, 8);
    native_put(bucket, VALUES, method >> 1, 8);
}

/* The runtime is understood. */
static inline void native_follow(struct sw_clr *clr)
{
    clr->layout = native.layout;
    clr->layout_status = SW_OK;
}

#endif

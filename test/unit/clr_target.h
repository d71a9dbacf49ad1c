/*
 * A target of two pieces of memory, the runtime's data and a heap of JIT code, with a part that may be made unreadable;
 * and where a small runtime in it keeps what (offsets of its own, so that none is right by chance).
 */
#ifndef TEST_UNIT_CLR_TARGET_H
#define TEST_UNIT_CLR_TARGET_H

#include "rows.h"

#include "clr/runtime.h"

#include <string.h>

enum { AREA_BYTES = 0x10000 };
#define DATA UINT64_C(0x10000)
#define HEAP UINT64_C(0x7f1234560000)

struct target {
    uint8_t data[AREA_BYTES];
    uint8_t heap[AREA_BYTES];
    uint64_t hole; /* from here hole_size bytes are unreadable */
    uint64_t hole_size;
};

static inline uint8_t *target_at(struct target *t, uint64_t address)
{
    return address - DATA < AREA_BYTES   ? t->data + (address - DATA)
           : address - HEAP < AREA_BYTES ? t->heap + (address - HEAP)
                                         : NULL;
}

static inline size_t target_read(void *arg, uint64_t address, void *to, size_t size)
{
    struct target *t = arg;
    size_t done = 0;
    for (; done < size && address - t->hole >= t->hole_size; address++, done++) {
        const uint8_t *from = target_at(t, address);
        if (!from)
            break;
        ((uint8_t *)to)[done] = *from;
    }
    return done;
}

static inline struct sw_memory target_memory(struct target *t)
{
    return (struct sw_memory){ target_read, t, { 0, 0, NULL } };
}

static inline void put(struct target *t, uint64_t address, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++) {
        uint8_t *to = target_at(t, address + i);
        assert_non_null(to);
        *to = (uint8_t)(value >> (8 * i));
    }
}

static inline void put_bytes(struct target *t, uint64_t address, const void *bytes, size_t size)
{
    assert_true(size == 0 || (target_at(t, address) && target_at(t, address + size - 1)));
    memcpy(target_at(t, address), bytes, size);
}

/* The kinds of explicit frames, in the order in which the descriptor has their numbers: 0x100 and so on. */
static const enum sw_clr_frame target_kinds[] = {
    SW_CLR_FRAME_INLINED,  SW_CLR_FRAME_CONTEXT, SW_CLR_FRAME_CONTEXT, SW_CLR_FRAME_FAULT,
    SW_CLR_FRAME_SOFTWARE, SW_CLR_FRAME_HIJACK,  SW_CLR_FRAME_BLOCK,   SW_CLR_FRAME_BLOCK,
    SW_CLR_FRAME_BLOCK,    SW_CLR_FRAME_BLOCK,   SW_CLR_FRAME_BLOCK,   SW_CLR_FRAME_BLOCK,
};
enum { TARGET_WORD = 0x100, TARGET_INLINED = TARGET_WORD, TARGET_KINDS = COUNT_OF(target_kinds) };

/* What stubs save, from `base` on. */
static inline struct sw_clr_saved target_saved(uint16_t base)
{
    struct sw_clr_saved saved = { 6,
                                  { { 32, SW_X64_RBX },
                                    { 40, SW_X64_RBP },
                                    { 0, SW_X64_R12 },
                                    { 8, SW_X64_R13 },
                                    { 16, SW_X64_R14 },
                                    { 24, SW_X64_R15 } } };
    for (unsigned i = 0; i < saved.count; i++)
        saved.at[i].offset = (uint16_t)(saved.at[i].offset + base);
    return saved;
}

/* Offsets of that runtime. Where it notes a replaced return address is not known. */
static inline struct sw_clr_layout target_layout(void)
{
    struct sw_clr_layout layout = { .machine = SW_MACHINE_X64,
                                    .map_search = 1,
                                    .context_size = 3232,
                                    .context_hidden = 0x40,
                                    .block = target_saved(48),
                                    .hijack = target_saved(16),
                                    .frame_count = TARGET_KINDS,
                                    .at = { [SW_CLR_THREAD_MODE] = 4,
                                            [SW_CLR_THREAD_FRAME] = 16,
                                            [SW_CLR_THREAD_EXCEPTION] = 24,
                                            [SW_CLR_FRAME_NEXT] = 8,
                                            [SW_CLR_INLINED_SP] = 24,
                                            [SW_CLR_INLINED_RETURN] = 32,
                                            [SW_CLR_INLINED_FP] = 40,
                                            [SW_CLR_METHOD_BLOCK] = 16,
                                            [SW_CLR_BLOCK_SIZE] = 104,
                                            [SW_CLR_BLOCK_RETURN] = 96,
                                            [SW_CLR_RESUMABLE_CONTEXT] = 24,
                                            [SW_CLR_FAULT_CONTEXT] = 32,
                                            [SW_CLR_SOFTWARE_CONTEXT] = 48,
                                            [SW_CLR_SOFTWARE_PLACES] = SW_CLR_NONE,
                                            [SW_CLR_HIJACK_RETURN] = 24,
                                            [SW_CLR_HIJACK_ARGS] = 32,
                                            [SW_CLR_HIJACK_SIZE] = 80,
                                            [SW_CLR_HIJACK_SP] = SW_CLR_NONE,
                                            [SW_CLR_EXCEPTION_PREVIOUS] = 8,
                                            [SW_CLR_EXCEPTION_THREAD] = SW_CLR_NONE,
                                            [SW_CLR_EXCEPTION_LOW] = 128,
                                            [SW_CLR_EXCEPTION_HIGH] = 136,
                                            [SW_CLR_EXCEPTION_FLAGS] = 64,
                                            [SW_CLR_EXCEPTION_ENTERED] = 60,
                                            [SW_CLR_EXCEPTION_CLAUSE] = 56,
                                            [SW_CLR_EXCEPTION_KIND] = 184,
                                            [SW_CLR_EXCEPTION_PASS] = 185,
                                            [SW_CLR_MAP_TOP] = 8,
                                            [SW_CLR_FRAGMENT_NEXT] = 0,
                                            [SW_CLR_FRAGMENT_BEGIN] = 8,
                                            [SW_CLR_FRAGMENT_END] = 16,
                                            [SW_CLR_FRAGMENT_SECTION] = 24,
                                            [SW_CLR_SECTION_FLAGS] = 16,
                                            [SW_CLR_SECTION_HEAP] = 40,
                                            [SW_CLR_HEAP_BEGIN] = 16,
                                            [SW_CLR_HEAP_END] = 24,
                                            [SW_CLR_HEAP_BASE] = 32,
                                            [SW_CLR_HEAP_MAP] = 40,
                                            [SW_CLR_METHOD_FLAGS] = 6,
                                            [SW_CLR_THREAD_STATE] = 12,
                                            [SW_CLR_THREAD_HIJACK] = SW_CLR_NONE,
                                            [SW_CLR_THREAD_FORBID] = SW_CLR_NONE } };
    for (unsigned i = 0; i < TARGET_KINDS; i++)
        layout.frames[i] = (struct sw_clr_frame_word){ TARGET_WORD + i, target_kinds[i] };
    return layout;
}

#endif

/* A method of JIT code with a funclet, behind a header and unwind data as .NET 10 writes them. */
#ifndef TEST_UNIT_JIT_METHOD_H
#define TEST_UNIT_JIT_METHOD_H

#include "rows.h"
#include "../support/bytes.h"

#include <snapwalk/memory.h>

#include <string.h>

enum { HEAP = 0x10000, START = HEAP + 0x100, CODE_SIZE = 0x60, HEADER = 0x30000, METHOD = 0x41000 };

/* Two pages of a target: the code heap and the header. */
struct jit {
    uint8_t heap[0x200];
    uint8_t header[0x400];
    uint64_t heap_at;
};

static inline size_t read_jit(void *arg, uint64_t address, void *to, size_t size)
{
    const struct jit *j = arg;
    const uint8_t *from = NULL;
    size_t room = 0;
    if (address >= j->heap_at && address < j->heap_at + sizeof j->heap) {
        from = j->heap + (address - j->heap_at);
        room = sizeof j->heap - (size_t)(address - j->heap_at);
    } else if (address >= HEADER && address < HEADER + sizeof j->header) {
        from = j->header + (address - HEADER);
        room = sizeof j->header - (size_t)(address - HEADER);
    }
    const size_t copied = size < room ? size : room;
    if (copied)
        memcpy(to, from, copied);
    return copied;
}

/* A method with localloc (rbp-framed) and a funclet, as .NET 10 writes them: section 9's samples. */
static inline struct jit make_jit(void)
{
    static const uint8_t body_info[] = { 0x19, 8, 4, 0x15, 8, 3, 3, 2, 2, 0x30, 1, 0x50, 0, 0, 0, 0 };
    static const uint8_t funclet_info[] = { 0x19, 1, 1, 0, 1, 2, 0, 0, 0, 0, 0, 0 };
    static const uint8_t body[] = { 0x55, 0x53, 0x50, 0x48, 0x8d, 0x6c, 0x24, 0x10, 0x48, 0x2b, 0xe0, 0xe8,
                                    0,    0,    0,    0,    0x48, 0x8d, 0x65, 0xf8, 0x5b, 0x5d, 0xc3 };
    static const uint8_t funclet[] = { 0x50, 0x90, 0x48, 0x83, 0xc4, 8, 0xc3 };
    static const uint32_t entries[] = { 2, 0x100, 0x140, 0x160, 0x140, 0x160, 0x170 };
    struct jit j;
    memset(&j, 0, sizeof j);
    j.heap_at = HEAP;
    put_le(j.heap + 0x100 - 8, HEADER, 8);
    memcpy(j.heap + 0x100, body, sizeof body);
    memcpy(j.heap + 0x140, funclet, sizeof funclet);
    memcpy(j.heap + 0x160, body_info, sizeof body_info);
    memcpy(j.heap + 0x170, funclet_info, sizeof funclet_info);
    put_le(j.header + 24, METHOD, 8);
    for (unsigned i = 0; i < COUNT_OF(entries); i++)
        put_le(j.header + 32 + 4 * i, entries[i], 4);
    return j;
}

static inline struct sw_memory memory_of(struct jit *j)
{
    return (struct sw_memory){ read_jit, j, { 0, 0, NULL } };
}

#endif

/*
 * ReadyToRun images and JIT headers of both machines from arbitrary bytes. The first byte says which. Holds: a method
 * found contains the address asked for, a name fits its room, nothing stays allocated.
 */
#include "clr/clr.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void *get(void *arg, size_t size)
{
    ++*(int *)arg;
    return malloc(size);
}

static void put(void *arg, void *block, size_t size)
{
    (void)size;
    --*(int *)arg;
    free(block);
}

static void ask(const struct sw_clr_image *image, uint64_t address)
{
    struct sw_range range;
    struct sw_rule rule;
    char name[40];
    if (sw_clr_image_method(image, address, &range) == SW_OK && (address < range.begin || address >= range.end))
        abort();
    if (sw_clr_image_rule(image, address, true, &rule) == SW_OK && rule.cfa.kind != SW_LOC_REG)
        abort();
    if (sw_clr_image_name(image, address, name, sizeof name) == SW_OK && strlen(name) >= sizeof name)
        abort();
}

static void image(struct sw_bytes bytes, bool mapped)
{
    int out = 0;
    const struct sw_alloc alloc = { get, put, &out };
    struct sw_clr_image made;
    struct sw_pe pe;
    if (sw_pe_open(bytes, mapped, &pe) == SW_OK && sw_clr_image_open(&pe, &alloc, &made) == SW_OK) {
        const uint32_t entry = sw_pe_entry_size(pe.machine);
        for (uint64_t at = 0; at + entry <= made.functions.size && at < entry * 16; at += entry)
            for (uint32_t i = 0; i < 16; i += 5)
                ask(&made, bytes.address + sw_load32(made.functions.bytes + at) + i);
        sw_clr_image_close(&made);
    }
    if (out != 0)
        abort();
}

enum { TARGET = 0x10000 };

static size_t read_target(void *arg, uint64_t address, void *to, size_t size)
{
    const struct sw_bytes *bytes = arg;
    if (address < TARGET || address - TARGET >= bytes->size)
        return 0;
    const uint64_t skip = address - TARGET;
    const size_t copied = size < bytes->size - skip ? size : (size_t)(bytes->size - skip);
    memcpy(to, bytes->bytes + skip, copied);
    return copied;
}

static void jit(enum sw_machine machine, struct sw_bytes bytes)
{
    const struct sw_memory memory = { read_target, &bytes, { 0, 0, NULL } };
    const uint64_t begin = TARGET + bytes.bytes[0];
    const uint64_t end = begin + bytes.bytes[1];
    struct sw_rule rule;
    for (uint64_t pc = begin; pc < end; pc += 3)
        if (sw_clr_jit_rule(machine, true, &memory, begin, end, pc, true, &rule, NULL) == SW_OK &&
            (rule.cfa.kind != SW_LOC_REG || rule.source != SW_SOURCE_CLR_HEADER))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    const struct sw_bytes bytes = { data + 1, size - 1, 0x10000 };
    if (data[0] % 4 == 0 || data[0] % 4 == 3)
        jit(data[0] % 4 == 0 ? SW_MACHINE_X64 : SW_MACHINE_ARM64, bytes);
    else
        image(bytes, data[0] % 4 == 1);
    return 0;
}

/*
 * PE headers and x64 unwind data from arbitrary bytes. The first byte says which: a file, a mapped image, or unwind
 * data and code in one flat piece of memory. Holds: every rule found has a place for pc and sp that an applier
 * understands.
 */
#include "pe/pe.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct sw_rule *rule)
{
    if (rule->cfa.kind != SW_LOC_REG || rule->cfa.reg >= SW_X64_RIP)
        abort();
    for (unsigned i = 0; i < SW_X64_COUNT; i++)
        if (rule->r[i].kind > SW_LOC_AT_REG || rule->r[i].reg >= SW_X64_COUNT)
            abort();
    if (rule->r[SW_X64_RIP].kind != SW_LOC_AT_CFA && rule->r[SW_X64_RIP].kind != SW_LOC_AT_REG)
        abort();
}

static size_t flat_get(void *arg, uint32_t rva, void *to, size_t size)
{
    const struct sw_bytes *bytes = arg;
    if (rva >= bytes->size)
        return 0;
    const size_t copied = size < bytes->size - rva ? size : (size_t)(bytes->size - rva);
    memcpy(to, bytes->bytes + rva, copied);
    return copied;
}

static bool flat_find(void *arg, uint32_t rva, struct sw_pe_function *function)
{
    const struct sw_bytes *bytes = arg;
    if (rva + UINT64_C(12) > bytes->size)
        return false;
    *function = (struct sw_pe_function){ rva, rva + 1, sw_load32(bytes->bytes + rva) };
    return true;
}

static void flat(struct sw_bytes bytes)
{
    const struct sw_pe_reader reader = { flat_get, flat_find, &bytes };
    const struct sw_pe_function function = { bytes.bytes[0], bytes.bytes[0] + UINT32_C(40), bytes.bytes[1] };
    struct sw_rule rule;
    for (uint32_t rva = function.begin; rva < function.end; rva++)
        if (sw_pe_x64_rule(&reader, &function, rva, rva % 8 != 7, SW_PE_WINDOWS_NONVOLATILE, &rule) == SW_OK)
            check(&rule);
}

/* A directory that is taken ascends, so every entry is found at its first byte; around it anything may be asked. */
static void by_directory(const struct sw_pe *pe)
{
    struct sw_bytes table;
    struct sw_rule rule;
    char name[32];
    uint32_t index;
    const enum sw_status status = sw_pe_exceptions(pe, &table);
    for (uint32_t rva = pe->size_of_headers; rva - pe->size_of_headers < 64; rva += 16)
        if (sw_pe_export_around(pe, table, rva, name, sizeof name, &index) == SW_OK && index > rva)
            abort();
    if (status) {
        if (table.size)
            abort();
        return;
    }
    for (uint64_t at = 0; at < table.size && at < 12 * 64; at += 12) {
        const uint32_t begin = sw_load32(table.bytes + at);
        if (sw_pe_find(table, begin, NULL, &index) != SW_OK || index != at / 12)
            abort();
        for (uint32_t i = 0; i < 8; i++)
            if (sw_pe_image_rule(pe, table, pe->bytes.address + begin + i, i % 2 == 0, &rule) == SW_OK)
                check(&rule);
        (void)!sw_pe_is_code(pe, begin);
    }
}

static void image(struct sw_bytes bytes, bool mapped)
{
    struct sw_pe pe;
    struct sw_rule rule;
    uint32_t rva;
    if (sw_pe_open(bytes, mapped, &pe))
        return;
    const struct sw_pe_reader reader = { sw_pe_get, sw_pe_find_entry, &pe };
    const struct sw_bytes table = sw_pe_at(&pe, pe.pdata_rva, pe.pdata_size);
    by_directory(&pe);
    if (sw_pe_export(&pe, "RTR_HEADER", &rva) == SW_OK)
        (void)!sw_pe_rest(&pe, rva).size;
    for (uint64_t at = 0; at + 12 <= table.size && at < 12 * 64; at += 12) {
        const struct sw_pe_function function = { sw_load32(table.bytes + at), sw_load32(table.bytes + at + 4),
                                                 sw_load32(table.bytes + at + 8) };
        for (uint32_t i = 0; i < 16 && function.begin + i < function.end; i++)
            if (sw_pe_x64_rule(&reader, &function, function.begin + i, true, SW_X64_NONVOLATILE, &rule) == SW_OK)
                check(&rule);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    const struct sw_bytes bytes = { data + 1, size - 1, 0x10000 };
    if (data[0] % 3 == 0)
        flat(bytes);
    else
        image(bytes, data[0] % 3 == 1);
    return 0;
}

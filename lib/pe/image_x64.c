/*
 * The exception directory of a whole x64 image: whether it can be searched, and the rule that it gives at an address.
 * Knows that a function without an entry moves nothing, and that only a sound directory can say so; refuses to decide
 * what such silence is worth (src/walk). Follows "x64 exception handling" (Microsoft Learn), win-x64-unwind.md
 * section 3.
 */
#include "pe/pe.h"

enum { FUNCTION_SIZE = 12, SECTION_HEADER = 40, CHARACTERISTICS = 36 };
#define IS_EXECUTED UINT32_C(0x20000000)

static enum sw_status check_order(const struct sw_pe *pe, struct sw_bytes table)
{
    uint32_t end = 0;
    for (uint64_t at = 0; at < table.size; at += FUNCTION_SIZE) {
        const uint32_t begin = sw_load32(table.bytes + at);
        if (begin < end)
            return SW_E_MALFORMED;
        end = sw_load32(table.bytes + at + 4);
        if (end <= begin || end > pe->size_of_image)
            return SW_E_MALFORMED;
    }
    return SW_OK;
}

enum sw_status sw_pe_exceptions(const struct sw_pe *pe, struct sw_bytes *table)
{
    *table = (struct sw_bytes){ 0 };
    if (pe->machine != SW_MACHINE_X64 || pe->pdata_rva == 0 || pe->pdata_size < FUNCTION_SIZE)
        return SW_E_NOT_FOUND;
    const uint32_t size = pe->pdata_size - pe->pdata_size % FUNCTION_SIZE;
    const struct sw_bytes all = sw_pe_at(pe, pe->pdata_rva, size);
    if (!all.size)
        return SW_E_TRUNCATED;
    const enum sw_status status = check_order(pe, all);
    if (status == SW_OK)
        *table = all;
    return status;
}

bool sw_pe_is_code(const struct sw_pe *pe, uint32_t rva)
{
    for (unsigned i = 0; i < pe->section_count; i++) {
        const uint8_t *header = pe->bytes.bytes + pe->sections + SECTION_HEADER * i;
        const uint32_t virtual_size = sw_load32(header + 8);
        const uint32_t begin = sw_load32(header + 12);
        const uint32_t size = virtual_size ? virtual_size : sw_load32(header + 16);
        if (rva >= begin && rva - begin < size && (sw_load32(header + CHARACTERISTICS) & IS_EXECUTED))
            return true;
    }
    return false;
}

enum sw_status sw_pe_image_rule(const struct sw_pe *pe, struct sw_bytes table, uint64_t address, bool exact,
                                struct sw_rule *rule)
{
    const struct sw_pe_reader reader = { sw_pe_get, sw_pe_find_entry, (void *)(uintptr_t)pe };
    const uint64_t rva = address - pe->bytes.address;
    struct sw_pe_function function;
    if (rva >= pe->size_of_image)
        return SW_E_NO_RULE;
    const enum sw_status status = sw_pe_find(table, (uint32_t)rva, &function, NULL);
    if (status)
        return status;
    return sw_pe_x64_rule(&reader, &function, (uint32_t)rva, exact,
                          pe->linux_code ? SW_X64_NONVOLATILE : SW_PE_WINDOWS_NONVOLATILE, rule);
}

/*
 * The exported name of the function around an RVA: how a PE image without debug information names its functions. Knows
 * the export directory. A name is believed only if nothing else can begin between it and the RVA. Follows the Microsoft
 * PE/COFF specification, "The .edata Section".
 */
#include "pe/pe.h"

#include <string.h>

enum { EXPORT_DIRECTORY = 40, LONGEST_THUNK = 16 };

struct exports {
    struct sw_bytes names;
    struct sw_bytes ordinals;
    struct sw_bytes functions;
    uint32_t count;
};

static bool open_exports(const struct sw_pe *pe, struct exports *exports)
{
    const struct sw_bytes table = sw_pe_at(pe, pe->export_rva, EXPORT_DIRECTORY);
    if (!pe->export_size || !table.size)
        return false;
    exports->functions = sw_pe_rest(pe, sw_load32(table.bytes + 28));
    exports->names = sw_pe_rest(pe, sw_load32(table.bytes + 32));
    exports->ordinals = sw_pe_rest(pe, sw_load32(table.bytes + 36));
    exports->count = sw_load32(table.bytes + 24);
    return true;
}

/* The lowest RVA that belongs to the function around rva. */
static uint32_t lowest_begin(const struct sw_pe *pe, struct sw_bytes table, uint32_t rva)
{
    struct sw_pe_function function;
    if (sw_pe_find(pe, table, rva, &function, NULL) == SW_OK)
        return function.begin;
    return sw_pe_is_code(pe, rva) && rva >= LONGEST_THUNK ? rva - LONGEST_THUNK + 1 : rva;
}

static enum sw_status copy_name(const struct sw_pe *pe, uint32_t rva, char *name, size_t size)
{
    const struct sw_bytes text = sw_pe_rest(pe, rva);
    const uint8_t *end = text.size ? memchr(text.bytes, 0, (size_t)text.size) : NULL;
    if (!end || end == text.bytes)
        return SW_E_NOT_FOUND;
    const size_t length = (size_t)(end - text.bytes) < size ? (size_t)(end - text.bytes) : size - 1;
    memcpy(name, text.bytes, length);
    name[length] = 0;
    return SW_OK;
}

enum sw_status sw_pe_export_around(const struct sw_pe *pe, struct sw_bytes table, uint32_t rva, char *name, size_t size,
                                   uint32_t *begin)
{
    struct exports exports;
    const uint32_t lowest = lowest_begin(pe, table, rva);
    uint32_t best = 0, best_name = 0;
    if (size == 0 || !open_exports(pe, &exports))
        return SW_E_NOT_FOUND;
    for (uint64_t i = 0; i < exports.count && i < exports.names.size / 4 && i < exports.ordinals.size / 2; i++) {
        const uint16_t ordinal = sw_load16(exports.ordinals.bytes + 2 * i);
        if (ordinal >= exports.functions.size / 4)
            continue;
        const uint32_t at = sw_load32(exports.functions.bytes + 4 * (uint64_t)ordinal);
        if (at < lowest || at > rva || at < best || at == 0)
            continue;
        best = at;
        best_name = sw_load32(exports.names.bytes + 4 * i);
    }
    *begin = best;
    return best ? copy_name(pe, best_name, name, size) : SW_E_NOT_FOUND;
}

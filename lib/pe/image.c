/*
 * The exception directory of a whole image: its entries, whether they can be searched, and the rule that they give at
 * an address. Knows what differs between the machines, and that a function without an entry moves nothing, provided
 * that the directory is sound; refuses to decide what a missing entry is worth (src/unwind/pe_image.c). Follows "x64
 * exception handling" and "ARM64 exception handling" (Microsoft Learn); win-x64-unwind.md section 3,
 * win-arm64-unwind.md section 1.
 */
#include "pe/pe.h"
#include "pe/unwind_arm64.h"
#include "pe/unwind_x64.h"

#include <string.h>

enum { SECTION_HEADER = 40, CHARACTERISTICS = 36 };
#define IS_EXECUTED UINT32_C(0x20000000)

/* Its unwind codes describe every pc, and what they do not name is preserved as everywhere. */
static enum sw_status arm64_rule(const struct sw_pe_reader *reader, const struct sw_pe_function *function, uint32_t rva,
                                 bool exact, uint64_t nonvolatile, struct sw_rule *rule)
{
    (void)exact, (void)nonvolatile;
    return sw_pe_arm64_rule(reader, function, rva, rule);
}

/* Where codes list the epilogues, the bytes at a pc do not tell whether it is in one. */
static enum sw_status arm64_body(const struct sw_pe_reader *reader, const struct sw_pe_function *function,
                                 uint32_t *begin)
{
    (void)reader, (void)function, (void)begin;
    return SW_E_NO_RULE;
}

/* ORDER sw_machine. The machine of a struct sw_pe always has a row. */
static const struct {
    uint8_t entry_size;
    enum sw_status (*entry)(const struct sw_pe_reader *reader, const uint8_t *bytes, struct sw_pe_function *function);
    enum sw_status (*handler)(const struct sw_pe_reader *reader, const struct sw_pe_function *function,
                              uint32_t *handler);
    enum sw_status (*rule)(const struct sw_pe_reader *reader, const struct sw_pe_function *function, uint32_t rva,
                           bool exact, uint64_t nonvolatile, struct sw_rule *rule);
    enum sw_status (*body)(const struct sw_pe_reader *reader, const struct sw_pe_function *function, uint32_t *begin);
    uint64_t nonvolatile; /* on Windows */
    bool infers_epilogues;
} machines[] = {
    [SW_MACHINE_X64] = { 12, sw_pe_x64_entry, sw_pe_x64_handler, sw_pe_x64_rule, sw_pe_x64_body,
                         SW_PE_WINDOWS_NONVOLATILE, true },
    [SW_MACHINE_ARM64] = { 8, sw_pe_arm64_entry, sw_pe_arm64_handler, arm64_rule, arm64_body, SW_ARM64_NONVOLATILE,
                           false },
};

uint32_t sw_pe_entry_size(enum sw_machine machine)
{
    return machines[machine].entry_size;
}

enum sw_status sw_pe_entry(enum sw_machine machine, const struct sw_pe_reader *reader, const uint8_t *bytes,
                           struct sw_pe_function *function)
{
    return machines[machine].entry(reader, bytes, function);
}

enum sw_status sw_pe_handler(enum sw_machine machine, const struct sw_pe_reader *reader,
                             const struct sw_pe_function *function, uint32_t *handler)
{
    return machines[machine].handler(reader, function, handler);
}

enum sw_status sw_pe_rule(enum sw_machine machine, bool linux_code, const struct sw_pe_reader *reader,
                          const struct sw_pe_function *function, uint32_t rva, bool exact, struct sw_rule *rule)
{
    return machines[machine].rule(reader, function, rva, exact, sw_pe_nonvolatile(machine, linux_code), rule);
}

enum sw_status sw_pe_body(enum sw_machine machine, const struct sw_pe_reader *reader,
                          const struct sw_pe_function *function, uint32_t *begin)
{
    return machines[machine].body(reader, function, begin);
}

bool sw_pe_infers_epilogues(enum sw_machine machine)
{
    return machines[machine].infers_epilogues;
}

uint64_t sw_pe_nonvolatile(enum sw_machine machine, bool linux_code)
{
    return linux_code ? sw_regs_nonvolatile(machine) : machines[machine].nonvolatile;
}

/* ---- the image as a reader ---- */

static size_t get(void *pe, uint32_t rva, void *to, size_t size)
{
    const struct sw_bytes rest = sw_pe_rest(pe, rva);
    const size_t copied = rest.size < size ? (size_t)rest.size : size;
    sw_pe_want(pe, rest, copied);
    if (copied)
        memcpy(to, rest.bytes, copied);
    return copied;
}

static bool find(void *pe, uint32_t rva, struct sw_pe_function *function)
{
    const struct sw_pe *image = pe;
    return sw_pe_find(image, sw_pe_place(image, image->pdata_rva, image->pdata_size), rva, function, NULL) == SW_OK;
}

struct sw_pe_reader sw_pe_reader_of(const struct sw_pe *pe)
{
    /* A reader does not change what it reads, but its argument is not const: the const is dropped here. */
    union {
        const struct sw_pe *from;
        void *to;
    } arg = { pe };
    return (struct sw_pe_reader){ get, find, arg.to };
}

/* ---- the directory ---- */

/* The last entry that begins at or in front of the RVA, if it reaches that far. */
enum sw_status sw_pe_find(const struct sw_pe *pe, struct sw_bytes table, uint32_t rva, struct sw_pe_function *function,
                          uint32_t *index)
{
    const struct sw_pe_reader reader = sw_pe_reader_of(pe);
    const uint64_t size = sw_pe_entry_size(pe->machine);
    struct sw_pe_function here;
    uint64_t low = 0, high = table.size / size;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        sw_store_want(pe->store, table.bytes + size * middle, size);
        if (rva < sw_load32(table.bytes + size * middle))
            high = middle;
        else
            low = middle + 1;
    }
    if (low == 0)
        return SW_E_NO_RULE;
    const enum sw_status status = sw_pe_entry(pe->machine, &reader, table.bytes + size * (low - 1), &here);
    if (status || rva >= here.end)
        return status ? status : SW_E_NO_RULE;
    if (function)
        *function = here;
    if (index)
        *index = (uint32_t)(low - 1);
    return SW_OK;
}

/*
 * Whether entries ascend and do not overlap. An entry whose end is not known is checked as one byte long. A look-up
 * between it and the next entry gets the reason from sw_pe_entry.
 */
static enum sw_status check_order(const struct sw_pe *pe, struct sw_bytes table)
{
    const struct sw_pe_reader reader = sw_pe_reader_of(pe);
    const uint32_t size = sw_pe_entry_size(pe->machine);
    struct sw_pe_function function;
    uint32_t end = 0;
    for (uint64_t at = 0; at < table.size; at += size) {
        if (sw_pe_entry(pe->machine, &reader, table.bytes + at, &function))
            function.end = function.begin + 1;
        if (function.begin < end || function.end <= function.begin || function.end > pe->size_of_image)
            return SW_E_MALFORMED;
        end = function.end;
    }
    return SW_OK;
}

/* Where unwind data may be: the last word of each entry, which on ARM64 may be the data itself. */
static void want_unwind(const struct sw_pe *pe, struct sw_bytes table)
{
    enum { LONGEST = 4096 }; /* of one record, ample */
    const uint32_t size = sw_pe_entry_size(pe->machine);
    uint32_t low = UINT32_MAX, high = 0;
    sw_pe_want(pe, table, table.size);
    for (uint64_t at = 0; at + size <= table.size; at += size) {
        const uint32_t rva = sw_load32(table.bytes + at + size - 4);
        if (pe->machine == SW_MACHINE_ARM64 && (rva & 3) != 0)
            continue;
        low = rva < low ? rva : low;
        high = rva > high ? rva : high;
    }
    if (low <= high)
        sw_pe_want(pe, sw_pe_rest(pe, low), (uint64_t)(high - low) + LONGEST);
}

void sw_pe_want_exports(const struct sw_pe *pe)
{
    sw_pe_want(pe, sw_pe_rest(pe, pe->export_rva), pe->export_size);
}

void sw_pe_settle(struct sw_pe *pe, struct sw_bytes functions)
{
    want_unwind(pe, functions);
    sw_pe_want_exports(pe);
    pe->store = NULL;
}

enum sw_status sw_pe_exceptions(const struct sw_pe *pe, struct sw_bytes *table)
{
    const uint32_t entry = sw_pe_entry_size(pe->machine);
    *table = (struct sw_bytes){ 0 };
    if (pe->pdata_rva == 0 || pe->pdata_size < entry)
        return SW_E_NOT_FOUND;
    const struct sw_bytes all = sw_pe_at(pe, pe->pdata_rva, pe->pdata_size - pe->pdata_size % entry);
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
    const struct sw_pe_reader reader = sw_pe_reader_of(pe);
    const uint64_t rva = address - pe->bytes.address;
    struct sw_pe_function function;
    if (rva >= pe->size_of_image)
        return SW_E_NO_RULE;
    const enum sw_status status = sw_pe_find(pe, table, (uint32_t)rva, &function, NULL);
    if (status)
        return status;
    return sw_pe_rule(pe->machine, pe->linux_code, &reader, &function, (uint32_t)rva, exact, rule);
}

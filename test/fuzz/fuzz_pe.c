/*
 * PE headers and unwind data of both machines from arbitrary bytes. The first byte says which: a file, a mapped image,
 * or unwind data and code in one flat piece of memory, x64's or ARM64's. Holds: every rule found has a place for pc and
 * sp that an applier understands; unwind data is read a bounded number of times.
 */
#include "pe/pe.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct sw_rule *rule, enum sw_machine machine)
{
    const struct sw_loc pc = rule->r[sw_regs_pc_number(machine)];
    const struct sw_loc sp = rule->r[sw_regs_sp_number(machine)];
    const bool in_lr = machine == SW_MACHINE_ARM64 && pc.kind == SW_LOC_REG && pc.reg == SW_ARM64_LR;
    if (rule->cfa.kind != SW_LOC_REG || rule->cfa.reg >= sw_regs_pc_number(machine))
        abort();
    for (unsigned i = 0; i < sw_regs_count(machine); i++)
        if (rule->r[i].kind > SW_LOC_AT_REG || rule->r[i].reg >= sw_regs_count(machine))
            abort();
    if (pc.kind != SW_LOC_AT_CFA && pc.kind != SW_LOC_AT_REG && !in_lr)
        abort();
    if (sp.kind != SW_LOC_CFA && !(rule->flags & SW_RULE_SIGNAL))
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
            check(&rule, SW_MACHINE_X64);
}

static unsigned reads;
static size_t counted_get(void *arg, uint32_t rva, void *to, size_t size)
{
    reads++;
    return flat_get(arg, rva, to, size);
}

/* The entry is at the start, what it refers to anywhere. */
static void flat_arm64(struct sw_bytes bytes)
{
    const struct sw_pe_reader reader = { counted_get, NULL, &bytes };
    struct sw_pe_function function;
    struct sw_rule rule;
    uint32_t handler;
    if (bytes.size < 8 || sw_pe_entry(SW_MACHINE_ARM64, &reader, bytes.bytes, &function))
        return;
    (void)!sw_pe_handler(SW_MACHINE_ARM64, &reader, &function, &handler);
    const uint32_t length = function.end - function.begin, step = length > 4 * 32 ? length / 32 & ~3u : 4;
    for (uint32_t at = 0; at < length; at += step) {
        reads = 0;
        if (sw_pe_arm64_rule(&reader, &function, function.begin + at, &rule) == SW_OK)
            check(&rule, SW_MACHINE_ARM64);
        if (reads > 96)
            abort();
    }
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
    const uint32_t entry = sw_pe_entry_size(pe->machine);
    for (uint64_t at = 0; at < table.size && at < entry * 64; at += entry) {
        const uint32_t begin = sw_load32(table.bytes + at);
        const enum sw_status found = sw_pe_find(pe, table, begin, NULL, &index);
        if (found == SW_E_NO_RULE || (found && pe->machine == SW_MACHINE_X64) ||
            (found == SW_OK && index != at / entry))
            abort();
        for (uint32_t i = 0; i < 8; i++)
            if (sw_pe_image_rule(pe, table, pe->bytes.address + begin + i, i % 2 == 0, &rule) == SW_OK)
                check(&rule, pe->machine);
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
    const struct sw_pe_reader reader = sw_pe_reader_of(&pe);
    const struct sw_bytes table = sw_pe_at(&pe, pe.pdata_rva, pe.pdata_size);
    by_directory(&pe);
    if (sw_pe_export(&pe, "RTR_HEADER", &rva) == SW_OK)
        (void)!sw_pe_rest(&pe, rva).size;
    const uint32_t entry = sw_pe_entry_size(pe.machine);
    for (uint64_t at = 0; at + entry <= table.size && at < entry * 64; at += entry) {
        struct sw_pe_function function;
        if (sw_pe_entry(pe.machine, &reader, table.bytes + at, &function))
            continue;
        for (uint32_t i = 0; i < 16 && function.begin + i < function.end; i++)
            if (sw_pe_rule(pe.machine, true, &reader, &function, function.begin + i, true, &rule) == SW_OK)
                check(&rule, pe.machine);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    const struct sw_bytes bytes = { data + 1, size - 1, 0x10000 };
    if (data[0] % 4 == 3)
        flat_arm64(bytes);
    else if (data[0] % 4 == 0)
        flat(bytes);
    else
        image(bytes, data[0] % 4 == 1);
    return 0;
}

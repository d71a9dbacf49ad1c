/*
 * Any bytes as call frame information: a head of 16 bytes (machine and kind, a split between header and frame, a pc),
 * then the tables. Every search is asked; a rule that comes out must be one that can be applied without harm.
 */
#include "cfi/cfi.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 16, FRAME = 0x500000, HEADER = 0x4f0000, ENTRIES = 64 };

static size_t read_nothing_odd(void *arg, uint64_t address, void *to, size_t size)
{
    (void)arg;
    if (address & 1)
        return 0;
    memset(to, 0x40, size);
    return size;
}

static void check(bool holds)
{
    if (!holds)
        abort();
}

/* Every enumerator in its range, every expression inside the section. */
static void check_loc(const struct sw_cfi *cfi, struct sw_loc loc)
{
    check(loc.kind <= SW_LOC_EXPR);
    check(loc.reg < SW_REGS_MAX);
    if (loc.kind == SW_LOC_EXPR || loc.kind == SW_LOC_AT_EXPR)
        check(loc.off >= 0 && (uint64_t)loc.off + loc.size <= cfi->frame.size);
}

static void check_rule(const struct sw_cfi *cfi, const struct sw_rule *rule)
{
    struct sw_regs regs = { .machine = cfi->machine, .known = UINT64_C(0x1ffffefff) };
    struct sw_regs caller;
    uint64_t cfa;
    const struct sw_memory memory = { .read = read_nothing_odd };
    check_loc(cfi, rule->cfa);
    for (unsigned n = 0; n < SW_REGS_MAX; n++) {
        regs.r[n] = 0x7000 + 8 * n;
        check_loc(cfi, rule->r[n]);
        check(!(rule->initial >> n & 1) ||
              memcmp(&rule->r[n], &sw_rule_unchanged(cfi->machine)[n], sizeof rule->r[n]) == 0);
    }
    check((rule->flags & ~(SW_RULE_END | SW_RULE_SIGNAL)) == 0);
    check(sw_rule_apply(rule, &regs, &memory, &caller, &cfa, NULL) < SW_STATUS_COUNT);
}

static void ask(const struct sw_cfi *cfi, uint64_t pc)
{
    static struct sw_cfi_work work;
    struct sw_rule rule;
    struct sw_cfi_cover cover;
    const enum sw_status status = sw_cfi_rule(cfi, pc, &work, &rule, &cover);
    check(status < SW_STATUS_COUNT);
    if (status != SW_OK)
        return;
    check(cover.begin <= pc && pc < cover.end);
    check_rule(cfi, &rule);
}

static void ask_by_index(struct sw_cfi cfi, uint64_t pc)
{
    struct sw_cfi_entry entries[ENTRIES];
    const size_t count = sw_cfi_index(&cfi, entries, ENTRIES);
    cfi.header.size = 0;
    cfi.index = entries;
    cfi.index_count = count < ENTRIES ? count : ENTRIES;
    ask(&cfi, pc);
    for (size_t i = 0; i < cfi.index_count; i++) {
        check(i == 0 || entries[i - 1].begin <= entries[i].begin);
        ask(&cfi, entries[i].begin);
        ask(&cfi, entries[i].end - 1);
    }
}

/* The same bytes as the other kind of table beside. */
static void ask_beside(struct sw_cfi cfi, uint64_t pc)
{
    struct sw_cfi beside = cfi;
    beside.is_debug_frame = !cfi.is_debug_frame;
    cfi.beside = &beside;
    ask(&cfi, pc);
    if (sw_cfi_header_is_sound(&cfi))
        check(cfi.header.size > 0);
    check(sw_cfi_widest_gap(&cfi, pc, pc + 4096 > pc ? pc + 4096 : pc) <= 4096);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD)
        return 0;
    const struct sw_bytes all = { data + HEAD, size - HEAD, FRAME };
    const uint64_t split = sw_load16(data + 2) <= all.size ? sw_load16(data + 2) : 0;
    struct sw_cfi cfi = { .machine = data[0] & 1 ? SW_MACHINE_ARM64 : SW_MACHINE_X64,
                          .is_debug_frame = data[0] & 2,
                          .bias = data[0] & 4 ? 0x10000000 : 0 };
    cfi.header = (struct sw_bytes){ all.bytes, split, HEADER };
    cfi.frame = (struct sw_bytes){ all.bytes + split, all.size - split, FRAME };
    const uint64_t pc = sw_load64(data + 8);
    struct sw_bytes frame;
    if (sw_cfi_frame_of_header(cfi.header, cfi.frame, &frame) == SW_OK)
        check(frame.size > 0 && frame.size <= cfi.frame.size);
    ask(&cfi, pc);
    ask_by_index(cfi, pc);
    ask_beside(cfi, pc);
    return 0;
}

/*
 * Our CFI interpreter against libdw's: the same file, every row of every FDE, at its first address, in its middle and
 * at its last. Both rules are applied to the same invented registers and memory, where every word depends on its
 * address, so equal values mean equal locations. Compared: CFA, return address, nonvolatile registers, end of stack,
 * signal frame. Our side is asked twice: through .eh_frame_hdr and through the index.
 */
#include "cfi/cfi.h"
#include "elf/elf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SW_LEN(array) (sizeof(array) / sizeof(array)[0])

enum { SHOWN_MAX = 10 };

/* What one side says about one pc. */
struct answer {
    bool has_rule;
    bool is_end;
    bool is_signal;
    bool has_cfa;
    uint64_t cfa;
    uint64_t known;
    uint64_t r[SW_REGS_MAX];
};

struct run {
    Elf *elf;
    Dwarf *dwarf;
    Dwarf_CFI *theirs;
    struct sw_cfi ours;
    struct sw_cfi searched; /* without header, with index */
    const char *file;
    unsigned long rows;
    unsigned long equal;
    unsigned long refused;
    bool is_refused; /* the row being compared */
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Memory: each byte depends on its address. Bounded values keep sums inside the address space. */
static uint64_t word_at(uint64_t address, unsigned size)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (mix(address + i) & 0xff) << (8 * i);
    return size == 8 ? value & UINT64_C(0x7fffffffffff) : value;
}

static size_t read_invented(void *arg, uint64_t address, void *to, size_t size)
{
    (void)arg;
    const uint64_t value = word_at(address, (unsigned)size);
    memcpy(to, &value, size);
    return size;
}

static void invent_registers(struct sw_regs *regs, enum sw_machine machine, uint64_t pc)
{
    *regs = (struct sw_regs){ .machine = machine };
    for (unsigned n = 0; n < sw_regs_count(machine); n++)
        sw_regs_set(regs, n, mix(n + 77) & UINT64_C(0x7ffffffffff8));
    sw_regs_set(regs, sw_regs_pc_number(machine), pc);
}

/* ---- theirs: an evaluator of its own for libdw's decoded operations ---- */

struct theirs {
    const struct sw_regs *regs;
    uint64_t cfa;
    bool is_value;
    unsigned depth;
    int64_t stack[64];
};

/* DWARF's number -> ours, written down a second time. */
static unsigned number_of(enum sw_machine machine, uint64_t dwarf)
{
    static const unsigned x64[] = { 0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
    if (machine == SW_MACHINE_ARM64)
        return dwarf <= 31 ? (unsigned)dwarf : SW_REGS_MAX;
    return dwarf < SW_LEN(x64) ? x64[dwarf] : SW_REGS_MAX;
}

static bool their_binary(uint8_t atom, int64_t a, int64_t b, int64_t *to)
{
    switch (atom) {
    case DW_OP_plus:
        *to = (int64_t)((uint64_t)a + (uint64_t)b);
        return true;
    case DW_OP_minus:
        *to = (int64_t)((uint64_t)a - (uint64_t)b);
        return true;
    case DW_OP_and:
        *to = a & b;
        return true;
    case DW_OP_or:
        *to = a | b;
        return true;
    case DW_OP_mul:
        *to = (int64_t)((uint64_t)a * (uint64_t)b);
        return true;
    case DW_OP_shl:
        *to = (int64_t)((uint64_t)a << b);
        return true;
    case DW_OP_ge:
        *to = a >= b;
        return true;
    case DW_OP_gt:
        *to = a > b;
        return true;
    case DW_OP_eq:
        *to = a == b;
        return true;
    case DW_OP_ne:
        *to = a != b;
        return true;
    default:
        fprintf(stderr, "oracle: operation %02x is not known\n", atom);
        return false;
    }
}

static bool their_register(const struct theirs *t, uint64_t dwarf, uint64_t *value)
{
    const unsigned number = number_of(t->regs->machine, dwarf);
    const bool is_pc = t->regs->machine == SW_MACHINE_X64 && dwarf == 16;
    *value = is_pc ? sw_regs_pc(t->regs) : number < SW_REGS_MAX ? t->regs->r[number] : 0;
    return number < SW_REGS_MAX;
}

static bool their_step(struct theirs *t, const Dwarf_Op *op)
{
    uint64_t value = 0;
    int64_t *top = &t->stack[t->depth];
    if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
        *top = op->atom - DW_OP_lit0;
        t->depth++;
        return true;
    }
    if ((op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) || op->atom == DW_OP_bregx) {
        const bool is_x = op->atom == DW_OP_bregx;
        const bool has = their_register(t, is_x ? op->number : op->atom - 0x70u, &value);
        *top = (int64_t)(value + (is_x ? op->number2 : op->number));
        t->depth++;
        return has;
    }
    if ((op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) || op->atom == DW_OP_regx) {
        const bool has = their_register(t, op->atom == DW_OP_regx ? op->number : op->atom - 0x50u, &value);
        *top = (int64_t)value;
        t->depth++;
        t->is_value = true;
        return has;
    }
    switch (op->atom) {
    case DW_OP_call_frame_cfa:
        *top = (int64_t)t->cfa;
        t->depth++;
        return true;
    case DW_OP_const1u:
    case DW_OP_const1s:
    case DW_OP_const2u:
    case DW_OP_const2s:
    case DW_OP_const4u:
    case DW_OP_const4s:
    case DW_OP_const8u:
    case DW_OP_const8s:
    case DW_OP_constu:
    case DW_OP_consts:
        *top = (int64_t)op->number;
        t->depth++;
        return true;
    case DW_OP_plus_uconst:
        top[-1] = (int64_t)((uint64_t)top[-1] + op->number);
        return true;
    case DW_OP_deref:
        top[-1] = (int64_t)word_at((uint64_t)top[-1], 8);
        return true;
    case DW_OP_deref_size:
        top[-1] = (int64_t)word_at((uint64_t)top[-1], (unsigned)op->number);
        return true;
    case DW_OP_stack_value:
        t->is_value = true;
        return true;
    default:
        t->depth--;
        return their_binary(op->atom, top[-2], top[-1], &top[-2]);
    }
}

/* The value of a location description, or for a CFA of its expression. */
static bool their_value(struct theirs *t, const Dwarf_Op *ops, size_t count, bool is_cfa, uint64_t *value)
{
    t->depth = 0;
    t->is_value = is_cfa;
    for (size_t i = 0; i < count; i++)
        if (!their_step(t, &ops[i]))
            return false;
    if (t->depth == 0)
        return false;
    const uint64_t top = (uint64_t)t->stack[t->depth - 1];
    *value = t->is_value ? top : word_at(top, 8);
    return true;
}

/* libdw: no operations and ops == memory: undefined; no operations and null: same value. */
static bool their_location(struct theirs *t, Dwarf_Frame *frame, int dwarf, bool *is_undefined, uint64_t *value)
{
    Dwarf_Op memory[3];
    Dwarf_Op *ops;
    size_t count;
    *is_undefined = false;
    if (dwarf_frame_register(frame, dwarf, memory, &ops, &count) != 0)
        return false;
    /* libdw 0.188's default rules for x86-64 name DWARF register 0 (rax) where rbx, 3, is meant to be kept. */
    const bool is_rbx = t->regs->machine == SW_MACHINE_X64 && dwarf == 3;
    if (count == 0 && ops == memory && !is_rbx) {
        *is_undefined = true;
        return false;
    }
    if (count == 0)
        return their_register(t, (uint64_t)dwarf, value);
    return their_value(t, ops, count, false, value);
}

static void their_answer(struct run *run, Dwarf_Frame *frame, const struct sw_regs *regs, struct answer *a)
{
    static struct theirs t;
    const enum sw_machine machine = regs->machine;
    Dwarf_Op *ops;
    size_t count;
    bool is_undefined;
    Dwarf_Addr begin, end;
    *a = (struct answer){ .has_rule = true };
    t.regs = regs;
    const int ra = dwarf_frame_info(frame, &begin, &end, &a->is_signal);
    a->has_cfa = dwarf_frame_cfa(frame, &ops, &count) == 0 && count > 0 && their_value(&t, ops, count, true, &a->cfa);
    t.cfa = a->cfa;
    uint64_t value = 0;
    if (their_location(&t, frame, ra, &is_undefined, &value)) {
        a->known |= UINT64_C(1) << sw_regs_pc_number(machine);
        a->r[sw_regs_pc_number(machine)] = value;
    }
    /* A column that is no return address by the ABI (x15 in one function of glibc) is undefined for libdw, unchanged
     * for us. */
    const bool is_usual = ra == (machine == SW_MACHINE_X64 ? 16 : 30);
    a->is_end = is_undefined && is_usual;
    if (is_undefined && !is_usual) {
        a->known |= UINT64_C(1) << sw_regs_pc_number(machine);
        (void)their_register(&t, (uint64_t)ra, &a->r[sw_regs_pc_number(machine)]);
    }
    for (int dwarf = 0; dwarf < 32; dwarf++) {
        const unsigned n = number_of(machine, (uint64_t)dwarf);
        const bool is_compared =
            n < SW_REGS_MAX && (sw_regs_nonvolatile(machine) >> n & 1 || n == sw_regs_sp_number(machine));
        if (is_compared && their_location(&t, frame, dwarf, &is_undefined, &value)) {
            a->known |= UINT64_C(1) << n;
            a->r[n] = value;
        }
    }
    (void)run;
}

/* ---- ours ---- */

static void our_answer(const struct sw_cfi *cfi, const struct sw_regs *regs, uint64_t pc, struct answer *a)
{
    static struct sw_cfi_work work;
    struct sw_rule rule;
    struct sw_regs caller;
    const struct sw_memory memory = { .read = read_invented };
    *a = (struct answer){ 0 };
    a->has_rule = sw_cfi_rule(cfi, pc, &work, &rule, NULL) == SW_OK;
    if (!a->has_rule)
        return;
    a->is_end = rule.flags & SW_RULE_END;
    a->is_signal = rule.flags & SW_RULE_SIGNAL;
    if (a->is_end || sw_rule_apply(&rule, regs, &memory, &caller, &a->cfa, NULL) != SW_OK)
        return;
    a->has_cfa = true;
    const uint64_t compared = sw_regs_nonvolatile(cfi->machine) | UINT64_C(1) << sw_regs_pc_number(cfi->machine) |
                              UINT64_C(1) << sw_regs_sp_number(cfi->machine);
    a->known = caller.known & compared;
    memcpy(a->r, caller.r, sizeof a->r);
}

/* At the end of the stack only that it is the end counts. */
static bool is_equal(const struct answer *a, const struct answer *b)
{
    if (a->has_rule != b->has_rule || a->is_end != b->is_end || a->is_signal != b->is_signal)
        return false;
    if (!a->has_rule || a->is_end)
        return true;
    if (a->has_cfa != b->has_cfa || a->cfa != b->cfa || a->known != b->known)
        return false;
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        if ((a->known >> n & 1) && a->r[n] != b->r[n])
            return false;
    return true;
}

/* A CFA a little below the stack pointer: libdw computes it, we refuse it. */
static bool is_impossible(const struct answer *theirs, const struct sw_regs *regs)
{
    const uint64_t sp = sw_regs_sp(regs);
    return regs->machine == SW_MACHINE_X64 && theirs->has_cfa && theirs->cfa < sp && sp - theirs->cfa < 4096;
}

static void show(const struct run *run, uint64_t pc, const char *who, const struct answer *a)
{
    printf("  %s %#" PRIx64 " %s: rule %d end %d signal %d cfa %d %#" PRIx64 " known %#" PRIx64 "\n", run->file, pc,
           who, a->has_rule, a->is_end, a->is_signal, a->has_cfa, a->cfa, a->known);
}

static bool compare_at(struct run *run, Dwarf_Frame *frame, uint64_t pc)
{
    struct sw_regs regs;
    struct answer theirs = { 0 }, ours, searched;
    invent_registers(&regs, run->ours.machine, pc);
    if (frame)
        their_answer(run, frame, &regs, &theirs);
    our_answer(&run->ours, &regs, pc, &ours);
    our_answer(&run->searched, &regs, pc, &searched);
    if (is_equal(&theirs, &ours) && is_equal(&theirs, &searched))
        return true;
    if (is_impossible(&theirs, &regs) && !ours.has_rule && !searched.has_rule) {
        run->is_refused = true;
        return true;
    }
    if (run->rows - run->equal < SHOWN_MAX) {
        show(run, pc, "libdw", &theirs);
        show(run, pc, "ours", &ours);
        show(run, pc, "by index", &searched);
    }
    return false;
}

/* One row of libdw's, and the address behind it. A pc that libdw has nothing for is a row of one byte. */
static uint64_t compare_row(struct run *run, uint64_t pc, uint64_t fde_end)
{
    Dwarf_Frame *frame = NULL;
    Dwarf_Addr begin = pc, end = pc + 1;
    if (dwarf_cfi_addrframe(run->theirs, pc, &frame) == 0)
        (void)dwarf_frame_info(frame, &begin, &end, NULL);
    else
        frame = NULL;
    if (end > fde_end || end <= pc)
        end = fde_end;
    run->is_refused = false;
    const bool is_row_equal =
        compare_at(run, frame, pc) && compare_at(run, frame, pc + (end - pc) / 2) && compare_at(run, frame, end - 1);
    run->rows += !run->is_refused;
    run->equal += is_row_equal && !run->is_refused;
    run->refused += run->is_refused;
    free(frame);
    return end;
}

static int compare_all(struct run *run)
{
    const size_t count = sw_cfi_index(&run->ours, NULL, 0);
    struct sw_cfi_entry *entries = calloc(count + 1, sizeof *entries);
    if (!entries || sw_cfi_index(&run->ours, entries, count) != count)
        return 1;
    run->searched = run->ours;
    run->searched.header = (struct sw_bytes){ 0 };
    run->searched.index = entries;
    run->searched.index_count = count;
    for (size_t i = 0; i < count; i++)
        for (uint64_t pc = entries[i].begin; pc < entries[i].end;)
            pc = compare_row(run, pc, entries[i].end);
    free(entries);
    printf("cfi-oracle %s: %lu of %lu rows equal (%zu FDEs, %lu rows with an impossible CFA refused)\n", run->file,
           run->equal, run->rows, count, run->refused);
    return run->equal == run->rows && count > 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct sw_elf *elf;
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: cfi_libdw FILE [debug_frame]\n");
        return 2;
    }
    struct run run = { .file = argv[1] };
    run.ours.is_debug_frame = argc == 3;
    if (sw_elf_open(argv[1], &elf) != SW_OK)
        return 2;
    run.ours.machine = sw_elf_machine(elf);
    if (sw_elf_section(elf, argc == 3 ? ".debug_frame" : ".eh_frame", &run.ours.frame) != SW_OK)
        return 2;
    if (sw_elf_section(elf, ".eh_frame_hdr", &run.ours.header) != SW_OK)
        run.ours.header = (struct sw_bytes){ 0 };
    (void)elf_version(EV_CURRENT);
    const int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
    run.elf = elf_begin(fd, ELF_C_READ, NULL);
    run.dwarf = argc == 3 ? dwarf_begin_elf(run.elf, DWARF_C_READ, NULL) : NULL;
    run.theirs = argc == 3 ? dwarf_getcfi(run.dwarf) : dwarf_getcfi_elf(run.elf);
    const int result = run.theirs ? compare_all(&run) : 2;
    if (argc == 3)
        (void)dwarf_end(run.dwarf);
    else
        (void)dwarf_cfi_end(run.theirs);
    (void)elf_end(run.elf);
    (void)close(fd);
    sw_elf_close(elf);
    return result;
}

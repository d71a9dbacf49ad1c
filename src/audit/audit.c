/*
 * The audit of a file: entry by entry, instruction by instruction, the table's rule against the analysis. Knows the
 * order of the checks and what is not comparable. compare.c compares, file.c knows the file.
 */
#include "audit/audit.h"

#include "common/alloc.h"

#include <assert.h>
#include <string.h>

static_assert((int)SW_AUDIT_AFTER_TRAP == (int)SW_FLOW_TRAP && (int)SW_AUDIT_AFTER_CALL == (int)SW_FLOW_CALL,
              "ORDER sw_audit_after");

struct audit {
    struct sw_audit_file file;
    struct sw_analysis work;
    struct sw_state scratch;
    struct sw_rule table, derived;
    struct sw_code code;
    uint32_t flags;
    bool (*sink)(void *arg, const struct sw_audit_insn *insn);
    void *arg;
    size_t entry;
    struct sw_audit_function function;
    uint64_t audited_to; /* end of the entries audited so far */
    bool has_table;      /* in scan: the table has a rule in front of the current instruction */
    bool in_padding;     /* the code in front ends here, or is padding */
};

static bool decode(struct audit *a, uint64_t pc, struct sw_insn *insn)
{
    size_t size;
    const uint8_t *bytes = sw_audit_fetch(&a->file, pc, &size);
    const uint64_t left = a->function.end - pc;
    if (!bytes)
        return false;
    return a->code.arch->decode(bytes, left < size ? (size_t)left : size, pc, insn) == SW_OK;
}

/* Stands for bytes that are no instruction: as short as one can be, and within the entry. */
static struct sw_insn unknown_insn(const struct audit *a, uint64_t pc)
{
    const uint8_t least = a->code.arch->insn_bytes;
    return (struct sw_insn){ .length = a->function.end - pc >= least ? least : 1, .flow = SW_FLOW_TRAP };
}

static bool falls_through(unsigned flow)
{
    return flow == SW_FLOW_NEXT || flow == SW_FLOW_CALL || flow == SW_FLOW_BRANCH || flow == SW_AUDIT_AFTER_NOTHING;
}

static bool is_padding(struct audit *a, uint64_t pc)
{
    size_t size;
    const uint8_t *bytes = sw_audit_fetch(&a->file, pc, &size);
    if (!bytes || pc >= a->function.end)
        return false;
    const uint64_t left = a->function.end - pc;
    return a->code.arch->patterns->is_filler(bytes, left < size ? (size_t)left : size);
}

/* ---- one entry ---- */

static bool leaves(const struct sw_audit_function *f, const struct sw_insn *insn)
{
    if (insn->flow == SW_FLOW_JUMP)
        return insn->target < f->begin || insn->target >= f->end;
    return insn->flow == SW_FLOW_RETURN || insn->flow == SW_FLOW_INDIRECT;
}

/* Clips the entry to bytes that no other entry has, so that each byte is audited once, and to bytes that exist. */
static void clip(struct audit *a)
{
    struct sw_audit_function *f = &a->function, next = { 0 };
    size_t size = 0;
    if (a->entry + 1 < a->file.entry_count)
        sw_audit_entry(&a->file, a->entry + 1, &next);
    if (next.begin >= f->begin && next.begin < f->end)
        f->end = next.begin;
    if (f->begin < a->audited_to || !sw_audit_fetch(&a->file, f->begin, &size))
        f->end = f->begin;
    else if (f->end - f->begin > size)
        f->end = f->begin + size;
    if (f->end > f->begin)
        a->audited_to = f->end;
}

/* Compares the table's rules in front of and behind `before`, which continues to pc. */
static void check_table(struct audit *a, uint64_t pc, const struct sw_insn *before)
{
    const bool was_there = a->has_table;
    struct sw_rule *front = &a->derived;
    *front = a->table;
    a->has_table = sw_audit_table_rule(&a->file, a->entry, pc, &a->table) == SW_OK &&
                   !(a->table.flags & (SW_RULE_END | SW_RULE_SIGNAL));
    const bool falls_through =
        before->flow == SW_FLOW_NEXT || before->flow == SW_FLOW_BRANCH; /* a call may not return */
    if (a->function.is_false || !was_there || !a->has_table || !falls_through)
        return;
    a->function.is_false = sw_audit_contradicts(a->code.arch, front, before, &a->table, &a->scratch);
    a->function.false_at = a->function.is_false ? pc : 0;
}

/* The same for the target of a jump within the entry. */
static void check_jump(struct audit *a, uint64_t pc, const struct sw_insn *insn)
{
    struct sw_audit_function *f = &a->function;
    const bool jumps = insn->flow == SW_FLOW_JUMP || insn->flow == SW_FLOW_BRANCH;
    if (f->is_false || !a->has_table || !jumps || insn->target < f->begin || insn->target >= f->end ||
        sw_audit_table_rule(&a->file, a->entry, insn->target, &a->derived) != SW_OK ||
        (a->derived.flags & (SW_RULE_END | SW_RULE_SIGNAL)))
        return;
    f->is_false = sw_audit_contradicts(a->code.arch, &a->table, insn, &a->derived, &a->scratch);
    f->false_at = f->is_false ? pc : 0;
}

/* Scans the entry without analysis: whether its instructions may leave it, and whether the table may be true. */
static void scan(struct audit *a)
{
    struct sw_audit_function *f = &a->function;
    struct sw_insn insn = { .flow = SW_FLOW_TRAP };
    f->returns = f->is_false = false;
    f->false_at = 0;
    a->has_table = false;
    for (uint64_t pc = f->begin; pc < f->end;) {
        if (f->is_entry)
            check_table(a, pc, &insn);
        if (!decode(a, pc, &insn))
            insn = unknown_insn(a, pc);
        else if (leaves(f, &insn))
            f->returns = true;
        else if (is_padding(a, pc))
            insn.flow = SW_FLOW_TRAP; /* it may be unreachable, and then the table's rule for it means nothing */
        if (f->is_entry)
            check_jump(a, pc, &insn);
        pc += insn.length;
    }
}

/*
 * Whether a rule is that of code entered by a call: the return address is on top of the stack or in the link register,
 * nothing is saved.
 */
static bool is_entry(const struct audit *a, const struct sw_rule *rule)
{
    const struct sw_arch *arch = a->code.arch;
    const struct sw_loc *returns = &rule->r[arch->roles->pc];
    if (rule->cfa.kind != SW_LOC_REG || rule->cfa.reg != arch->roles->sp ||
        rule->cfa.off != sw_rule_cfa_above_entry(arch->machine) ||
        (sw_arch_has_link(arch) && (returns->kind != SW_LOC_REG || returns->reg != arch->roles->link)))
        return false;
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        if ((arch->roles->nonvolatile >> n & 1) && rule->r[n].kind != SW_LOC_SAME)
            return false;
    return true;
}

/*
 * Version 1 unwind data leaves epilogues to their bytes. A jump out of the entry looks like the end of one, even if it
 * leads to the entry's own cold part with the frame in place. Source: "x64 exception handling", Microsoft Learn,
 * epilogs.
 */
static bool is_taken_for_epilogue(const struct audit *a, const struct sw_insn *code)
{
    const struct sw_audit_function *f = &a->function;
    return !a->file.elf && sw_pe_infers_epilogues(a->file.machine) && code->flow == SW_FLOW_JUMP &&
           (code->target < f->begin || code->target >= f->end);
}

static enum sw_audit_verdict derive(struct audit *a, struct sw_audit_insn *insn, const struct sw_insn *code)
{
    bool assumed;
    const struct sw_state *state = sw_analyze_state(&a->work, insn->address, &assumed);
    if (!state && is_padding(a, insn->address))
        return SW_AUDIT_PADDING; /* behind a call that does not return */
    if (!state || !sw_extract_inside(state, a->code.arch, &a->derived))
        return SW_AUDIT_UNREACHED;
    insn->analysis = &a->derived;
    insn->trust = assumed ? SW_TRUST_GUESS : SW_TRUST_LIKELY;
    const enum sw_audit_verdict verdict = sw_audit_compare(a->code.arch, &a->table, &a->derived, state, &insn->reg);
    const bool is_stale = verdict == SW_AUDIT_REGISTER && code->flow == SW_FLOW_RETURN &&
                          sw_audit_is_below_sp(a->code.arch, &a->table, state, insn->reg);
    const bool is_false = a->function.is_false || is_stale || is_taken_for_epilogue(a, code);
    return verdict != SW_AUDIT_EQUAL && is_false ? SW_AUDIT_FALSE : verdict;
}

static enum sw_audit_verdict verdict_of(struct audit *a, struct sw_audit_insn *insn, const struct sw_insn *code)
{
    if (sw_audit_table_rule(&a->file, a->entry, insn->address, &a->table) != SW_OK)
        return SW_AUDIT_NO_TABLE;
    insn->table = &a->table;
    if (a->table.flags & (SW_RULE_END | SW_RULE_SIGNAL))
        return SW_AUDIT_END;
    if (a->table.cfa.kind == SW_LOC_EXPR)
        return SW_AUDIT_NO_TABLE;
    if (!a->function.is_entry)
        return SW_AUDIT_PART;
    if (a->in_padding)
        return SW_AUDIT_PADDING;
    return derive(a, insn, code);
}

/* Reports one instruction. Receive: after: how control leaves it; length: its length. */
static bool emit(struct audit *a, uint64_t pc, uint8_t *after, uint8_t *length)
{
    struct sw_insn insn;
    struct sw_audit_insn out = { .function = &a->function, .address = pc, .after = *after };
    const bool is_code = decode(a, pc, &insn);
    if (!is_code)
        insn = unknown_insn(a, pc);
    out.length = insn.length;
    a->in_padding = is_code && (a->in_padding || !falls_through(*after)) && is_padding(a, pc);
    out.verdict = is_code ? (uint8_t)verdict_of(a, &out, &insn) : SW_AUDIT_BAD_CODE;
    if (!a->in_padding)
        *after = insn.flow;
    *length = out.length;
    return a->sink(a->arg, &out);
}

/*
 * Whether the table has an entry's rule both in front of the first instruction and in front of the first that does
 * something: cold parts begin with padding.
 */
static bool begins_as_entry(struct audit *a)
{
    struct sw_insn insn;
    uint64_t pc = a->function.begin;
    while (is_padding(a, pc) && decode(a, pc, &insn))
        pc += insn.length;
    return sw_audit_table_rule(&a->file, a->entry, a->function.begin, &a->table) == SW_OK && is_entry(a, &a->table) &&
           (pc >= a->function.end ||
            (sw_audit_table_rule(&a->file, a->entry, pc, &a->table) == SW_OK && is_entry(a, &a->table)));
}

static bool audit_entry(struct audit *a)
{
    uint8_t after = SW_AUDIT_AFTER_NOTHING, length = 1;
    sw_audit_entry(&a->file, a->entry, &a->function);
    clip(a);
    a->in_padding = false;
    a->function.is_entry = sw_audit_is_called(&a->file, a->entry) && begins_as_entry(a);
    scan(a);
    if (a->function.is_entry && a->function.end > a->function.begin)
        sw_analyze_run(&a->code, a->function.begin, a->flags & SW_AUDIT_END_UNKNOWN ? 0 : a->function.end, &a->work);
    for (uint64_t pc = a->function.begin; pc < a->function.end; pc += length)
        if (!emit(a, pc, &after, &length))
            return false;
    return true;
}

static enum sw_status audit_all(struct audit *a)
{
    const enum sw_status status = sw_audit_open(&a->file);
    a->code = (struct sw_code){ sw_arch_of(a->file.machine), sw_audit_fetch, &a->file, NULL };
    a->function.machine = (uint8_t)a->file.machine;
    for (a->entry = 0; status == SW_OK && a->entry < a->file.entry_count; a->entry++)
        if (!audit_entry(a))
            break;
    sw_audit_close(&a->file);
    return status;
}

enum sw_status sw_audit_file(const void *bytes, size_t size, const struct sw_alloc *alloc, uint32_t flags,
                             bool (*sink)(void *arg, const struct sw_audit_insn *insn), void *arg)
{
    const struct sw_alloc from = sw_alloc_resolve(alloc);
    if (!bytes || !sink || !sw_alloc_usable(alloc) || (flags & ~SW_AUDIT_END_UNKNOWN))
        return SW_E_ARGUMENT;
    struct audit *a = from.get(from.arg, sizeof *a);
    if (!a)
        return SW_E_NO_MEMORY;
    memset(a, 0, sizeof *a);
    a->file.alloc = from;
    a->file.bytes = (struct sw_bytes){ bytes, size, 0 };
    a->flags = flags;
    a->sink = sink;
    a->arg = arg;
    const enum sw_status status = audit_all(a);
    from.put(from.arg, a, sizeof *a);
    return status;
}

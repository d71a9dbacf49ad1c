/*
 * Frames of images by their call frame information. A table tells exactly, but for four kinds of lies that were met:
 * gcc's about epilogues of realigned frames, those of hand-written code that pushes and writes registers without a
 * word, Go's about all registers, and those about what was pushed by code that jumped here. Where the table is of such
 * a kind its code is looked at. Knows nothing of the format (lib/cfi).
 */
#include "unwind/cfi_image.h"

#include "unwind/cfi_check.h"
#include "unwind/findings.h"
#include "unwind/infer/code_patterns.h"
#include "unwind/infer/instructions.h"

enum { BYTES_A_UNIT = 256, MOST_SCANNED = 256, SILENT_PUSHES = 2, PUSHED = 16 };

static bool code_of(const struct sw_unwind_request *req, struct sw_code *code)
{
    return !(req->walker->flags & SW_WALK_NO_ANALYSIS) && sw_code_of(req, code);
}

/* What the table says, and what the instructions say; those are believed where both lead to the same caller. */
struct same_caller {
    const struct sw_unwind_request *req;
    const struct sw_candidate *table;
    struct sw_candidate *other;
};

static bool leads_to_same(const struct same_caller *same)
{
    const struct sw_regs *wanted = &same->table->caller, *caller = &same->other->caller;
    return sw_candidate_try(same->req, same->other) == SW_STOP_NONE && sw_regs_pc(caller) == sw_regs_pc(wanted) &&
           sw_regs_sp(caller) == sw_regs_sp(wanted);
}

/* ---- epilogues of realigned frames ---- */

static bool is_same_caller(void *arg, const struct sw_rule *rule)
{
    const struct same_caller *same = arg;
    same->other->rule = *rule;
    return leads_to_same(same);
}

/* Found by an expression over a register, other than the one that the CFA is found by. */
static bool is_apart(const struct sw_rule *rule, unsigned n)
{
    return rule->r[n].kind == SW_LOC_AT_EXPR || (rule->r[n].kind == SW_LOC_AT_REG && rule->r[n].reg != rule->cfa.reg);
}

static bool is_any_apart(const struct sw_rule *rule)
{
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        if (is_apart(rule, n))
            return true;
    return false;
}

/*
 * gcc's tables for realigned frames find saved registers relative to rbp and leave out the pops of the epilogue, that
 * of rbp too. Where the instructions lead to the same caller they say where its registers are. Only an executing pc can
 * be there.
 */
static void mend_epilogue(const struct sw_unwind_request *req, const struct sw_cfi_cover *cover, struct sw_candidate *c)
{
    struct same_caller same = { req, c, &req->work->spare[0] };
    struct sw_rule *rule = &c->rule;
    struct sw_code code;
    (void)cover;
    if (!req->frame->exact || rule->cfa.kind != SW_LOC_REG || !is_any_apart(rule) || !code_of(req, &code) ||
        sw_candidate_try(req, c) != SW_STOP_NONE)
        return;
    if (sw_forward_rules(req, &code, sw_regs_pc(&req->frame->regs), NULL, is_same_caller, &same) != SW_OK)
        return;
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        if (is_apart(rule, n))
            rule->r[n] = same.other->rule.r[n];
}

/* ---- registers written without a word ---- */

/*
 * A frame in which no register was ever saved although there were pushes, or one that is executing. Compiled code
 * pushes little else than registers to be saved, and says so; to look at the code of every frame would cost too much.
 */
static bool is_suspicious(const struct sw_unwind_request *req, const struct sw_rule *rule,
                          const struct sw_cfi_cover *cover)
{
    const struct sw_regs_roles *roles = sw_regs_roles_of(req->walker->machine);
    if (rule->flags || cover->places || rule->cfa.kind != SW_LOC_REG || rule->cfa.reg != roles->sp)
        return false;
    for (unsigned n = 0; n < roles->count; n++)
        if ((roles->nonvolatile >> n & 1) && rule->r[n].kind != SW_LOC_SAME)
            return false;
    return req->frame->exact || cover->pushes >= SILENT_PUSHES;
}

/* An instruction loads sp, as a switch to another stack does, or rounds it. */
static bool places_sp(const struct sw_insn *insn, unsigned sp)
{
    for (unsigned i = 0; i < insn->count && i < SW_EFFECTS_MAX; i++) {
        const struct sw_effect *e = &insn->effects[i];
        const bool is_moved = e->kind == SW_EFFECT_SET && e->src == sp;
        if (!is_moved && e->kind != SW_EFFECT_STORE && e->kind != SW_EFFECT_COMPARE && e->dst == sp)
            return true;
    }
    return false;
}

/* The registers that an instruction writes. */
static uint64_t written_by(const struct sw_insn *insn)
{
    uint64_t written = 0;
    for (unsigned i = 0; i < insn->count && i < SW_EFFECTS_MAX; i++) {
        const struct sw_effect *e = &insn->effects[i];
        if (e->kind == SW_EFFECT_CLOBBER)
            written |= (uint64_t)e->imm;
        else if (e->kind != SW_EFFECT_STORE && e->kind != SW_EFFECT_COMPARE && e->dst < SW_REGS_MAX)
            written |= UINT64_C(1) << e->dst;
        if (e->kind == SW_EFFECT_SWAP && e->src < SW_REGS_MAX)
            written |= UINT64_C(1) << e->src;
    }
    return written;
}

/* What instructions do: which registers they write, and whether one puts sp elsewhere. */
struct done {
    uint64_t written;
    bool places_sp;
};

/* What those in front of pc do, in the order in which they stand. Of registers only the nonvolatile ones. */
static struct done done_before(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t begin)
{
    const uint64_t pc = req->frame->lookup;
    struct done done = { 0, false };
    struct sw_insn insn;
    for (uint64_t at = begin; at < pc && pc - begin <= MOST_SCANNED; at += insn.length) {
        size_t size;
        const uint8_t *bytes = code->fetch(code->arg, at, &size);
        if (!bytes || code->arch->decode(bytes, size, at, &insn) != SW_OK || insn.length > pc - at)
            break;
        done.written |= written_by(&insn);
        done.places_sp |= places_sp(&insn, code->arch->roles->sp);
    }
    done.written &= code->arch->roles->nonvolatile;
    return done;
}

/* On every stack: what follows from that depends on the code alone. */
static bool always_leads_to_same(const struct sw_rule *a, const struct sw_rule *b, unsigned pc)
{
    return sw_is_same_loc(a->cfa, b->cfa) && a->cfa.kind == SW_LOC_REG && sw_is_same_loc(a->r[pc], b->r[pc]) &&
           a->r[pc].kind == SW_LOC_AT_CFA;
}

/* Where the instructions lead to the same caller they say where its registers are; else those written are lost. */
static void mend_silence(const struct sw_unwind_request *req, const struct sw_cfi_cover *cover, struct sw_candidate *c)
{
    const struct same_caller same = { req, c, &req->work->spare[0] };
    const unsigned pc = sw_regs_pc_number(req->walker->machine);
    struct sw_rule *other = &same.other->rule;
    struct sw_code code;
    if (!is_suspicious(req, &c->rule, cover) || !code_of(req, &code))
        return;
    const uint64_t written = done_before(req, &code, cover->begin).written;
    if (written == 0)
        return;
    const bool has_other =
        sw_function_rule(req, &code, cover->begin, cover->end, other) == SW_OK && other->trust != SW_TRUST_GUESS;
    bool is_known = has_other && always_leads_to_same(&c->rule, other, pc);
    if (!is_known) {
        if (sw_candidate_try(req, c) != SW_STOP_NONE)
            return;
        is_known = has_other && leads_to_same(&same);
    }
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        if (written >> n & 1)
            c->rule.r[n] = is_known ? other->r[n] : (struct sw_loc){ SW_LOC_UNKNOWN, 0, 0, 0 };
}

/* ---- frames of which only the size is told ---- */

/* Such a frame is found by sp. */
static bool is_bare(const struct sw_unwind_request *req, const struct sw_rule *rule)
{
    const struct sw_regs_roles *roles = sw_regs_roles_of(req->walker->machine);
    return rule->flags == 0 && rule->cfa.kind == SW_LOC_REG && rule->cfa.reg == roles->sp &&
           rule->cfa.off > sw_rule_cfa_above_entry(req->walker->machine);
}

/*
 * Go's tables. Registers: see sw_cfi_mend_bare. And where a function goes over to another stack they tell the CFA as if
 * it were still on its own: others are asked first.
 */
static void mend_bare(const struct sw_unwind_request *req, const struct sw_cfi_cover *cover, struct sw_candidate *c)
{
    struct sw_code code;
    if (cover->pushes >= SILENT_PUSHES || !is_bare(req, &c->rule) || !code_of(req, &code) ||
        !sw_cfi_mend_bare(req, &code, cover, c))
        return;
    c->is_doubted |= done_before(req, &code, cover->begin).places_sp;
}

/* ---- what was pushed in front ---- */

/* A return address above the CFA: other code pushed it before it jumped here, and the table leaves that out. */
static bool is_pushed(const struct sw_unwind_request *req, const struct sw_rule *rule)
{
    const struct sw_loc ra = rule->r[sw_regs_pc_number(req->walker->machine)];
    return rule->flags == 0 && ra.kind == SW_LOC_AT_CFA && ra.off >= 0 && ra.off < PUSHED;
}

/* Whether it is so behind the function's first instruction, when that is executing: a landing pad, which the table
 * leaves out. */
static bool is_pushed_next(const struct sw_unwind_request *req, const struct sw_cfi_cover *cover)
{
    struct sw_rule *rule = &req->work->spare[0].rule;
    struct sw_cfi_cover other;
    const uint64_t next = req->frame->lookup + sw_arch_of(req->walker->machine)->insn_bytes;
    return req->frame->exact && req->frame->lookup == cover->begin && next < cover->end &&
           sw_cfi_rule(&req->entry->cfi, next, &req->work->cfi, rule, &other) == SW_OK && is_pushed(req, rule);
}

/*
 * The first entry of an ARM64 PLT pushes lr and a word for the dynamic linker's resolver, whose table begins in front
 * of both. The caller's stack begins behind them.
 */
static void mend_pushed(const struct sw_unwind_request *req, const struct sw_cfi_cover *cover, struct sw_candidate *c)
{
    struct sw_rule *rule = &c->rule;
    if (rule->cfa.kind != SW_LOC_REG || rule->cfa.off > INT32_MAX - PUSHED ||
        !(is_pushed(req, rule) || is_pushed_next(req, cover)))
        return;
    rule->cfa.off += PUSHED;
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        if (rule->r[n].kind == SW_LOC_AT_CFA && rule->r[n].off >= INT32_MIN + PUSHED)
            rule->r[n].off -= PUSHED;
}

/*
 * A return address behind the function, to which no call returns: whoever made the stack up stored the start of what
 * stands behind (root.c), and this table says nothing of that.
 */
static bool is_made_up(const struct sw_unwind_request *req)
{
    uint64_t target;
    return !req->frame->exact && !sw_is_behind_call(req, sw_regs_pc(&req->frame->regs), &target);
}

/*
 * A table that says of a place inside a function what holds at its first instruction: nothing moved, nothing saved. A
 * compiler's frames are larger where they call; of code in assembler it may say nothing because nothing was said: Go's
 * clone and goexit, above which lies what is another's. True: the code says that it is a root.
 */
static bool is_root(const struct sw_unwind_request *req, const struct sw_cfi_cover *cover, struct sw_candidate *c)
{
    const struct sw_regs_roles *roles = sw_regs_roles_of(req->walker->machine);
    const struct sw_loc cfa = c->rule.cfa;
    struct sw_code code;
    if (c->rule.flags || cfa.kind != SW_LOC_REG || cfa.reg != roles->sp ||
        cfa.off != sw_rule_cfa_above_entry(req->walker->machine) ||
        (req->frame->exact && req->frame->lookup == cover->begin) || !code_of(req, &code))
        return false;
    const bool is_moved = !req->frame->exact && done_before(req, &code, cover->begin).places_sp;
    const enum sw_root root = sw_root_of(req, &code, is_moved);
    if (root >= SW_ROOT_OF_OTHERS)
        c->depends = SW_DEPENDS_STACK;
    if (root == SW_ROOT_NONE || root == SW_ROOT_OF_OTHERS)
        return false;
    sw_root_rule(req->walker->machine, &c->rule);
    return true;
}

/* What is done about each lie, on machines where it was met. */
static const struct {
    enum sw_cfi_quirk quirk;
    void (*mend)(const struct sw_unwind_request *req, const struct sw_cfi_cover *cover, struct sw_candidate *c);
} mends[] = {
    { SW_CFI_EPILOGUES, mend_epilogue },
    { SW_CFI_BARE, mend_bare },
    { SW_CFI_SILENCE, mend_silence },
    { SW_CFI_PUSHED, mend_pushed },
};

enum sw_status sw_cfi_image_source(const struct sw_unwind_request *req, struct sw_candidate *c)
{
    struct sw_cfi_cover cover = { 0 };
    const enum sw_status status = sw_cfi_rule(&req->entry->cfi, req->frame->lookup, &req->work->cfi, &c->rule, &cover);
    if (cover.bytes >= BYTES_A_UNIT)
        (void)sw_meter_pay(&req->work->meter, cover.bytes / BYTES_A_UNIT);
    if (status != SW_OK)
        return status;
    if (cover.end == sw_regs_pc(&req->frame->regs) && is_made_up(req))
        return SW_E_NO_RULE;
    if (is_root(req, &cover, c))
        return SW_OK;
    /* Of a frame that is not executing in an epilogue, and whose table says something, these are not asked at all. */
    const unsigned silent = SW_CFI_SILENCE | SW_CFI_BARE;
    const unsigned never = (req->frame->exact ? 0u : SW_CFI_EPILOGUES) | (cover.places ? silent : 0u);
    const unsigned quirks = sw_arch_of(req->walker->machine)->cfi_quirks & ~never;
    for (size_t i = 0; quirks != 0 && i < sizeof mends / sizeof mends[0]; i++)
        if (quirks & mends[i].quirk)
            mends[i].mend(req, &cover, c);
    if (req->frame->exact)
        sw_cfi_check(req, &cover, c);
    c->rule.initial = quirks || req->frame->exact ? 0 : c->rule.initial; /* what was mended is not as it was */
    return SW_OK;
}

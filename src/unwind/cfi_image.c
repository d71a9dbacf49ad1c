/*
 * Frames of images by their call frame information. A table tells exactly, but for three kinds of lies that were met:
 * gcc's about epilogues of realigned frames, those of hand-written code that pushes and writes registers without a
 * word, and those about what was pushed by code that jumped here. Where the table is of such a kind its code is looked
 * at. Knows nothing of the format (lib/cfi).
 */
#include "unwind/cfi_image.h"

enum { MOST_SCANNED = 256, SILENT_PUSHES = 2, PUSHED = 16, A64_WORD = 4 };

/* Only x64 is looked at here. */
static bool code_of(const struct sw_question *q, struct sw_code *code)
{
    return q->walker->machine == SW_MACHINE_X64 && !(q->walker->flags & SW_WALK_NO_ANALYSIS) && sw_code_of(q, code);
}

/* The caller that the table leads to; another rule is believed where it leads to the same. */
struct same_caller {
    const struct sw_question *q;
    uint64_t pc;
    uint64_t sp;
};

static bool note_caller(const struct sw_question *q, struct same_caller *same)
{
    if (sw_try_rule(q, &q->room->rule, NULL) != SW_STOP_NONE)
        return false;
    *same = (struct same_caller){ q, sw_regs_pc(&q->room->caller), sw_regs_sp(&q->room->caller) };
    return true;
}

static bool leads_to(const struct same_caller *same, const struct sw_rule *rule)
{
    const struct sw_regs *caller = &same->q->room->caller;
    return sw_try_rule(same->q, rule, NULL) == SW_STOP_NONE && sw_regs_pc(caller) == same->pc &&
           sw_regs_sp(caller) == same->sp;
}

/* ---- epilogues of realigned frames ---- */

static bool is_same_caller(void *arg, const struct sw_rule *rule)
{
    const struct same_caller *same = arg;
    if (!leads_to(same, rule))
        return false;
    same->q->room->plain = *rule;
    return true;
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
static void mend_epilogue(const struct sw_question *q)
{
    struct sw_walk_room *room = q->room;
    struct same_caller same;
    struct sw_code code;
    if (!q->frame->exact || room->rule.cfa.kind != SW_LOC_REG || !is_any_apart(&room->rule) || !code_of(q, &code) ||
        !note_caller(q, &same))
        return;
    if (sw_analyze_forward(&code, sw_regs_pc(&q->frame->regs), NULL, &room->analysis, is_same_caller, &same) != SW_OK)
        return;
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        if (is_apart(&room->rule, n))
            room->rule.r[n] = room->plain.r[n];
}

/* ---- registers written without a word ---- */

static uint64_t kept_registers(void)
{
    return sw_regs_nonvolatile(SW_MACHINE_X64) & ~(UINT64_C(1) << SW_X64_RSP | UINT64_C(1) << SW_X64_RIP);
}

/*
 * A frame in which no register was ever saved although there were pushes, or one that is executing. Compiled code
 * pushes little else than registers to be saved, and says so; to look at the code of every frame would cost too much.
 */
static bool is_suspicious(const struct sw_question *q, const struct sw_cfi_cover *cover)
{
    const struct sw_rule *rule = &q->room->rule;
    if (rule->flags || cover->places != 0 || rule->cfa.kind != SW_LOC_REG || rule->cfa.reg != SW_X64_RSP)
        return false;
    for (unsigned n = 0; n < SW_X64_COUNT; n++)
        if ((kept_registers() >> n & 1) && rule->r[n].kind != SW_LOC_SAME)
            return false;
    return q->frame->exact || cover->pushes >= SILENT_PUSHES;
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

/* The nonvolatile registers that instructions in front of pc write, in the order in which they stand. */
static uint64_t written_before(const struct sw_question *q, const struct sw_code *code, uint64_t begin)
{
    const uint64_t pc = q->frame->lookup;
    uint64_t written = 0;
    struct sw_insn insn;
    for (uint64_t at = begin; at < pc && pc - begin <= MOST_SCANNED; at += insn.length) {
        size_t size;
        const uint8_t *bytes = code->fetch(code->arg, at, &size);
        if (!bytes || code->decode(bytes, size, at, &insn) != SW_OK || insn.length > pc - at)
            break;
        written |= written_by(&insn);
    }
    return written & kept_registers();
}

/* Where the instructions lead to the same caller they say where its registers are; else those written are lost. */
static void mend_silence(const struct sw_question *q, const struct sw_cfi_cover *cover)
{
    struct sw_walk_room *room = q->room;
    struct same_caller same;
    struct sw_code code;
    if (!is_suspicious(q, cover) || !code_of(q, &code))
        return;
    const uint64_t written = written_before(q, &code, cover->begin);
    if (written == 0 || !note_caller(q, &same))
        return;
    const bool told = sw_function_rule(q, &code, cover->begin, cover->end, &room->plain) == SW_OK &&
                      room->plain.trust != SW_TRUST_GUESS && leads_to(&same, &room->plain);
    for (unsigned n = 0; n < SW_X64_COUNT; n++)
        if (written >> n & 1)
            room->rule.r[n] = told ? room->plain.r[n] : (struct sw_loc){ SW_LOC_UNKNOWN, 0, 0, 0 };
}

/* ---- what was pushed in front ---- */

/* A return address above the CFA: other code pushed it before it jumped here, and the table leaves that out. */
static bool is_pushed(const struct sw_rule *rule)
{
    const struct sw_loc ra = rule->r[SW_ARM64_PC];
    return rule->flags == 0 && ra.kind == SW_LOC_AT_CFA && ra.off >= 0 && ra.off < PUSHED;
}

/* Whether it is so behind the function's first instruction, when that is executing: a landing pad, told of with no
 * word. */
static bool is_pushed_next(const struct sw_question *q, const struct sw_cfi_cover *cover)
{
    struct sw_cfi_cover other;
    const uint64_t next = q->frame->lookup + A64_WORD;
    return q->frame->exact && q->frame->lookup == cover->begin && next < cover->end &&
           sw_cfi_rule(&q->entry->cfi, next, &q->room->cfi, &q->room->plain, &other) == SW_OK &&
           is_pushed(&q->room->plain);
}

/*
 * The first entry of an ARM64 PLT pushes lr and a word for the dynamic linker's resolver, whose table begins in front
 * of both. The caller's stack begins behind them.
 */
static void mend_pushed(const struct sw_question *q, const struct sw_cfi_cover *cover)
{
    struct sw_rule *rule = &q->room->rule;
    if (q->walker->machine != SW_MACHINE_ARM64 || rule->cfa.kind != SW_LOC_REG || rule->cfa.off > INT32_MAX - PUSHED ||
        !(is_pushed(rule) || is_pushed_next(q, cover)))
        return;
    rule->cfa.off += PUSHED;
    for (unsigned n = 0; n < SW_ARM64_COUNT; n++)
        if (rule->r[n].kind == SW_LOC_AT_CFA && rule->r[n].off >= INT32_MIN + PUSHED)
            rule->r[n].off -= PUSHED;
}

enum sw_status sw_cfi_image_source(const struct sw_question *q)
{
    struct sw_cfi_cover cover;
    const enum sw_status status = sw_cfi_rule(&q->entry->cfi, q->frame->lookup, &q->room->cfi, &q->room->rule, &cover);
    if (status != SW_OK)
        return status;
    mend_epilogue(q);
    mend_silence(q, &cover);
    mend_pushed(q, &cover);
    return SW_OK;
}

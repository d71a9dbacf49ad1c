/*
 * What is kept of a frame: its rule and its code in the form that a line of the cache has, and the rule out of it
 * again. Knows what follows from a pc alone; refuses to know lines (cache.c) and steps (warm.c).
 */
#include "fast/pack.h"
#include "unwind/infer/code_patterns.h"

#include "code/map/codemap.h"

#include <string.h>

enum { RSP = SW_X64_RSP, RIP = SW_X64_RIP, WORD = 8, MASK = 0xffff };

#define BIT(n) (UINT64_C(1) << (n))

/* ---- the rule of an x64 frame ---- */

static struct sw_loc location(const struct sw_walk_here *here, unsigned i)
{
    const int32_t below = (int32_t)(here->where >> (8 * i) & 0xff);
    const bool same = here->where >> (SW_WHERE_SAME_SHIFT + sw_warm_registers[i]) & 1;
    const enum sw_loc_kind kind = below ? SW_LOC_AT_CFA : same ? SW_LOC_SAME : SW_LOC_UNKNOWN;
    return (struct sw_loc){ (uint8_t)kind, 0, 0, -WORD * below };
}

static void unpack_x64(const struct sw_walk_here *here, struct sw_rule *rule)
{
    const uint64_t form = here->form;
    rule->cfa = (struct sw_loc){ SW_LOC_REG, form >> SW_FORM_CFA_SHIFT & 15, 0,
                                 (int32_t)((int64_t)form >> SW_FORM_OFFSET_SHIFT) * WORD };
    rule->r[RIP] = (struct sw_loc){ SW_LOC_AT_CFA, 0, 0, -WORD };
    for (unsigned i = 0; i < SW_WARM_REGISTERS; i++)
        rule->r[sw_warm_registers[i]] = location(here, i);
}

static bool fits_word(int32_t off, int32_t least, int32_t most)
{
    return off % WORD == 0 && off / WORD >= least && off / WORD <= most;
}

/* Where a register is, or false: it cannot be said in a byte. */
static bool pack_register(const struct sw_rule *rule, unsigned i, struct sw_cached *to)
{
    const unsigned n = sw_warm_registers[i];
    const struct sw_loc loc = rule->r[n];
    if (loc.kind == SW_LOC_UNKNOWN)
        return true;
    if (loc.kind == SW_LOC_SAME && loc.off == 0) {
        to->where |= BIT(SW_WHERE_SAME_SHIFT + n);
        return true;
    }
    if (loc.kind != SW_LOC_AT_CFA || !fits_word(loc.off, -SW_WARM_WORDS, -1))
        return false;
    to->form |= BIT(SW_FORM_SAVED_SHIFT + n);
    to->where |= (uint64_t)(-loc.off / WORD) << (8 * i);
    return true;
}

static bool is_listed(unsigned n)
{
    return n == RSP || n == RIP || memchr(sw_warm_registers, (int)n, sizeof sw_warm_registers) != NULL;
}

static bool pack_x64(const struct sw_rule *rule, struct sw_cached *to)
{
    const struct sw_loc pc = rule->r[RIP], sp = rule->r[RSP];
    if (rule->cfa.kind != SW_LOC_REG || rule->cfa.reg >= RIP || !fits_word(rule->cfa.off, INT16_MIN, INT16_MAX) ||
        pc.kind != SW_LOC_AT_CFA || pc.off != -WORD || sp.kind != SW_LOC_CFA || sp.off != 0)
        return false;
    for (unsigned n = 0; n < SW_X64_COUNT; n++)
        if (!is_listed(n) && rule->r[n].kind != SW_LOC_UNKNOWN)
            return false;
    for (unsigned i = 0; i < SW_WARM_REGISTERS; i++)
        if (!pack_register(rule, i, to))
            return false;
    const bool framed = rule->cfa.reg == SW_X64_RBP && rule->cfa.off == 2 * WORD && (to->where & 0xff) == 2;
    const bool quick = (framed || rule->cfa.reg == RSP) && !sw_warm_is_far(to->where);
    const uint64_t kept = (to->where >> SW_WHERE_SAME_SHIFT) | (to->form >> SW_FORM_SAVED_SHIFT & MASK);
    to->form |=
        (framed ? SW_FORM_FRAMED : 0) | (kept == SW_X64_NONVOLATILE && quick ? SW_FORM_QUICK | SW_FORM_EASY : 0);
    to->form |= (uint64_t)rule->cfa.reg << SW_FORM_CFA_SHIFT | rule->source |
                (uint64_t)(uint16_t)(rule->cfa.off / WORD) << SW_FORM_OFFSET_SHIFT;
    return true;
}

/* ---- all of a line ---- */

void sw_warm_rule(enum sw_machine machine, const struct sw_walk_here *here, struct sw_rule *rule)
{
    sw_rule_init(rule, machine, (enum sw_source)(uint8_t)here->form,
                 (enum sw_trust)(uint8_t)(here->form >> SW_FORM_TRUST_SHIFT));
    if (here->form & SW_FORM_END)
        rule->flags = SW_RULE_END;
    else if (machine == SW_MACHINE_X64)
        unpack_x64(here, rule);
    else
        sw_unpack_arm64(here, rule);
}

/* What the call in front of the pc calls; and false for a pc that is none to return to. */
static bool pack_call(const struct sw_unwind_request *req, uint64_t pc, bool is_managed, struct sw_cached *to)
{
    uint64_t target, slot;
    if (req->frame->exact)
        return true;
    if (!sw_call_before(req, pc, &target, &slot))
        return !is_managed; /* managed code that was interrupted: the next time it is exact */
    to->calls = slot ? 0 : (uint32_t)(target - pc);
    if (slot || (target && pc + (uint64_t)(int64_t)(int32_t)to->calls == target))
        to->form |= SW_FORM_CALLS;
    return true;
}

/* The code around the pc: in a range that holds both pc and lookup, or else in an image. */
static bool pack_code(const struct sw_unwind_request *req, uint64_t pc, struct sw_cached *to)
{
    const struct sw_range *code = &req->frame->code;
    const struct sw_codemap *map = req->walker->codemap;
    struct sw_range range;
    to->id = code->id;
    to->rest = code->image | (uint64_t)code->kind << 32 | (uint64_t)code->unwind << 40 | (uint64_t)code->flags << 48;
    if (code->flags & SW_RANGE_FROM_FINDER)
        return false; /* nothing would tell that it is gone */
    if (!map || !sw_codemap_find_inside(map, req->frame->lookup, &range))
        to->form |= SW_FORM_UNRANGED;
    if (code->begin == code->end)
        return req->entry && pc < req->entry->info.end;
    to->place = (pc - code->begin) | (code->end - code->begin) << 32;
    return pc < code->end && code->end - code->begin <= UINT32_MAX;
}

static void pack_confirmation(const struct sw_workspace *work, const struct sw_found *found, struct sw_cached *to)
{
    const bool by_call = found->depends == SW_DEPENDS_CALL;
    const bool only_so = by_call && found->unconfirmed == SW_TRUST_NONE;
    const uint8_t trust = by_call && !only_so ? found->unconfirmed : work->rule.trust;
    to->form |= (uint64_t)trust << SW_FORM_TRUST_SHIFT | (by_call ? SW_FORM_BY_CALL : 0) |
                (only_so ? SW_FORM_ONLY_SO : 0);
}

/* Everything about the frame in one line, or false. */
static bool pack(const struct sw_unwind_request *req, const struct sw_found *found, uint64_t pc, struct sw_cached *to)
{
    const struct sw_workspace *work = req->work;
    const uint8_t kind = req->frame->code.kind;
    if (pc >= SW_CACHE_PC_END || to->stamp == SW_STAMP_NEVER || (work->rule.flags & SW_RULE_SIGNAL) ||
        !pack_code(req, pc, to) || !pack_call(req, pc, kind == SW_KIND_JIT || kind == SW_KIND_NGEN, to))
        return false;
    if (work->rule.flags & SW_RULE_END) {
        to->form |= SW_FORM_END;
        return true;
    }
    to->form |= SW_FORM_STEPS;
    pack_confirmation(work, found, to);
    const bool fits =
        req->walker->machine == SW_MACHINE_X64 ? pack_x64(&work->rule, to) : sw_pack_arm64(&work->rule, to);
    if (!fits || work->rule.trust <= SW_TRUST_GUESS)
        return false;
    if (to->form & SW_FORM_BY_CALL)
        to->form &= ~(SW_FORM_QUICK | (to->form & SW_FORM_ONLY_SO ? SW_FORM_EASY : 0));
    return true;
}

void sw_warm_keep(const struct sw_unwind_request *req, const struct sw_found *found)
{
    struct sw_warm *warm = &req->work->warm;
    const uint64_t pc = sw_regs_pc(&req->frame->regs);
    if (!warm->cache)
        return;
    struct sw_cached cached = { .key = sw_warm_key(warm, req->frame), .stamp = warm->stamp };
    if (found->depends != SW_DEPENDS_STACK && pack(req, found, pc, &cached))
        sw_cache_keep(warm->cache, &warm->clocks, pc, &cached);
    else
        sw_cache_count(warm->cache, SW_COUNT_REFUSED, 1);
}

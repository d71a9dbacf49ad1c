/*
 * Interpreters of threaded code: each part ends in a jump through a register or a table in memory, so that no path
 * leads from a function's start to pc, nor from pc to a return. But with whatever frame the start comes to such a jump,
 * pc's code comes to one.
 */
#include "unwind/infer/dispatch.h"

#include "unwind/findings.h"

#include <string.h>

/* ---- what code alone tells ---- */

enum { JUMP_WORDS = 1 + 2 * SW_REGS_MAX, DISPATCH_RULES = 8 };

_Static_assert(sizeof(struct sw_val) == 16, "two words");

static bool refuse(void *arg, const struct sw_rule *rule)
{
    (void)arg, (void)rule;
    return false;
}

/*
 * The registers at an indirect jump, in terms of what they are at the pc from which it was reached. Of several jumps
 * the one with the most on the stack, since others may be tail calls; but no more than at pc, where the frame is made.
 */
static size_t deepest_jump(struct sw_analysis *w, unsigned sp, uint64_t *words)
{
    const struct sw_state *state;
    int32_t deepest = INT32_MAX;
    words[0] = false;
    for (unsigned at = 0; (state = sw_analyze_jump(w, &at)) != NULL;) {
        const struct sw_val v = state->reg[sp];
        if (v.base != sp + 1 || v.deref || v.off < 0 || v.off >= deepest)
            continue;
        deepest = v.off;
        words[0] = true;
        memcpy(words + 1, state->reg, sizeof state->reg);
    }
    return words[0] ? JUMP_WORDS : 1;
}

static size_t find_jump(const struct sw_unwind_request *req, const struct sw_code *code,
                        const struct sw_finding *finding, uint64_t *words, size_t room)
{
    struct sw_fp_distance unknown = { 0, false, false };
    (void)room;
    (void)!sw_analyze_forward(code, finding->a, &unknown, &req->work->analysis, refuse, NULL);
    return deepest_jump(&req->work->analysis, code->arch->roles->sp, words);
}

/* The rules at a function's indirect jumps, behind their number. */
static size_t find_dispatch(const struct sw_unwind_request *req, const struct sw_code *code,
                            const struct sw_finding *finding, uint64_t *words, size_t room)
{
    struct sw_analysis *w = &req->work->analysis;
    struct sw_rule *rule = &req->work->spare[1].rule;
    const size_t size = sizeof *rule / 8;
    const struct sw_state *state, *last = NULL;
    words[0] = 0;
    sw_analyze_run(code, finding->a, 0, w);
    for (unsigned at = 0; (state = sw_analyze_jump(w, &at)) != NULL; last = state)
        if (state != last && words[0] < DISPATCH_RULES && sw_extract_inside(state, code->arch, rule) &&
            1 + (words[0] + 1) * size <= room)
            memcpy(words + 1 + words[0]++ * size, rule, sizeof *rule);
    return 1 + words[0] * size;
}

/* ---- findings ---- */

static struct sw_finding jump_from(uint64_t pc)
{
    return (struct sw_finding){ SW_FINDING_TO_JUMP, pc, 0, 0 };
}

struct sw_finding sw_dispatch_behind(const struct sw_code *code, uint64_t pc, struct sw_analysis *ways, uint64_t *words,
                                     size_t *count)
{
    *count = deepest_jump(ways, code->arch->roles->sp, words);
    return jump_from(pc);
}

static size_t to_jump(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t pc)
{
    const struct sw_finding finding = jump_from(pc);
    return sw_find_once(req, code, &finding, find_jump, req->work->words, SW_FINDING_WORDS);
}

static size_t rules_of(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t function)
{
    const struct sw_finding finding = { SW_FINDING_DISPATCH, function, 0, 0 };
    return sw_find_once(req, code, &finding, find_dispatch, req->work->words, SW_FINDING_WORDS);
}

bool sw_dispatch_finish(const struct sw_unwind_request *req, const struct sw_code *code,
                        const struct sw_finding *finding)
{
    if (finding->kind == SW_FINDING_TO_JUMP)
        return to_jump(req, code, finding->a) != 0;
    return finding->kind == SW_FINDING_DISPATCH && rules_of(req, code, finding->a) != 0;
}

/* ---- what both come to ---- */

/* A location at the jump as one at pc; `at` has the jump's registers in terms of those at pc. */
static bool take_to_pc(const struct sw_val *at, struct sw_loc *loc)
{
    if (loc->kind != SW_LOC_REG && loc->kind != SW_LOC_AT_REG)
        return true;
    const struct sw_val v = at[loc->reg];
    if (v.base == SW_VAL_UNKNOWN || v.base > SW_REGS_MAX || v.deref || v.weak || v.point != 0)
        return false;
    loc->reg = (uint8_t)(v.base - 1);
    loc->off += v.off;
    return true;
}

/*
 * A rule that holds at the jump, as one at pc. A register that pc's code writes must have been saved by the function
 * that pc is in: else this is another one, or no start.
 */
static bool rule_at_pc(const struct sw_val *at, const struct sw_arch *arch, struct sw_rule *rule)
{
    if (!take_to_pc(at, &rule->cfa) || !take_to_pc(at, &rule->r[arch->roles->pc]))
        return false;
    for (unsigned n = 0; n < arch->roles->count; n++) {
        if (rule->r[n].kind == SW_LOC_SAME && !sw_val_is_start(at[n], n))
            return false;
        if (!take_to_pc(at, &rule->r[n]))
            rule->r[n] = (struct sw_loc){ SW_LOC_UNKNOWN, 0, 0, 0 };
    }
    return true;
}

bool sw_dispatch_caller(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t function,
                        sw_dispatch_accept_fn *accept, struct sw_candidate *c)
{
    struct sw_workspace *work = req->work;
    const size_t size = sizeof c->rule / 8;
    if (to_jump(req, code, sw_regs_pc(&req->frame->regs)) != JUMP_WORDS || !work->words[0])
        return false;
    memcpy(work->elsewhere.reg, work->words + 1, sizeof work->elsewhere.reg);
    const size_t count = rules_of(req, code, function);
    for (size_t at = 1; at + size <= count; at += size) {
        memcpy(&c->rule, work->words + at, sizeof c->rule);
        if (!rule_at_pc(work->elsewhere.reg, code->arch, &c->rule) || sw_candidate_try(req, c) != SW_STOP_NONE ||
            !accept(req, sw_regs_pc(&c->caller), function))
            continue;
        c->rule.source = SW_SOURCE_FORWARD;
        c->rule.trust = SW_TRUST_GUESS;
        return true;
    }
    return false;
}

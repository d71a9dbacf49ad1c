/*
 * Interpreters of threaded code: each part ends in a jump through a register or a table in memory, so that no path
 * leads from a function's start to pc, nor from pc to a return. But with whatever frame the start comes to such a jump,
 * pc's code comes to one.
 */
#include "unwind/infer/dispatch.h"

#include "unwind/find_once.h"
#include "unwind/findings.h"

#include <string.h>

/* ---- what code alone tells ---- */

enum { DISPATCH_RULES = 8 };

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

static size_t rules_of(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t function)
{
    const struct sw_finding finding = { SW_FINDING_DISPATCH, function, 0, 0 };
    return sw_find_once(req, code, &finding, find_dispatch, req->work->words, SW_FINDING_WORDS);
}

bool sw_dispatch_finish(const struct sw_unwind_request *req, const struct sw_code *code,
                        const struct sw_finding *finding)
{
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
    if (!sw_state_at_jump(req, code, sw_regs_pc(&req->frame->regs), &work->elsewhere))
        return false;
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

/*
 * The rule by the instructions of a function whose start is known: its code says where the caller is. The call in front
 * of the return address says how sure that is. Code that need not keep to the calling convention has to lead to such a
 * call.
 */
#include "unwind/infer/instructions.h"

#include "unwind/findings.h"
#include "unwind/infer/code_patterns.h"

enum { LONGEST_STUB = 1024 };

bool sw_is_foreign(const struct sw_unwind_request *req)
{
    const struct sw_range *code = &req->frame->code;
    return code->unwind == SW_UNWIND_FOREIGN || (code->begin == code->end && req->walker->images && !req->entry);
}

bool sw_leads_behind_call(const struct sw_unwind_request *req, struct sw_candidate *c, uint64_t *target)
{
    return sw_candidate_try(req, c) == SW_STOP_NONE && sw_is_behind_call(req, sw_regs_pc(&c->caller), target);
}

/* Stubs reported as one block: where the one around pc begins is not known. */
static bool is_block_of_stubs(const struct sw_range *code)
{
    return code->kind == SW_KIND_STUB && code->end - code->begin > LONGEST_STUB;
}

/*
 * The same frame by its frame pointer, where the function saved its caller's first of all and then has one of its own:
 * where callees pop the arguments that were pushed for them, sp is not where analysis thinks. Changes the rule if so.
 */
static bool by_frame_record(const struct sw_unwind_request *req, struct sw_rule *rule)
{
    const struct sw_regs *regs = &req->frame->regs;
    const unsigned fp = sw_regs_fp_number(regs->machine);
    struct sw_candidate *record = &req->work->spare[0];
    uint64_t saved, target;
    if (sw_regs_link_number(regs->machine) != SW_REGS_MAX || rule->r[fp].kind != SW_LOC_AT_CFA ||
        rule->r[fp].off != -16 || rule->cfa.kind != SW_LOC_REG || rule->cfa.reg == fp ||
        !sw_regs_has(regs, rule->cfa.reg) || !sw_regs_has(regs, fp))
        return false;
    const uint64_t cfa = regs->r[rule->cfa.reg] + (uint64_t)(int64_t)rule->cfa.off;
    if (sw_memory_word(&req->walker->memory, cfa - 16, &saved) && saved == sw_regs_fp(regs))
        return false; /* still its caller's */
    record->rule = *rule;
    record->rule.cfa = (struct sw_loc){ SW_LOC_REG, (uint8_t)fp, 0, 16 };
    if (!sw_leads_behind_call(req, record, &target))
        return false;
    *rule = record->rule;
    return true;
}

/*
 * A rule that leads to no caller that has called, and comes with an assumption or from such code: others are better.
 * The stubs of a range may be entered anywhere, so that what was assumed from its start may even lead to such a caller.
 */
static void doubt(const struct sw_unwind_request *req, bool has_called, struct sw_candidate *c)
{
    const bool is_assumed = c->rule.trust == SW_TRUST_GUESS;
    c->is_doubted = has_called ? is_assumed && req->frame->code.kind == SW_KIND_STUB : is_assumed || sw_is_foreign(req);
    if (c->is_doubted)
        c->rule.trust = SW_TRUST_GUESS;
}

/* What the stack decides of such a rule is its trust; in foreign code, and where a path was assumed, whether it holds.
 */
static void set_dependence(const struct sw_unwind_request *req, bool is_confirmed, struct sw_candidate *c)
{
    const bool only_confirmed = sw_is_foreign(req);
    if (c->rule.trust == SW_TRUST_GUESS || (only_confirmed && !is_confirmed))
        return;
    c->depends = SW_DEPENDS_CALL;
    c->function = req->frame->code.begin;
    c->unconfirmed = c->pointed = only_confirmed ? SW_TRUST_NONE : c->rule.trust;
}

enum sw_status sw_function_source(const struct sw_unwind_request *req, struct sw_candidate *c)
{
    const struct sw_range *code = &req->frame->code;
    struct sw_code where;
    uint64_t target = 0;
    if (code->begin == code->end || is_block_of_stubs(code) || !sw_code_of(req, &where))
        return SW_E_NO_RULE;
    const enum sw_status status = sw_function_rule(req, &where, code->begin, code->end, &c->rule);
    if (status)
        return status;
    const bool has_called = sw_leads_behind_call(req, c, &target), is_confirmed = has_called && target == code->begin;
    set_dependence(req, is_confirmed, c);
    if (is_confirmed)
        c->rule.trust = SW_TRUST_CONFIRMED;
    else if (sw_is_foreign(req) && by_frame_record(req, &c->rule))
        return SW_OK;
    doubt(req, has_called, c);
    return SW_OK;
}

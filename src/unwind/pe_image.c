/*
 * Frames of PE images by their exception directory. An entry tells exactly, but for two places where the convention
 * guesses and the stack is asked: a jump out of the entry, which the convention takes for a tail call although gcc's
 * cold parts are entries of their own; and code without an entry, which the convention takes for a function that moves
 * nothing although hand-written code often has none. Asked means: does a call stand in front of the return address, and
 * where do the instructions lead? Knows nothing of the formats (lib/pe).
 */
#include "unwind/pe_image.h"

#include "unwind/findings.h"
#include "unwind/infer/code_patterns.h"

/* Whether the rule leads to the outermost frame or to a return address with a call in front, and what that calls. */
static bool is_plausible(const struct sw_unwind_request *req, struct sw_candidate *c, uint64_t *target)
{
    const enum sw_stop stop = sw_candidate_try(req, c);
    *target = 0;
    if (stop == SW_STOP_ROOT_ZERO)
        return true;
    return stop == SW_STOP_NONE && sw_is_behind_call(req, sw_regs_pc(&c->caller), target);
}

/* ---- jumps between the parts of a function ---- */

static enum sw_status rule_at(const struct sw_unwind_request *req, bool exact, struct sw_rule *rule)
{
    return sw_pe_image_rule(&req->entry->pe, req->entry->exceptions, req->frame->lookup, exact, rule);
}

static bool same_cfa(const struct sw_rule *a, const struct sw_rule *b)
{
    return a->cfa.reg == b->cfa.reg && a->cfa.off == b->cfa.off;
}

/*
 * Where an epilogue seen at pc leads nowhere and the body's rule leads to a caller, it was a jump inside. Where no
 * epilogue was seen the stack is not asked: the rule follows from the code.
 */
static void mend_epilogue(const struct sw_unwind_request *req, struct sw_candidate *c)
{
    struct sw_candidate *body = &req->work->spare[0];
    uint64_t target;
    if (!req->frame->exact || rule_at(req, false, &body->rule) != SW_OK || same_cfa(&body->rule, &c->rule) ||
        is_plausible(req, c, &target) || !is_plausible(req, body, &target))
        return;
    c->rule = body->rule;
    c->rule.trust = SW_TRUST_LIKELY;
}

/* ---- code without an entry ---- */

/* What instructions forward to a return say of the caller that the convention names. */
struct opinion {
    const struct sw_unwind_request *req;
    uint64_t pc;
    uint64_t sp;
    bool differs; /* they lead to another caller that looks right */
};

static bool is_agreed(void *arg, const struct sw_rule *rule)
{
    struct opinion *opinion = arg;
    struct sw_candidate *other = &opinion->req->work->spare[0];
    uint64_t target;
    other->rule = *rule;
    if (!is_plausible(opinion->req, other, &target))
        return false;
    const bool same = sw_regs_pc(&other->caller) == opinion->pc && sw_regs_sp(&other->caller) == opinion->sp;
    opinion->differs |= !same;
    return same;
}

static enum sw_status ask_instructions(const struct sw_unwind_request *req, struct sw_candidate *c)
{
    struct sw_code code;
    struct opinion opinion = { req, sw_regs_pc(&c->caller), sw_regs_sp(&c->caller), false };
    if ((req->walker->flags & SW_WALK_NO_ANALYSIS) || !sw_code_of(req, &code))
        return SW_OK;
    if (sw_forward_rules(req, &code, sw_regs_pc(&req->frame->regs), NULL, is_agreed, &opinion) == SW_OK)
        c->rule.trust = SW_TRUST_EXACT;
    return opinion.differs && c->rule.trust != SW_TRUST_EXACT ? SW_E_NO_RULE : SW_OK;
}

/*
 * Exact pcs only: what has made a call is no leaf, and has to have an entry. Behind a system call nothing was called:
 * the kernel, or what does its work in a frame between, as Wine's dispatcher, goes on there.
 */
static enum sw_status leaf(const struct sw_unwind_request *req, struct sw_candidate *c)
{
    const struct sw_pe *pe = &req->entry->pe;
    struct sw_rule *rule = &c->rule;
    const uint64_t pc = sw_regs_pc(&req->frame->regs);
    uint64_t target;
    if (!(req->frame->exact || sw_is_behind_system_call(req, pc)) ||
        !sw_pe_is_code(pe, (uint32_t)(pc - pe->bytes.address)))
        return SW_E_NO_RULE;
    sw_rule_leaf(rule, pe->machine, SW_SOURCE_LEAF, SW_TRUST_LIKELY);
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        if (sw_pe_nonvolatile(pe->machine, pe->linux_code) >> n & 1)
            rule->r[n].kind = SW_LOC_SAME;
    if (!is_plausible(req, c, &target))
        return c->stop == SW_STOP_UNREADABLE ? SW_OK : SW_E_NO_RULE; /* the stack may be one that is read later */
    if (target == pc) {
        rule->trust = SW_TRUST_CONFIRMED; /* it was just called */
        return SW_OK;
    }
    return ask_instructions(req, c);
}

enum sw_status sw_pe_image_source(const struct sw_unwind_request *req, struct sw_candidate *c)
{
    const enum sw_status usable = req->entry->exceptions_status;
    if (usable)
        return usable == SW_E_NOT_FOUND ? SW_E_NO_RULE : usable;
    const enum sw_status status = rule_at(req, req->frame->exact, &c->rule);
    if (status == SW_OK)
        mend_epilogue(req, c);
    return status == SW_E_NO_RULE ? leaf(req, c) : status;
}

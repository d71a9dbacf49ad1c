/*
 * The rule at a pc in code whose start is not known: forward along every way to a return, which leads to the caller
 * where a call stands in front of the return address. If that call names a function, the rule by that function's own
 * analysis is better, and certain. Where no way leads to a return, the stack and the code around pc are searched.
 */
#include "unwind/infer/instructions.h"

#include "unwind/findings.h"
#include "unwind/trampoline.h"
#include "unwind/infer/call_confirmation.h"
#include "unwind/infer/code_patterns.h"
#include "unwind/infer/frame_scan.h"
#include "unwind/infer/function_scan.h"
#include "unwind/infer/tail_call.h"

#include <string.h>

enum { MOST_REFUSED = 6, FRAME_ALIGNMENT = 16, WIDEST_FRAME = 1 << 20 };

/* ---- PLTs ---- */

/*
 * The first entry of a PLT, where it pushes: a jump behind a push is no tail call, and the resolver has a table of its
 * own. And the other entries. Only an executing pc can be there.
 */
enum sw_status sw_plt_source(const struct sw_unwind_request *req, struct sw_candidate *c)
{
    const uint64_t pc = sw_regs_pc(&req->frame->regs);
    struct sw_rule *rule = &c->rule;
    struct sw_code code;
    uint64_t target;
    unsigned pushed = 0;
    if (!req->frame->exact || !sw_code_of(req, &code) || !code.arch->patterns->plt_header ||
        !(code.arch->patterns->plt_header(&code, pc, &pushed) || sw_analyze_stub(&code, pc, &target)))
        return SW_E_NO_RULE;
    sw_rule_leaf(rule, code.arch->machine, SW_SOURCE_FORWARD, SW_TRUST_LIKELY);
    if (pushed != 0) {
        rule->cfa.off += (int32_t)pushed;
        rule->r[code.arch->roles->pc] = (struct sw_loc){ SW_LOC_AT_CFA, 0, 0, -8 };
    }
    return sw_leads_behind_call(req, c, &target) ? SW_OK : SW_E_NO_RULE;
}

/* ---- ways forward ---- */

/*
 * What is found by going forward.
 *
 * c         The rule that a way came to, tried.
 * first     The first of them that leads to a caller by whose call it is not confirmed, or without a call in front of
 *           its pc, if has_first.
 * refused   The callers' sp of those that were accepted, but not confirmed: other ways are gone.
 * target    What the call in front of the accepted one's return address calls; 0: not known.
 * shown     How many rules there were. zeros: how many of them are of a return, and to 0.
 * is_own    lr is left from a call that this very function made.
 * is_jump   The accepted one comes to a jump through a register, as if that were a tail call.
 * is_askew  And the stack is not as it is in front of one.
 * is_base   The accepted one leads to no caller, but to a 0 that ends where the declared stack does.
 * is_weak   That; or its return address is in lr, which may be left from a call if the jump is one of a switch in the
 *           function that made the call.
 */
struct ways {
    const struct sw_unwind_request *req;
    struct sw_candidate *c, *first;
    uint64_t target;
    uint64_t refused[MOST_REFUSED];
    unsigned shown, zeros, refused_count;
    bool is_own, is_jump, is_askew, is_base, is_weak, has_first;
};

static bool is_return_by_lr(const struct sw_rule *rule, enum sw_machine machine)
{
    const struct sw_loc ra = rule->r[sw_regs_pc_number(machine)];
    return ra.kind == SW_LOC_REG && ra.reg == sw_regs_link_number(machine);
}

/* Whether a caller is behind a call, or in a signal trampoline. */
static bool is_caller(struct ways *ways, uint64_t pc)
{
    return sw_is_behind_call(ways->req, pc, &ways->target) || sw_is_trampoline(ways->req, pc);
}

static bool is_refused(const struct ways *ways, uint64_t sp)
{
    for (unsigned i = 0; i < ways->refused_count; i++)
        if (ways->refused[i] == sp)
            return true;
    return false;
}

/*
 * Whether a rule, if it was offered for a jump through a register, can hardly be that of a tail call: sp is aligned
 * where a call is made, and so, in front of a tail call, where it returns to. Parts of an interpreter jump on
 * otherwise.
 */
static bool is_askew(const struct ways *ways, const struct sw_rule *rule)
{
    return rule->trust == SW_TRUST_NONE && !sw_is_foreign(ways->req) &&
           sw_regs_sp(&ways->c->caller) % FRAME_ALIGNMENT != 0;
}

/*
 * Whether the caller is in a range or an image, and pc in none: then it is not pc's function that made the call. So it
 * is with the stubs of a runtime, which jump on by what they load from an object.
 */
static bool is_elsewhere(const struct ways *ways)
{
    const struct sw_unwind_request *req = ways->req;
    const uint64_t pc = sw_regs_pc(&ways->c->caller);
    const struct sw_image_entry *entry = sw_request_image(req, pc);
    struct sw_range code;
    if (req->entry || req->frame->code.begin != req->frame->code.end)
        return false;
    sw_find_code(req->walker, entry, pc - 1, &code);
    return entry || code.begin != code.end;
}

/* The first one: what is said if nothing else is known. */
static void keep_first(struct ways *ways)
{
    if (!ways->has_first)
        *ways->first = *ways->c;
    ways->has_first = true;
}

/* A 0 that the very first way leads to, and behind which nothing is left of the stack, is the stack's bottom. */
static bool is_at_base(const struct ways *ways, enum sw_stop stop, const struct sw_rule *rule)
{
    const struct sw_walker *walker = ways->req->walker;
    return stop == SW_STOP_ROOT_ZERO && ways->shown == 1 && rule->trust != SW_TRUST_NONE && walker->stack_end != 0 &&
           sw_regs_sp(&ways->c->caller) == walker->stack_end && !sw_is_foreign(ways->req);
}

static bool is_accepted(void *arg, const struct sw_rule *rule)
{
    struct ways *ways = arg;
    ways->shown++;
    const bool is_by_lr = is_return_by_lr(rule, ways->req->walker->machine);
    if (ways->is_own && is_by_lr)
        return false;
    ways->c->rule = *rule;
    const enum sw_stop stop = sw_candidate_try(ways->req, ways->c);
    if (stop == SW_STOP_NONE && is_caller(ways, sw_regs_pc(&ways->c->caller)) &&
        !is_refused(ways, sw_regs_sp(&ways->c->caller))) {
        ways->is_jump = rule->trust == SW_TRUST_NONE;
        ways->is_askew = is_askew(ways, rule);
        ways->is_weak = ways->is_askew || (is_by_lr && ways->is_jump && !is_elsewhere(ways));
        ways->c->rule.trust = SW_TRUST_GUESS;
        return true;
    }
    ways->is_base = is_at_base(ways, stop, rule);
    if (ways->is_base) {
        ways->is_jump = ways->is_weak = false;
        return true;
    }
    ways->zeros += stop == SW_STOP_ROOT_ZERO && rule->trust != SW_TRUST_NONE;
    if (stop == SW_STOP_NONE || stop == SW_STOP_ROOT_ZERO)
        keep_first(ways);
    return false;
}

/* Further away fp is not the frame's. */
static struct sw_fp_distance fp_above_sp(const struct sw_regs *regs)
{
    const uint64_t distance = sw_regs_fp(regs) - sw_regs_sp(regs);
    const bool is_known = sw_regs_has(regs, sw_regs_fp_number(regs->machine)) && distance <= WIDEST_FRAME;
    return (struct sw_fp_distance){ is_known ? (int32_t)distance : 0, is_known, false };
}

/*
 * Whether code goes on from where the link register leads to and comes to pc. Then that register is not what pc's
 * function will return by, but what a call that it made has left.
 */
static bool is_own_lr(const struct sw_unwind_request *req, const struct sw_code *code)
{
    const struct sw_regs *regs = &req->frame->regs;
    const unsigned link = code->arch->roles->link;
    uint64_t target;
    if (!req->frame->exact || !sw_regs_has(regs, link))
        return false;
    const uint64_t behind = sw_code_address(req->walker, regs->r[link]);
    return sw_is_behind_call(req, behind, &target) && sw_state_from(req, code, behind, &req->work->elsewhere);
}

static bool go_forward(struct ways *ways, const struct sw_code *code)
{
    const struct sw_unwind_request *req = ways->req;
    const uint64_t at = sw_regs_pc(&req->frame->regs);
    /* A return address is walked from as such: the call in front of it has been made. */
    const uint64_t pc = req->frame->exact ? at : sw_analyze_from_call(code, at, &req->work->analysis);
    struct sw_fp_distance fp = fp_above_sp(&req->frame->regs);
    return sw_forward_rules(req, code, pc, &fp, is_accepted, ways) == SW_OK;
}

/* ---- what a confirmed answer depends on ---- */

/* Where a rule takes the return address from, relative to the register of its CFA; false: not from such a place. */
static bool return_place(const struct sw_rule *rule, enum sw_machine machine, int64_t *off)
{
    const struct sw_loc ra = rule->r[sw_regs_pc_number(machine)];
    *off = ra.kind == SW_LOC_AT_CFA ? (int64_t)rule->cfa.off + ra.off : ra.off;
    return ra.kind == SW_LOC_AT_CFA || (ra.kind == SW_LOC_AT_REG && ra.reg == rule->cfa.reg);
}

/*
 * A rule that was confirmed by a call of function F holds behind every call of F only where the long way would give it
 * again. What the long way asks:
 *
 * 1. The sources in front of this one. sw_unwind sees to those: if one of them looked at the stack, this is no answer
 * for another stack.
 * 2. Ways forward, until one leads behind a call: which one does, is the stack's. But the first one shown is the same
 * each time, and where it takes the return address from the very place that the rule of F takes it from, it leads
 * behind the call of F: it is accepted, and its call leads on to F and to this answer. Any other may be overtaken by
 * one in front of it. A return address in lr does not do: whether lr is believed is the stack's, too. (How far fp is
 * above sp matters to words only that the way itself has stored.)
 * 3. Words of the stack, since no way led behind a call: on another stack one may, so that is asked each time, unless
 * no way leads to a return at all (is_searched). And since sp has one depth at a place, from whichever function it is
 * reached, all functions that pc may be in take the return address from the same place: behind a call of F there it is
 * F. So it is with a function that was called back: behind a call that names nothing it is F, which was loaded to be
 * called there.
 *
 * The rule is made of the code from F to pc. So F has to be in pc's range or image: other code may go while pc's stays.
 */
static bool is_same_place(const struct sw_rule *a, const struct sw_rule *b, enum sw_machine machine)
{
    const struct sw_loc sa = a->r[sw_regs_sp_number(machine)], sb = b->r[sw_regs_sp_number(machine)];
    int64_t at_a, at_b;
    return a->cfa.kind == SW_LOC_REG && b->cfa.kind == SW_LOC_REG && a->cfa.reg == b->cfa.reg &&
           a->cfa.off == b->cfa.off && sa.kind == sb.kind && sa.off == sb.off && return_place(a, machine, &at_a) &&
           return_place(b, machine, &at_b) && at_a == at_b;
}

static bool is_function_near(const struct sw_unwind_request *req, uint64_t function)
{
    const struct sw_range *code = &req->frame->code;
    if (code->begin != code->end)
        return function >= code->begin && function < code->end;
    return req->entry && sw_images_entry(req->walker->images, function) == req->entry;
}

/* What a candidate that is to be the answer depends on. is_settled: as in 2 or 3, of a rule that is sure enough. */
static enum sw_status settle(const struct sw_unwind_request *req, bool is_settled, struct sw_candidate *c)
{
    c->depends = SW_DEPENDS_STACK;
    if (!is_settled || !is_function_near(req, c->function))
        return SW_OK;
    c->depends = SW_DEPENDS_CALL;
    c->unconfirmed = SW_TRUST_NONE;
    return SW_OK;
}

/* The same of what the stack was searched for: a function that was called, or called back. */
static enum sw_status settle_search(const struct ways *ways, struct sw_candidate *c)
{
    const bool is_callback = c->rule.trust == SW_TRUST_LIKELY && c->pointed == SW_TRUST_LIKELY;
    c->is_searched = ways->shown != 0;
    return settle(ways->req, ways->refused_count == 0 && (is_callback || c->rule.trust == SW_TRUST_CONFIRMED), c);
}

/*
 * The same of a way forward that leads behind a call that names nothing, through a register: there is nothing to
 * confirm it by. Where it is the first one it is accepted behind every such call; behind another call that one is
 * asked.
 */
static enum sw_status settle_pointed(const struct ways *ways)
{
    struct sw_candidate *c = ways->c;
    int64_t at;
    c->rule.trust = SW_TRUST_LIKELY;
    if (ways->shown != 1 || ways->is_jump || c->rule.cfa.kind != SW_LOC_REG ||
        !return_place(&c->rule, ways->req->walker->machine, &at))
        return SW_OK;
    c->depends = SW_DEPENDS_CALL;
    c->unconfirmed = SW_TRUST_NONE;
    c->pointed = SW_TRUST_LIKELY;
    c->function = 0;
    return SW_OK;
}

/* Whether two rules say the same, whoever says it and how sure it is. */
static bool is_same_rule(const struct sw_rule *a, const struct sw_rule *b)
{
    return memcmp(&a->cfa, &b->cfa, sizeof a->cfa) == 0 && a->cfa_add == b->cfa_add && a->flags == b->flags &&
           memcmp(a->r, b->r, sizeof a->r) == 0;
}

/* ---- the source ---- */

bool sw_forward_is_silent(const struct sw_unwind_request *req)
{
    struct sw_code code;
    struct ways ways = { .req = req, .c = &req->work->asked[1], .first = &req->work->spare[0] };
    if (!sw_code_of(req, &code))
        return false;
    ways.is_own = is_own_lr(req, &code);
    return !go_forward(&ways, &code) && !req->work->meter.is_cut;
}

/* Whether the call in front of the accepted return address confirms a better rule; `first` holds the accepted one. */
static bool is_confirmed(const struct ways *ways, const struct sw_code *code, bool *is_first)
{
    struct sw_candidate *c = ways->c;
    *is_first = false;
    if (ways->target == 0)
        return false;
    if (!sw_confirm_by_call(ways->req, code, ways->target, c))
        return sw_tail_caller(ways->req, code, sw_final_target(ways->req, ways->target), sw_is_call_of, c);
    *is_first = ways->shown == 1 && is_same_place(&ways->first->rule, &c->rule, code->arch->machine) &&
                sw_final_target(ways->req, c->function) == c->function;
    c->pointed = *is_first && is_same_rule(&ways->first->rule, &c->rule) ? SW_TRUST_LIKELY : SW_TRUST_NONE;
    return true;
}

/* A way is gone that the call in front of its return address does not confirm: the next time it is passed over. */
static void refuse(struct ways *ways)
{
    ways->refused[ways->refused_count++] = sw_regs_sp(&ways->c->caller);
    if (ways->refused_count == 1)
        *ways->first = *ways->c;
    ways->has_first = true;
}

/*
 * Way after way, until one is sure enough. The call in front of a way's return address is to confirm it: where it calls
 * another function, the way went past a call that never returns, and on in other code. Else the first is left.
 */
static bool is_sure_way(struct ways *ways, const struct sw_code *code)
{
    bool is_first = false, is_weak = false, is_skewed = false;
    ways->is_own = is_own_lr(ways->req, code);
    while (ways->refused_count < MOST_REFUSED && go_forward(ways, code)) {
        if (ways->is_base || (ways->target == 0 && !ways->is_weak))
            return settle_pointed(ways) == SW_OK;
        refuse(ways);
        if (ways->refused_count == 1) {
            is_weak = ways->is_weak;
            is_skewed = ways->is_askew;
        }
        if (is_confirmed(ways, code, &is_first))
            return settle(ways->req, is_first && ways->c->rule.trust == SW_TRUST_CONFIRMED, ways->c) == SW_OK;
    }
    ways->is_weak = is_weak;
    ways->is_askew = is_skewed;
    return false;
}

/* All ways were gone, and each of them ends in a return to 0. */
static bool is_all_zero(const struct ways *ways)
{
    return ways->refused_count == 0 && ways->zeros != 0 && ways->zeros == ways->shown && !ways->req->work->meter.is_cut;
}

/*
 * A way forward that leads to no caller that has called: the frame pointer of an interpreter or JIT is right more
 * often. Where all ways agree on a 0 the stack ends there, unless the code may do as it likes.
 */
static enum sw_status take_first(const struct ways *ways, bool found, bool all_zero)
{
    const bool is_foreign = sw_is_foreign(ways->req);
    *ways->c = *ways->first;
    ways->c->rule.trust = all_zero && !is_foreign ? SW_TRUST_LIKELY : SW_TRUST_GUESS;
    ways->c->is_doubted = !found && is_foreign;
    return SW_OK;
}

enum sw_status sw_forward_source(const struct sw_unwind_request *req, struct sw_candidate *c)
{
    struct sw_code code;
    struct ways ways = { .req = req, .c = c, .first = &req->work->spare[0] };
    if (!sw_code_of(req, &code))
        return SW_E_NO_RULE;
    c->depends = SW_DEPENDS_STACK;
    if (is_sure_way(&ways, &code))
        return SW_OK;
    const bool found = ways.refused_count != 0 && !ways.is_askew;
    const bool all_zero = is_all_zero(&ways);
    if (sw_confirm_by_stack(req, &code, c, &req->work->spare[1]) &&
        !(found && !ways.is_weak && c->rule.trust == SW_TRUST_GUESS))
        return settle_search(&ways, c); /* a guess is no better than what was found, if that was not weaker */
    if (sw_frame_scan(req, &code, c) || (!found && sw_function_scan(req, &code, c)))
        return SW_OK;
    return ways.has_first ? take_first(&ways, found, all_zero) : SW_E_NO_RULE;
}

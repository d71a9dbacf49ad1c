/*
 * The sources of rules, a row each, asked in this order: what came with the range, the image's tables, signal
 * trampolines by their bytes, instructions from a known start, instructions forward to a return, the frame pointer.
 * Every one ends in a struct sw_rule. Nothing here loads a register: that is sw_rule_apply's.
 */
#include "unwind/sources.h"
#include "unwind/cfi_image.h"
#include "unwind/pe_image.h"
#include "unwind/analysis_cache.h"
#include "unwind/infer/call_confirmation.h"
#include "unwind/infer/code_patterns.h"
#include "unwind/infer/function_scan.h"

#include "clr/clr.h"
#include "regs/offset.h"

#include <string.h>

enum { LONGEST_STUB = 1024 };

/* ---- what came with the range ---- */

enum sw_status sw_source_clr_header(const struct sw_unwind_request *req, struct sw_rule *rule, struct sw_clr_jit_code *about)
{
    const struct sw_range *code = &req->frame->code;
    if (code->unwind != SW_UNWIND_CLR_HEADER)
        return SW_E_NO_RULE;
    return sw_clr_jit_rule(req->walker->machine, &req->walker->memory, code->begin, code->end, req->frame->lookup,
                           req->frame->exact, rule, about);
}

static enum sw_status from_range(const struct sw_unwind_request *req)
{
    if (req->frame->code.unwind == SW_UNWIND_LEAF) {
        sw_rule_leaf(&req->work->rule, req->walker->machine, SW_SOURCE_LEAF, SW_TRUST_EXACT);
        return SW_OK;
    }
    if (!req->work->has_range_rule)
        return SW_E_NO_RULE;
    req->work->rule = req->work->range_rule;
    return SW_OK;
}

/* ---- signal trampolines without tables ---- */

/* Every register is taken from the ucontext above sp. */
static void signal_rule(enum sw_machine machine, const struct sw_trampoline *t, struct sw_rule *rule)
{
    const unsigned sp = sw_regs_sp_number(machine);
    sw_rule_init(rule, machine, SW_SOURCE_SIGNAL_FRAME, SW_TRUST_LIKELY);
    rule->flags = SW_RULE_SIGNAL;
    for (unsigned n = 0; n < sw_regs_count(machine); n++) {
        const int off = t->ucontext + (int)sw_context_offset(SW_CONTEXT_UCONTEXT, machine, n);
        rule->r[n] = (struct sw_loc){ SW_LOC_AT_REG, (uint8_t)sp, 0, off };
    }
    rule->cfa = rule->r[sp];
}

static bool holds_bytes(const struct sw_unwind_request *req, const struct sw_trampoline *t, uint64_t at)
{
    size_t size;
    const uint8_t *bytes = sw_fetch_code(&req->work->fetch, at, &size);
    return bytes && size >= t->size && memcmp(bytes, t->bytes, t->size) == 0;
}

/* The trampoline at an address, or null; inside: at its second instruction, too. */
static const struct sw_trampoline *trampoline_at(const struct sw_unwind_request *req, uint64_t at, bool inside)
{
    const struct sw_arch *arch = sw_arch_of(req->walker->machine);
    for (size_t i = 0; i < arch->trampoline_count; i++) {
        const struct sw_trampoline *t = &arch->trampolines[i];
        if (holds_bytes(req, t, at) || (inside && holds_bytes(req, t, at - t->first_size)))
            return t;
    }
    return NULL;
}

bool sw_source_is_trampoline(const struct sw_unwind_request *req, uint64_t address)
{
    return trampoline_at(req, address, false) != NULL;
}

static enum sw_status from_signal_bytes(const struct sw_unwind_request *req)
{
    const struct sw_trampoline *t = trampoline_at(req, sw_regs_pc(&req->frame->regs), req->frame->exact);
    if (!t)
        return SW_E_NO_RULE;
    signal_rule(req->walker->machine, t, &req->work->rule);
    return SW_OK;
}

/* ---- the image's tables ---- */

/*
 * ARM64 kernels up to 5.7 describe their trampoline by the frame record above the ucontext, which holds the interrupted
 * lr in the place of the pc. The ucontext itself, by the trampoline's bytes, knows better.
 */
static enum sw_status from_cfi(const struct sw_unwind_request *req)
{
    const enum sw_status status = sw_cfi_image_source(req);
    const struct sw_arch *arch = sw_arch_of(req->walker->machine);
    const bool is_record = status == SW_OK && (req->work->rule.flags & SW_RULE_SIGNAL) != 0 &&
                           (arch->cfi_quirks & SW_CFI_TRAMPOLINE) != 0;
    return is_record && from_signal_bytes(req) == SW_OK ? SW_OK : status;
}

static enum sw_status from_image(const struct sw_unwind_request *req)
{
    if (!req->entry || req->frame->code.unwind == SW_UNWIND_ANALYSIS)
        return SW_E_NO_RULE;
    if ((req->entry->has_clr || req->entry->has_pe) && req->entry->pe.machine != req->walker->machine)
        return SW_E_NO_RULE;
    if (req->entry->has_clr)
        return sw_clr_image_rule(&req->entry->clr, req->frame->lookup, req->frame->exact, &req->work->rule);
    if (req->entry->has_pe)
        return sw_pe_image_source(req);
    if (req->entry->has_cfi)
        return from_cfi(req);
    return SW_E_NO_RULE;
}

/* ---- instructions, from the function's start ---- */

/* Stubs reported as one block: where the one around pc begins is not known. */
static bool is_block_of_stubs(const struct sw_range *code)
{
    return code->kind == SW_KIND_STUB && code->end - code->begin > LONGEST_STUB;
}

/*
 * Code that need not keep to the platform's calling convention: ranges that say so, and what is in no file and no
 * range. V8's code keeps no register but rbp, HotSpot's none but rbp and its thread register; V8's pops its arguments.
 */
static bool is_foreign(const struct sw_unwind_request *req)
{
    const struct sw_range *code = &req->frame->code;
    return code->unwind == SW_UNWIND_FOREIGN || (code->begin == code->end && req->walker->images && !req->entry);
}

/* Whether a rule leads to a caller that has called something. target: what, 0: not known. */
static bool leads_behind_call(const struct sw_unwind_request *req, const struct sw_rule *rule, uint64_t *target)
{
    return sw_try_rule(req, rule, NULL) == SW_STOP_NONE && sw_is_behind_call(req, sw_regs_pc(&req->work->caller), target);
}

/*
 * The same frame by its frame pointer, where the function saved its caller's first of all and then has one of its own:
 * where callees pop the arguments that were pushed for them, sp is not where analysis thinks. Fills work->rule if so.
 */
static bool by_frame_record(const struct sw_unwind_request *req)
{
    const struct sw_regs *regs = &req->frame->regs;
    const unsigned fp = sw_regs_fp_number(regs->machine);
    struct sw_rule rule = req->work->rule;
    uint64_t saved, target;
    if (sw_regs_link_number(regs->machine) != SW_REGS_MAX || rule.r[fp].kind != SW_LOC_AT_CFA ||
        rule.r[fp].off != -16 || rule.cfa.kind != SW_LOC_REG || rule.cfa.reg == fp ||
        !sw_regs_has(regs, rule.cfa.reg) || !sw_regs_has(regs, fp))
        return false;
    const uint64_t cfa = regs->r[rule.cfa.reg] + (uint64_t)(int64_t)rule.cfa.off;
    if (sw_memory_word(&req->walker->memory, cfa - 16, &saved) && saved == sw_regs_fp(regs))
        return false; /* still its caller's */
    rule.cfa = (struct sw_loc){ SW_LOC_REG, (uint8_t)fp, 0, 16 };
    if (!leads_behind_call(req, &rule, &target))
        return false;
    req->work->rule = rule;
    return true;
}

/*
 * A rule that leads to no caller that has called, and comes with an assumption or from such code: others are asked. The
 * stubs of a range may be entered anywhere, so that what was assumed from its start may even lead to such a caller.
 */
static enum sw_status doubt(const struct sw_unwind_request *req, bool has_called)
{
    struct sw_workspace *work = req->work;
    const bool is_assumed = work->rule.trust == SW_TRUST_GUESS;
    if (has_called ? !is_assumed || req->frame->code.kind != SW_KIND_STUB : !is_assumed && !is_foreign(req))
        return SW_OK;
    work->doubted = work->rule;
    work->doubted.trust = SW_TRUST_GUESS;
    work->has_doubted = true;
    return SW_E_NO_RULE;
}

/*
 * The first entry of a PLT, where it pushes: a jump behind a push is no tail call, and the resolver has a table of its
 * own. Only an executing pc can be there.
 */
static enum sw_status from_plt(const struct sw_unwind_request *req)
{
    const uint64_t pc = sw_regs_pc(&req->frame->regs);
    struct sw_rule *rule = &req->work->rule;
    struct sw_code code;
    uint64_t target;
    unsigned pushed;
    if (!req->frame->exact || !sw_code_of(req, &code) || !code.arch->patterns->plt_header ||
        !code.arch->patterns->plt_header(&code, pc, &pushed))
        return SW_E_NO_RULE;
    sw_rule_leaf(rule, code.arch->machine, SW_SOURCE_FORWARD, SW_TRUST_LIKELY);
    if (pushed != 0) {
        rule->cfa.off += (int32_t)pushed;
        rule->r[code.arch->roles->pc] = (struct sw_loc){ SW_LOC_AT_CFA, 0, 0, -8 };
    }
    return leads_behind_call(req, rule, &target) ? SW_OK : SW_E_NO_RULE;
}

static enum sw_status from_function(const struct sw_unwind_request *req)
{
    const struct sw_range *code = &req->frame->code;
    struct sw_code where;
    uint64_t target = 0;
    req->work->has_doubted = false;
    if (code->begin == code->end || is_block_of_stubs(code) || !sw_code_of(req, &where))
        return SW_E_NO_RULE;
    const enum sw_status status = sw_function_rule(req, &where, code->begin, code->end, &req->work->rule);
    if (status)
        return status;
    const bool was_looked_at = req->work->has_looked, is_assumed = req->work->rule.trust == SW_TRUST_GUESS;
    req->work->unconfirmed = req->work->rule.trust;
    req->work->only_so = is_foreign(req);
    const bool has_called = leads_behind_call(req, &req->work->rule, &target);
    req->work->by_call = !was_looked_at && !is_assumed && (!req->work->only_so || (has_called && target == code->begin));
    if (has_called && target == code->begin)
        req->work->rule.trust = SW_TRUST_CONFIRMED;
    else if (is_foreign(req) && by_frame_record(req))
        return SW_OK;
    return doubt(req, has_called);
}

/*
 * A way forward that leads to no caller that has called: interpreters and other code of JITs have a frame pointer more
 * often than that is right.
 */
static enum sw_status doubt_way(const struct sw_unwind_request *req)
{
    if (!is_foreign(req))
        return SW_OK;
    req->work->doubted = req->work->rule;
    req->work->has_doubted = true;
    return SW_E_NO_RULE;
}

/* What was doubted, when nothing else is known. */
static enum sw_status from_doubted(const struct sw_unwind_request *req)
{
    if (!req->work->has_doubted)
        return SW_E_NO_RULE;
    req->work->rule = req->work->doubted;
    return SW_OK;
}

/* ---- instructions, forward to a return ---- */

struct search {
    const struct sw_unwind_request *req;
    uint64_t target; /* what the call in front of the accepted candidate calls */
    bool is_own;     /* lr is left from a call that this very function made */
    bool is_weak;    /* it leads to where lr does by a jump that may be one of a switch: then lr may be left from such a call */
    bool has_plain;  /* work->plain holds a candidate without a call in front of its return address */
};

static bool is_candidate(void *arg, const struct sw_rule *rule)
{
    struct search *s = arg;
    struct sw_workspace *work = s->req->work;
    const struct sw_loc ra = rule->r[sw_regs_pc_number(s->req->walker->machine)];
    const bool by_lr = ra.kind == SW_LOC_REG && ra.reg == sw_regs_link_number(s->req->walker->machine);
    if (s->is_own && by_lr)
        return false;
    const enum sw_stop stop = sw_try_rule(s->req, rule, NULL);
    if (stop != SW_STOP_NONE && stop != SW_STOP_ROOT_ZERO)
        return false;
    const uint64_t caller = sw_regs_pc(&work->caller);
    if (stop == SW_STOP_ROOT_ZERO ||
        !(sw_is_behind_call(s->req, caller, &s->target) || sw_source_is_trampoline(s->req, caller))) {
        if (!s->has_plain)
            work->plain = *rule;
        s->has_plain = true;
        return false;
    }
    s->is_weak = by_lr && rule->trust == SW_TRUST_NONE;
    work->rule = *rule;
    work->rule.trust = SW_TRUST_GUESS;
    return true;
}

static bool fp_above_sp(const struct sw_regs *regs, int32_t *above)
{
    const uint64_t distance = sw_regs_fp(regs) - sw_regs_sp(regs);
    *above = (int32_t)distance;
    return sw_regs_has(regs, sw_regs_fp_number(regs->machine)) && distance <= INT32_MAX;
}

/* The function that pc was found to be in before: if its caller calls it, nothing needs to be gone forward for. */
static bool is_noted(const struct sw_unwind_request *req, const struct sw_code *code)
{
    const uint64_t function = sw_analysis_cache_function(req->walker->analysis_cache, req->frame->lookup);
    return function != 0 && sw_confirm_by_call(req, code, function) && req->work->rule.trust == SW_TRUST_CONFIRMED;
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
    bool assumed;
    if (!req->frame->exact || !sw_regs_has(regs, link))
        return false;
    const uint64_t behind = sw_code_address(req->walker, regs->r[link]);
    if (!sw_is_behind_call(req, behind, &target))
        return false;
    sw_analyze_run(code, behind, 0, &req->work->analysis);
    return sw_analyze_state(&req->work->analysis, req->frame->lookup, &assumed) != NULL && !assumed;
}

static enum sw_status from_forward(const struct sw_unwind_request *req)
{
    struct sw_code code;
    struct search s = { .req = req };
    if (!sw_code_of(req, &code))
        return SW_E_NO_RULE;
    if (is_noted(req, &code))
        return SW_OK;
    s.is_own = is_own_lr(req, &code);
    /* A return address is walked from as such: the call in front of it has been made. */
    const uint64_t pc = sw_regs_pc(&req->frame->regs);
    int32_t above;
    const int32_t *known = fp_above_sp(&req->frame->regs, &above) ? &above : NULL;
    const bool found = sw_analyze_forward(&code, pc, known, &req->work->analysis, is_candidate, &s) == SW_OK;
    if (found && s.target == 0 && !s.is_weak) {
        req->work->rule.trust = SW_TRUST_LIKELY; /* called through a register: nothing to confirm it by */
        return SW_OK;
    }
    if (found)
        req->work->plain = req->work->rule;
    if (found && s.target != 0 && sw_confirm_by_call(req, &code, s.target))
        return SW_OK;
    if (sw_confirm_by_stack(req, &code) && !(found && !s.is_weak && req->work->rule.trust == SW_TRUST_GUESS))
        return SW_OK; /* a guess is no better than what was found, if that was not weaker */
    if (!found && sw_function_scan(req, &code))
        return SW_OK;
    if (!found && !s.has_plain)
        return SW_E_NO_RULE;
    req->work->rule = req->work->plain;
    req->work->rule.trust = SW_TRUST_GUESS;
    return found ? SW_OK : doubt_way(req);
}

/* ---- the frame pointer, and code that cannot be read ---- */

/* A call through a bad pointer: nothing was executed there, so the return address is where the call left it. */
static enum sw_status from_bad_pc(const struct sw_unwind_request *req)
{
    size_t size;
    if (!req->frame->exact || sw_fetch_code(&req->work->fetch, sw_regs_pc(&req->frame->regs), &size))
        return SW_E_NO_RULE;
    sw_rule_leaf(&req->work->rule, req->walker->machine, SW_SOURCE_LEAF, SW_TRUST_GUESS);
    return SW_OK;
}

/* A frame record: {caller's fp, return address}, above sp, aligned, rising. prologue-shapes.md section 5, E. */
static enum sw_status from_frame_pointer(const struct sw_unwind_request *req)
{
    const struct sw_regs *regs = &req->frame->regs;
    const unsigned fp = sw_regs_fp_number(regs->machine), pc = sw_regs_pc_number(regs->machine);
    struct sw_rule *rule = &req->work->rule;
    uint64_t target, next;
    if (!sw_regs_has(regs, fp) || sw_regs_fp(regs) < sw_regs_sp(regs) || sw_regs_fp(regs) % 8 != 0)
        return SW_E_NO_RULE;
    if (!sw_memory_word(&req->walker->memory, sw_regs_fp(regs), &next) ||
        (next != 0 && next <= sw_regs_fp(regs) && !is_foreign(req))) /* the caller may use its own for anything */
        return SW_E_NO_RULE;
    sw_rule_init(rule, regs->machine, SW_SOURCE_FRAME_POINTER, SW_TRUST_GUESS);
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        if (rule->r[n].kind == SW_LOC_SAME)
            rule->r[n].kind = SW_LOC_UNKNOWN; /* the record says nothing about them */
    rule->cfa = (struct sw_loc){ SW_LOC_REG, (uint8_t)fp, 0, 16 };
    rule->r[fp] = (struct sw_loc){ SW_LOC_AT_CFA, 0, 0, -16 };
    rule->r[pc] = (struct sw_loc){ SW_LOC_AT_CFA, 0, 0, -8 };
    const enum sw_stop stop = sw_try_rule(req, rule, NULL);
    if (stop == SW_STOP_ROOT_ZERO)
        return SW_OK;
    if (stop != SW_STOP_NONE || !sw_is_behind_call(req, sw_regs_pc(&req->work->caller), &target))
        return SW_E_NO_RULE;
    return SW_OK;
}

/* ---- what rules by instructions may claim ---- */

/*
 * A register that such code did not touch may have been changed by a tail call to it; one that it stored may be an
 * argument, and one that it loads before it returns may be a spilled value of its own.
 */
static void claim_only_promised(const struct sw_unwind_request *req)
{
    const enum sw_machine machine = req->walker->machine;
    const uint64_t promised = UINT64_C(1) << sw_regs_fp_number(machine) | UINT64_C(1) << sw_regs_sp_number(machine) |
                              UINT64_C(1) << sw_regs_pc_number(machine);
    if (!is_foreign(req))
        return;
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        if (!(promised >> n & 1))
            req->work->rule.r[n] = (struct sw_loc){ SW_LOC_UNKNOWN, 0, 0, 0 };
}

/*
 * Where calls do not push, registers are saved one by one, some on some ways only, so that a way past a call that never
 * returns comes to a return that is as deep and restores others. A guess at the way leads to the caller, but says
 * nothing of them; where registers are pushed it would end at another depth.
 */
static void claim_only_the_record(const struct sw_unwind_request *req)
{
    const struct sw_regs_roles *roles = sw_regs_roles_of(req->walker->machine);
    const uint64_t others = roles->nonvolatile & ~(UINT64_C(1) << roles->fp);
    struct sw_rule *rule = &req->work->rule;
    if (roles->link == SW_REGS_MAX || rule->source != SW_SOURCE_FORWARD || rule->trust != SW_TRUST_GUESS)
        return;
    for (unsigned n = 0; n < roles->count; n++)
        if (others >> n & 1)
            rule->r[n] = (struct sw_loc){ SW_LOC_UNKNOWN, 0, 0, 0 };
}

/* Asked in this order; each unless the walker forbids its group. */
static const struct row {
    enum sw_status (*rule)(const struct sw_unwind_request *req);
    uint32_t forbidden_by;
} rows[SW_SOURCES] = {
    { from_range, SW_WALK_NO_TABLES },
    { from_image, SW_WALK_NO_TABLES },
    { from_signal_bytes, 0 },
    { from_bad_pc, 0 },
    { from_plt, SW_WALK_NO_ANALYSIS },
    { from_function, SW_WALK_NO_ANALYSIS },
    { from_forward, SW_WALK_NO_ANALYSIS },
    { from_frame_pointer, SW_WALK_NO_FRAME_POINTER },
    { from_doubted, SW_WALK_NO_ANALYSIS },
};

enum sw_status sw_source_rule(const struct sw_unwind_request *req, unsigned n)
{
    if (n >= SW_SOURCES)
        return SW_E_LIMIT;
    if (req->walker->flags & rows[n].forbidden_by)
        return SW_E_NO_RULE;
    const enum sw_status status = rows[n].rule(req);
    if (status == SW_OK && rows[n].forbidden_by == SW_WALK_NO_ANALYSIS) {
        claim_only_promised(req);
        claim_only_the_record(req);
    }
    return status;
}

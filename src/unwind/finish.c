/*
 * Does work that walks have left pending: by its finding, what made it. A scan that was cut is finished by
 * function_scan.c.
 */
#include "unwind/find_once.h"
#include "unwind/findings.h"
#include "unwind/infer/function_scan.h"

static void finish(const struct sw_unwind_request *req, const struct sw_code *code, const struct sw_finding *f)
{
    struct sw_fp_distance fp = { (int32_t)(uint32_t)f->b, f->b >> 33 & 1, false };
    struct sw_candidate *c = &req->work->asked[0];
    switch (f->kind) {
    case SW_FINDING_RULE:
        (void)!sw_function_rule(req, code, f->a, f->b, &c->rule);
        break;
    case SW_FINDING_ANALYSIS:
        (void)sw_function_analyze(req, code, f->a, f->b);
        break;
    case SW_FINDING_FORWARD:
        sw_findings_go_forward(req, code, f->a, &fp);
        break;
    case SW_FINDING_STATE:
        (void)sw_state_from(req, code, f->a, &req->work->elsewhere);
        break;
    case SW_FINDING_TO_JUMP:
        (void)sw_state_at_jump(req, code, f->a, &req->work->elsewhere);
        break;
    default: /* nothing on the stack is right, so that all is looked at */
        sw_function_scan_finish(req, code, f, c);
        break;
    }
}

/* The frame has the pc that the finding is about, and no other register. */
bool sw_findings_finish(const struct sw_unwind_request *req, struct sw_frame *frame, const struct sw_pending *pending)
{
    const struct sw_finding *f = &pending->finding;
    const uint64_t lookup = f->kind == SW_FINDING_RULE ? f->c : f->kind == SW_FINDING_STATE ? f->b : f->a;
    struct sw_code code;
    frame->lookup = lookup;
    frame->exact = f->kind != SW_FINDING_SCAN || f->b;
    sw_regs_set(&frame->regs, sw_regs_pc_number(frame->regs.machine), lookup + !frame->exact);
    if (!sw_code_of(req, &code))
        return true;
    finish(req, &code, f);
    if (req->work->meter.is_cut)
        return false;
    sw_analysis_cache_settle(req->walker->analysis_cache, f);
    return true;
}

/*
 * The long way from a frame to its caller: every source is asked in turn, and what it says is applied and looked at.
 * Knows how an answer is chosen; the sources are sources.c's, caching and the order of frames are the walker's.
 */
#include "unwind/unwind.h"

#include "unwind/infer/code_patterns.h"
#include "unwind/sources.h"

/* ---- the frame's code ---- */

bool sw_unwind_was_interrupted(const struct sw_unwind_request *req)
{
    const uint64_t pc = sw_regs_pc(&req->frame->regs);
    struct sw_range code;
    uint64_t target;
    sw_find_code(req->walker, sw_images_entry(req->walker->images, pc), pc, &code);
    if (code.kind != SW_KIND_JIT && code.kind != SW_KIND_NGEN)
        return false;
    return pc == code.begin || !sw_is_behind_call(req, pc, &target);
}

/* A perf map's id is only the method's address; CoreCLR's header knows the real one. */
void sw_unwind_find_code(const struct sw_unwind_request *req, struct sw_frame *frame)
{
    struct sw_workspace *work = req->work;
    struct sw_clr_jit_code about;
    sw_find_code(req->walker, req->entry, frame->lookup, &frame->code);
    work->is_found = true;
    work->has_range_rule = !(req->walker->flags & SW_WALK_NO_TABLES) &&
                           sw_source_clr_header(req, &work->range_rule, &about) == SW_OK;
    if (!work->has_range_rule)
        return;
    frame->code.flags |= about.flags;
    if (frame->code.id == frame->code.begin)
        frame->code.id = about.function;
}

/* ---- its caller ---- */

/* A rule that was found, but led to no caller. */
static enum sw_status status_of_cut(enum sw_stop stop)
{
    if (stop == SW_STOP_UNREADABLE)
        return SW_E_UNREADABLE;
    return stop == SW_STOP_LOST_REGISTER ? SW_E_NO_RULE : SW_E_MALFORMED;
}

/* What the answer depends on, of a source that no better one was cut before. */
static void note_dependence(const struct sw_unwind_request *req, bool by_code, struct sw_found *found)
{
    const struct sw_workspace *work = req->work;
    const bool by_call = !by_code && work->by_call;
    found->depends = by_code ? SW_DEPENDS_CODE : by_call ? SW_DEPENDS_CALL : SW_DEPENDS_STACK;
    found->unconfirmed = by_call && !work->only_so ? work->unconfirmed : SW_TRUST_NONE;
    found->function = req->frame->code.begin;
}

void sw_unwind(const struct sw_unwind_request *req, struct sw_found *found)
{
    *found = (struct sw_found){ .stop = SW_STOP_NO_RULE,
                                .fault = { SW_E_NO_RULE, sw_regs_pc(&req->frame->regs), 0 },
                                .depends = SW_DEPENDS_STACK };
    req->work->has_looked = req->work->by_call = false;
    for (unsigned n = 0; n < SW_SOURCES; n++) {
        uint64_t address = 0;
        enum sw_stop stop;
        const enum sw_status status = sw_source_rule(req, n);
        const bool by_code = !req->work->has_looked;
        if (status == SW_E_NO_RULE)
            continue;
        if (status == SW_OK && (req->work->rule.flags & SW_RULE_END))
            stop = SW_STOP_ROOT;
        else
            stop = status == SW_OK ? sw_try_rule(req, &req->work->rule, &address) : SW_STOP_BAD_TABLE;
        const bool is_first = found->stop == SW_STOP_NO_RULE;
        if (stop == SW_STOP_NONE || stop == SW_STOP_ROOT || (is_first && sw_stop_is_root(stop))) {
            if (is_first)
                note_dependence(req, by_code, found);
            found->stop = stop;
            return; /* behind the cut of a better source a zero is no end */
        }
        if (is_first) { /* what the best source met says most about the cut */
            found->stop = stop;
            found->fault = (struct sw_fault){ status ? status : status_of_cut(stop), found->fault.pc, address };
        }
    }
}

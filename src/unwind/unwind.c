/*
 * The long way from a frame to its caller: every source is asked in turn, and what it says is applied and looked at.
 * Knows how an answer is chosen; the sources are sources.c's, caching and the order of frames are the walker's.
 */
#include "unwind/unwind.h"

#include "unwind/caller_check.h"
#include "unwind/infer/code_patterns.h"
#include "unwind/sources.h"

/* ---- the frame's code ---- */

bool sw_unwind_was_interrupted(const struct sw_unwind_request *req)
{
    const uint64_t pc = sw_regs_pc(&req->frame->regs);
    struct sw_range code = req->frame->code;
    const bool ends_at_pc = code.kind == SW_KIND_JIT && code.end == pc;
    uint64_t target;
    if (pc < code.begin || pc >= code.end) /* the code in front of pc ends there */
        sw_find_code(req->walker, sw_request_image(req, pc), pc, &code);
    if (code.kind != SW_KIND_JIT && code.kind != SW_KIND_NGEN)
        return false;
    /*
     * CoreCLR's calls do not return to where a method begins: a header stands in front, and behind calls that do not
     * return comes another instruction. Other compilers end functions with such a call.
     */
    return (pc == code.begin && !ends_at_pc) || !sw_is_behind_call(req, pc, &target);
}

/* A perf map's id is only the method's address; CoreCLR's header knows the real one. */
void sw_unwind_find_code(const struct sw_unwind_request *req, struct sw_frame *frame)
{
    struct sw_rule *rule = &req->work->header_rule;
    struct sw_clr_jit_code about;
    req->work->is_found = true;
    rule->source = SW_SOURCE_NONE;
    if (sw_is_native(req->walker, req->entry)) {
        frame->code = (struct sw_range){ .kind = SW_KIND_NATIVE };
        return;
    }
    sw_find_code(req->walker, req->entry, frame->lookup, &frame->code);
    if (!sw_has_clr_header(&frame->code) || (req->walker->flags & SW_WALK_NO_TABLES))
        return;
    if (sw_source_clr_header(req, rule, &about) != SW_OK) {
        rule->source = SW_SOURCE_NONE;
        return;
    }
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

/* What a source came to by what it said: its rule is tried. A guess that leads to 0 leads nowhere. */
static enum sw_stop stop_of(const struct sw_unwind_request *req, enum sw_status status, struct sw_candidate *candidate)
{
    if (status != SW_OK)
        return SW_STOP_BAD_TABLE;
    if (candidate->rule.flags & SW_RULE_END)
        return candidate->stop = SW_STOP_ROOT;
    const enum sw_stop stop = sw_candidate_try(req, candidate);
    return stop == SW_STOP_ROOT_ZERO && candidate->rule.trust <= SW_TRUST_GUESS ? SW_STOP_BAD_PC : stop;
}

/*
 * How good a candidate is beside others. LEADS ends the search. What the first cut met is noted, since what the best
 * source met says most about it; behind a cut a zero is no end.
 *
 * UNCALLED  A table's, which leads to a pc that no call returns to, or from executing code to a zero. Tables are wrong
 *           about some code, but coroutines and threads begin with return addresses that nobody called for: it stands
 *           unless a source that says less does better.
 */
enum rank { NOTHING = 0, DOUBTED, UNCALLED, LEADS };

static bool is_uncalled(const struct sw_unwind_request *req, const struct sw_candidate *candidate)
{
    if (candidate->stop == SW_STOP_NONE)
        return !sw_candidate_is_called(req, candidate);
    return candidate->stop == SW_STOP_ROOT_ZERO && candidate->rule.trust == SW_TRUST_EXACT && req->frame->exact;
}

/* What a source must come to where a table has led to no call. */
static bool is_better(const struct sw_unwind_request *req, const struct sw_candidate *candidate)
{
    uint64_t target;
    return candidate->rule.trust > SW_TRUST_GUESS && candidate->stop == SW_STOP_NONE &&
           sw_is_behind_call(req, sw_regs_pc(&candidate->caller), &target);
}

static inline enum rank rank_of(const struct sw_unwind_request *req, enum sw_status status,
                                struct sw_candidate *candidate, struct sw_found *found)
{
    if (status == SW_E_NO_RULE)
        return NOTHING;
    if (candidate->is_doubted)
        return DOUBTED;
    const enum sw_stop stop = stop_of(req, status, candidate);
    const bool is_first = found->stop == SW_STOP_NO_RULE;
    if (stop == SW_STOP_NONE || stop == SW_STOP_ROOT || (is_first && sw_stop_is_root(stop)))
        return is_uncalled(req, candidate) ? UNCALLED : LEADS;
    if (is_first) {
        found->stop = stop;
        found->fault.status = status ? status : status_of_cut(stop);
        found->fault.address = status ? 0 : candidate->unreadable;
    }
    return NOTHING;
}

static void take(const struct sw_candidate *candidate, enum sw_depends depends, struct sw_found *found)
{
    found->stop = candidate->stop;
    found->rule = &candidate->rule;
    found->caller = &candidate->caller;
    found->depends = depends;
    found->unconfirmed = candidate->unconfirmed;
    found->pointed = candidate->pointed;
    found->is_searched = candidate->is_searched;
    found->function = candidate->function;
}

/* More work was needed than the walk may do: nothing else is known of the caller, whatever some source had to say. */
static void cut(const struct sw_unwind_request *req, struct sw_found *found)
{
    *found = (struct sw_found){ .stop = SW_STOP_BUDGET,
                                .fault = { SW_E_LIMIT, sw_regs_pc(&req->frame->regs), 0 },
                                .depends = SW_DEPENDS_STACK };
}

/*
 * The ranking: the best candidate wins, of equal ones the last that was asked. An answer depends on all that was asked
 * in front of it: on a stack where another source has more to say, the answer is another. A source that was cut counts
 * as STACK: with a cached rule nobody would know that a zero behind it is no end.
 */
void sw_unwind(const struct sw_unwind_request *req, struct sw_found *found)
{
    struct sw_candidate *best = &req->work->asked[0], *next = &req->work->asked[1];
    enum sw_depends depends = SW_DEPENDS_CODE;
    enum rank best_rank = NOTHING;
    *found = (struct sw_found){ .stop = SW_STOP_NO_RULE,
                                .fault = { SW_E_NO_RULE, sw_regs_pc(&req->frame->regs), 0 },
                                .depends = SW_DEPENDS_STACK };
    const uint32_t kinds = sw_sources_of(req);
    for (unsigned n = 0; n < SW_SOURCES && best_rank != LEADS;) {
        const enum sw_status status = sw_source_ask(req, kinds, &n, next);
        if (req->work->meter.is_cut && best_rank != UNCALLED) {
            cut(req, found);
            return;
        }
        if (req->work->meter.is_cut)
            break;
        depends = depends == SW_DEPENDS_CODE ? next->depends : SW_DEPENDS_STACK;
        const enum rank rank = rank_of(req, status, next, found);
        if (rank != LEADS && status != SW_E_NO_RULE)
            depends = SW_DEPENDS_STACK;
        if (rank == NOTHING || rank < best_rank || (best_rank == UNCALLED && !is_better(req, next)))
            continue;
        struct sw_candidate *const was_best = best;
        best = next;
        next = was_best;
        best_rank = rank;
    }
    if (best_rank == DOUBTED) { /* nothing else is known */
        best->is_doubted = false;
        best_rank = rank_of(req, SW_OK, best, found);
    }
    if (best_rank == UNCALLED) {
        best->rule.trust = SW_TRUST_LIKELY;
        req->work->meter.is_cut = false; /* what others say was left open: the table leads on */
    }
    if (best_rank >= UNCALLED)
        take(best, depends, found);
}

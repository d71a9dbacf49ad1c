/*
 * Work ahead of walks: what they left undone, and what they would have to do in a piece of code. Knows in which order
 * and when to end; what there is to be found out is unwind/findings.h's.
 */
#include "code/map/codemap.h"
#include "unwind/findings.h"
#include "walk/scratch.h"

#include <string.h>

enum { BYTES_A_UNIT = 8, SWEPT_AT_ONCE = 4096 };

/* Work in progress. granted: units that the call may use. */
struct prepare {
    const struct sw_walker *walker;
    struct sw_workspace *work;
    struct sw_frame *frame;
    uint64_t granted;
};

static bool start(struct prepare *p, const struct sw_walker *walker, struct sw_scratch *scratch, uint32_t budget)
{
    if (!walker || !scratch || !sw_walker_is_usable(walker) || !walker->analysis_cache ||
        !sw_arch_of(walker->machine) || (walker->flags & SW_WALK_NO_ANALYSIS))
        return false;
    struct sw_walk_scratch *inside = sw_walk_scratch_of(scratch);
    *p = (struct prepare){ walker, &inside->work, &inside->whole.frame, sw_work_granted(budget) };
    sw_workspace_open(p->work, walker, true);
    p->work->meter.left = p->granted;
    return true;
}

/* A request about a frame with no register but pc: there is no stack. In a reader section. */
static struct sw_unwind_request request(const struct prepare *p, uint64_t pc)
{
    memset(p->frame, 0, sizeof *p->frame);
    p->frame->regs.machine = p->walker->machine;
    p->frame->lookup = pc;
    sw_regs_set(&p->frame->regs, sw_regs_pc_number(p->walker->machine), pc);
    sw_workspace_open(p->work, p->walker, false);
    return (struct sw_unwind_request){
        .walker = p->walker, .work = p->work, .frame = p->frame, .entry = sw_workspace_image(p->work, p->walker, pc)
    };
}

/* ---- what was left undone ---- */

static void finish(struct prepare *p, const struct sw_pending *pending)
{
    struct sw_reading reading;
    sw_reading_enter(p->walker, &reading);
    const struct sw_unwind_request req = request(p, pending->finding.a);
    p->work->meter.is_cut = false;
    (void)sw_findings_finish(&req, p->frame, pending);
    sw_reading_leave(p->walker, &reading);
}

size_t sw_walk_prepare(const struct sw_walker *walker, struct sw_scratch *scratch, uint32_t budget)
{
    struct prepare p;
    struct sw_pending pending;
    if (!start(&p, walker, scratch, budget))
        return 0;
    sw_analysis_cache_touch(walker->analysis_cache);
    for (size_t n = 0; sw_analysis_cache_pending(walker->analysis_cache, n, &pending); n++)
        if (pending.finding.kind != SW_FINDING_NONE)
            finish(&p, &pending);
    return (size_t)sw_analysis_cache_get_counts(walker->analysis_cache).pending;
}

/* ---- a piece of code ---- */

/* Whether the budget is used up. A piece of work that alone takes more than half of it is left pending. */
static bool is_used_up(struct prepare *p)
{
    const bool was_cut = p->work->meter.is_cut;
    p->work->meter.is_cut = false;
    return was_cut && p->work->meter.left < p->granted / 2;
}

/* The call in front of a return address: the ways forward from there, and the function that it calls, if it is here. */
static void prepare_call(const struct sw_unwind_request *req, const struct sw_code *code, uint64_t after,
                         struct sw_extent all)
{
    uint64_t target = 0, slot = 0;
    if (!code->arch->patterns->call_before(code, after, &target, &slot))
        return;
    sw_findings_go_forward(req, code, sw_analyze_from_call(code, after, &req->work->analysis), NULL);
    if (target >= all.begin && target < all.end)
        (void)sw_function_analyze(req, code, target, 0);
}

static bool is_in_a_range(const struct prepare *p, uint64_t at, struct sw_range *range)
{
    const struct sw_codemap *map = p->walker->codemap;
    return map && sw_codemap_find_inside(map, at, range);
}

/* Code in no range: up to `end`, or where a range is met, or where the budget is used up. */
static uint64_t sweep(struct prepare *p, uint64_t begin, uint64_t end, struct sw_extent all)
{
    const struct sw_unwind_request req = request(p, begin);
    struct sw_range range;
    uint64_t at = begin;
    struct sw_code code;
    const unsigned step = sw_arch_of(p->walker->machine)->insn_bytes;
    if (!sw_code_of(&req, &code))
        return end;
    for (; at < end; at += step) {
        if (at % BYTES_A_UNIT == 0)
            (void)sw_meter_pay(&p->work->meter, 1);
        if (at % BYTES_A_UNIT == 0 && at > begin && is_in_a_range(p, at, &range))
            return at;
        prepare_call(&req, &code, at, all);
        if (is_used_up(p))
            return at;
    }
    return end;
}

/* One code range, or a piece of what is in none. Answers where to go on; `at`: the budget is used up. */
static uint64_t prepare_at(struct prepare *p, uint64_t at, struct sw_extent all)
{
    const uint64_t piece_end = all.end - at < SWEPT_AT_ONCE ? all.end : at + SWEPT_AT_ONCE;
    struct sw_range range;
    struct sw_code code;
    if (!is_in_a_range(p, at, &range))
        return sweep(p, at, piece_end, all);
    const struct sw_unwind_request req = request(p, at);
    if (range.unwind != SW_UNWIND_LEAF && !sw_has_clr_header(&range) && sw_code_of(&req, &code))
        (void)sw_function_analyze(&req, &code, range.begin, range.end);
    return is_used_up(p) ? at : range.end;
}

uint64_t sw_walk_prepare_range(const struct sw_walker *walker, struct sw_scratch *scratch, uint64_t begin, uint64_t end,
                               uint32_t budget)
{
    const struct sw_extent all = { begin, end };
    struct prepare p;
    uint64_t at = begin;
    if (begin >= end || !start(&p, walker, scratch, budget))
        return begin;
    while (at < end) {
        struct sw_reading reading;
        sw_reading_enter(walker, &reading);
        const uint64_t next = prepare_at(&p, at, all);
        sw_reading_leave(walker, &reading);
        if (next <= at)
            return at;
        at = next < end ? next : end;
        if (p.work->meter.left == 0)
            break;
    }
    return at;
}

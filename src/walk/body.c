/* See body.h. Knows which pcs may be looked at, and when; refuses to know what epilogues look like (lib/pe). */
#include "walk/body.h"

#include "unwind/sources.h"

static bool is_loadable(const struct sw_window *window, uint64_t pc)
{
    return pc >= window->begin && pc < window->end;
}

/* Whether an epilogue may begin at a pc in front of the body's end, by code that may be loaded directly. */
static bool may_end(const struct sw_window *window, uint64_t pc, uint64_t end)
{
    if (!is_loadable(window, pc) || pc >= end)
        return true;
    const uint64_t size = (end < window->end ? end : window->end) - pc;
    return sw_source_may_end(window->bytes + (pc - window->begin), size);
}

SW_APART enum sw_cache_count sw_walk_find_body(const struct sw_walker *walker, const struct sw_lane *lane,
                                               struct sw_at *at)
{
    struct sw_range range;
    uint64_t end;
    if (!walker->codemap || !is_loadable(&walker->code, at->pc) ||
        sw_codemap_find(walker->codemap, at->pc, &range) != SW_OK)
        return SW_COUNT_ABSENT;
    const enum sw_cache_count found = sw_lane_find_body(lane, &range, at, &end);
    if (found != SW_COUNT_HITS || !may_end(&walker->code, at->pc, end))
        return found;
    at->entry = at->step = 0;
    return SW_COUNT_ABSENT;
}

uint64_t sw_walk_note_body(const struct sw_unwind_request *req, const struct sw_rule *rule, struct sw_entry *to)
{
    const uint64_t pc = sw_regs_pc(&req->frame->regs);
    uint64_t begin, end;
    if (!req->frame->exact || rule->source != SW_SOURCE_CLR_HEADER || (to->step & (SW_STEP_END | SW_STEP_BY_CALL)) ||
        !is_loadable(&req->walker->code, pc) || !sw_source_clr_body(req, &begin, &end) || begin < to->begin ||
        end > to->end || pc < begin || may_end(&req->walker->code, pc, end))
        return pc;
    to->key = (to->key & ~(SW_KEY_PC_END - 1)) | to->begin | SW_KEY_BODY;
    to->function = sw_body((uint32_t)(begin - to->begin), (uint32_t)(end - to->begin));
    return to->begin;
}

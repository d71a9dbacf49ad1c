/*
 * See remember.h. Knows what of a frame follows from its pc; refuses to know how entries are shared (fast/cache.h), and
 * in what words they hold rules (base/packed_rule.h).
 */
#include "walk/remember.h"
#include "walk/body.h"

#include "arch/arch.h"
#include "code/map/codemap.h"
#include "unwind/infer/call_confirmation.h"
#include "unwind/infer/code_patterns.h"
#include "unwind/infer/instructions.h"

/*
 * What the call in front of the pc calls; and false for a pc that no call returns to: the frame in front of it looks at
 * that each time, but for the end of a stack. Managed code that was interrupted is exact the next time.
 */
static bool note_call(const struct sw_unwind_request *req, uint64_t pc, bool is_end, struct sw_entry *to)
{
    const uint8_t kind = req->frame->code.kind;
    uint64_t target, slot;
    if (req->frame->exact)
        return true;
    if (!sw_call_before(req, pc, &target, &slot))
        return is_end && kind != SW_KIND_JIT && kind != SW_KIND_NGEN;
    const uint64_t final = sw_final_target(req, target); /* through words that are written once, when they are bound */
    to->calls = slot || final == 0 ? 0 : sw_call_mark(final);
    to->step |= SW_STEP_BEHIND | (slot || target ? SW_STEP_CALLS : 0) | (final != target ? SW_STEP_THROUGH : 0);
    return true;
}

/* The code around the pc: in a range that holds both pc and lookup, or else in an image. */
static bool note_code(const struct sw_unwind_request *req, uint64_t pc, struct sw_entry *to)
{
    const struct sw_range *code = &req->frame->code;
    const struct sw_codemap *map = req->walker->codemap;
    struct sw_range range;
    to->id = code->id;
    to->attributes =
        code->image | (uint64_t)code->kind << 32 | (uint64_t)code->unwind << 40 | (uint64_t)code->flags << 48;
    if ((code->flags & SW_RANGE_FROM_FINDER) && !(req->walker->flags & SW_WALK_FINDER_LASTS))
        return false; /* nothing would tell that it is gone */
    if (!map || !sw_codemap_find_inside(map, req->frame->lookup, &range))
        to->step |= SW_STEP_UNRANGED;
    if (code->begin == code->end)
        return req->entry && pc < req->entry->info.end;
    to->begin = code->begin;
    to->end = code->end;
    return pc < code->end && code->end - code->begin <= UINT32_MAX;
}

/* The rule, and what it wants to be confirmed by. */
static bool note_rule(const struct sw_unwind_request *req, const struct sw_found *found, struct sw_entry *to)
{
    const struct sw_rule *rule = found->rule;
    const bool by_call = found->depends == SW_DEPENDS_CALL, only_so = by_call && found->unconfirmed == SW_TRUST_NONE;
    struct sw_packed_rule packed;
    if (rule->trust <= SW_TRUST_GUESS || !sw_arch_of(req->walker->machine)->codec->pack(rule, &packed))
        return false;
    to->step |= packed.step;
    to->slots = packed.slots;
    to->same = packed.same;
    to->function = by_call ? found->function : 0;
    const bool by_pointer = only_so && found->pointed != SW_TRUST_NONE;
    to->step = sw_step_with_trust(to->step, by_pointer            ? found->pointed
                                            : by_call && !only_so ? found->unconfirmed
                                                                  : rule->trust);
    if (by_call)
        to->step |= SW_STEP_BY_CALL | (only_so ? SW_STEP_ONLY_SO : 0) | (by_pointer ? SW_STEP_POINTER : 0);
    const uint64_t direct = to->step & SW_STEP_DIRECT;
    if (only_so)
        to->step = (to->step & ~direct) | direct << SW_STEP_SO_SHIFT;
    if (only_so && found->is_searched) /* which the lane cannot tell */
        to->step = (to->step & ~SW_STEP_EASY) | SW_STEP_SEARCHED;
    return true;
}

/* Everything about the frame, or false. */
static bool note(const struct sw_unwind_request *req, const struct sw_found *found, struct sw_entry *to)
{
    const struct sw_rule *rule = found->rule;
    const uint64_t pc = sw_regs_pc(&req->frame->regs);
    if (pc == 0 || pc >= SW_KEY_PC_END || (rule->flags & SW_RULE_SIGNAL) || !note_code(req, pc, to) ||
        !note_call(req, pc, rule->flags & SW_RULE_END, to))
        return false;
    to->step |= SW_STEP_ENTRY;
    if (!(rule->flags & SW_RULE_END))
        return note_rule(req, found, to);
    to->step |= SW_STEP_END | (uint64_t)rule->source << SW_STEP_SOURCE_SHIFT;
    to->step = sw_step_with_trust(to->step, rule->trust);
    return true;
}

void sw_walk_remember(struct sw_lane *lane, const struct sw_unwind_request *req, const struct sw_found *found)
{
    const uint64_t pc = sw_regs_pc(&req->frame->regs);
    struct sw_entry entry = { .key = pc | lane->tags | (req->frame->exact ? SW_KEY_EXACT : 0), .found = lane->found };
    if (found->depends != SW_DEPENDS_STACK && lane->found != SW_FOUND_NEVER && note(req, found, &entry))
        sw_cache_store(lane->cache, &lane->changes, sw_walk_note_body(req, found->rule, &entry), &entry);
    else
        sw_cache_count(lane->cache, SW_COUNT_UNCACHEABLE, 1);
}

/* Behind a call that names nothing. */
static bool is_pointed(const struct sw_unwind_request *req, uint64_t after)
{
    uint64_t target;
    return sw_is_behind_call(req, after, &target) && target == 0;
}

bool sw_walk_confirm(const struct sw_unwind_request *req, uint64_t step, uint64_t function, struct sw_candidate *c)
{
    if (!(step & SW_STEP_BY_CALL))
        return true;
    if ((step & SW_STEP_SEARCHED) && !sw_forward_is_silent(req))
        return false;
    if (function == 0 || !sw_is_call_of(req, sw_regs_pc(&c->caller), function))
        return !(step & SW_STEP_ONLY_SO) || ((step & SW_STEP_POINTER) && is_pointed(req, sw_regs_pc(&c->caller)));
    c->rule.trust = SW_TRUST_CONFIRMED;
    return true;
}

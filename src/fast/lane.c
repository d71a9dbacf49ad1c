/*
 * See lane.h: how a walk's view is made, and what is asked less often than once a frame.
 */
#include "fast/lane.h"

#include "code/images.h"

/* Every slot of a step lies at most SW_SLOT_NEAR words below its CFA. */
static void find_bounds(struct sw_lane *lane, const struct sw_walker *walker)
{
    const struct sw_window *w = &walker->memory.window;
    const uint64_t least = w->begin + SW_SLOT_NEAR * SW_WORD;
    const bool bounded = walker->stack_end != 0;
    const uint64_t begin = bounded && walker->stack_begin > least ? walker->stack_begin : least;
    const uint64_t end = bounded && walker->stack_end < w->end ? walker->stack_end : w->end;
    if (walker->machine != SW_MACHINE_X64 || lane->tags != 0 || w->begin >= w->end || least < w->begin || begin > end ||
        end > INT64_MAX) /* so that no CFA wraps round */
        return;
    lane->least = begin;
    lane->view.top = end;
    lane->view.stack = (uintptr_t)w->bytes - (uintptr_t)w->begin;
}

void sw_lane_start(struct sw_lane *lane, const struct sw_walker *walker)
{
    static const _Atomic uint64_t no_changes[SW_CHANGES];
    enum { FLAGS = 8 };
    lane->cache = walker->flags < FLAGS && walker->replaced.at == 0 ? walker->cache : NULL;
    lane->replay = NULL;
    lane->misses = lane->replayed = 0;
    lane->least = UINT64_MAX;
    lane->view.top = 0;
    lane->found = SW_FOUND_NEVER;
    if (!lane->cache)
        return;
    lane->view.hot = lane->cache->hot;
    lane->cold = lane->cache->cold;
    lane->tags = sw_cache_tags(lane->cache, walker->flags);
    lane->codemap = walker->codemap;
    lane->changes = (struct sw_changes){ walker->codemap ? sw_codemap_changes(walker->codemap) : no_changes,
                                         sw_images_clock(walker->images) };
    lane->holds = sw_cache_open(lane->cache, &lane->changes);
    find_bounds(lane, walker);
}

void sw_lane_note_generations(struct sw_lane *lane)
{
    if (lane->cache)
        lane->found = sw_found_at(atomic_load_explicit(lane->changes.images, memory_order_acquire),
                                  sw_codemap_generation(lane->codemap));
}

bool sw_lane_find(struct sw_lane *lane, uint64_t pc, bool exact, struct sw_entry *entry, uint64_t *at)
{
    uint32_t n;
    if (!lane->cache)
        return false;
    entry->key = pc | lane->tags | (exact ? SW_KEY_EXACT : 0);
    const enum sw_cache_count answer =
        pc < SW_KEY_PC_END ? sw_cache_find(lane->cache, &lane->changes, pc, entry, &n) : SW_COUNT_ABSENT;
    *at = answer == SW_COUNT_HITS ? n * sizeof *lane->view.hot : 0;
    if (answer == SW_COUNT_HITS)
        return true;
    lane->misses++;
    sw_cache_count(lane->cache, answer, 1);
    return false;
}

uint64_t sw_lane_look_up(const struct sw_lane *lane, uint64_t from, uint64_t pc)
{
    if (pc == 0 || pc >= SW_KEY_PC_END)
        return 0;
    const uint64_t entry = sw_cache_number(lane->cache, pc, pc) * sizeof *lane->view.hot;
    if (entry != 0)
        atomic_store_explicit(&sw_hot_at(lane->view.hot, from)->next, entry, memory_order_relaxed);
    return entry;
}

void sw_lane_place(const struct sw_lane *lane, struct sw_at *at)
{
    at->entry = sw_lane_look_up(lane, 0, at->pc);
    const bool usable = at->entry != 0 && (lane->holds || sw_lane_holds(lane, at->entry, at->pc));
    at->step = usable ? sw_load(&sw_hot_at(lane->view.hot, at->entry)->step) : 0;
}

SW_OTHERS_FRAMES enum sw_stop sw_lane_end(const struct sw_lane *lane, uint64_t step, uint64_t sp, uint64_t fp)
{
    const uint64_t cfa = sw_lane_cfa(step, sp, fp);
    if (step & SW_STEP_END)
        return SW_STOP_ROOT;
    if (!(step & SW_STEP_EASY) || step & SW_STEP_ONLY_SO || !sw_lane_is_open(lane) || !sw_lane_is_inside(lane, cfa))
        return SW_STOP_NONE;
    return sw_lane_word(lane->view.stack, cfa - SW_WORD) == 0 ? SW_STOP_ROOT_ZERO : SW_STOP_NONE;
}

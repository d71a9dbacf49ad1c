/* See valid.h. Knows what entries and traces may be, in words that do not depend on how they are used. */
#include "fast/valid.h"

#ifndef NDEBUG

static bool is_power(uint64_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

/* At most one way to go on; none from the outermost frame, and none that the step's numbers contradict. */
static bool is_step(uint64_t step)
{
    const uint64_t easy = step & SW_STEP_EASY;
    const unsigned cfa = sw_step_cfa_register(step);
    if (!(step & SW_STEP_ENTRY) || sw_step_source(step) >= SW_SOURCE_COUNT || sw_step_trust(step) >= SW_TRUST_COUNT)
        return false;
    if ((easy & (easy - 1)) != 0 || ((step & SW_STEP_END) && easy) ||
        ((step & SW_STEP_ONLY_SO) && !(step & SW_STEP_BY_CALL)) ||
        (step & (step & SW_STEP_ONLY_SO ? SW_STEP_DIRECT : SW_STEP_DIRECT_SO)))
        return false;
    if ((step & (SW_STEP_FRAMED | SW_STEP_FRAMED_SO)) && cfa == SW_X64_RBP)
        return sw_step_offset(step) == 2 * SW_WORD && sw_step_place(step) == SW_SLOT_BELOW(2 * SW_WORD);
    if (step & (SW_STEP_FRAMED | SW_STEP_FRAMED_SO))
        return cfa == SW_ARM64_FP && sw_step_place(step) == 1 && !(step & (SW_STEP_LONE | SW_STEP_HIGH));
    return !(step & (SW_STEP_PLAIN | SW_STEP_PLAIN_SO)) || cfa == SW_X64_RSP ||
           (cfa == SW_ARM64_SP && sw_step_place(step) != 0 && !(step & SW_STEP_HIGH));
}

bool sw_entry_is_valid(const struct sw_entry *entry)
{
    return entry->key != SW_KEY_NONE && is_step(entry->step) && entry->begin <= entry->end &&
           entry->found <= SW_FOUND_NEVER && (uint8_t)(entry->attributes >> 32) <= SW_KIND_NATIVE;
}

static bool is_kept(const struct sw_cache *cache, uint32_t n)
{
    const uint64_t key = sw_cache_key(cache, n), hot = sw_load(&cache->hot[n].step);
    const struct sw_cold *cold = &cache->cold[n];
    if (key == SW_KEY_NONE)
        return hot == 0;
    const struct sw_entry entry = { .key = key,
                                    .step = sw_load(&cold->step),
                                    .begin = sw_load(&cold->begin),
                                    .end = sw_load(&cold->end),
                                    .attributes = sw_load(&cold->attributes) };
    return sw_entry_is_valid(&entry) && (hot == 0 || hot == sw_hot_step(key, entry.step));
}

bool sw_cache_is_valid(const struct sw_cache *cache)
{
    if (!is_power(cache->room) || cache->index_mask != SW_CACHE_PLACES * cache->room - 1 || cache->used > cache->room ||
        cache->hand > cache->room || cache->checked > cache->used)
        return false;
    for (uint32_t place = 0; place <= cache->index_mask; place++)
        if (sw_cache_at(cache, place) > cache->used)
            return false;
    for (uint32_t n = 1; n <= cache->used; n++)
        if (!is_kept(cache, n))
            return false;
    return true;
}

bool sw_replay_is_valid(const struct sw_replay *replay)
{
    if (replay->first > replay->room || replay->tail > replay->room || replay->staged > replay->room)
        return false;
    for (uint32_t i = replay->first; i < replay->room; i++) {
        const struct sw_trace_check *check = &replay->checks[i], *next = i + 1 < replay->room ? check + 1 : NULL;
        if (check->run != (next ? sw_trace_run(next) : 0) || check->sp != replay->frames[i].sp ||
            (next && next->follows && next->sp <= check->sp))
            return false;
    }
    return true;
}

#endif

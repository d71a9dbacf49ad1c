/*
 * What walks one by one (walk.c) and in one call (whole.c) do alike with the entry of a frame.
 */
#ifndef SW_WALK_BY_ENTRY_H
#define SW_WALK_BY_ENTRY_H

#include "fast/lane.h"

_Static_assert(sizeof(struct sw_range) == 32 && offsetof(struct sw_range, id) == 16 &&
                   offsetof(struct sw_range, image) == 24 && offsetof(struct sw_range, kind) == 28 &&
                   offsetof(struct sw_range, unwind) == 29 && offsetof(struct sw_range, flags) == 30 &&
                   offsetof(struct sw_cold, attributes) - offsetof(struct sw_cold, begin) == 24,
               "an entry has a code range as it is");

/*
 * All at once, which is half as many loads and stores as word by word. Where an entry is written meanwhile, words of
 * two may meet, and are not believed.
 */
static SW_INLINE void sw_walk_set_code(struct sw_range *code, const struct sw_cold *cold)
{
#ifdef SW_UNDER_TSAN
    code->begin = sw_load(&cold->begin);
    code->end = sw_load(&cold->end);
    code->id = sw_load(&cold->id);
    sw_entry_attributes(code, sw_load(&cold->attributes));
#else
    enum { HALF = sizeof *code / 2 }; /* whole, its second half would be written by an address of its own */
    const char *from = (const char *)cold + offsetof(struct sw_cold, begin);
    memcpy(code, from, HALF);
    memcpy((char *)code + HALF, from + HALF, HALF);
#endif
}

/* Whether what was read of entries is what is there; otherwise the walk knows no entry any more. */
static SW_INLINE bool sw_walk_is_believed(struct sw_walk *walk, const struct sw_lane *lane)
{
    if (SW_LIKELY(sw_cache_is_same(lane->cache, walk->entry.generation)))
        return true;
    walk->entry.step = 0;
    return false;
}

/* Whether the walk's frame is the last one, as far as its entry and the window tell: NONE where not. */
enum sw_stop sw_walk_fast_end(const struct sw_walk *walk);

#endif

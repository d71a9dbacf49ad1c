/*
 * The replay memory: made, taken for a walk, given back with what the walk has staged. Refuses to know how frames are
 * found. All in it is a statement about words: "from this pc, sp and rbp, where these words are as they were, the next
 * frame is that one". It rests on rules, so on code; the words are compared anew at every use. So it does not matter
 * what stack it is used for, nor what has become of the rest of that.
 */
#include "fast/replay.h"

#include "common/alloc.h"

#include <string.h>

_Static_assert(sizeof(struct sw_known_frame) == 64, "a known frame is one line of the processor's cache");

enum {
    FRAME_BYTES = 2 * (sizeof(struct sw_known_frame) + sizeof(struct sw_check)) + sizeof(uint32_t),
    LINE = 64,
    STRANGE = 4
};

enum sw_status sw_replay_create(const struct sw_alloc *alloc, size_t frames, struct sw_replay **replay)
{
    const struct sw_alloc from = sw_alloc_resolve(alloc);
    if (!replay || frames == 0 || frames > SW_REPLAY_MAX_FRAMES || !sw_alloc_usable(alloc))
        return SW_E_ARGUMENT;
    const size_t bytes = sizeof(struct sw_replay) + LINE + frames * FRAME_BYTES;
    struct sw_replay *made = from.get(from.arg, bytes);
    if (!made)
        return SW_E_NO_MEMORY;
    memset(made, 0, sizeof *made); /* what was never remembered is never read, nor does it take memory */
    const uintptr_t behind = (uintptr_t)(made + 1);
    made->frames = (struct sw_known_frame *)(void *)((char *)(made + 1) + (0 - behind) % LINE);
    made->stage = made->frames + frames;
    made->checks = (struct sw_check *)(void *)(made->stage + frames);
    made->stage_checks = made->checks + frames;
    made->runs = (uint32_t *)(void *)(made->stage_checks + frames);
    made->alloc = from;
    made->bytes = bytes;
    made->room = made->first = (uint32_t)frames;
    *replay = made;
    return SW_OK;
}

void sw_replay_destroy(struct sw_replay *replay)
{
    if (replay)
        replay->alloc.put(replay->alloc.arg, replay, replay->bytes);
}

static uint64_t count_of(const struct sw_replay *replay, enum sw_replay_count which)
{
    return atomic_load_explicit(&replay->counts[which], memory_order_relaxed);
}

struct sw_replay_counts sw_replay_get_counts(const struct sw_replay *replay)
{
    if (!replay)
        return (struct sw_replay_counts){ 0 };
    return (struct sw_replay_counts){ .walks = count_of(replay, SW_REPLAY_WALKS),
                                      .replayed = count_of(replay, SW_REPLAY_REPLAYED),
                                      .walked = count_of(replay, SW_REPLAY_WALKED),
                                      .resets = count_of(replay, SW_REPLAY_FORGOTTEN) };
}

/* ---- one walk ---- */

/* Whether nothing has happened at a frame's pc since; its own form stands with the frame that follows from it. */
static bool frame_holds(const struct sw_replay *replay, uint32_t i, const struct sw_cache_clocks *clocks)
{
    const bool is_followed = i + 1 < replay->room && replay->checks[i + 1].at_pc && replay->frames[i + 1].form;
    const uint64_t form = is_followed ? replay->frames[i + 1].form : 0;
    const struct sw_cached known = { .stamp = replay->stamp, .form = form },
                           unranged = { .stamp = replay->stamp, .form = SW_FORM_UNRANGED };
    const uint64_t pc = replay->frames[i].pc;
    return sw_cached_holds(&known, pc, clocks) && (is_followed || sw_cached_holds(&unranged, pc, clocks));
}

/* Something has changed somewhere: whether it was at none of the pcs. */
static bool still_holds(const struct sw_replay *replay, const struct sw_cache_clocks *clocks)
{
    for (uint32_t i = replay->first; i < replay->room; i++)
        if (!frame_holds(replay, i, clocks))
            return false;
    return true;
}

bool sw_replay_open(struct sw_replay *replay, const struct sw_cache *cache, uint64_t flags,
                    const struct sw_cache_clocks *clocks, const uint64_t quiet[2], uint64_t stamp)
{
    if (atomic_exchange_explicit(&replay->is_busy, 1, memory_order_acquire) != 0)
        return false;
    const bool is_quiet = ((replay->stamp - quiet[0]) | (replay->stamp - quiet[1])) >> 63 == 0;
    if (replay->cache != cache || replay->flags != flags || (!is_quiet && !still_holds(replay, clocks)))
        sw_replay_forget(replay);
    replay->cache = cache;
    replay->flags = flags;
    replay->stamp = stamp;
    replay->is_staging = replay->first == replay->room || replay->is_strange || ++replay->since >= SW_REPLAY_EVERY;
    replay->found = replay->walked = 0;
    replay->staged = 0;
    replay->tail = replay->upto = replay->room;
    replay->cursor = replay->first;
    replay->is_lost = false;
    return true;
}

void sw_replay_stage(struct sw_replay *replay, uint32_t first, uint32_t count)
{
    replay->is_lost |= count > replay->room - replay->staged;
    replay->tail = replay->room;
    if (replay->is_lost)
        return;
    memcpy(replay->stage + replay->staged, replay->frames + first, count * sizeof *replay->frames);
    memcpy(replay->stage_checks + replay->staged, replay->checks + first, count * sizeof *replay->checks);
    replay->staged += count;
    replay->last = first + count == replay->room ? replay->end : replay->last;
}

/* The staged frames are put in front of what the walk has met, or of nothing. */
static void remember(struct sw_replay *replay)
{
    const uint32_t tail = replay->tail, count = replay->staged < tail ? replay->staged : tail;
    const uint32_t from = replay->staged - count, to = tail - count;
    replay->since = 0;
    replay->first = to;
    if (count == 0)
        return;
    memcpy(replay->frames + to, replay->stage + from, count * sizeof *replay->frames);
    memcpy(replay->checks + to, replay->stage_checks + from, count * sizeof *replay->checks);
    if (tail == replay->room) {
        replay->runs[tail - 1] = 0;
        replay->end = replay->last;
    }
    for (uint32_t i = tail - 1; i-- > to;)
        replay->runs[i] = replay->checks[i + 1].at_pc ? replay->runs[i + 1] + 1 : 0;
}

void sw_replay_close(struct sw_replay *replay)
{
    sw_replay_count(replay, SW_REPLAY_WALKS, 1);
    sw_replay_count(replay, SW_REPLAY_REPLAYED, replay->found);
    sw_replay_count(replay, SW_REPLAY_WALKED, replay->walked);
    replay->is_strange = replay->found < replay->walked / STRANGE;
    if (replay->is_lost)
        sw_replay_forget(replay);
    else if (replay->is_staging)
        remember(replay);
    atomic_store_explicit(&replay->is_busy, 0, memory_order_release);
}

/*
 * How much memory walks have: the two caches begin small and are replaced by larger ones as they fill up, and there are
 * more leases as there are more threads. All of that happens in events and in sw_clr_refresh, never in a walk. Knows
 * when nobody uses a cache any more; refuses to know what is in it.
 *
 * A walk uses the caches that it finds when it has its lease. So a cache that was replaced is free when each lease was
 * seen free since, or was given back: who takes one later finds the new cache. Nobody waits for that.
 */
#include "clr/internal.h"

#include "fast/cache.h"
#include "unwind/analysis_cache.h"

enum { FIRST_ANALYSIS_BYTES = 256 << 10, FIRST_ENTRIES = 1 << 11, FIRST_LEASES = 8, GROWTH = 2 };

/* ---- what is no longer used ---- */

static void begin_retirement(struct sw_clr *clr)
{
    for (unsigned i = 0; i < SW_CLR_LEASES; i++)
        clr->retired.turns[i] = atomic_load(&clr->leases[i].turns);
}

static bool may_be_used(const struct sw_clr *clr)
{
    for (unsigned i = 0; i < SW_CLR_LEASES; i++)
        if (atomic_load(&clr->leases[i].inside) != 0 && atomic_load(&clr->leases[i].turns) == clr->retired.turns[i])
            return true;
    return false;
}

/* False: a walk may still be using it. */
static bool release_retired(struct sw_clr *clr)
{
    if ((clr->retired.cache || clr->retired.analysis_cache) && may_be_used(clr))
        return false;
    sw_cache_destroy(clr->retired.cache);
    sw_analysis_cache_destroy(clr->retired.analysis_cache);
    clr->retired.cache = NULL;
    clr->retired.analysis_cache = NULL;
    return true;
}

/* ---- the caches ---- */

uint64_t sw_clr_cache_bytes(const struct sw_clr *clr)
{
    return sw_cache_get_counts(atomic_load(&clr->cache)).bytes +
           sw_analysis_cache_get_counts(atomic_load(&clr->analysis_cache)).bytes;
}

/* Whether another cache of that size may stand beside the present ones for a moment. Neither takes all there is. */
static bool is_allowed(const struct sw_clr *clr, uint64_t more)
{
    const uint64_t limit = atomic_load(&clr->memory_limit), now = sw_clr_cache_bytes(clr);
    return now <= limit && more <= limit - now && more <= limit / 2;
}

static void grow_cache(struct sw_clr *clr)
{
    struct sw_cache *old = atomic_load(&clr->cache), *grown;
    if (!sw_cache_is_full(old))
        return;
    const struct sw_cache_counts counts = sw_cache_get_counts(old);
    if (counts.entries > SW_CACHE_MAX_ENTRIES / GROWTH || !is_allowed(clr, GROWTH * counts.bytes) ||
        sw_cache_create(&clr->alloc, GROWTH * counts.entries, &grown) != SW_OK)
        return;
    sw_cache_copy(grown, old);
    atomic_store(&clr->cache, grown);
    clr->retired.cache = old;
}

static void grow_analysis_cache(struct sw_clr *clr)
{
    struct sw_analysis_cache *old = atomic_load(&clr->analysis_cache), *grown;
    if (!sw_analysis_cache_is_full(old))
        return;
    const uint64_t bytes = GROWTH * sw_analysis_cache_get_counts(old).bytes;
    if (!is_allowed(clr, bytes) || sw_analysis_cache_create(&clr->alloc, (size_t)bytes, &grown) != SW_OK)
        return;
    sw_analysis_cache_copy(grown, old);
    atomic_store(&clr->analysis_cache, grown);
    clr->retired.analysis_cache = old;
}

/* ---- the leases ---- */

/* A lease that cannot be made is made later, or never: then walks share those that there are. */
static bool add_lease(struct sw_clr *clr, unsigned number)
{
    struct sw_clr_lease *lease = &clr->leases[number];
    if (!lease->workspace)
        lease->workspace = clr->alloc.get(clr->alloc.arg, sizeof *lease->workspace);
    if (!lease->workspace ||
        (!lease->walker.replay &&
         sw_replay_create(&clr->alloc, SW_CLR_REPLAY_FRAMES, &lease->walker.replay) != SW_OK) ||
        (!lease->memo && sw_memo_create(&clr->alloc, &lease->memo) != SW_OK))
        return false;
    atomic_store(&clr->lease_count, number + 1);
    return true;
}

/* As many as threads, and some for handlers that interrupt each other. */
static void add_leases(struct sw_clr *clr)
{
    const unsigned wanted = atomic_load(&clr->thread_count) + FIRST_LEASES;
    unsigned count = atomic_load(&clr->lease_count);
    while (count < SW_CLR_LEASES && count < wanted && add_lease(clr, count))
        count++;
}

/* ---- all of it ---- */

enum sw_status sw_clr_memory_create(struct sw_clr *clr)
{
    struct sw_analysis_cache *analysis_cache = NULL;
    struct sw_cache *cache = NULL;
    enum sw_status status = sw_analysis_cache_create(&clr->alloc, FIRST_ANALYSIS_BYTES, &analysis_cache);
    if (status == SW_OK)
        status = sw_cache_create(&clr->alloc, FIRST_ENTRIES, &cache);
    atomic_store(&clr->analysis_cache, analysis_cache);
    atomic_store(&clr->cache, cache);
    atomic_store(&clr->memory_limit, SW_CLR_MEMORY_DEFAULT);
    for (unsigned i = 0; i < FIRST_LEASES && status == SW_OK; i++)
        status = add_lease(clr, i) ? SW_OK : SW_E_NO_MEMORY;
    return status;
}

void sw_clr_memory_destroy(struct sw_clr *clr)
{
    for (unsigned i = 0; i < SW_CLR_LEASES; i++) {
        struct sw_clr_lease *lease = &clr->leases[i];
        sw_replay_destroy(lease->walker.replay);
        sw_memo_destroy(lease->memo);
        if (lease->workspace)
            clr->alloc.put(clr->alloc.arg, lease->workspace, sizeof *lease->workspace);
    }
    sw_cache_destroy(clr->retired.cache);
    sw_analysis_cache_destroy(clr->retired.analysis_cache);
    sw_cache_destroy(atomic_load(&clr->cache));
    sw_analysis_cache_destroy(atomic_load(&clr->analysis_cache));
}

/* One at a time: each counts with its successor. */
static void replace_full(struct sw_clr *clr)
{
    grow_cache(clr);
    if (!clr->retired.cache)
        grow_analysis_cache(clr);
    if (!clr->retired.cache && !clr->retired.analysis_cache)
        return;
    begin_retirement(clr);
    (void)release_retired(clr);
}

void sw_clr_grow(struct sw_clr *clr)
{
    if (atomic_exchange(&clr->is_growing, true))
        return;
    add_leases(clr);
    if (release_retired(clr))
        replace_full(clr);
    atomic_store(&clr->is_growing, false);
}

void sw_clr_set_memory_limit(struct sw_clr *clr, uint64_t bytes)
{
    atomic_store(&clr->memory_limit, bytes ? bytes : SW_CLR_MEMORY_DEFAULT);
}

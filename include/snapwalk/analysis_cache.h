/*
 * The analysis cache: what walks found out about code without unwind tables, for later walks: analyses of functions,
 * rules at pcs, ways forward from pcs, and that nothing can be known. Without it every walk finds out anew. It also
 * notes what walks left undone because of their budget, for sw_walk_prepare. One cache serves any number of walkers of
 * the same target, in signal handlers too. It changes no answer.
 */
#ifndef SNAPWALK_ANALYSIS_CACHE_H
#define SNAPWALK_ANALYSIS_CACHE_H

#include <snapwalk/alloc.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sw_analysis_cache;

/*
 * Makes an empty cache.
 *
 * alloc    Copied. NULL means malloc and free.
 * bytes    How much memory it takes in all, at least 64 KiB. A function takes 1 to 2 KiB, a pc in it about 200 bytes;
 *          4 MiB do for most programs. A full cache drops what is oldest.
 * cache    Receives the cache. The caller owns it and frees it with sw_analysis_cache_destroy.
 *
 * Returns  SW_OK; SW_E_ARGUMENT (cache null, bytes below 64 KiB); SW_E_NO_MEMORY.
 * Memory   Allocates `bytes` once. Threads  Any. Signals  Not safe.
 */
SW_API SW_NODISCARD enum sw_status sw_analysis_cache_create(const struct sw_alloc *alloc, size_t bytes,
                                                            struct sw_analysis_cache **cache);

/*
 * Frees a cache. NULL is allowed.
 *
 * Threads  No walk may be using the cache. Signals  Not safe.
 */
SW_API void sw_analysis_cache_destroy(struct sw_analysis_cache *cache);

/*
 * The counters of a cache since it was made.
 *
 * hits      Findings that were in the cache.
 * misses    Findings that were not.
 * outdated  Those of the misses whose code or image had changed.
 * bytes     The size of the cache.
 * cuts      How often a walk's budget cut a piece of work.
 * pending   Pieces of work that wait for sw_walk_prepare. A few hundred are noted per MiB; others are noted when they
 *           are cut again.
 *
 * Memory   Allocates nothing. Threads  Any; the counters are not of one moment. Signals  Safe.
 */
struct sw_analysis_cache_counts {
    uint64_t hits;
    uint64_t misses;
    uint64_t outdated;
    uint64_t bytes;
    uint64_t cuts;
    uint64_t pending;
};
SW_API struct sw_analysis_cache_counts sw_analysis_cache_get_counts(const struct sw_analysis_cache *cache);

#ifdef __cplusplus
}
#endif

#endif

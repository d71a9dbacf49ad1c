/*
 * What analyses of functions found, kept between walks. Without it each walk derives rules anew; with it a second pc of a
 * function is cheap. One store serves any number of walkers of the same target.
 */
#ifndef SNAPWALK_ANALYSIS_CACHE_H
#define SNAPWALK_ANALYSIS_CACHE_H

#include <snapwalk/alloc.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sw_analysis_cache;

/*
 * Makes an empty store.
 *
 * alloc    Copied; NULL for malloc and free.
 * bytes    How much memory it may take, all included; at least 64 KiB. 1 to 2 KiB serve a function; when it is full the
 *          oldest make room.
 * cache    Receives the store; the caller owns it and gives it back with sw_analysis_cache_destroy.
 *
 * Returns  SW_OK; SW_E_ARGUMENT (cache null, bytes below 64 KiB); SW_E_NO_MEMORY.
 * Memory   Allocates `bytes` once. Threads  Any. Signals  Not safe.
 */
SW_NODISCARD enum sw_status sw_analysis_cache_create(const struct sw_alloc *alloc, size_t bytes, struct sw_analysis_cache **cache);

/*
 * Gives a store back. No walk may use it any more.
 *
 * cache    May be null. Threads  One. Signals  Not safe.
 */
void sw_analysis_cache_destroy(struct sw_analysis_cache *cache);

/*
 * Counters of a store since it was made.
 *
 * hits      Functions that were found in it.
 * misses    Functions that were not.
 * outdated  Among the misses: those whose code or image had changed.
 * bytes     What it takes.
 *
 * Memory   Allocates nothing. Threads  Any; the counts are not of one moment. Signals  Safe.
 */
struct sw_analysis_cache_counts {
    uint64_t hits;
    uint64_t misses;
    uint64_t outdated;
    uint64_t bytes;
};
struct sw_analysis_cache_counts sw_analysis_cache_get_counts(const struct sw_analysis_cache *cache);

#ifdef __cplusplus
}
#endif

#endif

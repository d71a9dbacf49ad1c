/*
 * The store of what was found out about code, from the inside: analyses and other findings, each for as long as the
 * code is what it was; and the work that walks had to leave undone.
 */
#ifndef SW_ANALYSIS_CACHE_H
#define SW_ANALYSIS_CACHE_H

#include "analyze/analyze.h"
#include "unwind/pending.h"

#include <snapwalk/analysis_cache.h>

/*
 * get: the words of a finding that is there and holds, and what it was read from into the code's meter; try: the same,
 * of one that may be another one's part: that it is not there is not counted. put: stores one, which was read from what
 * the code's meter says.
 *
 * cache       May be null.
 * generation  What says that the code is still the same (the generation of its image); 0: its bytes are compared.
 *
 * Returns  get: how many words there are; 0: none, or they are more than `room`. Counts that.
 */
size_t sw_analysis_cache_get(struct sw_analysis_cache *cache, const struct sw_code *code,
                             const struct sw_finding *finding, uint64_t generation, uint64_t *words, size_t room);
size_t sw_analysis_cache_try(struct sw_analysis_cache *cache, const struct sw_code *code,
                             const struct sw_finding *finding, uint64_t generation, uint64_t *words, size_t room);
void sw_analysis_cache_put(struct sw_analysis_cache *cache, const struct sw_code *code,
                           const struct sw_finding *finding, uint64_t generation, const uint64_t *words, size_t count);

/*
 * Writes to the next pages of memory that findings will be written to, so that no walk has their page faults: to be
 * called between walks, while others may go on. A few pages a call, each once. cache may be null.
 */
void sw_analysis_cache_touch(struct sw_analysis_cache *cache);

/*
 * The rule at pc of the function [begin, end) as sw_analyze_function gives it, its analysis from the store or run anew
 * and then kept. cache may be null. Nothing is kept of what the code's meter has cut.
 *
 * Returns  SW_OK; SW_E_NO_RULE.
 */
SW_NODISCARD enum sw_status sw_analysis_cache_rule(struct sw_analysis_cache *cache, const struct sw_code *code,
                                                   uint64_t begin, uint64_t end, uint64_t pc, uint64_t generation,
                                                   struct sw_analysis *work, struct sw_rule *rule);

/* The same without asking for a pc: the analysis in work. */
void sw_analysis_cache_analyze(struct sw_analysis_cache *cache, const struct sw_code *code, uint64_t begin,
                               uint64_t end, uint64_t generation, struct sw_analysis *work);

/*
 * Work that was cut (pending.h); cache may be null.
 *
 * pend     Notes it, and counts the cut.
 * cost     What it had cost; 0: it is not noted.
 * pending  The n-th place of the notes. False: there is none. finding->kind is NONE where the place is free.
 * settle   Frees its place.
 */
void sw_analysis_cache_pend(struct sw_analysis_cache *cache, const struct sw_pending *pending);
uint64_t sw_analysis_cache_cost(const struct sw_analysis_cache *cache, const struct sw_finding *finding,
                                uint64_t stamp);
bool sw_analysis_cache_pending(const struct sw_analysis_cache *cache, size_t n, struct sw_pending *pending);
void sw_analysis_cache_settle(struct sw_analysis_cache *cache, const struct sw_finding *finding);

/*
 * Fills a cache that is new, and that nobody uses yet, with what is in another one, which may be in use; with its notes
 * and counters. `to` is at least as large. What walks put into `from` meanwhile may be missing. is_full: three quarters
 * of it were used; from there on it is not long until findings are dropped.
 */
void sw_analysis_cache_copy(struct sw_analysis_cache *to, const struct sw_analysis_cache *from);
bool sw_analysis_cache_is_full(const struct sw_analysis_cache *cache);

#endif

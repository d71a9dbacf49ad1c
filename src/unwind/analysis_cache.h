/*
 * The store of analyses, from the inside.
 */
#ifndef SW_ANALYSIS_CACHE_H
#define SW_ANALYSIS_CACHE_H

#include "analyze/analyze.h"

#include <snapwalk/analysis_cache.h>

/*
 * The rule at pc of the function [begin, end) as sw_analyze_function gives it, its analysis from the store or run anew
 * and then kept. cache may be null.
 *
 * generation  What says that the code is still the same (the generation of its image); 0: its bytes are compared.
 *
 * Returns  SW_OK; SW_E_NO_RULE.
 */
SW_NODISCARD enum sw_status sw_analysis_cache_rule(struct sw_analysis_cache *cache, const struct sw_code *code,
                                                   uint64_t begin, uint64_t end, uint64_t pc, uint64_t generation,
                                                   struct sw_analysis *work, struct sw_rule *rule);

/* The same without asking for a pc: the analysis in work. */
void sw_analysis_cache_analyze(struct sw_analysis_cache *cache, const struct sw_code *code, uint64_t begin,
                               uint64_t end, uint64_t generation, struct sw_analysis *work);

/* The function that a pc was found to be in, noted for the next time; 0: none. A hint, to be confirmed. */
void sw_analysis_cache_note(struct sw_analysis_cache *cache, uint64_t pc, uint64_t function);
uint64_t sw_analysis_cache_function(const struct sw_analysis_cache *cache, uint64_t pc);

#endif

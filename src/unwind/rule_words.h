/*
 * A rule as words, for the analysis cache: what stands in it beside what sw_rule_init gives, which is the CFA, a mask
 * of registers, and their locations. Rules by instructions have no expressions.
 */
#ifndef SW_UNWIND_RULE_WORDS_H
#define SW_UNWIND_RULE_WORDS_H

#include "base/rule.h"

enum { SW_PACKED_RULE_WORDS = 3 + SW_REGS_MAX };

/*
 * pack: how many words it takes; sw_rule_words: those that start there. unpack: how many of `count` words it is; 0: it
 * is none, or not all of it.
 */
size_t sw_rule_words(const uint64_t *words);
size_t sw_rule_pack(const struct sw_rule *rule, enum sw_machine machine, uint64_t words[SW_PACKED_RULE_WORDS]);
size_t sw_rule_unpack(const uint64_t *words, size_t count, enum sw_machine machine, struct sw_rule *rule);

#endif

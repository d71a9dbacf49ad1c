/*
 * The rule codec: an unwind rule in the words of an entry, and out of them again. What has no such form is not stored.
 */
#ifndef SW_FAST_CODEC_H
#define SW_FAST_CODEC_H

#include "fast/entry.h"

#include "base/rule.h"

/*
 * Puts a rule into entry->step, ->slots and ->same. Of the step, trust and SW_STEP_* bits about the call stay the
 * caller's.
 *
 * Returns  False: the rule has no such form.
 */
SW_NODISCARD bool sw_codec_pack(enum sw_machine machine, const struct sw_rule *rule, struct sw_entry *entry);

/* The same back; a step with SW_STEP_END becomes SW_RULE_END. */
void sw_codec_unpack(enum sw_machine machine, uint64_t step, uint64_t slots, uint32_t same, struct sw_rule *rule);

/* The ARM64 half (codec_arm64.c). */
SW_NODISCARD bool sw_codec_pack_arm64(const struct sw_rule *rule, struct sw_entry *entry);
void sw_codec_unpack_arm64(uint64_t step, uint64_t slots, uint32_t same, struct sw_rule *rule);

#endif

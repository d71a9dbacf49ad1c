/* See rule_words.h. */
#include "unwind/rule_words.h"

#include <string.h>

enum { MASK_AT = 2, FIRST_LOCATION = 3 };

size_t sw_rule_words(const uint64_t *words)
{
    return FIRST_LOCATION + (size_t)__builtin_popcountll(words[MASK_AT]);
}

size_t sw_rule_pack(const struct sw_rule *rule, enum sw_machine machine, uint64_t words[SW_PACKED_RULE_WORDS])
{
    struct sw_rule usual;
    uint64_t mask = 0;
    size_t count = FIRST_LOCATION;
    sw_rule_init(&usual, machine, SW_SOURCE_NONE, SW_TRUST_NONE);
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        if (memcmp(&rule->r[n], &usual.r[n], sizeof usual.r[n]) != 0) {
            mask |= UINT64_C(1) << n;
            memcpy(&words[count++], &rule->r[n], sizeof rule->r[n]);
        }
    words[0] = rule->source | (uint64_t)rule->trust << 8 | (uint64_t)rule->flags << 16 |
               (uint64_t)(uint32_t)rule->cfa_add << 32;
    memcpy(&words[1], &rule->cfa, sizeof rule->cfa);
    words[MASK_AT] = mask;
    return count;
}

size_t sw_rule_unpack(const uint64_t *words, size_t count, enum sw_machine machine, struct sw_rule *rule)
{
    size_t at = FIRST_LOCATION;
    if (count < at)
        return 0;
    sw_rule_init(rule, machine, (enum sw_source)(words[0] & 0xff), (enum sw_trust)(words[0] >> 8 & 0xff));
    rule->flags = (uint8_t)(words[0] >> 16);
    rule->cfa_add = (int32_t)(words[0] >> 32);
    memcpy(&rule->cfa, &words[1], sizeof rule->cfa);
    for (unsigned n = 0; n < SW_REGS_MAX; n++) {
        if (!(words[MASK_AT] >> n & 1))
            continue;
        if (at == count)
            return 0;
        memcpy(&rule->r[n], &words[at++], sizeof rule->r[n]);
    }
    return at;
}

/*
 * Rules in the words of a cache line: pack.c for x64, pack_arm64.c. For these two only.
 */
#ifndef SW_SRC_PACK_H
#define SW_SRC_PACK_H

#include "fast/warm.h"

/*
 * The CFA and the places of registers, into to->form and to->where, which hold nothing of them yet; where: five bits for
 * each of x19 to x29 and the return address (0: unchanged, in lr; 31: lost; else 1 + words above a start), form: at the
 * saved registers' bits how many words below the CFA that start is. False: they cannot be told so.
 */
SW_NODISCARD bool sw_pack_arm64(const struct sw_rule *rule, struct sw_cached *to);

/* The same back, into a rule as sw_rule_init makes it. */
void sw_unpack_arm64(const struct sw_walk_here *here, struct sw_rule *rule);

#endif

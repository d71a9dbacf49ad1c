/*
 * ARM64 rules, packed. Registers are saved side by side, the frame record beside them or at the other
 * end of the frame, where sp or x29 points: so places are told in five bits each, from two starts.
 *
 *     slots    60 bits: for x19 to x29 and the return address, 0: unchanged, in lr; 31: lost; else 1 + words above a
 *              start; bit 60: the frame record's start is the CFA's register.
 *     same     How many words below the CFA the start is.
 *
 * No such frame is left by the fast lane (src/fast).
 */
#include "arch/arch.h"

#include <string.h>

enum { PLACES = 12, BITS = 5, FIRST = 10, LOST = 31, FARTHEST = 30, START_MOST = 0xffff };

#define RECORD_BY_REGISTER (UINT64_C(1) << (PLACES * BITS))

/* In the order of their places: those of the frame record are the last two. */
static const uint8_t registers[PLACES] = { 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, SW_ARM64_FP, SW_ARM64_PC };

/* Words from the CFA to what the places of registers count from. */
static int32_t start_of(unsigned i, bool record_by_register, int32_t start, int32_t cfa)
{
    return i >= FIRST && record_by_register ? -cfa : -start;
}

/* ---- packing ---- */

static bool is_saved(const struct sw_rule *rule, unsigned i)
{
    return rule->r[registers[i]].kind == SW_LOC_AT_CFA;
}

/* The lowest word in which one of the first `count` registers is saved, below the CFA; 0: none is. */
static int32_t lowest(const struct sw_rule *rule, unsigned count)
{
    int32_t most = 0;
    for (unsigned i = 0; i < count; i++)
        if (is_saved(rule, i) && -(rule->r[registers[i]].off / SW_WORD) > most)
            most = -(rule->r[registers[i]].off / SW_WORD);
    return most;
}

/* One register's place in `bits`. False: it has none that can be told. */
static bool place_of(const struct sw_rule *rule, unsigned i, int32_t start, uint64_t *bits)
{
    const struct sw_loc loc = rule->r[registers[i]];
    const int32_t at = loc.off / SW_WORD - start;
    *bits = 0;
    if (loc.kind == SW_LOC_AT_CFA) {
        *bits = (uint64_t)(uint32_t)(at + 1);
        return loc.off % SW_WORD == 0 && at >= 0 && at < FARTHEST;
    }
    if (registers[i] == SW_ARM64_PC)
        return loc.kind == SW_LOC_REG && loc.reg == SW_ARM64_LR && loc.off == 0;
    if (loc.kind == SW_LOC_UNKNOWN)
        *bits = LOST;
    return loc.kind == SW_LOC_UNKNOWN || (loc.kind == SW_LOC_SAME && loc.off == 0);
}

static bool places(const struct sw_rule *rule, bool record_by_register, int32_t start, uint64_t *slots)
{
    *slots = record_by_register ? RECORD_BY_REGISTER : 0;
    for (unsigned i = 0; i < PLACES; i++) {
        uint64_t bits;
        if (!place_of(rule, i, start_of(i, record_by_register, start, rule->cfa.off / SW_WORD), &bits))
            return false;
        *slots |= bits << (BITS * i);
    }
    return start <= START_MOST;
}

static bool is_told(unsigned n)
{
    return n == SW_ARM64_SP || memchr(registers, (int)n, sizeof registers) != NULL;
}

static bool pack(const struct sw_rule *rule, struct sw_packed_rule *to)
{
    const struct sw_loc cfa = rule->cfa, sp = rule->r[SW_ARM64_SP];
    int32_t start = lowest(rule, PLACES);
    if (cfa.kind != SW_LOC_REG || (cfa.reg != SW_ARM64_SP && cfa.reg != SW_ARM64_FP) ||
        !sw_is_words(cfa.off, INT16_MIN, INT16_MAX) || sp.kind != SW_LOC_CFA || sp.off != 0)
        return false;
    for (unsigned n = 0; n < SW_ARM64_COUNT; n++)
        if (!is_told(n) && rule->r[n].kind != SW_LOC_UNKNOWN)
            return false;
    if (!places(rule, false, start, &to->slots)) {
        start = lowest(rule, FIRST);
        if (!places(rule, true, start, &to->slots))
            return false;
    }
    to->same = (uint32_t)start;
    to->step = sw_pack_cfa(rule);
    return true;
}

/* ---- unpacking ---- */

static void unpack(const struct sw_packed_rule *from, struct sw_rule *rule)
{
    sw_unpack_cfa(from->step, SW_MACHINE_ARM64, rule);
    const int32_t cfa = rule->cfa.off / SW_WORD;
    for (unsigned i = 0; i < PLACES; i++) {
        const int32_t bits = (int32_t)(from->slots >> (BITS * i) & LOST);
        const int32_t start = start_of(i, from->slots & RECORD_BY_REGISTER, (int32_t)from->same, cfa);
        struct sw_loc *loc = &rule->r[registers[i]];
        if (bits == LOST)
            *loc = (struct sw_loc){ SW_LOC_UNKNOWN, 0, 0, 0 };
        else if (bits != 0)
            *loc = (struct sw_loc){ SW_LOC_AT_CFA, 0, 0, (start + bits - 1) * SW_WORD };
        else if (registers[i] == SW_ARM64_PC)
            *loc = (struct sw_loc){ SW_LOC_REG, SW_ARM64_LR, 0, 0 };
    }
}

const struct sw_rule_codec sw_a64_codec = { pack, unpack };

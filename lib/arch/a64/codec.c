/*
 * ARM64 rules, packed: CFA = sp or x29 + offset; the return address in x30, or saved, alone or behind x29; x19 to x28
 * unchanged, lost, or within 30 words of each other. Knows which of them the fast lane (src/fast) can go by.
 *
 * A frame record is mostly at one end of a frame, where sp or x29 points, so its place is told from there; that of a
 * large frame whose sp points at the other end is told from the CFA (SW_STEP_HIGH).
 */
#include "arch/arch.h"

enum { SP = SW_ARM64_SP, FP = SW_ARM64_FP, LR = SW_ARM64_LR, PC = SW_ARM64_PC, FIRST = SW_ARM64_X19 };
enum { START_MOST = 0x3fff, PLACE_MOST = 0xff };

#define BIT(n) (UINT64_C(1) << (n))

/* ---- packing ---- */

/* How many words below the CFA the lowest of x19 to x28 is saved; 0: none is, below the CFA. */
static int32_t lowest(const struct sw_rule *rule)
{
    int32_t most = 0;
    for (unsigned n = FIRST; n < FP; n++)
        if (rule->r[n].kind == SW_LOC_AT_CFA && -(rule->r[n].off / SW_WORD) > most)
            most = -(rule->r[n].off / SW_WORD);
    return most;
}

/* One register's bits of the slots. False: its place cannot be told. */
static bool pack_register(struct sw_loc loc, int32_t start, uint64_t *bits)
{
    const int32_t above = loc.off / SW_WORD + start;
    *bits = loc.kind == SW_LOC_AT_CFA    ? (uint64_t)(uint32_t)(above + 1)
            : loc.kind == SW_LOC_UNKNOWN ? SW_PLACE_LOST
                                         : 0;
    if (loc.kind == SW_LOC_AT_CFA)
        return loc.off % SW_WORD == 0 && above >= 0 && above < SW_PLACE_FARTHEST;
    return loc.kind == SW_LOC_UNKNOWN || (loc.kind == SW_LOC_SAME && loc.off == 0);
}

static bool pack_registers(const struct sw_rule *rule, struct sw_packed_rule *to)
{
    const int32_t start = lowest(rule);
    uint64_t bits;
    to->slots = (uint64_t)(uint32_t)start << SW_PLACES_START_SHIFT;
    for (unsigned n = 0; n < SW_ARM64_COUNT; n++) {
        const bool is_listed = n >= FIRST && n < FP;
        if (is_listed && !pack_register(rule->r[n], start, &bits))
            return false;
        if (!is_listed && n != FP && n != SP && n != PC && rule->r[n].kind != SW_LOC_UNKNOWN)
            return false;
        to->slots |= is_listed ? bits << (SW_PLACE_BITS * (n - FIRST)) : 0;
        to->same |= rule->r[n].kind == SW_LOC_AT_CFA && n < PC ? (uint32_t)BIT(n) : 0;
    }
    return start <= START_MOST;
}

/* Where the return address is, and x29: as bits of the step. False: that cannot be told. */
static bool pack_record(const struct sw_rule *rule, uint64_t *step)
{
    const struct sw_loc pc = rule->r[PC], fp = rule->r[FP];
    const bool is_lone = fp.kind == SW_LOC_SAME && fp.off == 0;
    if (pc.kind == SW_LOC_REG)
        return pc.reg == LR && pc.off == 0 && is_lone;
    if (pc.kind != SW_LOC_AT_CFA || !sw_is_words(pc.off, INT16_MIN, INT16_MAX) ||
        (!is_lone && (fp.kind != SW_LOC_AT_CFA || fp.off != pc.off - SW_WORD)))
        return false;
    const int32_t at = is_lone ? pc.off : fp.off, above = at + rule->cfa.off;
    *step = is_lone ? SW_STEP_LONE : 0;
    if (sw_is_words(above, 0, PLACE_MOST - 1)) {
        *step |= (uint64_t)(above / SW_WORD + 1);
        return true;
    }
    *step |= SW_STEP_HIGH | (uint64_t)(-at / SW_WORD);
    return sw_is_words(at, -PLACE_MOST, -1);
}

/* Whether all words that the rule loads lie from the CFA's register on, or near the CFA, and below it. */
static bool is_inside(const struct sw_rule *rule)
{
    const int32_t near = -SW_SLOT_NEAR * SW_WORD;
    if (rule->r[PC].off < -rule->cfa.off || rule->r[PC].off >= 0)
        return false;
    for (unsigned n = FIRST; n <= FP; n++) {
        const struct sw_loc loc = rule->r[n];
        if (loc.kind == SW_LOC_AT_CFA && (loc.off >= 0 || (loc.off < -rule->cfa.off && (n == FP || loc.off < near))))
            return false;
    }
    return true;
}

/* How the fast lane may go on: where all is kept, and the return address is in the frame. */
static uint64_t easy_bits(const struct sw_rule *rule, uint64_t step)
{
    bool is_lost = false, is_other = false;
    for (unsigned n = FIRST; n < FP; n++) {
        is_lost |= rule->r[n].kind == SW_LOC_UNKNOWN;
        is_other |= rule->r[n].kind == SW_LOC_AT_CFA;
    }
    const uint64_t bits = (is_lost ? SW_STEP_LOSES : 0) | (is_other ? SW_STEP_OTHERS : 0);
    if (is_lost || sw_step_place(step) == 0 || (step & SW_STEP_HIGH) || rule->cfa.off <= 0 || !is_inside(rule))
        return bits;
    if (rule->cfa.reg == SP)
        return bits | SW_STEP_PLAIN;
    return bits | (sw_step_place(step) == 1 && !(step & SW_STEP_LONE) ? SW_STEP_FRAMED : SW_STEP_SINGLE);
}

static bool pack(const struct sw_rule *rule, struct sw_packed_rule *to)
{
    const struct sw_loc cfa = rule->cfa, sp = rule->r[SP];
    *to = (struct sw_packed_rule){ 0 };
    if (cfa.kind != SW_LOC_REG || (cfa.reg != SP && cfa.reg != FP) || !sw_is_words(cfa.off, INT16_MIN, INT16_MAX) ||
        sp.kind != SW_LOC_CFA || sp.off != 0 || !pack_registers(rule, to) || !pack_record(rule, &to->step))
        return false;
    to->step |= sw_pack_cfa(rule) | easy_bits(rule, to->step);
    return true;
}

/* ---- unpacking ---- */

static void unpack_record(uint64_t step, struct sw_rule *rule)
{
    const int32_t place = (int32_t)sw_step_place(step) * SW_WORD;
    const int32_t at = step & SW_STEP_HIGH ? -place : place - SW_WORD - rule->cfa.off;
    const int32_t pc = step & SW_STEP_LONE ? at : at + SW_WORD;
    rule->r[PC] = place ? (struct sw_loc){ SW_LOC_AT_CFA, 0, 0, pc } : (struct sw_loc){ SW_LOC_REG, LR, 0, 0 };
    if (place && !(step & SW_STEP_LONE))
        rule->r[FP] = (struct sw_loc){ SW_LOC_AT_CFA, 0, 0, at };
}

static void unpack(const struct sw_packed_rule *from, struct sw_rule *rule)
{
    const int32_t start = (int32_t)(from->slots >> SW_PLACES_START_SHIFT);
    sw_unpack_cfa(from->step, SW_MACHINE_ARM64, rule);
    unpack_record(from->step, rule);
    for (unsigned i = 0; i < SW_PLACES; i++) {
        const int32_t bits = (int32_t)(from->slots >> (SW_PLACE_BITS * i) & SW_PLACE_LOST);
        if (bits == SW_PLACE_LOST)
            rule->r[FIRST + i] = (struct sw_loc){ SW_LOC_UNKNOWN, 0, 0, 0 };
        else if (bits != 0)
            rule->r[FIRST + i] = (struct sw_loc){ SW_LOC_AT_CFA, 0, 0, (bits - 1 - start) * SW_WORD };
    }
}

const struct sw_rule_codec sw_a64_codec = { pack, unpack };

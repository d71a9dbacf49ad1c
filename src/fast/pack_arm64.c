/*
 * The rule of an ARM64 frame in the words of a cache line, and out of them again. Registers are saved side by side, the
 * frame record beside them or at the other end of the frame, where sp or x29 points: so places are told in five bits each,
 * from two starts. Refuses to know what else a line holds (pack.c); no such frame is left without the long way's checks.
 */
#include "fast/pack.h"

#include <string.h>

enum { WORD = 8, PLACES = 12, BITS = 5, FIRST = 10, LOST = 31, FARTHEST = 30, BASE_MASK = 0xffff };

#define RECORD_BY_REGISTER (UINT64_C(1) << (PLACES * BITS))

/* In the order of their places: those of the frame record are the last two. */
static const uint8_t registers[PLACES] = { 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, SW_ARM64_FP, SW_ARM64_PC };

/* What a CFA may count from, by number in the line. */
static const uint8_t cfa_registers[] = { SW_ARM64_SP, SW_ARM64_FP };

/* Words from the CFA to what the places of registers count from. */
static int32_t start_of(unsigned i, bool record_by_register, int32_t base, int32_t cfa)
{
    return i >= FIRST && record_by_register ? -cfa : -base;
}

/* ---- into the line ---- */

static bool is_saved(const struct sw_rule *rule, unsigned i)
{
    return rule->r[registers[i]].kind == SW_LOC_AT_CFA;
}

/* The lowest word in which one of the first `count` registers is saved, below the CFA; 0: none is. */
static int32_t lowest(const struct sw_rule *rule, unsigned count)
{
    int32_t most = 0;
    for (unsigned i = 0; i < count; i++)
        if (is_saved(rule, i) && -(rule->r[registers[i]].off / WORD) > most)
            most = -(rule->r[registers[i]].off / WORD);
    return most;
}

/* One register's place in `bits`. False: it has none that can be told. */
static bool place_of(const struct sw_rule *rule, unsigned i, int32_t start, uint64_t *bits)
{
    const struct sw_loc loc = rule->r[registers[i]];
    const bool is_return = registers[i] == SW_ARM64_PC;
    const int32_t at = loc.off / WORD - start;
    *bits = 0;
    if (loc.kind == SW_LOC_AT_CFA) {
        *bits = (uint64_t)(uint32_t)(at + 1);
        return loc.off % WORD == 0 && at >= 0 && at < FARTHEST;
    }
    if (is_return)
        return loc.kind == SW_LOC_REG && loc.reg == SW_ARM64_LR && loc.off == 0;
    if (loc.kind == SW_LOC_UNKNOWN)
        *bits = LOST;
    return loc.kind == SW_LOC_UNKNOWN || (loc.kind == SW_LOC_SAME && loc.off == 0);
}

static bool places(const struct sw_rule *rule, bool record_by_register, int32_t base, uint64_t *where)
{
    *where = record_by_register ? RECORD_BY_REGISTER : 0;
    for (unsigned i = 0; i < PLACES; i++) {
        uint64_t bits;
        if (!place_of(rule, i, start_of(i, record_by_register, base, rule->cfa.off / WORD), &bits))
            return false;
        *where |= bits << (BITS * i);
    }
    return base <= BASE_MASK;
}

static bool is_told(unsigned n)
{
    return n == SW_ARM64_SP || memchr(registers, (int)n, sizeof registers) != NULL;
}

bool sw_pack_arm64(const struct sw_rule *rule, struct sw_cached *to)
{
    const struct sw_loc cfa = rule->cfa, sp = rule->r[SW_ARM64_SP];
    const unsigned by = cfa.reg == SW_ARM64_FP;
    int32_t base = lowest(rule, PLACES);
    if (cfa.kind != SW_LOC_REG || cfa.reg != cfa_registers[by] || cfa.off % WORD != 0 || cfa.off / WORD > INT16_MAX ||
        cfa.off / WORD < INT16_MIN || sp.kind != SW_LOC_CFA || sp.off != 0)
        return false;
    for (unsigned n = 0; n < SW_ARM64_COUNT; n++)
        if (!is_told(n) && rule->r[n].kind != SW_LOC_UNKNOWN)
            return false;
    if (!places(rule, false, base, &to->where)) {
        base = lowest(rule, FIRST);
        if (!places(rule, true, base, &to->where))
            return false;
    }
    to->form |= (uint64_t)by << SW_FORM_CFA_SHIFT | rule->source | (uint64_t)(uint32_t)base << SW_FORM_SAVED_SHIFT |
                (uint64_t)(uint16_t)(cfa.off / WORD) << SW_FORM_OFFSET_SHIFT;
    return true;
}

/* ---- out of it ---- */

void sw_unpack_arm64(const struct sw_walk_here *here, struct sw_rule *rule)
{
    const int32_t cfa = (int32_t)((int64_t)here->form >> SW_FORM_OFFSET_SHIFT);
    const int32_t base = (int32_t)(here->form >> SW_FORM_SAVED_SHIFT & BASE_MASK);
    rule->cfa = (struct sw_loc){ SW_LOC_REG, cfa_registers[here->form >> SW_FORM_CFA_SHIFT & 1], 0, cfa * WORD };
    for (unsigned i = 0; i < PLACES; i++) {
        const int32_t bits = (int32_t)(here->where >> (BITS * i) & LOST);
        const int32_t start = start_of(i, here->where & RECORD_BY_REGISTER, base, cfa);
        struct sw_loc *loc = &rule->r[registers[i]];
        if (bits == LOST)
            *loc = (struct sw_loc){ SW_LOC_UNKNOWN, 0, 0, 0 };
        else if (bits != 0)
            *loc = (struct sw_loc){ SW_LOC_AT_CFA, 0, 0, (start + bits - 1) * WORD };
        else if (registers[i] == SW_ARM64_PC)
            *loc = (struct sw_loc){ SW_LOC_REG, SW_ARM64_LR, 0, 0 };
    }
}

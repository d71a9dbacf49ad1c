/*
 * x64 rules, packed: CFA = register + offset, return address below the CFA, nonvolatile registers, those of Windows
 * among them, unchanged, lost, or in a slot. Knows which of them the fast lane (src/fast) can go by.
 */
#include "arch/arch.h"

#include <string.h>

enum { RSP = SW_X64_RSP, RBP = SW_X64_RBP, RIP = SW_X64_RIP };

#define BIT(n) (UINT64_C(1) << (n))

/* ---- packing ---- */

/* Where a register is, or false: it cannot be said in a byte. */
static bool pack_register(const struct sw_rule *rule, unsigned i, struct sw_packed_rule *to)
{
    const unsigned n = sw_slot_registers[i];
    const struct sw_loc loc = rule->r[n];
    if (loc.kind == SW_LOC_UNKNOWN)
        return true;
    if (loc.kind == SW_LOC_SAME && loc.off == 0) {
        to->same |= (uint32_t)BIT(n);
        return true;
    }
    if (loc.kind != SW_LOC_AT_CFA || !sw_is_words(loc.off, SW_SLOTS_ABOVE - SW_SLOT_MOST, SW_SLOTS_ABOVE - 1))
        return false;
    to->same |= (uint32_t)BIT(SW_SAVED_SHIFT + n);
    to->slots |= (uint64_t)(SW_SLOTS_ABOVE - loc.off / SW_WORD) << (8 * i);
    return true;
}

static bool is_listed(unsigned n)
{
    return n == RSP || n == RIP || memchr(sw_slot_registers, (int)n, sizeof sw_slot_registers) != NULL;
}

static bool pack_registers(const struct sw_rule *rule, struct sw_packed_rule *to)
{
    for (unsigned n = 0; n < SW_X64_COUNT; n++)
        if (!is_listed(n) && rule->r[n].kind != SW_LOC_UNKNOWN)
            return false;
    for (unsigned i = 0; i < SW_SLOTS; i++)
        if (!pack_register(rule, i, to))
            return false;
    return true;
}

/*
 * Whether something is saved more than SW_SLOT_NEAR words below the CFA. It hardly ever is, and the less is asked of
 * the window below a frame, the nearer to its begin frames can be left directly.
 */
static bool is_far(uint64_t slots)
{
    return (slots & UINT64_C(0x0101010101010101) * (SW_SLOT_MOST - SW_SLOT_NEAR_MOST)) != 0;
}

/* How the fast lane may go on: only where fp is kept, and the CFA counts from sp or fp. */
static uint64_t easy_bits(const struct sw_rule *rule, const struct sw_packed_rule *to)
{
    const uint64_t saved = to->same >> SW_SAVED_SHIFT, kept = saved | to->same;
    const uint64_t windows = SW_SLOT_REGISTERS & ~SW_X64_NONVOLATILE;
    const bool by_fp = rule->cfa.reg == RBP;
    uint64_t bits = (kept & SW_X64_NONVOLATILE) == SW_X64_NONVOLATILE ? 0 : SW_STEP_LOSES;
    bits |= (kept & windows) == windows ? 0 : SW_STEP_LOSES_SI;
    if (saved & ~BIT(RBP))
        bits |= SW_STEP_OTHERS;
    if (is_far(to->slots) || !(kept & BIT(RBP)) || (!by_fp && (rule->cfa.reg != RSP || rule->cfa.off <= 0)))
        return bits;
    if (!by_fp)
        return bits | SW_STEP_PLAIN;
    const bool is_framed = rule->cfa.off == 2 * SW_WORD && (to->slots & 0xff) * SW_WORD == SW_SLOT_BELOW(2 * SW_WORD);
    return bits | (is_framed ? SW_STEP_FRAMED : SW_STEP_SINGLE);
}

static bool pack(const struct sw_rule *rule, struct sw_packed_rule *to)
{
    const struct sw_loc pc = rule->r[RIP], sp = rule->r[RSP];
    *to = (struct sw_packed_rule){ .same = (uint32_t)BIT(RSP) }; /* known, as it is in every caller */
    if (rule->cfa.kind != SW_LOC_REG || rule->cfa.reg >= RIP || !sw_is_words(rule->cfa.off, INT16_MIN, INT16_MAX) ||
        pc.kind != SW_LOC_AT_CFA || pc.off != -SW_WORD || sp.kind != SW_LOC_CFA || sp.off != 0 ||
        !pack_registers(rule, to))
        return false;
    const uint64_t easy = easy_bits(rule, to);
    to->step = sw_pack_cfa(rule) | easy | (easy & (SW_STEP_DIRECT | SW_STEP_SINGLE) ? (to->slots & 0xff) * SW_WORD : 0);
    return true;
}

/* ---- unpacking ---- */

static struct sw_loc location(uint64_t slots, uint32_t same, unsigned i)
{
    const int32_t slot = (int32_t)(slots >> (8 * i) & 0xff);
    if (slot)
        return (struct sw_loc){ SW_LOC_AT_CFA, 0, 0, SW_WORD * (SW_SLOTS_ABOVE - slot) };
    return (struct sw_loc){ same >> sw_slot_registers[i] & 1 ? SW_LOC_SAME : SW_LOC_UNKNOWN, 0, 0, 0 };
}

static void unpack(const struct sw_packed_rule *from, struct sw_rule *rule)
{
    sw_unpack_cfa(from->step, SW_MACHINE_X64, rule);
    rule->r[RIP] = (struct sw_loc){ SW_LOC_AT_CFA, 0, 0, -SW_WORD };
    for (unsigned i = 0; i < SW_SLOTS; i++)
        rule->r[sw_slot_registers[i]] = location(from->slots, from->same, i);
}

const struct sw_rule_codec sw_x64_codec = { pack, unpack };

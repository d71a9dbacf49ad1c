/*
 * A64 instructions between registers → effects. Sums and constants, of which addresses are made, are followed; all
 * others clobber the registers that they write.
 */
#include "arch/a64/decode_word.h"

enum { LR = SW_ARM64_LR };

void sw_a64_add(const struct sw_a64_word *w, uint8_t dst, uint8_t src, uint8_t other, int64_t scale, unsigned size)
{
    if (dst == SW_NOREG)
        return;
    if (other == SW_NOREG) {
        set(w, dst, src, 0);
        return;
    }
    if (dst == other) { /* read before it is written: turned round */
        if (src == SW_NOREG) {
            clobber(w, bit_of(dst));
            return;
        }
        if (scale != 1 || size != 0)
            size |= SW_ADD_REVERSED;
        other = src;
        src = dst;
    }
    if (dst != src)
        set(w, dst, src, 0);
    emit(w, SW_EFFECT_ADD, dst, other, scale)->size = (uint16_t)size;
}

bool sw_a64_writes(const struct sw_a64_word *w)
{
    const uint8_t arg = w->row->arg;
    const bool with_sp = w->row->does == SW_A64_WRITES_SP;
    uint64_t mask = 0;
    if (arg & SW_A64_RD)
        mask |= bit_of(with_sp ? rd(w) : or_zero(rd(w)));
    if (arg & SW_A64_RN)
        mask |= bit_of(or_zero(rn(w)));
    if (arg & SW_A64_RS)
        mask |= bit_of(or_zero(rm(w)));
    if (arg & SW_A64_RT2)
        mask |= bit_of(or_zero(rt2(w)));
    if (arg & SW_A64_RS_NEXT)
        mask |= bit_of(or_zero(rm(w) | 1));
    if (arg & SW_A64_RD_NEXT)
        mask |= bit_of(or_zero(rd(w) | 1));
    if (arg & SW_A64_RD_EIGHT)
        mask |= UINT64_C(0xff) << rd(w);
    clobber(w, mask & (with_sp ? UINT64_C(0xffffffff) : UINT64_C(0x7fffffff)));
    return true;
}

/* The end of every sum: a comparison where only flags are set, else a register; 32-bit sums are not followed. */
static bool add_constant(const struct sw_a64_word *w, int64_t value)
{
    const uint8_t arg = w->row->arg;
    const uint8_t to = arg & SW_A64_FLAGS ? or_zero(rd(w)) : rd(w);
    if (to == SW_NOREG && (arg & SW_A64_SUBTRACTS))
        (void)emit(w, SW_EFFECT_COMPARE, rn(w), SW_NOREG, value);
    else if (arg & SW_A64_32)
        clobber(w, bit_of(to));
    else
        set(w, to, rn(w), arg & SW_A64_SUBTRACTS ? -value : value);
    return true;
}

bool sw_a64_add_immediate(const struct sw_a64_word *w)
{
    return add_constant(w, (int64_t)field(w, 10, 12) << (field(w, 22, 1) ? 12 : 0));
}

static void add_register(const struct sw_a64_word *w, uint8_t to, uint8_t from, int64_t scale, unsigned size)
{
    const uint8_t arg = w->row->arg;
    const uint8_t other = or_zero(rm(w));
    if (to == SW_NOREG && (arg & SW_A64_SUBTRACTS) && from != SW_NOREG && other != SW_NOREG)
        (void)emit(w, SW_EFFECT_COMPARE, from, other, 0);
    else if ((arg & SW_A64_32) || scale == 0)
        clobber(w, bit_of(to));
    else
        sw_a64_add(w, to, from, other, arg & SW_A64_SUBTRACTS ? -scale : scale, size);
}

enum { SHIFT_LEFT = 0, SHIFT_ROTATE = 3, MOST_SHIFT = 12, MOST_EXTENDED = 4 };

bool sw_a64_add_shifted(const struct sw_a64_word *w)
{
    const unsigned kind = field(w, 22, 2), by = field(w, 10, 6);
    if (kind == SHIFT_ROTATE)
        return false;
    const bool is_followed = by == 0 || (kind == SHIFT_LEFT && by <= MOST_SHIFT);
    add_register(w, or_zero(rd(w)), or_zero(rn(w)), is_followed ? INT64_C(1) << by : 0, 0);
    return true;
}

/* Of option, bits 1:0 are the width and bit 2 is the sign. */
bool sw_a64_add_extended(const struct sw_a64_word *w)
{
    const unsigned option = field(w, 13, 3), by = field(w, 10, 3);
    const uint8_t to = w->row->arg & SW_A64_FLAGS ? or_zero(rd(w)) : rd(w);
    const unsigned width = (option & 3) == 3 ? 0 : 1u << (option & 3) | (option & 4 ? 0 : SW_ELEMENT_UNSIGNED);
    if (by > MOST_EXTENDED)
        return false;
    add_register(w, to, rn(w), INT64_C(1) << by, width);
    return true;
}

static uint64_t ones(unsigned count)
{
    return count >= 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1;
}

/* A logical immediate: ones in a row, rotated, repeated. False: not allocated. Arm ARM, DecodeBitMasks. */
static bool bit_mask(const struct sw_a64_word *w, uint64_t *value)
{
    const unsigned run = field(w, 10, 6), rotate = field(w, 16, 6);
    const unsigned sizes = field(w, 22, 1) << 6 | (~run & 0x3f);
    unsigned size = 64;
    while (size > 1 && !(sizes & size))
        size /= 2;
    const unsigned length = (run & (size - 1)) + 1, turn = rotate & (size - 1);
    if (size < 2 || length == size || (size == 64 && (w->row->arg & SW_A64_32)))
        return false;
    uint64_t element = ones(length) >> turn | (turn ? ones(length) << (size - turn) : 0);
    element &= ones(size);
    *value = element;
    for (unsigned filled = size; filled < 64; filled *= 2)
        *value |= *value << filled;
    return true;
}

static bool is_alignment(uint64_t mask)
{
    return mask != 0 && (~mask & (~mask + 1)) == 0;
}

bool sw_a64_logical_immediate(const struct sw_a64_word *w)
{
    const uint8_t arg = w->row->arg, to = arg & SW_A64_FLAGS ? or_zero(rd(w)) : rd(w);
    const uint8_t from = or_zero(rn(w));
    uint64_t value;
    if (!bit_mask(w, &value))
        return false;
    if (w->row->does == SW_A64_OR_IMMEDIATE && from == SW_NOREG) {
        set(w, to, SW_NOREG, arg & SW_A64_32 ? (int64_t)(uint32_t)value : (int64_t)value);
    } else if (w->row->does == SW_A64_AND_IMMEDIATE && !(arg & SW_A64_32) && is_alignment(value) && to != SW_NOREG &&
               from != SW_NOREG) {
        set(w, to, from, 0);
        (void)emit(w, SW_EFFECT_ALIGN, to, SW_NOREG, (int64_t)value);
    } else {
        clobber(w, bit_of(to));
    }
    return true;
}

bool sw_a64_or_shifted(const struct sw_a64_word *w)
{
    const uint8_t to = or_zero(rd(w)), other = or_zero(rm(w));
    const bool is_move = or_zero(rn(w)) == SW_NOREG && field(w, 10, 6) == 0;
    if (is_move && (other == SW_NOREG || !(w->row->arg & SW_A64_32)))
        set(w, to, other, 0);
    else
        clobber(w, bit_of(to));
    return true;
}

enum { MOVE_NOT = 0, MOVE_KEEP = 3 };

bool sw_a64_move_wide(const struct sw_a64_word *w)
{
    const unsigned opc = w->row->arg & 3, shift = 16 * field(w, 21, 2);
    const bool is_w = w->row->arg & SW_A64_32;
    const uint64_t value = (uint64_t)field(w, 5, 16) << shift;
    const uint8_t to = or_zero(rd(w));
    if (is_w && shift > 16)
        return false;
    if (to == SW_NOREG)
        return true;
    if (opc == MOVE_KEEP) {
        emit(w, SW_EFFECT_INSERT, to, SW_NOREG, field(w, 5, 16))->size = (uint16_t)shift;
    } else {
        const uint64_t is = opc == MOVE_NOT ? ~value : value;
        set(w, to, SW_NOREG, (int64_t)(is_w ? (uint32_t)is : is));
    }
    return true;
}

/* adr, adrp: the immediate's two low bits lie apart. */
bool sw_a64_near(const struct sw_a64_word *w)
{
    const int64_t imm = sw_sign_extend((uint64_t)field(w, 5, 19) << 2 | field(w, 29, 2), 21);
    if (or_zero(rd(w)) == SW_NOREG)
        return true;
    if (w->row->does == SW_A64_NEAR)
        (void)emit(w, SW_EFFECT_NEAR, rd(w), SW_NOREG, imm);
    else
        (void)emit(w, SW_EFFECT_NEAR, rd(w), SW_NOREG, imm * 4096 - (int64_t)(w->pc & 4095));
    return true;
}

bool sw_a64_add_vector(const struct sw_a64_word *w)
{
    (void)emit(w, SW_EFFECT_VECTOR, rd(w), rm(w), signed_field(w, 5, 6) * w->row->arg);
    return true;
}

/* A signed address is the same address; other signed values are not followed. */
bool sw_a64_sign(const struct sw_a64_word *w)
{
    if (w->row->does == SW_A64_SIGN_17)
        clobber(w, bit_of(17));
    else if ((w->row->arg & SW_A64_RD) && rd(w) != LR)
        clobber(w, bit_of(or_zero(rd(w))));
    return true;
}

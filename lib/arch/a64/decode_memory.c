/*
 * A64 loads and stores → effects. Whole words of general registers are followed; of all others only the place that they
 * write.
 */
#include "arch/a64/decode_word.h"

/* A memory operand. known: its address is base + off. moves: how much the base changes. */
struct place {
    uint8_t base;
    bool known;
    int64_t off;
    int64_t moves;
};

static unsigned size_of(const struct sw_a64_word *w)
{
    return w->row->size ? w->row->size : 1u << field(w, 30, 2);
}

static struct place place_of(const struct sw_a64_word *w)
{
    const int64_t unit = w->row->arg & SW_A64_BY_16 ? 16 : size_of(w);
    const int64_t imm7 = signed_field(w, 15, 7) * unit, imm9 = signed_field(w, 12, 9);
    struct place p = { rn(w), true, 0, 0 };
    switch (w->row->mode) {
    case SW_A64_AT_IMM12:
        p.off = field(w, 10, 12) * unit;
        break;
    case SW_A64_AT_IMM9:
        p.off = imm9;
        break;
    case SW_A64_PRE_IMM9:
        p.off = p.moves = imm9;
        break;
    case SW_A64_POST_IMM9:
        p.moves = imm9;
        break;
    case SW_A64_AT_IMM7:
        p.off = imm7;
        break;
    case SW_A64_PRE_IMM7:
        p.off = p.moves = imm7;
        break;
    case SW_A64_POST_IMM7:
        p.moves = imm7;
        break;
    case SW_A64_AT_INDEX:
    case SW_A64_AT_LITERAL:
        p.known = false;
        break;
    default:
        break;
    }
    return p;
}

static void move_base(const struct sw_a64_word *w, struct place p)
{
    if (p.moves != 0)
        set(w, p.base, p.base, p.moves);
}

static void store_word(const struct sw_a64_word *w, struct place p, uint8_t from, int64_t off, unsigned size)
{
    emit(w, SW_EFFECT_STORE, p.base, from, p.off + off)->size = (uint16_t)size;
}

static bool is_vector(const struct sw_a64_word *w)
{
    return w->row->arg & SW_A64_VECTOR;
}

static uint8_t stored(const struct sw_a64_word *w, uint8_t reg)
{
    return is_vector(w) ? SW_NOREG : or_zero(reg);
}

bool sw_a64_store(const struct sw_a64_word *w)
{
    const struct place p = place_of(w);
    if (p.known)
        store_word(w, p, stored(w, rd(w)), 0, size_of(w));
    move_base(w, p);
    return true;
}

bool sw_a64_store_pair(const struct sw_a64_word *w)
{
    const struct place p = place_of(w);
    const unsigned size = size_of(w);
    store_word(w, p, stored(w, rd(w)), 0, size);
    store_word(w, p, stored(w, rt2(w)), size, size);
    move_base(w, p);
    return true;
}

/* One register of a load. */
static void load_word(const struct sw_a64_word *w, struct place p, uint8_t reg, int64_t off)
{
    const unsigned size = size_of(w);
    if (is_vector(w) || or_zero(reg) == SW_NOREG)
        return;
    if (w->row->mode == SW_A64_AT_INDEX) {
        const bool is_unsigned = size < 8 && !(w->row->arg & SW_A64_SIGNED);
        emit(w, SW_EFFECT_ELEMENT, reg, p.base, 0)->size = (uint16_t)(size | (is_unsigned ? SW_ELEMENT_UNSIGNED : 0));
    } else if (size == 8 && p.known) {
        (void)emit(w, SW_EFFECT_LOAD, reg, p.base, p.off + off);
    } else if (size == 8 && w->row->mode == SW_A64_AT_LITERAL) {
        (void)emit(w, SW_EFFECT_NEAR, reg, SW_NOREG, signed_field(w, 5, 19) * 4);
        (void)emit(w, SW_EFFECT_LOAD, reg, reg, 0);
    } else {
        clobber(w, bit_of(reg));
    }
}

bool sw_a64_load(const struct sw_a64_word *w)
{
    const struct place p = place_of(w);
    load_word(w, p, rd(w), 0);
    move_base(w, p);
    return true;
}

/* If one of the registers is also the base, it is loaded last. */
bool sw_a64_load_pair(const struct sw_a64_word *w)
{
    const struct place p = place_of(w);
    const unsigned size = size_of(w);
    const bool second_first = rd(w) == p.base;
    load_word(w, p, second_first ? rt2(w) : rd(w), second_first ? size : 0);
    load_word(w, p, second_first ? rd(w) : rt2(w), second_first ? 0 : size);
    move_base(w, p);
    return true;
}

/* S:imm9 words. */
bool sw_a64_load_signed(const struct sw_a64_word *w)
{
    const int64_t imm = sw_sign_extend(field(w, 22, 1) << 9 | field(w, 12, 9), 10) * 8;
    const struct place p = { rn(w), true, imm, w->row->mode == SW_A64_PRE_IMM9 ? imm : 0 };
    load_word(w, p, rd(w), 0);
    move_base(w, p);
    return true;
}

bool sw_a64_exchange(const struct sw_a64_word *w)
{
    store_word(w, place_of(w), SW_NOREG, 0, size_of(w));
    return sw_a64_writes(w);
}

bool sw_a64_tags(const struct sw_a64_word *w)
{
    struct place p = place_of(w);
    p.off *= 16;
    p.moves *= 16;
    if (w->row->arg)
        store_word(w, p, SW_NOREG, 0, w->row->arg);
    move_base(w, p);
    return true;
}

/* Bytes that ld1-ld4 and st1-st4 access; 0: no such form. Arm ARM C4.1.96, "Advanced SIMD load/store". */
static unsigned structure_bytes(const struct sw_a64_word *w)
{
    static const uint8_t registers_of[16] = { [0] = 4, [2] = 4, [4] = 3, [6] = 3, [7] = 1, [8] = 2, [10] = 2 };
    if (w->row->arg & SW_A64_MULTIPLE)
        return registers_of[field(w, 12, 4)] * (field(w, 30, 1) ? 16u : 8u);
    const unsigned opcode = field(w, 13, 3), size = field(w, 10, 2);
    const unsigned elements = ((opcode & 1) << 1 | field(w, 21, 1)) + 1;
    switch (opcode >> 1) {
    case 0:
        return elements;
    case 1:
        return size & 1 ? 0 : 2 * elements;
    case 2:
        return size == 0 ? 4 * elements : size == 1 && !field(w, 12, 1) ? 8 * elements : 0;
    default: /* to all lanes: loads only */
        return field(w, 22, 1) && !field(w, 12, 1) ? (1u << size) * elements : 0;
    }
}

bool sw_a64_structures(const struct sw_a64_word *w)
{
    const unsigned bytes = structure_bytes(w);
    const struct place p = { rn(w), true, 0, bytes };
    if (bytes == 0)
        return false;
    if (!field(w, 22, 1))
        store_word(w, p, SW_NOREG, 0, bytes);
    if ((w->row->arg & SW_A64_POST) && rm(w) == SW_A64_31)
        move_base(w, p);
    else if (w->row->arg & SW_A64_POST)
        sw_a64_add(w, p.base, p.base, rm(w), 1, 0);
    return true;
}

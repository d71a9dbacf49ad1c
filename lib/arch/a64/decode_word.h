/*
 * The word that is being decoded: its fields, and the effects that it becomes. For this room only.
 */
#ifndef SW_A64_DECODE_WORD_H
#define SW_A64_DECODE_WORD_H

#include "arch/a64/decode_rows.h"
#include "base/bytes.h"
#include "base/effect.h"

struct sw_a64_word {
    uint32_t bits;
    uint64_t pc;
    const struct sw_a64_row *row;
    struct sw_insn *insn;
};

/* Fills insn with what a row's word does. False: no such instruction. In decode_arithmetic.c and decode_memory.c. */
typedef bool sw_a64_fn(const struct sw_a64_word *w);
sw_a64_fn sw_a64_writes, sw_a64_add_immediate, sw_a64_add_shifted, sw_a64_add_extended, sw_a64_logical_immediate,
    sw_a64_or_shifted, sw_a64_move_wide, sw_a64_near, sw_a64_add_vector, sw_a64_sign;
sw_a64_fn sw_a64_load, sw_a64_store, sw_a64_load_pair, sw_a64_store_pair, sw_a64_load_signed, sw_a64_exchange,
    sw_a64_tags, sw_a64_structures;

/* ---- fields ---- */

enum { SW_A64_31 = 31 };

static inline uint32_t field(const struct sw_a64_word *w, unsigned at, unsigned width)
{
    return w->bits >> at & ((1u << width) - 1);
}

static inline int64_t signed_field(const struct sw_a64_word *w, unsigned at, unsigned width)
{
    return sw_sign_extend(field(w, at, width), width);
}

static inline uint8_t rd(const struct sw_a64_word *w)
{
    return (uint8_t)field(w, 0, 5);
}
static inline uint8_t rn(const struct sw_a64_word *w)
{
    return (uint8_t)field(w, 5, 5);
}
static inline uint8_t rm(const struct sw_a64_word *w)
{
    return (uint8_t)field(w, 16, 5);
}
static inline uint8_t rt2(const struct sw_a64_word *w)
{
    return (uint8_t)field(w, 10, 5);
}

/* Number 31 is the zero register where it is not the stack pointer, whose number in struct sw_regs is 31, too. */
static inline uint8_t or_zero(uint8_t reg)
{
    return reg == SW_A64_31 ? SW_NOREG : reg;
}

/* ---- effects ---- */

static inline struct sw_effect *emit(const struct sw_a64_word *w, enum sw_effect_kind kind, uint8_t dst, uint8_t src,
                                     int64_t imm)
{
    struct sw_effect *e = &w->insn->effects[w->insn->count++]; /* no word has more than four */
    *e = (struct sw_effect){ (uint8_t)kind, dst, src, 8, imm };
    return e;
}

static inline uint64_t bit_of(uint8_t reg)
{
    return reg == SW_NOREG ? 0 : UINT64_C(1) << reg;
}

static inline void clobber(const struct sw_a64_word *w, uint64_t mask)
{
    if (mask)
        (void)emit(w, SW_EFFECT_CLOBBER, SW_NOREG, SW_NOREG, (int64_t)mask);
}

/* dst = src + imm; SW_NOREG: zero. */
static inline void set(const struct sw_a64_word *w, uint8_t dst, uint8_t src, int64_t imm)
{
    if (dst == SW_NOREG)
        return;
    if (src == SW_NOREG)
        (void)emit(w, SW_EFFECT_CONST, dst, SW_NOREG, imm);
    else
        (void)emit(w, SW_EFFECT_SET, dst, src, imm);
}

/* dst = src + other * scale; `size` of other's bytes count, 0: all. */
void sw_a64_add(const struct sw_a64_word *w, uint8_t dst, uint8_t src, uint8_t other, int64_t scale, unsigned size);

#endif

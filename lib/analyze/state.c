/*
 * Symbolic registers and stack: see state.h. Every operation keeps a value that is certainly true, or makes it unknown;
 * nothing here guesses.
 */
#include "analyze/state.h"
#include "base/bytes.h"

#include <stddef.h>
#include <string.h>

enum { WORD = 8, RED_ZONE = 128, ANCHORS = 8 * WORD, MOST_TABLE_SHIFT = 4 };

static const struct sw_val unknown = { 0 };

static struct sw_val start_value(unsigned n)
{
    return (struct sw_val){ .base = (uint8_t)(n + 1) };
}

void sw_state_start(struct sw_state *state)
{
    memset(state, 0, sizeof *state);
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        state->reg[n] = start_value(n);
    state->compared[0] = state->compared[1] = SW_NOREG;
    state->limit = -1;
}

void sw_state_copy(struct sw_state *to, const struct sw_state *from)
{
    memcpy(to, from, offsetof(struct sw_state, slots) + from->slot_count * sizeof from->slots[0]);
}

bool sw_val_same(struct sw_val a, struct sw_val b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

bool sw_val_is_start(struct sw_val v, unsigned n)
{
    return sw_val_same(v, start_value(n));
}

struct sw_val sw_val_plus(struct sw_val v, int64_t off)
{
    int32_t *part = v.deref ? &v.add : &v.off;
    const int64_t sum = off > INT32_MAX || off < INT32_MIN ? INT64_MAX : *part + off;
    if (v.base == SW_VAL_UNKNOWN || !sw_fits_i32(sum) || (v.base == SW_VAL_TABLE && off != 0))
        return unknown;
    *part = (int32_t)sum;
    v.copy = v.copy && off == 0;
    return v;
}

/* A value at which words can be stored: relative to a register of the start, or to a stack pointer made later. */
static bool is_address(struct sw_val v)
{
    return v.base != SW_VAL_UNKNOWN && v.base <= SW_VAL_POINT;
}

/* Expresses an address relative to the start's fp by the start's sp, where their distance is known. */
static struct sw_val relative_to_sp(const struct sw_state *state, const struct sw_arch *arch, struct sw_val v)
{
    if (v.base != arch->roles->fp + 1 || v.deref || !state->fp || !state->fp->is_known)
        return v;
    v.base = (uint8_t)(arch->roles->sp + 1);
    return sw_val_plus(v, state->fp->above_sp);
}

/* Whether one address is relative to the start's fp, the other to its sp. */
static bool is_across(const struct sw_arch *arch, struct sw_val a, struct sw_val b)
{
    const unsigned fp = arch->roles->fp + 1u, sp = arch->roles->sp + 1u;
    return !a.deref && !b.deref && ((a.base == fp && b.base == sp) || (a.base == sp && b.base == fp));
}

/* b - a, if both are the same base plus a constant. */
static bool distance(struct sw_val a, struct sw_val b, int64_t *off)
{
    const int32_t *pa = a.deref ? &a.add : &a.off, *pb = b.deref ? &b.add : &b.off;
    if (a.base != b.base || a.base == SW_VAL_UNKNOWN || a.deref != b.deref || a.point != b.point)
        return false;
    if (a.deref && a.off != b.off)
        return false;
    *off = (int64_t)*pb - *pa;
    return true;
}

/* b - a for two addresses in a state. */
static bool address_distance(const struct sw_state *state, const struct sw_arch *arch, struct sw_val a, struct sw_val b,
                             int64_t *off)
{
    if (state->fp && is_across(arch, a, b))
        state->fp->is_used = true;
    return distance(relative_to_sp(state, arch, a), relative_to_sp(state, arch, b), off);
}

struct sw_val sw_state_word(const struct sw_state *state, const struct sw_arch *arch, struct sw_val at)
{
    int64_t off;
    for (unsigned i = 0; i < state->slot_count; i++)
        if (address_distance(state, arch, state->slots[i].at, at, &off) && off == 0)
            return state->slots[i].holds;
    if (!is_address(at) || at.deref)
        return unknown;
    at.deref = true;
    at.weak = false;
    return at;
}

static void drop_slot(struct sw_state *state, unsigned i)
{
    state->slot_count--;
    memmove(&state->slots[i], &state->slots[i + 1], (state->slot_count - i) * sizeof state->slots[0]);
}

static void lose_bytes(struct sw_state *state, const struct sw_arch *arch, struct sw_val at, unsigned size)
{
    for (unsigned i = state->slot_count; i-- > 0;) {
        int64_t off;
        if (address_distance(state, arch, at, state->slots[i].at, &off) && off > -WORD && off < (int64_t)size)
            drop_slot(state, i);
    }
}

/* Values worth remembering in memory: those from which a caller's register, a return address or the frame is found. */
static bool worth_keeping(struct sw_val v, const struct sw_arch *arch)
{
    const unsigned n = v.base - 1u;
    const uint64_t nonvolatile = arch->roles->nonvolatile | arch->frame_makers;
    if (v.base == SW_VAL_NEAR)
        return true; /* a switch's table */
    if (!is_address(v) || v.weak)
        return false;
    return v.base == SW_VAL_POINT || (n < SW_REGS_MAX && (nonvolatile >> n & 1));
}

/*
 * An address near the entry's sp. Such addresses, with the few words pushed first, locate the frame when sp is lost.
 * The addresses of local variables are further down.
 */
static bool is_anchor(struct sw_val v, const struct sw_arch *arch)
{
    return v.base == arch->roles->sp + 1 && !v.deref && !v.weak && v.off >= -ANCHORS;
}

static void store(struct sw_state *state, const struct sw_arch *arch, struct sw_val at, struct sw_val value,
                  unsigned size)
{
    if (!is_address(at))
        return; /* not a known stack slot: assumed not to hit one */
    lose_bytes(state, arch, at, size);
    if (size != WORD || !worth_keeping(value, arch) || state->slot_count == SW_STATE_SLOTS)
        return;
    if (at.base != SW_VAL_POINT && !value.deref && value.base == arch->roles->sp + 1 && !is_anchor(value, arch))
        return; /* the address of a local variable */
    state->slots[state->slot_count++] = (struct sw_slot){ at, value };
}

/* Words further below sp than `room` may be overwritten at any time. */
static void drop_below_sp(struct sw_state *state, const struct sw_arch *arch, struct sw_val sp, int64_t room)
{
    for (unsigned i = state->slot_count; i-- > 0;) {
        int64_t above;
        if (address_distance(state, arch, sp, state->slots[i].at, &above) && above < -room)
            drop_slot(state, i);
    }
}

/*
 * What sp leaves behind when it rises, in words whose registers have been restored, is there until sp falls again: then
 * another frame may lie there without a word having been stored, that of a function to which this one jumps.
 */
static void move_sp(struct sw_state *state, struct sw_val from, struct sw_val to)
{
    int64_t risen, above;
    if (!distance(from, to, &risen))
        return;
    for (unsigned i = state->slot_count; i-- > 0;) {
        struct sw_slot *slot = &state->slots[i];
        const unsigned n = slot->holds.base - 1u;
        if (!distance(from, slot->at, &above))
            continue;
        if (risen < 0 && slot->at.weak && above >= risen)
            drop_slot(state, i);
        else if (above >= 0 && above < risen && n < SW_REGS_MAX && sw_val_is_start(slot->holds, n) &&
                 sw_val_is_start(state->reg[n], n))
            slot->at.weak = true;
    }
}

static void set(struct sw_state *state, const struct sw_arch *arch, unsigned reg, struct sw_val value, uint32_t point)
{
    const bool is_sp = reg == arch->roles->sp;
    if (reg >= SW_REGS_MAX)
        return;
    if (is_sp && !is_address(value))
        value = (struct sw_val){ .base = SW_VAL_POINT, .point = point };
    if (is_sp) {
        value.weak = value.copy = false;
        move_sp(state, state->reg[reg], value);
    }
    state->reg[reg] = value;
    if (is_sp)
        drop_below_sp(state, arch, value, RED_ZONE);
}

static void clobber(struct sw_state *state, const struct sw_arch *arch, uint64_t mask, bool by_call, uint32_t point)
{
    for (unsigned n = 0; n < arch->roles->count; n++) {
        if (!(mask >> n & 1))
            continue;
        const bool keep = by_call && (state->reg[n].base == SW_VAL_CONST || state->reg[n].base == arch->roles->sp + 1 ||
                                      state->reg[n].base == SW_VAL_POINT);
        if (keep)
            state->reg[n].weak = true;
        else
            set(state, arch, n, unknown, point);
    }
}

/* What an ADD of an extended register makes of a constant. */
static int64_t extended(int64_t value, unsigned size)
{
    const unsigned bits = 8 * (size & 0xff);
    if (bits == 0 || bits >= 64)
        return value;
    return size & SW_ELEMENT_UNSIGNED ? (int64_t)((uint64_t)value & ((UINT64_C(1) << bits) - 1))
                                      : sw_sign_extend((uint64_t)value, bits);
}

/* An element of a jump table, times `scale`, plus a base: an address. */
static struct sw_val table_entry(struct sw_val element, struct sw_val base, int64_t scale, unsigned size)
{
    const unsigned width = element.point & 0xff, taken = size & 0xff;
    unsigned shift = 0;
    while (shift < MOST_TABLE_SHIFT && INT64_C(1) << shift < scale)
        shift++;
    if (element.deref || INT64_C(1) << shift != scale || (taken != 0 && taken < width))
        return unknown;
    if (taken == width) /* extended where it is added */
        element.point = size;
    element.point |= shift << SW_TABLE_SHIFT;
    element.deref = true;
    element.add = base.off;
    return element;
}

static struct sw_val sum(const struct sw_state *state, const struct sw_effect *e)
{
    const bool is_reversed = e->size & SW_ADD_REVERSED;
    const struct sw_val a = state->reg[is_reversed ? e->src : e->dst], b = state->reg[is_reversed ? e->dst : e->src];
    const unsigned taken = e->size & ~(unsigned)SW_ADD_REVERSED, size = taken == 8 ? 0 : taken;
    if (b.base == SW_VAL_CONST)
        return sw_val_plus(a, e->imm * extended(b.off, size));
    if (e->imm == 1 && size == 0 && a.base == SW_VAL_TABLE && b.base == SW_VAL_NEAR)
        return table_entry(a, b, 1, 0);
    if (b.base == SW_VAL_TABLE && a.base == SW_VAL_NEAR)
        return table_entry(b, a, e->imm, size);
    return unknown;
}

/* Replaces 16 bits of a constant; only constants are known. */
static struct sw_val inserted(struct sw_val v, int64_t bits, unsigned at)
{
    if (v.base != SW_VAL_CONST || at >= 64)
        return unknown;
    const int64_t value = (int64_t)(((uint64_t)(int64_t)v.off & ~(UINT64_C(0xffff) << at)) | (uint64_t)bits << at);
    if (!sw_fits_i32(value))
        return unknown;
    v.off = (int32_t)value;
    return v;
}

static struct sw_val plus_vectors(struct sw_val v, int64_t eighths)
{
    if (v.base == SW_VAL_UNKNOWN || v.base > SW_REGS_MAX || v.deref)
        return unknown;
    v.point += (uint32_t)eighths;
    v.copy = false;
    return v;
}

/* Effects name registers by number; a decoder's mistake must not lead outside of the array. */
static struct sw_val value_of(const struct sw_state *state, unsigned reg)
{
    return reg < SW_REGS_MAX ? state->reg[reg] : unknown;
}

static void run_one(struct sw_state *state, const struct sw_arch *arch, const struct sw_effect *e, bool call,
                    uint32_t point)
{
    const unsigned sp = arch->roles->sp;
    struct sw_val v = unknown;
    switch (e->kind) {
    case SW_EFFECT_SET:
        v = sw_val_plus(value_of(state, e->src), e->imm);
        if (e->dst != sp && v.weak)
            v = unknown;
        v.copy = (e->src == sp && e->imm == 0) || (v.base == SW_VAL_NEAR && v.copy);
        set(state, arch, e->dst, v, point);
        break;
    case SW_EFFECT_CONST:
        if (sw_fits_i32(e->imm))
            v = (struct sw_val){ .base = SW_VAL_CONST, .off = (int32_t)e->imm };
        set(state, arch, e->dst, v, point);
        break;
    case SW_EFFECT_ADD:
        set(state, arch, e->dst, sum(state, e), point);
        break;
    case SW_EFFECT_ALIGN:
        set(state, arch, e->dst, unknown, point);
        break;
    case SW_EFFECT_LOAD:
        v = value_of(state, e->src);
        if (v.weak)
            v = unknown;
        if (e->dst == arch->roles->pc)
            state->ret_at = sw_val_plus(v, e->imm);
        set(state, arch, e->dst, sw_state_word(state, arch, sw_val_plus(v, e->imm)), point);
        break;
    case SW_EFFECT_STORE:
        v = value_of(state, e->dst);
        if (!v.weak)
            store(state, arch, sw_val_plus(v, e->imm), value_of(state, e->src), e->size);
        break;
    case SW_EFFECT_CLOBBER:
        clobber(state, arch, (uint64_t)e->imm, call, point);
        break;
    case SW_EFFECT_COMPARE:
        state->compared[0] = e->dst;
        state->compared[1] = e->src;
        state->bound = 0;
        state->limit = e->src == SW_NOREG && sw_fits_i32(e->imm) ? (int32_t)e->imm : -1;
        break;
    case SW_EFFECT_SWAP:
        v = value_of(state, e->dst);
        set(state, arch, e->dst, value_of(state, e->src), point);
        set(state, arch, e->src, v, point);
        break;
    case SW_EFFECT_NEAR:
        if (sw_fits_i32(e->imm + point))
            v = (struct sw_val){ .base = SW_VAL_NEAR, .off = (int32_t)(e->imm + point) };
        set(state, arch, e->dst, v, point);
        break;
    case SW_EFFECT_ELEMENT:
        v = sw_val_plus(value_of(state, e->src), e->imm);
        v = v.base == SW_VAL_NEAR ? (struct sw_val){ .base = SW_VAL_TABLE, .point = e->size, .off = v.off } : unknown;
        set(state, arch, e->dst, v, point);
        break;
    case SW_EFFECT_INSERT:
        set(state, arch, e->dst, inserted(value_of(state, e->dst), e->imm, e->size), point);
        break;
    case SW_EFFECT_VECTOR:
        set(state, arch, e->dst, plus_vectors(value_of(state, e->src), e->imm), point);
        break;
    default:
        break;
    }
}

void sw_state_forget_below_sp(struct sw_state *state, const struct sw_arch *arch)
{
    drop_below_sp(state, arch, state->reg[arch->roles->sp], 0);
}

void sw_state_run(struct sw_state *state, const struct sw_arch *arch, const struct sw_insn *insn, uint32_t point)
{
    if (insn->flow != SW_FLOW_BRANCH) /* a compare counts only for the instruction right behind it */
        state->compared[0] = state->compared[1] = SW_NOREG, state->limit = -1;
    for (unsigned i = 0; i < insn->count && i < SW_EFFECTS_MAX; i++)
        run_one(state, arch, &insn->effects[i], insn->flow == SW_FLOW_CALL, point);
    if (insn->flow == SW_FLOW_CALL)
        sw_state_forget_below_sp(state, arch);
}

bool sw_state_returns(struct sw_state *state, const struct sw_arch *arch)
{
    struct sw_val popped = state->reg[arch->roles->pc];
    if (sw_arch_has_link(arch) || !popped.deref || popped.add != 0 || popped.weak)
        return false;
    popped.deref = popped.copy = false;
    if (!sw_val_same(sw_val_plus(popped, WORD), state->reg[arch->roles->sp]))
        return false;
    state->ret_at = popped;
    return true;
}

void sw_state_assume_equal(struct sw_state *state, const struct sw_arch *arch)
{
    const unsigned sp = arch->roles->sp;
    for (unsigned i = 0; i < 2; i++) {
        const struct sw_val other = value_of(state, state->compared[1 - i]);
        if (state->compared[i] == sp && other.base != SW_VAL_UNKNOWN && !other.weak)
            state->reg[sp] = other;
    }
}

/* What a called stack probe preserves: the size of a frame larger than a page, in units of its own. */
static bool may_be_probed(struct sw_val v, const struct sw_arch *arch)
{
    return v.weak && v.base == SW_VAL_CONST && v.off >= 4096 / arch->probe_unit && v.off % WORD == 0;
}

/* Whether a register's value may still matter behind the next branch. */
static bool matters_later(const struct sw_state *state, const struct sw_arch *arch, unsigned n, bool forward)
{
    const struct sw_val v = state->reg[n];
    const uint64_t nonvolatile = arch->roles->nonvolatile;
    if (n == arch->roles->sp)
        return true;
    if (v.deref)
        return forward && is_address(v) && ((nonvolatile | arch->frame_makers) >> n & 1);
    if (n == arch->roles->fp && is_address(v))
        return true;
    if (is_anchor(v, arch) || may_be_probed(v, arch) || (v.copy && (nonvolatile >> n & 1)) || v.base == SW_VAL_NEAR)
        return true;
    if (arch->frame_makers >> n & 1)
        return is_address(v);
    return v.base != arch->roles->sp + 1 && v.base <= SW_REGS_MAX && worth_keeping(v, arch);
}

/*
 * Whether a slot's content may still matter. A word loaded from elsewhere is the return address, moved; or, if the
 * start is not the function's, any saved register.
 */
static bool slot_matters(struct sw_val v, const struct sw_arch *arch, bool forward)
{
    const bool is_return = v.base == arch->roles->sp + 1 && v.off == 0;
    return !v.deref || (v.add == 0 && (forward || is_return));
}

static bool is_current_sp(struct sw_val v)
{
    return v.base == SW_VAL_POINT && v.point == SW_POINT_SP;
}

/* Forgets what is expressed in terms of an sp that no longer exists. */
static void forget_current_sp(struct sw_state *state)
{
    for (unsigned i = state->slot_count; i-- > 0;)
        if (is_current_sp(state->slots[i].at) || is_current_sp(state->slots[i].holds))
            drop_slot(state, i);
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        if (is_current_sp(state->reg[n]))
            state->reg[n] = unknown;
}

static void rebase(struct sw_val *v, struct sw_val sp)
{
    if (v->base == SW_VAL_POINT && v->point == sp.point) {
        v->point = SW_POINT_SP;
        v->off -= sp.off;
    }
}

/*
 * A computed sp is named by where it is now: what is known in terms of it is expressed in terms of the current sp. So
 * paths that differ only in that name become equal.
 */
static void rebase_on_sp(struct sw_state *state, unsigned number)
{
    const struct sw_val sp = state->reg[number];
    if (sp.base != SW_VAL_POINT || sp.deref)
        return;
    if (sp.point != SW_POINT_SP)
        forget_current_sp(state);
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        rebase(&state->reg[n], sp);
    for (unsigned i = 0; i < state->slot_count; i++) {
        rebase(&state->slots[i].at, sp);
        rebase(&state->slots[i].holds, sp);
    }
}

void sw_state_lose_sp(struct sw_state *state, const struct sw_arch *arch)
{
    forget_current_sp(state);
    state->reg[arch->roles->sp] = (struct sw_val){ .base = SW_VAL_POINT, .point = SW_POINT_SP };
}

void sw_state_trim(struct sw_state *state, const struct sw_arch *arch, bool forward)
{
    rebase_on_sp(state, arch->roles->sp);
    for (unsigned i = state->slot_count; i-- > 0;)
        if (!slot_matters(state->slots[i].holds, arch, forward))
            drop_slot(state, i);
    for (unsigned n = 0; n < arch->roles->count; n++)
        if (state->reg[n].base != SW_VAL_UNKNOWN && !matters_later(state, arch, n, forward))
            state->reg[n] = unknown;
    state->reg[arch->roles->pc] = unknown;
    state->ret_at = unknown;
    state->compared[0] = state->compared[1] = SW_NOREG;
    state->limit = -1;
    state->bound = 0;
}

static bool holds_slot(const struct sw_state *state, const struct sw_slot *slot)
{
    for (unsigned i = 0; i < state->slot_count; i++)
        if (sw_val_same(state->slots[i].at, slot->at) && sw_val_same(state->slots[i].holds, slot->holds))
            return true;
    return false;
}

bool sw_state_same(const struct sw_state *a, const struct sw_state *b)
{
    if (a->slot_count != b->slot_count || memcmp(a->reg, b->reg, sizeof a->reg) != 0)
        return false;
    if (memcmp(a->slots, b->slots, a->slot_count * sizeof a->slots[0]) == 0)
        return true; /* the usual case: saved in the same order */
    for (unsigned i = 0; i < a->slot_count; i++)
        if (!holds_slot(b, &a->slots[i]))
            return false;
    return true;
}

bool sw_state_share_frame(const struct sw_state *a, const struct sw_state *b, const struct sw_arch *arch)
{
    const struct sw_val fp = a->reg[arch->roles->fp];
    return fp.base == arch->roles->sp + 1 && !fp.deref && sw_val_same(fp, b->reg[arch->roles->fp]);
}

void sw_state_meet(struct sw_state *state, const struct sw_state *other, const struct sw_arch *arch, uint32_t point)
{
    const unsigned sp = arch->roles->sp;
    if (!sw_val_same(state->reg[sp], other->reg[sp]))
        sw_state_lose_sp(state, arch);
    for (unsigned n = 0; n < arch->roles->count; n++)
        if (!sw_val_same(state->reg[n], other->reg[n]) && !is_current_sp(state->reg[n]))
            set(state, arch, n, unknown, point);
    for (unsigned i = state->slot_count; i-- > 0;)
        if (!holds_slot(other, &state->slots[i]))
            drop_slot(state, i);
}

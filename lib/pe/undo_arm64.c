/*
 * Windows ARM64 unwind codes → rule: what they stand for is undone. Unwinding is simulated on names, as in
 * unwind_x64.c: sp is `base + off`, where base is the callee's sp or x29. Refuses to know records and positions
 * (unwind_arm64.c), floating-point registers (skipped) and signatures of return addresses (applying a rule strips
 * them). Source: win-arm64-unwind.md sections 1-4.
 */
#include "pe/unwind_arm64.h"

enum {
    CONTEXT_SIZE = 912, /* Win32 CONTEXT: x0 at 8, then by register number up to pc */
    CONTEXT_X0 = 8,
    MACHINE_FRAME_SIZE = 16
};

/* What save_any_reg saves; the values between are d and q registers. */
enum { ANY_X = 0, ANY_SVE = 3 };

struct reg_offset {
    uint8_t base;
    int64_t off;
};

struct unwind {
    struct sw_rule *rule;
    struct reg_offset sp;
    uint64_t restored;   /* registers with a known location */
    uint32_t next;       /* number of save_next codes in front of the current code */
    bool has_pc;         /* set by a code, not from lr at the end */
    bool is_other_frame; /* sp was loaded from memory: no later code may count from it */
};

static enum sw_status set_saved_at(struct unwind *u, uint32_t reg, int64_t above_sp)
{
    const int64_t off = u->sp.off + above_sp;
    if (reg > SW_ARM64_LR || !sw_fits_i32(off))
        return SW_E_MALFORMED;
    u->rule->r[reg] = (struct sw_loc){ SW_LOC_AT_REG, u->sp.base, 0, (int32_t)off };
    u->restored |= UINT64_C(1) << reg;
    return SW_OK;
}

static enum sw_status set_saved_row(struct unwind *u, uint32_t reg, uint32_t count, int64_t above_sp)
{
    enum sw_status status = SW_OK;
    for (uint32_t i = 0; i < count && status == SW_OK; i++)
        status = set_saved_at(u, reg + i, above_sp + 8 * (int64_t)i);
    return status;
}

/* The registers of a save. Each save_next in front of a pair adds one more pair behind it. */
static uint32_t registers_of(const struct unwind *u, const struct sw_pe_arm64_code *code)
{
    return code->operation->count == 2 ? 2 + 2 * u->next : code->operation->count;
}

static enum sw_status undo_save(struct unwind *u, const struct sw_pe_arm64_code *code)
{
    const int64_t z = (int64_t)code->z * code->operation->unit;
    const int64_t above = code->operation->indexing == SW_PE_ARM64_AT_Z ? z : 0;
    enum sw_status status = SW_OK;
    if (code->operation->effect != SW_PE_ARM64_FLOATS)
        status = set_saved_row(u, code->x, registers_of(u, code), above);
    if (status == SW_OK && code->operation->effect == SW_PE_ARM64_LR_PAIR)
        status = set_saved_at(u, SW_ARM64_LR, above + 8);
    if (code->operation->indexing != SW_PE_ARM64_AT_Z)
        u->sp.off += z + (code->operation->indexing == SW_PE_ARM64_RISE_Z_1 ? code->operation->unit : 0);
    return status;
}

/* 0pxrrrrr ffoooooo: p pair, x pre-indexed, f the kind of register. */
static enum sw_status undo_any_reg(struct unwind *u, const struct sw_pe_arm64_code *code)
{
    const bool is_pair = code->bytes >> 14 & 1, is_indexed = code->bytes >> 13 & 1;
    const uint32_t reg = code->bytes >> 8 & 31, kind = code->bytes >> 6 & 3;
    const int64_t above = is_indexed ? 0 : code->z * (is_pair ? INT64_C(16) : 8);
    enum sw_status status = SW_OK;
    if (code->bytes >> 15 & 1)
        return SW_E_UNSUPPORTED;
    if (kind == ANY_SVE)
        return u->next ? SW_E_MALFORMED : SW_OK; /* p and x mean something else there; sp stays */
    if (u->next && !is_pair)
        return SW_E_MALFORMED;
    if (kind == ANY_X)
        status = set_saved_row(u, reg, is_pair ? 2 + 2 * u->next : 1, above);
    if (is_indexed)
        u->sp.off += ((int64_t)code->z + 1) * 16;
    return status;
}

/* Only x29's value in the callee has a name, so x29 must not have been restored yet. */
static enum sw_status sp_from_fp(struct unwind *u, int64_t below)
{
    if (u->restored >> SW_ARM64_FP & 1)
        return SW_E_MALFORMED;
    u->sp = (struct reg_offset){ SW_ARM64_FP, -below };
    return SW_OK;
}

static struct sw_loc at_sp(const struct unwind *u, int32_t above)
{
    return (struct sw_loc){ SW_LOC_AT_REG, u->sp.base, 0, (int32_t)u->sp.off + above };
}

/* The return address is where lr is at this point. */
static void note_return(struct unwind *u)
{
    const bool is_saved = u->restored >> SW_ARM64_LR & 1;
    u->rule->r[SW_ARM64_PC] = is_saved ? u->rule->r[SW_ARM64_LR] : (struct sw_loc){ SW_LOC_REG, SW_ARM64_LR, 0, 0 };
    u->has_pc = true;
}

/* Registers as the system stored them: sp and pc, or all of them. */
static enum sw_status undo_frame(struct unwind *u, const struct sw_pe_arm64_code *code)
{
    const bool is_context = code->operation->effect == SW_PE_ARM64_CONTEXT;
    const int32_t size = is_context ? CONTEXT_SIZE : MACHINE_FRAME_SIZE;
    if (!sw_fits_i32(u->sp.off) || !sw_fits_i32(u->sp.off + size))
        return SW_E_MALFORMED;
    for (int32_t n = 0; is_context && n < SW_ARM64_SP; n++) {
        u->rule->r[n] = at_sp(u, CONTEXT_X0 + 8 * n);
        u->restored |= UINT64_C(1) << n;
    }
    u->rule->r[SW_ARM64_SP] = at_sp(u, is_context ? CONTEXT_X0 + 8 * SW_ARM64_SP : 0);
    u->rule->r[SW_ARM64_PC] = at_sp(u, is_context ? CONTEXT_X0 + 8 * SW_ARM64_PC : 8);
    u->rule->flags = SW_RULE_SIGNAL;
    u->sp.off += size;
    u->has_pc = u->is_other_frame = true;
    return SW_OK;
}

static enum sw_status undo(struct unwind *u, const struct sw_pe_arm64_code *code)
{
    switch ((enum sw_pe_arm64_effect)code->operation->effect) {
    case SW_PE_ARM64_ALLOC:
        u->sp.off += (int64_t)code->z * code->operation->unit;
        return SW_OK;
    case SW_PE_ARM64_SAVED:
    case SW_PE_ARM64_FLOATS:
    case SW_PE_ARM64_LR_PAIR:
        return undo_save(u, code);
    case SW_PE_ARM64_ANY_REG:
        return undo_any_reg(u, code);
    case SW_PE_ARM64_ALLOC_Z:
        return code->z ? SW_E_UNSUPPORTED : SW_OK; /* a rule cannot express the length of a vector */
    case SW_PE_ARM64_SET_FP:
        return sp_from_fp(u, (int64_t)code->z * code->operation->unit);
    case SW_PE_ARM64_MACHINE_FRAME:
    case SW_PE_ARM64_CONTEXT:
        return undo_frame(u, code);
    case SW_PE_ARM64_CLEAR_CALL:
        note_return(u);
        u->rule->flags = SW_RULE_SIGNAL;
        return SW_OK;
    case SW_PE_ARM64_UNKNOWN_FRAME:
        return SW_E_UNSUPPORTED;
    default:
        return SW_OK;
    }
}

/* Whether a code may follow those in front of it: save_next must precede a pair, and nothing may follow a loaded sp. */
static enum sw_status check_order(const struct unwind *u, const struct sw_pe_arm64_code *code)
{
    const enum sw_pe_arm64_effect effect = (enum sw_pe_arm64_effect)code->operation->effect;
    if (u->is_other_frame && effect != SW_PE_ARM64_PASS && !sw_pe_arm64_ends_scope(code))
        return SW_E_UNSUPPORTED;
    if (u->next && effect != SW_PE_ARM64_NEXT && effect != SW_PE_ARM64_ANY_REG && code->operation->count != 2)
        return SW_E_MALFORMED;
    return SW_OK;
}

static enum sw_status undo_codes(struct unwind *u, struct sw_pe_arm64_codes *codes, uint32_t index)
{
    struct sw_pe_arm64_code code;
    for (;;) {
        enum sw_status status = sw_pe_arm64_next_code(codes, &index, &code);
        if (status == SW_OK)
            status = check_order(u, &code);
        if (status || code.operation->effect == SW_PE_ARM64_END)
            return status;
        if (code.operation->effect == SW_PE_ARM64_NEXT) {
            u->next++;
            continue;
        }
        status = undo(u, &code);
        if (status)
            return status;
        u->next = 0;
    }
}

/* Locations relative to the CFA's register become offsets from the CFA. */
static enum sw_status finish(struct unwind *u)
{
    struct sw_rule *rule = u->rule;
    const bool is_signal = rule->flags & SW_RULE_SIGNAL;
    if (!u->has_pc)
        note_return(u);
    if (!sw_fits_i32(u->sp.off))
        return SW_E_MALFORMED;
    /* The call has overwritten the caller's own lr, unless the caller was interrupted. */
    if (!is_signal)
        rule->r[SW_ARM64_LR] = (struct sw_loc){ SW_LOC_UNKNOWN, 0, 0, 0 };
    else if (!(u->restored >> SW_ARM64_LR & 1))
        rule->r[SW_ARM64_LR].kind = SW_LOC_SAME;
    rule->cfa = (struct sw_loc){ SW_LOC_REG, u->sp.base, 0, (int32_t)u->sp.off };
    for (unsigned n = 0; n < SW_ARM64_COUNT; n++) {
        struct sw_loc *loc = &rule->r[n];
        const int64_t off = loc->off - u->sp.off;
        if (loc->kind == SW_LOC_AT_REG && loc->reg == u->sp.base && sw_fits_i32(off))
            *loc = (struct sw_loc){ SW_LOC_AT_CFA, 0, 0, (int32_t)off };
    }
    return SW_OK;
}

enum sw_status sw_pe_arm64_undo(struct sw_pe_arm64_codes *codes, uint32_t index, struct sw_rule *rule)
{
    struct unwind u = { .rule = rule, .sp = { SW_ARM64_SP, 0 } };
    const enum sw_status status = undo_codes(&u, codes, index);
    return status == SW_OK ? finish(&u) : status;
}

/*
 * Windows ARM64 unwind data → rule: .xdata records and packed words, every unwind code, epilogs, fragments. Reads no
 * instructions: each code stands for one instruction, so the codes alone show what has run of prolog or epilog at an
 * address. Refuses to know handlers, floating-point registers (skipped) and signatures of return addresses (applying a
 * rule strips them). Follows "ARM64 exception handling" (Microsoft Learn) as checked in win-arm64-unwind.md sections
 * 1-4 and 6.
 *
 * As in unwind_x64.c, unwinding is simulated on names: sp is `base + off`, where base is the callee's sp or x29.
 */
#include "pe/unwind_arm64.h"

enum {
    CONTEXT_SIZE = 912, /* Win32 CONTEXT: x0 at 8, then by register number up to pc */
    CONTEXT_X0 = 8,
    MACHINE_FRAME_SIZE = 16
};

/* What save_any_reg saves; the values between are d and q registers. */
enum { ANY_X = 0, ANY_SVE = 3 };

enum effect {
    PASS,    /* nothing that a rule could express */
    ALLOC,   /* sp += amount */
    SAVED,   /* x registers */
    FLOATS,  /* d registers: only sp matters */
    LR_PAIR, /* one x register and lr */
    ANY_REG,
    ALLOC_Z,
    SET_FP, /* sp = x29 - amount */
    NEXT,
    END,
    END_C,
    MACHINE_FRAME,
    CONTEXT,
    CLEAR_CALL,
    UNKNOWN_FRAME /* of unknown layout: trap frames, ARM64EC, codes reserved for more of them */
};

/*
 * Where a save is and how sp moves. AT_Z: at sp + z * unit. RISE_Z, RISE_Z_1: at sp, which then rises by z or z + 1
 * units.
 */
enum indexing { AT_Z, RISE_Z, RISE_Z_1 };

/*
 * The codes by first byte. size: in bytes. insns: instructions that the code stands for. Operands are fields of the
 * big-endian number that the bytes form: z is the lowest z_bits, x is x_bits from bit x_at. The first register is reg +
 * x * x_step. Section 3 of the facts.
 */
static const struct sw_pe_arm64_operation {
    uint8_t first, last;
    uint8_t size, insns;
    uint8_t effect;
    uint8_t count; /* registers saved; save_next extends a 2 */
    uint8_t reg, x_at, x_bits, x_step;
    uint8_t z_bits, unit;
    uint8_t indexing;
} operations[] = {
    /* clang-format off */
    { 0x00, 0x1f, 1, 1, ALLOC,         0,  0, 0, 0, 0,  5, 16, RISE_Z },   /* alloc_s             */
    { 0x20, 0x3f, 1, 1, SAVED,         2, 19, 0, 0, 0,  5,  8, RISE_Z },   /* save_r19r20_x       */
    { 0x40, 0x7f, 1, 1, SAVED,         2, 29, 0, 0, 0,  6,  8, AT_Z },     /* save_fplr           */
    { 0x80, 0xbf, 1, 1, SAVED,         2, 29, 0, 0, 0,  6,  8, RISE_Z_1 }, /* save_fplr_x         */
    { 0xc0, 0xc7, 2, 1, ALLOC,         0,  0, 0, 0, 0, 11, 16, RISE_Z },   /* alloc_m             */
    { 0xc8, 0xcb, 2, 1, SAVED,         2, 19, 6, 4, 1,  6,  8, AT_Z },     /* save_regp           */
    { 0xcc, 0xcf, 2, 1, SAVED,         2, 19, 6, 4, 1,  6,  8, RISE_Z_1 }, /* save_regp_x         */
    { 0xd0, 0xd3, 2, 1, SAVED,         1, 19, 6, 4, 1,  6,  8, AT_Z },     /* save_reg            */
    { 0xd4, 0xd5, 2, 1, SAVED,         1, 19, 5, 4, 1,  5,  8, RISE_Z_1 }, /* save_reg_x          */
    { 0xd6, 0xd7, 2, 1, LR_PAIR,       1, 19, 6, 3, 2,  6,  8, AT_Z },     /* save_lrpair         */
    { 0xd8, 0xd9, 2, 1, FLOATS,        2,  0, 0, 0, 0,  6,  8, AT_Z },     /* save_fregp          */
    { 0xda, 0xdb, 2, 1, FLOATS,        2,  0, 0, 0, 0,  6,  8, RISE_Z_1 }, /* save_fregp_x        */
    { 0xdc, 0xdd, 2, 1, FLOATS,        1,  0, 0, 0, 0,  6,  8, AT_Z },     /* save_freg           */
    { 0xde, 0xde, 2, 1, FLOATS,        1,  0, 0, 0, 0,  5,  8, RISE_Z_1 }, /* save_freg_x         */
    { 0xdf, 0xdf, 2, 1, ALLOC_Z,       0,  0, 0, 0, 0,  8,  1, AT_Z },     /* alloc_z             */
    { 0xe0, 0xe0, 4, 1, ALLOC,         0,  0, 0, 0, 0, 24, 16, RISE_Z },   /* alloc_l             */
    { 0xe1, 0xe1, 1, 1, SET_FP,        0,  0, 0, 0, 0,  0,  8, AT_Z },     /* set_fp              */
    { 0xe2, 0xe2, 2, 1, SET_FP,        0,  0, 0, 0, 0,  8,  8, AT_Z },     /* add_fp              */
    { 0xe3, 0xe3, 1, 1, PASS,          0,  0, 0, 0, 0,  0,  0, AT_Z },     /* nop                 */
    { 0xe4, 0xe4, 1, 1, END,           0,  0, 0, 0, 0,  0,  0, AT_Z },     /* end                 */
    { 0xe5, 0xe5, 1, 1, END_C,         0,  0, 0, 0, 0,  0,  0, AT_Z },     /* end_c               */
    { 0xe6, 0xe6, 1, 1, NEXT,          0,  0, 0, 0, 0,  0,  0, AT_Z },     /* save_next           */
    { 0xe7, 0xe7, 3, 1, ANY_REG,       0,  0, 0, 0, 0,  6,  8, AT_Z },     /* save_any_reg        */
    { 0xe8, 0xe8, 1, 0, UNKNOWN_FRAME, 0,  0, 0, 0, 0,  0,  0, AT_Z },     /* trap frame          */
    { 0xe9, 0xe9, 1, 0, MACHINE_FRAME, 0,  0, 0, 0, 0,  0,  0, AT_Z },     /* machine frame       */
    { 0xea, 0xea, 1, 0, CONTEXT,       0,  0, 0, 0, 0,  0,  0, AT_Z },     /* context             */
    { 0xeb, 0xeb, 1, 0, UNKNOWN_FRAME, 0,  0, 0, 0, 0,  0,  0, AT_Z },     /* EC context          */
    { 0xec, 0xec, 1, 0, CLEAR_CALL,    0,  0, 0, 0, 0,  0,  0, AT_Z },     /* clear unwound-to-call */
    { 0xed, 0xf7, 1, 0, UNKNOWN_FRAME, 0,  0, 0, 0, 0,  0,  0, AT_Z },     /* reserved for frames */
    { 0xf8, 0xf8, 2, 1, PASS,          0,  0, 0, 0, 0,  0,  0, AT_Z },     /* reserved            */
    { 0xf9, 0xf9, 3, 1, PASS,          0,  0, 0, 0, 0,  0,  0, AT_Z },     /* reserved            */
    { 0xfa, 0xfa, 4, 1, PASS,          0,  0, 0, 0, 0,  0,  0, AT_Z },     /* reserved            */
    { 0xfb, 0xfb, 5, 1, PASS,          0,  0, 0, 0, 0,  0,  0, AT_Z },     /* reserved            */
    { 0xfc, 0xfc, 1, 1, PASS,          0,  0, 0, 0, 0,  0,  0, AT_Z },     /* pac_sign_lr         */
    { 0xfd, 0xff, 1, 1, PASS,          0,  0, 0, 0, 0,  0,  0, AT_Z },     /* reserved            */
    /* clang-format on */
};

struct code {
    const struct sw_pe_arm64_operation *operation;
    uint64_t bytes; /* as one big-endian number */
    uint32_t x;     /* the first register */
    uint32_t z;
};

/* ---- codes ---- */

/*
 * Moves the window over bytes [at, at + size). Returns  SW_OK; SW_E_MALFORMED (behind the last code); SW_E_TRUNCATED.
 */
static enum sw_status load_window(struct sw_pe_arm64_codes *codes, uint32_t at, uint32_t size)
{
    if (at > codes->size || size > codes->size - at)
        return SW_E_MALFORMED;
    if (at >= codes->at && at + size <= codes->at + codes->filled)
        return SW_OK;
    const uint32_t left = codes->size - at;
    const uint32_t wanted = left < SW_PE_ARM64_WINDOW ? left : SW_PE_ARM64_WINDOW;
    codes->at = at;
    codes->filled = 0;
    if (codes->reader->get(codes->reader->arg, codes->rva + at, codes->window, wanted) != wanted)
        return SW_E_TRUNCATED;
    codes->filled = wanted;
    return SW_OK;
}

static const struct sw_pe_arm64_operation *operation_of(uint8_t first)
{
    size_t low = 0, high = sizeof operations / sizeof operations[0];
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (operations[middle].first <= first)
            low = middle;
        else
            high = middle;
    }
    return &operations[low];
}

/* Decodes the code at byte *at, and moves *at past it. */
static enum sw_status next_code(struct sw_pe_arm64_codes *codes, uint32_t *at, struct code *code)
{
    enum sw_status status = load_window(codes, *at, 1);
    if (status)
        return status;
    code->operation = operation_of(codes->window[*at - codes->at]);
    status = load_window(codes, *at, code->operation->size);
    if (status)
        return status;
    code->bytes = 0;
    for (unsigned i = 0; i < code->operation->size; i++)
        code->bytes = code->bytes << 8 | codes->window[*at - codes->at + i];
    const uint32_t x = (uint32_t)(code->bytes >> code->operation->x_at) & ((1u << code->operation->x_bits) - 1);
    code->x = code->operation->reg + x * code->operation->x_step;
    code->z = (uint32_t)code->bytes & ((1u << code->operation->z_bits) - 1);
    *at += code->operation->size;
    return SW_OK;
}

static bool ends_scope(const struct code *code)
{
    return code->operation->effect == END || code->operation->effect == END_C;
}

/*
 * The number of instructions that the codes from an index on stand for. In an epilog, the end code stands for the
 * return.
 */
static enum sw_status scope_size(struct sw_pe_arm64_codes *codes, uint32_t index, bool is_epilog, uint32_t *size)
{
    struct code code;
    *size = 0;
    for (;;) {
        const enum sw_status status = next_code(codes, &index, &code);
        if (status)
            return status;
        if (ends_scope(&code)) {
            *size += is_epilog;
            return SW_OK;
        }
        *size += code.operation->insns;
    }
}

/* Skips the codes of `insns` instructions, but not past the end of their scope. */
static enum sw_status skip(struct sw_pe_arm64_codes *codes, uint32_t insns, uint32_t *index)
{
    struct code code;
    for (uint32_t at = *index, passed = 0; passed < insns; *index = at) {
        const enum sw_status status = next_code(codes, &at, &code);
        if (status)
            return status;
        if (ends_scope(&code))
            return SW_OK;
        passed += code.operation->insns;
    }
    return SW_OK;
}

/* ---- undoing codes ---- */

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
static uint32_t registers_of(const struct unwind *u, const struct code *code)
{
    return code->operation->count == 2 ? 2 + 2 * u->next : code->operation->count;
}

static enum sw_status undo_save(struct unwind *u, const struct code *code)
{
    const int64_t z = (int64_t)code->z * code->operation->unit;
    const int64_t above = code->operation->indexing == AT_Z ? z : 0;
    enum sw_status status = SW_OK;
    if (code->operation->effect != FLOATS)
        status = set_saved_row(u, code->x, registers_of(u, code), above);
    if (status == SW_OK && code->operation->effect == LR_PAIR)
        status = set_saved_at(u, SW_ARM64_LR, above + 8);
    if (code->operation->indexing != AT_Z)
        u->sp.off += z + (code->operation->indexing == RISE_Z_1 ? code->operation->unit : 0);
    return status;
}

/* 0pxrrrrr ffoooooo: p pair, x pre-indexed, f the kind of register. */
static enum sw_status undo_any_reg(struct unwind *u, const struct code *code)
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
static enum sw_status undo_frame(struct unwind *u, const struct code *code)
{
    const bool is_context = code->operation->effect == CONTEXT;
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

static enum sw_status undo(struct unwind *u, const struct code *code)
{
    switch ((enum effect)code->operation->effect) {
    case ALLOC:
        u->sp.off += (int64_t)code->z * code->operation->unit;
        return SW_OK;
    case SAVED:
    case FLOATS:
    case LR_PAIR:
        return undo_save(u, code);
    case ANY_REG:
        return undo_any_reg(u, code);
    case ALLOC_Z:
        return code->z ? SW_E_UNSUPPORTED : SW_OK; /* a rule cannot express the length of a vector */
    case SET_FP:
        return sp_from_fp(u, (int64_t)code->z * code->operation->unit);
    case MACHINE_FRAME:
    case CONTEXT:
        return undo_frame(u, code);
    case CLEAR_CALL:
        note_return(u);
        u->rule->flags = SW_RULE_SIGNAL;
        return SW_OK;
    case UNKNOWN_FRAME:
        return SW_E_UNSUPPORTED;
    default:
        return SW_OK;
    }
}

/* Whether a code may follow those in front of it: save_next must precede a pair, and nothing may follow a loaded sp. */
static enum sw_status check_order(const struct unwind *u, const struct code *code)
{
    const enum effect effect = (enum effect)code->operation->effect;
    if (u->is_other_frame && effect != PASS && !ends_scope(code))
        return SW_E_UNSUPPORTED;
    if (u->next && effect != NEXT && effect != ANY_REG && code->operation->count != 2)
        return SW_E_MALFORMED;
    return SW_OK;
}

static enum sw_status undo_codes(struct unwind *u, struct sw_pe_arm64_codes *codes, uint32_t index)
{
    struct code code;
    for (;;) {
        enum sw_status status = next_code(codes, &index, &code);
        if (status == SW_OK)
            status = check_order(u, &code);
        if (status || code.operation->effect == END)
            return status;
        if (code.operation->effect == NEXT) {
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

/* ---- records ---- */

static enum sw_status word_at(const struct sw_pe_reader *reader, uint32_t rva, uint32_t *word)
{
    uint8_t bytes[4];
    if (reader->get(reader->arg, rva, bytes, sizeof bytes) != sizeof bytes)
        return SW_E_TRUNCATED;
    *word = sw_load32(bytes);
    return SW_OK;
}

/* The first word of a record; with a second word, its wider fields. */
struct head {
    uint32_t length;
    bool has_handler;
    bool has_tail;
    uint32_t epilogs; /* how many; with has_tail: the index of the epilog's codes */
    uint32_t code_words;
    uint32_t size;
};

static enum sw_status read_head(const struct sw_pe_reader *reader, uint32_t rva, struct head *head)
{
    uint32_t word, more = 0;
    enum sw_status status = word_at(reader, rva, &word);
    if (status)
        return status;
    if (word >> 18 & 3)
        return SW_E_UNSUPPORTED;
    const bool is_long = word >> 22 == 0;
    if (is_long && (status = word_at(reader, rva + 4, &more)))
        return status;
    head->length = word & 0x3ffff;
    head->has_handler = word >> 20 & 1;
    head->has_tail = word >> 21 & 1;
    head->epilogs = is_long ? more & 0xffff : word >> 22 & 31;
    head->code_words = is_long ? more >> 16 & 0xff : word >> 27;
    head->size = is_long ? 8 : 4;
    return SW_OK;
}

static enum sw_status read_record(uint32_t rva, struct sw_pe_arm64_info *info)
{
    struct head head;
    const enum sw_status status = read_head(info->codes.reader, rva, &head);
    if (status)
        return status;
    info->length = head.length;
    info->has_tail = head.has_tail;
    info->tail = head.epilogs;
    info->scopes = rva + head.size;
    info->scope_count = head.has_tail ? 0 : head.epilogs;
    info->codes.rva = info->scopes + 4 * info->scope_count;
    info->codes.size = 4 * head.code_words;
    info->handler = head.has_handler ? info->codes.rva + info->codes.size : 0;
    return SW_OK;
}

enum { FLAGS = 3, IN_RECORD = 0, RESERVED = 3 };

static uint32_t packed_length(uint32_t word)
{
    return word >> 2 & 0x7ff;
}

static void start_info(const struct sw_pe_reader *reader, struct sw_pe_arm64_info *info)
{
    info->length = info->tail = info->scopes = info->scope_count = info->handler = 0;
    info->is_fragment = info->has_tail = false;
    info->codes.reader = reader;
    info->codes.rva = info->codes.size = info->codes.at = info->codes.filled = 0;
}

static enum sw_status load_info(const struct sw_pe_reader *reader, uint32_t word, struct sw_pe_arm64_info *info)
{
    start_info(reader, info);
    if ((word & FLAGS) == RESERVED)
        return SW_E_UNSUPPORTED;
    if ((word & FLAGS) == IN_RECORD)
        return read_record(word, info);
    info->length = packed_length(word);
    return sw_pe_arm64_expand(word, info);
}

/* ---- the position in the function ---- */

/*
 * The scope that may contain an instruction. The list ascends and epilogs do not overlap, so only the last one that
 * starts at or in front of the instruction can contain it. (Where they do overlap, as some of clang 14's do, the later
 * one is right.) start: where it starts; UINT32_MAX: there is no such scope.
 */
static enum sw_status find_scope(const struct sw_pe_arm64_info *info, uint32_t at, uint32_t *start, uint32_t *index)
{
    uint32_t low = 0, high = info->scope_count, word;
    *start = UINT32_MAX;
    *index = 0;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const enum sw_status status = word_at(info->codes.reader, info->scopes + 4 * middle, &word);
        if (status)
            return status;
        if ((word & 0x3ffff) > at) {
            high = middle;
            continue;
        }
        *start = word & 0x3ffff;
        *index = word >> 22;
        low = middle + 1;
    }
    return SW_OK;
}

/* The epilog that contains instruction `at`: its first instruction and its first code. */
static enum sw_status find_epilog(struct sw_pe_arm64_info *info, uint32_t at, bool *inside, uint32_t *start,
                                  uint32_t *index)
{
    uint32_t size;
    enum sw_status status = SW_OK;
    *inside = false;
    *index = info->tail;
    if (!info->has_tail)
        status = find_scope(info, at, start, index);
    if (status || (!info->has_tail && *start == UINT32_MAX))
        return status;
    status = scope_size(&info->codes, *index, true, &size);
    if (info->has_tail)
        *start = size < info->length ? info->length - size : 0;
    *inside = status == SW_OK && at >= *start && at - *start < size;
    return status;
}

/*
 * The first code to undo at instruction `at`. In an epilog: what it has left to do. In the prolog: the codes of
 * instructions that have not run yet come first and are skipped. Else: all codes.
 */
static enum sw_status find_code(struct sw_pe_arm64_info *info, uint32_t at, uint32_t *index)
{
    uint32_t size, epilog, start = 0;
    bool inside;
    *index = 0;
    if (info->is_fragment)
        return SW_OK;
    enum sw_status status = scope_size(&info->codes, 0, false, &size);
    if (status)
        return status;
    if (at < size)
        return skip(&info->codes, size - at, index);
    status = find_epilog(info, at, &inside, &start, &epilog);
    if (status || !inside)
        return status;
    *index = epilog;
    return skip(&info->codes, at - start, index);
}

/* ---- the functions of pe.h ---- */

enum sw_status sw_pe_arm64_entry(const struct sw_pe_reader *reader, const uint8_t *bytes,
                                 struct sw_pe_function *function)
{
    struct head head;
    const uint32_t word = sw_load32(bytes + 4);
    *function = (struct sw_pe_function){ sw_load32(bytes), 0, word };
    if (function->begin % 4)
        return SW_E_MALFORMED;
    if ((word & FLAGS) == RESERVED)
        return SW_E_UNSUPPORTED;
    head.length = packed_length(word);
    const enum sw_status status = (word & FLAGS) == IN_RECORD ? read_head(reader, word, &head) : SW_OK;
    if (status)
        return status;
    if (4 * head.length > UINT32_MAX - function->begin)
        return SW_E_MALFORMED;
    function->end = function->begin + 4 * head.length;
    return SW_OK;
}

enum sw_status sw_pe_arm64_handler(const struct sw_pe_reader *reader, const struct sw_pe_function *function,
                                   uint32_t *handler)
{
    struct sw_pe_arm64_info info;
    const enum sw_status status = load_info(reader, function->unwind, &info);
    if (status)
        return status;
    return info.handler ? word_at(reader, info.handler, handler) : SW_E_NOT_FOUND;
}

enum sw_status sw_pe_arm64_rule(const struct sw_pe_reader *reader, const struct sw_pe_function *function, uint32_t rva,
                                struct sw_rule *rule)
{
    struct sw_pe_arm64_info info;
    struct unwind u = { .rule = rule, .sp = { SW_ARM64_SP, 0 } };
    uint32_t index;
    if (rva < function->begin || rva >= function->end)
        return SW_E_NO_RULE;
    sw_rule_init(rule, SW_MACHINE_ARM64, SW_SOURCE_UNWIND_CODES, SW_TRUST_EXACT);
    enum sw_status status = load_info(reader, function->unwind, &info);
    if (status == SW_OK)
        status = find_code(&info, (rva - function->begin) / 4, &index);
    if (status == SW_OK)
        status = undo_codes(&u, &info.codes, index);
    return status == SW_OK ? finish(&u) : status;
}

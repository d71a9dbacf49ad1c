/*
 * The codes of Windows ARM64 unwind data: which there are, and how a row of them is read. Each code stands for one
 * instruction, so the codes alone show what has run of prolog or epilog at an address. Refuses to know what a code does
 * to a rule (undo_arm64.c). Source: win-arm64-unwind.md section 3.
 */
#include "pe/codes_arm64.h"

static const struct sw_pe_arm64_operation operations[] = {
    /* clang-format off */
    { 0x00, 0x1f, 1, 1, SW_PE_ARM64_ALLOC,         0,  0, 0, 0, 0,  5, 16, SW_PE_ARM64_RISE_Z },   /* alloc_s             */
    { 0x20, 0x3f, 1, 1, SW_PE_ARM64_SAVED,         2, 19, 0, 0, 0,  5,  8, SW_PE_ARM64_RISE_Z },   /* save_r19r20_x       */
    { 0x40, 0x7f, 1, 1, SW_PE_ARM64_SAVED,         2, 29, 0, 0, 0,  6,  8, SW_PE_ARM64_AT_Z },     /* save_fplr           */
    { 0x80, 0xbf, 1, 1, SW_PE_ARM64_SAVED,         2, 29, 0, 0, 0,  6,  8, SW_PE_ARM64_RISE_Z_1 }, /* save_fplr_x         */
    { 0xc0, 0xc7, 2, 1, SW_PE_ARM64_ALLOC,         0,  0, 0, 0, 0, 11, 16, SW_PE_ARM64_RISE_Z },   /* alloc_m             */
    { 0xc8, 0xcb, 2, 1, SW_PE_ARM64_SAVED,         2, 19, 6, 4, 1,  6,  8, SW_PE_ARM64_AT_Z },     /* save_regp           */
    { 0xcc, 0xcf, 2, 1, SW_PE_ARM64_SAVED,         2, 19, 6, 4, 1,  6,  8, SW_PE_ARM64_RISE_Z_1 }, /* save_regp_x         */
    { 0xd0, 0xd3, 2, 1, SW_PE_ARM64_SAVED,         1, 19, 6, 4, 1,  6,  8, SW_PE_ARM64_AT_Z },     /* save_reg            */
    { 0xd4, 0xd5, 2, 1, SW_PE_ARM64_SAVED,         1, 19, 5, 4, 1,  5,  8, SW_PE_ARM64_RISE_Z_1 }, /* save_reg_x          */
    { 0xd6, 0xd7, 2, 1, SW_PE_ARM64_LR_PAIR,       1, 19, 6, 3, 2,  6,  8, SW_PE_ARM64_AT_Z },     /* save_lrpair         */
    { 0xd8, 0xd9, 2, 1, SW_PE_ARM64_FLOATS,        2,  0, 0, 0, 0,  6,  8, SW_PE_ARM64_AT_Z },     /* save_fregp          */
    { 0xda, 0xdb, 2, 1, SW_PE_ARM64_FLOATS,        2,  0, 0, 0, 0,  6,  8, SW_PE_ARM64_RISE_Z_1 }, /* save_fregp_x        */
    { 0xdc, 0xdd, 2, 1, SW_PE_ARM64_FLOATS,        1,  0, 0, 0, 0,  6,  8, SW_PE_ARM64_AT_Z },     /* save_freg           */
    { 0xde, 0xde, 2, 1, SW_PE_ARM64_FLOATS,        1,  0, 0, 0, 0,  5,  8, SW_PE_ARM64_RISE_Z_1 }, /* save_freg_x         */
    { 0xdf, 0xdf, 2, 1, SW_PE_ARM64_ALLOC_Z,       0,  0, 0, 0, 0,  8,  1, SW_PE_ARM64_AT_Z },     /* alloc_z             */
    { 0xe0, 0xe0, 4, 1, SW_PE_ARM64_ALLOC,         0,  0, 0, 0, 0, 24, 16, SW_PE_ARM64_RISE_Z },   /* alloc_l             */
    { 0xe1, 0xe1, 1, 1, SW_PE_ARM64_SET_FP,        0,  0, 0, 0, 0,  0,  8, SW_PE_ARM64_AT_Z },     /* set_fp              */
    { 0xe2, 0xe2, 2, 1, SW_PE_ARM64_SET_FP,        0,  0, 0, 0, 0,  8,  8, SW_PE_ARM64_AT_Z },     /* add_fp              */
    { 0xe3, 0xe3, 1, 1, SW_PE_ARM64_PASS,          0,  0, 0, 0, 0,  0,  0, SW_PE_ARM64_AT_Z },     /* nop                 */
    { 0xe4, 0xe4, 1, 1, SW_PE_ARM64_END,           0,  0, 0, 0, 0,  0,  0, SW_PE_ARM64_AT_Z },     /* end                 */
    { 0xe5, 0xe5, 1, 1, SW_PE_ARM64_END_C,         0,  0, 0, 0, 0,  0,  0, SW_PE_ARM64_AT_Z },     /* end_c               */
    { 0xe6, 0xe6, 1, 1, SW_PE_ARM64_NEXT,          0,  0, 0, 0, 0,  0,  0, SW_PE_ARM64_AT_Z },     /* save_next           */
    { 0xe7, 0xe7, 3, 1, SW_PE_ARM64_ANY_REG,       0,  0, 0, 0, 0,  6,  8, SW_PE_ARM64_AT_Z },     /* save_any_reg        */
    { 0xe8, 0xe8, 1, 0, SW_PE_ARM64_UNKNOWN_FRAME, 0,  0, 0, 0, 0,  0,  0, SW_PE_ARM64_AT_Z },     /* trap frame          */
    { 0xe9, 0xe9, 1, 0, SW_PE_ARM64_MACHINE_FRAME, 0,  0, 0, 0, 0,  0,  0, SW_PE_ARM64_AT_Z },     /* machine frame       */
    { 0xea, 0xea, 1, 0, SW_PE_ARM64_CONTEXT,       0,  0, 0, 0, 0,  0,  0, SW_PE_ARM64_AT_Z },     /* context             */
    { 0xeb, 0xeb, 1, 0, SW_PE_ARM64_UNKNOWN_FRAME, 0,  0, 0, 0, 0,  0,  0, SW_PE_ARM64_AT_Z },     /* EC context          */
    { 0xec, 0xec, 1, 0, SW_PE_ARM64_CLEAR_CALL,    0,  0, 0, 0, 0,  0,  0, SW_PE_ARM64_AT_Z },     /* clear unwound-to-call */
    { 0xed, 0xf7, 1, 0, SW_PE_ARM64_UNKNOWN_FRAME, 0,  0, 0, 0, 0,  0,  0, SW_PE_ARM64_AT_Z },     /* reserved for frames */
    { 0xf8, 0xf8, 2, 1, SW_PE_ARM64_PASS,          0,  0, 0, 0, 0,  0,  0, SW_PE_ARM64_AT_Z },     /* reserved            */
    { 0xf9, 0xf9, 3, 1, SW_PE_ARM64_PASS,          0,  0, 0, 0, 0,  0,  0, SW_PE_ARM64_AT_Z },     /* reserved            */
    { 0xfa, 0xfa, 4, 1, SW_PE_ARM64_PASS,          0,  0, 0, 0, 0,  0,  0, SW_PE_ARM64_AT_Z },     /* reserved            */
    { 0xfb, 0xfb, 5, 1, SW_PE_ARM64_PASS,          0,  0, 0, 0, 0,  0,  0, SW_PE_ARM64_AT_Z },     /* reserved            */
    { 0xfc, 0xfc, 1, 1, SW_PE_ARM64_PASS,          0,  0, 0, 0, 0,  0,  0, SW_PE_ARM64_AT_Z },     /* pac_sign_lr         */
    { 0xfd, 0xff, 1, 1, SW_PE_ARM64_PASS,          0,  0, 0, 0, 0,  0,  0, SW_PE_ARM64_AT_Z },     /* reserved            */
    /* clang-format on */
};

/* Moves the window over bytes [at, at + size). */
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

enum sw_status sw_pe_arm64_next_code(struct sw_pe_arm64_codes *codes, uint32_t *at, struct sw_pe_arm64_code *code)
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

bool sw_pe_arm64_ends_scope(const struct sw_pe_arm64_code *code)
{
    return code->operation->effect == SW_PE_ARM64_END || code->operation->effect == SW_PE_ARM64_END_C;
}

enum sw_status sw_pe_arm64_scope_size(struct sw_pe_arm64_codes *codes, uint32_t index, bool is_epilog, uint32_t *size)
{
    struct sw_pe_arm64_code code;
    *size = 0;
    for (;;) {
        const enum sw_status status = sw_pe_arm64_next_code(codes, &index, &code);
        if (status)
            return status;
        if (sw_pe_arm64_ends_scope(&code)) {
            *size += is_epilog;
            return SW_OK;
        }
        *size += code.operation->insns;
    }
}

enum sw_status sw_pe_arm64_skip(struct sw_pe_arm64_codes *codes, uint32_t insns, uint32_t *index)
{
    struct sw_pe_arm64_code code;
    for (uint32_t at = *index, passed = 0; passed < insns; *index = at) {
        const enum sw_status status = sw_pe_arm64_next_code(codes, &at, &code);
        if (status)
            return status;
        if (sw_pe_arm64_ends_scope(&code))
            return SW_OK;
        passed += code.operation->insns;
    }
    return SW_OK;
}

/* The codes of Windows ARM64 unwind data, of full records and packed words. Used inside lib/pe only. */
#ifndef SW_PE_CODES_ARM64_H
#define SW_PE_CODES_ARM64_H

#include "pe/pe.h"

enum { SW_PE_ARM64_WINDOW = 128 };

/*
 * Unwind codes. A record's are read through a window, because there may be 1,020 bytes of them; a packed word's are in
 * the window from the start.
 */
struct sw_pe_arm64_codes {
    const struct sw_pe_reader *reader;
    uint32_t rva;
    uint32_t size;
    uint32_t at; /* the window's offset in the codes, and how much of it is filled */
    uint32_t filled;
    uint8_t window[SW_PE_ARM64_WINDOW];
};

/* What a code does. */
enum sw_pe_arm64_effect {
    SW_PE_ARM64_PASS,    /* nothing that a rule could express */
    SW_PE_ARM64_ALLOC,   /* sp += amount */
    SW_PE_ARM64_SAVED,   /* x registers */
    SW_PE_ARM64_FLOATS,  /* d registers: only sp matters */
    SW_PE_ARM64_LR_PAIR, /* one x register and lr */
    SW_PE_ARM64_ANY_REG,
    SW_PE_ARM64_ALLOC_Z,
    SW_PE_ARM64_SET_FP, /* sp = x29 - amount */
    SW_PE_ARM64_NEXT,
    SW_PE_ARM64_END,
    SW_PE_ARM64_END_C,
    SW_PE_ARM64_MACHINE_FRAME,
    SW_PE_ARM64_CONTEXT,
    SW_PE_ARM64_CLEAR_CALL,
    SW_PE_ARM64_UNKNOWN_FRAME /* of unknown layout: trap frames, ARM64EC, codes reserved for more of them */
};

/*
 * Where a save is and how sp moves. AT_Z: at sp + z * unit. RISE_Z, RISE_Z_1: at sp, which then rises by z or z + 1
 * units.
 */
enum sw_pe_arm64_indexing { SW_PE_ARM64_AT_Z, SW_PE_ARM64_RISE_Z, SW_PE_ARM64_RISE_Z_1 };

/*
 * An operation, by the first byte of its codes. size: in bytes. insns: instructions that the code stands for. Operands
 * are fields of the big-endian number that the bytes form: z is the lowest z_bits, x is x_bits from bit x_at. The first
 * register is reg + x * x_step.
 */
struct sw_pe_arm64_operation {
    uint8_t first, last;
    uint8_t size, insns;
    uint8_t effect;
    uint8_t count; /* registers saved; save_next extends a 2 */
    uint8_t reg, x_at, x_bits, x_step;
    uint8_t z_bits, unit;
    uint8_t indexing;
};

struct sw_pe_arm64_code {
    const struct sw_pe_arm64_operation *operation;
    uint64_t bytes; /* as one big-endian number */
    uint32_t x;     /* the first register */
    uint32_t z;
};

/*
 * next_code: decodes the code at byte *at, and moves *at past it. Returns  SW_OK; SW_E_MALFORMED (behind the last one);
 * SW_E_TRUNCATED. ends_scope: whether it is the last of its prolog or epilog.
 */
enum sw_status sw_pe_arm64_next_code(struct sw_pe_arm64_codes *codes, uint32_t *at, struct sw_pe_arm64_code *code);
bool sw_pe_arm64_ends_scope(const struct sw_pe_arm64_code *code);

/*
 * scope_size: the number of instructions that the codes from an index on stand for; in an epilog, the end code stands
 * for the return. skip: skips the codes of `insns` instructions, but not past the end of their scope. As next_code.
 */
enum sw_status sw_pe_arm64_scope_size(struct sw_pe_arm64_codes *codes, uint32_t index, bool is_epilog, uint32_t *size);
enum sw_status sw_pe_arm64_skip(struct sw_pe_arm64_codes *codes, uint32_t insns, uint32_t *index);

#endif

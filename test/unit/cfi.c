/*
 * Call frame information from hand-assembled bytes: every instruction, every augmentation and encoding, the frames that
 * gcc and glibc write, each search, and tables cut off or hostile.
 */
#include "rows.h"

#include "cfi/cfi.h"

#include <string.h>

#define B(text) text, sizeof(text) - 1

enum { FRAME = 0x500000, HEADER = 0x4f0000, CODE = 0x401000, CODE_SIZE = 0x100, NO_LOC = 0xff };

/* ---- an assembler of sections ---- */

struct section {
    uint8_t bytes[4096];
    size_t size;
};

static void put(struct section *s, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        s->bytes[s->size++] = (uint8_t)(value >> (8 * i));
}

static void put_bytes(struct section *s, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        s->bytes[s->size++] = (uint8_t)bytes[i];
}

static void patch(struct section *s, size_t at, uint64_t value, size_t size)
{
    const size_t end = s->size;
    s->size = at;
    put(s, value, size);
    s->size = end;
}

/* Everything of a CIE between its id and its instructions. */
static const char plain_x64[] = "\x01zR\0\x01\x78\x10\x01\x00"; /* code 1, data -8, RA 16, absptr */
static const char plain_arm64[] = "\x01zR\0\x04\x78\x1e\x01\x00";

static size_t begin_record(struct section *s)
{
    put(s, 0, 4);
    return s->size;
}

static void end_record(struct section *s, size_t begin)
{
    patch(s, begin - 4, s->size - begin, 4);
}

static size_t put_cie(struct section *s, const char *head, size_t head_size, const char *program, size_t size)
{
    const size_t begin = begin_record(s);
    put(s, 0, 4);
    put_bytes(s, head, head_size);
    put_bytes(s, program, size);
    end_record(s, begin);
    return begin - 4;
}

/* An FDE with absolute addresses of 8 bytes and no augmentation data. */
static size_t put_fde(struct section *s, size_t cie, uint64_t begin_pc, uint64_t range, const char *program,
                      size_t size)
{
    const size_t begin = begin_record(s);
    put(s, begin - cie, 4);
    put(s, begin_pc, 8);
    put(s, range, 8);
    put(s, 0, 1);
    put_bytes(s, program, size);
    end_record(s, begin);
    return begin - 4;
}

static void put_debug_record(struct section *s, bool is_wide, uint64_t id, const char *body, size_t size)
{
    const size_t id_size = is_wide ? 8 : 4;
    if (is_wide)
        put(s, UINT32_MAX, 4);
    put(s, id_size + size, id_size);
    put(s, id, id_size);
    put_bytes(s, body, size);
}

/* In memory of exactly its size: a read behind it is a finding of ASan. */
static struct sw_cfi cfi_over(const struct section *s, enum sw_machine machine)
{
    return (struct sw_cfi){ .machine = machine, .frame = { s->bytes, s->size, FRAME } };
}

/* ---- one instruction after the other ---- */

#define X64_START "\x0c\x07\x08\x90\x01" /* def_cfa rsp+8; offset RA at CFA-8 */
#define RSP       SW_X64_RSP
#define RBP       SW_X64_RBP
#define RBX       SW_X64_RBX

static const struct row {
    const char *name;
    enum sw_machine machine;
    const char *cie;
    size_t cie_size;
    const char *fde;
    size_t fde_size;
    unsigned pc; /* distance from CODE */
    enum sw_status status;
    struct sw_loc cfa;
    unsigned number; /* a register, and where it must be */
    struct sw_loc loc;
    uint8_t flags;
} rows[] = {
#define X64 SW_MACHINE_X64, B(X64_START)
#define CFA(reg, off)                                                                                                  \
    {                                                                                                                  \
        SW_LOC_REG, reg, 0, off                                                                                        \
    }
#define AT_CFA(off)                                                                                                    \
    {                                                                                                                  \
        SW_LOC_AT_CFA, 0, 0, off                                                                                       \
    }
    { "cfi_row_of_the_cie", X64, B(""), 0, SW_OK, CFA(RSP, 8), SW_X64_RIP, AT_CFA(-8), 0 },
    { "cfi_row_of_a_cie_with_nops", SW_MACHINE_X64, B(X64_START "\0\0\0"), B(""), 0, SW_OK, CFA(RSP, 8), SW_X64_RIP,
      AT_CFA(-8), 0 },
    { "cfi_row_of_a_cie_with_many_nops", SW_MACHINE_X64, B(X64_START "\0\0\0\0"), B(""), 0, SW_OK, CFA(RSP, 8),
      SW_X64_RIP, AT_CFA(-8), 0 },
    { "cfi_row_of_a_cie_with_another_cfa", SW_MACHINE_X64, B("\x0c\x07\x10\x90\x01\0\0"), B(""), 0, SW_OK, CFA(RSP, 16),
      SW_X64_RIP, AT_CFA(-8), 0 },
    { "cfi_row_of_a_cie_that_says_more", SW_MACHINE_X64, B(X64_START "\x86\x02"), B(""), 0, SW_OK, CFA(RSP, 8),
      SW_X64_RBP, AT_CFA(-16), 0 },
    { "cfi_restore_of_more_that_the_cie_said", SW_MACHINE_X64, B(X64_START "\x86\x02"), B("\x86\x05\xc6"), 0, SW_OK,
      CFA(RSP, 8), SW_X64_RBP, AT_CFA(-16), 0 },
    { "cfi_sp_is_the_cfa", X64, B(""), 0, SW_OK, CFA(RSP, 8), RSP, { SW_LOC_CFA, 0, 0, 0 }, 0 },
    { "cfi_nonvolatile_is_the_same", X64, B(""), 0, SW_OK, CFA(RSP, 8), RBX, { SW_LOC_SAME, 0, 0, 0 }, 0 },
    { "cfi_volatile_is_unknown", X64, B(""), 0, SW_OK, CFA(RSP, 8), SW_X64_RAX, { 0 }, 0 },
    { "cfi_nop", X64, B("\0\0\x0e\x10"), 0, SW_OK, CFA(RSP, 16), RBX, { SW_LOC_SAME, 0, 0, 0 }, 0 },
    { "cfi_row_holds_to_the_byte_before_the_next",
      X64,
      B("\x44\x0e\x10"),
      3,
      SW_OK,
      CFA(RSP, 8),
      RBX,
      { SW_LOC_SAME, 0, 0, 0 },
      0 },
    { "cfi_advance_loc_begins_a_row",
      X64,
      B("\x44\x0e\x10"),
      4,
      SW_OK,
      CFA(RSP, 16),
      RBX,
      { SW_LOC_SAME, 0, 0, 0 },
      0 },
    { "cfi_set_loc_before",
      X64,
      B("\x01\x80\x10\x40\0\0\0\0\0\x0e\x10"),
      0x7f,
      SW_OK,
      CFA(RSP, 8),
      RBX,
      { SW_LOC_SAME, 0, 0, 0 },
      0 },
    { "cfi_set_loc_at",
      X64,
      B("\x01\x80\x10\x40\0\0\0\0\0\x0e\x10"),
      0x80,
      SW_OK,
      CFA(RSP, 16),
      RBX,
      { SW_LOC_SAME, 0, 0, 0 },
      0 },
    { "cfi_advance_loc1_before",
      X64,
      B("\x02\x80\x0e\x10"),
      0x7f,
      SW_OK,
      CFA(RSP, 8),
      RSP,
      { SW_LOC_CFA, 0, 0, 0 },
      0 },
    { "cfi_advance_loc1_at", X64, B("\x02\x80\x0e\x10"), 0x80, SW_OK, CFA(RSP, 16), RSP, { SW_LOC_CFA, 0, 0, 0 }, 0 },
    { "cfi_advance_loc2_before",
      X64,
      B("\x03\x81\0\x0e\x10"),
      0x80,
      SW_OK,
      CFA(RSP, 8),
      RSP,
      { SW_LOC_CFA, 0, 0, 0 },
      0 },
    { "cfi_advance_loc2_at", X64, B("\x03\x81\0\x0e\x10"), 0x81, SW_OK, CFA(RSP, 16), RSP, { SW_LOC_CFA, 0, 0, 0 }, 0 },
    { "cfi_advance_loc4_before",
      X64,
      B("\x04\x82\0\0\0\x0e\x10"),
      0x81,
      SW_OK,
      CFA(RSP, 8),
      RSP,
      { SW_LOC_CFA, 0, 0, 0 },
      0 },
    { "cfi_advance_loc4_at",
      X64,
      B("\x04\x82\0\0\0\x0e\x10"),
      0x82,
      SW_OK,
      CFA(RSP, 16),
      RSP,
      { SW_LOC_CFA, 0, 0, 0 },
      0 },
    { "cfi_advance_loc8_at",
      X64,
      B("\x1d\x83\0\0\0\0\0\0\0\x0e\x10"),
      0x83,
      SW_OK,
      CFA(RSP, 16),
      RSP,
      { SW_LOC_CFA, 0, 0, 0 },
      0 },
    { "cfi_advance_loc8_beyond_everything",
      X64,
      B("\x1d\x01\0\0\0\0\0\0\x80\x0e\x10"),
      0xff,
      SW_OK,
      CFA(RSP, 8),
      RSP,
      { SW_LOC_CFA, 0, 0, 0 },
      0 },
    { "cfi_offset", X64, B("\x86\x02"), 0, SW_OK, CFA(RSP, 8), RBP, AT_CFA(-16), 0 },
    { "cfi_restore", X64, B("\x86\x02\x41\xc6"), 1, SW_OK, CFA(RSP, 8), RBP, { SW_LOC_SAME, 0, 0, 0 }, 0 },
    { "cfi_restore_of_what_the_cie_said", X64, B("\x90\x05\xd0"), 0, SW_OK, CFA(RSP, 8), SW_X64_RIP, AT_CFA(-8), 0 },
    { "cfi_offset_extended", X64, B("\x05\x0c\x03"), 0, SW_OK, CFA(RSP, 8), SW_X64_R12, AT_CFA(-24), 0 },
    { "cfi_restore_extended",
      X64,
      B("\x05\x0c\x03\x06\x0c"),
      0,
      SW_OK,
      CFA(RSP, 8),
      SW_X64_R12,
      { SW_LOC_SAME, 0, 0, 0 },
      0 },
    { "cfi_undefined", X64, B("\x07\x03"), 0, SW_OK, CFA(RSP, 8), RBX, { SW_LOC_UNKNOWN, 0, 0, 0 }, 0 },
    { "cfi_undefined_return_address_ends_the_stack",
      X64,
      B("\x07\x10"),
      0,
      SW_OK,
      CFA(RSP, 8),
      SW_X64_RIP,
      { 0 },
      SW_RULE_END },
    { "cfi_same_value", X64, B("\x08\x00"), 0, SW_OK, CFA(RSP, 8), SW_X64_RAX, { SW_LOC_SAME, 0, 0, 0 }, 0 },
    { "cfi_register", X64, B("\x09\x03\x09"), 0, SW_OK, CFA(RSP, 8), RBX, { SW_LOC_REG, SW_X64_R9, 0, 0 }, 0 },
    { "cfi_register_of_the_return_address",
      X64,
      B("\x09\x10\x02"),
      0,
      SW_OK,
      CFA(RSP, 8),
      SW_X64_RIP,
      { SW_LOC_REG, SW_X64_RCX, 0, 0 },
      0 },
    { "cfi_register_in_a_vector_register_is_lost", X64, B("\x09\x03\x11"), 0, SW_OK, CFA(RSP, 8), RBX, { 0 }, 0 },
    { "cfi_state_is_remembered", X64, B("\x86\x02\x0a\x0e\x20\x86\x04\x41\x0b"), 1, SW_OK, CFA(RSP, 8), RBP,
      AT_CFA(-16), 0 },
    { "cfi_state_keeps_the_location",
      X64,
      B("\x0a\x41\x0b\x41\x0e\x10"),
      1,
      SW_OK,
      CFA(RSP, 8),
      RBP,
      { SW_LOC_SAME, 0, 0, 0 },
      0 },
    { "cfi_states_nest_8_deep",
      X64,
      B("\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0e\x10\x0b"),
      0,
      SW_OK,
      CFA(RSP, 8),
      RBP,
      { SW_LOC_SAME, 0, 0, 0 },
      0 },
    { "cfi_def_cfa", X64, B("\x0c\x06\x20"), 0, SW_OK, CFA(RBP, 32), RBP, { SW_LOC_SAME, 0, 0, 0 }, 0 },
    { "cfi_def_cfa_register", X64, B("\x0d\x06"), 0, SW_OK, CFA(RBP, 8), RBP, { SW_LOC_SAME, 0, 0, 0 }, 0 },
    { "cfi_def_cfa_offset", X64, B("\x0e\x80\x01"), 0, SW_OK, CFA(RSP, 128), RBP, { SW_LOC_SAME, 0, 0, 0 }, 0 },
    { "cfi_def_cfa_expression_of_a_register",
      X64,
      B("\x0f\x02\x76\x70"),
      0,
      SW_OK,
      CFA(RBP, -16),
      RBP,
      { SW_LOC_SAME, 0, 0, 0 },
      0 },
    { "cfi_def_cfa_expression_of_a_word",
      X64,
      B("\x0f\x03\x76\x70\x06"),
      0,
      SW_OK,
      { SW_LOC_AT_REG, RBP, 0, -16 },
      RBP,
      { SW_LOC_SAME, 0, 0, 0 },
      0 },
    { "cfi_expression_of_a_register",
      X64,
      B("\x10\x06\x02\x76\x78"),
      0,
      SW_OK,
      CFA(RSP, 8),
      RBP,
      { SW_LOC_AT_REG, RBP, 0, -8 },
      0 },
    { "cfi_expression_of_the_cfa", X64, B("\x10\x06\x02\x38\x1c"), 0, SW_OK, CFA(RSP, 8), RBP, AT_CFA(-8), 0 },
    { "cfi_offset_extended_sf", X64, B("\x11\x06\x7f"), 0, SW_OK, CFA(RSP, 8), RBP, AT_CFA(8), 0 },
    { "cfi_def_cfa_sf", X64, B("\x12\x06\x7c"), 0, SW_OK, CFA(RBP, 32), RBP, { SW_LOC_SAME, 0, 0, 0 }, 0 },
    { "cfi_def_cfa_offset_sf", X64, B("\x13\x7d"), 0, SW_OK, CFA(RSP, 24), RBP, { SW_LOC_SAME, 0, 0, 0 }, 0 },
    { "cfi_val_offset", X64, B("\x14\x06\x02"), 0, SW_OK, CFA(RSP, 8), RBP, { SW_LOC_CFA, 0, 0, -16 }, 0 },
    { "cfi_val_offset_sf", X64, B("\x15\x06\x7e"), 0, SW_OK, CFA(RSP, 8), RBP, { SW_LOC_CFA, 0, 0, 16 }, 0 },
    { "cfi_val_expression_of_a_register",
      X64,
      B("\x16\x06\x02\x73\x04"),
      0,
      SW_OK,
      CFA(RSP, 8),
      RBP,
      { SW_LOC_REG, RBX, 0, 4 },
      0 },
    { "cfi_val_expression_of_the_cfa",
      X64,
      B("\x16\x06\x02\x23\x04"),
      0,
      SW_OK,
      CFA(RSP, 8),
      RBP,
      { SW_LOC_CFA, 0, 0, 4 },
      0 },
    { "cfi_val_expression_of_a_word_at_the_cfa", X64, B("\x16\x06\x03\x38\x1c\x06"), 0, SW_OK, CFA(RSP, 8), RBP,
      AT_CFA(-8), 0 },
    { "cfi_gnu_args_size_changes_nothing",
      X64,
      B("\x2e\x10"),
      0,
      SW_OK,
      CFA(RSP, 8),
      RBP,
      { SW_LOC_SAME, 0, 0, 0 },
      0 },
    { "cfi_gnu_negative_offset_extended", X64, B("\x2f\x06\x02"), 0, SW_OK, CFA(RSP, 8), RBP, AT_CFA(16), 0 },
    { "cfi_vector_register_is_passed_over",
      X64,
      B("\x05\x11\x03\x10\x12\x01\x96\x09\x13\x03\x0e\x10"),
      0,
      SW_OK,
      CFA(RSP, 16),
      RBX,
      { SW_LOC_SAME, 0, 0, 0 },
      0 },

#define STAYS(size)                                                                                                    \
    {                                                                                                                  \
        SW_LOC_EXPR, 0, size, 50                                                                                       \
    }
#define RBP_BY(program, ...) X64, B(program), 0, SW_OK, CFA(RSP, 8), RBP, __VA_ARGS__, 0
    { "reduce_nothing_is_the_cfa", RBP_BY("\x16\x06\x00", { SW_LOC_CFA, 0, 0, 0 }) },
    { "reduce_number_plus_register", RBP_BY("\x16\x06\x04\x35\x76\x70\x22", { SW_LOC_REG, RBP, 0, -11 }) },
    { "reduce_register_minus_number", RBP_BY("\x16\x06\x04\x76\x70\x35\x1c", { SW_LOC_REG, RBP, 0, -21 }) },
    { "reduce_numbers_among_themselves",
      RBP_BY("\x16\x06\x07\x96\x73\x04\x33\x34\x1e\x22", { SW_LOC_REG, RBX, 0, 16 }) },
    { "reduce_not_number_minus_register", RBP_BY("\x16\x06\x04\x35\x76\x70\x1c", STAYS(4)) },
    { "reduce_not_word_at_a_number", RBP_BY("\x16\x06\x02\x35\x06", STAYS(2)) },
    { "reduce_not_half_words", RBP_BY("\x16\x06\x04\x76\x00\x94\x04", STAYS(4)) },
    { "reduce_not_word_at_a_word", RBP_BY("\x16\x06\x04\x76\x00\x06\x06", STAYS(4)) },
    { "reduce_not_word_plus_number", RBP_BY("\x16\x06\x05\x76\x00\x06\x23\x04", STAYS(5)) },
    { "reduce_not_two_registers", RBP_BY("\x16\x06\x05\x76\x00\x73\x00\x22", STAYS(5)) },
    { "reduce_not_vector_register", RBP_BY("\x16\x06\x03\x92\x11\x00", STAYS(3)) },
    { "reduce_not_number", RBP_BY("\x16\x06\x01\x35", STAYS(1)) },
    { "reduce_not_underflow", RBP_BY("\x16\x06\x01\x22", STAYS(1)) },
    { "reduce_not_unknown_operation", RBP_BY("\x16\x06\x01\xe0", STAYS(1)) },
    { "reduce_not_division_by_zero", RBP_BY("\x16\x06\x04\x31\x30\x1b\x22", STAYS(4)) },
    { "reduce_not_nine_values", RBP_BY("\x16\x06\x09\x31\x31\x31\x31\x31\x31\x31\x31\x31", STAYS(9)) },
    { "reduce_not_offset_of_32_bits", RBP_BY("\x16\x06\x06\x76\x80\x80\x80\x80\x08", STAYS(6)) },
    { "reduce_not_address_in_a_word", RBP_BY("\x10\x06\x03\x76\x00\x06", { SW_LOC_AT_EXPR, 0, 3, 50 }) },

    { "cfi_plain_arm64",
      SW_MACHINE_ARM64,
      B("\x0c\x1f\0"),
      B(""),
      0,
      SW_OK,
      CFA(31, 0),
      32,
      { SW_LOC_REG, 30, 0, 0 },
      0 },
    { "cfi_arm64_x30_of_a_caller_is_lost",
      SW_MACHINE_ARM64,
      B("\x0c\x1f\0"),
      B("\x9e\x01"),
      0,
      SW_OK,
      CFA(31, 0),
      30,
      { 0 },
      0 },
    { "cfi_arm64_return_address_is_x30_s", SW_MACHINE_ARM64, B("\x0c\x1f\0"), B("\x41\x0e\x20\x9d\x04\x9e\x03"), 4,
      SW_OK, CFA(31, 32), 32, AT_CFA(-24), 0 },
    { "cfi_arm64_code_is_aligned_by_4",
      SW_MACHINE_ARM64,
      B("\x0c\x1f\0"),
      B("\x41\x0e\x20\x9d\x04\x9e\x03"),
      3,
      SW_OK,
      CFA(31, 0),
      32,
      { SW_LOC_REG, 30, 0, 0 },
      0 },
    { "cfi_arm64_negate_ra_state",
      SW_MACHINE_ARM64,
      B("\x0c\x1f\0"),
      B("\x2d\x2c\x2b\x01\x7f\x0e\x20"),
      0,
      SW_OK,
      CFA(31, 32),
      32,
      { SW_LOC_REG, 30, 0, 0 },
      0 },
    { "cfi_arm64_undefined_x30_ends_the_stack",
      SW_MACHINE_ARM64,
      B("\x0c\x1f\0"),
      B("\x07\x1e"),
      0,
      SW_OK,
      CFA(31, 0),
      32,
      { 0 },
      SW_RULE_END },
    { "cfi_arm64_sp_may_lie_above_the_cfa",
      SW_MACHINE_ARM64,
      B("\x0c\x1f\0"),
      B("\x13\x02"),
      0,
      SW_OK,
      CFA(31, -16),
      32,
      { SW_LOC_REG, 30, 0, 0 },
      0 },

    { "cfi_undefined_return_address_needs_no_cfa",
      SW_MACHINE_X64,
      B("\x07\x10"),
      B(""),
      0,
      SW_OK,
      { 0 },
      SW_X64_RIP,
      { 0 },
      SW_RULE_END },
    { "cfi_return_address_that_is_zero_by_value",
      X64,
      B("\x16\x10\x01\x30"),
      0,
      SW_OK,
      CFA(RSP, 8),
      SW_X64_RIP,
      { SW_LOC_EXPR, 0, 1, 50 },
      0 },
    { "cfi_args_sizes_between_pushes",
      X64,
      B("\x2e\x10\x41\x0e\x18\x2e\x00\x41\x0e\x10"),
      1,
      SW_OK,
      CFA(RSP, 24),
      RBX,
      { SW_LOC_SAME, 0, 0, 0 },
      0 },
    { "cfi_restore_state_brings_the_cfa_back",
      X64,
      B("\x0c\x06\x10\x0a\x0c\x07\x08\x41\x0b"),
      1,
      SW_OK,
      CFA(RBP, 16),
      RBX,
      { SW_LOC_SAME, 0, 0, 0 },
      0 },
    { "cfi_restore_state_brings_an_expression_back",
      X64,
      B("\x0f\x03\x76\x70\x06\x0a\x0c\x07\x08\x41\x0b"),
      1,
      SW_OK,
      { SW_LOC_AT_REG, RBP, 0, -16 },
      RBX,
      { SW_LOC_SAME, 0, 0, 0 },
      0 },
    { "cfi_sp_by_its_own_rule",
      X64,
      B("\x16\x07\x02\x77\x10"),
      0,
      SW_OK,
      CFA(RSP, 8),
      RSP,
      { SW_LOC_REG, RSP, 0, 16 },
      0 },
    { "cfi_code_address_0_advance", X64, B("\x40\x0e\x10"), 0, SW_OK, CFA(RSP, 16), RBX, { SW_LOC_SAME, 0, 0, 0 }, 0 },
    { "cfi_arm64_restore_extended",
      SW_MACHINE_ARM64,
      B("\x0c\x1f\0"),
      B("\x9e\x01\x06\x1e"),
      0,
      SW_OK,
      CFA(31, 0),
      32,
      { SW_LOC_REG, 30, 0, 0 },
      0 },
#define A64(name, program, pc, cfa, number, ...)                                                                       \
    {                                                                                                                  \
        name, SW_MACHINE_ARM64, B("\x0c\x1f\0"), B(program), pc, SW_OK, cfa, number, __VA_ARGS__, 0                    \
    }
#define IN_X30                                                                                                         \
    {                                                                                                                  \
        SW_LOC_REG, 30, 0, 0                                                                                           \
    }
    A64("cfi_arm64_set_ra_state_alone", "\x2b\x01\x7f\x0e\x20", 0, CFA(31, 32), 32, IN_X30),
    A64("cfi_arm64_set_ra_state_with_long_operands", "\x2b\x81\x80\x00\xff\x80\x7f\x0e\x20", 0, CFA(31, 32), 32,
        IN_X30),
    A64("cfi_arm64_negate_ra_state_with_pc_alone", "\x2c\x0e\x20", 0, CFA(31, 32), 32, IN_X30),
/* paciasp; stp x29, x30, [sp, #-32]!; ...; ldp x29, x30, [sp], #32; autiasp; ret */
#define SIGNED_FRAME "\x41\x2d\x41\x0e\x20\x9d\x04\x9e\x03\x42\xde\xdd\x0e\x00\x41\x2d"
    A64("cfi_arm64_signed_frame_at_entry", SIGNED_FRAME, 0, CFA(31, 0), 32, IN_X30),
    A64("cfi_arm64_signed_frame_once_signed", SIGNED_FRAME, 4, CFA(31, 0), 32, IN_X30),
    A64("cfi_arm64_signed_frame_in_its_body", SIGNED_FRAME, 8, CFA(31, 32), 32, AT_CFA(-24)),
    A64("cfi_arm64_signed_frame_keeps_its_caller_s_x29", SIGNED_FRAME, 12, CFA(31, 32), 29, AT_CFA(-32)),
    A64("cfi_arm64_signed_frame_restored", SIGNED_FRAME, 16, CFA(31, 0), 32, IN_X30),
    A64("cfi_arm64_signed_frame_authenticated", SIGNED_FRAME, 20, CFA(31, 0), 32, IN_X30),
    A64("cfi_arm64_remembered_while_signed", "\x2d\x0a\x2d\x0e\x20\x0b", 0, CFA(31, 0), 32, IN_X30),
    A64("cfi_arm64_return_address_in_another_register", "\x09\x1e\x11", 0, CFA(31, 0), 32, { SW_LOC_REG, 17, 0, 0 }),
    /*
     * d8 saved, undefined, unchanged, in x3, by an expression, restored; so v31, z0, p4, VG, FFR, and numbers of none
     */
    A64("cfi_arm64_vector_registers_are_passed_over",
        "\x05\x48\x06\x07\x48\x08\x48\x09\x48\x03\x10\x48\x02\x8f\x00\x06\x48\x05\x5f\x06\x16\x60\x01\x30\x11\x34\x7f"
        "\x08\x2e\x07\x2f\x14\xff\x7f\x01\x0e\x20",
        0, CFA(31, 32), 32, IN_X30),
    { "cfi_arm64_sign_state_by_a_register_rule",
      SW_MACHINE_ARM64,
      B("\x0c\x1f\0"),
      B("\x16\x22\x01\x31\x15\x22\x01"),
      0,
      SW_OK,
      CFA(31, 0),
      32,
      { SW_LOC_REG, 30, 0, 0 },
      0 },

#define BAD(status) status, { 0 }, 0, { 0 }, 0
    { "cfi_negate_ra_state_with_pc_is_arm64_s", X64, B("\x2c"), 0, BAD(SW_E_UNSUPPORTED) },
    { "cfi_def_cfa_expression_without_operations_is_kept",
      X64,
      B("\x0f\x00"),
      0,
      SW_OK,
      { SW_LOC_EXPR, 0, 0, 49 },
      RBX,
      { SW_LOC_SAME, 0, 0, 0 },
      0 },
    { "cfi_set_ra_state_is_arm64_s", X64, B("\x2b\x01\x7f"), 0, BAD(SW_E_UNSUPPORTED) },
    { "cfi_arm64_set_ra_state_cut_off", SW_MACHINE_ARM64, B("\x0c\x1f\0"), B("\x2b\x01"), 0, BAD(SW_E_TRUNCATED) },
    { "cfi_arm64_set_ra_state_cut_off_before", SW_MACHINE_ARM64, B("\x0c\x1f\0"), B("\x2b"), 0, BAD(SW_E_TRUNCATED) },
    { "cfi_arm64_cfa_of_a_vector_register", SW_MACHINE_ARM64, B("\x0c\x1f\0"), B("\x0c\x48\x10"), 0,
      BAD(SW_E_UNSUPPORTED) },
    { "cfi_arm64_return_address_in_a_vector_register", SW_MACHINE_ARM64, B("\x0c\x1f\0"), B("\x09\x1e\x48"), 0,
      BAD(SW_E_UNSUPPORTED) },
    { "cfi_negate_ra_state_is_arm64_s", X64, B("\x2d"), 0, BAD(SW_E_UNSUPPORTED) },
    { "cfi_unknown_instruction", X64, B("\x3c"), 0, BAD(SW_E_UNSUPPORTED) },
    { "cfi_return_address_in_a_vector_register", X64, B("\x09\x10\x11"), 0, BAD(SW_E_UNSUPPORTED) },
    { "cfi_cfa_of_a_vector_register", X64, B("\x0c\x11\x08"), 0, BAD(SW_E_UNSUPPORTED) },
    { "cfi_states_nest_9_deep", X64, B("\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a"), 0, BAD(SW_E_LIMIT) },
    { "cfi_restore_state_without_remember", X64, B("\x0b"), 0, BAD(SW_E_MALFORMED) },
    { "cfi_restore_in_the_cie", SW_MACHINE_X64, B("\x0c\x07\x08\x90\x01\xc6"), B(""), 0, BAD(SW_E_MALFORMED) },
    { "cfi_advance_in_the_cie", SW_MACHINE_X64, B("\x0c\x07\x08\x90\x01\x41"), B(""), 0, BAD(SW_E_MALFORMED) },
    { "cfi_state_of_the_cie_is_not_the_fde_s", SW_MACHINE_X64, B("\x0c\x07\x08\x90\x01\x0a"), B("\x0b"), 0,
      BAD(SW_E_MALFORMED) },
    { "cfi_without_cfa", SW_MACHINE_X64, B("\x90\x01"), B(""), 0, BAD(SW_E_MALFORMED) },
    { "cfi_without_return_address", SW_MACHINE_X64, B("\x0c\x07\x08"), B(""), 0, BAD(SW_E_MALFORMED) },
    { "cfi_def_cfa_register_without_cfa", SW_MACHINE_X64, B("\x90\x01"), B("\x0d\x06"), 0, BAD(SW_E_MALFORMED) },
    { "cfi_def_cfa_offset_after_an_expression", X64, B("\x0f\x02\x77\x00\x0e\x10"), 0, BAD(SW_E_MALFORMED) },
    { "cfi_cfa_below_the_stack_pointer", X64, B("\x0e\xb0\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 0,
      BAD(SW_E_MALFORMED) },
    { "cfi_offset_of_over_31_bits", X64, B("\x0e\x80\x80\x80\x80\x08"), 0, BAD(SW_E_LIMIT) },
    { "cfi_scaled_offset_of_over_31_bits", X64, B("\x86\x80\x80\x80\x80\x02"), 0, BAD(SW_E_LIMIT) },
    { "cfi_scaled_offset_of_64_bits", X64, B("\x86\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), 0, BAD(SW_E_LIMIT) },
    { "cfi_cie_cut_off", SW_MACHINE_X64, B("\x0c\x07\x08\x90"), B(""), 0, BAD(SW_E_TRUNCATED) },
    { "cfi_arm64_cie_cut_off", SW_MACHINE_ARM64, B("\x0c\x1f"), B(""), 0, BAD(SW_E_TRUNCATED) },
    { "cfi_operand_cut_off", X64, B("\x0c\x07"), 0, BAD(SW_E_TRUNCATED) },
    { "cfi_block_cut_off", X64, B("\x0f\x05\x77\x00"), 0, BAD(SW_E_TRUNCATED) },
    { "cfi_pc_behind_the_fde", X64, B(""), CODE_SIZE, BAD(SW_E_NO_RULE) },
};

static void instructions_give(void **state)
{
    const struct row *row = *state;
    struct section s = { .size = 0 };
    static struct sw_cfi_work work;
    struct sw_rule rule;
    struct sw_cfi_cover cover;
    memset(&work, 0xa5, sizeof work);
    memset(&rule, 0xa5, sizeof rule);
    const bool is_x64 = row->machine == SW_MACHINE_X64;
    const size_t cie = put_cie(&s, is_x64 ? plain_x64 : plain_arm64, sizeof plain_x64 - 1, row->cie, row->cie_size);
    put_fde(&s, cie, CODE, CODE_SIZE, row->fde, row->fde_size);
    put(&s, 0, 4);
    const struct sw_cfi cfi = cfi_over(&s, row->machine);
    assert_int_equal(sw_cfi_rule(&cfi, CODE + row->pc, &work, &rule, &cover), row->status);
    if (row->status != SW_OK)
        return;
    assert_memory_equal(&rule.cfa, &row->cfa, sizeof rule.cfa);
    assert_memory_equal(&rule.r[row->number], &row->loc, sizeof row->loc);
    assert_int_equal(rule.flags, row->flags);
    assert_int_equal(rule.source, SW_SOURCE_CFI);
    assert_int_equal(rule.trust, SW_TRUST_EXACT);
    assert_int_equal(cover.begin, CODE);
    assert_int_equal(cover.end, CODE + CODE_SIZE);
}

/* ---- heads of CIEs ---- */

#define SAID 0x28 /* what the FDE's one instruction says: def_cfa_offset 40 */

static const struct head_row {
    const char *name;
    const char *head;
    size_t head_size;
    const char *addresses; /* of the FDE, with its augmentation data */
    size_t addresses_size;
    enum sw_status status;
    uint8_t flags;
} head_rows[] = {
#define PLAIN B("\x00\x10\x40\0\0\0\0\0\x00\x01\0\0\0\0\0\0\x00")
#define BARE  B("\x00\x10\x40\0\0\0\0\0\x00\x01\0\0\0\0\0\0")
    { "head_zR", B("\x01zR\0\x01\x78\x10\x01\x00"), PLAIN, SW_OK, 0 },
    { "head_version_3_has_a_leb_column", B("\x03zR\0\x01\x78\x90\x00\x01\x00"), PLAIN, SW_OK, 0 },
    { "head_without_augmentation", B("\x01\0\x01\x78\x10"), BARE, SW_OK, 0 },
    { "head_zRS_is_a_signal_frame", B("\x01zRS\0\x01\x78\x10\x01\x00"), PLAIN, SW_OK, SW_RULE_SIGNAL },
    { "head_zRB", B("\x01zRB\0\x01\x78\x10\x01\x00"), PLAIN, SW_OK, 0 },
    { "head_zRBGS", B("\x01zRBGS\0\x01\x78\x10\x01\x00"), PLAIN, SW_OK, SW_RULE_SIGNAL },
    { "head_zRG", B("\x01zRG\0\x01\x78\x10\x01\x00"), PLAIN, SW_OK, 0 },
    { "head_zPLR_of_cplusplus", B("\x01zPLR\0\x01\x78\x10\x07\x9b\x11\x22\x33\x44\x1b\x00"),
      B("\x00\x10\x40\0\0\0\0\0\x00\x01\0\0\0\0\0\0\x04\x99\x99\x99\x99"), SW_OK, 0 },
    { "head_zP_absolute", B("\x01zPR\0\x01\x78\x10\x0a\x00\x11\x22\x33\x44\x55\x66\x77\x88\x00"), PLAIN, SW_OK, 0 },
    { "head_zP_omitted", B("\x01zPR\0\x01\x78\x10\x02\xff\x00"), PLAIN, SW_OK, 0 },
    { "head_RS_without_z", B("\x01RS\0\x01\x78\x10\x00"), BARE, SW_OK, SW_RULE_SIGNAL },
    { "head_eh_of_gcc_2",
      B("\x01"
        "eh\0\x11\x22\x33\x44\x55\x66\x77\x88\x01\x78\x10"),
      BARE, SW_OK, 0 },
    { "head_with_longer_data_than_letters", B("\x01zR\0\x01\x78\x10\x03\x00\x99\x99"), PLAIN, SW_OK, 0 },
    { "head_with_an_unknown_last_letter", B("\x01zRx\0\x01\x78\x10\x03\x00\x99\x99"), PLAIN, SW_OK, 0 },
    { "head_with_an_unknown_letter_before_others", B("\x01zxR\0\x01\x78\x10\x03\x99\x99\x00"), PLAIN, SW_E_NO_RULE, 0 },
    { "head_with_an_unknown_letter_without_z", B("\x01x\0\x01\x78\x10"), BARE, SW_E_NO_RULE, 0 },
    { "head_of_version_2", B("\x02zR\0\x01\x78\x10\x01\x00"), PLAIN, SW_E_NO_RULE, 0 },
    { "head_with_endless_letters", B("\x01zRRRRRRRRRRRRRRRRRRRRRRR\0\x01\x78\x10\x01\x00"), PLAIN, SW_E_NO_RULE, 0 },
    { "head_with_data_beyond_the_record", B("\x01zR\0\x01\x78\x10\x7f\x00"), PLAIN, SW_E_NO_RULE, 0 },
    { "head_with_less_data_than_letters", B("\x01zR\0\x01\x78\x10\x00"), PLAIN, SW_E_NO_RULE, 0 },
    { "head_with_the_return_address_in_a_vector_register", B("\x01zR\0\x01\x78\x11\x01\x00"), PLAIN, SW_E_UNSUPPORTED,
      0 },
    { "head_with_code_aligned_beyond_32_bits", B("\x01zR\0\xff\xff\xff\xff\x7f\x78\x10\x01\x00"), PLAIN, SW_E_NO_RULE,
      0 },
    { "head_with_data_aligned_beyond_32_bits", B("\x01zR\0\x01\x80\x80\x80\x80\x70\x10\x01\x00"), PLAIN, SW_E_NO_RULE,
      0 },
    { "fde_pcrel_sdata4", B("\x01zR\0\x01\x78\x10\x01\x1b"), B("\xd8\x0f\xf0\xff\x00\x01\0\0\x00"), SW_OK, 0 },
    { "fde_udata4", B("\x01zR\0\x01\x78\x10\x01\x03"), B("\x00\x10\x40\0\x00\x01\0\0\x00"), SW_OK, 0 },
    { "fde_sdata8", B("\x01zR\0\x01\x78\x10\x01\x0c"), PLAIN, SW_OK, 0 },
    { "fde_uleb", B("\x01zR\0\x01\x78\x10\x01\x01"), B("\x80\xa0\x80\x02\x80\x02\x00"), SW_OK, 0 },
    { "fde_sleb", B("\x01zR\0\x01\x78\x10\x01\x09"), B("\x80\xa0\x80\x02\x80\x02\x00"), SW_OK, 0 },
    { "head_zLR_without_personality", B("\x01zLR\0\x01\x78\x10\x02\x1b\x00"),
      B("\x00\x10\x40\0\0\0\0\0\x00\x01\0\0\0\0\0\0\x04\x99\x99\x99\x99"), SW_OK, 0 },
    { "head_zLR_with_the_LSDA_omitted", B("\x01zLR\0\x01\x78\x10\x02\xff\x00"), PLAIN, SW_OK, 0 },
    { "head_zL_alone", B("\x01zL\0\x01\x78\x10\x01\x00"),
      B("\x00\x10\x40\0\0\0\0\0\x00\x01\0\0\0\0\0\0\x08\x99\x99\x99\x99\x99\x99\x99\x99"), SW_OK, 0 },
    { "head_z_alone", B("\x01z\0\x01\x78\x10\x00"), PLAIN, SW_OK, 0 },
    { "head_zRS_with_data_in_the_fde", B("\x01zRS\0\x01\x78\x10\x01\x00"),
      B("\x00\x10\x40\0\0\0\0\0\x00\x01\0\0\0\0\0\0\x02\x99\x99"), SW_OK, SW_RULE_SIGNAL },
    { "head_zSR_in_another_order", B("\x01zSR\0\x01\x78\x10\x01\x00"), PLAIN, SW_OK, SW_RULE_SIGNAL },
    { "head_zP_udata2", B("\x01zPR\0\x01\x78\x10\x04\x02\x11\x22\x00"), PLAIN, SW_OK, 0 },
    { "head_zP_uleb", B("\x01zPR\0\x01\x78\x10\x04\x01\x91\x22\x00"), PLAIN, SW_OK, 0 },
    { "head_zP_indirect_pcrel_sdata8", B("\x01zPR\0\x01\x78\x10\x0a\x9c\x11\x22\x33\x44\x55\x66\x77\x88\x00"), PLAIN,
      SW_OK, 0 },
    { "head_zP_of_no_format", B("\x01zPR\0\x01\x78\x10\x02\x05\x00"), PLAIN, SW_E_NO_RULE, 0 },
    /* its data begin at FRAME + 17: 7 bytes of padding before the pointer */
    { "head_zP_aligned", B("\x01zPR\0\x01\x78\x10\x10\x50\x99\x99\x99\x99\x99\x99\x11\x22\x33\x44\x55\x66\x77\x88\x00"),
      PLAIN, SW_OK, 0 },
    { "head_version_4_in_eh_frame", B("\x04zR\0\x08\x00\x01\x78\x10\x01\x00"), PLAIN, SW_OK, 0 },
    { "head_version_4_of_4_byte_pointers", B("\x04zR\0\x04\x00\x01\x78\x10\x01\x00"), PLAIN, SW_E_NO_RULE, 0 },
    { "fde_signed", B("\x01zR\0\x01\x78\x10\x01\x08"), PLAIN, SW_OK, 0 },
    { "fde_pcrel_sdata8", B("\x01zR\0\x01\x78\x10\x01\x1c"),
      B("\xd8\x0f\xf0\xff\xff\xff\xff\xff\x00\x01\0\0\0\0\0\0\x00"), SW_OK, 0 },
    { "fde_pcrel_absptr", B("\x01zR\0\x01\x78\x10\x01\x10"),
      B("\xd8\x0f\xf0\xff\xff\xff\xff\xff\x00\x01\0\0\0\0\0\0\x00"), SW_OK, 0 },
    { "fde_aligned", B("\x01zR\0\x01\x78\x10\x01\x50"), PLAIN, SW_OK, 0 },
    { "fde_datarel", B("\x01zR\0\x01\x78\x10\x01\x3b"), PLAIN, SW_E_NO_RULE, 0 },
    { "fde_funcrel", B("\x01zR\0\x01\x78\x10\x01\x4b"), PLAIN, SW_E_NO_RULE, 0 },
    { "fde_omitted", B("\x01zR\0\x01\x78\x10\x01\xff"), PLAIN, SW_E_NO_RULE, 0 },
    { "fde_pcrel_of_zero_is_a_discarded_function", B("\x01zR\0\x01\x78\x10\x01\x1b"), B("\0\0\0\0\x00\x00\x50\0\x00"),
      SW_E_NO_RULE, 0 },
    { "fde_indirect", B("\x01zR\0\x01\x78\x10\x01\x80"), PLAIN, SW_E_NO_RULE, 0 },
    { "fde_textrel", B("\x01zR\0\x01\x78\x10\x01\x20"), PLAIN, SW_E_NO_RULE, 0 },
    { "fde_of_a_discarded_function", B("\x01zR\0\x01\x78\x10\x01\x00"), B("\0\0\0\0\0\0\0\0\x00\x20\x40\0\0\0\0\0\x00"),
      SW_E_NO_RULE, 0 },
    { "fde_that_wraps", B("\x01zR\0\x01\x78\x10\x01\x00"),
      B("\x00\x10\x40\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x00"), SW_E_NO_RULE, 0 },
    { "fde_of_negative_size", B("\x01zR\0\x01\x78\x10\x01\x0b"), B("\x00\x10\x40\0\xff\xff\xff\xff\x00"), SW_E_NO_RULE,
      0 },
    { "fde_with_data_beyond_the_record", B("\x01zR\0\x01\x78\x10\x01\x00"),
      B("\x00\x10\x40\0\0\0\0\0\x00\x01\0\0\0\0\0\0\x7f"), SW_E_NO_RULE, 0 },
};

static void head_gives(void **state)
{
    const struct head_row *row = *state;
    struct section s = { .size = 0 };
    static struct sw_cfi_work work;
    struct sw_rule rule;
    size_t begin = begin_record(&s);
    put(&s, 0, 4);
    put_bytes(&s, row->head, row->head_size);
    put_bytes(&s, B(X64_START));
    while (s.size < 0x20) /* so that pc_begin is at FRAME + 0x28 */
        put(&s, 0, 1);
    end_record(&s, begin);
    begin = begin_record(&s);
    put(&s, begin, 4);
    put_bytes(&s, row->addresses, row->addresses_size);
    put_bytes(&s, "\x0e\x28", 2);
    end_record(&s, begin);
    put(&s, 0, 4);
    const struct sw_cfi cfi = cfi_over(&s, SW_MACHINE_X64);
    assert_int_equal(sw_cfi_rule(&cfi, CODE, &work, &rule, NULL), row->status);
    if (row->status != SW_OK)
        return;
    assert_int_equal(rule.cfa.off, SAID);
    assert_int_equal(rule.flags, row->flags);
}

static enum sw_status rule_of(const struct sw_cfi *cfi, uint64_t pc, struct sw_rule *rule)
{
    static struct sw_cfi_work work;
    return sw_cfi_rule(cfi, pc, &work, rule, NULL);
}

/* ---- one instruction in two forms ---- */

/* A program of random instructions, with one byte for each number, and the same with two where an instruction allows
 * it: those go other ways through the reader. */
struct two_forms {
    struct section brief, wide;
    uint64_t seed;
};

static unsigned choose(struct two_forms *p, unsigned count)
{
    p->seed = p->seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (unsigned)(p->seed >> 33) % count;
}

static void put_padded(struct section *s, unsigned number)
{
    put(s, number | 0x80, 1);
    put(s, 0, 1);
}

static void put_advance(struct two_forms *p)
{
    const unsigned by = choose(p, 5);
    put(&p->brief, 0x40 | by, 1);
    put(&p->wide, 0x02, 1);
    put(&p->wide, by, 1);
}

static void put_offset(struct two_forms *p)
{
    const unsigned number = choose(p, 34), by = choose(p, 0x80);
    put(&p->brief, 0x80 | number, 1);
    put(&p->brief, by, 1);
    put(&p->wide, 0x05, 1);
    put_padded(&p->wide, number);
    put_padded(&p->wide, by);
}

/* def_cfa, def_cfa_register, def_cfa_offset. */
static void put_cfa(struct two_forms *p)
{
    const unsigned opcode = 0x0c + choose(p, 3), number = choose(p, 17), off = choose(p, 16) * 8;
    put(&p->brief, opcode, 1);
    put(&p->wide, opcode, 1);
    for (unsigned i = 0; i < 2; i++)
        if (opcode == 0x0c || opcode == 0x0d + i) {
            put(&p->brief, i ? off : number, 1);
            put_padded(&p->wide, i ? off : number);
        }
}

/* nop; restore; remember_state, then restore_state some time. */
static void put_other(struct two_forms *p)
{
    const uint8_t opcodes[] = { 0x00, 0x0a, 0x0b, (uint8_t)(0xc0 | choose(p, 34)) };
    const uint8_t opcode = opcodes[choose(p, COUNT_OF(opcodes))];
    put(&p->brief, opcode, 1);
    put(&p->wide, opcode, 1);
}

static void put_forms(struct two_forms *p, unsigned count)
{
    static void (*const puts[])(struct two_forms * p) = { put_advance, put_advance, put_offset, put_cfa, put_other };
    p->brief.size = p->wide.size = 0;
    for (unsigned i = 0; i < count; i++)
        puts[choose(p, COUNT_OF(puts))](p);
}

static struct sw_cfi cfi_of_program(struct section *s, enum sw_machine machine, const char *start, size_t start_size,
                                    const struct section *program)
{
    const char *const head = machine == SW_MACHINE_ARM64 ? plain_arm64 : plain_x64;
    s->size = 0;
    put_fde(s, put_cie(s, head, sizeof plain_x64 - 1, start, start_size), CODE, CODE_SIZE, (const char *)program->bytes,
            program->size);
    return cfi_over(s, machine);
}

/* Registers that a rule says are as sw_rule_init left them are not looked at: it must make no difference. */
static void assert_applied_alike(const struct sw_rule *x, const struct sw_rule *y, enum sw_machine machine)
{
    static uint64_t stack[128];
    const uint64_t begin = (uint64_t)(uintptr_t)stack;
    const struct sw_memory memory = { .window = { begin, begin + sizeof stack, (const uint8_t *)stack } };
    struct sw_regs regs = { .machine = machine, .known = UINT64_C(0x1ffffefef) }, a, b;
    for (unsigned n = 0; n < SW_REGS_MAX; n++)
        regs.r[n] = begin + sizeof stack / 2;
    const enum sw_status status = sw_rule_apply(x, &regs, &memory, &a, NULL, NULL);
    assert_int_equal(sw_rule_apply(y, &regs, &memory, &b, NULL, NULL), status);
    if (status != SW_OK)
        return;
    assert_true(a.known == b.known);
    for (uint64_t rest = a.known; rest != 0; rest &= rest - 1)
        assert_true(a.r[__builtin_ctzll(rest)] == b.r[__builtin_ctzll(rest)]);
}

static unsigned compare_forms(const struct two_forms *p, enum sw_machine machine)
{
    static struct section sections[2];
    const bool is_arm64 = machine == SW_MACHINE_ARM64;
    const struct sw_cfi brief = is_arm64 ? cfi_of_program(&sections[0], machine, B("\x0c\x1f\0\0"), &p->brief)
                                         : cfi_of_program(&sections[0], machine, B(X64_START "\0\0"), &p->brief);
    const struct sw_cfi wide = is_arm64
                                   ? cfi_of_program(&sections[1], machine, B("\x0c\x9f\0\0"), &p->wide)
                                   : cfi_of_program(&sections[1], machine, B("\x0c\x87\0\x08\x05\x10\x01"), &p->wide);
    unsigned rules = 0;
    for (uint64_t pc = CODE; pc < CODE + 100; pc++) {
        struct sw_rule x, y;
        const enum sw_status status = rule_of(&brief, pc, &x);
        assert_int_equal(rule_of(&wide, pc, &y), status);
        if (status != SW_OK)
            continue;
        assert_memory_equal(&x.cfa, &y.cfa, sizeof x.cfa);
        assert_memory_equal(x.r, y.r, sizeof x.r);
        assert_int_equal(x.flags, y.flags);
        assert_true(x.initial != 0 && y.initial == 0);
        assert_applied_alike(&x, &y, machine);
        rules++;
    }
    return rules;
}

static void brief_and_wide_instructions_come_to_the_same(void **state)
{
    (void)state;
    static struct two_forms p = { .seed = 1 };
    unsigned rules = 0;
    for (unsigned i = 0; i < 4000; i++) {
        put_forms(&p, 1 + choose(&p, 30));
        rules += compare_forms(&p, i % 2 ? SW_MACHINE_ARM64 : SW_MACHINE_X64);
    }
    assert_true(rules > 100000);
}

/* ---- real frames ---- */

/* The lazy PLT: one FDE, an expression of rsp and rip. At every byte of an entry the location is plain. */
static void plt_expression_is_plain_at_every_byte(void **state)
{
    (void)state;
    struct section s = { .size = 0 };
    struct sw_rule rule;
    const size_t cie = put_cie(&s, plain_x64, sizeof plain_x64 - 1, B(X64_START));
    put_fde(&s, cie, CODE, CODE_SIZE,
            B("\x0e\x10\x46\x0e\x18\x4a\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"));
    const struct sw_cfi cfi = cfi_over(&s, SW_MACHINE_X64);
    for (unsigned at = 0; at < CODE_SIZE; at++) {
        const int off = at < 6 ? 16 : at < 16 ? 24 : at % 16 >= 11 ? 16 : 8;
        const struct sw_loc expected = CFA(RSP, off);
        assert_int_equal(rule_of(&cfi, CODE + at, &rule), SW_OK);
        assert_memory_equal(&rule.cfa, &expected, sizeof expected);
    }
}

static void expression_with_a_jump_stays(void **state)
{
    (void)state;
    struct section s = { .size = 0 };
    struct sw_rule rule;
    const size_t cie = put_cie(&s, plain_x64, sizeof plain_x64 - 1, B(X64_START));
    put_fde(&s, cie, CODE, CODE_SIZE,
            B("\x0f\x05\x77\x28\x2f\0\0\x10\x06\x05\x23\x10\x2f\0\0\x16\x03\x04\x31\x2f\0\0"));
    const struct sw_cfi cfi = cfi_over(&s, SW_MACHINE_X64);
    assert_int_equal(rule_of(&cfi, CODE, &rule), SW_OK);
    assert_int_equal(rule.cfa.kind, SW_LOC_EXPR);
    assert_int_equal(rule.cfa.size, 5);
    assert_memory_equal(rule.expr + rule.cfa.off, "\x77\x28\x2f\0\0", 5);
    assert_int_equal(rule.r[RBP].kind, SW_LOC_AT_EXPR);
    assert_memory_equal(rule.expr + rule.r[RBP].off, "\x23\x10\x2f\0\0", rule.r[RBP].size);
    assert_int_equal(rule.r[RBX].kind, SW_LOC_EXPR);
    assert_memory_equal(rule.expr + rule.r[RBX].off, "\x31\x2f\0\0", rule.r[RBX].size);
}

/* Memory in which every word is its address mixed with a constant. */
static size_t read_words(void *arg, uint64_t address, void *to, size_t size)
{
    (void)arg;
    const uint64_t value = address ^ UINT64_C(0x5a5a000000);
    memcpy(to, &value, size);
    return size;
}

static uint64_t word_at(uint64_t address)
{
    return address ^ UINT64_C(0x5a5a000000);
}

static struct sw_regs garbage(enum sw_machine machine)
{
    struct sw_regs regs = { .machine = machine };
    for (unsigned n = 0; n < sw_regs_count(machine); n++)
        sw_regs_set(&regs, n, 0x7bad00000 + 0x1000 * n);
    return regs;
}

/* gcc's frame of a realigned stack: the CFA is kept in a word below rbp. */
static void realigned_frame_is_applied(void **state)
{
    (void)state;
    struct section s = { .size = 0 };
    struct sw_rule rule;
    struct sw_regs caller;
    uint64_t cfa;
    const struct sw_memory memory = { .read = read_words };
    const struct sw_regs regs = garbage(SW_MACHINE_X64);
    const size_t cie = put_cie(&s, plain_x64, sizeof plain_x64 - 1, B(X64_START));
    put_fde(&s, cie, CODE, CODE_SIZE,
            B("\x45\x0c\x0a\x00\x49\x10\x06\x02\x76\x00\x45\x0f\x03\x76\x70\x06\x10\x0c\x02\x76\x78\x60\x0c\x0a\x00\x44"
              "\x0c\x07\x08"));
    const struct sw_cfi cfi = cfi_over(&s, SW_MACHINE_X64);
    assert_int_equal(rule_of(&cfi, CODE + 5 + 9, &rule), SW_OK);
    assert_int_equal(sw_rule_apply(&rule, &regs, &memory, &caller, &cfa, NULL), SW_OK);
    assert_int_equal(cfa, regs.r[SW_X64_R10]);
    assert_int_equal(caller.r[RBP], word_at(regs.r[RBP]));
    assert_int_equal(rule_of(&cfi, CODE + 5 + 9 + 5, &rule), SW_OK);
    assert_int_equal(rule.cfa.kind, SW_LOC_AT_REG);
    assert_int_equal(sw_rule_apply(&rule, &regs, &memory, &caller, &cfa, NULL), SW_OK);
    assert_int_equal(cfa, word_at(regs.r[RBP] - 16));
    assert_int_equal(sw_regs_sp(&caller), cfa);
    assert_int_equal(sw_regs_pc(&caller), word_at(cfa - 8));
    assert_int_equal(caller.r[SW_X64_R12], word_at(regs.r[RBP] - 8));
    assert_int_equal(caller.r[RBX], regs.r[RBX]);
    assert_false(sw_regs_has(&caller, SW_X64_R10));
}

/* glibc's __restore_rt: every register an expression of rsp, offsets of ucontext (contexts.md section 3). */
static const struct saved {
    uint8_t dwarf;
    uint8_t number;
    uint8_t offset;
} saved[] = {
    { 8, 8, 40 },
    { 9, 9, 48 },
    { 10, 10, 56 },
    { 11, 11, 64 },
    { 12, 12, 72 },
    { 13, 13, 80 },
    { 14, 14, 88 },
    { 15, 15, 96 },
    { 5, SW_X64_RDI, 104 },
    { 4, SW_X64_RSI, 112 },
    { 6, SW_X64_RBP, 120 },
    { 3, SW_X64_RBX, 128 },
    { 1, SW_X64_RDX, 136 },
    { 0, SW_X64_RAX, 144 },
    { 2, SW_X64_RCX, 152 },
    { 7, SW_X64_RSP, 160 },
    { 16, SW_X64_RIP, 168 },
};

static void put_restore_rt(struct section *s)
{
    struct section program = { .size = 0 };
    put_bytes(&program, B("\x0f\x04\x77\xa0\x01\x06"));
    for (size_t i = 0; i < COUNT_OF(saved); i++) {
        const size_t size = saved[i].offset < 64 ? 2 : 3;
        put_bytes(&program, "\x10", 1);
        put(&program, saved[i].dwarf, 1);
        put(&program, size, 1);
        put(&program, 0x77, 1);
        put(&program, saved[i].offset < 64 ? saved[i].offset : (saved[i].offset & 0x7fu) | 0x80u, 1);
        if (size == 3)
            put(&program, saved[i].offset >> 7, 1);
    }
    const char head[] = "\x01zRS\0\x01\x78\x10\x01\x00";
    const size_t cie = put_cie(s, head, sizeof head - 1, "", 0);
    put_fde(s, cie, CODE - 1, 10, (const char *)program.bytes, program.size);
}

static void signal_frame_restores_every_register(void **state)
{
    (void)state;
    struct section s = { .size = 0 };
    struct sw_rule rule;
    struct sw_regs caller;
    uint64_t cfa;
    const struct sw_memory memory = { .read = read_words };
    const struct sw_regs regs = garbage(SW_MACHINE_X64);
    put_restore_rt(&s);
    const struct sw_cfi cfi = cfi_over(&s, SW_MACHINE_X64);
    assert_int_equal(rule_of(&cfi, CODE, &rule), SW_OK);
    assert_int_equal(rule.flags, SW_RULE_SIGNAL);
    assert_int_equal(sw_rule_apply(&rule, &regs, &memory, &caller, &cfa, NULL), SW_OK);
    assert_int_equal(cfa, word_at(regs.r[RSP] + 160));
    for (size_t i = 0; i < COUNT_OF(saved); i++) {
        const struct sw_loc expected = { SW_LOC_AT_REG, RSP, 0, saved[i].offset };
        assert_memory_equal(&rule.r[saved[i].number], &expected, sizeof expected);
        assert_int_equal(caller.r[saved[i].number], word_at(regs.r[RSP] + saved[i].offset));
    }
}

/* Each cut in memory of its own, so that a read behind it is seen. */
static void cut_off_anywhere_is_never_a_rule(void **state)
{
    (void)state;
    struct section s = { .size = 0 };
    struct sw_rule rule;
    put_restore_rt(&s);
    for (size_t size = 0; size < s.size; size++) {
        uint8_t *copy = test_malloc(size + 1);
        memcpy(copy, s.bytes, size);
        const struct sw_cfi cfi = { .machine = SW_MACHINE_X64, .frame = { copy, size, FRAME } };
        const enum sw_status status = rule_of(&cfi, CODE, &rule);
        assert_true(status == SW_E_TRUNCATED || status == SW_E_NO_RULE);
        test_free(copy);
    }
    const struct sw_cfi whole = cfi_over(&s, SW_MACHINE_X64);
    assert_int_equal(rule_of(&whole, CODE, &rule), SW_OK);
}

/* A record made shorter by its length: what follows is read as the next record, the FDE is not read beyond its end. */
static void fde_shortened_anywhere_is_truncated_or_plain(void **state)
{
    (void)state;
    struct section s = { .size = 0 };
    struct sw_rule rule;
    put_restore_rt(&s);
    const size_t fde = 4 + sw_load32(s.bytes);
    const uint32_t length = sw_load32(s.bytes + fde);
    for (uint32_t shorter = 4 + 8 + 8 + 1; shorter < length; shorter++) {
        patch(&s, fde, shorter, 4);
        const struct sw_cfi cfi = cfi_over(&s, SW_MACHINE_X64);
        const enum sw_status status = rule_of(&cfi, CODE, &rule);
        assert_true(status == SW_E_TRUNCATED || status == SW_E_MALFORMED);
    }
}

/* ---- searches ---- */

enum { FUNCTIONS = 5 };

/* Functions of 0x20 bytes every 0x40 from CODE, in an order of their own; function n says def_cfa_offset 16 + 8n. */
static void put_functions(struct section *s, size_t fdes[FUNCTIONS])
{
    static const unsigned order[FUNCTIONS] = { 3, 0, 4, 2, 1 };
    const size_t cie = put_cie(s, plain_x64, sizeof plain_x64 - 1, B(X64_START));
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        const char program[] = { 0x0e, (char)(16 + 8 * order[i]) };
        fdes[order[i]] = put_fde(s, cie, CODE + 0x40 * order[i], 0x20, program, 2);
    }
    put_fde(s, cie, 0, 0x1000000, B("\x0e\x70")); /* a discarded one, that would cover all */
    put(s, 0, 4);
    put(s, 0x12345678, 4); /* behind the terminator nothing counts */
}

static void put_header(struct section *s, const size_t fdes[FUNCTIONS])
{
    put_bytes(s, B("\x01\x1b\x03\x3b"));
    put(s, FRAME - (HEADER + 4), 4);
    put(s, FUNCTIONS, 4);
    for (unsigned n = 0; n < FUNCTIONS; n++) {
        put(s, (uint64_t)(CODE + 0x40 * (int64_t)n - HEADER), 4);
        put(s, FRAME + fdes[n] - HEADER, 4);
    }
}

static void check_bodies(const struct sw_cfi *cfi)
{
    struct sw_rule rule;
    for (unsigned n = 0; n < FUNCTIONS; n++) {
        const uint64_t begin = CODE + 0x40 * n;
        assert_int_equal(rule_of(cfi, begin, &rule), SW_OK);
        assert_int_equal(rule.cfa.off, 16 + 8 * n);
        assert_int_equal(rule_of(cfi, begin + 0x1f, &rule), SW_OK);
        assert_int_equal(rule.cfa.off, 16 + 8 * n);
        assert_int_not_equal(rule_of(cfi, begin + 0x20, &rule), SW_OK);
    }
}

static void check_functions(const struct sw_cfi *cfi)
{
    struct sw_rule rule;
    check_bodies(cfi);
    assert_int_equal(rule_of(cfi, CODE - 1, &rule), SW_E_NO_RULE);
    assert_int_equal(rule_of(cfi, 0, &rule), SW_E_NO_RULE);
    assert_int_equal(rule_of(cfi, UINT64_MAX, &rule), SW_E_NO_RULE);
    for (unsigned n = 0; n < FUNCTIONS; n++)
        assert_int_equal(rule_of(cfi, CODE + 0x40 * n + 0x20, &rule), SW_E_NO_RULE);
}

struct world {
    struct section frame;
    struct section header;
    struct sw_cfi cfi;
};

static struct world *make_world(struct world *w)
{
    size_t fdes[FUNCTIONS];
    memset(w, 0, sizeof *w);
    put_functions(&w->frame, fdes);
    put_header(&w->header, fdes);
    w->cfi = cfi_over(&w->frame, SW_MACHINE_X64);
    w->cfi.header = (struct sw_bytes){ w->header.bytes, w->header.size, HEADER };
    return w;
}

static void header_finds_functions_and_knows_gaps(void **state)
{
    (void)state;
    struct world w;
    check_functions(&make_world(&w)->cfi);
}

/* Gives a table its pieces. False: there are too many, or none. */
static bool give_pieces(struct sw_cfi *cfi, uint32_t *pieces, size_t capacity)
{
    cfi->piece_count = sw_cfi_pieces(cfi, pieces, capacity, &cfi->piece_shift);
    cfi->pieces = pieces;
    return cfi->piece_count > 0 && cfi->piece_count < capacity;
}

static void search_in_pieces_finds_functions_and_knows_gaps(void **state)
{
    (void)state;
    struct world w;
    unsigned shift;
    uint32_t pieces[FUNCTIONS + 2];
    make_world(&w);
    const size_t count = sw_cfi_pieces(&w.cfi, NULL, 0, &shift);
    assert_true(count > 1 && count <= FUNCTIONS / 2 + 1);
    assert_true(give_pieces(&w.cfi, pieces, count + 1));
    assert_int_equal(pieces[0], 0);
    assert_int_equal(pieces[count], FUNCTIONS);
    check_functions(&w.cfi);
}

/* Those of another table cost a function at most. */
static void pieces_of_another_table_lead_nowhere_else(void **state)
{
    (void)state;
    static const uint32_t lies[] = { 0, 1, FUNCTIONS / 2, FUNCTIONS, FUNCTIONS + 1, UINT32_MAX };
    struct world w;
    struct sw_rule rule;
    for (unsigned a = 0; a < COUNT_OF(lies); a++)
        for (unsigned b = 0; b < COUNT_OF(lies); b++) {
            const uint32_t pieces[] = { lies[a], lies[b] };
            make_world(&w)->cfi.pieces = pieces;
            w.cfi.piece_count = 1;
            w.cfi.piece_shift = 63;
            for (uint64_t pc = CODE - 1; pc < CODE + 0x40 * FUNCTIONS; pc++) {
                const enum sw_status status = rule_of(&w.cfi, pc, &rule);
                assert_true(status == SW_OK || status == SW_E_NO_RULE);
            }
        }
}

static void reading_finds_functions_and_knows_gaps(void **state)
{
    (void)state;
    struct world w;
    make_world(&w)->cfi.header.size = 0;
    check_functions(&w.cfi);
}

/* Other linkers' choices: absolute and wider entries. */
static void header_of_any_fixed_encoding_is_searched(void **state)
{
    (void)state;
    static const struct {
        uint8_t encoding;
        unsigned size;
        uint64_t base;
    } tables[] = { { 0x03, 4, 0 }, { 0x04, 8, 0 }, { 0x0c, 8, 0 }, { 0x3c, 8, HEADER }, { 0x3b, 4, HEADER } };
    for (unsigned i = 0; i < COUNT_OF(tables); i++) {
        struct world w;
        size_t fdes[FUNCTIONS];
        make_world(&w);
        w.frame.size = 0;
        put(&w.frame, 0, 4); /* ends a search that reads the records */
        put_functions(&w.frame, fdes);
        w.cfi.frame.size = w.frame.size;
        w.header.size = 12;
        w.header.bytes[3] = tables[i].encoding;
        for (unsigned n = 0; n < FUNCTIONS; n++) {
            put(&w.header, CODE + 0x40 * n - tables[i].base, tables[i].size);
            put(&w.header, FRAME + fdes[n] - tables[i].base, tables[i].size);
        }
        w.cfi.header.size = w.header.size;
        check_functions(&w.cfi);
    }
}

static void header_without_table_leads_to_reading(void **state)
{
    (void)state;
    struct world w;
    make_world(&w);
    w.header.bytes[2] = 0xff; /* no count */
    check_functions(&w.cfi);
    make_world(&w);
    w.header.bytes[3] = 0x31; /* entries of no fixed size */
    check_functions(&w.cfi);
    make_world(&w);
    w.header.bytes[0] = 2; /* another version */
    check_functions(&w.cfi);
}

static void index_is_sorted_and_finds_functions(void **state)
{
    (void)state;
    struct world w;
    struct sw_cfi_entry entries[FUNCTIONS + 1];
    make_world(&w)->cfi.header.size = 0;
    assert_int_equal(sw_cfi_index(&w.cfi, NULL, 0), FUNCTIONS);
    memset(entries, 0xa5, sizeof entries);
    assert_int_equal(sw_cfi_index(&w.cfi, entries, COUNT_OF(entries)), FUNCTIONS);
    for (unsigned n = 0; n < FUNCTIONS; n++) {
        assert_int_equal(entries[n].begin, CODE + 0x40 * n);
        assert_int_equal(entries[n].end, CODE + 0x40 * n + 0x20);
    }
    assert_int_equal(entries[FUNCTIONS].begin, UINT64_C(0xa5a5a5a5a5a5a5a5));
    w.cfi.index = entries;
    w.cfi.index_count = FUNCTIONS;
    check_functions(&w.cfi);
}

/* Functions of 0x20 bytes every 0x40. */
static void check_gaps(const struct sw_cfi *cfi)
{
    assert_int_equal(sw_cfi_widest_gap(cfi, CODE, CODE + 0x120), 0x20);
    assert_int_equal(sw_cfi_widest_gap(cfi, CODE, CODE + 0x20), 0);
    assert_int_equal(sw_cfi_widest_gap(cfi, CODE - 0x30, CODE + 0x120), 0x30);
    assert_int_equal(sw_cfi_widest_gap(cfi, CODE, CODE + 0x200), 0x200 - 0x120);
    assert_int_equal(sw_cfi_widest_gap(cfi, CODE + 0x28, CODE + 0x30), 8);
    assert_int_equal(sw_cfi_widest_gap(cfi, CODE + 0x1000, CODE + 0x1100), 0x100);
}

static void widest_gap_is_that_of_the_records(void **state)
{
    (void)state;
    struct world w;
    struct sw_cfi_entry entries[FUNCTIONS];
    check_gaps(&make_world(&w)->cfi);
    w.cfi.header.size = 0;
    assert_int_equal(sw_cfi_widest_gap(&w.cfi, CODE, CODE + 0x120), 0x120); /* no order to go by */
    assert_int_equal(sw_cfi_index(&w.cfi, entries, FUNCTIONS), FUNCTIONS);
    w.cfi.index = entries;
    w.cfi.index_count = FUNCTIONS;
    check_gaps(&w.cfi);
}

static void index_of_little_room_is_filled_and_counts_all(void **state)
{
    (void)state;
    struct world w;
    struct sw_cfi_entry entries[3];
    make_world(&w);
    assert_int_equal(sw_cfi_index(&w.cfi, entries, 2), FUNCTIONS);
    assert_int_equal(entries[0].begin, CODE);
    assert_int_equal(entries[1].begin, CODE + 0x40 * 3);
}

static void index_of_hostile_order_is_sorted(void **state)
{
    (void)state;
    static struct section s;
    struct sw_cfi_entry entries[64];
    s.size = 0;
    const size_t cie = put_cie(&s, plain_x64, sizeof plain_x64 - 1, B(X64_START));
    for (unsigned i = 0; i < 64; i++)
        put_fde(&s, cie, CODE + (i * 37 % 64) / 2, 1 + i % 5, "", 0);
    const struct sw_cfi cfi = cfi_over(&s, SW_MACHINE_X64);
    assert_int_equal(sw_cfi_index(&cfi, entries, 64), 64);
    for (unsigned i = 1; i < 64; i++)
        assert_true(entries[i - 1].begin < entries[i].begin ||
                    (entries[i - 1].begin == entries[i].begin && entries[i - 1].end <= entries[i].end));
}

static void header_cut_off_anywhere_leads_to_the_records(void **state)
{
    (void)state;
    struct world w;
    make_world(&w);
    for (size_t size = 1; size < w.header.size; size++) {
        uint8_t *copy = test_malloc(size);
        memcpy(copy, w.header.bytes, size);
        w.cfi.header = (struct sw_bytes){ copy, size, HEADER };
        assert_false(sw_cfi_header_is_sound(&w.cfi));
        check_functions(&w.cfi);
        test_free(copy);
    }
}

/* What a header says that is not so: where, and whether all of its table has to be read to see it. */
static const struct header_lie {
    const char *name;
    size_t at;
    uint64_t value;
    bool is_sound; /* as far as the table alone can tell */
} header_lies[] = {
    { "header_entry_leads_to_a_cie", 16, FRAME - HEADER, true },
    { "header_entry_leads_before_the_section", 16, FRAME - HEADER - 8, false },
    { "header_entry_leads_behind_the_section", 16, FRAME - HEADER + 0x10000, false },
    { "header_entry_leads_into_a_record", 16, FRAME - HEADER + 9, true },
    { "header_entry_of_another_function", 20, (uint32_t)(CODE + 0x3c - HEADER), true },
    { "header_count_beyond_its_end", 8, FUNCTIONS + 1, false },
    { "header_count_beyond_everything", 8, 0x40000000, false },
    { "header_count_of_nothing", 8, 0, false },
    { "header_starts_that_descend", 12, (uint32_t)(CODE + 0x80 - HEADER), false },
};

static void header_lie_is_no_obstacle(void **state)
{
    const struct header_lie *lie = *state;
    struct world w;
    struct sw_cfi_entry entries[FUNCTIONS];
    make_world(&w);
    assert_true(sw_cfi_header_is_sound(&w.cfi));
    patch(&w.header, lie->at, lie->value, 4);
    assert_int_equal(sw_cfi_header_is_sound(&w.cfi), lie->is_sound);
    if (!lie->is_sound) /* what the set of images does */
        w.cfi.header.size = 0;
    check_bodies(&w.cfi);
    assert_int_equal(sw_cfi_index(&w.cfi, entries, FUNCTIONS), FUNCTIONS);
    w.cfi.index = entries;
    w.cfi.index_count = FUNCTIONS;
    check_bodies(&w.cfi);
}

/* Where a header leads to a bad FDE and the records know no better, it is said what was wrong. */
static void bad_fde_of_a_header_is_named(void **state)
{
    (void)state;
    struct world w;
    struct sw_rule rule;
    size_t fdes[FUNCTIONS];
    make_world(&w);
    w.frame.size = 0;
    put_functions(&w.frame, fdes);
    patch(&w.frame, fdes[0] + 4, 4, 4); /* its CIE is itself */
    assert_int_equal(rule_of(&w.cfi, CODE, &rule), SW_E_MALFORMED);
    assert_int_equal(rule_of(&w.cfi, CODE + 0x40, &rule), SW_OK);
}

/* An FDE around two others, one of which begins with it; then one that reaches into the next. */
enum { OVERLAPPING = 5 };
static const struct overlapping {
    uint32_t begin;
    uint32_t size;
} overlapping[OVERLAPPING] = { { 0x00, 0x80 }, { 0x20, 0x10 }, { 0x00, 0x10 }, { 0xc0, 0x20 }, { 0xd0, 0x30 } };

static const struct overlap_row {
    unsigned pc;
    int fde; /* in overlapping, or none: -1 */
} overlap_rows[] = {
    { 0x00, 0 },  { 0x10, 0 },  { 0x1f, 0 }, { 0x20, 1 }, { 0x2f, 1 }, { 0x30, 0 },   { 0x7f, 0 },
    { 0x80, -1 }, { 0xbf, -1 }, { 0xc0, 3 }, { 0xd0, 4 }, { 0xff, 4 }, { 0x100, -1 },
};

static void check_overlaps(const struct sw_cfi *cfi)
{
    struct sw_rule rule;
    for (unsigned i = 0; i < COUNT_OF(overlap_rows); i++) {
        const int fde = overlap_rows[i].fde;
        assert_int_equal(rule_of(cfi, CODE + overlap_rows[i].pc, &rule), fde < 0 ? SW_E_NO_RULE : SW_OK);
        if (fde >= 0)
            assert_int_equal(rule.cfa.off, 16 + 8 * fde);
    }
}

static void overlapping_fdes_are_found_by_index_and_by_header(void **state)
{
    (void)state;
    static const unsigned ascending[OVERLAPPING] = { 2, 0, 1, 3, 4 };
    struct section s = { .size = 0 };
    struct section header = { .size = 0 };
    struct sw_cfi_entry entries[OVERLAPPING];
    size_t fdes[OVERLAPPING];
    const size_t cie = put_cie(&s, plain_x64, sizeof plain_x64 - 1, B(X64_START));
    for (unsigned i = 0; i < OVERLAPPING; i++) {
        const char program[] = { 0x0e, (char)(16 + 8 * i) };
        fdes[i] = put_fde(&s, cie, CODE + overlapping[i].begin, overlapping[i].size, program, 2);
    }
    put_bytes(&header, B("\x01\x1b\x03\x3b"));
    put(&header, FRAME - (HEADER + 4), 4);
    put(&header, OVERLAPPING, 4);
    for (unsigned i = 0; i < OVERLAPPING; i++) {
        put(&header, CODE + overlapping[ascending[i]].begin - HEADER, 4);
        put(&header, FRAME + fdes[ascending[i]] - HEADER, 4);
    }
    struct sw_cfi cfi = cfi_over(&s, SW_MACHINE_X64);
    cfi.header = (struct sw_bytes){ header.bytes, header.size, HEADER };
    assert_true(sw_cfi_header_is_sound(&cfi));
    check_overlaps(&cfi);
    uint32_t pieces[OVERLAPPING + 2];
    assert_true(give_pieces(&cfi, pieces, COUNT_OF(pieces)));
    check_overlaps(&cfi);
    cfi.header.size = 0;
    assert_int_equal(sw_cfi_index(&cfi, entries, OVERLAPPING), OVERLAPPING);
    cfi.index = entries;
    cfi.index_count = OVERLAPPING;
    check_overlaps(&cfi);
}

/* Two tables of one code: the first is asked first, the second for what the first cannot tell. */
static void table_beside_tells_what_the_first_does_not(void **state)
{
    (void)state;
    struct section first = { .size = 0 };
    struct section second = { .size = 0 };
    struct sw_rule rule;
    size_t cie = put_cie(&first, plain_x64, sizeof plain_x64 - 1, B(X64_START));
    put_fde(&first, cie, CODE, 0x10, B("\x0e\x18"));
    put_fde(&first, cie, CODE + 0x30, 0x10, B("\x3c")); /* an unknown instruction */
    put_debug_record(&second, false, UINT32_MAX, B("\x01\0\x01\x78\x10" X64_START));
    put_debug_record(&second, false, 0, B("\x00\x10\x40\0\0\0\0\0\x20\0\0\0\0\0\0\0\x0e\x20"));
    put_debug_record(&second, false, 0, B("\x30\x10\x40\0\0\0\0\0\x08\0\0\0\0\0\0\0\x0f\x02\x96\x96"));
    struct sw_cfi beside = cfi_over(&second, SW_MACHINE_X64);
    struct sw_cfi cfi = cfi_over(&first, SW_MACHINE_X64);
    beside.is_debug_frame = true;
    cfi.beside = &beside;
    beside.beside = &cfi; /* must not go in a circle */
    assert_int_equal(rule_of(&cfi, CODE + 0xf, &rule), SW_OK);
    assert_int_equal(rule.cfa.off, 0x18);
    assert_int_equal(rule_of(&cfi, CODE + 0x10, &rule), SW_OK);
    assert_int_equal(rule.cfa.off, 0x20);
    assert_int_equal(rule_of(&cfi, CODE + 0x20, &rule), SW_E_NO_RULE);
    assert_int_equal(rule_of(&cfi, CODE + 0x30, &rule), SW_OK);
    assert_ptr_equal(rule.expr, second.bytes);
    assert_memory_equal(rule.expr + rule.cfa.off, "\x96\x96", 2);
    assert_int_equal(rule_of(&cfi, CODE + 0x38, &rule), SW_E_UNSUPPORTED);
}

static void header_leads_to_its_frame(void **state)
{
    (void)state;
    struct world w;
    struct sw_bytes frame;
    make_world(&w);
    const struct sw_bytes around = { w.frame.bytes, w.frame.size, FRAME };
    assert_int_equal(sw_cfi_frame_of_header(w.cfi.header, around, &frame), SW_OK);
    assert_int_equal(frame.address, FRAME);
    assert_int_equal(frame.size, w.frame.size);
    const struct sw_bytes later = { w.frame.bytes + 16, w.frame.size - 16, FRAME + 16 };
    assert_int_equal(sw_cfi_frame_of_header(w.cfi.header, later, &frame), SW_E_NOT_FOUND);
    const struct sw_bytes cut = { w.header.bytes, 6, HEADER };
    assert_int_equal(sw_cfi_frame_of_header(cut, around, &frame), SW_E_MALFORMED);
    w.header.bytes[0] = 9;
    assert_int_equal(sw_cfi_frame_of_header(w.cfi.header, around, &frame), SW_E_UNSUPPORTED);
}

static void bias_moves_absolute_addresses_only(void **state)
{
    (void)state;
    struct world w;
    struct sw_rule rule;
    make_world(&w)->cfi.header.size = 0;
    w.cfi.bias = 0x10000000;
    assert_int_equal(rule_of(&w.cfi, CODE, &rule), SW_E_NO_RULE);
    assert_int_equal(rule_of(&w.cfi, CODE + 0x10000000, &rule), SW_OK);
}

/* ---- .debug_frame ---- */

static const struct debug_row {
    const char *name;
    const char *head; /* from the version on */
    size_t head_size;
    bool is_wide;
    enum sw_status status;
} debug_rows[] = {
    { "debug_frame_version_1", B("\x01\0\x01\x78\x10" X64_START), false, SW_OK },
    { "debug_frame_version_3", B("\x03\0\x01\x78\x10" X64_START), false, SW_OK },
    { "debug_frame_version_4", B("\x04\0\x08\0\x01\x78\x10" X64_START), false, SW_OK },
    { "debug_frame_of_armcc",
      B("\x03"
        "armcc+\0\x01\x78\x10" X64_START),
      false, SW_OK },
    { "debug_frame_of_64_bits", B("\x04\0\x08\0\x01\x78\x10" X64_START), true, SW_OK },
    { "debug_frame_with_pointers_of_4", B("\x04\0\x04\0\x01\x78\x10" X64_START), false, SW_E_NO_RULE },
    { "debug_frame_with_segments", B("\x04\0\x08\x02\x01\x78\x10" X64_START), false, SW_E_NO_RULE },
    { "debug_frame_version_5", B("\x05\0\x08\0\x01\x78\x10" X64_START), false, SW_E_NO_RULE },
};

static void debug_frame_gives(void **state)
{
    const struct debug_row *row = *state;
    struct section s = { .size = 0 };
    struct sw_rule rule;
    put(&s, 0, 4); /* padding is passed over */
    put_debug_record(&s, row->is_wide, UINT64_MAX, row->head, row->head_size);
    put_debug_record(&s, row->is_wide, 4, B("\x00\x10\x40\0\0\0\0\0\x00\x01\0\0\0\0\0\0\x44\x0e\x28"));
    struct sw_cfi cfi = cfi_over(&s, SW_MACHINE_X64);
    cfi.is_debug_frame = true;
    cfi.bias = 0x20000000;
    assert_int_equal(rule_of(&cfi, CODE + cfi.bias + 4, &rule), row->status);
    if (row->status != SW_OK)
        return;
    assert_int_equal(rule.cfa.off, SAID);
    assert_int_equal(rule_of(&cfi, CODE + cfi.bias + 3, &rule), SW_OK);
    assert_int_equal(rule.cfa.off, 8);
}

/* .eh_frame with 64-bit lengths: ids of 4 bytes (LSB), or of 8. */
static void put_wide(struct section *s, size_t id_size, uint64_t id, const char *body, size_t size)
{
    put(s, UINT32_MAX, 4);
    put(s, id_size + size, 8);
    put(s, id, id_size);
    put_bytes(s, body, size);
}

static void wide_records_in_eh_frame_are_read(void **state)
{
    (void)state;
    for (unsigned id_size = 4; id_size <= 8; id_size += 4) {
        struct section s = { .size = 0 };
        struct sw_rule rule;
        put_wide(&s, id_size, 0, B("\x01zR\0\x01\x78\x10\x01\x00" X64_START));
        const size_t fde = s.size;
        put_wide(&s, id_size, fde + 12, B("\x00\x10\x40\0\0\0\0\0\x00\x01\0\0\0\0\0\0\x00\x44\x0e\x28"));
        put(&s, 0, 4);
        const struct sw_cfi cfi = cfi_over(&s, SW_MACHINE_X64);
        assert_int_equal(rule_of(&cfi, CODE + 3, &rule), SW_OK);
        assert_int_equal(rule.cfa.off, 8);
        assert_int_equal(rule_of(&cfi, CODE + 4, &rule), SW_OK);
        assert_int_equal(rule.cfa.off, SAID);
    }
}

/* A record of one width with a CIE of the other does not say how long its id is; the others go on. */
static void records_of_two_widths_are_not_mixed(void **state)
{
    (void)state;
    struct section s = { .size = 0 };
    struct sw_rule rule;
    const size_t cie = put_cie(&s, plain_x64, sizeof plain_x64 - 1, B(X64_START));
    const size_t fde = s.size;
    put_wide(&s, 4, fde + 12 - cie, B("\x00\x20\x40\0\0\0\0\0\x00\x01\0\0\0\0\0\0\x00"));
    put_fde(&s, cie, CODE, CODE_SIZE, "", 0);
    const struct sw_cfi cfi = cfi_over(&s, SW_MACHINE_X64);
    assert_int_equal(rule_of(&cfi, 0x402000, &rule), SW_E_NO_RULE);
    assert_int_equal(rule_of(&cfi, CODE, &rule), SW_OK);
}

/* dwarf-cfi.md section 2, and nothing else: 64 opcodes of the low table, on both machines. */
static void opcodes_outside_of_the_list_are_unsupported(void **state)
{
    (void)state;
    static const uint8_t listed[] = { 0x1d, 0x2e, 0x2f };
    for (unsigned opcode = 0x17; opcode < 0x40; opcode++)
        for (unsigned machine = SW_MACHINE_X64; machine <= SW_MACHINE_ARM64; machine++) {
            struct section s = { .size = 0 };
            struct sw_rule rule;
            const char program[] = { (char)opcode, 0, 0, 0, 0, 0, 0, 0, 0 };
            const bool is_arm64 = machine == SW_MACHINE_ARM64;
            const bool is_known = memchr(listed, (int)opcode, sizeof listed) || (is_arm64 && opcode - 0x2b < 3);
            const size_t cie = put_cie(&s, is_arm64 ? plain_arm64 : plain_x64, sizeof plain_x64 - 1,
                                       is_arm64 ? "\x0c\x1f\0\0\0" : X64_START, 5);
            put_fde(&s, cie, CODE, CODE_SIZE, program, sizeof program);
            const struct sw_cfi cfi = cfi_over(&s, (enum sw_machine)machine);
            assert_int_equal(rule_of(&cfi, CODE, &rule), is_known ? SW_OK : SW_E_UNSUPPORTED);
        }
}

static void fde_without_cie_is_malformed(void **state)
{
    (void)state;
    static const uint32_t ids[] = { 4, 0xffffff00, 3 };
    for (unsigned i = 0; i < COUNT_OF(ids); i++) {
        struct section s = { .size = 0 };
        struct sw_rule rule;
        const size_t fde = put_fde(&s, 0, CODE, CODE_SIZE, "", 0);
        patch(&s, fde + 4, ids[i], 4); /* itself; before the section; into a record */
        const struct sw_cfi cfi = cfi_over(&s, SW_MACHINE_X64);
        assert_int_not_equal(rule_of(&cfi, CODE, &rule), SW_OK);
    }
}

/* 50,000 FDEs: reading them takes one look each, whatever they hold. */
static void many_records_are_read_in_one_pass(void **state)
{
    (void)state;
    enum { MANY = 50000, EACH = 24, HEAD = 64 };
    uint8_t *bytes = test_calloc(MANY, EACH);
    struct section s = { .size = 0 };
    struct sw_rule rule;
    size_t size = 0;
    for (unsigned i = 0; i < MANY - 4; i++, s.size = 0) {
        if (i == 0)
            put_cie(&s, plain_x64, sizeof plain_x64 - 1, B(X64_START));
        else
            put_fde(&s, 0, CODE + 16 * i, 16, "", 0);
        if (i > 0)
            patch(&s, 4, size + 4, 4);
        if (size + s.size > (size_t)MANY * EACH)
            break;
        memcpy(bytes + size, s.bytes, s.size);
        size += s.size;
    }
    const struct sw_cfi cfi = { .machine = SW_MACHINE_X64, .frame = { bytes, size, FRAME } };
    assert_int_equal(rule_of(&cfi, CODE + 16 * 40000, &rule), SW_OK);
    assert_int_equal(rule_of(&cfi, CODE, &rule), SW_E_NO_RULE);
    assert_true(sw_cfi_index(&cfi, NULL, 0) > 40000);
    test_free(bytes);
}

static const struct CMUnitTest single[] = {
    cmocka_unit_test(brief_and_wide_instructions_come_to_the_same),
    cmocka_unit_test(plt_expression_is_plain_at_every_byte),
    cmocka_unit_test(expression_with_a_jump_stays),
    cmocka_unit_test(realigned_frame_is_applied),
    cmocka_unit_test(signal_frame_restores_every_register),
    cmocka_unit_test(cut_off_anywhere_is_never_a_rule),
    cmocka_unit_test(fde_shortened_anywhere_is_truncated_or_plain),
    cmocka_unit_test(header_finds_functions_and_knows_gaps),
    cmocka_unit_test(search_in_pieces_finds_functions_and_knows_gaps),
    cmocka_unit_test(pieces_of_another_table_lead_nowhere_else),
    cmocka_unit_test(reading_finds_functions_and_knows_gaps),
    cmocka_unit_test(header_of_any_fixed_encoding_is_searched),
    cmocka_unit_test(header_without_table_leads_to_reading),
    cmocka_unit_test(index_is_sorted_and_finds_functions),
    cmocka_unit_test(widest_gap_is_that_of_the_records),
    cmocka_unit_test(index_of_little_room_is_filled_and_counts_all),
    cmocka_unit_test(index_of_hostile_order_is_sorted),
    cmocka_unit_test(header_cut_off_anywhere_leads_to_the_records),
    cmocka_unit_test(bad_fde_of_a_header_is_named),
    cmocka_unit_test(overlapping_fdes_are_found_by_index_and_by_header),
    cmocka_unit_test(table_beside_tells_what_the_first_does_not),
    cmocka_unit_test(header_leads_to_its_frame),
    cmocka_unit_test(bias_moves_absolute_addresses_only),
    cmocka_unit_test(wide_records_in_eh_frame_are_read),
    cmocka_unit_test(records_of_two_widths_are_not_mixed),
    cmocka_unit_test(opcodes_outside_of_the_list_are_unsupported),
    cmocka_unit_test(fde_without_cie_is_malformed),
    cmocka_unit_test(many_records_are_read_in_one_pass),
};

int main(void)
{
    enum {
        HEADS = COUNT_OF(rows),
        DEBUGS = HEADS + COUNT_OF(head_rows),
        LIES = DEBUGS + COUNT_OF(debug_rows),
        SINGLES = LIES + COUNT_OF(header_lies)
    };
    static struct CMUnitTest tests[SINGLES + COUNT_OF(single)];
    FILL_ROWS(tests, rows, instructions_give);
    FILL_ROWS(tests + HEADS, head_rows, head_gives);
    FILL_ROWS(tests + DEBUGS, debug_rows, debug_frame_gives);
    FILL_ROWS(tests + LIES, header_lies, header_lie_is_no_obstacle);
    memcpy(tests + SINGLES, single, sizeof single);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * ARM64 as a value: its facts in one table. decode.c reads its instructions, code_patterns.c knows what its code looks
 * like. A64 is the name of the instruction set, and the name in everything that this folder defines.
 */
#include "arch/a64/decode.h"
#include "arch/arch.h"

#define BIT(n)  (UINT64_C(1) << (n))
#define FROM(n) (~UINT64_C(0) << (n))

static const char *const names[SW_ARM64_COUNT] = { "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",
                                                   "x9",  "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17",
                                                   "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26",
                                                   "x27", "x28", "x29", "lr",  "sp",  "pc" };

/* Source: contexts.md section 4 (the vdso). */
static const struct sw_trampoline trampolines[] = {
    { 8, { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 }, 4, 128 }, /* mov x8, #139; svc #0 */
};

/*
 *     63     56 55 54        48 47                      0
 *     | tag    | h | signature | address                |   signatures from bit 48 on
 *     | tag    | h | sig. | address                     |   from bit 52 on: addresses of 52 bits
 *
 * Bit h says which half of the address space it is. All bits above the address become as h is, so that no address of
 * the kernel becomes one of a program. Targets without tags have signatures in the tag's bits, too. Linux gives
 * addresses above bit 47 only to programs that ask for them.
 * Source: Arm ARM, pseudocode AArch64.Strip; Linux, Documentation/arch/arm64/{memory,pointer-authentication,
 * tagged-pointers}.rst.
 */
static const struct sw_pointer_auth pointer_auth = { BIT(55), FROM(56), FROM(48), FROM(52) };

const struct sw_arch sw_a64_arch = {
    .machine = SW_MACHINE_ARM64,
    .elf = 183, /* EM_AARCH64 */
    .roles = &sw_arm64_roles,
    .names = names,
    /* x9 to x12 hold the CFA while the stack is realigned and the end of a stack probe; lr holds the return address. */
    .frame_makers = BIT(SW_ARM64_SP) | UINT64_C(0xf) << 9 | BIT(SW_ARM64_LR),
    .probe_unit = 16,
    .insn_bytes = 4,
    .decode = sw_a64_decode,
    .patterns = &sw_a64_code_patterns,
    .codec = &sw_a64_codec,
    .pointer_auth = &pointer_auth,
    .cfi_quirks = SW_CFI_PUSHED | SW_CFI_TRAMPOLINE | SW_CFI_BARE,
    .trampolines = trampolines,
    .trampoline_count = sizeof trampolines / sizeof trampolines[0],
};

/*
 * x64 as a value: its facts in one table. decode.c reads its instructions, code_patterns.c knows what its code looks
 * like.
 */
#include "arch/arch.h"
#include "arch/x64/decode.h"

#define BIT(n) (UINT64_C(1) << (n))

static const char *const names[SW_X64_COUNT] = { "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8",
                                                 "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip" };

/* Source: contexts.md section 3 (glibc, musl). Other assemblers encode mov rax, 15 in the short form. */
static const struct sw_trampoline trampolines[] = {
    { 9, { 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 }, 7, 0 }, /* mov rax, 15; syscall */
    { 7, { 0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 }, 5, 0 },             /* mov eax, 15; syscall */
};

const struct sw_arch sw_x64_arch = {
    .machine = SW_MACHINE_X64,
    .elf = 62, /* EM_X86_64 */
    .roles = &sw_x64_roles,
    .names = names,
    /* r10 holds the CFA while the stack is realigned, r11 the end of a stack probe. */
    .frame_makers = BIT(SW_X64_RSP) | BIT(SW_X64_R10) | BIT(SW_X64_R11),
    .probe_unit = 1,
    .insn_bytes = 1,
    .decode = sw_x64_decode,
    .patterns = &sw_x64_code_patterns,
    .codec = &sw_x64_codec,
    .cfi_quirks = SW_CFI_EPILOGUES | SW_CFI_SILENCE | SW_CFI_BARE,
    .flags_set = 0x202, /* bit 1, interrupts */
    .flags_clear = ~UINT64_C(0x3f7fd7),
    .user_cs = 0x33, /* of Linux and of Windows */
    .user_ss = 0x2b,
    .trampolines = trampolines,
    .trampoline_count = sizeof trampolines / sizeof trampolines[0],
};

/*
 * The registers of the calling thread at the return address of the call, as Windows' calling convention preserves them:
 * rsi and rdi too. In assembly language, because no compiler-made frame may come in between. Knows the layout of struct
 * sw_regs (asserted below) and nothing else.
 *
 * Source: x64 calling convention, "Caller/callee saved registers", Microsoft Learn.
 */
#include "target/windows/self_capture.h"

#define TEXT(x)    TEXT_OF(x)
#define TEXT_OF(x) #x

#define AT_KNOWN 8
#define AT_R     16
_Static_assert(offsetof(struct sw_regs, known) == AT_KNOWN, "the assembly language below counts on it");
_Static_assert(offsetof(struct sw_regs, r) == AT_R, "the assembly language below counts on it");
_Static_assert(offsetof(struct sw_regs, reserved) == 4 && sizeof(enum sw_machine) == 4, "one 64-bit store sets both");

#define KNOWN 0x1f0f8 /* rbx rsp rbp rsi rdi r12-r15 rip */
_Static_assert(KNOWN ==
                   (SW_X64_NONVOLATILE | 1u << SW_X64_RSP | 1u << SW_X64_RSI | 1u << SW_X64_RDI | 1u << SW_X64_RIP),
               "what is stored below");
_Static_assert(SW_X64_RSI == 6 && SW_X64_RDI == 7 && SW_X64_RIP == 16, "what is stored below");
_Static_assert(SW_MACHINE_X64 == 1, "what is stored below");

#define SLOT(number) TEXT(AT_R) " + 8 * " #number "(%rcx)"

/* clang-format off */
/* Leaf functions, which need no unwind data. sw_self_capture_with takes its record as second argument, returns SW_OK. */
__asm__(".text\n"
        ".globl sw_self_capture_with\n"
        ".globl sw_self_capture\n"
        "sw_self_capture_with:\n"
        " movq %rdx, %rcx\n"
        "sw_self_capture:\n"
        " movq $1, (%rcx)\n"
        " movq $" TEXT(KNOWN) ", " TEXT(AT_KNOWN) "(%rcx)\n"
        " movq %rbx, " SLOT(3) "\n"
        " leaq 8(%rsp), %rax\n"
        " movq %rax, " SLOT(4) "\n"
        " movq %rbp, " SLOT(5) "\n"
        " movq %rsi, " SLOT(6) "\n"
        " movq %rdi, " SLOT(7) "\n"
        " movq %r12, " SLOT(12) "\n"
        " movq %r13, " SLOT(13) "\n"
        " movq %r14, " SLOT(14) "\n"
        " movq %r15, " SLOT(15) "\n"
        " movq (%rsp), %rax\n"
        " movq %rax, " SLOT(16) "\n"
        " xorl %eax, %eax\n"
        " ret\n");
/* clang-format on */

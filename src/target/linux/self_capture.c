/*
 * The registers of the calling thread at the return address of the call. In assembly language, because no compiler-made
 * frame may come in between: so the nonvolatile registers, sp and pc are exact at every optimisation level. Knows the
 * layout of struct sw_regs (asserted below) and nothing else.
 *
 * Source: SysV AMD64 psABI 3.2; AAPCS64 6.1.
 */
#include "target/linux/self_capture.h"

#define TEXT(x)    TEXT_OF(x)
#define TEXT_OF(x) #x

#define AT_KNOWN 8
#define AT_R     16
_Static_assert(offsetof(struct sw_regs, known) == AT_KNOWN, "the assembly language below counts on it");
_Static_assert(offsetof(struct sw_regs, r) == AT_R, "the assembly language below counts on it");
_Static_assert(offsetof(struct sw_regs, reserved) == 4 && sizeof(enum sw_machine) == 4, "one 64-bit store sets both");

#define FUNCTION(name) ".globl " name "\n .type " name ", %function\n" name ":\n .cfi_startproc\n"
#define END(name)      " .cfi_endproc\n .size " name ", . - " name "\n"

/* As SW_API says it of functions in C. */
#if defined(SW_BUILDING_SHARED)
#define VISIBLE "" /* as a global symbol is */
#else
#define VISIBLE ".hidden sw_self_capture\n"
#endif

#if defined(__x86_64__)

#define KNOWN 0x1f038 /* rbx rsp rbp r12-r15 rip */
_Static_assert(KNOWN == (SW_X64_NONVOLATILE | 1u << SW_X64_RSP | 1u << SW_X64_RIP), "what is stored below");
_Static_assert(SW_MACHINE_X64 == 1, "what is stored below");

#define SLOT(number) TEXT(AT_R) " + 8 * " #number "(%rdi)"

/* clang-format off */
/* sw_self_capture_with takes its record as second argument, and returns SW_OK (0). */
__asm__(".text\n"
        FUNCTION("sw_self_capture_with")
        " endbr64\n"
        " movq %rsi, %rdi\n"
        " jmp 1f\n"
        END("sw_self_capture_with")
        FUNCTION("sw_self_capture")
        " endbr64\n"
        "1:\n"
        " movq $1, (%rdi)\n"
        " movq $" TEXT(KNOWN) ", " TEXT(AT_KNOWN) "(%rdi)\n"
        " movq %rbx, " SLOT(3) "\n"
        " leaq 8(%rsp), %rax\n"
        " movq %rax, " SLOT(4) "\n"
        " movq %rbp, " SLOT(5) "\n"
        " movq %r12, " SLOT(12) "\n"
        " movq %r13, " SLOT(13) "\n"
        " movq %r14, " SLOT(14) "\n"
        " movq %r15, " SLOT(15) "\n"
        " movq (%rsp), %rax\n"
        " movq %rax, " SLOT(16) "\n"
        " xorl %eax, %eax\n"
        " ret\n"
        END("sw_self_capture")
        ".hidden sw_self_capture_with\n" VISIBLE);

#elif defined(__aarch64__)

#define KNOWN_LOW  0xbff80000 /* x19-x29 sp */
#define KNOWN_HIGH 1          /* pc */
_Static_assert((KNOWN_LOW | UINT64_C(1) << 32) ==
                   (SW_ARM64_NONVOLATILE | UINT64_C(1) << SW_ARM64_SP | UINT64_C(1) << SW_ARM64_PC),
               "what is stored below");
_Static_assert(SW_MACHINE_ARM64 == 2, "what is stored below");

#define SLOT(number) "[x0, #" TEXT(AT_R) " + 8 * " #number "]\n"

/* sw_self_capture_with takes its record as second argument, and returns SW_OK (0). */
__asm__(".text\n .p2align 2\n"
        FUNCTION("sw_self_capture_with")
        " hint #34\n" /* bti c */
        " mov x0, x1\n"
        " b 1f\n"
        END("sw_self_capture_with")
        FUNCTION("sw_self_capture")
        " hint #34\n"
        "1:\n"
        " mov x9, #2\n"
        " str x9, [x0]\n"
        " mov x9, #" TEXT(KNOWN_LOW) "\n"
        " movk x9, #" TEXT(KNOWN_HIGH) ", lsl #32\n"
        " str x9, [x0, #" TEXT(AT_KNOWN) "]\n"
        " str x19, " SLOT(19)
        " str x20, " SLOT(20)
        " str x21, " SLOT(21)
        " str x22, " SLOT(22)
        " str x23, " SLOT(23)
        " str x24, " SLOT(24)
        " str x25, " SLOT(25)
        " str x26, " SLOT(26)
        " str x27, " SLOT(27)
        " str x28, " SLOT(28)
        " str x29, " SLOT(29)
        " mov x9, sp\n"
        " str x9, " SLOT(31)
        " str x30, " SLOT(32)
        " mov x0, #0\n"
        " ret\n"
        END("sw_self_capture")
        ".hidden sw_self_capture_with\n" VISIBLE);

#else
#error "no capture for this machine"
#endif

/*
 * Runs a function on another stack, and returns. A signal handler may run on the rest of another handler's alternate
 * stack: CoreCLR's has about 2 KiB left when its own handler is interrupted.
 * Each handler's walk runs through it: base/hot.h.
 *
 * Source: SysV AMD64 psABI (rbp is preserved, the stack pointer 16-aligned at a call); AAPCS64.
 */
#include "clr/host.h"

#if defined(__x86_64__)
__asm__(".section .text.hot.sw_run_on,\"ax\",%progbits\n"
        ".globl sw_run_on\n"
        ".hidden sw_run_on\n"
        ".type sw_run_on, @function\n"
        "sw_run_on:\n"
        ".cfi_startproc\n"
        "    pushq %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\n"
        "    movq %rsp, %rbp\n"
        ".cfi_def_cfa_register %rbp\n"
        "    movq %rdi, %rsp\n"
        "    movq %rdx, %rdi\n"
        "    callq *%rsi\n"
        "    movq %rbp, %rsp\n"
        "    popq %rbp\n"
        ".cfi_def_cfa %rsp, 8\n"
        "    ret\n"
        ".cfi_endproc\n"
        ".size sw_run_on, . - sw_run_on\n"
        ".text\n");
#elif defined(__aarch64__)
__asm__(".section .text.hot.sw_run_on,\"ax\",%progbits\n"
        ".globl sw_run_on\n"
        ".hidden sw_run_on\n"
        ".type sw_run_on, %function\n"
        "sw_run_on:\n"
        ".cfi_startproc\n"
        "    stp x29, x30, [sp, #-16]!\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset x29, -16\n"
        ".cfi_offset x30, -8\n"
        "    mov x29, sp\n"
        ".cfi_def_cfa_register x29\n"
        "    mov sp, x0\n"
        "    mov x0, x2\n"
        "    blr x1\n"
        "    mov sp, x29\n"
        "    ldp x29, x30, [sp], #16\n"
        ".cfi_def_cfa sp, 0\n"
        "    ret\n"
        ".cfi_endproc\n"
        ".size sw_run_on, . - sw_run_on\n"
        ".text\n");
#endif

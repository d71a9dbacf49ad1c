/*
 * The gate, x64. Registers are kept in this order: rbx rbp r12 r13 r14 r15, then 14 words that are not used, pc, sp; see
 * gate.h.
 */
#if defined(__x86_64__)
    .text
    .globl sw_tube_gate
    .type sw_tube_gate, @function
sw_tube_gate:
    .cfi_startproc
    sub $184, %rsp              /* 23 words: 22 of registers, and 8 bytes that keep the stack aligned */
    .cfi_adjust_cfa_offset 184
    mov %rbx, 0(%rsp)
    mov %rbp, 8(%rsp)
    mov %r12, 16(%rsp)
    mov %r13, 24(%rsp)
    mov %r14, 32(%rsp)
    mov %r15, 40(%rsp)
    .cfi_rel_offset %rbx, 0
    .cfi_rel_offset %rbp, 8
    .cfi_rel_offset %r12, 16
    .cfi_rel_offset %r13, 24
    .cfi_rel_offset %r14, 32
    .cfi_rel_offset %r15, 40
    mov 184(%rsp), %rax
    mov %rax, 160(%rsp)
    lea 192(%rsp), %rax
    mov %rax, 168(%rsp)
    mov %rsp, %rdi
    call sw_tube_at_gate
    mov 168(%rax), %r8
    mov 160(%rax), %rcx
    sub $8, %r8
    mov %rcx, (%r8)
    mov 0(%rax), %rbx
    mov 8(%rax), %rbp
    mov 16(%rax), %r12
    mov 24(%rax), %r13
    mov 32(%rax), %r14
    mov 40(%rax), %r15
    mov 184(%rax), %rdx
    mov 176(%rax), %rax
    mov %r8, %rsp
    .cfi_def_cfa %rsp, 8
    .cfi_same_value %rbx
    .cfi_same_value %rbp
    .cfi_same_value %r12
    .cfi_same_value %r13
    .cfi_same_value %r14
    .cfi_same_value %r15
    ret
    .cfi_endproc
    .size sw_tube_gate, . - sw_tube_gate
#endif
    .section .note.GNU-stack, "", @progbits

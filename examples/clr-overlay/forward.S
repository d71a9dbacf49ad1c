/*
 * One piece of code per slot: it replaces `this`, the first argument, by the real object and jumps to the same slot of
 * that object's table. Other arguments stay in their registers and on the stack, and the real method returns to the
 * caller, so this is exact for every signature. Knows where `this` and scratch registers are. Refuses to know any
 * method.
 *
 * System V AMD64 ABI section 3.2.3 (rdi; rax is free but for variadic calls); Microsoft x64 calling convention (rcx; rax
 * is free); AAPCS64 section 6 (x0; x16 is free).
 */
#include "forward.h"

/* Bytes from piece to piece; one that is longer does not assemble. */
#define PIECE 64

#if defined(_WIN32)
#define THIS %rcx
#define TABLE_SECTION .rdata, "dr"
#else
#define THIS %rdi
#define TABLE_SECTION .data.rel.ro, "aw", %progbits
#endif

#if defined(__x86_64__)
    .macro forward slot
    endbr64
    movq SW_FORWARD_SKIP(THIS), %rax
    cmpb $0, \slot(%rax)
    jne skipped
    movq SW_FORWARD_REAL(THIS), THIS
    movq (THIS), %rax
    jmp *(8 * \slot)(%rax)
    .endm

    .macro answer_ok
    xorl %eax, %eax
    ret
    .endm
#elif defined(__aarch64__)
    .macro forward slot
    hint #34 /* bti c */
    ldr x16, [x0, #SW_FORWARD_SKIP]
    ldrb w16, [x16, #\slot]
    cbnz w16, skipped
    ldr x0, [x0, #SW_FORWARD_REAL]
    ldr x16, [x0]
    ldr x16, [x16, #(8 * \slot)]
    br x16
    .endm

    .macro answer_ok
    mov w0, #0
    ret
    .endm
#else
#error "forward.S: x64 and ARM64 only"
#endif

    .text
skipped:
    .cfi_startproc
    answer_ok
    .cfi_endproc

    .balign PIECE
pieces:
    .cfi_startproc
    .set slot, 0
    .rept SW_FORWARD_SLOTS
    forward slot
    .org pieces + (slot + 1) * PIECE
    .set slot, slot + 1
    .endr
    .cfi_endproc

    .section TABLE_SECTION
    .balign 8
    .globl sw_forward_slots
#if !defined(_WIN32)
    .hidden sw_forward_slots
    .type sw_forward_slots, %object
    .size sw_forward_slots, 8 * SW_FORWARD_SLOTS
#endif
sw_forward_slots:
    .set slot, 0
    .rept SW_FORWARD_SLOTS
    .8byte pieces + slot * PIECE
    .set slot, slot + 1
    .endr

#if !defined(_WIN32)
    .section .note.GNU-stack, "", %progbits
#endif

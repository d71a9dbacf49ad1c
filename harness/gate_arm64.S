/*
 * The gate, ARM64. Registers are kept in this order: x19 ... x28, x29, x30, d8 ... d15, pc, sp; see gate.h.
 */
#if defined(__aarch64__)
    .text
    .globl sw_tube_gate
    .type sw_tube_gate, %function
sw_tube_gate:
    .cfi_startproc
    sub sp, sp, #192
    .cfi_adjust_cfa_offset 192
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    .cfi_rel_offset x19, 0
    .cfi_rel_offset x20, 8
    .cfi_rel_offset x21, 16
    .cfi_rel_offset x22, 24
    .cfi_rel_offset x23, 32
    .cfi_rel_offset x24, 40
    .cfi_rel_offset x25, 48
    .cfi_rel_offset x26, 56
    .cfi_rel_offset x27, 64
    .cfi_rel_offset x28, 72
    .cfi_rel_offset x29, 80
    .cfi_rel_offset x30, 88
    add x0, sp, #192
    stp x30, x0, [sp, #160]
    mov x0, sp
    bl sw_tube_at_gate
    mov x17, x0
    ldp x19, x20, [x17, #0]
    ldp x21, x22, [x17, #16]
    ldp x23, x24, [x17, #32]
    ldp x25, x26, [x17, #48]
    ldp x27, x28, [x17, #64]
    ldr x29, [x17, #80]
    ldp d8, d9, [x17, #96]
    ldp d10, d11, [x17, #112]
    ldp d12, d13, [x17, #128]
    ldp d14, d15, [x17, #144]
    ldp x30, x16, [x17, #160]
    ldp x0, x1, [x17, #176]
    mov sp, x16
    .cfi_def_cfa sp, 0
    .cfi_same_value x19
    .cfi_same_value x20
    .cfi_same_value x21
    .cfi_same_value x22
    .cfi_same_value x23
    .cfi_same_value x24
    .cfi_same_value x25
    .cfi_same_value x26
    .cfi_same_value x27
    .cfi_same_value x28
    .cfi_same_value x29
    .cfi_same_value x30
    ret
    .cfi_endproc
    .size sw_tube_gate, . - sw_tube_gate
#endif
    .section .note.GNU-stack, "", %progbits

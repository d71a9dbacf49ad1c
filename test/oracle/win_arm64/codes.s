// Functions whose prologs and epilogs use every unwind code that an assembler has a directive for, one instruction a
// directive. The assembler makes unwind data of the directives, the audit compares it with the instructions.

	.macro	begin name
	.globl	\name
	.def	\name
	.scl	2
	.type	32
	.endef
	.p2align 2
\name:
	.seh_proc \name
	.endm

	.macro	finish
	ret
	.seh_endepilogue
	.seh_endfunclet
	.seh_endproc
	.endm

	.text

	begin	pairs_by_save_next
	stp	x19, x20, [sp, #-96]!
	.seh_save_r19r20_x 96
	stp	x21, x22, [sp, #16]
	.seh_save_next
	stp	x23, x24, [sp, #32]
	.seh_save_next
	stp	x25, x26, [sp, #48]
	.seh_save_regp x25, 48
	stp	x27, x28, [sp, #64]
	.seh_save_next
	stp	x29, x30, [sp, #80]
	.seh_save_fplr 80
	add	x29, sp, #80
	.seh_add_fp 80
	.seh_endprologue
	mov	x19, #1
	mov	x28, #2
	bl	pairs_by_save_next
	sub	sp, sp, #32
	.seh_startepilogue
	sub	sp, x29, #80
	.seh_add_fp 80
	ldp	x29, x30, [sp, #80]
	.seh_save_fplr 80
	ldp	x27, x28, [sp, #64]
	.seh_save_next
	ldp	x25, x26, [sp, #48]
	.seh_save_regp x25, 48
	ldp	x23, x24, [sp, #32]
	.seh_save_next
	ldp	x21, x22, [sp, #16]
	.seh_save_next
	ldp	x19, x20, [sp], #96
	.seh_save_r19r20_x 96
	finish

	begin	singles
	str	x19, [sp, #-64]!
	.seh_save_reg_x x19, 64
	str	x24, [sp, #8]
	.seh_save_reg x24, 8
	stp	x25, x30, [sp, #16]
	.seh_save_lrpair x25, 16
	str	d8, [sp, #32]
	.seh_save_freg d8, 32
	stp	d10, d11, [sp, #40]
	.seh_save_fregp d10, 40
	.seh_endprologue
	mov	x19, #1
	mov	x24, #1
	mov	x25, #1
	bl	singles
	.seh_startepilogue
	ldp	d10, d11, [sp, #40]
	.seh_save_fregp d10, 40
	ldr	d8, [sp, #32]
	.seh_save_freg d8, 32
	ldp	x25, x30, [sp, #16]
	.seh_save_lrpair x25, 16
	ldr	x24, [sp, #8]
	.seh_save_reg x24, 8
	ldr	x19, [sp], #64
	.seh_save_reg_x x19, 64
	finish

	begin	floats_make_the_room
	stp	d8, d9, [sp, #-48]!
	.seh_save_fregp_x d8, 48
	stp	d10, d11, [sp, #16]
	.seh_save_fregp d10, 16
	str	d12, [sp, #-16]!
	.seh_save_freg_x d12, 16
	stp	x21, x22, [sp, #-32]!
	.seh_save_regp_x x21, 32
	stp	x29, x30, [sp, #-16]!
	.seh_save_fplr_x 16
	mov	x29, sp
	.seh_set_fp
	.seh_endprologue
	mov	x22, #1
	bl	floats_make_the_room
	.seh_startepilogue
	mov	sp, x29
	.seh_set_fp
	ldp	x29, x30, [sp], #16
	.seh_save_fplr_x 16
	ldp	x21, x22, [sp], #32
	.seh_save_regp_x x21, 32
	ldr	d12, [sp], #16
	.seh_save_freg_x d12, 16
	ldp	d10, d11, [sp, #16]
	.seh_save_fregp d10, 16
	ldp	d8, d9, [sp], #48
	.seh_save_fregp_x d8, 48
	finish

	begin	room_of_three_sizes
	stp	x29, x30, [sp, #-16]!
	.seh_save_fplr_x 16
	mov	x15, #16
	.seh_nop
	bl	probe
	.seh_nop
	sub	sp, sp, #496
	.seh_stackalloc 496
	sub	sp, sp, #2048
	.seh_stackalloc 2048
	sub	sp, sp, #256, lsl #12
	.seh_stackalloc 1048576
	.seh_endprologue
	bl	room_of_three_sizes
	.seh_startepilogue
	add	sp, sp, #256, lsl #12
	.seh_stackalloc 1048576
	add	sp, sp, #2048
	.seh_stackalloc 2048
	add	sp, sp, #496
	.seh_stackalloc 496
	nop
	.seh_nop
	nop
	.seh_nop
	ldp	x29, x30, [sp], #16
	.seh_save_fplr_x 16
	finish

	begin	two_ways_out
	stp	x29, x30, [sp, #-32]!
	.seh_save_fplr_x 32
	str	x19, [sp, #16]
	.seh_save_reg x19, 16
	.seh_endprologue
	cbz	x0, 1f
	mov	x19, x0
	bl	two_ways_out
	.seh_startepilogue
	ldr	x19, [sp, #16]
	.seh_save_reg x19, 16
	ldp	x29, x30, [sp], #32
	.seh_save_fplr_x 32
	ret
	.seh_endepilogue
1:
	mov	x19, #2
	bl	probe
	.seh_startepilogue
	ldr	x19, [sp, #16]
	.seh_save_reg x19, 16
	ldp	x29, x30, [sp], #32
	.seh_save_fplr_x 32
	finish

	begin	homes
	stp	x19, x20, [sp, #-80]!
	.seh_save_regp_x x19, 80
	stp	x0, x1, [sp, #16]
	.seh_nop
	stp	x2, x3, [sp, #32]
	.seh_nop
	stp	x4, x5, [sp, #48]
	.seh_nop
	stp	x6, x7, [sp, #64]
	.seh_nop
	sub	sp, sp, #32
	.seh_stackalloc 32
	.seh_endprologue
	mov	x20, #1
	mov	x19, #1
	.seh_startepilogue
	add	sp, sp, #32
	.seh_stackalloc 32
	ldp	x19, x20, [sp], #80
	.seh_save_regp_x x19, 80
	finish

	begin	large_locals_below_ten_registers
	stp	x19, x20, [sp, #-80]!
	.seh_save_regp_x x19, 80
	stp	x21, x22, [sp, #16]
	.seh_save_regp x21, 16
	stp	x23, x24, [sp, #32]
	.seh_save_regp x23, 32
	stp	x25, x26, [sp, #48]
	.seh_save_regp x25, 48
	stp	x27, x28, [sp, #64]
	.seh_save_regp x27, 64
	sub	sp, sp, #4080
	.seh_stackalloc 4080
	sub	sp, sp, #1024
	.seh_stackalloc 1024
	stp	x29, x30, [sp, #0]
	.seh_save_fplr 0
	mov	x29, sp
	.seh_set_fp
	.seh_endprologue
	mov	x19, #1
	mov	x28, #1
	bl	probe
	.seh_startepilogue
	ldp	x29, x30, [sp, #0]
	.seh_save_fplr 0
	add	sp, sp, #1024
	.seh_stackalloc 1024
	add	sp, sp, #4080
	.seh_stackalloc 4080
	ldp	x27, x28, [sp, #64]
	.seh_save_regp x27, 64
	ldp	x25, x26, [sp, #48]
	.seh_save_regp x25, 48
	ldp	x23, x24, [sp, #32]
	.seh_save_regp x23, 32
	ldp	x21, x22, [sp, #16]
	.seh_save_regp x21, 16
	ldp	x19, x20, [sp], #80
	.seh_save_regp_x x19, 80
	finish

	begin	one_register_and_lr
	sub	sp, sp, #16
	.seh_stackalloc 16
	stp	x19, x30, [sp, #0]
	.seh_save_lrpair x19, 0
	.seh_endprologue
	mov	x19, #1
	bl	probe
	.seh_startepilogue
	ldp	x19, x30, [sp, #0]
	.seh_save_lrpair x19, 0
	add	sp, sp, #16
	.seh_stackalloc 16
	finish

	.globl	probe
	.p2align 2
probe:
	ret

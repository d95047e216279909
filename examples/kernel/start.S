/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The first instructions: vectors, a stack, zeroed data, and on to C. ARM926. */
	.section .start, "ax"
	.arm
	.globl	_start
_start:
	ldr	sp, =stack_top
	mov	r0, #0		/* the eight vectors are at address 0 */
	adr	r1, vectors
	ldmia	r1!, {r2-r9}
	stmia	r0!, {r2-r9}
	ldmia	r1!, {r2-r9}
	stmia	r0!, {r2-r9}
	mov	r2, #0xdb	/* a stack for undefined instructions and aborts, too */
	msr	cpsr_c, r2
	ldr	sp, =trap_stack_top
	mov	r2, #0xd7
	msr	cpsr_c, r2
	ldr	sp, =trap_stack_top
	mov	r2, #0xd3
	msr	cpsr_c, r2
	ldr	r0, =bss_start
	ldr	r1, =bss_end
	mov	r2, #0
1:	cmp	r0, r1
	strlo	r2, [r0], #4
	blo	1b
	bl	kernel_main
2:	b	2b

vectors:
	.rept 8
	ldr	pc, [pc, #24]
	.endr
	.word	_start, trap, trap, trap, trap, trap, trap, trap

trap:	mov	r0, lr
	bl	kernel_trap
3:	b	3b

	.globl	semihosting
semihosting:
	svc	0x123456
	bx	lr

	.section .bss
	.balign	8
	.space	8192
stack_top:
	.space	1024
trap_stack_top:

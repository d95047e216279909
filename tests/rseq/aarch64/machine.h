/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the tracer of sequences knows of instructions and registers: AArch64, little-endian. */
#ifndef DRY_TESTS_RSEQ_MACHINE_H
#define DRY_TESTS_RSEQ_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

#define SIGNATURE     0xd428bc00u
#define TRAP          0xd4200000ul /* brk #0 */
#define TRAP_MASK     0xfffffffful
#define TRAP_ADVANCES 0 /* by so much the program counter is beyond a breakpoint that was hit */
#define MOST_CODE     4 /* bytes of an instruction */
#define JUMP_ALIGN    4
#define PC            pc             /* in struct user_regs_struct */
#define CONTEXT_PC    uc_mcontext.pc /* in a ucontext_t */

/* Where the jump at `at` leads to; 0: none is there. */
static inline uintptr_t jump_target(uintptr_t at)
{
	uint32_t code = *(const uint32_t *)at;

	if (code >> 26 != 5) /* b */
		return 0;
	return at + (uintptr_t)((intptr_t)(int32_t)(code << 6) >> 4);
}

/* A copy of words that stands in front of its next one. */
struct copy {
	uintptr_t from, to;
	size_t left;
};

/* `code` is what stands at the program counter, 16 bytes: ldr x, [from], #8; str x, [to], #8; sub left, left, #1. */
static inline bool copy_at(const unsigned long code[2], struct user_regs_struct *regs, struct copy *copy)
{
	uint32_t load = (uint32_t)code[0], store = (uint32_t)(code[0] >> 32), count = (uint32_t)code[1];

	if ((load & 0xfffffc00) != 0xf8408400 || (store & 0xfffffc00) != 0xf8008400 || (load & 31) != (store & 31) ||
	    (count & 0xfffffc00) != 0xd1000400 || (count & 31) != (count >> 5 & 31))
		return false;
	*copy = (struct copy){ regs->regs[load >> 5 & 31], regs->regs[store >> 5 & 31], regs->regs[count & 31] };
	return true;
}

/* The registers as after n words. */
static inline void copy_on(const unsigned long code[2], struct user_regs_struct *regs, size_t n)
{
	regs->regs[code[0] >> 5 & 31] += n * 8;
	regs->regs[code[0] >> 37 & 31] += n * 8;
	regs->regs[code[1] & 31] -= n;
}

#endif

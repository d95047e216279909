/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the tracer of sequences knows of instructions and registers: x86-64. */
#ifndef DRY_TESTS_RSEQ_MACHINE_H
#define DRY_TESTS_RSEQ_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/user.h>

#define SIGNATURE     0x53053053u
#define TRAP          0xccul /* int3 */
#define TRAP_MASK     0xfful
#define TRAP_ADVANCES 1 /* by so much the program counter is beyond a breakpoint that was hit */
#define MOST_CODE     15 /* bytes of an instruction */
#define JUMP_ALIGN    1
#define PC            rip                      /* in struct user_regs_struct */
#define CONTEXT_PC    uc_mcontext.gregs[REG_RIP] /* in a ucontext_t */

/* Where the jump at `at` leads to that is taken while a count is not below zero; 0: none is there. */
static inline uintptr_t jump_target(uintptr_t at)
{
	const unsigned char *code = (const unsigned char *)at;
	int32_t far;

	if (code[0] != 0x0f || code[1] != 0x89) /* jns */
		return 0;
	memcpy(&far, code + 2, sizeof(far));
	return at + 6 + (uintptr_t)(intptr_t)far;
}

/* A copy of words that stands in front of its next one. */
struct copy {
	uintptr_t from, to;
	size_t left;
};

/* By its number in machine code. */
static inline unsigned long long int *numbered(struct user_regs_struct *regs, unsigned number)
{
	unsigned long long int *const all[] = {
		&regs->rax, &regs->rcx, &regs->rdx, &regs->rbx, &regs->rsp, &regs->rbp, &regs->rsi, &regs->rdi,
		&regs->r8,  &regs->r9,  &regs->r10, &regs->r11, &regs->r12, &regs->r13, &regs->r14, &regs->r15,
	};

	return all[number];
}

/* `movdqu` between xmm0 and (base,%rcx,8), a load (0x6f) or a store (0x7f): its length, and the base's number. 0: another one. */
static inline unsigned indexed(const unsigned char *code, unsigned char opcode, unsigned *base)
{
	unsigned rex = (code[1] & 0xfe) == 0x40 ? 1 : 0, far = code[3 + rex] >> 6;

	if (code[0] != 0xf3 || code[1 + rex] != 0x0f || code[2 + rex] != opcode || (code[3 + rex] & 0x3f) != 4 || far > 1 ||
	    code[4 + rex] >> 3 != 0x19)
		return 0;
	*base = (code[4 + rex] & 7u) | (rex ? (code[1] & 1u) << 3 : 0);
	return 5 + rex + far;
}

/* `code` is what stands at the program counter, 16 bytes: two words to xmm0, from there, on to the next two until %rcx is 0. */
static inline bool copy_at(const unsigned long code[2], struct user_regs_struct *regs, struct copy *copy)
{
	unsigned from, to, length = indexed((const unsigned char *)code, 0x6f, &from);

	if (length == 0 || indexed((const unsigned char *)code + length, 0x7f, &to) == 0)
		return false;
	*copy = (struct copy){ *numbered(regs, from) + regs->rcx * 8, *numbered(regs, to) + regs->rcx * 8, (size_t)0 - regs->rcx };
	return true;
}

/* The registers as after n words, an even number. */
static inline void copy_on(const unsigned long code[2], struct user_regs_struct *regs, size_t n)
{
	(void)code;
	regs->rcx += n;
}

#endif

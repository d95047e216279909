/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the tracer of sequences knows of instructions and registers: x86-64. */
#ifndef DRY_TESTS_RSEQ_MACHINE_H
#define DRY_TESTS_RSEQ_MACHINE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/user.h>

#define SIGNATURE     0x53053053u
#define TRAP          0xccul /* int3 */
#define TRAP_MASK     0xfful
#define TRAP_ADVANCES 1 /* by so much the program counter is beyond a breakpoint that was hit */
#define MOST_CODE     15 /* bytes of an instruction */
#define PC            rip                      /* in struct user_regs_struct */
#define CONTEXT_PC    uc_mcontext.gregs[REG_RIP] /* in a ucontext_t */

/* Where the jump at `at` leads to; 0: none is there. */
static inline uintptr_t jump_target(uintptr_t at)
{
	const unsigned char *code = (const unsigned char *)at;
	int32_t far;

	if (code[0] == 0xeb)
		return at + 2 + (uintptr_t)(intptr_t)(signed char)code[1];
	if (code[0] != 0xe9)
		return 0;
	memcpy(&far, code + 1, sizeof(far));
	return at + 5 + (uintptr_t)(intptr_t)far;
}

/* The registers of a copy of words. */
struct copy {
	unsigned long long int *from, *to, *left;
};

/* What stands at the program counter, 16 bytes, is a copy that has not begun. */
static inline bool copy_at(const unsigned long code[2], struct user_regs_struct *regs, struct copy *copy)
{
	*copy = (struct copy){ &regs->rsi, &regs->rdi, &regs->rcx };
	return (code[0] & 0xffffff) == 0xa548f3; /* rep movsq */
}

#endif

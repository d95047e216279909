/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * vfork() of x86-64. What the child does to the stack is there when the parent goes on: the return address is kept in a
 * register. With shadow stacks the child's calls are in the parent's, too, so that both leave by a jump.
 */
#ifndef DRY_PORT_VFORK_H
#define DRY_PORT_VFORK_H

/* clang-format off */
#define DRY_VFORK                                                            \
	".pushsection .text\n"                                               \
	".weak vfork\n"                                                      \
	".type vfork, @function\n"                                           \
	"vfork:\n"                                                           \
	".cfi_startproc\n"                                                   \
	"endbr64\n"                                                          \
	"sub $8, %rsp\n"                                                     \
	".cfi_adjust_cfa_offset 8\n"                                         \
	"call dry_vfork_begins\n"                                            \
	"add $8, %rsp\n"                                                     \
	".cfi_adjust_cfa_offset -8\n"                                        \
	"pop %rdi\n"                                                         \
	".cfi_adjust_cfa_offset -8\n"                                        \
	".cfi_register %rip, %rdi\n"                                         \
	"mov $58, %eax\n" /* SYS_vfork */                                    \
	"syscall\n"                                                          \
	"push %rdi\n"                                                        \
	".cfi_adjust_cfa_offset 8\n"                                         \
	".cfi_rel_offset %rip, 0\n"                                          \
	"mov %rax, %rdi\n"                                                   \
	"sub $8, %rsp\n"                                                     \
	".cfi_adjust_cfa_offset 8\n"                                         \
	"call dry_vfork_done\n"                                              \
	"add $8, %rsp\n"                                                     \
	".cfi_adjust_cfa_offset -8\n"                                        \
	"xor %ecx, %ecx\n"                                                   \
	"rdsspq %rcx\n"                                                      \
	"test %rcx, %rcx\n"                                                  \
	"jnz 1f\n"                                                           \
	"ret\n"                                                              \
	"1: pop %rdi\n"                                                      \
	".cfi_adjust_cfa_offset -8\n"                                        \
	".cfi_register %rip, %rdi\n"                                         \
	"mov $1, %ecx\n"                                                     \
	"incsspq %rcx\n"                                                     \
	"jmp *%rdi\n"                                                        \
	".cfi_endproc\n"                                                     \
	".size vfork, . - vfork\n"                                           \
	".popsection\n"
/* clang-format on */

#endif

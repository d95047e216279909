/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * vfork() of AArch64. What the child does to the stack is there when the parent goes on: the return address is kept in its
 * register.
 */
#ifndef DRY_PORT_VFORK_H
#define DRY_PORT_VFORK_H

/* clang-format off */
#define DRY_VFORK                                                            \
	".pushsection .text\n"                                               \
	".weak vfork\n"                                                      \
	".type vfork, %function\n"                                           \
	"vfork:\n"                                                           \
	".cfi_startproc\n"                                                   \
	"hint #34\n" /* bti c */                                             \
	"stp x29, x30, [sp, #-16]!\n"                                        \
	".cfi_def_cfa_offset 16\n"                                           \
	".cfi_offset 29, -16\n"                                              \
	".cfi_offset 30, -8\n"                                               \
	"bl dry_vfork_begins\n"                                              \
	"ldp x29, x30, [sp], #16\n"                                          \
	".cfi_restore 29\n"                                                  \
	".cfi_restore 30\n"                                                  \
	".cfi_def_cfa_offset 0\n"                                            \
	"mov x0, #0x4111\n" /* CLONE_VM | CLONE_VFORK | SIGCHLD */           \
	"mov x1, #0\n"                                                       \
	"mov x8, #220\n" /* SYS_clone */                                     \
	"svc #0\n"                                                           \
	"stp x29, x30, [sp, #-16]!\n"                                        \
	".cfi_def_cfa_offset 16\n"                                           \
	".cfi_offset 29, -16\n"                                              \
	".cfi_offset 30, -8\n"                                               \
	"bl dry_vfork_done\n"                                                \
	"ldp x29, x30, [sp], #16\n"                                          \
	".cfi_restore 29\n"                                                  \
	".cfi_restore 30\n"                                                  \
	".cfi_def_cfa_offset 0\n"                                            \
	"ret\n"                                                              \
	".cfi_endproc\n"                                                     \
	".size vfork, . - vfork\n"                                           \
	".popsection\n"
/* clang-format on */

#endif

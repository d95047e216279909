/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Of a pop whose countdown is over: its object goes back into the array that the caller is on now, uncounted. In, on the stack
 * from 8 bytes on: the object, the table of slot areas, the array's place, where rseq_cs is, and the slot id. Out: in place of the
 * object NULL, or still the object where the array has no room. All registers but the link register and flags are kept: a hit calls
 * this, who uses them as it likes.
 *
 * One for all pops: of a sequence at each of them those would never be run, so not be tested either, that only a change of slot
 * between two looks at an array leads to.
 */
#include "percpu.h"

/* clang-format off */
__asm__(".pushsection .data.rel.ro.dry_rseq, \"aw\"\n"
	".balign 32\n"
	"93: .long 0, 0\n .quad 91f, 92f - 91f, 94f\n"
	".popsection\n"
	DRY_SEQ_ABORTED("x2", "x3", "w3", "b 98f")
	".pushsection .text\n"
	".balign 4\n"
	".globl dry_percpu_put_back\n"
	".hidden dry_percpu_put_back\n"
	".type dry_percpu_put_back, %function\n"
	"dry_percpu_put_back:\n"
	"sub sp, sp, #48\n"
	"stp x0, x1, [sp]\n"
	"stp x2, x3, [sp, #16]\n"
	"stp x4, x5, [sp, #32]\n"
	"ldp x0, x1, [sp, #80]\n"
	"ldr x5, [sp, #56]\n"
	"95: adrp x2, 93b\n"
	"add x2, x2, #:lo12:93b\n"
	"str x2, [x0]\n"
	"91: ldr w2, [x1]\n"
	"ldp x3, x4, [sp, #64]\n"
	"ldr x2, [x3, x2, lsl #3]\n"
	"add x2, x2, x4, lsl #3\n"
	"ldr x3, [x2]\n"
	"ldrh w4, [x2, #8]\n"
	"cmp w4, w3, uxth\n"
	"b.ls 98f\n"
	"and x4, x3, #0xffff\n"
	"add x4, x2, x4, lsl #3\n"
	"str x5, [x4, #16]\n"
	"add x3, x3, #1\n"
	"str x3, [x2]\n"
	"92: str xzr, [sp, #56]\n"
	"98: stlr xzr, [x0]\n"
	"ldp x0, x1, [sp]\n"
	"ldp x2, x3, [sp, #16]\n"
	"ldp x4, x5, [sp, #32]\n"
	"add sp, sp, #48\n"
	"ret\n"
	".size dry_percpu_put_back, . - dry_percpu_put_back\n"
	".popsection\n");
/* clang-format on */

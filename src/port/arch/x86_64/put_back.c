/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Of a pop whose countdown is over: its object goes back into the array that the caller is on now, uncounted. In: rax, the
 * object; on the stack, the table of slot areas and the array's place. Out: rax, NULL, or still the object where the array has no
 * room. All other registers but flags are kept: a hit calls this, who uses them as it likes.
 */
#include "percpu.h"

/* clang-format off */
__asm__(".pushsection .data.rel.ro.dry_rseq, \"aw\"\n"
	".balign 32\n"
	"93: .long 0, 0\n .quad 91f, 92f - 91f, 94f\n"
	".popsection\n"
	DRY_SEQ_ABORTED("%", "%rcx", "jmp 98f")
	".pushsection .text\n"
	".globl dry_percpu_put_back\n"
	".hidden dry_percpu_put_back\n"
	".type dry_percpu_put_back, @function\n"
	"dry_percpu_put_back:\n"
	"push %rcx\n"
	"push %rdx\n"
	"push %rsi\n"
	"95: lea 93b(%rip), %rcx\n"
	"mov dry_slot_cs(%rip), %rdx\n"
	"mov %rcx, %fs:8(%rdx)\n"
	"91: mov dry_slot_id(%rip), %rcx\n"
	"mov %fs:(%rcx), %ecx\n"
	"mov 32(%rsp), %rsi\n"
	"mov (%rsi,%rcx,8), %rcx\n"
	"mov 40(%rsp), %rsi\n"
	"lea (%rcx,%rsi,8), %rcx\n"
	"movzwl (%rcx), %esi\n"
	"cmp 8(%rcx), %si\n"
	"jae 98f\n"
	"mov %rax, 16(%rcx,%rsi,8)\n"
	"incq (%rcx)\n"
	"92: xor %eax, %eax\n"
	"98: movq $0, %fs:8(%rdx)\n"
	"pop %rsi\n"
	"pop %rdx\n"
	"pop %rcx\n"
	"ret\n"
	".size dry_percpu_put_back, . - dry_percpu_put_back\n"
	".popsection\n");
/* clang-format on */

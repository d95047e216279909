/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A stack of the library's own, for rare ways that are long: who asks for memory may be on a small one (docs/design/stack.md).
 *
 * Signals wait meanwhile, but those that libc keeps for itself: a handler would find itself on a stack that is not the thread's,
 * and garbage collectors look through what lies between their handler's frame and the stack's end. The frames above are found from
 * there as from any function: the old stack pointer is in the frame pointer, and so do the unwinding tables have it.
 */
#include "port/contract.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <unistd.h>

#define STACK ((size_t)32 << 10) /* the kernel's frame of a signal of libc's is up to 11 KiB */

/* One call at a time: of the process that is at it, which a child that was forked meanwhile is not. */
static struct {
	_Atomic pid_t by; /* 0: nobody */
	sigset_t all, before;
	alignas(64) char stack[STACK];
} deep;

/* Call fn(arg) with the stack pointer at `top`. */
void dry_unix_call_on(char *top, void (*fn)(void *), void *arg);

/* clang-format off */
#if defined(__x86_64__) && defined(__ELF__)
enum { CAN = 1 };
__asm__(".pushsection .text\n"
	".globl dry_unix_call_on\n"
	".hidden dry_unix_call_on\n"
	".type dry_unix_call_on, @function\n"
	"dry_unix_call_on:\n"
	".cfi_startproc\n"
	"push %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset 6, -16\n"
	"mov %rsp, %rbp\n"
	".cfi_def_cfa_register 6\n"
	"mov %rdi, %rsp\n"
	"mov %rdx, %rdi\n"
	"call *%rsi\n"
	"leave\n"
	".cfi_def_cfa 7, 8\n"
	"ret\n"
	".cfi_endproc\n"
	".size dry_unix_call_on, . - dry_unix_call_on\n"
	".popsection\n");
#elif defined(__aarch64__) && defined(__ELF__)
enum { CAN = 1 };
__asm__(".pushsection .text\n"
	".balign 4\n"
	".globl dry_unix_call_on\n"
	".hidden dry_unix_call_on\n"
	".type dry_unix_call_on, @function\n"
	"dry_unix_call_on:\n"
	".cfi_startproc\n"
	"stp x29, x30, [sp, -16]!\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset 29, -16\n"
	".cfi_offset 30, -8\n"
	"mov x29, sp\n"
	".cfi_def_cfa_register 29\n"
	"mov sp, x0\n"
	"mov x0, x2\n"
	"blr x1\n"
	"mov sp, x29\n"
	".cfi_def_cfa_register 31\n"
	"ldp x29, x30, [sp], 16\n"
	".cfi_def_cfa_offset 0\n"
	".cfi_restore 29\n"
	".cfi_restore 30\n"
	"ret\n"
	".cfi_endproc\n"
	".size dry_unix_call_on, . - dry_unix_call_on\n"
	".popsection\n");
#else
enum { CAN = 0 };
#define dry_unix_call_on(top, fn, arg) ((void)(top), (fn)(arg))
#endif
/* clang-format on */

bool dry_port_deep(void (*fn)(void *), void *arg)
{
	pid_t other, own;
	int saved = errno;

	if (!CAN || dry_port_restricted())
		return false;
	other = atomic_load_explicit(&deep.by, memory_order_relaxed);
	own = getpid();
	/* acquire: pairs with the release below, of who used the stack before */
	if (other == own ||
	    !atomic_compare_exchange_strong_explicit(&deep.by, &other, own, memory_order_acquire, memory_order_relaxed))
		return false;
	sigfillset(&deep.all);
	pthread_sigmask(SIG_SETMASK, &deep.all, &deep.before);
	dry_unix_call_on(deep.stack + STACK, fn, arg);
	pthread_sigmask(SIG_SETMASK, &deep.before, NULL);
	atomic_store_explicit(&deep.by, 0, memory_order_release);
	errno = saved;
	return true;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Secrets and faults, for the linux and the posix port. Keeps errno. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* REG_ERR, sa_sigaction */
#endif
#include "port/guard.h"

#include "port/contract.h"
#include "port/unix/file.h"
#include "port/unix/resend.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __aarch64__
#include <asm/sigcontext.h>
#endif

#ifndef SEGV_MTEAERR
#define SEGV_MTEAERR 8 /* Linux, a wrong tag some time ago; not of libc's headers */
#endif

uint64_t dry_port_random(void)
{
	static _Atomic uint64_t calls;
	uint64_t value = 0;
	int saved = errno;

	if (!dry_file_random(&value, sizeof(value))) {
		/* No source (an old kernel, a filter on system calls): what the loader randomised, and the time. */
		value = ((uint64_t)(uintptr_t)&value ^ (uint64_t)(uintptr_t)&calls << 20) + dry_port_clock_ms();
		value = (value + atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed)) * 0x9e3779b97f4a7c15u;
		value ^= value >> 29;
	}
	errno = saved;
	return value != 0 ? value : 1;
}

static void (*on_fault)(uintptr_t address, const char *access, uintptr_t pc);
static struct sigaction before[2]; /* of SIGSEGV, SIGBUS */

static const char *kind_of_access(const ucontext_t *context)
{
#if defined(__x86_64__) && defined(REG_ERR)
	return context->uc_mcontext.gregs[REG_ERR] & 2 ? "write" : "read"; /* the page fault's error code: W/R */
#elif defined(__aarch64__)
	/* Records of which one holds the exception's syndrome; bit 6 is WnR. */
	const unsigned char *record = context->uc_mcontext.__reserved, *end = record + sizeof(context->uc_mcontext.__reserved);
	struct esr_context found;

	while ((size_t)(end - record) >= sizeof(found)) {
		memcpy(&found, record, sizeof(found));
		if (found.head.magic == ESR_MAGIC)
			return found.esr & 1 << 6 ? "write" : "read";
		if (found.head.magic == 0 || found.head.size == 0 || found.head.size > (size_t)(end - record))
			break;
		record += found.head.size;
	}
#endif
	(void)context;
	return "access";
}

static uintptr_t counter(const ucontext_t *context)
{
#if defined(__x86_64__) && defined(REG_RIP)
	return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return (uintptr_t)context->uc_mcontext.pc;
#else
	(void)context;
	return 0;
#endif
}

static bool is_default(const struct sigaction *action)
{
	return action->sa_handler == SIG_DFL; /* with SA_SIGINFO, too, as the kernel sees it */
}

/* Sent again, it waits until the handler has returned: it ends the process where it came, for the core file to show. */
static void send_after(int signal, const siginfo_t *info)
{
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, signal);
	pthread_sigmask(SIG_BLOCK, &one, NULL);
	dry_unix_resend(signal, info);
}

/* Of an access some time ago: the instruction that runs again has no part in it. */
static bool is_late(int signal, const siginfo_t *info)
{
	return signal == SIGSEGV && info->si_code == SEGV_MTEAERR;
}

/*
 * After the report the fault takes its course: to the handler that was there before, else the instruction
 * runs again and ends the process where the fault is.
 */
static void handle(int signal, siginfo_t *info, void *context)
{
	const struct sigaction *next = &before[signal == SIGBUS];
	int saved = errno;

	if (is_late(signal, info))
		on_fault(0, NULL, counter(context));
	else if (info->si_code > 0) /* not sent by kill() */
		on_fault((uintptr_t)info->si_addr, kind_of_access(context), counter(context));
	errno = saved;
	if (is_default(next) || next->sa_handler == SIG_IGN) {
		dry_unix_real_sigaction(signal, next, NULL);
		if (info->si_code <= 0 || is_late(signal, info))
			send_after(signal, info);
	} else if (next->sa_flags & SA_SIGINFO) {
		next->sa_sigaction(signal, info, context);
	} else {
		next->sa_handler(signal);
	}
}

/* With the mask and the stack of who was there, who then runs as if called itself. */
static void stand_in(int signal)
{
	struct sigaction *under = &before[signal == SIGBUS], action;

	if (dry_unix_real_sigaction(signal, NULL, under) != 0)
		return;
	action = *under;
	if (is_default(under))
		action.sa_flags = SA_ONSTACK | SA_NODEFER;
	action.sa_flags |= SA_SIGINFO;
	action.sa_sigaction = handle;
	dry_unix_real_sigaction(signal, &action, NULL);
}

bool dry_unix_handles(int signal)
{
	return on_fault != NULL && (signal == SIGSEGV || signal == SIGBUS);
}

int dry_unix_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	bool resets = action != NULL && is_default(action);
	struct sigaction was;
	int failed = dry_unix_real_sigaction(signal, action, &was);

	if (failed)
		return failed;
	if ((was.sa_flags & SA_SIGINFO) && was.sa_sigaction == handle)
		was = before[signal == SIGBUS];
	if (resets)
		stand_in(signal);
	if (old != NULL)
		*old = was;
	return 0;
}

void dry_port_on_fault(void (*fn)(uintptr_t address, const char *access, uintptr_t pc))
{
	int saved = errno;

	on_fault = fn;
	stand_in(SIGSEGV);
	stand_in(SIGBUS);
	errno = saved;
}

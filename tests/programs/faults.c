/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * faults HOW: what a program sees of its own handlers of faults, then a fault. Bits of HOW: SIGBUS for SIGSEGV, a stack of its
 * own, the default again before the fault, a handler for once, a second signal sent. For test_faults.sh.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char stack[65536];
static char *volatile nowhere = (char *)0x123000;

static void show(const char *what, int number)
{
	struct sigaction now;

	sigaction(number, NULL, &now);
	printf("%s: %s, flags %x, mask %d%d\n", what,
	       now.sa_handler == SIG_DFL ? "default" : now.sa_handler == SIG_IGN ? "ignored" : "set", (unsigned)now.sa_flags,
	       sigismember(&now.sa_mask, number), sigismember(&now.sa_mask, SIGUSR1));
}

static void plain(int number)
{
	printf("plain %d\n", number);
	signal(number, SIG_DFL);
}

static void full(int number, siginfo_t *info, void *context)
{
	sigset_t masked;
	char here;

	sigprocmask(SIG_BLOCK, NULL, &masked);
	printf("signal %d, code %d, %s, stack %d, mask %d%d, context %d\n", number, info->si_code,
	       info->si_code > 0 ? info->si_addr == nowhere ? "right place" : "wrong place" :
				   info->si_pid == getpid() ? "sent by me" : "sent by nobody",
	       &here >= stack && &here < stack + sizeof(stack), sigismember(&masked, number), sigismember(&masked, SIGUSR1),
	       context != NULL);
	if (info->si_code > 0)
		signal(number, SIG_DFL);
}

int main(int argc, char **argv)
{
	int how = argc == 2 ? atoi(argv[1]) : 0, number = how & 1 ? SIGBUS : SIGSEGV;
	struct sigaction action = { .sa_sigaction = full, .sa_flags = SA_SIGINFO }, old;
	stack_t apart = { .ss_sp = stack, .ss_size = sizeof(stack) };

	setvbuf(stdout, NULL, _IONBF, 0);
	sigaltstack(&apart, NULL);
	show("at start", number);
	printf("it was the default: %d\n", signal(number, plain) == SIG_DFL);
	show("after signal()", number);
	raise(number);
	show("after it", number);
	action.sa_flags |= (how & 2 ? SA_ONSTACK : 0) | (how & 8 ? (int)SA_RESETHAND : 0);
	sigaddset(&action.sa_mask, SIGUSR1);
	printf("sigaction(): %d", sigaction(number, &action, &old));
	printf(", it was the default: %d\n", old.sa_handler == SIG_DFL);
	show("mine", number);
	raise(number);
	if (how & 4)
		signal(number, SIG_DFL);
	show("in the end", number);
	if (how & 16)
		raise(number);
	*nowhere = 1;
	return 0;
}

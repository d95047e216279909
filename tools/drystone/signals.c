/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include <stddef.h>

#include "cli.h"

volatile sig_atomic_t cli_interrupted;

void cli_on_signals(const int *signals, void (*from)(int), void (*to)(int))
{
	struct sigaction action = { .sa_handler = to }, now;

	for (; *signals != 0; signals++)
		if (sigaction(*signals, NULL, &now) == 0 && now.sa_handler == from)
			sigaction(*signals, &action, NULL);
}

static void interrupt(int signal)
{
	(void)signal;
	cli_interrupted = 1;
}

void cli_catch_signals(const int *signals)
{
	cli_on_signals(signals, SIG_DFL, interrupt);
}

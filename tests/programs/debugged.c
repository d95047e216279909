// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* For gdb: blocks of each kind, whose addresses are in variables; it stops in stop_here(). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *live, *freed, *run, *extent, *middle;

__attribute__((noinline)) void stop_here(void)
{
	__asm__ volatile("" : : : "memory");
}

int main(int argc, char **argv)
{
	live = malloc(100);
	freed = malloc(100);
	run = malloc(100000);
	extent = malloc(5 << 20);
	middle = extent + 12345;
	strcpy(live, "live");
	free(freed);
	stop_here();
	if (argc > 1) {
		printf("%p %p %p %p\n", (void *)live, (void *)freed, (void *)run, (void *)extent);
		fflush(stdout);
		pause();
	}
	return argv[0] == NULL;
}

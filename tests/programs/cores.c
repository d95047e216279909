/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * cores HOW: ends by a signal of its own making, three functions deep, and leaves a core file without what is big. For
 * test_cores.sh.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BIG ((uintptr_t)1 << 20)

static const char *how;
static char *volatile nowhere = (char *)0x123000;
static void (*volatile no_function)(void) = (void (*)(void))0x456000;

/* Of all mappings the small ones are dumped, and the one that `here` is in. */
static void leave_out(const void *here)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	uintptr_t from[400], to[400];
	unsigned count = 0;
	char line[512];

	while (maps && count < 400 && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &from[count], &to[count]) == 2)
			count++;
	for (unsigned i = 0; i < count; i++)
		if (to[i] - from[i] > BIG && ((uintptr_t)here < from[i] || (uintptr_t)here >= to[i]))
			madvise((void *)from[i], to[i] - from[i], MADV_DONTDUMP);
}

__attribute__((noinline)) static int fall(int first, int second)
{
	leave_out(&first);
	printf("0x%x 0x%x\n", (unsigned)getpid(), (unsigned)gettid());
	fflush(stdout);
	if (strcmp(how, "write") == 0)
		*nowhere = (char)first;
	else if (strcmp(how, "jump") == 0)
		no_function();
	else if (strcmp(how, "bus") == 0)
		second += *(volatile char *)mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(tmpfile()), 0);
	else if (strcmp(how, "sent") == 0)
		raise(SIGSEGV);
	return first + second;
}

__attribute__((noinline)) static int walk(int first)
{
	char *block = malloc(100 + (size_t)first);

	memset(block, first, 100);
	first = fall(first, block[50]) + 1;
	free(block);
	return first;
}

static void *run(void *arg)
{
	printf("%d\n", walk(*(int *)arg));
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int number = 17;

	how = argc > 1 ? argv[1] : "";
	for (int i = 0; i < 100; i++)
		free(malloc((size_t)i * 100));
	if (argc > 2 && pthread_create(&thread, NULL, run, &number) == 0)
		pthread_join(thread, NULL);
	else
		run(&number);
	return 0;
}

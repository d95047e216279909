/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * For a search of lost blocks: memory that faults in the midst of what can be written otherwise, guards (MADV_GUARD_INSTALL) and
 * parts of a block. "guards": pointers on both sides of one, and two stacks in one mapping, each above its guard, as glibc
 * has them; far below what is in use there is, on each, the only pointer to a block. "blocks": in blocks. Status 77: no guards.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lost.h"

#define GUARD_INSTALL 102 /* MADV_GUARD_INSTALL: headers of 6.13 */
#define STACK	      ((size_t)256 << 10)

static size_t page;
static int ready[2];
static char *volatile holder[2];

static NOINLINE void *get(size_t size)
{
	char *block = malloc(size);

	memset(block, 0, size);
	__asm__ volatile("" : : "r"(block) : "memory");
	return block;
}

static void guard(void *at)
{
	if (madvise(at, page, GUARD_INSTALL) != 0)
		exit(77);
}

static NOINLINE void lose_deep(size_t size)
{
	void *volatile room[16384];

	room[0] = get(size);
}

static void *on_stack(void *arg)
{
	void *volatile block = get(5000);

	lose_deep((uintptr_t)arg);
	free(get(100)); /* what is left in registers */
	if (write(ready[1], "x", 1) == 1)
		for (;;)
			pause();
	return block;
}

static void begin(char *stack, size_t lost)
{
	pthread_attr_t attr;
	pthread_t thread;
	char x;

	guard(stack);
	if (pthread_attr_init(&attr) != 0 || pthread_attr_setstack(&attr, stack + page, STACK - page) != 0 ||
	    pthread_create(&thread, &attr, on_stack, (void *)lost) != 0 || read(ready[0], &x, 1) != 1)
		exit(3);
}

static NOINLINE void guards(void)
{
	char *stacks = mmap(NULL, 2 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *pages = mmap(NULL, 6 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*(void **)pages = get(4000);
	guard(pages + page);
	*(void **)(pages + 2 * page) = get(4001);
	*(void **)(pages + 4 * page) = get(4002);
	guard(pages + 5 * page);
	if (pipe(ready) != 0)
		exit(3);
	begin(stacks, 1111);
	begin(stacks + STACK, 2222);
}

static NOINLINE void blocks(void)
{
	for (int i = 0; i < 2; i++) {
		holder[i] = aligned_alloc(page, 64 * page);
		memset(holder[i], 0, 64 * page);
		*(void **)holder[i] = get(4003);
		*(void **)(holder[i] + 3 * page) = get(4004);
	}
	guard(holder[0] + page);
	if (mprotect(holder[1] + page, page, PROT_NONE) != 0)
		exit(3);
}

/* Of the files that a search opens at a time, the second one cannot be had: /proc/self/pagemap. */
static void no_pagemap(void)
{
	int next = dup(0);
	struct rlimit files = { (rlim_t)next + 1, (rlim_t)next + 1 };

	if (next < 0 || close(next) != 0 || setrlimit(RLIMIT_NOFILE, &files) != 0)
		exit(3);
}

int main(int argc, char **argv)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	if (argc > 1 && strcmp(argv[1], "guards") == 0)
		guards();
	else
		blocks();
	wipe();
	if (argc > 2)
		no_pagemap();
	return 0;
}

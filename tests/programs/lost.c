/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* For a search of lost blocks: blocks that are reached in every way there is, and what is lost if the argument says so. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lost.h"

struct node {
	struct node *next;
	char rest[40];
};

static void *volatile in_data = (void *)&in_data;
static void *volatile in_bss, *volatile mapped;
static char *volatile interior, *volatile of_big, *volatile not_lost;
static struct node *volatile tagged;
static __thread void *volatile in_tls;
static int ready[2];

static NOINLINE void *get(size_t size)
{
	char *block = malloc(size);

	memset(block, 0, size);
	__asm__ volatile("" : : "r"(block) : "memory");
	return block;
}

/* ---- reached --------------------------------------------------------------------------------- */

/* One thread has its block on its stack, and one in a register that no call saves. */
static void *on_stack(void *arg)
{
	void *volatile block = get(3001);

	in_tls = get(3002);
	if (write(ready[1], "x", 1) == 1)
		for (;;)
			pause();
	return block == arg ? NULL : arg;
}

static void *in_register(void *arg)
{
	register void *block = get(3003);

	wipe();
#ifdef __x86_64__
	register void *kept __asm__("r15") = block;
	block = NULL;
	if (write(ready[1], "x", 1) == 1)
		for (;;)
			__asm__ volatile("" : "+r"(kept)); /* its only copy, while it runs */
#else
	if (write(ready[1], "x", 1) == 1)
		for (;;)
			__asm__ volatile("" : "+r"(block));
#endif
	return block == arg ? NULL : arg;
}

static NOINLINE void keep(void)
{
	void **page = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;
	char x;

	in_data = get(3010);
	in_bss = get(3011);
	*(void **)in_bss = get(3012);
	interior = (char *)get(3013) + 3012;
	of_big = (char *)get(5 << 20) + (4 << 20);
	*(void **)(of_big + (1 << 19)) = get(3014);
	tagged = (struct node *)((char *)get(sizeof(struct node)) + 1);
	page[12345] = get(3015);
	mapped = page;
	in_tls = get(3016);
	setvbuf(stdout, NULL, _IOFBF, 0);
	if (pipe(ready) != 0)
		exit(3);
	pthread_create(&thread, NULL, on_stack, NULL);
	if (read(ready[0], &x, 1) == 1)
		pthread_create(&thread, NULL, in_register, NULL);
	if (read(ready[0], &x, 1) != 1)
		exit(3);
}

/* ---- lost ------------------------------------------------------------------------------------ */

static NOINLINE void *lose_chain(void)
{
	struct node *first = get(sizeof(*first)), *second = get(200), *third = get(400);

	first->next = second;
	second->next = third;
	third->next = second; /* what is behind it is a ring */
	return first;
}

static NOINLINE void *lose_ring(void)
{
	struct node *first = get(1000), *second = get(1000), *third = get(1000);

	first->next = second;
	second->next = third;
	third->next = first;
	return second;
}

/* The block at the lower address, which is looked at first, leads to the other one, or the other way round. */
static NOINLINE void lose_pair(int upwards)
{
	struct node *low = get(640), *high = get(640);

	if (low > high) {
		struct node *other = low;
		low = high;
		high = other;
	}
	if (upwards)
		low->next = high;
	else
		high->next = low;
}

/* Its only pointer lies on the stack, far below what is in use. */
static NOINLINE void lose_deep(void)
{
	void *volatile room[32768];

	room[0] = get(4321);
}

/* Its only pointer is in a block that was freed. */
static NOINLINE void lose_in_freed(size_t holder, size_t size)
{
	void *volatile *block = get(holder);

	block[20] = get(size);
	free((void *)block);
}

/*
 * One that has no multiple of 4 GiB in it. An int 0 that lies over the lower half of an old pointer is, as a word, a pointer to
 * such an address; in half of all processes libc's frame below main() has one (__mask_was_saved of its jmp_buf, and the padding
 * behind it).
 */
static NOINLINE void *lose_big(void)
{
	size_t size = 7 << 20;
	char *block = get(size);

	if (((uintptr_t)block - 1) >> 32 != ((uintptr_t)block + size) >> 32) {
		not_lost = block;
		block = get(size);
	}
	return block;
}

static NOINLINE void *lose_small(void)
{
	return get(24);
}

static NOINLINE void *lose_aligned(void)
{
	void *block = NULL;

	return posix_memalign(&block, 256, 300) == 0 ? block : NULL;
}

static NOINLINE void lose_all(void)
{
	lose_chain();
	lose_ring();
	lose_pair(0);
	lose_pair(1);
	lose_big();
	lose_aligned();
	for (int i = 0; i < 10; i++)
		lose_small();
	lose_deep();
	lose_in_freed(500, 555);
	lose_in_freed(3 << 20, 777);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "none") != 0)
		keep();
	if (strcmp(what, "lose") == 0) {
		lose_all();
		wipe();
	}
	if (strcmp(what, "fork") == 0 && fork() > 0)
		wait(NULL);
	free(get(100));
	puts(what);
	return argc > 2 ? atoi(argv[2]) : 0;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What profiles keep back so that it is not used again soon, in a program of one thread, whose own frees give memory back:
 *
 *   quarantine   debug:FZPUQ: a freed object is not handed out again, however many of another size are freed after it
 *   choices      secure:1: after a trim the same allocations get other places of their slabs than before it
 *   empty        check:1: a block of 0 bytes is not handed out again by the next aligned allocation
 */
#define _GNU_SOURCE 1
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../support/check.h"
#include "../support/profiles.h"

#define OTHERS 300000
#define CHOSEN 200

extern int malloc_trim(size_t left) __attribute__((weak)); /* musl has none */

static int quarantine(void)
{
	static void *others[OTHERS];
	void *neighbour = malloc(48), *object = malloc(48);

	CHECK(neighbour && object);
	free(object);
	for (size_t i = 0; i < OTHERS; i++)
		CHECK(others[i] = malloc(100));
	for (size_t i = 0; i < OTHERS; i++)
		free(others[i]);
	for (int i = 0; i < 500; i++) {
		void *next = malloc(48);

		CHECK(next != object);
		OPAQUE(next);
	}
	free(neighbour);
	return 0;
}

/* Of objects by their order of allocation, how many lie below each. */
static void places(uint16_t rank[CHOSEN])
{
	static void *objects[CHOSEN];

	for (int i = 0; i < CHOSEN; i++)
		CHECK(objects[i] = malloc(64));
	for (int i = 0; i < CHOSEN; i++) {
		rank[i] = 0;
		for (int j = 0; j < CHOSEN; j++)
			rank[i] += (uintptr_t)objects[j] < (uintptr_t)objects[i];
	}
	for (int i = 0; i < CHOSEN; i++)
		free(objects[i]);
}

static int choices(void)
{
	static uint16_t before[CHOSEN], after[CHOSEN];

	for (int round = 0; malloc_trim != NULL && round < 5; round++) {
		malloc_trim(0);
		places(after);
		int same = 0;
		for (int i = 0; i < CHOSEN; i++)
			same += before[i] == after[i];
		CHECK(round == 0 || same < CHOSEN / 4);
		memcpy(before, after, sizeof(before));
	}
	return 0;
}

static int empty(void)
{
	for (size_t align = 32; align <= 1024; align *= 2) {
		void *block = malloc(0), *aligned;

		free(block);
		aligned = aligned_alloc(align, 0);
		CHECK(aligned != block && (uintptr_t)aligned % align == 0);
		free(aligned);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return strcmp(argv[1], "quarantine") == 0 ? quarantine() : strcmp(argv[1], "choices") == 0 ? choices() : empty();
	CHECK_EQ(test_again("debug:FZPUQ", "quarantine", NULL), 0);
	CHECK_EQ(test_again("secure:1", "choices", NULL), 0);
	CHECK_EQ(test_again("check:1", "empty", NULL), 0);
	return 0;
}

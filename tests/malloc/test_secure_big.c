/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * secure:1: more big blocks than are guarded. What the others are given, and what they get more of by realloc(), is zero: it may
 * have been another's. With the size class of pages, as it stands, and by a copy. As it is, only that nothing is lost.
 */
#define _GNU_SOURCE 1
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../support/check.h"

#define GUARDED 16384
#define SECRETS 8

static bool secure;

static void leave_secrets(size_t size)
{
	char *block[SECRETS];

	for (int i = 0; i < SECRETS; i++) {
		block[i] = malloc(size);
		CHECK(block[i] != NULL);
		memset(block[i], 'S', size);
	}
	for (int i = 0; i < SECRETS; i++)
		free(block[i]);
}

static void is_zero(const char *block, size_t from, size_t to)
{
	for (; secure && from < to; from++)
		CHECK(block[from] == 0);
}

static void grows(size_t size, size_t more)
{
	leave_secrets(2 * size);
	char *block = malloc(size);
	CHECK(block != NULL);
	is_zero(block, 0, malloc_usable_size(block));
	memset(block, 'a', size);
	block = realloc(block, more);
	CHECK(block != NULL && block[0] == 'a' && block[size - 1] == 'a');
	is_zero(block, size, malloc_usable_size(block));
	free(block);
}

int main(void)
{
	const char *options = getenv("DRYSTONE_CONF");

	secure = options != NULL && strstr(options, "secure:1") != NULL;
	for (int i = 0; i < GUARDED + 10; i++) /* never freed */
		CHECK(malloc(33000) != NULL);
	for (int i = 0; i < 3; i++) {
		grows(40000, 41000);
		grows(100000, 175000);
		grows(400000, 700000);
		grows(3000000, 3100000);
		grows(3000000, 5250000);
	}
	return 0;
}

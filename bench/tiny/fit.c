/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * fit typed|blocks SIZE [POOL_BYTES]: how many objects of SIZE bytes a pool holds.
 *
 * typed: objects of one kind, aligned as a structure of words would be (the largest power of two that divides
 * the size, at most 8). blocks: general allocation. Each object is filled, and verified at the
 * end: objects that overlap do not count.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "subject.h"

#define POOL_MOST (1u << 20)

static unsigned char pool[POOL_MOST] __attribute__((aligned(4096)));
static unsigned char *objects[POOL_MOST / 8];

static bool holds(const unsigned char *object, size_t size, size_t index)
{
	for (size_t i = 0; i < size; i++)
		if (object[i] != (unsigned char)(index * 31 + i))
			return false;
	return true;
}

int main(int argc, char **argv)
{
	size_t size = argc > 2 ? strtoul(argv[2], NULL, 0) : 0, n = 0;
	size_t pool_size = argc > 3 ? strtoul(argv[3], NULL, 0) : 65536;
	bool typed = argc > 1 && !strcmp(argv[1], "typed");
	struct kind kind = { .name = "fit", .size = size, .align = size & -size };

	if (!size || pool_size > POOL_MOST || size < 8) {
		fprintf(stderr, "use: fit typed|blocks SIZE [POOL_BYTES]\n");
		return 2;
	}
	if (kind.align > 8)
		kind.align = 8;
	if (!subject_open(pool, pool_size) || (typed && !subject_kind(&kind))) {
		printf("fit 0\n");
		return 0;
	}
	while ((objects[n] = typed ? subject_get(&kind) : subject_alloc(size))) {
		for (size_t i = 0; i < size; i++)
			objects[n][i] = (unsigned char)(n * 31 + i);
		n++;
	}
	for (size_t i = 0; i < n; i++) {
		if (objects[i] < pool || objects[i] + size > pool + pool_size || !holds(objects[i], size, i)) {
			fprintf(stderr, "fit: %s: object %zu of %zu bytes is damaged\n", subject_name(), i, size);
			return 1;
		}
	}
	printf("fit %zu\n", n);
	return 0;
}

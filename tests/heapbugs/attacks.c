/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What attackers build of an error: the same block twice, one at a place of their choice, one over another. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

/* free a, b, a; then a comes twice. */
static int dup_and_write(size_t size, long n)
{
	void *a = block(size), *b = block(size), *got[8];

	free(a);
	free(b);
	free(opaque(a));
	for (int i = 0; i < n; i++) {
		got[i] = malloc(size);
		for (int k = 0; k < i; k++)
			if (got[k] == got[i])
				return SILENT;
	}
	return CONTAINED;
}

static uintptr_t target[64] __attribute__((aligned(16)));

/* The link of a freed chunk leads to a place of the attacker's. */
static int link_to_target(size_t size, long n)
{
	uintptr_t *a = block(size), *b = block(size);

	free(a);
	free(b);
	b[0] = (uintptr_t)&target[2];
	for (int i = 0; i < n; i++)
		if ((uintptr_t *)malloc(size) == &target[2])
			return SILENT;
	return CONTAINED;
}

/* The same by an overflow from the block in front. */
static int link_by_overflow(size_t size, long n)
{
	char *a = block(size), *b = block(size);

	free(b);
	for (size_t i = 0; i + 8 <= 64; i += 8)
		*(uintptr_t *)opaque(a + size + i) = (uintptr_t)&target[2];
	for (int i = 0; i < n; i++)
		if ((uintptr_t *)malloc(size) == &target[2])
			return SILENT;
	return CONTAINED;
}

/* The size behind the last block, then a request that reaches round to anywhere. */
static int forced_top(void)
{
	char *p = block(256);
	uintptr_t *q;

	memset(opaque(p + 256), 0xff, 16);
	q = opaque(malloc((size_t)((uintptr_t)target - (uintptr_t)p - 512)));
	return q != NULL ? SILENT : CONTAINED;
}

/* A zero byte into the size behind; the block then freed seems to reach further back than it does. */
static int null_into_size(size_t size, long n)
{
	char *a = block(size), *b = block(size), *c = block(size);

	free(a);
	*(uintptr_t *)opaque(b + size - 8) = 2 * (size + 8);
	*(volatile char *)opaque(b + size) = 0;
	free(c);
	for (int i = 0; i < n; i++) {
		a = opaque(malloc(2 * size));
		if (a < b && b < a + 2 * size)
			return SILENT;
	}
	return CONTAINED;
}

/* The size in front of a block is made bigger, so that its free takes the next one with it. */
static int size_made_bigger(size_t size, long n)
{
	uintptr_t *a = block(size), *b = block(size), *c = block(size);

	(void)n;
	a[size / 8] = 2 * (size + 16) | 1;
	free(b);
	b = opaque(malloc(2 * size));
	return b <= c && c < b + size / 4 ? SILENT : CONTAINED;
}

/* What the neighbour holds is changed, and used before anything is freed. */
static int neighbour_used(size_t size, long n)
{
	char *a = block(size), *b = block(size);

	memset(opaque(a), 0x41, size + (size_t)n);
	if (b[0] == 0x41)
		return SILENT;
	return CONTAINED;
}

#define ONE(name, fn)        { name, fn, NULL, 0, 0 }
#define WITH(name, fn, s, n) { name, NULL, fn, s, n }

const struct heapbug attacks[] = {
	WITH("attack-dup-small", dup_and_write, SMALL, 8),
	WITH("attack-dup-middle", dup_and_write, MIDDLE, 8),
	WITH("attack-link-small", link_to_target, SMALL, 8),
	WITH("attack-link-middle", link_to_target, MIDDLE, 8),
	WITH("attack-link-large", link_to_target, LARGE, 8),
	WITH("attack-link-overflow", link_by_overflow, EXACT, 8),
	ONE("attack-top-size", forced_top),
	WITH("attack-null-size", null_into_size, 248, 8),
	WITH("attack-null-size-big", null_into_size, 1272, 8),
	WITH("attack-bigger-size", size_made_bigger, 24, 0),
	WITH("attack-bigger-size-big", size_made_bigger, 1304, 0),
	WITH("attack-neighbour-small", neighbour_used, 24, 16),
	WITH("attack-neighbour", neighbour_used, EXACT, 64),
	WITH("attack-neighbour-big", neighbour_used, 131064, 64),
};
const size_t attacks_count = sizeof(attacks) / sizeof(attacks[0]);

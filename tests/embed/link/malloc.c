/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A program with a malloc of its own, as libc's manual allows: it is the one that is used. */
#include <drystone/drystone.h>
#include <stdio.h>
#include <string.h>

static char pool[1 << 20];
static size_t taken;
static int frees;

void *malloc(size_t size)
{
	char *block = pool + taken + 16;

	taken += 16 + (size + 15) / 16 * 16;
	if (taken > sizeof(pool))
		return NULL;
	memcpy(block - 16, &size, sizeof(size));
	return block;
}

void free(void *block)
{
	frees += block != NULL;
}

void *calloc(size_t count, size_t size)
{
	return malloc(count * size); /* the pool is zero and used once */
}

void *realloc(void *block, size_t size)
{
	void *moved = malloc(size);
	size_t old;

	if (block != NULL && moved != NULL) {
		memcpy(&old, (char *)block - 16, sizeof(old));
		memcpy(moved, block, old < size ? old : size);
	}
	return moved;
}

int main(void)
{
	void *volatile block = malloc(100);
	void *other = dry_alloc(NULL, 100);
	int own = (char *)block > pool && (char *)block < pool + sizeof(pool);
	int its = other != NULL && ((char *)other < pool || (char *)other >= pool + sizeof(pool));

	free(block);
	dry_free(NULL, other);
	printf("%zu bytes of the pool\n", taken);
	return own && its && frees > 0 ? 0 : 1;
}

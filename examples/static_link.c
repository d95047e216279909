/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A program linked with drystone: malloc is drystone's, without a line of code
 * that says so. The default heap's own figures prove it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <drystone/drystone.h>

int main(void)
{
	enum { BLOCKS = 1000 };
	static char *block[BLOCKS];
	struct dry_heap_stats before, after;

	if (dry_heap_stats(NULL, &before) != 0)
		return 1;
	for (size_t i = 0; i < BLOCKS; i++) {
		block[i] = malloc(1000);
		if (block[i] == NULL || (uintptr_t)block[i] % 16 != 0)
			return 1;
		memset(block[i], (int)i, 1000);
	}
	if (dry_heap_stats(NULL, &after) != 0)
		return 1;
	printf("drystone %s: %u blocks of 1000 bytes took %zu bytes of pages\n", dry_version(), BLOCKS,
	       after.in_use - before.in_use);
	/* A thousand such blocks cannot have come from pages that were in use before. */
	if (after.in_use < before.in_use + BLOCKS * 1000 / 2)
		return 1;
	/* The library knows the pointers of plain malloc as its own. */
	for (size_t i = 0; i < BLOCKS; i++) {
		if (dry_usable_size(NULL, block[i]) < 1000 || block[i][999] != (char)i)
			return 1;
		free(block[i]);
	}
	return dry_heap_check(NULL) != 0;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Reads that no object's slab has an answer to: behind it, and where it was. */
#include <malloc.h>

#include "bugs.h"

#define PAGE 4096

static volatile unsigned sink;

void read_next_page(void)
{
	char *block = get(64);

	sink = *(volatile unsigned char *)(block - (size_t)block % PAGE + PAGE);
	settle(64);
}

void read_given_back(void)
{
	static char *blocks[40 * N];
	char *first;

	for (int i = 0; i < 40 * N; i++)
		blocks[i] = get(64);
	first = blocks[0];
	for (int i = 0; i < 40 * N; i++)
		give(blocks[i]);
	settle(64);
	sink = *(volatile unsigned char *)first;
}

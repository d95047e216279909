/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What sequential.c and its verification share. */
#ifndef DRY_TINY_SEQUENTIAL_H
#define DRY_TINY_SEQUENTIAL_H

#include "tiny/pages.h"

/* The first unit of a free block. */
struct dry_unit {
	uint16_t units, next; /* next: its index in the sheet; 0: none */
};

/* In front of a sheet. free = sum of its blocks' units; first: index of the first, 0: none. In units. */
struct dry_sheet {
	struct dry_sheet *next, *prev; /* ring, if free != 0 */
	struct dry_sheet **list;
	uint32_t units, first, free;
};

/* A run of pages; false if none begins there. */
bool dry_tiny_block_free(struct dry_heap *heap, void *block);

#endif

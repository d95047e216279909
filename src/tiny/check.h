/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Verification of a heap. check.c walks pools, runs and classes; check_slab.c or sequential_check.c
 * judge what is in pages and classes; both ask check_expect.c.
 */
#ifndef DRY_TINY_CHECK_H
#define DRY_TINY_CHECK_H

#include "tiny/pages.h"

struct dry_check {
	struct dry_heap *heap;
	const char *wrong; /* the first inconsistency */
	const void *where;
	size_t used; /* pages seen in slabs and blocks */
};

/* Notes the first thing that does not hold; whether it does. */
bool dry_check_expect(struct dry_check *check, bool holds, const char *what, const void *where);

/* A pointer to something of this size, aligned, inside of the heap's memory. */
bool dry_check_inside(struct dry_heap *heap, const void *address, size_t bytes);

/* It is one of the heap's. */
bool dry_check_known(struct dry_heap *heap, const struct dry_class *class);

/* The pages of the slab that begins at a page; 0 if something is wrong with it. */
size_t dry_check_slab(struct dry_check *check, const struct dry_pool *pool, size_t page);

/* The lists and sums of a class; its slabs are good. */
void dry_check_class(struct dry_check *check, const struct dry_class *class);

#endif

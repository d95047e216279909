/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the files of the bugs share. */
#ifndef DRY_TESTS_CORRUPTIONS_BUGS_H
#define DRY_TESTS_CORRUPTIONS_BUGS_H

#include <stddef.h>
#include <stdlib.h>

#include "../support/check.h"

#define N 400

static inline char *get(size_t size)
{
	char *object = malloc(size);

	CHECK(object);
	OPAQUE(object);
	return object;
}

static inline void give(void *object)
{
	OPAQUE(object);
	free(object);
}

void settle(size_t size); /* objects come and go, then all that is free goes back */
void *free_it(void *object);

/* 100,000 allocations of all sizes. */
void warm_up(void);

void two_owners_at_once(void);
void two_owners_full_array(void);
void two_owners_other_between(void);
void two_owners_threads(void);
void two_owners_overlap(void);

void read_next_page(void);
void read_given_back(void);
void own_heap_double_free(void);
void own_heap_overflow(void);
void own_heap_write_after_free(void);
void own_heap_interior(void);
void own_heap_natural_right_1(void);
void own_heap_natural_after_free(void);
void typed_page_right_1(void);
void typed_pages_right_1(void);
void typed_page_after_free(void);
void own_heap_typed_freed_apart(void);
void typed_freed_apart(void);
void constructed_write_after_free(void);
void overflow_after_shrink(void);
void overflow_before_shrink(void);
void overflow_big(void);
void overflow_far_aligned(void);
void kept_left(void);
void kept_left_first(void);
void write_to_nothing(void);
void sized_free_big(void);
void sized_free_twice(void);
void sized_free_twice_big(void);
void sized_free_twice_zero(void);
void double_free_unmapped(void);

#endif

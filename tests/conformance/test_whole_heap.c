/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Heaps over given memory, or with a limit, give blocks up to their own size, and let them grow and shrink where they are.
 * DRY_TEST_NOT_TINY: it takes more memory than boards have.
 */
#include <stdlib.h>

#include "../support/exercise.h"

#define MIB ((size_t)1 << 20)

static void refused(dry_heap *heap, size_t size)
{
	errno = 0;
	CHECK(dry_alloc(heap, size) == NULL && errno == ENOMEM);
	CHECK_EQ(dry_heap_check(heap), 0);
}

static char *block(dry_heap *heap, size_t size)
{
	char *at = dry_alloc(heap, size);

	CHECK(at != NULL && dry_usable_size(heap, at) >= size);
	memset(at, 0x5a, size);
	CHECK_EQ(dry_heap_check(heap), 0);
	return at;
}

static bool is_zero(const char *at, size_t size)
{
	while (size != 0 && at[size - 1] == 0)
		size--;
	return size == 0;
}

/* A block of `big` of the heap's bytes, in which `more` may be added where it is. */
static void exercise(dry_heap *heap, size_t big, size_t more)
{
	char *small = block(heap, 3000); /* before, so that it lies in no chunk that the big ones need */

	for (int round = 0; round < 3; round++) {
		char *at = block(heap, big);
		CHECK_EQ(*(volatile char *)(at + big / 2), 0x5a);
		dry_free(heap, at);
		at = dry_zalloc(heap, big);
		CHECK(at != NULL && is_zero(at, big));
		pattern_fill(at, big);
		char *grown = dry_realloc(heap, at, big + more);
		CHECK(grown == at); /* there is no room for two */
		CHECK(pattern_holds(at, big));
		memset(at + big, 1, more);
		errno = 0;
		CHECK(dry_realloc(heap, at, big * 3) == NULL && errno == ENOMEM);
		grown = dry_realloc(heap, at, big / 4);
		CHECK(grown == at && dry_usable_size(heap, at) < big / 2);
		char *other = block(heap, big / 2); /* in what was given back */
		dry_free(heap, other);
		dry_free(heap, at);
		CHECK_EQ(dry_heap_check(heap), 0);
		if (round == 1)
			dry_heap_trim(heap);
	}
	dry_free(heap, small);
}

static void over_memory(size_t offset)
{
	size_t size = 64 * MIB;
	char *memory = malloc(size + 2 * MIB), *start = memory + offset;
	struct dry_heap_attr attr = { .memory = start, .memory_size = size };

	memset(memory, 0xa5, size + 2 * MIB);
	dry_heap *heap = dry_heap_create(&attr);
	CHECK(heap != NULL);
	char *at = block(heap, 40 * MIB);
	CHECK(at >= start && at + 40 * MIB <= start + size);
	dry_free(heap, at);
	refused(heap, 65 * MIB);
	exercise(heap, 40 * MIB, 8 * MIB);
	at = dry_alloc_aligned(heap, 8 * MIB, 10 * MIB);
	CHECK(at != NULL && (uintptr_t)at % (8 * MIB) == 0);
	dry_free(heap, at);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	for (size_t i = 0; i < offset; i++)
		CHECK((unsigned char)memory[i] == 0xa5);
	for (size_t i = offset + size; i < size + 2 * MIB; i++)
		CHECK((unsigned char)memory[i] == 0xa5);
	free(memory);
}

static void with_limit(void)
{
	struct dry_heap_attr attr = { .limit = 32 * MIB };
	struct dry_heap_stats stats;
	dry_heap *heap = dry_heap_create(&attr);

	CHECK(heap != NULL);
	char *first = block(heap, 3000); /* the small ones of both exercises lie beside it, whatever was free meanwhile */
	refused(heap, 33 * MIB);
	refused(heap, SIZE_MAX / 2);
	exercise(heap, 20 * MIB, 6 * MIB);
	/* To the last page, and not one more. */
	char *at = block(heap, 20 * MIB);
	size_t pages = 0;
	void *page[4096], *last;
	while (pages < 4096 && (last = dry_alloc(heap, 65536)) != NULL)
		page[pages++] = last;
	CHECK(pages > 100 && pages < 12 * MIB / 65536);
	CHECK_EQ(dry_heap_stats(heap, &stats), 0);
	CHECK(stats.in_use + stats.extents + stats.metadata <= attr.limit &&
	      stats.in_use + stats.extents + stats.metadata + 65536 > attr.limit);
	refused(heap, 5 * MIB);
	while (pages != 0)
		dry_free(heap, page[--pages]);
	dry_free(heap, at);
	exercise(heap, 20 * MIB, 6 * MIB);
	dry_free(heap, first);
	CHECK_EQ(dry_heap_destroy(heap), 0);
}

/* Of a new heap over little memory any size that is not of a slab, up to three eighths of it, wherever it lies. Pages of 4 KiB. */
static void any_size(size_t whole)
{
	char *memory = aligned_alloc(65536, whole);

	CHECK(memory != NULL);
	for (size_t size = 33000; size <= whole / 8 * 3; size += 4096 + size / 64) {
		struct dry_heap_attr attr = { .memory = memory, .memory_size = whole, .page_size = 4096 };
		dry_heap *heap = dry_heap_create(&attr);
		CHECK(heap != NULL);
		void *given = dry_alloc(heap, size);
		if (given == NULL)
			fprintf(stderr, "no %zu bytes of %zu\n", size, whole);
		CHECK(given != NULL);
		memset(given, 1, size);
		CHECK_EQ(dry_heap_check(heap), 0);
		CHECK_EQ(dry_heap_destroy(heap), 0);
	}
	free(memory);
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };

	with_limit();
	over_memory(0);
	over_memory(rng_below(&rng, 2 * MIB));
	for (size_t whole = MIB / 2; whole <= 16 * MIB; whole = whole * 2)
		any_size(whole);
	any_size(5 * MIB);
	return 0;
}

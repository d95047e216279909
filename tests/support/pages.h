/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What depends on the size of pages, which is 4, 16 or 64 KiB. For tests of the library under a system. */
#ifndef DRY_TESTS_PAGES_H
#define DRY_TESTS_PAGES_H

#include <stddef.h>
#include <unistd.h>

static inline size_t test_page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static inline size_t test_up_to_pages(size_t size)
{
	return (size + test_page_size() - 1) / test_page_size() * test_page_size();
}

/* How many bytes more so many pages have than those of 4 KiB. */
static inline size_t test_beyond_4k(size_t pages)
{
	return pages * (test_page_size() - 4096);
}

/*
 * Of a bar, an even number, that was set with pages of 4 KiB: under secure:1 blocks of 20,000 bytes are pages by themselves, and in
 * tests in which they have half of the room, the others being small, that is less of it.
 */
static inline size_t test_less_apart(size_t bar)
{
	return bar / 2 + bar / 2 * 5 * 4096 / test_up_to_pages(20000);
}

/*
 * The least power of two for which every management type can be had: a page has at most as many objects as one has bytes, so that
 * one holds the indices of all, and at most 256, which is what a bitmap has.
 */
static inline size_t test_any_type(void)
{
	size_t size = 64;

	while (size * size < test_page_size())
		size *= 2;
	return size;
}

#endif

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

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The names by which newlib-nano's allocator is taken into a program of another C library, and what it asks for there.
 */
#ifndef DRY_BENCH_TINY_NEWLIB_NANO_H
#define DRY_BENCH_TINY_NEWLIB_NANO_H

#include <stddef.h>

#define SUBJECT_NAME "newlib-nano"

void *_malloc_r(void *reent, size_t size);
void *_memalign_r(void *reent, size_t align, size_t size);
void *_realloc_r(void *reent, void *block, size_t size);
void _free_r(void *reent, void *block);

static int newlib_reent[64]; /* its first word is errno */

#define malloc(size)	      _malloc_r(newlib_reent, (size))
#define memalign(align, size) _memalign_r(newlib_reent, (align), (size))
#define realloc(block, size)  _realloc_r(newlib_reent, (block), (size))
#define free(block)	      _free_r(newlib_reent, (block))

void *sbrk(ptrdiff_t change);
void *_sbrk_r(void *reent, ptrdiff_t change);
void __malloc_lock(void *reent);
void __malloc_unlock(void *reent);

void *_sbrk_r(void *reent, ptrdiff_t change)
{
	(void)reent;
	return sbrk(change);
}

void __malloc_lock(void *reent)
{
	(void)reent;
}

void __malloc_unlock(void *reent)
{
	(void)reent;
}

#endif

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The malloc of a small C library (picolibc's, or newlib-nano's by the names in newlib_nano.h) over one
 * pool: sbrk() hands it out. It cannot be started a second time.
 */
#include <errno.h>
#include <stdint.h>

#include "subject.h"

#ifdef SUBJECT_NEWLIB_NANO
#include "newlib_nano.h"
#else
#include <malloc.h>
#include <stdlib.h>
#define SUBJECT_NAME "picolibc"
#endif

static char *pool_start, *pool_now, *pool_end;

void *sbrk(ptrdiff_t change);
void *sbrk(ptrdiff_t change)
{
	char *before = pool_now;

	if (change > pool_end - pool_now || change < pool_start - pool_now) {
		errno = ENOMEM;
		return (void *)-1;
	}
	pool_now += change;
	return before;
}

const char *subject_name(void)
{
	return SUBJECT_NAME;
}

bool subject_open(void *pool, size_t size)
{
	if (pool_start)
		return false;
	pool_start = pool_now = pool;
	pool_end = pool_start + size;
	return true;
}

bool subject_kind(struct kind *kind)
{
	(void)kind;
	return true;
}

void *subject_get(struct kind *kind)
{
	return kind->align > 8 ? memalign(kind->align, kind->size) : malloc(kind->size);
}

void subject_put(struct kind *kind, void *object)
{
	(void)kind;
	free(object);
}

void *subject_alloc(size_t size)
{
	return malloc(size);
}

void *subject_aligned(size_t align, size_t size)
{
	return memalign(align, size);
}

void *subject_resize(void *block, size_t old_size, size_t size)
{
	(void)old_size;
	return realloc(block, size);
}

void subject_free(void *block, size_t size)
{
	(void)size;
	free(block);
}

void subject_free_aligned(void *block, size_t align)
{
	(void)align;
	free(block);
}

size_t subject_in_use(void)
{
	return (size_t)(pool_now - pool_start);
}

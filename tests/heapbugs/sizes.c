/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The same errors at every size: from the smallest block to one that has a mapping of its own. */
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

static char *neighbours[3];

/* A block with others of its size beside it, as a program's are. */
static char *among_others(size_t size)
{
	char *p;

	neighbours[0] = block(size);
	p = block(size);
	neighbours[1] = block(size);
	return p;
}

static int write_over(size_t size, long n)
{
	char *p = among_others(size);

	memset(opaque(p + size), 0x41, (size_t)n);
	free(p);
	return SILENT;
}

/* Only the neighbours are freed. */
static int write_over_kept(size_t size, long n)
{
	char *p = among_others(size);

	memset(opaque(p + size), 0x41, (size_t)n);
	free(neighbours[1]);
	free(neighbours[0]);
	return SILENT;
}

/* A single byte, far behind the block. */
static int write_jump(size_t size, long n)
{
	char *p = among_others(size);

	*(volatile char *)opaque(p + size + n) = 0x41;
	free(p);
	free(neighbours[0]);
	free(neighbours[1]);
	return SILENT;
}

static int write_under(size_t size, long n)
{
	char *p = among_others(size);

	memset(opaque(p - n), 0x41, (size_t)n);
	free(p);
	return SILENT;
}

static int read_over(size_t size, long n)
{
	char *p = among_others(size);

	return leaks(p + size, (size_t)n) ? SILENT : CONTAINED;
}

static int read_under(size_t size, long n)
{
	char *p = among_others(size);

	return leaks(p - n, (size_t)n) ? SILENT : CONTAINED;
}

/* At a part of the block, in 1/100. */
static int read_freed(size_t size, long n)
{
	char *p = among_others(size);

	free(p);
	return leaks(p + size * (size_t)n / 101, 1) ? SILENT : CONTAINED;
}

static int write_freed(size_t size, long n)
{
	char *p = among_others(size);

	free(p);
	*(volatile char *)opaque(p + size * (size_t)n / 101) = 0x41;
	return SILENT;
}

/* Others are freed, and allocated, before the old pointer is used again. */
static int write_freed_later(size_t size, long n)
{
	char *p = among_others(size);

	free(p);
	free(neighbours[0]);
	free(neighbours[1]);
	for (int i = 0; i < 3; i++)
		neighbours[i] = block(size);
	memset(opaque(p), 0x41, (size_t)n);
	for (int i = 0; i < 3; i++)
		free(neighbours[i]);
	return SILENT;
}

static int double_interleaved(size_t size, long n)
{
	char *p = among_others(size), *q = among_others(size);

	(void)n;
	free(p);
	free(q);
	free(opaque(p));
	free(opaque(q));
	return SILENT;
}

static int free_off(size_t size, long n)
{
	free(opaque(among_others(size) + n));
	return SILENT;
}

/* One past the end: the start of nothing that was given out. */
static int free_end(size_t size, long n)
{
	free(opaque(among_others(size) + size + n));
	return SILENT;
}

static int realloc_freed(size_t size, long n)
{
	char *p = among_others(size);

	free(p);
	return opaque(realloc(opaque(p), size * (size_t)n)) == NULL ? CONTAINED : SILENT;
}

/* The old pointer after a realloc that moved the block. */
static int old_pointer(size_t size, long n)
{
	char *p = among_others(size), *q = opaque(realloc(p, size * (size_t)n));

	if (q == p)
		return CONTAINED;
	*(volatile char *)opaque(p) = 0x41;
	free(q);
	return SILENT;
}

static int usable_freed(size_t size, long n)
{
	char *p = among_others(size);

	free(p);
	return malloc_usable_size(opaque(p + n)) == 0 ? CONTAINED : SILENT;
}

static void *overflow_there(void *p)
{
	memset(opaque(p), 0x41, 16);
	return NULL;
}

static int write_over_by_thread(size_t size, long n)
{
	char *p = among_others(size);
	pthread_t thread;

	pthread_create(&thread, NULL, overflow_there, p + size - 16 + n);
	pthread_join(thread, NULL);
	free(p);
	return SILENT;
}

/* clang-format off */
#define ROW(name, fn, n, bytes) { name "-" #bytes, NULL, fn, bytes, n }
#define SOME(name, fn, n)                                                                                        \
	ROW(name, fn, n, 24), ROW(name, fn, n, 512), ROW(name, fn, n, 20000), ROW(name, fn, n, 1048576)
#define EACH(name, fn, n)                                                                                        \
	SOME(name, fn, n), ROW(name, fn, n, 8), ROW(name, fn, n, 128), ROW(name, fn, n, 131072), ROW(name, fn, n, 3000000)
/* clang-format on */

const struct heapbug sizes[] = {
	EACH("write-over-1", write_over, 1),
	EACH("write-over-16", write_over, 16),
	SOME("write-over-4096", write_over, 4096),
	SOME("write-over-kept", write_over_kept, 4),
	SOME("write-jump-64", write_jump, 64),
	SOME("write-jump-4000", write_jump, 4000),
	SOME("write-under-1", write_under, 1),
	SOME("write-under-16", write_under, 16),
	SOME("write-under-4096", write_under, 4096),
	EACH("read-over-16", read_over, 16),
	SOME("read-over-4096", read_over, 4096),
	SOME("read-under-16", read_under, 16),
	SOME("read-under-4096", read_under, 4096),
	SOME("read-freed-start", read_freed, 0),
	EACH("read-freed-middle", read_freed, 50),
	SOME("read-freed-end", read_freed, 100),
	SOME("write-freed-start", write_freed, 0),
	EACH("write-freed-middle", write_freed, 50),
	SOME("write-freed-end", write_freed, 100),
	SOME("write-freed-later", write_freed_later, 8),
	SOME("double-interleaved", double_interleaved, 0),
	SOME("free-plus-page", free_off, 4096),
	SOME("free-minus-page", free_off, -4096),
	SOME("free-minus-1", free_off, -1),
	SOME("free-end", free_end, 0),
	SOME("free-last", free_end, -1),
	SOME("realloc-freed-grow", realloc_freed, 4),
	SOME("old-pointer", old_pointer, 8),
	SOME("usable-freed", usable_freed, 0),
	SOME("usable-freed-middle", usable_freed, 16),
	SOME("write-over-by-thread", write_over_by_thread, 4),
};
const size_t sizes_count = sizeof(sizes) / sizeof(sizes[0]);

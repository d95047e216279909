/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Reads and writes beside a block, and after its free. */
#include <stdlib.h>
#include <string.h>

#include "cases.h"

static void write_at(char *p, size_t bytes, int value)
{
	memset(opaque(p), value, bytes);
	opaque(p);
}

static int overflow(size_t size, size_t bytes)
{
	char *p = block(size);

	write_at(p + size, bytes, 0x41);
	free(p);
	return SILENT;
}

static int underflow(size_t size, size_t bytes)
{
	char *p = block(size);

	write_at(p - bytes, bytes, 0x41);
	free(p);
	return SILENT;
}

/* The string is one byte longer than its block. */
static int off_by_null(size_t size)
{
	char *p = block(size);

	write_at(p + size, 1, 0);
	free(p);
	return SILENT;
}

static int overflow_not_freed(size_t size)
{
	char *p = block(size);

	write_at(p + size, 8, 0x41);
	return SILENT;
}

static int overflow_into_neighbour(size_t size)
{
	char *p[8];

	for (int i = 0; i < 8; i++)
		p[i] = block(size);
	write_at(p[3] + size, size, 0x41);
	for (int i = 0; i < 8; i++)
		free(p[i]);
	return SILENT;
}

static int overflow_calloc(size_t size)
{
	char *p = opaque(calloc(1, size));

	write_at(p + size, 1, 0x41);
	free(p);
	return SILENT;
}

static int overflow_realloc(size_t size)
{
	char *p = opaque(realloc(block(size / 2), size));

	write_at(p + size, 1, 0x41);
	free(p);
	return SILENT;
}

static int overflow_shrunk(size_t size)
{
	char *p = opaque(realloc(block(size), size - 4));

	write_at(p + size - 4, 1, 0x41);
	free(p);
	return SILENT;
}

static int overflow_then_realloc(size_t size)
{
	char *p = block(size);

	write_at(p + size, 8, 0x41);
	free(opaque(realloc(p, size * 3)));
	return SILENT;
}

static int overflow_aligned(size_t size)
{
	void *p = NULL;

	if (posix_memalign(&p, 64, size) != 0)
		return CONTAINED;
	write_at((char *)p + size, 1, 0x41);
	free(opaque(p));
	return SILENT;
}

static int read_beyond(size_t size, size_t far)
{
	char *p = block(size), *q = block(size);
	int found = leaks(p + size, far);

	free(p);
	free(q);
	return found ? SILENT : CONTAINED;
}

static int use_write(size_t size)
{
	char *p = block(size);

	free(p);
	write_at(p + size / 2, 4, 0x41);
	return SILENT;
}

static int use_write_first(size_t size)
{
	char *p = block(size);

	free(p);
	write_at(p, 16, 0x41);
	return SILENT;
}

static int use_write_then_alloc(size_t size)
{
	char *p = block(size);

	free(p);
	write_at(p, 8, 0x41);
	for (int i = 0; i < 8; i++)
		block(size);
	return SILENT;
}

static int use_write_after_reuse(size_t size)
{
	char *p = block(size), *q;

	free(p);
	q = block(size);
	write_at(p, 8, 0x41);
	return q[0] == 0x41 ? SILENT : CONTAINED;
}

static int use_read(size_t size)
{
	char *p = block(size);

	free(p);
	return leaks(p, size) ? SILENT : CONTAINED;
}

static int use_read_after_reuse(size_t size)
{
	char *p = block(size), *q;

	free(p);
	q = opaque(malloc(size));
	memset(q, SECRET, size);
	return leaks(p, size) ? SILENT : CONTAINED;
}

static int uninitialised(size_t size)
{
	char *p = block(size);

	free(p);
	for (int i = 0; i < 64; i++)
		if (leaks(malloc(size), size))
			return SILENT;
	return CONTAINED;
}

/* A freed list node is followed and written through. */
static int use_pointer(void)
{
	void **p = block(SMALL);
	int victim = 7;

	p[2] = &victim;
	free(p);
	**(int **)opaque(&p[2]) = 8;
	return victim == 8 ? SILENT : CONTAINED;
}

/* Forward and backward links of a freed chunk are overwritten, then the list is used. */
static int poisoned_links(size_t size)
{
	static char target[256] __attribute__((aligned(16)));
	void **p = block(size), **q = block(size);

	free(q);
	free(p);
	p[0] = target + 16;
	p[1] = target + 16;
	for (int i = 0; i < 8; i++) {
		char *got = malloc(size);
		if (got >= target && got < target + sizeof(target))
			return SILENT;
	}
	return CONTAINED;
}

/* The size in front of a chunk is changed, so that it overlaps the next one. */
static int changed_header(size_t size)
{
	size_t *p = block(size);
	char *q = block(size), *r;

	p[-1] = 0x101;
	free(p);
	r = opaque(malloc(0xf0));
	return r < q && q < r + 0xf0 ? SILENT : CONTAINED;
}

static int unlink_attack(void)
{
	static size_t *target[4];
	size_t *p = block(0x420), *q = block(0x420);

	block(16);
	target[3] = p;
	p[0] = 0;
	p[1] = 0x421;
	p[2] = (size_t)&target[0];
	p[3] = (size_t)&target[1];
	q[-2] = 0x420;
	q[-1] &= ~(size_t)1;
	free(q);
	return target[3] == p ? CONTAINED : SILENT;
}

#define CASE(label, call)                \
	static int label(void)           \
	{                                \
		return call;             \
	}

CASE(over_1_small, overflow(SMALL, 1))
CASE(over_1_exact, overflow(EXACT, 1))
CASE(over_1_middle, overflow(MIDDLE, 1))
CASE(over_1_large, overflow(LARGE, 1))
CASE(over_1_large_odd, overflow(LARGE - 7, 1))
CASE(over_1_huge, overflow(HUGE, 1))
CASE(over_8_small, overflow(SMALL, 8))
CASE(over_8_exact, overflow(EXACT, 8))
CASE(over_8_middle, overflow(MIDDLE, 8))
CASE(over_8_large, overflow(LARGE, 8))
CASE(over_64_exact, overflow(EXACT, 64))
CASE(over_much_exact, overflow(EXACT, 100000))
CASE(under_1_small, underflow(SMALL, 1))
CASE(under_1_middle, underflow(MIDDLE, 1))
CASE(under_1_large, underflow(LARGE, 1))
CASE(under_8_small, underflow(SMALL, 8))
CASE(under_8_exact, underflow(EXACT, 8))
CASE(under_8_large, underflow(LARGE, 8))
CASE(under_64_exact, underflow(EXACT, 64))
CASE(null_small, off_by_null(SMALL))
CASE(null_exact, off_by_null(EXACT))
CASE(null_24, off_by_null(24))
CASE(kept_small, overflow_not_freed(SMALL))
CASE(kept_exact, overflow_not_freed(EXACT))
CASE(neighbour_exact, overflow_into_neighbour(EXACT))
CASE(neighbour_middle, overflow_into_neighbour(MIDDLE))
CASE(calloc_small, overflow_calloc(SMALL))
CASE(calloc_large, overflow_calloc(LARGE))
CASE(realloc_small, overflow_realloc(SMALL))
CASE(realloc_large, overflow_realloc(LARGE))
CASE(shrunk_exact, overflow_shrunk(EXACT))
CASE(then_realloc, overflow_then_realloc(EXACT))
CASE(aligned_100, overflow_aligned(100))
CASE(beyond_small, read_beyond(SMALL, 64))
CASE(beyond_exact, read_beyond(EXACT, 200))
CASE(beyond_large, read_beyond(LARGE, 4096))
CASE(write_small, use_write(SMALL))
CASE(write_exact, use_write(EXACT))
CASE(write_middle, use_write(MIDDLE))
CASE(write_large, use_write(LARGE))
CASE(write_huge, use_write(HUGE))
CASE(first_small, use_write_first(SMALL))
CASE(alloc_small, use_write_then_alloc(SMALL))
CASE(alloc_large, use_write_then_alloc(LARGE))
CASE(reuse_small, use_write_after_reuse(SMALL))
CASE(reuse_middle, use_write_after_reuse(MIDDLE))
CASE(reuse_large, use_write_after_reuse(LARGE))
CASE(read_small, use_read(SMALL))
CASE(read_exact, use_read(EXACT))
CASE(read_middle, use_read(MIDDLE))
CASE(read_large, use_read(LARGE))
CASE(read_huge, use_read(HUGE))
CASE(read_reuse_small, use_read_after_reuse(SMALL))
CASE(read_reuse_large, use_read_after_reuse(LARGE))
CASE(uninit_small, uninitialised(SMALL))
CASE(uninit_middle, uninitialised(MIDDLE))
CASE(uninit_large, uninitialised(LARGE))
CASE(links_small, poisoned_links(SMALL))
CASE(links_middle, poisoned_links(MIDDLE))
CASE(header_small, changed_header(SMALL))
CASE(header_middle, changed_header(MIDDLE))

const struct heapbug accesses[] = {
	{ "overflow-1-small", over_1_small },
	{ "overflow-1-exact", over_1_exact },
	{ "overflow-1-middle", over_1_middle },
	{ "overflow-1-large", over_1_large },
	{ "overflow-1-large-odd", over_1_large_odd },
	{ "overflow-1-huge", over_1_huge },
	{ "overflow-8-small", over_8_small },
	{ "overflow-8-exact", over_8_exact },
	{ "overflow-8-middle", over_8_middle },
	{ "overflow-8-large", over_8_large },
	{ "overflow-64-exact", over_64_exact },
	{ "overflow-100000-exact", over_much_exact },
	{ "underflow-1-small", under_1_small },
	{ "underflow-1-middle", under_1_middle },
	{ "underflow-1-large", under_1_large },
	{ "underflow-8-small", under_8_small },
	{ "underflow-8-exact", under_8_exact },
	{ "underflow-8-large", under_8_large },
	{ "underflow-64-exact", under_64_exact },
	{ "off-by-null-small", null_small },
	{ "off-by-null-exact", null_exact },
	{ "off-by-null-24", null_24 },
	{ "overflow-never-freed-small", kept_small },
	{ "overflow-never-freed-exact", kept_exact },
	{ "overflow-into-neighbour-exact", neighbour_exact },
	{ "overflow-into-neighbour-middle", neighbour_middle },
	{ "overflow-calloc-small", calloc_small },
	{ "overflow-calloc-large", calloc_large },
	{ "overflow-realloc-small", realloc_small },
	{ "overflow-realloc-large", realloc_large },
	{ "overflow-shrunk", shrunk_exact },
	{ "overflow-then-realloc", then_realloc },
	{ "overflow-aligned", aligned_100 },
	{ "read-beyond-small", beyond_small },
	{ "read-beyond-exact", beyond_exact },
	{ "read-beyond-large", beyond_large },
	{ "write-after-free-small", write_small },
	{ "write-after-free-exact", write_exact },
	{ "write-after-free-middle", write_middle },
	{ "write-after-free-large", write_large },
	{ "write-after-free-huge", write_huge },
	{ "write-after-free-start", first_small },
	{ "write-after-free-then-alloc", alloc_small },
	{ "write-after-free-then-alloc-large", alloc_large },
	{ "write-after-reuse-small", reuse_small },
	{ "write-after-reuse-middle", reuse_middle },
	{ "write-after-reuse-large", reuse_large },
	{ "read-after-free-small", read_small },
	{ "read-after-free-exact", read_exact },
	{ "read-after-free-middle", read_middle },
	{ "read-after-free-large", read_large },
	{ "read-after-free-huge", read_huge },
	{ "read-after-reuse-small", read_reuse_small },
	{ "read-after-reuse-large", read_reuse_large },
	{ "uninitialised-small", uninit_small },
	{ "uninitialised-middle", uninit_middle },
	{ "uninitialised-large", uninit_large },
	{ "use-freed-pointer", use_pointer },
	{ "poisoned-links-small", links_small },
	{ "poisoned-links-middle", links_middle },
	{ "changed-header-small", header_small },
	{ "changed-header-middle", header_middle },
	{ "unlink-attack", unlink_attack },
};
const size_t accesses_count = sizeof(accesses) / sizeof(accesses[0]);

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Frees of what must not be freed. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cases.h"

static int twice(size_t size)
{
	void *p = block(size);

	free(p);
	free(opaque(p));
	return SILENT;
}

static int with_one_between(size_t size)
{
	void *p = block(size), *q = block(size);

	free(p);
	free(q);
	free(opaque(p));
	return SILENT;
}

static int with_many_between(size_t size)
{
	void *p = block(size), *others[40];

	for (int i = 0; i < 40; i++)
		others[i] = block(size);
	free(p);
	for (int i = 0; i < 40; i++)
		free(others[i]);
	free(opaque(p));
	return SILENT;
}

/* Handed out again in between: the second free takes it from its new owner. */
static int after_reuse(size_t size)
{
	void *p = block(size), *q;

	free(p);
	q = block(size);
	free(opaque(p));
	memset(q, 1, size);
	free(q);
	return SILENT;
}

static int after_traffic(size_t size)
{
	void *p = block(size);

	free(p);
	traffic(size, 512);
	free(opaque(p));
	return SILENT;
}

static int then_two_owners(size_t size)
{
	void *p = block(size), *a, *b;

	free(p);
	free(opaque(p));
	a = malloc(size);
	b = malloc(size);
	return a == b ? SILENT : CONTAINED;
}

static int in_a_row(size_t size)
{
	void *p = block(size);

	for (int i = 0; i < 300; i++)
		free(opaque(p));
	return SILENT;
}

static void *thread_free(void *p)
{
	free(p);
	return NULL;
}

static int across_threads(size_t size)
{
	void *p = block(size);
	pthread_t thread;

	pthread_create(&thread, NULL, thread_free, p);
	pthread_join(thread, NULL);
	free(opaque(p));
	return SILENT;
}

static int offset_free(size_t size, ptrdiff_t offset)
{
	char *p = block(size);

	free(opaque(p + offset));
	return SILENT;
}

static int offset_free_then_use(size_t size, ptrdiff_t offset)
{
	char *p = block(size), *q;

	free(opaque(p + offset));
	for (int i = 0; i < 600; i++) {
		q = block(size);
		if (q > p - size && q < p + size)
			return SILENT;
	}
	return SILENT;
}

static int of_freed_middle(size_t size)
{
	char *p = block(size);

	free(p);
	free(opaque(p + 16));
	return SILENT;
}

static int of_stack(void)
{
	char buffer[64] __attribute__((aligned(16)));

	free(opaque(buffer));
	return SILENT;
}

static char global[64] __attribute__((aligned(16)));
static const char constant[64] __attribute__((aligned(16))) = "x";

static int of_global(void)
{
	free(opaque(global));
	return SILENT;
}

static int of_constant(void)
{
	free(opaque((void *)(size_t)constant));
	return SILENT;
}

static int of_function(void)
{
	int (*fn)(void) = of_constant;
	void *p;

	memcpy(&p, &fn, sizeof(p));
	free(opaque(p));
	return SILENT;
}

static int of_wild(size_t value)
{
	free(opaque((void *)value));
	return SILENT;
}

static int of_small_integer(void)
{
	return of_wild(0x1000);
}

static int of_minus_one(void)
{
	return of_wild((size_t)-16);
}

static int of_non_canonical(void)
{
	return of_wild(0x4141414141414140);
}

static int of_mapping(void)
{
	char *p = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	free(opaque(p + 64));
	return SILENT;
}

static int of_mapping_start(void)
{
	return free(opaque(mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))), SILENT;
}

/* The classic: a chunk of its own making, with a size in front of it. */
static int of_fake_chunk(void)
{
	static size_t fake[32] __attribute__((aligned(16)));

	fake[1] = 0x41;
	fake[9] = 0x41;
	free(opaque(&fake[2]));
	return (void *)malloc(0x30) == (void *)&fake[2] ? SILENT : CONTAINED;
}

static int of_uninitialised(void)
{
	void **p = block(SMALL);

	free(opaque(*p));
	return SILENT;
}

static int of_neighbour_page(void)
{
	char *p = block(SMALL);

	free(opaque((char *)((size_t)p & ~(size_t)4095) + 8192 * 64));
	return SILENT;
}

static int realloc_twice(size_t size)
{
	void *p = block(size);

	opaque(realloc(p, size * 8));
	free(opaque(p));
	return SILENT;
}

static int realloc_of_freed(size_t size, size_t to)
{
	void *p = block(size);

	free(p);
	return opaque(realloc(opaque(p), to)) == NULL ? CONTAINED : SILENT;
}

static int realloc_of_middle(size_t size)
{
	char *p = block(size);

	return opaque(realloc(opaque(p + 16), size * 2)) == NULL ? CONTAINED : SILENT;
}

static int realloc_of_stack(void)
{
	char buffer[64] __attribute__((aligned(16)));

	return opaque(realloc(opaque(buffer), 100)) == NULL ? CONTAINED : SILENT;
}

static int realloc_zero_twice(void)
{
	void *p = block(SMALL);

	opaque(realloc(p, 0));
	free(opaque(p));
	return SILENT;
}

#define SIZED(fn)                                   \
	static int fn##_small(void)                 \
	{                                           \
		return fn(SMALL);                   \
	}                                           \
	static int fn##_exact(void)                 \
	{                                           \
		return fn(EXACT);                   \
	}                                           \
	static int fn##_middle(void)                \
	{                                           \
		return fn(MIDDLE);                  \
	}                                           \
	static int fn##_large(void)                 \
	{                                           \
		return fn(LARGE);                   \
	}
#define ROWS(name, fn)                                                                                     \
	{ name "-small", fn##_small }, { name "-exact", fn##_exact }, { name "-middle", fn##_middle },     \
	{ name "-large", fn##_large }

SIZED(twice)
SIZED(with_one_between)
SIZED(with_many_between)
SIZED(after_reuse)
SIZED(after_traffic)
SIZED(then_two_owners)
SIZED(across_threads)
SIZED(of_freed_middle)
SIZED(realloc_twice)
SIZED(realloc_of_middle)

static int twice_huge(void)
{
	return twice(HUGE);
}

static int in_a_row_small(void)
{
	return in_a_row(SMALL);
}

#define OFFSET(label, size, offset)                                    \
	static int offset_##label(void)                                \
	{                                                              \
		return offset_free(size, offset);                      \
	}                                                              \
	static int offset_use_##label(void)                            \
	{                                                              \
		return offset_free_then_use(size, offset);             \
	}

OFFSET(1, EXACT, 1)
OFFSET(2, EXACT, 2)
OFFSET(4, EXACT, 4)
OFFSET(7, EXACT, 7)
OFFSET(8, EXACT, 8)
OFFSET(16, EXACT, 16)
OFFSET(32, SMALL, 32)
OFFSET(minus16, SMALL, -16)
OFFSET(middle, MIDDLE, 1024)
OFFSET(large, LARGE, 4096)
OFFSET(large8, LARGE, 8)
OFFSET(huge, HUGE, 1 << 20)

static int realloc_freed_small(void)
{
	return realloc_of_freed(EXACT, 60);
}

static int realloc_freed_grow(void)
{
	return realloc_of_freed(EXACT, 600);
}

static int realloc_freed_large(void)
{
	return realloc_of_freed(LARGE, LARGE * 2);
}

const struct heapbug frees[] = {
	ROWS("double-free", twice),
	{ "double-free-huge", twice_huge },
	ROWS("double-free-one-between", with_one_between),
	ROWS("double-free-many-between", with_many_between),
	ROWS("double-free-after-reuse", after_reuse),
	ROWS("double-free-after-traffic", after_traffic),
	ROWS("double-free-two-owners", then_two_owners),
	ROWS("double-free-across-threads", across_threads),
	{ "double-free-300-times", in_a_row_small },
	ROWS("free-middle-of-freed", of_freed_middle),
	{ "free-plus-1", offset_1 },
	{ "free-plus-2", offset_2 },
	{ "free-plus-4", offset_4 },
	{ "free-plus-7", offset_7 },
	{ "free-plus-8", offset_8 },
	{ "free-plus-16", offset_16 },
	{ "free-plus-32", offset_32 },
	{ "free-minus-16", offset_minus16 },
	{ "free-plus-1024", offset_middle },
	{ "free-large-page", offset_large },
	{ "free-large-plus-8", offset_large8 },
	{ "free-huge-middle", offset_huge },
	{ "free-plus-1-reuse", offset_use_1 },
	{ "free-plus-8-reuse", offset_use_8 },
	{ "free-plus-16-reuse", offset_use_16 },
	{ "free-plus-32-reuse", offset_use_32 },
	{ "free-plus-1024-reuse", offset_use_middle },
	{ "free-stack", of_stack },
	{ "free-global", of_global },
	{ "free-constant", of_constant },
	{ "free-function", of_function },
	{ "free-small-integer", of_small_integer },
	{ "free-minus-one", of_minus_one },
	{ "free-non-canonical", of_non_canonical },
	{ "free-mapping", of_mapping },
	{ "free-mapping-start", of_mapping_start },
	{ "free-fake-chunk", of_fake_chunk },
	{ "free-uninitialised", of_uninitialised },
	{ "free-far-page", of_neighbour_page },
	ROWS("free-after-realloc", realloc_twice),
	ROWS("realloc-middle", realloc_of_middle),
	{ "realloc-freed-same", realloc_freed_small },
	{ "realloc-freed-grow", realloc_freed_grow },
	{ "realloc-freed-large", realloc_freed_large },
	{ "realloc-stack", realloc_of_stack },
	{ "realloc-zero-then-free", realloc_zero_twice },
};
const size_t frees_count = sizeof(frees) / sizeof(frees[0]);

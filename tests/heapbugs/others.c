/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Sizes that are wrong or cannot be, questions about blocks that are none, new and delete. */
#include <dlfcn.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

/* By their names in the object file, so that this needs no C++. */
static void *new_object(size_t size)
{
	void *(*fn)(size_t);

	*(void **)&fn = dlsym(RTLD_DEFAULT, "_Znwm");
	return fn != NULL ? opaque(fn(size)) : NULL;
}

static void delete_object(void *ptr)
{
	void (*fn)(void *);

	*(void **)&fn = dlsym(RTLD_DEFAULT, "_ZdlPv");
	if (fn != NULL)
		fn(opaque(ptr));
}

static void delete_sized(void *ptr, size_t size)
{
	void (*fn)(void *, size_t);

	*(void **)&fn = dlsym(RTLD_DEFAULT, "_ZdlPvm");
	if (fn != NULL)
		fn(opaque(ptr), size);
}

static void c23_free_sized(void *ptr, size_t size)
{
	void (*fn)(void *, size_t);

	*(void **)&fn = dlsym(RTLD_DEFAULT, "free_sized");
	if (fn != NULL)
		fn(opaque(ptr), size);
}

static int delete_twice(void)
{
	char *p = new_object(SMALL);

	delete_object(p);
	delete_object(p);
	return SILENT;
}

static int delete_middle(void)
{
	delete_object((char *)new_object(EXACT) + 16);
	return SILENT;
}

static int delete_after_free(void)
{
	char *p = new_object(SMALL);

	free(p);
	delete_object(p);
	return SILENT;
}

static int new_overflow(void)
{
	char *p = new_object(SMALL);

	p[SMALL] = 1;
	delete_object(p);
	return SILENT;
}

static int sized_small(void)
{
	delete_sized(new_object(SMALL), 200);
	return SILENT;
}

static int sized_same_class(void)
{
	delete_sized(new_object(SMALL), SMALL + 1);
	return SILENT;
}

static int sized_large(void)
{
	delete_sized(new_object(LARGE), SMALL);
	return SILENT;
}

static int sized_c23(void)
{
	c23_free_sized(block(MIDDLE), SMALL);
	return SILENT;
}

static int sized_twice(void)
{
	char *p = new_object(SMALL);

	delete_sized(p, SMALL);
	delete_sized(p, SMALL);
	return SILENT;
}

static int usable_of(void *ptr)
{
	return malloc_usable_size(opaque(ptr)) == 0 ? CONTAINED : SILENT;
}

static int usable_freed_small(void)
{
	void *p = block(SMALL);

	free(p);
	return usable_of(p);
}

static int usable_freed_large(void)
{
	void *p = block(LARGE);

	free(p);
	return usable_of(p);
}

static int usable_middle(void)
{
	return usable_of((char *)block(MIDDLE) + 64);
}

static int usable_stack(void)
{
	char buffer[64] __attribute__((aligned(16)));

	return usable_of(buffer);
}

static int usable_global(void)
{
	static char global[64];

	return usable_of(global);
}

/* Writes to all that is said to be usable: no error, but two blocks must not share it. */
static int usable_is_enough(void)
{
	char *p = block(SMALL), *q = block(SMALL);

	memset(opaque(p), 1, malloc_usable_size(p));
	free(p);
	free(q);
	return CONTAINED;
}

static int huge_malloc(void)
{
	return opaque(malloc(SIZE_MAX / 2 - 4096)) == NULL ? CONTAINED : SILENT;
}

static int huge_malloc_max(void)
{
	return opaque(malloc(*(volatile size_t *)&(size_t){ SIZE_MAX })) == NULL ? CONTAINED : SILENT;
}

static int calloc_product(void)
{
	volatile size_t half = (size_t)1 << 33;

	return opaque(calloc(half, half)) == NULL ? CONTAINED : SILENT;
}

static int realloc_huge(void)
{
	char *p = block(SMALL);
	volatile size_t size = SIZE_MAX - 8;

	return opaque(realloc(p, size)) == NULL && leaks(p, SMALL) ? CONTAINED : SILENT;
}

static int reallocarray_product(void)
{
	volatile size_t half = (size_t)1 << 33;

	return opaque(reallocarray(block(SMALL), half, half)) == NULL ? CONTAINED : SILENT;
}

static int zero_write(void)
{
	char *p = opaque(malloc(0));

	memset(opaque(p), 0x41, 16);
	free(p);
	return SILENT;
}

static int zero_read(void)
{
	char *p = opaque(malloc(0)), *q = block(16);
	int found = leaks(p, 64);

	free(p);
	free(q);
	return found ? SILENT : CONTAINED;
}

static int zero_twice(void)
{
	char *p = opaque(malloc(0));

	free(p);
	free(opaque(p));
	return SILENT;
}

static int bad_align(void)
{
	void *p = NULL;
	volatile size_t align = 24;

	return posix_memalign(&p, align, 100) != 0 ? CONTAINED : SILENT;
}

/* Freed memory comes back at once: what an attacker counts on. */
static int reused_at_once(void)
{
	void *p = block(EXACT);

	free(p);
	return opaque(malloc(EXACT)) == p ? SILENT : CONTAINED;
}

/* Blocks in the order of their addresses: likewise. */
static int in_order(void)
{
	char *p[32];
	int same = 0;

	for (int i = 0; i < 32; i++)
		p[i] = block(EXACT);
	for (int i = 2; i < 32; i++)
		same += p[i] - p[i - 1] == p[i - 1] - p[i - 2];
	return same > 20 ? SILENT : CONTAINED;
}

const struct heapbug others[] = {
	{ "delete-twice", delete_twice },
	{ "delete-middle", delete_middle },
	{ "delete-after-free", delete_after_free },
	{ "new-overflow", new_overflow },
	{ "sized-delete-other-class", sized_small },
	{ "sized-delete-same-class", sized_same_class },
	{ "sized-delete-large", sized_large },
	{ "free-sized-wrong", sized_c23 },
	{ "sized-delete-twice", sized_twice },
	{ "usable-size-freed-small", usable_freed_small },
	{ "usable-size-freed-large", usable_freed_large },
	{ "usable-size-middle", usable_middle },
	{ "usable-size-stack", usable_stack },
	{ "usable-size-global", usable_global },
	{ "usable-size-written", usable_is_enough },
	{ "malloc-half-of-all", huge_malloc },
	{ "malloc-all", huge_malloc_max },
	{ "calloc-overflowing-product", calloc_product },
	{ "realloc-all", realloc_huge },
	{ "reallocarray-product", reallocarray_product },
	{ "zero-size-write", zero_write },
	{ "zero-size-read", zero_read },
	{ "zero-size-free-twice", zero_twice },
	{ "alignment-no-power", bad_align },
	{ "reused-at-once", reused_at_once },
	{ "in-address-order", in_order },
};
const size_t others_count = sizeof(others) / sizeof(others[0]);

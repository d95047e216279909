/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What tests/programs/test_instructions.sh counts under callgrind.
 *
 *   hit_loop KIND SIZE COUNT        KIND: malloc, typed, empty
 *
 * allocates and frees one object COUNT times; every one after the first is a hit. All kinds
 * run the same instructions in hit_alloc() and hit_free(), around a call through a
 * pointer, so the difference to `empty`, whose functions are a lone return, is what the
 * allocator costs without that return.
 *
 * Linked with libdrystone.so.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <drystone/drystone.h>

/* One form for all kinds; first is a cache or a size, as the kind wants. */
typedef void *(*alloc_fn)(void *first);
typedef void (*free_fn)(void *first, void *second);
typedef void (*any_fn)(void); /* what a function is cast through */

/* A lone return: no compiler puts a frame or a landing pad into it. */
void do_nothing(void);
__asm__(".pushsection .text\n"
	".globl do_nothing\n"
	".type do_nothing, %function\n"
	"do_nothing: ret\n"
	".size do_nothing, . - do_nothing\n"
	".popsection\n");

void *hit_alloc(alloc_fn fn, void *first);
void hit_free(free_fn fn, void *first, void *second);

/* Counted from entry to return; kept from being inlined or turned into a jump. */
__attribute__((noinline)) void *hit_alloc(alloc_fn fn, void *first)
{
	void *object = fn(first);

	__asm__ volatile("" : "+r"(object) : : "memory");
	return object;
}

__attribute__((noinline)) void hit_free(free_fn fn, void *first, void *second)
{
	fn(first, second);
	__asm__ volatile("" : : : "memory");
}

static int from_drystone(void)
{
	Dl_info info;
	void *address = dlsym(RTLD_DEFAULT, "malloc");

	return address != NULL && dladdr(address, &info) != 0 && strstr(info.dli_fname, "drystone") != NULL;
}

int main(int argc, char **argv)
{
	if (argc != 4 || !from_drystone()) {
		fprintf(stderr, "usage: hit_loop malloc|typed|empty SIZE COUNT, with drystone's malloc\n");
		return 2;
	}

	size_t size = strtoull(argv[2], NULL, 10);
	struct dry_cache_attr attr = { .name = "hit_loop", .size = size };
	alloc_fn alloc;
	free_fn release;
	void *first, *freed_from = NULL;

	if (strcmp(argv[1], "typed") == 0) {
		alloc = (alloc_fn)(any_fn)dry_cache_alloc;
		release = (free_fn)(any_fn)dry_cache_free;
		first = freed_from = dry_cache_create(NULL, &attr);
		if (first == NULL)
			return 2;
	} else if (strcmp(argv[1], "malloc") == 0) {
		alloc = (alloc_fn)(any_fn)malloc;
		release = (free_fn)(any_fn)free;
		first = (void *)size;
	} else {
		alloc = (alloc_fn)(any_fn)do_nothing;
		release = (free_fn)(any_fn)do_nothing;
		first = (void *)size;
	}
	for (long n = strtol(argv[3], NULL, 10); n > 0; n--) {
		void *object = hit_alloc(alloc, first);

		/* free() takes the object first, dry_cache_free() second. */
		hit_free(release, freed_from != NULL ? freed_from : object, object);
	}
	return 0;
}

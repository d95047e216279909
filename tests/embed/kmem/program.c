/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Kernel code with flags of another header, before kmem.h (FIRST) or after it; as C and as C++. */
#ifdef FIRST
#include "foreign.h"
#endif
#include <drystone/kmem.h>
#include <drystone/kmem_pool.h>
#ifdef LAST
#include "foreign.h"
#endif
#include <stdio.h>
#include <string.h>

#include "other.h"

struct item {
	long values[4];
};

static void construct(void *object)
{
	memset(object, 1, sizeof(struct item));
}

/* first: what the first byte of an object is, -1: anything. */
static int use_cache(struct kmem_cache *cache, int first)
{
	struct item *item = (struct item *)kmem_cache_alloc(cache, GFP_KERNEL);
	int as_made = item != NULL && (first < 0 || *(char *)item == first);

	kmem_cache_free(cache, item);
	kmem_cache_destroy(cache);
	return as_made;
}

/* What are functions in the kernel can be handed on as such. */
static int hand_on(void)
{
	void *(*const take[])(size_t, gfp_t) = { kmalloc, kzalloc, kvmalloc, kvzalloc };
	void *(*const take_many[])(size_t, size_t, gfp_t) = { kmalloc_array, kcalloc, kvmalloc_array, kvcalloc };
	void *(*const take_near[])(size_t, gfp_t, int) = { kmalloc_node, kzalloc_node, kvmalloc_node, kvzalloc_node };
	void (*const give[])(const void *) = { kfree, kfree_const, kvfree, kzfree };
	void *(*const copy[])(const void *, size_t, gfp_t) = { kmemdup, kvmemdup };
	const char *(*const copy_text)(const char *, gfp_t) = kstrdup_const;
	const char *text = copy_text("text", GFP_KERNEL);
	void *same = copy[1]("text", 5, GFP_KERNEL);
	int as_asked = text != NULL && strcmp(text, "text") == 0 && same != NULL && memcmp(same, text, 5) == 0;

	give[1](text);
	give[2](same);
	for (int i = 0; i < 4; i++) {
		void *one = take[i](10, GFP_KERNEL), *many = take_many[i](3, 4, GFP_KERNEL);
		void *near_by = take_near[i](10, GFP_KERNEL, 0);

		as_asked = as_asked && one != NULL && many != NULL && near_by != NULL;
		give[i](one);
		give[3 - i](many);
		give[0](near_by);
	}
	return as_asked;
}

int main(void)
{
	struct kmem_cache_args args;
	char *text = kasprintf(GFP_KERNEL | __GFP_NOFAIL, "%d", 7);
	char *zero = (char *)kzalloc(100, GFP_ATOMIC);
	struct item *item;

	memset(&args, 0, sizeof(args));
	args.ctor = construct;
	if (text == NULL || strcmp(text, "7") != 0 || zero == NULL || zero[99] != 0)
		return 1;
	text = (char *)kvrealloc(text, 500, GFP_KERNEL);
	text = (char *)kvrealloc(text, 500, 600, GFP_NOWAIT);
	kfree_rcu(zero);
	kvfree(text);
	if (!use_cache(kmem_cache_create("five", sizeof(struct item), 0, 0, construct), 1) ||
	    !use_cache(KMEM_CACHE(item, SLAB_NO_MERGE), -1))
		return 2;
#if defined(__cplusplus) || __STDC_VERSION__ >= 201112L
	if (!use_cache(kmem_cache_create("four", sizeof(struct item), &args, 0), 1))
		return 3;
#endif
	if (!hand_on())
		return 8;
	/* Zeros and writes up to the end of a block: compilers are not told wrong sizes of it. */
	text = (char *)kzalloc(50, GFP_KERNEL);
	text = (char *)krealloc(text, 53, GFP_KERNEL | __GFP_ZERO);
	if (text == NULL || text[52] != 0)
		return 6;
	text = (char *)krealloc(text, ksize(text), GFP_KERNEL);
	if (text == NULL)
		return 7;
	memset(text, 1, ksize(text));
	kfree(text);
	/* Another file's shrinker is asked for this file's allocation. */
	item = (struct item *)kmalloc((size_t)1 << 62, GFP_ATOMIC);
	if (item != NULL || other_asked() != 0)
		return 4;
	other_register();
	item = (struct item *)kmalloc((size_t)1 << 62, GFP_KERNEL);
	if (item != NULL || other_asked() != 1)
		return 5;
	puts("ok");
	return 0;
}

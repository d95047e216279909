// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * What the allocator is to tell and to outlive. Before each a line "drystone-damage: expect TEXT" says what the report has to
 * contain; scripts/kernel looks for it, and for nothing else of drystone's.
 */
#include "test/damage.h"

#include <linux/kernel.h>
#include <linux/slab.h>

#define SIZE    100
#define OBJECTS 300

/* One object more than what is freed wrongly keeps its slab. */
static struct kmem_cache *first, *second;

/* With a constructor, so that it is nobody's alias. */
static void construct(void *object)
{
	memset(object, 0, SIZE);
}

static void settle(void)
{
	kmem_cache_shrink(first);
	kmem_cache_shrink(second);
}

static void *live(void)
{
	void *object = kmem_cache_alloc(first, GFP_KERNEL);

	settle();
	return object;
}

static void freed_twice(void *object)
{
	kmem_cache_free(first, object);
	kmem_cache_free(first, object);
}

static void freed_twice_later(void *object)
{
	kmem_cache_free(first, object);
	settle();
	kmem_cache_free(first, object);
}

static void freed_to_another(void *object)
{
	kmem_cache_free(second, object);
	settle();
	kmem_cache_free(first, object);
}

static void freed_within(void *object)
{
	kmem_cache_free(first, object + 8);
	settle();
	kmem_cache_free(first, object);
}

static const struct {
	const char *report;
	void (*run)(void *object);
} damages[] = {
	{ "double free", freed_twice },
	{ "double free", freed_twice_later },
	{ "object of another cache", freed_to_another },
	{ "pointer into the middle of an object", freed_within },
};

/* Each object once, and all of them back. */
static bool is_sound(struct kmem_cache *cache)
{
	static char *at[OBJECTS];
	bool sound = true;

	for (int i = 0; i < OBJECTS; i++) {
		at[i] = kmem_cache_alloc(cache, GFP_KERNEL);
		if (at[i] == NULL)
			return false;
		memset(at[i], i, SIZE);
	}
	for (int i = 0; i < OBJECTS; i++) {
		sound &= memchr_inv(at[i], i, SIZE) == NULL;
		memset(at[i], 0, SIZE);
		kmem_cache_free(cache, at[i]);
	}
	return sound && kmem_cache_shrink(cache) == 0;
}

void dry_damage(void)
{
	void *keeps, *keeps_too;
	bool sound;

	first = kmem_cache_create("drystone-first", SIZE, 0, 0, construct);
	second = kmem_cache_create("drystone-second", SIZE, 0, 0, construct);
	keeps = kmem_cache_alloc(first, GFP_KERNEL);
	keeps_too = kmem_cache_alloc(second, GFP_KERNEL);
	for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
		void *object = live();

		pr_info("drystone-damage: expect %s\n", damages[i].report);
		damages[i].run(object);
		settle();
	}
	kmem_cache_free(first, keeps);
	kmem_cache_free(second, keeps_too);
	sound = is_sound(first) && is_sound(second);
	kmem_cache_destroy(first);
	kmem_cache_destroy(second);
	pr_info("drystone-damage: end, caches %s\n", sound ? "sound" : "FAILED");
}

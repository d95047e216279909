// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * What the allocator is to tell and to outlive. Before each a line "drystone-damage: expect TEXT" says what the report has to
 * contain; scripts/kernel looks for it, and for nothing else of drystone's.
 */
#include "test/damage.h"

#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#define SIZE    100
#define OBJECTS 300

/* One object more than what is freed wrongly keeps its slab. */
static struct kmem_cache *first, *second;
static struct kmem_cache *bare; /* without a constructor, so that it is poisoned */

/* With a constructor, so that it is nobody's alias. */
static void construct(void *object)
{
	memset(object, 0, SIZE);
}

static void settle(void)
{
	kmem_cache_shrink(first);
	kmem_cache_shrink(second);
	if (bare != NULL)
		kmem_cache_shrink(bare);
}

static void *live(void)
{
	void *object = kmem_cache_alloc(first, GFP_KERNEL);

	settle();
	return object;
}

static void freed_twice(void)
{
	void *object = live();

	kmem_cache_free(first, object);
	kmem_cache_free(first, object);
}

static void freed_twice_later(void)
{
	void *object = live();

	kmem_cache_free(first, object);
	settle();
	kmem_cache_free(first, object);
}

static void freed_to_another(void)
{
	void *object = live();

	kmem_cache_free(second, object);
	settle();
	kmem_cache_free(first, object);
}

static void freed_within(void)
{
	void *object = live();

	kmem_cache_free(first, object + 8);
	settle();
	kmem_cache_free(first, object);
}

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

/* ---- where there are red zones and poison: of a byte each, which a compiler cannot see to be wrong ---- */

static char *bare_object(void)
{
	char *object = kmem_cache_alloc(bare, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(object);
	return object;
}

static void written_behind(void)
{
	char *object = bare_object();

	object[SIZE] = 0;
	kmem_cache_free(bare, object);
}

static void written_before(void)
{
	char *object = bare_object();

	object[-1] = 0;
	kmem_cache_free(bare, object);
}

static void written_when_free(void)
{
	char *object = bare_object();

	kmem_cache_free(bare, object);
	object[SIZE / 2] = 0;
	is_sound(bare); /* each object is out once */
}

static void freed_twice_to_bare(void)
{
	char *object = bare_object();

	kmem_cache_free(bare, object);
	kmem_cache_free(bare, object);
}

/* What is written to free objects that others may look at is not told: they are not poisoned. */
static void typesafe_written(void)
{
	struct kmem_cache *cache = kmem_cache_create("drystone-typesafe", SIZE, 0, SLAB_TYPESAFE_BY_RCU, NULL);
	char *object = kmem_cache_alloc(cache, GFP_KERNEL), *other = kmem_cache_alloc(cache, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(object);
	memset(object, 1, SIZE);
	rcu_read_lock();
	kmem_cache_free(cache, object);
	if (memchr_inv(object, 1, SIZE) != NULL)
		pr_err("drystone-damage: FAILED: a typesafe object was written to\n");
	object[SIZE / 2] = 0;
	rcu_read_unlock();
	kmem_cache_free(cache, other);
	kmem_cache_destroy(cache);
}

struct damage {
	const char *report;
	void (*run)(void);
};

static const struct damage damages[] = {
	{ "double free", freed_twice },
	{ "double free", freed_twice_later },
	{ "object of another cache", freed_to_another },
	{ "pointer into the middle of an object", freed_within },
}, by_letters[] = {
	{ "object was written beyond its end", written_behind },
	{ "object was written before its start", written_before },
	{ "free object was written to", written_when_free },
	{ "double free", freed_twice_to_bare },
	{ "nothing", typesafe_written },
};

static void run(const struct damage *damage, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		pr_info("drystone-damage: expect %s\n", damage[i].report);
		damage[i].run();
		settle();
	}
}

static void run_by_letters(void)
{
	void *keeps;

	bare = kmem_cache_create("drystone-bare", SIZE, 0, 0, NULL);
	keeps = kmem_cache_alloc(bare, GFP_KERNEL);
	run(by_letters, ARRAY_SIZE(by_letters));
	kmem_cache_free(bare, keeps);
	if (!is_sound(bare))
		pr_err("drystone-damage: FAILED\n");
	kmem_cache_destroy(bare);
	bare = NULL;
}

void dry_damage(bool letters)
{
	void *keeps, *keeps_too;
	bool sound;

	first = kmem_cache_create("drystone-first", SIZE, 0, 0, construct);
	second = kmem_cache_create("drystone-second", SIZE, 0, 0, construct);
	keeps = kmem_cache_alloc(first, GFP_KERNEL);
	keeps_too = kmem_cache_alloc(second, GFP_KERNEL);
	run(damages, ARRAY_SIZE(damages));
	if (letters)
		run_by_letters();
	kmem_cache_free(first, keeps);
	kmem_cache_free(second, keeps_too);
	sound = is_sound(first) && is_sound(second);
	kmem_cache_destroy(first);
	kmem_cache_destroy(second);
	pr_info("drystone-damage: end, caches %s\n", sound ? "sound" : "FAILED");
}

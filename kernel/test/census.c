// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Of the kernel's caches, once it is up: how each knows its free objects, and which ones lose memory by that. */
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "mm/slab.h"

#if defined(CONFIG_DRYSTONE)
#include "core/cache.h"

static bool wastes(const struct kmem_cache *s)
{
	return s->dry->waste != 0;
}
#elif defined(CONFIG_DRYSTONE_TINY) || defined(CONFIG_SLOB)

/* Each slab, or each object of general allocation, begins with a header. */
static bool wastes(const struct kmem_cache *s)
{
	return s->size < PAGE_SIZE;
}
#elif defined(CONFIG_SLAB)

/* An array of indices elsewhere, or where an object more would fit. */
static bool wastes(const struct kmem_cache *s)
{
	return (s->flags & 0x80000000u) != 0 || (PAGE_SIZE << s->gfporder) / s->size > s->num;
}
#else

/* A link behind each object, where none can lie in it. */
static bool wastes(const struct kmem_cache *s)
{
	return s->offset >= s->object_size;
}
#endif

static int __init drystone_census(void)
{
	unsigned int caches = 0, wasteful = 0;
	struct kmem_cache *s;

	mutex_lock(&slab_mutex);
	list_for_each_entry(s, &slab_caches, list) {
		caches++;
		wasteful += wastes(s);
	}
	mutex_unlock(&slab_mutex);
	pr_info("drystone-census: %u caches, %u waste memory on management\n", caches, wasteful);
	return 0;
}
late_initcall_sync(drystone_census);

// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* As sockets that are accepted: allocated unaccounted, then charged; who asks twice has them charged once. */
#include <linux/printk.h>
#include <linux/slab.h>

#include "test/charge.h"

/* So many, for a reading of a group's bytes lacks up to a page for each processor and kind, still in the processor's own count. */
#define CHARGED 480

static struct kmem_cache *cache;
static void *objects[CHARGED];

void dry_charge_begin(void)
{
	unsigned int charged = 0;

	cache = kmem_cache_create("drystone-test-charge", 1024, 0, SLAB_NO_MERGE, NULL);
	for (int i = 0; cache != NULL && i < CHARGED; i++) {
		objects[i] = kmem_cache_alloc(cache, GFP_KERNEL);
		if (objects[i] == NULL)
			break;
		charged += kmem_cache_charge(objects[i], GFP_KERNEL) && kmem_cache_charge(objects[i], GFP_KERNEL);
	}
	if (charged != CHARGED)
		pr_err("drystone-test: FAILED: %u of %d objects charged\n", charged, CHARGED);
}

void dry_charge_end(void)
{
	if (cache == NULL)
		return;
	for (int i = 0; i < CHARGED; i++)
		if (objects[i] != NULL)
			kmem_cache_free(cache, objects[i]);
	kmem_cache_destroy(cache);
}

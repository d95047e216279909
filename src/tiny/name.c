/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What a class is called in reports. */
#include "tiny/tiny.h"

const char *dry_tiny_class_name(const struct dry_class *class)
{
	const struct dry_link *caches = &class->heap->caches;

	for (const struct dry_link *link = caches->next; link != caches; link = link->next) {
		const struct dry_cache *cache = DRY_CONTAINER(link, const struct dry_cache, owner.caches);

		if (cache->owner.class == class)
			return cache->name;
	}
	return "kmalloc";
}

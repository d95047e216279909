/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Calls that a small machine hardly needs: beside the library that is counted in bytes. */
#include "base/error.h"
#include "base/memory.h"
#include "tiny/reports.h"
#include "tiny/tiny.h"

void *dry_cache_alloc_node(dry_cache *cache, unsigned node)
{
	(void)node; /* there is one */
	return dry_cache_alloc(cache);
}

size_t dry_cache_zalloc_bulk(dry_cache *cache, size_t n, void **objects)
{
	size_t done;

	if (cache->owner.class->ctor != NULL) {
		dry_tiny_set_errno(DRY_EINVAL);
		return 0;
	}
	done = dry_cache_alloc_bulk(cache, n, objects);
	for (size_t i = 0; i < done; i++)
		memset(objects[i], 0, cache->size);
	return done;
}

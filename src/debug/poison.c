/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Poison: a free object is filled with 0x6b, its last byte 0xa5; whatever
 * differs when it is handed out was written after the free.
 */
#include <string.h>

#include "base/fatal.h"
#include "core/debug_ops.h"
#include "core/heap.h"

#define POISON_FREE 0x6b
#define POISON_END  0xa5

static void fill(struct dry_cache *cache, void *object)
{
	unsigned char *bytes = object;

	memset(bytes, POISON_FREE, cache->size);
	bytes[cache->size - 1] = POISON_END;
}

static void verify(struct dry_cache *cache, void *object)
{
	const unsigned char *bytes = object;

	for (size_t i = 0; i < cache->size; i++) {
		if (bytes[i] == (i == cache->size - 1 ? POISON_END : POISON_FREE))
			continue;
		dry_fatal(DRY_FATAL_POISON, bytes + i, cache->name, NULL);
		return;
	}
}

const struct dry_debug_ops dry_debug_poison = { .slab_made = fill, .handed_out = verify, .taken_back = fill };

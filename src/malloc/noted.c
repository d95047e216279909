/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Objects of caches, each noted with its stack (stats/sites.h) and its cache's name, for a search for lost blocks: those of the
 * program's caches, and of general ones in heaps of the program's. They stay in their slabs, which have no arrays then.
 *
 * A freed object is wiped, as what it pointed to would be reached through it; not where it stays constructed, or may be
 * looked at: such a one is a root.
 *
 * Not noted: what lies in memory, or pages, that the program brought; that may be a block itself.
 */
#include <string.h>

#include "debug/hooks.h"
#include "heap/heap.h"
#include "malloc/sample.h"
#include "port/stack.h"
#include "stats/sites.h"

static void slab_made(struct dry_cache *cache, void *object)
{
	(void)cache;
	(void)object;
}

/* One that there is no room to note is a root, as everything that is not known. */
static void handed_out(struct dry_cache *cache, void *object)
{
	struct dry_site_block as = { .size = cache->object_size, .served = cache->size, .class = cache->object_size,
				     .name = cache->name };
	uintptr_t frame[DRY_WHOLE_FRAMES];

	dry_sites_add(object, &as, frame, dry_port_stack(frame, DRY_WHOLE_FRAMES));
}

static bool taken_back(struct dry_cache *cache, void *object)
{
	struct dry_site_block as;

	(void)dry_sites_remove(object, &as);
	if (cache->ctor == NULL && cache->dtor == NULL && !(cache->flags & DRY_CACHE_TYPESAFE_BY_RCU))
		memset(object, 0, cache->object_size);
	return true;
}

static const struct dry_debug_ops noted = { .slab_made = slab_made, .handed_out = handed_out, .taken_back = taken_back };

static bool is_ours(const struct dry_heap *heap)
{
	return heap->caches.backing.arena.owns_memory && heap->extents.source.reserve == NULL &&
	       heap != dry_heap_apart(&dry_main_heap); /* which has samples */
}

static const struct dry_debug_ops *choose(const struct dry_cache *cache, bool typed)
{
	const struct dry_debug_ops *usual = dry_hooks_slow.choose(cache, typed);

	return usual == NULL && typed && is_ours(dry_heap_of(cache->caches)) ? &noted : usual;
}

/* Its memory goes with all that is in it. */
static void heap_gone(struct dry_caches *caches)
{
	const struct dry_arena *arena = &caches->backing.arena;

	if (arena->owns_memory)
		dry_sites_remove_range(arena->base, arena->base + ((uintptr_t)arena->reserved << arena->page_shift));
}

const struct dry_debug_hooks *dry_noted_hooks(void)
{
	static struct dry_debug_hooks hooks;

	hooks = dry_hooks_slow;
	hooks.choose = choose;
	hooks.heap_gone = heap_gone;
	return &hooks;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "malloc/kind.h"

#include "base/fatal.h"
#include "base/fmt.h"
#include "core/slab.h"
#include "debug/secure.h"
#include "heap/heap.h"
#include "port/stack.h"

uintptr_t dry_noted_below;

void dry_kinds_keep(void)
{
	dry_noted_below = UINTPTR_MAX;
}

static enum dry_kind exchange(void *block, enum dry_kind to)
{
	const struct dry_secondary *secondary = dry_heap_secondary(&dry_main_heap);
	const struct dry_slab *slab;

	if (secondary != NULL && secondary->contains(block))
		return secondary->kind(block, to);
	slab = dry_backing_find(&dry_main_heap.caches.backing, block);
	if (slab == NULL || slab->cache->debug == NULL || slab->cache->debug->kind == NULL ||
	    dry_slab_index(slab->cache, slab, block) == UINT32_MAX)
		return DRY_KIND_UNKNOWN;
	return slab->cache->debug->kind(slab->cache, block, to);
}

void dry_kind_note(void *block, enum dry_kind kind)
{
	exchange(dry_tags_strip(block), kind);
}

enum dry_kind dry_kind_free(void *pointer, enum dry_kind kind, const char *by)
{
	static const char *const names[] = { [DRY_KIND_MALLOC] = "malloc", [DRY_KIND_NEW] = "new", [DRY_KIND_NEW_ARRAY] = "new[]" };
	void *block = dry_tags_strip(pointer);
	const struct dry_slab *slab;
	enum dry_kind was;
	char detail[64];

	if (!dry_secure_is_current(pointer)) /* its free says so */
		return DRY_KIND_UNKNOWN;
	was = exchange(block, DRY_KIND_MALLOC);
	if (DRY_LIKELY(was == kind) || was == DRY_KIND_UNKNOWN)
		return was;
	if ((was == DRY_KIND_MALLOC || kind == DRY_KIND_MALLOC) && dry_port_has_cxx_apart())
		return was;
	slab = dry_backing_find(&dry_main_heap.caches.backing, block);
	dry_format(detail, sizeof(detail), "allocated by %s, freed by %s", names[was], by);
	dry_fatal(DRY_FATAL_MISMATCH, block, slab != NULL ? slab->cache->name : NULL, detail);
	return was;
}

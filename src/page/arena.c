/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Making and unmaking arenas. */
#include "base/annotate.h"
#include "base/error.h"
#include "base/rank.h"
#include "page/internal.h"

#define AHEAD ((size_t)32 << 10) /* bytes */
#define HUGE  512                /* pages of 4 KiB */

/*
 * Over a user's memory: the descriptors and the map at its front, then the pages.
 *
 *   | gap | desc | map | gap | page 0 | page 1 | ... | gap |
 */
static int init_memory(struct dry_arena *arena, void *memory, size_t size)
{
	size_t page = (size_t)1 << arena->page_shift;
	size_t granules = page >> DRY_GRANULE_SHIFT;
	size_t per_page = sizeof(struct dry_page) + granules * sizeof(uint16_t), pages, i;
	uintptr_t end, meta, base;

	if (__builtin_add_overflow((uintptr_t)memory, size, &end))
		return -DRY_EINVAL;
	meta = dry_round_up((uintptr_t)memory, sizeof(struct dry_page));
	if (meta < (uintptr_t)memory || meta >= end)
		return -DRY_EINVAL;
	pages = (end - meta) / (page + per_page);
	base = dry_round_up(meta + pages * per_page, page);
	if (base < meta || base >= end)
		return -DRY_EINVAL;
	if (pages > (end - base) >> arena->page_shift)
		pages = (end - base) >> arena->page_shift;
	if (pages == 0 || pages > UINT32_MAX / 2)
		return -DRY_EINVAL;
	arena->desc = (struct dry_page *)meta;
	arena->map = (uint16_t *)(arena->desc + pages);
	arena->base = base;
	arena->pages = arena->reserved = (uint32_t)pages;
	arena->granules = pages * granules;
	arena->skew = (uint32_t)((base & (DRY_CHUNK_SIZE - 1)) >> arena->page_shift);
	for (i = 0; i < pages; i++)
		arena->desc[i] = (struct dry_page){ .kind = DRY_PAGE_NONE };
	for (i = 0; i < arena->granules; i++)
		arena->map[i] = 0;
	atomic_init(&arena->committed, arena->pages);
	/* the content is the user's: not known to be zero */
	dry_buddy_put_apart_locked(arena, 0, arena->pages, 0, 1);
	return 0;
}

static void annotate(const struct dry_arena *arena, bool begins)
{
	uint32_t committed = atomic_load_explicit(&arena->committed, memory_order_relaxed);

	if (dry_annotate == NULL)
		return;
	dry_annotate->space((void *)arena->base, dry_arena_granules(arena) << DRY_GRANULE_SHIFT, begins);
	if (!begins) /* what is mapped here next is not ours */
		dry_annotate->opened((void *)arena->base, (size_t)committed << arena->page_shift);
}

static size_t more_bytes(const struct dry_arena *arena)
{
	return dry_round_up((arena->nodes - 1u) * sizeof(struct dry_arena_lists), dry_port_page_size());
}

/* Lists without blocks for all nodes. false: no memory. */
static bool init_lists(struct dry_arena *arena, unsigned nodes)
{
	arena->nodes = arena->owns_memory && nodes > 1 ? (uint8_t)nodes : 1;
	if (arena->nodes > 1) {
		arena->more = dry_map_apart(more_bytes(arena));
		if (arena->more == NULL)
			return false;
	}
	for (unsigned node = 0; node < arena->nodes; node++)
		for (unsigned order = 0; order <= DRY_CHUNK_MAX_ORDER; order++) {
			struct dry_arena_lists *lists = dry_lists(arena, node);

			lists->head[0][order] = lists->head[1][order] = DRY_PAGE_NIL;
			lists->tail[0][order] = lists->tail[1][order] = DRY_PAGE_NIL;
		}
	return true;
}

static void fini_lists(struct dry_arena *arena)
{
	if (arena->more != NULL)
		dry_release_apart(arena->more, more_bytes(arena));
	arena->more = NULL;
}

size_t dry_arena_page_size(size_t wanted, const void *memory)
{
	size_t least = memory != NULL ? 4096 : dry_port_page_size(), page = wanted != 0 ? wanted : least;

	return page >= least && (page == 4096 || page == 16384 || page == 65536) ? page : 0;
}

int dry_arena_init(struct dry_arena *arena, const struct dry_arena_attr *attr)
{
	size_t page = dry_arena_page_size(attr->page_size, attr->memory);

	if (page == 0)
		return -DRY_EINVAL;
	*arena = (struct dry_arena){ .owns_memory = attr->memory == NULL, .guarded = attr->guarded, .front = DRY_PAGE_NIL };
	if (attr->source != NULL)
		arena->source = *attr->source;
	dry_lock_init(&arena->lock, DRY_RANK_PAGE);
	atomic_init(&arena->committed, 0);
	arena->page_shift = (uint8_t)dry_log2_floor(page);
	arena->max_order = (uint8_t)dry_log2_floor(DRY_CHUNK_SIZE / page);
	if (arena->owns_memory && attr->source == NULL)
		arena->ahead = (uint32_t)(AHEAD / page);
	if (arena->ahead != 0 && page == 4096)
		arena->huge = HUGE;
	arena->limit_pages = attr->limit != 0 ? attr->limit >> arena->page_shift : SIZE_MAX;
	if (!init_lists(arena, attr->nodes))
		return -DRY_ENOMEM;
	int rc = 0;
	if (!arena->owns_memory)
		rc = init_memory(arena, attr->memory, attr->memory_size);
	else if (!dry_reserve_begin(arena, attr->reserve, attr->first != 0 ? attr->first : DRY_CHUNK_SIZE))
		rc = -DRY_ENOMEM;
	if (rc == 0)
		annotate(arena, true);
	else
		fini_lists(arena);
	return rc;
}

void dry_arena_fini(struct dry_arena *arena)
{
	annotate(arena, false);
	fini_lists(arena);
	dry_budget_give(arena->counted << arena->page_shift);
	arena->counted = 0;
	dry_reserve_end(arena);
	arena->granules = 0;
	arena->pages = arena->reserved = 0;
	/* relaxed: nobody else may use an arena that is unmade */
	atomic_store_explicit(&arena->committed, 0, memory_order_relaxed);
}

void dry_arena_after_fork(struct dry_arena *arena)
{
	uint32_t i;

	for (i = 0; i < arena->limbo_count; i++)
		dry_buddy_put_locked(arena, arena->limbo[i].index, UINT32_C(1) << arena->limbo[i].order, true);
	arena->limbo_count = 0;
	arena->limbo_pages = 0;
}

void dry_arena_inherit(struct dry_arena *arena)
{
	arena->inherited = arena->used + arena->free_dirty;
}

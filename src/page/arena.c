/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Making and unmaking arenas. */
#include "base/annotate.h"
#include "base/error.h"
#include "base/rank.h"
#include "page/internal.h"

#define MIN_RESERVE DRY_CHUNK_SIZE
#define MAX_RESERVE ((size_t)UINT32_MAX / 2 << DRY_GRANULE_SHIFT)

static bool array_init(struct dry_arena_array *array, size_t bytes, bool readable)
{
	size_t size = dry_round_up(bytes, dry_port_page_size());

	array->start = dry_reserve_apart(size, readable);
	array->reserved = array->start != NULL ? size : 0;
	array->committed = 0;
	return array->start != NULL;
}

static void array_fini(struct dry_arena_array *array)
{
	if (array->reserved != 0)
		dry_release_apart(array->start, array->reserved);
	array->start = NULL;
	array->reserved = array->committed = 0;
}

/* Before the pages, and after them, a page that is never committed; the rest of a chunk at both ends goes back. */
static void *reserve_guarded(size_t size)
{
	char *base = dry_port_reserve(size + 2 * DRY_CHUNK_SIZE, DRY_CHUNK_SIZE, false);
	size_t guard = dry_port_page_size();

	if (base == NULL)
		return NULL;
	dry_port_release(base, DRY_CHUNK_SIZE - guard);
	base += DRY_CHUNK_SIZE;
	dry_port_release(base + size + guard, DRY_CHUNK_SIZE - guard);
	return base;
}

static void release_pages(const struct dry_arena *arena, uintptr_t base, size_t size)
{
	if (arena->guarded)
		dry_release_apart((void *)base, size);
	else
		dry_source_release(&arena->source, (void *)base, size);
}

/* Pages and metadata for `size` bytes, a multiple of a chunk. All or nothing. */
static bool reserve_all(struct dry_arena *arena, size_t size)
{
	size_t pages = size >> arena->page_shift, granules = size >> DRY_GRANULE_SHIFT;
	void *base = arena->guarded ? reserve_guarded(size) : dry_source_reserve(&arena->source, size, DRY_CHUNK_SIZE);

	if (base == NULL)
		return false;
	if (!array_init(&arena->desc_array, pages * sizeof(struct dry_page), false) ||
	    !array_init(&arena->map_array, granules * sizeof(uint16_t), true) ||
	    !array_init(&arena->chunk_array, size / DRY_CHUNK_SIZE, false)) {
		array_fini(&arena->desc_array);
		array_fini(&arena->map_array);
		release_pages(arena, (uintptr_t)base, size);
		return false;
	}
	arena->base = (uintptr_t)base;
	arena->pages = (uint32_t)pages;
	arena->granules = granules;
	arena->desc = arena->desc_array.start;
	arena->map = arena->map_array.start;
	return true;
}

/*
 * A limit on address space (ulimit -v) is shared with extents, libraries and
 * stacks, so an arena takes 5/8 of what is left (dry_arena_give_up() returns
 * what it does not need). Without a known limit the system may still refuse:
 * then less, by halves.
 */
static int init_reserved(struct dry_arena *arena, size_t want)
{
	size_t room = dry_port_address_room(), size;

	if (want > MAX_RESERVE)
		want = MAX_RESERVE;
	if (room != SIZE_MAX && want > room / 8 * 5)
		want = room / 8 * 5;
	for (size = dry_round_down(want, DRY_CHUNK_SIZE); size >= MIN_RESERVE;
	     size = dry_round_down(size / 2, DRY_CHUNK_SIZE))
		if (reserve_all(arena, size))
			return 0;
	return -DRY_ENOMEM;
}

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
	arena->pages = (uint32_t)pages;
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
	dry_annotate->space((void *)arena->base, arena->granules << DRY_GRANULE_SHIFT, begins);
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

int dry_arena_init(struct dry_arena *arena, const struct dry_arena_attr *attr)
{
	size_t page = attr->page_size != 0 ? attr->page_size : dry_port_page_size();

	if ((page != 4096 && page != 16384 && page != 65536) || page < dry_port_page_size())
		return -DRY_EINVAL;
	*arena = (struct dry_arena){ .owns_memory = attr->memory == NULL, .guarded = attr->guarded };
	if (attr->source != NULL)
		arena->source = *attr->source;
	dry_lock_init(&arena->lock, DRY_RANK_PAGE);
	atomic_init(&arena->committed, 0);
	arena->page_shift = (uint8_t)dry_log2_floor(page);
	arena->max_order = (uint8_t)dry_log2_floor(DRY_CHUNK_SIZE / page);
	arena->limit_pages = attr->limit != 0 ? attr->limit >> arena->page_shift : SIZE_MAX;
	if (!init_lists(arena, attr->nodes))
		return -DRY_ENOMEM;
	int rc = arena->owns_memory ? init_reserved(arena, attr->reserve) :
				      init_memory(arena, attr->memory, attr->memory_size);
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
	if (arena->owns_memory) {
		if (arena->pages != 0) /* else all of it was given up */
			release_pages(arena, arena->base, (size_t)arena->pages << arena->page_shift);
		array_fini(&arena->desc_array);
		array_fini(&arena->map_array);
		array_fini(&arena->chunk_array);
	}
	arena->granules = 0;
	arena->pages = 0;
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
	dry_lock_reinit(&arena->lock);
}

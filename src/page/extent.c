/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "page/extent.h"

#include "base/annotate.h"
#include "base/checked.h"
#include "base/rank.h"
#include "page/internal.h"

#define BATCH 16 /* extents released without the lock in between */

/* ---- registry: linear probing; deletion moves later entries up ---------- */

/* Extents start at page boundaries; the product's top bits depend on all of the page's. */
static size_t home(const struct dry_extents *extents, uintptr_t addr)
{
	uint64_t hash = (uint64_t)(addr >> 12) * UINT64_C(0x9e3779b97f4a7c15);

	return (size_t)(hash >> 32) & (extents->slots - 1);
}

static struct dry_extent *find_locked(struct dry_extents *extents, const void *ptr)
{
	size_t i;

	if (extents->live == 0 || (uintptr_t)ptr == 0)
		return NULL;
	for (i = home(extents, (uintptr_t)ptr); extents->table[i].addr != 0; i = (i + 1) & (extents->slots - 1))
		if (extents->table[i].addr == (uintptr_t)ptr)
			return &extents->table[i];
	return NULL;
}

static void place(struct dry_extents *extents, struct dry_extent entry)
{
	size_t i = home(extents, entry.addr);

	while (extents->table[i].addr != 0)
		i = (i + 1) & (extents->slots - 1);
	extents->table[i] = entry;
}

/* The slot was promised. */
static void insert_locked(struct dry_extents *extents, void *addr, size_t size, unsigned node)
{
	place(extents, (struct dry_extent){ (uintptr_t)addr, size, node });
	extents->live++;
	extents->live_bytes += size;
}

/* The slot stays promised. */
static void remove_locked(struct dry_extents *extents, struct dry_extent *entry)
{
	size_t mask = extents->slots - 1, hole = (size_t)(entry - extents->table), i = hole;

	extents->live--;
	extents->live_bytes -= entry->size;
	for (;;) {
		size_t wants;

		extents->table[hole].addr = 0;
		do {
			i = (i + 1) & mask;
			if (extents->table[i].addr == 0)
				return;
			wants = home(extents, extents->table[i].addr);
			/* an entry may move to the hole if the hole is on its way from home */
		} while (((i - wants) & mask) < ((i - hole) & mask));
		extents->table[hole] = extents->table[i];
		hole = i;
	}
}

/* A table of twice the size, or the first one. Drops the lock meanwhile. */
static bool grow_table_locked(struct dry_extents *extents)
{
	size_t old_slots = extents->slots, i;
	size_t slots = old_slots != 0 ? old_slots * 2 : dry_port_page_size() / sizeof(struct dry_extent);
	size_t bytes = slots * sizeof(struct dry_extent);
	struct dry_extent *old, *table;

	dry_lock_release(&extents->lock);
	table = dry_map_apart(bytes);
	dry_lock_acquire(&extents->lock);
	if (extents->slots == old_slots) {
		if (table == NULL)
			return false;
		old = extents->table;
		extents->table = table;
		extents->slots = slots;
		for (i = 0; i < old_slots; i++)
			if (old[i].addr != 0)
				place(extents, old[i]);
		table = old;
		bytes = old_slots * sizeof(struct dry_extent);
	}
	/* `table` is the old one now, or ours came too late */
	if (table != NULL && bytes != 0) {
		dry_lock_release(&extents->lock);
		dry_release_apart(table, bytes);
		dry_lock_acquire(&extents->lock);
	}
	return true;
}

/* Promise a slot to the caller. false: no memory for a bigger table. */
static bool promise_locked(struct dry_extents *extents)
{
	while ((extents->promised + 1) * 4 > extents->slots * 3)
		if (!grow_table_locked(extents))
			return false;
	extents->promised++;
	return true;
}

/* ---- extents that wait for reuse ---------------------------------------- */

static struct dry_extent_spare take_spare_locked(struct dry_extents *extents, unsigned index)
{
	struct dry_extent_spare spare = extents->spare[index];

	extents->cached--;
	extents->cached_bytes -= spare.size;
	for (; index < extents->cached; index++)
		extents->spare[index] = extents->spare[index + 1];
	return spare;
}

/* The smallest one of the node that holds `size` bytes and is at most a quarter bigger. -1: none. */
static int fitting_spare(const struct dry_extents *extents, size_t size, size_t align, unsigned node)
{
	int best = -1;
	unsigned i;

	for (i = 0; i < extents->cached; i++) {
		const struct dry_extent_spare *spare = &extents->spare[i];

		if (spare->size < size || spare->size - size > size / 4 || (spare->addr & (align - 1)) != 0 ||
		    spare->node != node)
			continue;
		if (best < 0 || spare->size < extents->spare[best].size)
			best = (int)i;
	}
	return best;
}

/* Whether `bytes` more fit the process's limit; a user's source has none. */
static bool afford(const struct dry_extents *extents, size_t bytes)
{
	return extents->source.reserve != NULL || dry_budget_take(bytes);
}

static void unmap(const struct dry_extents *extents, void *addr, size_t size)
{
	dry_source_release(&extents->source, addr, size);
	if (extents->source.reserve == NULL)
		dry_budget_give(size);
}

/* Release the spare extents that are over the cap, or freed at `newest` or before. Drops the lock. */
static size_t release_spares_locked(struct dry_extents *extents, size_t cap, unsigned most, uint64_t newest)
{
	struct dry_extent_spare victims[BATCH];
	unsigned count, i;
	size_t bytes = 0;

	do {
		for (count = 0; count < BATCH && extents->cached != 0 &&
				(extents->cached > most || extents->cached_bytes > cap || extents->spare[0].age <= newest);
		     count++) {
			victims[count] = take_spare_locked(extents, 0);
			bytes += victims[count].size;
		}
		if (count == 0)
			break;
		dry_lock_release(&extents->lock);
		for (i = 0; i < count; i++)
			unmap(extents, (void *)victims[i].addr, victims[i].size);
		dry_lock_acquire(&extents->lock);
	} while (count == BATCH);
	return bytes;
}

/* ---- interface ------------------------------------------------------------ */

void dry_extents_init(struct dry_extents *extents, size_t cap, unsigned nodes, const struct dry_page_source *source)
{
	struct dry_page_source from = { 0 };

	if (source != NULL)
		from = *source;
	*extents = (struct dry_extents){ .cap = cap, .nodes = nodes, .source = from, .tick = 1 };
	dry_lock_init(&extents->lock, DRY_RANK_EXTENT);
}

void dry_extents_fini(struct dry_extents *extents)
{
	size_t i;

	for (i = 0; i < extents->cached; i++)
		unmap(extents, (void *)extents->spare[i].addr, extents->spare[i].size);
	for (i = 0; i < extents->slots; i++) {
		if (extents->table[i].addr == 0)
			continue;
		if (dry_annotate != NULL) /* what is mapped here next is not ours */
			dry_annotate->opened((void *)extents->table[i].addr, extents->table[i].size);
		unmap(extents, (void *)extents->table[i].addr, extents->table[i].size);
	}
	if (extents->slots != 0)
		dry_release_apart(extents->table, extents->slots * sizeof(struct dry_extent));
	dry_extents_init(extents, extents->cap, extents->nodes, &extents->source);
}

static void *map_extent(const struct dry_extents *extents, size_t size, size_t align, unsigned node)
{
	void *addr;

	if (!afford(extents, size))
		return NULL;
	addr = dry_source_reserve(&extents->source, size, align);
	if (addr != NULL && dry_source_commit(&extents->source, addr, size, node, extents->nodes > 1, false))
		return addr;
	if (addr != NULL)
		unmap(extents, addr, size);
	else if (extents->source.reserve == NULL)
		dry_budget_give(size);
	return NULL;
}

/* Without the lock. When the port has no memory, the spare extents are given up for it. */
static void *map_extent_hard(struct dry_extents *extents, size_t size, size_t align, unsigned node)
{
	void *addr = map_extent(extents, size, align, node);
	size_t released;

	if (addr != NULL)
		return addr;
	dry_lock_acquire(&extents->lock);
	released = release_spares_locked(extents, 0, 0, UINT64_MAX);
	dry_lock_release(&extents->lock);
	return released != 0 ? map_extent(extents, size, align, node) : NULL;
}

void *dry_extent_alloc(struct dry_extents *extents, size_t size, size_t align, unsigned node, bool *zeroed)
{
	size_t page = dry_source_unit(&extents->source);
	struct dry_extent_spare spare;
	void *addr;
	int fit;

	if (align < page)
		align = page;
	if (size == 0 || !dry_checked_round_up(size, page, &size))
		return NULL;
	dry_lock_acquire(&extents->lock);
	if (!promise_locked(extents)) {
		dry_lock_release(&extents->lock);
		return NULL;
	}
	fit = fitting_spare(extents, size, align, node);
	if (fit >= 0) {
		spare = take_spare_locked(extents, (unsigned)fit);
		insert_locked(extents, (void *)spare.addr, spare.size, node);
		dry_lock_release(&extents->lock);
		*zeroed = false;
		return (void *)spare.addr;
	}
	dry_lock_release(&extents->lock);
	addr = map_extent_hard(extents, size, align, node);
	dry_lock_acquire(&extents->lock);
	if (addr != NULL)
		insert_locked(extents, addr, size, node);
	else
		extents->promised--;
	dry_lock_release(&extents->lock);
	*zeroed = true;
	return addr;
}

size_t dry_extent_size(struct dry_extents *extents, const void *ptr)
{
	const struct dry_extent *entry;
	size_t size;

	dry_lock_acquire(&extents->lock);
	entry = find_locked(extents, ptr);
	size = entry != NULL ? entry->size : 0;
	dry_lock_release(&extents->lock);
	return size;
}

void *dry_extent_of(struct dry_extents *extents, const void *ptr)
{
	uintptr_t start = 0;
	size_t i;

	dry_lock_acquire(&extents->lock);
	for (i = 0; i < extents->slots && start == 0; i++) {
		const struct dry_extent *entry = &extents->table[i];

		if (entry->addr != 0 && (uintptr_t)ptr - entry->addr < entry->size)
			start = entry->addr;
	}
	dry_lock_release(&extents->lock);
	return (void *)start;
}

bool dry_extent_was_freed(struct dry_extents *extents, const void *ptr)
{
	bool found = false;
	unsigned i;

	dry_lock_acquire(&extents->lock);
	for (i = 0; i < extents->cached; i++)
		found = found || extents->spare[i].addr == (uintptr_t)ptr;
	dry_lock_release(&extents->lock);
	return found;
}

bool dry_extent_free(struct dry_extents *extents, void *ptr)
{
	struct dry_extent *entry;
	unsigned node;
	size_t size;

	dry_lock_acquire(&extents->lock);
	entry = find_locked(extents, ptr);
	if (entry == NULL) {
		dry_lock_release(&extents->lock);
		return false;
	}
	size = entry->size;
	node = entry->node;
	remove_locked(extents, entry);
	extents->promised--;
	if (size > extents->cap) {
		dry_lock_release(&extents->lock);
		unmap(extents, ptr, size);
		return true;
	}
	/* Room first, until it holds: the lock is dropped on the way. */
	while (release_spares_locked(extents, extents->cap - size, DRY_EXTENT_CACHED - 1, 0) != 0)
		;
	extents->spare[extents->cached++] = (struct dry_extent_spare){ (uintptr_t)ptr, size, extents->tick, node };
	extents->cached_bytes += size;
	dry_lock_release(&extents->lock);
	return true;
}

/* As the port does it; an extent of a source can only become smaller. */
static void *remap(const struct dry_extents *extents, char *ptr, size_t old, size_t size, bool may_move)
{
	if (extents->source.reserve == NULL) {
		if (size > old && !dry_budget_take(size - old))
			return NULL;
		void *at = dry_port_resize(ptr, old, size, may_move);
		if ((at != NULL) == (size < old)) /* smaller, or as it was */
			dry_budget_give(size < old ? old - size : size - old);
		return at;
	}
	if (size > old)
		return NULL;
	dry_source_release(&extents->source, ptr + size, old - size);
	return ptr;
}

/*
 * While the port works the extent is in no table: its old place may already
 * belong to another extent when the call returns.
 */
void *dry_extent_resize(struct dry_extents *extents, void *ptr, size_t size, bool may_move)
{
	struct dry_extent *entry;
	unsigned node;
	void *result;
	size_t old;

	if (size == 0 || !dry_checked_round_up(size, dry_source_unit(&extents->source), &size))
		return NULL;
	dry_lock_acquire(&extents->lock);
	entry = find_locked(extents, ptr);
	old = entry != NULL ? entry->size : 0;
	node = entry != NULL ? entry->node : 0;
	if (entry != NULL && old != size)
		remove_locked(extents, entry);
	dry_lock_release(&extents->lock);
	if (old == 0 || old == size)
		return old == 0 ? NULL : ptr;
	result = remap(extents, ptr, old, size, may_move);
	dry_lock_acquire(&extents->lock);
	insert_locked(extents, result != NULL ? result : ptr, result != NULL ? size : old, node);
	dry_lock_release(&extents->lock);
	return result;
}

size_t dry_extent_balance(struct dry_extents *extents, size_t bytes, size_t keep)
{
	size_t released, kept;

	dry_lock_acquire(&extents->lock);
	kept = extents->cached_bytes > bytes ? extents->cached_bytes - bytes : 0;
	if (kept < keep)
		kept = keep;
	released = release_spares_locked(extents, kept, DRY_EXTENT_CACHED, 0);
	dry_lock_release(&extents->lock);
	return released;
}

size_t dry_extent_decay(struct dry_extents *extents, unsigned age, size_t *left)
{
	size_t bytes = 0;

	dry_lock_acquire(&extents->lock);
	extents->tick++;
	if (extents->tick > age)
		bytes = release_spares_locked(extents, extents->cap, DRY_EXTENT_CACHED, extents->tick - age);
	*left = extents->cached_bytes;
	dry_lock_release(&extents->lock);
	return bytes;
}

static const char *check_locked(struct dry_extents *extents)
{
	size_t live = 0, live_bytes = 0, cached_bytes = 0, i;

	for (i = 0; i < extents->slots; i++) {
		if (extents->table[i].addr == 0)
			continue;
		live++;
		live_bytes += extents->table[i].size;
		if (find_locked(extents, (void *)extents->table[i].addr) != &extents->table[i])
			return "extent: an entry cannot be found";
	}
	for (i = 0; i < extents->cached; i++) {
		cached_bytes += extents->spare[i].size;
		if (i > 0 && extents->spare[i].age < extents->spare[i - 1].age)
			return "extent: spare extents out of order";
	}
	if (live != extents->live || live_bytes != extents->live_bytes)
		return "extent: live counts";
	if (cached_bytes != extents->cached_bytes || cached_bytes > extents->cap)
		return "extent: cached bytes";
	if (extents->promised < live || extents->promised * 4 > extents->slots * 3)
		return "extent: promised slots";
	return NULL;
}

const char *dry_extents_check(struct dry_extents *extents)
{
	const char *problem;

	dry_lock_acquire(&extents->lock);
	problem = check_locked(extents);
	dry_lock_release(&extents->lock);
	return problem;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "page/extent.h"

#include <string.h>

#include "base/annotate.h"
#include "base/checked.h"
#include "base/rank.h"
#include "page/dense.h"
#include "page/internal.h"
#include "page/spare.h"

#define CLEARED_BY_PARTS ((size_t)4 << 20) /* bytes; fewer are written to */
#define SPARSE_PERCENT   25                /* of pages with memory: fewer are given back, and come by a fault each */

/* ---- registry: linear probing; deletion moves later entries up ---------- */

/* Extents start at page boundaries; the product's top bits depend on all of the page's. */
static size_t home(const struct dry_extents *extents, uintptr_t addr)
{
	uint64_t hash = (uint64_t)(addr >> 12) * UINT64_C(0x9e3779b97f4a7c15);

	return (size_t)(hash >> 32) & (extents->buckets - 1);
}

static struct dry_extent *find_locked(struct dry_extents *extents, const void *ptr)
{
	size_t i;

	if (extents->live == 0 || (uintptr_t)ptr == 0)
		return NULL;
	for (i = home(extents, (uintptr_t)ptr); extents->table[i].addr != 0; i = (i + 1) & (extents->buckets - 1))
		if (extents->table[i].addr == (uintptr_t)ptr)
			return &extents->table[i];
	return NULL;
}

static void place(struct dry_extents *extents, struct dry_extent entry)
{
	size_t i = home(extents, entry.addr);

	while (extents->table[i].addr != 0)
		i = (i + 1) & (extents->buckets - 1);
	extents->table[i] = entry;
}

/* The slot was promised. */
static void insert_locked(struct dry_extents *extents, void *addr, size_t size, unsigned node)
{
	place(extents, (struct dry_extent){ (uintptr_t)addr, size, node, 0 });
	extents->live++;
	extents->live_bytes += size;
}

/* The slot stays promised. */
static void remove_locked(struct dry_extents *extents, struct dry_extent *entry)
{
	size_t mask = extents->buckets - 1, hole = (size_t)(entry - extents->table), i = hole;

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
	size_t old_buckets = extents->buckets, i;
	size_t buckets = old_buckets != 0 ? old_buckets * 2 : dry_port_page_size() / sizeof(struct dry_extent);
	size_t bytes = buckets * sizeof(struct dry_extent);
	struct dry_extent *old, *table;

	dry_lock_release(&extents->lock);
	table = dry_map_apart(bytes);
	dry_lock_acquire(&extents->lock);
	if (extents->buckets == old_buckets) {
		if (table == NULL)
			return false;
		old = extents->table;
		extents->table = table;
		extents->buckets = buckets;
		for (i = 0; i < old_buckets; i++)
			if (old[i].addr != 0)
				place(extents, old[i]);
		table = old;
		bytes = old_buckets * sizeof(struct dry_extent);
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
	while ((extents->promised + 1) * 4 > extents->buckets * 3)
		if (!grow_table_locked(extents))
			return false;
	extents->promised++;
	return true;
}

/* ---- the process's limit; a user's source has none ---------------------- */

static bool afford(struct dry_extents *extents, size_t bytes)
{
	return extents->source.reserve != NULL || dry_budget_share_take(&extents->share, bytes);
}

/* Bigger, by the port, and what has huge pages keeps them. NULL: cannot, and nothing changed. */
static void *remap(struct dry_extents *extents, void *addr, size_t old, size_t size)
{
	size_t align = ((uintptr_t)addr | old) & (DRY_DENSE_UNIT - 1) ? 1 : DRY_DENSE_UNIT;
	void *at;

	if (!afford(extents, size - old))
		return NULL;
	at = dry_port_resize(addr, old, size, align);
	if (at == NULL)
		dry_budget_share_give(&extents->share, size - old);
	return at;
}

/* The same with an eighth more address space, without memory behind it, where that can be had: who grows will grow again. */
static void *remap_for_more(struct dry_extents *extents, void *addr, size_t old, size_t *size)
{
	size_t more = dry_round_up(*size / 8, dry_port_page_size());
	void *at = *size < SIZE_MAX - more ? remap(extents, addr, old, *size + more) : NULL;

	if (at == NULL)
		return remap(extents, addr, old, *size);
	*size += more;
	return at;
}

/* ---- interface ------------------------------------------------------------ */

void dry_extents_init(struct dry_extents *extents, size_t cap, unsigned nodes, const struct dry_page_source *source)
{
	struct dry_page_source from = { 0 };

	if (source != NULL)
		from = *source;
	*extents = (struct dry_extents){ .cap = cap, .nodes = nodes, .source = from, .tick = 1, .room = DRY_EXTENT_CACHED };
	extents->spare = extents->own;
	dry_dense_init(extents);
	dry_lock_init(&extents->lock, DRY_RANK_EXTENT);
}

void dry_extents_room(struct dry_extents *extents, struct dry_extent_spare *spare, unsigned room)
{
	extents->spare = spare;
	extents->room = room;
}

void dry_extents_fini(struct dry_extents *extents)
{
	size_t i;

	for (i = 0; i < extents->cached; i++)
		dry_extent_unmap(extents, (void *)extents->spare[i].addr, extents->spare[i].size);
	for (i = 0; i < extents->buckets; i++) {
		if (extents->table[i].addr == 0)
			continue;
		if (dry_annotate != NULL) /* what is mapped here next is not ours */
			dry_annotate->opened((void *)extents->table[i].addr, extents->table[i].size);
		dry_extent_unmap(extents, (void *)extents->table[i].addr, extents->table[i].size);
	}
	if (extents->buckets != 0)
		dry_release_apart(extents->table, extents->buckets * sizeof(struct dry_extent));
	dry_extents_init(extents, extents->cap, extents->nodes, &extents->source);
}

static void *map_extent(struct dry_extents *extents, size_t size, size_t align, unsigned node)
{
	void *addr;

	if (!afford(extents, size))
		return NULL;
	addr = dry_source_reserve(&extents->source, size, align);
	if (addr != NULL && dry_source_commit(&extents->source, addr, size, node, extents->nodes > 1, false))
		return addr;
	if (addr != NULL)
		dry_extent_unmap(extents, addr, size);
	else if (extents->source.reserve == NULL)
		dry_budget_share_give(&extents->share, size);
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
	released = dry_spare_release_locked(extents, 0, UINT64_MAX);
	while (dry_spare_settles_locked(extents))
		released = 1;
	dry_lock_release(&extents->lock);
	return released != 0 ? map_extent(extents, size, align, node) : NULL;
}

/* A spare extent, made bigger; and more, where little is missing but for what fills no huge page: the next may miss as little. */
static void *remap_over(struct dry_extents *extents, void *addr, size_t old, size_t *size)
{
	size_t left = old % DRY_DENSE_UNIT == 0 ? DRY_DENSE_UNIT : 0;

	return *size - old <= left + *size / 8 ? remap_for_more(extents, addr, old, size) :
						      remap(extents, addr, old, *size);
}

/*
 * The biggest spare extent, made bigger, by more than what is missing perhaps; else a new one, of which `asked` bytes were asked
 * for. Drops the lock.
 */
static void *make_locked(struct dry_extents *extents, size_t size, size_t asked, size_t align, unsigned node, size_t *dirty)
{
	bool dense = dry_dense_is_likely_locked(extents, size);
	struct dry_extent_spare spare = { 0 };
	size_t whole = size;
	void *addr = NULL;

	if (align <= dry_source_unit(&extents->source))
		spare = dry_spare_take_biggest_locked(extents, size, node);
	dry_lock_release(&extents->lock);
	if (spare.size != 0)
		addr = remap_over(extents, (void *)spare.addr, spare.size, &whole);
	*dirty = addr != NULL ? spare.size : 0;
	if (addr == NULL && spare.size != 0) { /* the system had it in pieces */
		dry_lock_acquire(&extents->lock);
		dry_spare_put_locked(extents, spare);
		dry_lock_release(&extents->lock);
	}
	if (addr == NULL) {
		/* not always: those that lie side by side are joined when they are free */
		if (dense && align < DRY_DENSE_UNIT)
			addr = map_extent(extents, size, DRY_DENSE_UNIT, node);
		if (addr == NULL)
			addr = map_extent_hard(extents, size, align, node);
		if (addr != NULL)
			dry_dense_begin(extents, addr, size, asked);
	}
	if (addr != NULL) /* relaxed: a hint */
		atomic_fetch_add_explicit(&extents->fresh, size - *dirty, memory_order_relaxed);
	dry_lock_acquire(&extents->lock);
	if (whole > size) {
		spare = (struct dry_extent_spare){ (uintptr_t)addr + size, whole - size, extents->tick, node };
		dry_spare_put_locked(extents, spare);
	}
	return addr;
}

void *dry_extent_alloc(struct dry_extents *extents, size_t size, size_t align, unsigned node, size_t *dirty)
{
	size_t page = dry_source_unit(&extents->source), asked;
	struct dry_extent_spare spare;
	void *addr = NULL;
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
	asked = size;
	size = dry_dense_size_locked(extents, asked);
	fit = dry_spare_find_locked(extents, size, align, node);
	if (fit < 0 && size != asked && (fit = dry_spare_find_locked(extents, asked, align, node)) >= 0)
		size = asked;
	if (fit >= 0) {
		spare = dry_spare_take_locked(extents, (unsigned)fit, size);
		addr = (void *)spare.addr;
		*dirty = size = spare.size;
	} else {
		addr = make_locked(extents, size, asked, align, node, dirty);
		if (addr == NULL && size != asked)
			addr = make_locked(extents, size = asked, asked, align, node, dirty);
	}
	if (addr != NULL)
		insert_locked(extents, addr, size, node);
	else
		extents->promised--;
	dry_lock_release(&extents->lock);
	return addr;
}

void dry_extent_clear(const struct dry_extents *extents, void *addr, size_t bytes)
{
	size_t whole = dry_round_down(bytes, dry_source_unit(&extents->source));
	bool first;
	int there = whole >= CLEARED_BY_PARTS ? dry_port_density(addr, whole, &first) : -1;

	if (there >= 0 && there < SPARSE_PERCENT)
		dry_source_purge(&extents->source, addr, whole);
	else
		whole = 0;
	memset((char *)addr + whole, 0, bytes - whole);
}

size_t dry_extents_live(struct dry_extents *extents)
{
	size_t live;

	dry_lock_acquire(&extents->lock);
	live = extents->live;
	dry_lock_release(&extents->lock);
	return live;
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
	for (i = 0; i < extents->buckets && start == 0; i++) {
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
		found = found || (uintptr_t)ptr - extents->spare[i].addr < extents->spare[i].size;
	dry_lock_release(&extents->lock);
	return found;
}

/* What was live is spare. Drops the lock. */
static void keep_locked(struct dry_extents *extents, uintptr_t addr, size_t size, unsigned node)
{
	size_t cap = extents->cap;

	dry_spare_put_locked(extents, (struct dry_extent_spare){ addr, size, extents->tick, node });
	if (cap < extents->live_bytes / 3)
		cap = extents->live_bytes / 3;
	if (extents->cached_bytes > cap) /* a large step, so that the next free has room */
		dry_spare_release_locked(extents, cap - cap / 4, 0);
}

bool dry_extent_free(struct dry_extents *extents, void *ptr)
{
	struct dry_extent *entry, was;

	dry_lock_acquire(&extents->lock);
	entry = find_locked(extents, ptr);
	if (entry != NULL) {
		was = *entry;
		remove_locked(extents, entry); /* before the lock is dropped: who frees twice must not succeed */
		extents->promised--;
		dry_dense_end_locked(extents, was.addr, was.size);
		keep_locked(extents, was.addr, was.size, was.node);
	}
	dry_lock_release(&extents->lock);
	return entry != NULL;
}

/* In place, and with what is known here: the tail becomes spare, or the spare extent behind it is taken from. Drops the lock. */
static bool resize_here_locked(struct dry_extents *extents, struct dry_extent *entry, size_t size, size_t *dirty)
{
	uintptr_t addr = entry->addr;
	size_t old = entry->size;
	unsigned node = entry->node;

	if (size > old) {
		size = old + dry_spare_take_at_locked(extents, addr + old, size - old, node);
		if (size == old)
			return false;
		*dirty = size - old;
	}
	entry->size = size;
	entry->seen = 0;
	extents->live_bytes += size - old;
	/* the entry is not ours from here on */
	if (size < old && extents->source.reserve == NULL) {
		keep_locked(extents, addr + size, old - size, node);
	} else if (size < old) { /* a source may keep whole ranges only, of which the end can go */
		dry_lock_release(&extents->lock);
		dry_source_release(&extents->source, (void *)(addr + size), old - size);
		dry_lock_acquire(&extents->lock);
	}
	return true;
}

#define COPIED_MOST ((size_t)64 << 20) /* of more a program would notice the pause */

/*
 * Whether a copy into a spare extent costs less than fresh pages at the end, which the spare one would be given back for: a
 * page from the system, cleared, and one that goes back take the time of some four that are copied.
 */
static bool copy_pays_locked(const struct dry_extents *extents, const struct dry_extent *entry, size_t size)
{
	return entry->size <= COPIED_MOST && size - entry->size > entry->size / 4 &&
	       dry_spare_find_locked(extents, size, 1, entry->node) >= 0;
}

/*
 * Bigger, by the port. While the port works the extent is in no table: its old place may already belong to another extent when the
 * call returns. Drops the lock.
 */
static void *grow_locked(struct dry_extents *extents, struct dry_extent was, size_t size)
{
	void *ptr = (void *)was.addr, *result;

	remove_locked(extents, find_locked(extents, ptr));
	dry_lock_release(&extents->lock);
	result = remap_for_more(extents, ptr, was.size, &size);
	if (result != NULL) {
		/* An eighth was perhaps not asked for. */
		dry_dense_grown(result, size, was.size - dry_round_up(was.size / 8, dry_source_unit(&extents->source)));
		/* relaxed: a hint */
		atomic_fetch_add_explicit(&extents->fresh, size - was.size, memory_order_relaxed);
	}
	dry_lock_acquire(&extents->lock);
	insert_locked(extents, result != NULL ? result : ptr, result != NULL ? size : was.size, was.node);
	if (result != NULL && result != ptr)
		dry_dense_moved_locked(extents, was.addr);
	return result;
}

void *dry_extent_resize(struct dry_extents *extents, void *ptr, size_t size, size_t *dirty)
{
	struct dry_extent *entry;

	*dirty = 0;
	if (size == 0 || !dry_checked_round_up(size, dry_source_unit(&extents->source), &size))
		return NULL;
	dry_lock_acquire(&extents->lock);
	entry = find_locked(extents, ptr);
	if (entry == NULL)
		ptr = NULL;
	else if (size != entry->size && !resize_here_locked(extents, entry, size, dirty))
		ptr = extents->source.reserve != NULL || copy_pays_locked(extents, entry, size) ? NULL :
												grow_locked(extents, *entry, size);
	dry_lock_release(&extents->lock);
	return ptr;
}

size_t dry_extent_balance(struct dry_extents *extents, size_t bytes, size_t keep)
{
	size_t released = 0, kept;

	dry_lock_acquire(&extents->lock);
	kept = extents->cached_bytes > bytes ? extents->cached_bytes - bytes : 0;
	keep += extents->live_bytes / 6;
	if (kept < keep)
		kept = keep;
	if (extents->cached_bytes > kept)
		released = dry_spare_release_locked(extents, kept, 0);
	dry_lock_release(&extents->lock);
	return released;
}

size_t dry_extent_decay(struct dry_extents *extents, unsigned age)
{
	size_t bytes = 0;

	dry_lock_acquire(&extents->lock);
	extents->tick++;
	if (extents->tick > age)
		bytes = dry_spare_release_locked(extents, SIZE_MAX, extents->tick - age);
	while (age == 0 && dry_spare_settles_locked(extents))
		;
	dry_lock_release(&extents->lock);
	return bytes;
}

void dry_extents_after_fork(struct dry_extents *extents)
{
	extents->releasing = 0;
	dry_budget_share_forked(&extents->share, extents->live_bytes + extents->cached_bytes);
}

static const char *check_locked(struct dry_extents *extents)
{
	size_t live = 0, live_bytes = 0, i;

	for (i = 0; i < extents->buckets; i++) {
		if (extents->table[i].addr == 0)
			continue;
		live++;
		live_bytes += extents->table[i].size;
		if (find_locked(extents, (void *)extents->table[i].addr) != &extents->table[i])
			return "extent: an entry cannot be found";
	}
	if (live != extents->live || live_bytes != extents->live_bytes)
		return "extent: live counts";
	if (extents->promised < live || extents->promised * 4 > extents->buckets * 3)
		return "extent: promised buckets";
	return dry_spares_check_locked(extents);
}

const char *dry_extents_check(struct dry_extents *extents)
{
	const char *problem;

	dry_lock_acquire(&extents->lock);
	problem = check_locked(extents);
	dry_lock_release(&extents->lock);
	return problem;
}

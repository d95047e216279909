/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Heap -> caches -> nodes and arrays. Every loop is bounded, every value checked before it is
 * used as a count or address: the process goes on meanwhile, and may be damaged.
 */
#include "reader.h"
#include "cli.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_HEAPS   4096
#define MAX_CACHES  65536
#define MAX_SLOTS   65536
#define MAX_NODES   64
#define MAX_LOCALS  64
#define MAX_AT      (1u << 24)
#define MAX_NUM     65536
#define MAX_ORDER   20
#define MAX_ROWS    ((size_t)1 << 18)
#define MAX_BULK    ((uint64_t)1 << 35)
#define MAX_OWN     ((size_t)1 << 20)
#define ATTEMPTS    5

void reader_damaged(struct reader *r, const char *what)
{
	if (r->damage == NULL)
		r->damage = what;
}

static uint64_t integer(const unsigned char *bytes, size_t size)
{
	uint64_t value = 0; /* of this machine's byte order, which is little-endian wherever drystone runs whole */

	memcpy(&value, bytes, size);
	return value;
}

static bool is_integer(const struct dry_inspect_field *field)
{
	return field->size <= 8 && field->offset <= MAX_STRUCT;
}

uint64_t reader_field(struct reader *r, uint64_t base, const struct dry_inspect_field *field)
{
	unsigned char bytes[8];

	if (field->size == 0)
		return 0;
	if (!is_integer(field)) {
		reader_damaged(r, "the layout makes no sense");
		return 0;
	}
	if (!target_read(r->target, base + field->offset, bytes, field->size)) {
		reader_damaged(r, "a structure is not mapped");
		return 0;
	}
	return integer(bytes, field->size);
}

uint64_t reader_field_of(struct reader *r, const unsigned char *bytes, size_t size, const struct dry_inspect_field *field)
{
	if (field->size == 0)
		return 0;
	if (!is_integer(field) || field->offset + field->size > size) {
		reader_damaged(r, "the layout makes no sense");
		return 0;
	}
	return integer(bytes + field->offset, field->size);
}

/* A name, made safe to print in a column. */
static void read_name(struct reader *r, uint64_t base, const struct dry_inspect_field *field, char *name)
{
	size_t size = field->size < ROW_NAME ? field->size : ROW_NAME;

	memset(name, 0, ROW_NAME);
	if (field->offset > MAX_STRUCT || !target_read(r->target, base + field->offset, name, size))
		reader_damaged(r, "a structure is not mapped");
	name[ROW_NAME - 1] = '\0';
	text_make_column(name);
	if (name[0] == '\0')
		name[1] = '\0'; /* what stood behind it was not looked at */
	if (name[0] == '\0' || name[0] == '#')
		name[0] = '?';
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

bool reader_bulk(struct reader *r, uint64_t address, void *buffer, size_t size)
{
	r->bulk += size;
	if (r->bulk > MAX_BULK)
		reader_damaged(r, "its tables do not end");
	else if (!target_read(r->target, address, buffer, size))
		reader_damaged(r, "a table is not mapped");
	return r->damage == NULL;
}

struct row *reader_row(struct reader *r, enum row_kind kind)
{
	struct row *row;

	if (r->snapshot->count == MAX_ROWS) {
		reader_damaged(r, "there is no end of caches");
		return NULL;
	}
	row = snapshot_add(r->snapshot, kind);
	memcpy(row->heap, r->heap_name, sizeof(row->heap));
	row->default_heap = r->default_heap;
	return row;
}

/* Metadata lies there: pieces of a page, or a run of pages. */
static void add_own(struct reader *r, uint64_t address)
{
	address &= ~(r->page_bytes - 1);
	if (address == 0 || !r->options->blocks)
		return;
	if (r->own_count == MAX_OWN) {
		reader_damaged(r, "there is no end of arrays");
		return;
	}
	if (r->own_count == r->own_room) {
		r->own_room = r->own_room != 0 ? r->own_room * 2 : 256;
		r->own = cli_realloc(r->own, r->own_room, sizeof(*r->own));
	}
	r->own[r->own_count++] = address;
}

/* A row about a part of a cache. */
static void add_part(struct reader *r, enum row_kind kind, const struct row *cache, const uint64_t *v, uint64_t index)
{
	uint64_t size = cache->v[FIG_SIZE];
	struct row *row;

	if (!r->options->parts || (row = reader_row(r, kind)) == NULL)
		return;
	memcpy(row->name, cache->name, sizeof(row->name));
	memcpy(row->alias_of, cache->alias_of, sizeof(row->alias_of));
	row->index = (unsigned)index;
	row->id = cache->id;
	memcpy(row->v, v, sizeof(row->v));
	if ((int64_t)v[FIG_ALLOCS] < 0) /* counts down */
		row->v[FIG_ALLOCS] = 0;
	row->v[FIG_CACHED] = (v[FIG_SHARED] + v[FIG_ALIEN] + v[FIG_ARRAYS]) * size;
	row->v[FIG_IN_SLABS] = v[FIG_FREE_OBJS] * size;
	row->v[FIG_TOTAL] = v[FIG_SLABS] * cache->v[FIG_PER_SLAB];
	row->v[FIG_PEAK] = v[FIG_PEAK] * cache->v[FIG_PAGES] * r->page_bytes;
	row->v[FIG_BYTES] = kind == ROW_NODE ? v[FIG_SLABS] * cache->v[FIG_PAGES] * r->page_bytes : row->v[FIG_CACHED];
}

static void read_node(struct reader *r, uint64_t node, uint64_t *v)
{
	const struct dry_inspect *layout = r->layout;
	uint64_t depots = READ(r, node, node_alien);

	v[FIG_SLABS] = READ(r, node, node_slabs);
	v[FIG_ACTIVE_SLABS] = less(v[FIG_SLABS], READ(r, node, node_free_slabs));
	v[FIG_SHARED] = READ(r, node, node_shared_avail);
	v[FIG_FREE_OBJS] = READ(r, node, node_free_objects);
	v[FIG_SLOW_ALLOCS] = READ(r, node, node_slow_allocs);
	v[FIG_SLOW_FREES] = READ(r, node, node_slow_frees);
	v[FIG_LOCKS] = READ(r, node, node_lock_rounds);
	v[FIG_WAITS] = READ(r, node, node_lock_waits);
	v[FIG_BATCHES] = READ(r, node, node_shared_moves);
	v[FIG_SLABS_MADE] = READ(r, node, node_slabs_made);
	v[FIG_PEAK] = READ(r, node, node_peak_slabs); /* slabs, so far */
	v[FIG_REMOTE] = READ(r, node, node_remote_frees);
	v[FIG_FAILURES] = READ(r, node, node_failures);
	add_own(r, READ(r, node, node_shared_entry));
	add_own(r, depots);
	for (uint64_t i = 0; depots != 0 && i < r->nodes + layout->locals && r->damage == NULL; i++) {
		v[i < r->nodes ? FIG_ALIEN : FIG_SHARED] += READ(r, depots + i * layout->depot_size, depot_avail);
		v[FIG_BATCHES] += READ(r, depots + i * layout->depot_size, depot_moves);
		v[FIG_SLOW_ALLOCS] += READ(r, depots + i * layout->depot_size, depot_allocs);
		v[FIG_SLOW_FREES] += READ(r, depots + i * layout->depot_size, depot_frees);
		add_own(r, READ(r, depots + i * layout->depot_size, depot_entry));
	}
	v[FIG_ALLOCS] = READ(r, node, node_bulk_allocs) + READ(r, node, node_pops_apart) + v[FIG_SLOW_ALLOCS];
}

static void add_nodes(struct reader *r, uint64_t cache, struct row *out)
{
	const struct dry_inspect *layout = r->layout;

	for (uint64_t n = 0; n < r->nodes && r->damage == NULL; n++) {
		uint64_t v[FIGURE_COUNT] = { 0 };

		read_node(r, cache + layout->cache_nodes.offset + n * layout->node_size, v);
		for (unsigned i = 0; i < FIGURE_COUNT; i++)
			out->v[i] += v[i];
		if (v[FIG_SLABS] != 0)
			add_part(r, ROW_NODE, out, v, n);
	}
}

/* An array's word: objects in it, and what it says of allocations. */
static void add_array(const struct dry_inspect *layout, uint64_t word, uint64_t *v)
{
	v[FIG_ARRAYS] += word & (((uint64_t)1 << layout->avail_bits) - 1);
	v[FIG_ALLOCS] += (uint64_t)dry_inspect_pops(word, layout->avail_bits);
}

/* Sums over the slots' arrays. An area that cannot be read counts as empty: it was just being made. */
static void add_arrays(struct reader *r, uint64_t cache, struct row *out)
{
	const struct dry_inspect *layout = r->layout;
	uint64_t at = READ(r, cache, cache_array);
	size_t count = 0, next = 0;

	out->v[FIG_FACTOR] = at != 0 ? layout->shared_factor : 0;
	if (at == 0)
		return;
	if (at > MAX_AT) {
		reader_damaged(r, "the place of an array makes no sense");
		return;
	}
	for (uint64_t s = 0; s < r->slots; s++)
		if (r->area[s] != 0)
			r->addresses[count++] = r->area[s] + at * layout->array_unit + layout->array_word.offset;
	uint64_t *words = r->addresses + r->slots;
	target_read_words(r->target, r->addresses, count, words);
	for (uint64_t s = 0; s < r->slots; s++) {
		uint64_t v[FIGURE_COUNT] = { 0 };

		if (r->area[s] == 0)
			continue;
		add_array(layout, words[next++], v);
		out->v[FIG_ARRAYS] += v[FIG_ARRAYS];
		out->v[FIG_ALLOCS] += v[FIG_ALLOCS];
		if (v[FIG_ARRAYS] != 0 || v[FIG_ALLOCS] != 0)
			add_part(r, ROW_SLOT, out, v, s);
	}
	if ((int64_t)out->v[FIG_ALLOCS] < 0) /* the arrays were read later than the counts */
		out->v[FIG_ALLOCS] = 0;
}

/* What follows from the figures that were read, for the row and the sums of the process. */
static void derive(struct reader *r, struct row *row, uint64_t free_slabs)
{
	uint64_t *v = row->v, size = v[FIG_SIZE], slab = v[FIG_PAGES] * r->page_bytes;
	uint64_t asked = v[FIG_ASKED] != 0 && v[FIG_ASKED] < size ? v[FIG_ASKED] : size;
	struct snapshot *s = r->snapshot;

	v[FIG_TOTAL] = v[FIG_SLABS] * v[FIG_PER_SLAB];
	v[FIG_ACTIVE] = less(v[FIG_TOTAL], v[FIG_FREE_OBJS] + v[FIG_SHARED] + v[FIG_ALIEN] + v[FIG_ARRAYS] + v[FIG_KEPT]);
	v[FIG_BYTES] = v[FIG_SLABS] * slab;
	v[FIG_PEAK] *= slab;
	v[FIG_LIVE] = v[FIG_ACTIVE] * asked;
	v[FIG_WASTE] = less(v[FIG_BYTES], v[FIG_LIVE]);
	v[FIG_IN_SLABS] = v[FIG_FREE_OBJS] * size;
	v[FIG_CACHED] = (v[FIG_SHARED] + v[FIG_ALIEN] + v[FIG_ARRAYS] + v[FIG_KEPT]) * size;
	if (row->alias_of[0] != '\0')
		return;
	sum_add(s, SUM_CACHES, 1);
	sum_add(s, SUM_LIVE_OBJECTS, v[FIG_LIVE]);
	sum_add(s, SUM_SLOTS, v[FIG_ACTIVE] * (size - asked));
	sum_add(s, SUM_IN_SLABS, v[FIG_IN_SLABS]);
	sum_add(s, SUM_IN_ARRAYS, v[FIG_ARRAYS] * size);
	sum_add(s, SUM_IN_SHARED, v[FIG_SHARED] * size);
	sum_add(s, SUM_IN_ALIEN, v[FIG_ALIEN] * size);
	sum_add(s, SUM_QUARANTINE, v[FIG_KEPT] * size);
	sum_add(s, SUM_SLAB_ENDS, less(v[FIG_BYTES], v[FIG_TOTAL] * size));
	sum_add(s, SUM_TRIM, free_slabs * slab);
	sum_add(s, SUM_OBJECTS, v[FIG_ACTIVE]);
	sum_add(s, SUM_ALLOCS, v[FIG_ALLOCS]);
	sum_add(s, SUM_SLOW_ALLOCS, v[FIG_SLOW_ALLOCS]);
	sum_add(s, SUM_SLOW_FREES, v[FIG_SLOW_FREES]);
	sum_add(s, SUM_LOCKS, v[FIG_LOCKS]);
	sum_add(s, SUM_WAITS, v[FIG_WAITS]);
	sum_add(s, SUM_BATCHES, v[FIG_BATCHES]);
	sum_add(s, SUM_SLABS_MADE, v[FIG_SLABS_MADE]);
	sum_add(s, SUM_REMOTE, v[FIG_REMOTE]);
	sum_add(s, SUM_FAILURES, v[FIG_FAILURES]);
}

static void add_cache(struct reader *r, uint64_t cache, uint64_t unused)
{
	const struct dry_inspect *layout = r->layout;
	uint64_t root = READ(r, cache, cache_root), order;
	struct row out = { .kind = ROW_CACHE, .id = cache }, *row;
	uint64_t *v = out.v;

	(void)unused;
	read_name(r, cache, &layout->cache_name, out.name);
	if (root != cache)
		read_name(r, root, &layout->cache_name, out.alias_of);
	v[FIG_ASKED] = READ(r, cache, cache_object_size);
	v[FIG_SIZE] = READ(r, root, cache_size);
	v[FIG_PER_SLAB] = READ(r, root, cache_num);
	order = READ(r, root, cache_order);
	v[FIG_LIMIT] = READ(r, root, cache_limit);
	v[FIG_BATCH] = READ(r, root, cache_batchcount);
	v[FIG_KEPT] = READ(r, root, cache_kept);
	if (r->damage == NULL && (v[FIG_PER_SLAB] == 0 || v[FIG_PER_SLAB] > MAX_NUM || v[FIG_SIZE] == 0 || order > MAX_ORDER))
		reader_damaged(r, "a cache makes no sense");
	if (r->damage != NULL)
		return;
	v[FIG_PAGES] = (uint64_t)1 << order;
	add_nodes(r, root, &out);
	add_arrays(r, root, &out);
	if (READ(r, root, cache_array) == 0) { /* what waits where others have their shared arrays */
		v[FIG_KEPT] += v[FIG_SHARED];
		v[FIG_SHARED] = 0;
	}
	if (r->damage != NULL)
		return;
	add_own(r, cache);
	derive(r, &out, less(v[FIG_SLABS], v[FIG_ACTIVE_SLABS]));
	row = reader_row(r, ROW_CACHE);
	if (row == NULL)
		return;
	memcpy(out.heap, row->heap, sizeof(out.heap));
	out.default_heap = row->default_heap;
	*row = out;
}

static bool read_slots(struct reader *r, uint64_t heap)
{
	uint64_t table = READ(r, heap, heap_slot_table);

	r->nodes = READ(r, heap, heap_nodes);
	r->slots = READ(r, heap, heap_slots);
	if (r->nodes > MAX_NODES || r->slots > MAX_SLOTS ||
	    r->nodes * r->layout->node_size > r->layout->cache_nodes.size) {
		reader_damaged(r, "a heap makes no sense");
		return false;
	}
	r->area = cli_realloc(r->area, r->slots + 1, sizeof(*r->area));
	r->addresses = cli_realloc(r->addresses, 2 * (r->slots + 1), sizeof(*r->addresses));
	add_own(r, table);
	if (table == 0)
		r->slots = 0;
	if (!target_read(r->target, table, r->area, r->slots * sizeof(*r->area)))
		reader_damaged(r, "a table of slots is not mapped");
	for (uint64_t s = 0; s < r->slots && r->damage == NULL; s++) {
		if (r->area[s] == (uintptr_t)r->layout->stopped_area)
			r->area[s] = 0;
		add_own(r, r->area[s]);
	}
	return r->damage == NULL;
}

/* Size of the heap's pages; its arenas all have the same. */
static void read_page_size(struct reader *r, uint64_t heap)
{
	const struct dry_inspect *layout = r->layout;
	uint64_t shift = 0;

	if (layout->heap_arenas.size != 0)
		shift = READ(r, heap + layout->heap_arenas.offset, arena_page_shift);
	r->page_bytes = shift != 0 ? (uint64_t)1 << (shift & 31) : (uint64_t)sysconf(_SC_PAGESIZE);
	if (shift != 0 && (shift < 12 || shift > 16))
		reader_damaged(r, "a size of pages makes no sense");
}

/*
 * Visit each element of a list. A cycle is seen when the element comes back that was kept
 * last; which one is kept changes at powers of two, so a cycle anywhere is found.
 */
static void for_each(struct reader *r, uint64_t first, const struct dry_inspect_field *next, unsigned most,
		     void (*visit)(struct reader *, uint64_t, uint64_t), uint64_t arg)
{
	uint64_t kept = 0;
	unsigned n = 0;

	for (uint64_t at = first; at != 0 && r->damage == NULL; at = reader_field(r, at, next)) {
		if (at == kept || n++ == most || at % sizeof(void *) != 0) {
			reader_damaged(r, "a list does not end");
			return;
		}
		if ((n & (n - 1)) == 0)
			kept = at;
		visit(r, at, arg);
	}
}

/* Of caches, and heaps, that are not there any more. */
static void add_gone(struct reader *r, uint64_t at, size_t kinds)
{
	static const enum total total[] = { SUM_ALLOCS, SUM_SLOW_ALLOCS, SUM_SLOW_FREES, SUM_FAILURES, SUM_LOCKS, SUM_WAITS,
					    SUM_BATCHES, SUM_SLABS_MADE, SUM_REMOTE, SUM_REAPS, SUM_PURGED };

	for (size_t i = 0; i < kinds && i < sizeof(total) / sizeof(total[0]); i++) {
		const struct dry_inspect_field field = { (uint32_t)(i * sizeof(uint64_t)), sizeof(uint64_t) };
		sum_add(r->snapshot, total[i], reader_field(r, at, &field));
	}
}

static void add_heap(struct reader *r, uint64_t heap, uint64_t unused)
{
	const struct dry_inspect *layout = r->layout;
	uint64_t metadata, guarded;

	(void)unused;
	sum_add(r->snapshot, SUM_HEAPS, 1);
	read_name(r, heap, &layout->heap_name, r->heap_name);
	r->default_heap = layout->default_heap != NULL ? heap == (uintptr_t)layout->default_heap
						       : strcmp(r->heap_name, "default") == 0;
	r->first_row = r->snapshot->count;
	r->own_count = 0;
	read_page_size(r, heap);
	add_own(r, heap);
	if (!read_slots(r, heap))
		return;
	for_each(r, READ(r, heap, heap_caches), &layout->cache_next, MAX_CACHES, add_cache, 0);
	add_gone(r, heap + layout->heap_gone.offset, layout->heap_gone.size / sizeof(uint64_t));
	sum_add(r->snapshot, SUM_FAILURES, READ(r, heap, heap_failures));
	sum_add(r->snapshot, SUM_REAPS, READ(r, heap, heap_reaps));
	sum_add(r->snapshot, SUM_PURGED, READ(r, heap, extents_purged));
	if (!r->options->blocks || r->damage != NULL)
		return;
	metadata = r->snapshot->sum[SUM_METADATA];
	guarded = r->snapshot->sum[SUM_GUARDED];
	read_arenas(r, heap);
	read_metadata(r, heap);
	read_extents(r, heap);
	read_guarded(r);
	map_sum(r, "metadata", PIECE_META, r->snapshot->sum[SUM_METADATA] - metadata);
	map_sum(r, "guarded blocks", PIECE_GUARDED, r->snapshot->sum[SUM_GUARDED] - guarded);
}

/* What is used without a check later. */
static bool layout_is_sane(const struct dry_inspect *layout)
{
	return layout->node_size != 0 && layout->node_size <= MAX_STRUCT && layout->avail_bits >= 1 &&
	       layout->avail_bits <= 32 &&
	       layout->array_unit >= 1 && layout->array_unit <= 4096 && layout->depot_size <= MAX_STRUCT &&
	       layout->locals <= MAX_LOCALS &&
	       layout->array_word.size == 8 && layout->array_word.offset <= MAX_STRUCT &&
	       layout->cache_nodes.offset <= MAX_STRUCT && layout->heap_arenas.offset <= MAX_STRUCT &&
	       layout->heap_arenas.size <= MAX_STRUCT && layout->heap_meta_arena.offset <= MAX_STRUCT;
}

static void read_memory(struct reader *r)
{
	struct target_memory memory;

	if (!target_memory(r->target, &memory))
		return;
	sum_add(r->snapshot, SUM_RSS, memory.resident);
	sum_add(r->snapshot, SUM_PEAK, memory.peak);
	sum_add(r->snapshot, SUM_ANONYMOUS, memory.anonymous);
	sum_add(r->snapshot, SUM_SWAPPED, memory.swapped);
}

/* What the process has none of is 0, and not absent: figures that come and go are gaps to who records them. */
static void begin_sums(struct snapshot *s)
{
	for (int i = SUM_ALLOCATED; i < TOTAL_COUNT; i++)
		if (i != SUM_RESIDENT_OURS && i != SUM_UNTOUCHED && i != SUM_OTHERS) /* these may be unknown */
			sum_add(s, (enum total)i, 0);
}

static void attempt(struct reader *r)
{
	const struct dry_inspect_field pointer = { 0, sizeof(void *) };

	if (r->options->blocks) {
		begin_sums(r->snapshot);
		read_memory(r);
	}
	r->pagemap = r->options->blocks ? target_pagemap(r->target) : -1;
	if (!layout_is_sane(r->layout))
		reader_damaged(r, "the layout makes no sense");
	else
		for_each(r, reader_field(r, (uintptr_t)r->layout->heaps, &pointer), &r->layout->heap_next, MAX_HEAPS, add_heap,
			 0);
	if (r->layout->heaps_gone != NULL)
		add_gone(r, (uintptr_t)r->layout->heaps_gone, SIZE_MAX);
	r->snapshot->has_resident = r->pagemap >= 0 && r->layout->heap_arenas.size != 0;
	if (r->pagemap >= 0)
		close(r->pagemap);
	else
		r->snapshot->has[SUM_RESIDENT_OURS] = false;
	free(r->area);
	free(r->addresses);
	free(r->own);
}

void walk_target(const struct target *target, const struct dry_inspect *layout, const struct walk_options *options,
		 struct snapshot *snapshot)
{
	memset(snapshot, 0, sizeof(*snapshot));
	for (unsigned n = 0; n < ATTEMPTS; n++) {
		struct reader r = { .target = target, .layout = layout, .options = options, .snapshot = snapshot };

		snapshot_free(snapshot);
		snapshot->pid = (int)target->pid;
		snapshot->of_core = target->core != NULL;
		memcpy(snapshot->program, target->program, sizeof(snapshot->program));
		snapshot->when = cli_now();
		attempt(&r);
		snapshot->damage = r.damage;
		if (r.damage == NULL)
			break;
	}
	snapshot_sum(snapshot);
}

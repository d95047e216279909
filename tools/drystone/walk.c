/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Heap -> caches -> nodes and arrays. Every loop is bounded, every value checked before it is
 * used as a count or address: the process goes on meanwhile, and may be damaged.
 */
#include "walk.h"
#include "cli.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HEAPS   4096
#define MAX_CACHES  65536
#define MAX_SLOTS   65536
#define MAX_NODES   64
#define MAX_STRUCT  65536 /* bytes between a struct's start and a field in it */
#define MAX_AT      (1u << 24)
#define MAX_NUM     65536
#define MAX_ORDER   20
#define ATTEMPTS    5

#define READ(r, base, field) read_field(r, base, &(r)->layout->field)

/* One attempt. */
struct reader {
	const struct target *target;
	const struct dry_inspect *layout;
	struct walk *walk;
	const char *damage;
	/* of the heap at hand */
	char heap_name[WALK_NAME];
	bool default_heap;
	uint64_t nodes, slots;
	uint64_t *area;      /* [slots] */
	uint64_t *addresses; /* [2 * slots], then as many values */
};

static void damaged(struct reader *r, const char *what)
{
	if (r->damage == NULL)
		r->damage = what;
}

/* An integer or pointer field of the struct at base. A field that the library lacks is 0. */
static uint64_t read_field(struct reader *r, uint64_t base, const struct dry_inspect_field *field)
{
	unsigned char bytes[8];
	uint16_t two;
	uint32_t four;
	uint64_t eight;

	if (field->size == 0)
		return 0;
	if ((field->size & (field->size - 1)) != 0 || field->size > sizeof(bytes) || field->offset > MAX_STRUCT) {
		damaged(r, "the layout makes no sense");
		return 0;
	}
	if (!target_read(r->target, base + field->offset, bytes, field->size)) {
		damaged(r, "a structure is not mapped");
		return 0;
	}
	memcpy(&two, bytes, sizeof(two));
	memcpy(&four, bytes, sizeof(four));
	memcpy(&eight, bytes, sizeof(eight));
	return field->size == 1 ? bytes[0] : field->size == 2 ? two : field->size == 4 ? four : eight;
}

/* A name, made safe to print in a column. */
static void read_name(struct reader *r, uint64_t base, const struct dry_inspect_field *field, char *name)
{
	size_t size = field->size < WALK_NAME ? field->size : WALK_NAME;

	memset(name, 0, WALK_NAME);
	if (field->offset > MAX_STRUCT || !target_read(r->target, base + field->offset, name, size))
		damaged(r, "a structure is not mapped");
	name[WALK_NAME - 1] = '\0';
	for (char *c = name; *c != '\0'; c++)
		if (*c == ' ')
			*c = '_';
		else if (!isgraph((unsigned char)*c) || (unsigned char)*c > 126)
			*c = '?';
	if (name[0] == '\0')
		name[1] = '\0'; /* what stood behind it was not looked at */
	if (name[0] == '\0' || name[0] == '#')
		name[0] = '?';
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Sums over the nodes; *elsewhere: objects that the program does not have. */
static void add_nodes(struct reader *r, uint64_t cache, struct walk_cache *out, uint64_t *elsewhere)
{
	const struct dry_inspect *layout = r->layout;
	uint64_t slabs, depots;

	for (uint64_t n = 0; n < r->nodes && r->damage == NULL; n++) {
		uint64_t node = cache + layout->cache_nodes.offset + n * layout->node_size;

		slabs = READ(r, node, node_slabs);
		out->num_slabs += slabs;
		out->active_slabs += less(slabs, READ(r, node, node_free_slabs));
		out->shared_avail += READ(r, node, node_shared_avail);
		*elsewhere += READ(r, node, node_free_objects);
		out->slow_allocs += READ(r, node, node_slow_allocs);
		out->slow_frees += READ(r, node, node_slow_frees);
		out->allocs += READ(r, node, node_bulk_allocs);
		depots = READ(r, node, node_alien);
		for (uint64_t i = 0; depots != 0 && i < r->nodes; i++)
			*elsewhere += READ(r, depots + i * layout->depot_size, depot_avail);
	}
	*elsewhere += out->shared_avail;
	out->allocs += out->slow_allocs;
}

/* Sums over the slots' arrays. An area that cannot be read counts as empty: it was just being made. */
static void add_arrays(struct reader *r, uint64_t cache, struct walk_cache *out, uint64_t *elsewhere)
{
	const struct dry_inspect *layout = r->layout;
	uint64_t at[2] = { READ(r, cache, cache_alloc_array), READ(r, cache, cache_free_array) };
	uint64_t low = ((uint64_t)1 << layout->avail_bits) - 1, packed = ((uint64_t)1 << layout->packed_bits) - 1;
	unsigned arrays = at[1] != 0 && at[1] != at[0] ? 2 : 1;
	size_t count = 0;

	out->shared_factor = at[0] != 0 ? layout->shared_factor : 0;
	if (at[0] == 0)
		return;
	if (at[0] > MAX_AT || at[1] > MAX_AT) {
		damaged(r, "the place of an array makes no sense");
		return;
	}
	for (uint64_t s = 0; s < r->slots; s++) {
		if (r->area[s] == 0 || r->area[s] == (uintptr_t)layout->stopped_area)
			continue;
		for (unsigned i = 0; i < arrays; i++)
			r->addresses[count++] = r->area[s] + at[i] * layout->array_unit + layout->array_word.offset;
	}
	uint64_t *words = r->addresses + 2 * r->slots;
	target_read_words(r->target, r->addresses, count, words);
	for (size_t i = 0; i < count; i++) {
		bool from_packed = arrays == 2 && i % 2 == 0;
		uint64_t avail = words[i] & (from_packed ? packed : low);

		*elsewhere += avail;
		if (arrays == 1)
			out->allocs += words[i] << 1 >> (layout->avail_bits + 1);
		else if (from_packed) /* counted as allocated when they went in */
			out->allocs = less(out->allocs, avail);
	}
}

static void add_cache(struct reader *r, uint64_t cache)
{
	const struct dry_inspect *layout = r->layout;
	struct walk *walk = r->walk;
	uint64_t root = READ(r, cache, cache_root), elsewhere = 0, order;
	struct walk_cache out = { .default_heap = r->default_heap };

	memcpy(out.heap, r->heap_name, sizeof(out.heap));
	read_name(r, cache, &layout->cache_name, out.name);
	if (root != cache)
		read_name(r, root, &layout->cache_name, out.alias_of);
	out.object_size = READ(r, cache, cache_object_size);
	out.size = READ(r, root, cache_size);
	out.num = READ(r, root, cache_num);
	order = READ(r, root, cache_order);
	out.limit = READ(r, root, cache_limit);
	out.batchcount = READ(r, root, cache_batchcount);
	if (r->damage == NULL && (out.num == 0 || out.num > MAX_NUM || out.size == 0 || order > MAX_ORDER))
		damaged(r, "a cache makes no sense");
	if (r->damage != NULL)
		return;
	out.pages = (uint64_t)1 << order;
	add_nodes(r, root, &out, &elsewhere);
	add_arrays(r, root, &out, &elsewhere);
	if (r->damage != NULL)
		return;
	out.num_objs = out.num_slabs * out.num;
	out.active_objs = less(out.num_objs, elsewhere);
	if (walk->count == walk->room) {
		walk->room = walk->room != 0 ? walk->room * 2 : 128;
		walk->caches = cli_realloc(walk->caches, walk->room, sizeof(*walk->caches));
	}
	walk->caches[walk->count++] = out;
}

static bool read_slots(struct reader *r, uint64_t heap)
{
	uint64_t table = READ(r, heap, heap_slot_table);

	r->nodes = READ(r, heap, heap_nodes);
	r->slots = READ(r, heap, heap_slots);
	if (r->nodes > MAX_NODES || r->slots > MAX_SLOTS ||
	    r->nodes * r->layout->node_size > r->layout->cache_nodes.size) {
		damaged(r, "a heap makes no sense");
		return false;
	}
	r->area = cli_realloc(r->area, r->slots + 1, sizeof(*r->area));
	r->addresses = cli_realloc(r->addresses, 4 * (r->slots + 1), sizeof(*r->addresses));
	if (table == 0)
		r->slots = 0;
	if (!target_read(r->target, table, r->area, r->slots * sizeof(*r->area)))
		damaged(r, "a table of slots is not mapped");
	return r->damage == NULL;
}

/*
 * Visit each element of a list. A cycle is seen when the element comes back that was kept
 * last; which one is kept changes at powers of two, so a cycle anywhere is found.
 */
static void for_each(struct reader *r, uint64_t first, const struct dry_inspect_field *next, unsigned most,
		     void (*visit)(struct reader *, uint64_t))
{
	uint64_t kept = 0;
	unsigned n = 0;

	for (uint64_t at = first; at != 0 && r->damage == NULL; at = read_field(r, at, next)) {
		if (at == kept || n++ == most || at % sizeof(void *) != 0) {
			damaged(r, "a list does not end");
			return;
		}
		if ((n & (n - 1)) == 0)
			kept = at;
		visit(r, at);
	}
}

static void add_heap(struct reader *r, uint64_t heap)
{
	const struct dry_inspect *layout = r->layout;

	read_name(r, heap, &layout->heap_name, r->heap_name);
	r->default_heap = layout->default_heap != NULL ? heap == (uintptr_t)layout->default_heap
						       : strcmp(r->heap_name, "default") == 0;
	if (read_slots(r, heap))
		for_each(r, READ(r, heap, heap_caches), &layout->cache_next, MAX_CACHES, add_cache);
}

/* What is used without a check later. */
static bool layout_is_sane(const struct dry_inspect *layout)
{
	return layout->node_size != 0 && layout->node_size <= MAX_STRUCT && layout->avail_bits >= 1 &&
	       layout->avail_bits <= 32 && layout->packed_bits >= 1 && layout->packed_bits <= 32 &&
	       layout->array_unit >= 1 && layout->array_unit <= 4096 &&
	       layout->depot_size <= MAX_STRUCT && layout->array_word.size == 8 &&
	       layout->array_word.offset <= MAX_STRUCT && layout->cache_nodes.offset <= MAX_STRUCT;
}

void walk_process(const struct target *target, const struct dry_inspect *layout, struct walk *walk)
{
	const struct dry_inspect_field pointer = { 0, sizeof(void *) };

	memset(walk, 0, sizeof(*walk));
	for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
		struct reader r = { .target = target, .layout = layout, .walk = walk };

		walk->count = 0;
		if (!layout_is_sane(layout))
			damaged(&r, "the layout makes no sense");
		else
			for_each(&r, read_field(&r, (uintptr_t)layout->heaps, &pointer), &layout->heap_next, MAX_HEAPS,
				 add_heap);
		free(r.area);
		free(r.addresses);
		walk->damage = r.damage;
		if (r.damage == NULL)
			return;
	}
}

void walk_free(struct walk *walk)
{
	free(walk->caches);
	memset(walk, 0, sizeof(*walk));
}

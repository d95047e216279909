/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "stats/metrics.h"

#include <string.h>

#include "base/fmt.h"
#include "core/layout.h"
#include "core/walk.h"
#include "guard/internal.h"
#include "heap/heap.h"

#define MOST   100 /* caches with a label of their own; all others are one */
#define OTHERS "(others)"

enum total {
	RESIDENT, ALLOCATED, ACTIVE, WASTE, RETAINED, METADATA, RESERVED, CACHES, ALLOCS, SLOW_ALLOCS, SLOW_FREES, FAILURES, REAPS,
	PURGED, TOTALS
};
enum figure { BYTES, LIVE_BYTES, OBJECTS, SLABS, CACHE_ALLOCS, FIGURES };

struct family {
	const char *key, *unit, *help; /* unit NULL: a number */
	enum { GAUGE, COUNTER } type;
};

static const struct family totals[TOTALS] = {
	[RESIDENT] = { "resident_bytes", "bytes", "Resident memory of the process", GAUGE },
	[ALLOCATED] = { "allocated_bytes", "bytes", "What the program holds", GAUGE },
	[ACTIVE] = { "active_bytes", "bytes", "Memory of slabs, page runs and extents: live and waste", GAUGE },
	[WASTE] = { "waste_bytes", "bytes", "Slab memory that holds no object of the program", GAUGE },
	[RETAINED] = { "retained_bytes", "bytes", "Free memory that was not given back yet", GAUGE },
	[METADATA] = { "metadata_bytes", "bytes", "Descriptors, arrays, cache structures", GAUGE },
	[RESERVED] = { "reserved_bytes", "bytes", "Address space", GAUGE },
	[CACHES] = { "caches", NULL, "Caches, aliases not counted", GAUGE },
	[ALLOCS] = { "allocs", NULL, "Allocations from caches", COUNTER },
	[SLOW_ALLOCS] = { "slow_allocs", NULL, "Of them, those that found an array cache empty", COUNTER },
	[SLOW_FREES] = { "slow_frees", NULL, "Frees that found an array cache full", COUNTER },
	[FAILURES] = { "failures", NULL, "Allocations for which there was no memory", COUNTER },
	[REAPS] = { "reaps", NULL, "Rounds of housekeeping", COUNTER },
	[PURGED] = { "purged_bytes", "bytes", "Free memory that went back to the system", COUNTER },
};
static const struct family fragmentation = { "fragmentation_ratio", "ratio", "The part of active_bytes that is waste", GAUGE };
static const struct family figures[FIGURES] = {
	[BYTES] = { "cache_bytes", "bytes", "Memory of its slabs or pages", GAUGE },
	[LIVE_BYTES] = { "cache_live_bytes", "bytes", "Bytes of objects that the program holds", GAUGE },
	[OBJECTS] = { "cache_active_objs", NULL, "Objects that the program holds", GAUGE },
	[SLABS] = { "cache_num_slabs", NULL, "Slabs", GAUGE },
	[CACHE_ALLOCS] = { "cache_allocs", NULL, "Allocations", COUNTER },
};

struct row {
	char heap[32], name[64];
	uint64_t value[FIGURES];
};

static struct collected {
	uint64_t sum[TOTALS];
	size_t count;
	size_t page;
	struct row row[MOST + 1];
} gathered; /* too big for a helper's stack */

/* ---- collected ------------------------------------------------------------------------------ */

/* Of this heap and name, as they are shown; those beyond the bound share the last one. */
static struct row *row_of(const char *heap, const char *name)
{
	for (size_t i = 0; i < gathered.count; i++)
		if (i == MOST || (strcmp(gathered.row[i].heap, heap) == 0 && strcmp(gathered.row[i].name, name) == 0))
			return &gathered.row[i];
	struct row *row = &gathered.row[gathered.count++];
	memset(row, 0, sizeof(*row));
	dry_format(row->heap, sizeof(row->heap), "%s", gathered.count <= MOST ? heap : OTHERS);
	dry_format(row->name, sizeof(row->name), "%s", gathered.count <= MOST ? name : OTHERS);
	return row;
}

static int add_cache(dry_cache *cache, void *arg)
{
	const struct dry_heap *heap = arg;
	struct dry_cache_stats s;
	uint64_t bytes, usable, live;

	if (cache->root != cache || dry_cache_stats(cache, &s) != 0)
		return 0;
	char shown[sizeof(heap->name)], name[sizeof(cache->name)];

	dry_format_name(shown, sizeof(shown), heap->name);
	dry_format_name(name, sizeof(name), s.name);
	struct row *row = row_of(shown, name);
	bytes = s.slabs * s.pages_per_slab * gathered.page;
	live = s.active_objects * (s.object_size != 0 && s.object_size < s.stride ? s.object_size : s.stride);
	usable = s.slabs * dry_slab_bytes(cache, cache->order); /* without fences */
	gathered.sum[WASTE] += usable - (live < usable ? live : usable);
	row->value[BYTES] += bytes;
	row->value[LIVE_BYTES] += live;
	row->value[OBJECTS] += s.active_objects;
	row->value[SLABS] += s.slabs;
	row->value[CACHE_ALLOCS] += s.allocs;
	return 0;
}

/* The arrays beside its pages; of none, nothing. */
static size_t tables_of(struct dry_arena *arena)
{
	size_t bytes = 0;

	if (arena->base != 0) {
		dry_lock_acquire(&arena->lock);
		bytes = arena->desc_array.committed + arena->map_array.committed + arena->chunk_array.committed +
			arena->side_array.committed;
		dry_lock_release(&arena->lock);
	}
	return bytes;
}

static size_t tables_of_guards(void)
{
	dry_lock_acquire(&dry_guarded.lock);
	size_t bytes = dry_guarded.block_size + dry_guard_pages() * sizeof(*dry_guarded.owner);
	dry_lock_release(&dry_guarded.lock);
	return bytes;
}

/* What dry_heap_stats() leaves out of a heap's metadata. */
static size_t tables(struct dry_heap *heap)
{
	dry_lock_acquire(&heap->extents.lock);
	size_t extents = heap->extents.buckets * sizeof(struct dry_extent);
	dry_lock_release(&heap->extents.lock);
	return extents + tables_of(dry_heap_arena(heap)) + tables_of(&heap->caches.backing.meta.own);
}

/* Objects count as they were asked for, as in `drystone info`: with zones and owners an object's slot is far bigger. */
static void add_heap(struct dry_heap *heap)
{
	struct dry_heap_stats s = { 0 };

	dry_heap_add_stats(heap, &s);
	gathered.page = (size_t)1 << dry_heap_arena(heap)->page_shift;
	gathered.sum[ACTIVE] += s.in_use + s.extents;
	gathered.sum[RETAINED] += s.dirty;
	gathered.sum[METADATA] += s.metadata + tables(heap);
	gathered.sum[RESERVED] += s.reserved;
	gathered.sum[CACHES] += s.caches;
	gathered.sum[ALLOCS] += s.allocs;
	gathered.sum[SLOW_ALLOCS] += s.slow_allocs;
	gathered.sum[SLOW_FREES] += s.slow_frees;
	gathered.sum[FAILURES] += s.failures;
	gathered.sum[REAPS] += s.reaps;
	gathered.sum[PURGED] += s.purged;
	dry_caches_walk(&heap->caches, add_cache, heap);
}

static void collect(void)
{
	gathered.count = 0;
	memset(gathered.sum, 0, sizeof(gathered.sum));
	gathered.sum[RESIDENT] = dry_port_resident();
	gathered.sum[METADATA] = tables_of_guards();
	dry_lock_acquire(&dry_heaps_lock);
	gathered.sum[ALLOCS] = dry_heaps_gone[DRY_COUNTER_ALLOCS];
	gathered.sum[SLOW_ALLOCS] = dry_heaps_gone[DRY_COUNTER_SLOW_ALLOCS];
	gathered.sum[SLOW_FREES] = dry_heaps_gone[DRY_COUNTER_SLOW_FREES];
	gathered.sum[FAILURES] = dry_heaps_gone[DRY_COUNTER_FAILURES];
	gathered.sum[REAPS] = dry_heaps_gone[DRY_COUNTER_REAPS];
	gathered.sum[PURGED] = dry_heaps_gone[DRY_COUNTER_PURGED];
	for (struct dry_heap *heap = dry_heaps; heap != NULL; heap = heap->next)
		add_heap(heap);
	dry_lock_release(&dry_heaps_lock);
	size_t active = gathered.sum[ACTIVE], waste = gathered.sum[WASTE];
	gathered.sum[ALLOCATED] = active - (waste < active ? waste : active);
}

/* ---- written ---------------------------------------------------------------------------------- */

struct out {
	dry_port_writer *write;
	void *arg;
	bool older;             /* format */
	const char *process;    /* its number, to tell series of several apart; "": there is one */
};

static void put(const struct out *out, const char *text)
{
	out->write(out->arg, text, strlen(text));
}

static void put_family(const struct out *out, const struct family *family)
{
	const char *end = out->older && family->type == COUNTER ? "_total" : "";
	char line[256];

	dry_format(line, sizeof(line), "# TYPE drystone_%s%s %s\n", family->key, end,
		   family->type == COUNTER ? "counter" : "gauge");
	put(out, line);
	if (family->unit != NULL && !out->older) {
		dry_format(line, sizeof(line), "# UNIT drystone_%s %s\n", family->key, family->unit);
		put(out, line);
	}
	dry_format(line, sizeof(line), "# HELP drystone_%s%s %s.\n", family->key, end, family->help);
	put(out, line);
}

static void put_label(const struct out *out, const char *name, const char *text)
{
	put(out, name);
	put(out, "=\"");
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			put(out, "\\");
		out->write(out->arg, text, 1);
	}
	put(out, "\"");
}

static void put_value(const struct out *out, uint64_t value)
{
	char line[32];

	dry_format(line, sizeof(line), " %llu\n", (unsigned long long)value);
	put(out, line);
}

static void put_name(const struct out *out, const struct family *family)
{
	put(out, "drystone_");
	put(out, family->key);
	put(out, family->type == COUNTER ? "_total" : "");
}

static void put_total(const struct out *out, const struct family *family)
{
	put_family(out, family);
	put_name(out, family);
	if (out->process[0] != '\0') {
		put_label(out, "{process", out->process);
		put(out, "}");
	}
}

static void put_figure(const struct out *out, enum figure figure)
{
	put_family(out, &figures[figure]);
	for (size_t i = 0; i < gathered.count; i++) {
		put_name(out, &figures[figure]);
		put_label(out, "{heap", gathered.row[i].heap);
		put_label(out, ",cache", gathered.row[i].name);
		if (out->process[0] != '\0')
			put_label(out, ",process", out->process);
		put(out, "}");
		put_value(out, gathered.row[i].value[figure]);
	}
}

static void write_all(const struct out *out)
{
	uint64_t share;
	char line[32];

	collect();
	for (int i = 0; i < TOTALS; i++) {
		put_total(out, &totals[i]);
		put_value(out, gathered.sum[i]);
	}
	share = gathered.sum[ACTIVE] != 0 ? gathered.sum[WASTE] * 1000 / gathered.sum[ACTIVE] : 0;
	put_total(out, &fragmentation);
	dry_format(line, sizeof(line), " %llu.%03llu\n", (unsigned long long)(share / 1000), (unsigned long long)(share % 1000));
	put(out, line);
	for (int i = 0; i < FIGURES && gathered.count != 0; i++)
		put_figure(out, (enum figure)i);
	if (!out->older)
		put(out, "# EOF\n");
}

static char process[24];

void dry_metrics_tell_apart(void)
{
	dry_format(process, sizeof(process), "%lu", dry_port_process());
}

void dry_metrics_write(dry_port_writer *write, void *arg)
{
	write_all(&(struct out){ write, arg, false, process });
}

void dry_metrics_write_older(dry_port_writer *write, void *arg)
{
	write_all(&(struct out){ write, arg, true, process });
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The listing in the format of /proc/slabinfo 2.1, and its agreement with the figures. */
#define _GNU_SOURCE 1
#include <stdlib.h>

#include "../support/exercise.h"

static const char header[] = "slabinfo - version: 2.1\n"
			     "# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab>"
			     " : tunables <limit> <batchcount> <sharedfactor>"
			     " : slabdata <active_slabs> <num_slabs> <sharedavail>\n";

struct text {
	char bytes[1 << 18];
	size_t used;
};

struct line {
	char name[128];
	size_t active, objects, size, per_slab, pages;
	size_t limit, batch, factor, active_slabs, slabs, shared;
};

static void append(void *arg, const char *piece, size_t bytes)
{
	struct text *text = arg;

	CHECK(text->used + bytes < sizeof(text->bytes));
	memcpy(text->bytes + text->used, piece, bytes);
	text->used += bytes;
	text->bytes[text->used] = 0;
}

/* A writer may allocate, also of sizes that have no cache yet: more than the first few, which may be watched ones. */
static void append_allocating(void *arg, const char *piece, size_t bytes)
{
	struct text *text = arg;
	size_t size = bytes + text->used % 4096;
	void *objects[40];

	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
		CHECK((objects[i] = dry_alloc(NULL, size)));
	append(text, memcpy(objects[0], piece, bytes), bytes);
	for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
		dry_free(NULL, objects[i]);
}

/* Calls fn for each line; the number of lines. */
static size_t parse(char *text, void (*fn)(const struct line *line, void *arg), void *arg)
{
	size_t n = 0;

	CHECK(!strncmp(text, header, sizeof(header) - 1));
	text += sizeof(header) - 1;
	for (char *end; (end = strchr(text, '\n')); text = end + 1, n++) {
		struct line l;
		int length = 0;

		*end = 0;
		CHECK_EQ(sscanf(text,
				"%127s %zu %zu %zu %zu %zu : tunables %zu %zu %zu : slabdata %zu %zu %zu%n", l.name,
				&l.active, &l.objects, &l.size, &l.per_slab, &l.pages, &l.limit, &l.batch, &l.factor,
				&l.active_slabs, &l.slabs, &l.shared, &length),
			 12);
		CHECK_EQ(text[length], 0);
		fn(&l, arg);
	}
	CHECK_EQ(*text, 0); /* ends with a full line */
	return n;
}

static void check_line(const struct line *line, void *arg)
{
	(void)arg;
	CHECK(line->active <= line->objects);
	CHECK(line->active_slabs <= line->slabs);
	CHECK(test_is_tiny() ? line->objects <= line->slabs * line->per_slab : line->objects == line->slabs * line->per_slab);
	CHECK(line->size * line->per_slab <= line->pages * (size_t)sysconf(_SC_PAGESIZE));
	CHECK(line->batch <= line->limit);
}

struct wanted {
	struct dry_cache_stats stats;
	int found;
};

static void compare(const struct line *line, void *arg)
{
	struct wanted *wanted = arg;
	const struct dry_cache_stats *s = &wanted->stats;

	check_line(line, NULL);
	if (strcmp(line->name, s->name))
		return;
	wanted->found++;
	CHECK(line->active >= s->active_objects && line->active <= s->objects);
	CHECK_EQ(line->objects, s->objects);
	CHECK_EQ(line->size, s->stride);
	CHECK_EQ(line->per_slab, s->objects_per_slab);
	CHECK_EQ(line->pages, s->pages_per_slab);
	CHECK_EQ(line->limit, s->limit);
	CHECK_EQ(line->batch, s->batchcount);
	CHECK_EQ(line->factor, s->shared);
	CHECK_EQ(line->active_slabs, s->active_slabs);
	CHECK_EQ(line->slabs, s->slabs);
	CHECK_EQ(line->shared, s->shared_objects);
}

/* No name makes another line, another column or a comment. */
static void test_names(dry_heap *heap)
{
	static const char *const names[] = { "odd 1\n2 3 4 5 6 7", "odd\t2 \x7f", "odd3\xff\xc3", "#odd4" };
	static const char *const shown[] = { "odd_1?2_3_4_5_6_7", "odd?2_?", "odd3??", "?odd4" };
	static struct text text;
	dry_cache *caches[4];

	for (int i = 0; i < 4; i++)
		CHECK(caches[i] = make_cache(heap, names[i], 40, 0, DRY_CACHE_NO_MERGE));
	dry_heap_slabinfo(heap, append, &text);
	for (int i = 0; i < 4; i++) {
		struct wanted wanted = { stats_of(caches[i]), 0 };
		static struct text copy;

		copy = text;
		CHECK(strcmp(wanted.stats.name, names[i]) == 0); /* programs get what they gave */
		wanted.stats.name = shown[i];
		CHECK(parse(copy.bytes, compare, &wanted) >= 4);
		CHECK_EQ(wanted.found, 1);
	}
	for (int i = 0; i < 4; i++)
		CHECK_EQ(dry_cache_destroy(caches[i]), 0);
}

int main(int argc, char **argv)
{
	static struct text text;
	static void *objects[3000];
	dry_heap *heap = dry_heap_create(NULL);
	dry_cache *cache;
	const size_t most = test_fit(3000, 88);
	size_t lines;

	test_seed(argc, argv);
	CHECK(heap);
	cache = make_cache(heap, "slabinfo-test-with-a-long-name", 88, 0, DRY_CACHE_NO_MERGE);
	CHECK(cache);
	for (size_t held = 0; held <= most; held += most / 6) {
		struct wanted wanted;

		CHECK_EQ(dry_cache_alloc_bulk(cache, held, objects), held);
		wanted.stats = stats_of(cache);
		wanted.found = 0;
		text.used = 0;
		dry_heap_slabinfo(heap, append, &text);
		lines = parse(text.bytes, compare, &wanted);
		CHECK_EQ(wanted.found, 1);
		CHECK(lines >= heap_stats_of(heap).caches);
		dry_cache_free_bulk(cache, held, objects);
	}
	text.used = 0;
	dry_heap_slabinfo(NULL, append_allocating, &text);
	CHECK(parse(text.bytes, check_line, NULL) >= 1); /* the cache of caches, and the general caches used so far */
	CHECK_EQ(dry_cache_destroy(cache), 0);
	test_names(heap);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	return 0;
}

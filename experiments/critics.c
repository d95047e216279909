/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What array caches do to locality and fragmentation: the same churn over caches with none, with small ones, and with
 * those that drystone makes by itself.
 *
 *   critics count N     one line for each size, kind of slab and kind of array
 *   critics time N ROUNDS
 *
 * Churn: N objects, the peak; a random half is freed, so that there is a choice of slabs; then again and again a burst
 * of 1 to 256 random ones is freed and as many are allocated and written to. Then a random half of the rest is
 * freed. Addresses go through a model of a common TLB: 64 entries in 4 ways before 1536 in 12, pages of 4 KiB, the
 * least recently used one goes.
 */
#include <drystone/experiment.h>
#include "worker.h"

#include <string.h>

#define WINDOW   64 /* consecutive allocations whose pages are counted */
#define BURST    256
#define PAGE     4096u
#define VARIANTS 3

static const struct {
	const char *name;
	unsigned flags, limit;
} variants[VARIANTS] = {
	{ "none", DRY_CACHE_NO_ARRAYS, 0 },
	{ "small", 0, 8 },
	{ "default", 0, 0 },
};

static const struct {
	const char *name;
	unsigned flags;
} slabs[] = { { "default", 0 }, { "published", DRY_CACHE_PUBLISHED } };

/* ---- the TLB ------------------------------------------------------------------------ */

struct level {
	unsigned sets, ways;
	uint64_t *page; /* [sets][ways], the latest first; ~0: none */
};

static struct level level[2] = { { 16, 4, NULL }, { 128, 12, NULL } };

static void tlb_init(void)
{
	for (int l = 0; l < 2; l++) {
		size_t bytes = sizeof(uint64_t) * level[l].sets * level[l].ways;
		level[l].page = level[l].page ? level[l].page : malloc(bytes);
		if (level[l].page == NULL)
			worker_die("out of memory");
		memset(level[l].page, 0xff, bytes);
	}
}

static int level_touch(struct level *l, uint64_t page)
{
	uint64_t *set = l->page + page % l->sets * l->ways;
	unsigned at = 0;

	while (at < l->ways - 1 && set[at] != page)
		at++;
	int miss = set[at] != page;
	memmove(set + 1, set, at * sizeof(*set));
	set[0] = page;
	return miss;
}

/* 0: hit; 1: miss in the first level; 2: in both. */
static int tlb_touch(const void *address, uintptr_t base)
{
	uint64_t page = ((uintptr_t)address - base) / PAGE;

	return level_touch(&level[0], page) ? 1 + level_touch(&level[1], page) : 0;
}

/* ---- churn -------------------------------------------------------------------------------- */

struct churn {
	dry_cache *cache;
	void **object;
	size_t n, live;
	uintptr_t base;  /* pages are counted from here, so that address randomisation does not matter */
	uint64_t state, allocations, misses[3];
	uint64_t window_pages, windows;
	uintptr_t window[WINDOW];
	unsigned in_window;
};

static int by_value(const void *a, const void *b)
{
	uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;

	return x < y ? -1 : x > y;
}

static void window_done(struct churn *c)
{
	qsort(c->window, WINDOW, sizeof(c->window[0]), by_value);
	for (unsigned i = 0; i < WINDOW; i++)
		c->window_pages += i == 0 || c->window[i] != c->window[i - 1];
	c->windows++;
	c->in_window = 0;
}

static void *take_counted(struct churn *c)
{
	void *object = worker_alloc(c->cache);

	c->misses[tlb_touch(object, c->base)]++;
	c->allocations++;
	c->window[c->in_window++] = (uintptr_t)object / PAGE;
	if (c->in_window == WINDOW)
		window_done(c);
	return object;
}

static void free_random(struct churn *c, size_t keep)
{
	while (c->live > keep) {
		size_t k = worker_below(&c->state, (uint32_t)c->live);
		dry_cache_free(c->cache, c->object[k]);
		c->object[k] = c->object[--c->live];
	}
}

static void start(struct churn *c)
{
	for (c->live = 0; c->live < c->n; c->live++)
		c->object[c->live] = worker_alloc(c->cache);
	c->base = (uintptr_t)c->object[0] & ~(uintptr_t)((4u << 20) - 1);
	c->state = 88172645463325252u;
	free_random(c, c->n / 2);
}

static void burst_counted(struct churn *c)
{
	unsigned burst = 1 + worker_below(&c->state, BURST);

	for (unsigned i = 0; i < burst; i++) {
		size_t k = worker_below(&c->state, (uint32_t)c->live);
		tlb_touch(c->object[k], c->base); /* who frees an object has used it */
		dry_cache_free(c->cache, c->object[k]);
		c->object[k] = c->object[--c->live];
	}
	while (c->live < c->n / 2)
		c->object[c->live++] = take_counted(c);
}

static void burst_timed(struct churn *c)
{
	unsigned burst = 1 + worker_below(&c->state, BURST);

	for (unsigned i = 0; i < burst; i++) {
		size_t k = worker_below(&c->state, (uint32_t)c->live);
		dry_cache_free(c->cache, c->object[k]);
		c->object[k] = c->object[--c->live];
	}
	while (c->live < c->n / 2)
		c->object[c->live++] = worker_alloc(c->cache);
	c->allocations += burst;
}

/* Distinct pages that the live objects lie in. */
static size_t live_pages(const struct churn *c)
{
	uintptr_t *page = calloc(c->live, sizeof(*page));
	size_t pages = 0;

	if (page == NULL)
		worker_die("out of memory");
	for (size_t i = 0; i < c->live; i++)
		page[i] = (uintptr_t)c->object[i] / PAGE;
	qsort(page, c->live, sizeof(*page), by_value);
	for (size_t i = 0; i < c->live; i++)
		pages += i == 0 || page[i] != page[i - 1];
	free(page);
	return pages;
}

static double fill(const struct dry_cache_stats *s, size_t live)
{
	return s->slabs == 0 ? 0 : 100.0 * (double)live / (double)(s->slabs * s->objects_per_slab);
}

static void count(size_t size, unsigned slab, unsigned v, size_t n)
{
	dry_heap *heap = worker_heap("critics");
	struct churn c = { .n = n, .object = calloc(n, sizeof(void *)) };
	struct dry_cache_stats churned, thinned, shrunk;
	size_t pages;

	if (c.object == NULL)
		worker_die("out of memory");
	c.cache = worker_cache(heap, "critics", size, variants[v].flags | slabs[slab].flags, variants[v].limit);
	tlb_init();
	start(&c);
	while (c.allocations < 4 * n)
		burst_counted(&c);
	dry_cache_stats(c.cache, &churned);
	pages = live_pages(&c);
	free_random(&c, n / 4);
	dry_cache_stats(c.cache, &thinned);
	dry_cache_shrink(c.cache);
	dry_cache_stats(c.cache, &shrunk);
	double thousands = (double)c.allocations / 1000;
	printf("%zu\t%s\t%s\t%u\t%.2f\t%.1f\t%.1f\t%zu", size, slabs[slab].name, variants[v].name, churned.limit,
	       (double)c.window_pages / (double)c.windows, (double)(c.misses[1] + c.misses[2]) / thousands,
	       (double)c.misses[2] / thousands, pages);
	printf("\t%zu\t%.1f\t%zu\t%.1f\t%zu\t%.1f\n", churned.slabs, fill(&churned, n / 2), thinned.slabs,
	       fill(&thinned, c.live), shrunk.slabs, fill(&shrunk, c.live));
	free(c.object);
	dry_heap_destroy(heap);
}

/* n allocations and as many frees; ticks for one of both. */
static double turn(struct churn *c)
{
	struct worker_watch watch;
	uint64_t lap = 0;

	c->allocations = 0;
	worker_watch_start(&watch);
	while (c->allocations < c->n) {
		burst_timed(c);
		if (c->allocations - lap >= WORKER_PIECE) {
			worker_watch_lap(&watch, c->allocations - lap);
			lap = c->allocations;
		}
	}
	return worker_watch_median(&watch);
}

static void time_all(size_t size, size_t n, size_t rounds)
{
	dry_heap *heap = worker_heap("critics");
	struct churn c[VARIANTS];

	memset(c, 0, sizeof(c));
	for (unsigned v = 0; v < VARIANTS; v++) {
		c[v] = (struct churn){ .n = n, .object = calloc(n, sizeof(void *)) };
		if (c[v].object == NULL)
			worker_die("out of memory");
		c[v].cache = worker_cache(heap, variants[v].name, size, variants[v].flags, variants[v].limit);
		start(&c[v]);
	}
	for (size_t round = 0; round <= rounds; round++)
		for (unsigned i = 0; i < VARIANTS; i++) {
			unsigned v = (unsigned)(i + round) % VARIANTS;
			double ticks = turn(&c[v]);
			if (round > 0)
				printf("%zu\t%s\t%zu\t%.2f\n", size, variants[v].name, round, ticks);
		}
	dry_heap_destroy(heap);
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = { 64, 256, 1024 };
	size_t n = worker_number(argc, argv, 2, 50000);

	worker_pin(0);
	if (argc > 1 && strcmp(argv[1], "time") == 0) {
		printf("# unit %s\nsize\tvariant\tround\tpair\n", worker_unit());
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			time_all(sizes[i], n, worker_number(argc, argv, 3, 11));
		return 0;
	}
	printf("size\tslabs_kind\tarrays\tlimit\twindow_pages\ttlb1_misses\ttlb2_misses\tpages\tslabs\tfill\tslabs_thinned\t"
	       "fill_thinned\tslabs_shrunk\tfill_shrunk\n");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (unsigned slab = 0; slab < sizeof(slabs) / sizeof(slabs[0]); slab++)
			for (unsigned v = 0; v < VARIANTS; v++)
				count(sizes[i], slab, v, n);
	return 0;
}

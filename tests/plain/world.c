/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "plain.h"

#include <stdarg.h>

struct plain_world plain;

void plain_wrong(const char *what)
{
	fprintf(stderr, "wrong: %s%s%s\n", what, plain.text[0] ? "; last report: " : "", plain.text);
	exit(1);
}

/* ---- locks, slots, reports ------------------------------------------------------------------ */

void dry_lock_init(struct dry_lock *lock, enum dry_rank rank)
{
	lock->rank = (uint16_t)rank;
	lock->held = 0;
}

static void take(struct dry_lock *lock)
{
	lock->held = 1;
	plain.held[lock->rank]++;
}

void dry_lock_acquire(struct dry_lock *lock)
{
	if (lock->rank == 0 || lock->rank >= DRY_RANK_COUNT || lock->held != 0)
		plain_wrong("lock: never made, or held already");
	for (unsigned rank = lock->rank; rank < DRY_RANK_COUNT; rank++)
		if (plain.held[rank] != 0)
			plain_wrong("lock: one of a lower rank, or of the same, is taken later");
	take(lock);
}

bool dry_lock_acquire_contended(struct dry_lock *lock)
{
	dry_lock_acquire(lock);
	return false;
}

bool dry_lock_try(struct dry_lock *lock)
{
	if (lock->rank == 0 || lock->rank >= DRY_RANK_COUNT)
		plain_wrong("lock: never made");
	if (lock->held != 0 || plain.no_try)
		return false;
	take(lock);
	return true;
}

void dry_lock_release(struct dry_lock *lock)
{
	if (lock->held != 1)
		plain_wrong("lock: released by who has it not");
	lock->held = 0;
	plain.held[lock->rank]--;
}

unsigned dry_percpu_slot(void)
{
	if (plain.move != NULL)
		plain.move(&plain.slot);
	return plain.slot;
}

bool dry_port_slot_attach(bool frees)
{
	(void)frees;
	return !plain.no_slot;
}

bool dry_port_slot_fence(void)
{
	void (*meanwhile)(void) = plain.at_fence;

	plain.fences++;
	plain.at_fence = NULL;
	if (meanwhile != NULL)
		meanwhile();
	plain.at_fence = meanwhile;
	return !plain.no_fence;
}

void plain_flag_kept(const struct dry_percpu_array *array)
{
	if (array->limit != 0 && array->word >> 63 == 0)
		plain_wrong("an array has lost its flag");
}

void dry_backing_corrupt(enum dry_fatal_code code, const void *address, const char *cache, const char *detail)
{
	plain.reports++;
	plain.code = code;
	plain.address = address;
	snprintf(plain.text, sizeof(plain.text), "code %u, %p, cache %s: %s", code, address, cache ? cache : "-",
		 detail ? detail : "-");
	if (code == DRY_FATAL_INTERNAL && plain.end != NULL)
		longjmp(*plain.end, 1);
	if (!plain.quiet || code == DRY_FATAL_INTERNAL)
		plain_wrong("a report");
}

void dry_backing_warn(const char *fmt, ...)
{
	va_list ap;

	plain.warnings++;
	va_start(ap, fmt);
	vsnprintf(plain.text, sizeof(plain.text), fmt, ap);
	va_end(ap);
	if (!plain.quiet)
		plain_wrong("a warning");
}

void plain_expect(void)
{
	plain.reports = plain.warnings = 0;
	plain.quiet = true;
}

void plain_expected(enum dry_fatal_code code, const void *address)
{
	CHECK_EQ(plain.reports, 1);
	CHECK_EQ(plain.code, code);
	CHECK(address == NULL || plain.address == address);
	plain.quiet = false;
	plain.text[0] = 0;
}

/* ---- sets of caches --------------------------------------------------------------------------- */

static unsigned or_else(unsigned wanted, unsigned otherwise)
{
	return wanted != 0 ? wanted : otherwise;
}

static void open_backing(struct dry_backing *backing, const struct plain_attr *attr)
{
	backing->shift = or_else(attr->page_shift, 12);
	backing->max_order = or_else(attr->max_order, 9);
	backing->pages = or_else(attr->pages, 2048);
	backing->nodes = or_else(attr->nodes, 1);
	size_t largest = (size_t)1 << (backing->shift + backing->max_order), bytes = dry_backing_bytes(backing);
	backing->base = aligned_alloc(largest, (bytes + largest - 1) / largest * largest);
	backing->page = calloc(backing->pages, sizeof(backing->page[0]));
	if (backing->base == NULL || backing->page == NULL)
		plain_wrong("the test has no memory");
	for (uint32_t i = 0; i < backing->pages; i++)
		backing->page[i].node = (uint8_t)(i / (backing->pages / backing->nodes) % backing->nodes);
}

static void close_backing(struct dry_caches *caches)
{
	free(caches->backing.base);
	free(caches->backing.page);
	free(caches);
}

struct dry_caches *plain_open_failing(const struct plain_attr *attr, size_t fail_at)
{
	unsigned slots = or_else(attr->slots, 1);
	struct dry_caches *caches = calloc(1, sizeof(*caches) + (slots + 1) * sizeof(caches->slots[0]));

	if (caches == NULL)
		plain_wrong("the test has no memory");
	plain = (struct plain_world){ 0 };
	open_backing(&caches->backing, attr);
	caches->backing.fail_at = fail_at;
	caches->grace = attr->grace;
	caches->hooks = attr->hooks;
	if (dry_caches_init(caches, slots, caches->backing.nodes, attr->area_size ? attr->area_size : (size_t)64 << 10, false))
		return caches;
	CHECK_EQ(caches->backing.meta_out, 0);
	close_backing(caches);
	return NULL;
}

struct dry_caches *plain_open(const struct plain_attr *attr)
{
	return plain_open_failing(attr, 0);
}

void plain_close(struct dry_caches *caches)
{
	CHECK(caches->first == NULL && caches->count == 0 && caches->end == &caches->first);
	for (unsigned rank = 0; rank < DRY_RANK_COUNT; rank++)
		CHECK_EQ(plain.held[rank], 0);
	dry_caches_fini(caches);
	CHECK_EQ(caches->backing.blocks_out, 0);
	CHECK_EQ(caches->backing.pages_out, 0);
	CHECK_EQ(caches->backing.meta_out, 0);
	CHECK_EQ(caches->backing.meta_bytes, 0);
	for (uint32_t i = 0; i < caches->backing.pages; i++)
		CHECK_EQ(caches->backing.page[i].state, PLAIN_FREE);
	close_backing(caches);
}

static void unlock_depot(struct dry_cache *cache, struct dry_depot *depot, unsigned arg)
{
	(void)cache, (void)arg;
	depot->lock.held = 0;
}

void plain_abandon(struct dry_caches *caches)
{
	memset(plain.held, 0, sizeof(plain.held));
	for (struct dry_cache *cache = caches->first; cache != NULL; cache = cache->next)
		for (uint32_t n = 0; n < caches->nodes; n++)
			dry_depot_each(cache, &cache->node[n], unlock_depot, 0);
	dry_caches_fini(caches);
	for (struct dry_cache *cache = caches->first, *next; cache != NULL; cache = next) {
		next = cache->next;
		dry_backing_meta_free(&caches->backing, cache, sizeof(*cache) + caches->nodes * sizeof(struct dry_node));
	}
	close_backing(caches);
}

struct dry_cache *plain_make(struct dry_caches *caches, const struct dry_cache_attr *attr, bool counted)
{
	struct dry_cache_attr own = *attr;
	bool before = caches->counted;
	int error;

	own.flags |= counted ? DRY_CACHE_NO_MERGE : 0;
	caches->counted |= counted;
	struct dry_cache *cache = dry_cache_make(caches, &own, &error);
	caches->counted = before;
	CHECK(cache != NULL);
	return cache;
}

struct dry_cache *plain_cache(struct dry_caches *caches, const char *name, size_t size, unsigned flags)
{
	return plain_make(caches, &(struct dry_cache_attr){ .name = name, .size = size, .flags = flags }, false);
}

/* ---- objects -------------------------------------------------------------------------------------- */

/* As who samples. */
static void take_turn(struct dry_cache *cache)
{
	enum dry_countdown state = dry_countdown_pass(cache);

	if ((state == DRY_COUNTDOWN_OVER || state == DRY_COUNTDOWN_UNARMED) && dry_countdown_take(cache, plain.gap) == state)
		plain.turns += state == DRY_COUNTDOWN_OVER;
}

void *plain_alloc(struct dry_cache *cache)
{
	void *object = dry_fast_alloc(cache);

	if (object == NULL && cache->root->countdowns == DRY_COUNTDOWNS_ON)
		take_turn(cache->root);
	return object != NULL ? object : dry_alloc_slow(cache, DRY_GFP_DEFAULT, DRY_NODE_ANY);
}

void plain_free(struct dry_cache *cache, void *object)
{
	if (!dry_fast_free(cache, object))
		dry_free_slow(cache, object);
}

static size_t in_depots;

static void add_depot(struct dry_cache *cache, struct dry_depot *depot, unsigned arg)
{
	(void)arg;
	CHECK(depot->avail <= depot->limit);
	for (uint32_t i = 0; i < depot->avail; i++) {
		struct dry_slab *slab = dry_slab_of(cache, depot->entry[i]);
		CHECK(dry_backing_is_slab(slab) && slab->cache == cache);
		CHECK(dry_slab_index(cache, slab, depot->entry[i]) != UINT32_MAX);
	}
	in_depots += depot->avail;
}

size_t plain_cached(struct dry_cache *cache)
{
	size_t sum;

	in_depots = 0;
	for (uint32_t n = 0; n < cache->caches->nodes; n++)
		dry_depot_each(cache, &cache->node[n], add_depot, 0);
	sum = in_depots;
	for (uint32_t slot = 0; slot < cache->caches->slot_count && cache->place != 0; slot++) {
		char *area = cache->caches->areas[slot];
		if (area == dry_stopped_area)
			continue;
		sum += dry_array_avail(dry_area_array(area, cache->place));
	}
	return sum;
}

size_t plain_live(struct dry_cache *cache)
{
	size_t out = dry_node_objects(cache);

	for (uint32_t n = 0; n < cache->caches->nodes; n++)
		out -= cache->node[n].free_objects;
	return out - plain_cached(cache);
}

void plain_holds(struct dry_cache *cache, size_t live)
{
	const char *wrong;

	cache = cache->root;
	wrong = dry_cache_find_wrong(cache);
	if (wrong != NULL)
		plain_wrong(wrong);
	CHECK_EQ(plain_live(cache), live);
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Somebody looks at objects (core/debug_ops.h): what is called, in which order, with what. */
#include "plain.h"

#define BEFORE 32

static char log_text[4096];
static void *last_object;
static bool keep, allowed = true;
static void *kept;    /* what taken_back() kept */
static void *waiting; /* what take() has */

static void note(char what, void *object)
{
	size_t n = strlen(log_text);

	CHECK(n + 2 < sizeof(log_text));
	log_text[n] = what;
	log_text[n + 1] = 0;
	last_object = object;
	for (unsigned rank = DRY_RANK_ALIEN; rank < DRY_RANK_COUNT; rank++)
		CHECK_EQ(plain.held[rank], 0);
}

static bool logged(const char *expect)
{
	bool same = strcmp(log_text, expect) == 0;

	if (!same)
		fprintf(stderr, "called: %s, not %s\n", log_text, expect);
	log_text[0] = 0;
	return same;
}

static void layout(struct dry_cache *cache)
{
	cache->before = BEFORE;
	cache->size += BEFORE;
	note('L', NULL);
}
static void slab_made(struct dry_cache *cache, void *object)
{
	(void)cache;
	note('m', object);
}
static void handed_out(struct dry_cache *cache, void *object)
{
	(void)cache;
	note('h', object);
}
static bool taken_back(struct dry_cache *cache, void *object)
{
	note('t', object);
	if (!keep)
		return true;
	kept = object;
	cache->kept_objects++;
	return false;
}
static void last_look(struct dry_cache *cache, void *object)
{
	(void)cache;
	note('l', object);
}
static void restore(struct dry_cache *cache, void *object, size_t bytes)
{
	CHECK_EQ(bytes, cache->mgmt == DRY_MGMT_CHAIN ? 8 : cache->num * cache->index_width);
	note('r', object);
}
static void drain(struct dry_cache *cache)
{
	void *object = kept;

	note('d', NULL);
	if (object == NULL)
		return;
	kept = NULL;
	cache->kept_objects = 0;
	dry_node_put_slabs(cache, &object, 1);
}
static void left_over(struct dry_cache *cache)
{
	(void)cache;
	note('o', NULL);
}
/* One object waits, which is then the next; without one the slabs are asked. */
static void *take(struct dry_cache *cache, dry_gfp gfp, unsigned node)
{
	void *object = waiting;

	(void)gfp;
	note(object != NULL ? 'w' : '-', object);
	waiting = NULL;
	if (object == NULL)
		return NULL;
	cache->kept_objects--;
	cache->node[node].slow_allocs++;
	return object;
}
static bool taken_to_wait(struct dry_cache *cache, void *object)
{
	note('t', object);
	if (waiting != NULL)
		return true;
	waiting = object;
	cache->kept_objects++;
	cache->node[0].slow_frees++;
	return false;
}
static void drain_waiting(struct dry_cache *cache)
{
	if (waiting == NULL)
		return;
	cache->kept_objects--;
	dry_node_put_slabs(cache, &waiting, 1);
	waiting = NULL;
}

static const struct dry_debug_ops whole = {
	.layout = layout, .slab_made = slab_made, .handed_out = handed_out, .taken_back = taken_back, .last_look = last_look,
	.restore = restore, .drain = drain, .left_over = left_over,
};
static const struct dry_debug_ops least = { .slab_made = slab_made, .handed_out = handed_out, .taken_back = taken_back };
static const struct dry_debug_ops pooled = {
	.slab_made = slab_made, .take = take, .handed_out = handed_out, .taken_back = taken_to_wait, .drain = drain_waiting,
};

/* By flags: POISON the whole, QUARANTINE the least; TRACE what waits first, once the type is known to be a bitmap. */
static const struct dry_debug_ops *choose(const struct dry_cache *cache, bool typed)
{
	if (cache->flags & DRY_CACHE_POISON)
		return &whole;
	if (cache->flags & DRY_CACHE_QUARANTINE)
		return &least;
	return typed && (cache->flags & DRY_CACHE_TRACE) && cache->mgmt == DRY_MGMT_BITMAP ? &pooled : NULL;
}

static unsigned wanted(const struct dry_cache_attr *attr)
{
	return strcmp(attr->name, "wanted") == 0 ? DRY_CACHE_POISON : 0;
}

static bool allows(const struct dry_cache *cache)
{
	(void)cache;
	return allowed;
}

static const struct dry_debug_hooks hooks = { .wanted = wanted, .choose = choose };

/* A letter for each object of a slab. */
static const char *times(unsigned num, const char *what)
{
	static char text[1024];

	text[0] = 0;
	while (num-- > 0)
		strcat(text, what);
	return text;
}

/* restored: what is called where the list lay in the object; at_end: before each last look. */
static void test_order(unsigned type, const char *restored, const char *at_end)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ .hooks = &hooks });
	struct dry_cache *cache = plain_cache(caches, "wanted", 2000, type);
	void *object, *second;
	char expect[1200];

	CHECK(logged("L"));
	CHECK(cache->debug == &whole && cache->before == BEFORE && cache->place == 0 && !cache->mergeable);
	object = plain_alloc(cache);
	snprintf(expect, sizeof(expect), "%s%sh", times(cache->num, "m"), restored);
	CHECK(logged(expect) && last_object == object);
	CHECK(dry_slab_of(cache, object)->first >= BEFORE);
	plain_holds(cache, 1);
	plain_free(cache, object);
	CHECK(logged("t") && last_object == object);
	plain_holds(cache, 0);
	/* Kept for later: still its slab's to miss; a drain puts it back. */
	object = plain_alloc(cache);
	keep = true;
	plain_free(cache, object);
	keep = false;
	CHECK_EQ(plain_live(cache), 1);
	log_text[0] = 0;
	/* Out at destroy. */
	second = plain_alloc(cache);
	log_text[0] = 0;
	plain_expect();
	CHECK_EQ(dry_cache_unmake(cache), -16);
	CHECK_EQ(plain.warnings, 1);
	plain.quiet = false;
	CHECK(logged("do"));
	plain_holds(cache, 1);
	/* A second free is seen before anything is done to the object. */
	plain_free(cache, second);
	log_text[0] = 0;
	plain_expect();
	plain_free(cache, second);
	plain_expected(DRY_FATAL_DOUBLE_FREE, second);
	CHECK(logged(""));
	CHECK_EQ(dry_cache_unmake(cache), 0);
	unsigned num = (unsigned)strlen(log_text);
	CHECK(log_text[0] == 'd' && log_text[num - 1] == 'l');
	unsigned looks = 0, restores = 0;
	for (unsigned i = 1; i < num; i++) {
		looks += log_text[i] == 'l';
		restores += log_text[i] == 'r';
	}
	CHECK(looks + restores == num - 1);
	CHECK(at_end[0] == 'r' ? restores != 0 : restores == 0);
	log_text[0] = 0;
	plain_close(caches);
}

/* Entries that are not there are not called. */
static void test_least(unsigned type)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ .hooks = &hooks });
	struct dry_cache *cache = plain_cache(caches, "least", 2000, type | DRY_CACHE_QUARANTINE);
	void *object = plain_alloc(cache);

	plain_free(cache, object);
	object = plain_alloc(cache);
	plain_expect();
	CHECK_EQ(dry_cache_unmake(cache), -16);
	plain.quiet = false;
	plain_free(cache, object);
	CHECK_EQ(dry_cache_unmake(cache), 0);
	log_text[0] = 0;
	plain_close(caches);
}

/* Objects that the ops have go out first; what they keep and give is counted by them. */
static void test_pooled(void)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ .hooks = &hooks });
	struct dry_cache *cache = plain_cache(caches, "pooled", 256, DRY_CACHE_TRACE);
	char first[1024] = "";
	void *objects[3];

	CHECK(cache->debug == &pooled && cache->before == 0 && cache->num > 2);
	for (unsigned i = 0; i < 3; i++)
		objects[i] = plain_alloc(cache);
	CHECK(logged(strcat(strcat(strcat(first, "-"), times(cache->num, "m")), "h-h-h")));
	plain_free(cache, objects[0]); /* it waits; the next finds no room */
	plain_free(cache, objects[1]);
	CHECK(logged("tt"));
	CHECK(cache->kept_objects == 1 && dry_slab_is_free(cache, dry_slab_of(cache, objects[1]), 1));
	CHECK(plain_alloc(cache) == objects[0] && plain_alloc(cache) == objects[1]);
	CHECK(logged("wh-h"));
	CHECK_EQ(cache->node[0].slow_allocs, 5);
	CHECK_EQ(cache->node[0].slow_frees, 2);
	dry_free_bulk(cache, 3, objects);
	CHECK_EQ(dry_cache_unmake(cache), 0);
	log_text[0] = 0;
	plain_close(caches);
}

/* allows: asked by each slow allocation. no_arrays: then all of them are. */
static void test_allows(void)
{
	const struct dry_debug_hooks asking = { .allows = allows, .no_arrays = true };
	struct dry_caches *caches = plain_open(&(struct plain_attr){ .hooks = &asking });
	struct dry_cache *cache = plain_cache(caches, "asked", 64, 0);
	void *objects[3];

	CHECK(cache->debug == NULL && cache->place == 0);
	CHECK_EQ(dry_alloc_bulk(cache, DRY_GFP_DEFAULT, 3, objects), 3);
	plain_free(cache, objects[2]);
	allowed = false;
	CHECK(plain_alloc(cache) == NULL);
	CHECK_EQ(dry_alloc_bulk(cache, DRY_GFP_DEFAULT, 1, objects + 2), 0);
	allowed = true;
	plain_holds(cache, 2);
	dry_free_bulk(cache, 2, objects);
	CHECK_EQ(dry_cache_unmake(cache), 0);
	plain_close(caches);
}

/* What is wanted of every cache cannot be had for one: it is made without. */
static void test_too_big(void)
{
	struct dry_caches *caches = plain_open(&(struct plain_attr){ .hooks = &hooks });
	size_t largest = (size_t)1 << (caches->backing.shift + caches->backing.max_order);
	struct dry_cache *cache = plain_cache(caches, "wanted", largest, 0);

	CHECK(cache->debug == NULL && cache->num == 1 && (cache->flags & DRY_CACHE_POISON) == 0);
	CHECK_EQ(dry_cache_unmake(cache), 0);
	log_text[0] = 0;
	plain_close(caches);
}

int main(void)
{
	test_order(DRY_CACHE_BITMAP, "", "");
	test_order(DRY_CACHE_NORMAL, "", "");
	test_order(DRY_CACHE_OFF_SLAB, "", "");
	test_order(DRY_CACHE_CHAIN, "r", "r");
	test_order(DRY_CACHE_OBJFREELIST, "", "r");
	test_least(DRY_CACHE_CHAIN);
	test_least(DRY_CACHE_OBJFREELIST);
	test_least(0);
	test_pooled();
	test_allows();
	test_too_big();
	return 0;
}

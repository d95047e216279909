/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Caches come, are shared under several names, go; walks over them meanwhile. */
#include "base/error.h"
#include "plain.h"

static struct dry_caches *caches;

static void test_merge(void)
{
	struct dry_cache *root = plain_cache(caches, "root", 40, 0), *alias = plain_cache(caches, "alias", 36, 0), *apart[5];
	static const struct dry_cache_attr attr[5] = {
		{ .name = "no merge", .size = 40, .flags = DRY_CACHE_NO_MERGE },
		{ .name = "limit", .size = 40, .limit = 10 },
		{ .name = "type", .size = 40, .flags = DRY_CACHE_CHAIN },
		{ .name = "aligned", .size = 40, .flags = DRY_CACHE_HWALIGN },
		{ .name = "alone", .size = 40 },
	};
	void *object;

	CHECK(root->root == root && alias->root == root && root->alias == alias);
	CHECK_EQ(caches->count, 1);
	CHECK(strcmp(alias->name, "alias") == 0 && alias->object_size == 36);
	CHECK(alias->place == root->place && alias->place == root->place);
	for (unsigned i = 0; i < 5; i++) {
		apart[i] = plain_make(caches, &attr[i], i == 4);
		CHECK(apart[i]->root == apart[i]);
	}
	CHECK_EQ(caches->count, 6);
	/* Nor does anything become an alias of those but of the aligned one. */
	struct dry_cache *second = plain_make(caches, &attr[3], false);
	CHECK(second->root == apart[3]);
	CHECK_EQ(dry_cache_unmake(second), 0);
	/* What one name gives the other takes. */
	object = plain_alloc(alias);
	plain_holds(root, 1);
	plain_free(root, object);
	plain_holds(alias, 0);
	CHECK_EQ(dry_cache_unmake(alias) | dry_cache_unmake(root), 0);
	for (unsigned i = 0; i < 5; i++)
		CHECK_EQ(dry_cache_unmake(apart[i]), 0);
	CHECK_EQ(caches->backing.blocks_out, 0);
}

/* A root that is destroyed by name lives as long as an alias does, under that one's name. */
static void test_orphan(void)
{
	struct dry_cache *root = plain_cache(caches, "root", 40, 0), *one = plain_cache(caches, "one", 40, 0),
			 *two = plain_cache(caches, "two", 40, 0);
	void *object = plain_alloc(root);

	CHECK_EQ(dry_cache_unmake(root), 0);
	CHECK(root->orphan && root->state == DRY_CACHE_LIVE && strcmp(root->name, "two") == 0);
	plain_free(two, object);
	object = plain_alloc(one);
	CHECK_EQ(dry_cache_unmake(two), 0);
	/* The last name with an object out: it stays what it was, and a line says so. */
	plain_expect();
	CHECK_EQ(dry_cache_unmake(one), -DRY_EBUSY);
	CHECK_EQ(plain.warnings, 1);
	CHECK(strstr(plain.text, "one: 1 objects still allocated") != NULL);
	plain.quiet = false;
	CHECK(root->orphan && root->alias == one && one->root == root);
	plain_holds(one, 1);
	plain_free(one, object);
	object = plain_alloc(one);
	plain_free(one, object);
	CHECK_EQ(dry_cache_unmake(one), 0);
	CHECK_EQ(caches->count, 0);
}

static void test_busy(void)
{
	struct dry_cache *cache = plain_cache(caches, "busy", 100, DRY_CACHE_NO_MERGE);
	void *objects[10];

	for (unsigned i = 0; i < 10; i++)
		objects[i] = plain_alloc(cache);
	plain_expect();
	CHECK_EQ(dry_cache_unmake(cache), -DRY_EBUSY);
	CHECK(strcmp(plain.text, "cache busy: 10 objects still allocated at destroy") == 0);
	plain.quiet = false;
	plain_holds(cache, 10);
	CHECK_EQ(plain_cached(cache), 0);
	dry_free_bulk(cache, 10, objects);
	plain_holds(cache, 0);
	CHECK_EQ(dry_cache_unmake(cache), 0);
	CHECK_EQ(dry_cache_unmake(NULL), 0);
}

/* Arrays that could not be emptied are tried again; objects that stay in them count as out. */
static void test_stuck(void)
{
	struct dry_cache *cache = plain_cache(caches, "stuck", 100, DRY_CACHE_NO_MERGE);

	plain_free(cache, plain_alloc(cache));
	plain.no_fence = true;
	plain.fences = 0;
	plain_expect();
	CHECK_EQ(dry_cache_unmake(cache), -DRY_EBUSY);
	plain.quiet = plain.no_fence = false;
	CHECK(plain.fences > 1);
	plain_holds(cache, 0);
	CHECK_EQ(dry_cache_unmake(cache), 0);
}

static void test_errors(void)
{
	size_t largest = (size_t)1 << (caches->backing.shift + caches->backing.max_order), calls = caches->backing.calls;
	struct dry_cache_attr attr = { .name = "x", .size = largest + 1 };
	int error = 0;

	CHECK(dry_cache_make(caches, &attr, &error) == NULL);
	CHECK_EQ(error, DRY_EINVAL);
	attr.size = 64;
	caches->backing.fail_at = caches->backing.calls + 1;
	CHECK(dry_cache_make(caches, &attr, &error) == NULL);
	CHECK_EQ(error, DRY_ENOMEM);
	CHECK_EQ(caches->backing.calls, calls + 2);
	/* A name is cut, and terminated. */
	attr.name = "0123456789012345678901234567890123456789012345678901234567890123456789";
	struct dry_cache *cache = plain_make(caches, &attr, false);
	CHECK_EQ(strlen(cache->name), sizeof(cache->name) - 1);
	CHECK_EQ(dry_cache_unmake(cache), 0);
}

/* ---- walks ------------------------------------------------------------------------------------ */

#define WALKED 6

static struct dry_cache *walked[WALKED];
static char seen[16];
static unsigned steps;

static int note(struct dry_cache *cache, void *arg)
{
	(void)arg;
	seen[steps++] = cache->name[0];
	seen[steps] = 0;
	return 0;
}

static int stop_at_c(struct dry_cache *cache, void *arg)
{
	note(cache, arg);
	return cache->name[0] == 'c' ? 7 : 0;
}

/* At b: b, c and e go, g comes. Dead ones can still be asked, and say that they are. */
static int destroy_some(struct dry_cache *cache, void *arg)
{
	void *objects[3];

	note(cache, arg);
	if (cache->name[0] != 'b')
		return 0;
	size_t metadata = caches->backing.meta_out;
	CHECK_EQ(dry_cache_unmake(walked[1]) | dry_cache_unmake(walked[2]) | dry_cache_unmake(walked[4]), 0);
	CHECK_EQ(caches->backing.meta_out, metadata);
	plain_expect();
	CHECK(dry_alloc_slow(walked[2], DRY_GFP_DEFAULT, DRY_NODE_ANY) == NULL);
	plain_expected(DRY_FATAL_DEAD_CACHE, walked[2]);
	plain_expect();
	CHECK_EQ(dry_alloc_bulk(walked[2], DRY_GFP_DEFAULT, 3, objects), 0);
	plain_expected(DRY_FATAL_DEAD_CACHE, walked[2]);
	plain_expect();
	dry_free_slow(walked[2], &steps);
	plain_expected(DRY_FATAL_DEAD_CACHE, &steps);
	plain_expect();
	CHECK_EQ(dry_cache_unmake(walked[2]), -DRY_EINVAL);
	plain_expected(DRY_FATAL_DEAD_CACHE, walked[2]);
	walked[1] = plain_cache(caches, "g", 64, DRY_CACHE_NO_MERGE);
	return 0;
}

static int walk_within(struct dry_cache *cache, void *arg)
{
	return cache->name[0] == 'a' ? dry_caches_walk(caches, destroy_some, arg) : note(cache, arg);
}

/* Pieces of metadata, less the structs of caches that are gone and remembered. */
static size_t metadata_of_live(void)
{
	return caches->backing.meta_out - caches->forgotten_count;
}

static void test_walk(int (*fn)(struct dry_cache *, void *), int result, const char *expect)
{
	size_t metadata;

	for (unsigned i = 0; i < WALKED; i++)
		walked[i] = plain_cache(caches, (char[]){ (char)('a' + i), 0 }, 64, i % 2 ? DRY_CACHE_NO_MERGE : 0);
	metadata = metadata_of_live();
	steps = 0;
	CHECK_EQ(dry_caches_walk(caches, fn, NULL), result);
	if (strcmp(seen, expect) != 0)
		plain_wrong(seen);
	CHECK(caches->walks == 0 && caches->forgotten_count <= DRY_FORGOTTEN);
	CHECK_EQ(metadata_of_live(), metadata - (strchr(expect, 'g') != NULL ? 2 : 0));
	while (caches->first != NULL) { /* the newest first: aliases before their root */
		struct dry_cache *last = caches->first;
		while (last->next != NULL)
			last = last->next;
		CHECK_EQ(dry_cache_unmake(last), 0);
	}
	CHECK(caches->forgotten_count <= DRY_FORGOTTEN);
}

int main(void)
{
	caches = plain_open(&(struct plain_attr){ .slots = 2 });
	test_merge();
	test_orphan();
	test_busy();
	test_stuck();
	test_errors();
	test_walk(note, 0, "abcdef");
	test_walk(stop_at_c, 7, "abc");
	test_walk(destroy_some, 0, "abdfg");
	test_walk(walk_within, 0, "abdfgdfg");
	plain_close(caches);
	return 0;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * kmem.h: each of the kernel's names does what it says.
 * DRY_TEST_NOT_TINY: threads, a fork, blocks of 100 kB.
 */
#include <drystone/kmem.h>
#include <drystone/kmem_pool.h>
#include <drystone/process.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "../support/check.h"
#include "../support/pattern.h"

#define TOO_MUCH (SIZE_MAX / 4)

struct item {
	long values[6];
};

static void construct(void *object)
{
	memset(object, 0x5c, sizeof(struct item));
}

static int is_clear(const void *block, size_t size)
{
	return all_bytes(block, size, 0);
}

/* The values of Linux 6.1, by which both headers can be one. */
static void test_flags(void)
{
	CHECK_EQ(__GFP_ZERO, 0x100);
	CHECK_EQ(__GFP_NOFAIL, 0x8000);
	CHECK_EQ(__GFP_NOWARN, 0x2000);
	CHECK_EQ(GFP_KERNEL, __GFP_DIRECT_RECLAIM | __GFP_KSWAPD_RECLAIM | __GFP_IO | __GFP_FS);
	CHECK_EQ(GFP_ATOMIC, __GFP_HIGH | __GFP_ATOMIC | __GFP_KSWAPD_RECLAIM);
	CHECK_EQ(GFP_NOFS, __GFP_RECLAIM | __GFP_IO);
	CHECK_EQ(GFP_USER, GFP_KERNEL | __GFP_HARDWALL);
	CHECK(!(GFP_ATOMIC & __GFP_NOFAIL) && !(GFP_NOWAIT & __GFP_ZERO));
	CHECK(gfpflags_allow_blocking(GFP_KERNEL) && gfpflags_allow_blocking(GFP_NOIO));
	CHECK(!gfpflags_allow_blocking(GFP_ATOMIC) && !gfpflags_allow_blocking(GFP_NOWAIT));
	/* GFP_ATOMIC may fail: that is NULL and not the end of the process. */
	CHECK(kmalloc(TOO_MUCH, GFP_ATOMIC) == NULL && kvmalloc(TOO_MUCH, GFP_KERNEL) == NULL);
}

/* The flags that the kernel's debugging has, with a constructor: all but the poison hold. */
static void test_constructed(void)
{
	struct kmem_cache *cache = kmem_cache_create("constructed", sizeof(struct item), 0,
						     SLAB_PANIC | SLAB_POISON | SLAB_RED_ZONE, construct);
	struct item *item = kmem_cache_alloc(cache, GFP_KERNEL);

	CHECK(item != NULL && all_bytes(item, sizeof(*item), 0x5c));
	kmem_cache_free(cache, item);
	kmem_cache_destroy(cache);
}

static void test_caches(void)
{
	struct kmem_cache *first = kmem_cache_create("first", sizeof(struct item), 0, SLAB_NO_MERGE, construct);
	const struct kmem_cache_args args = { /* all that Linux 6.18 has */
		.align = 64, .useroffset = 8, .usersize = 16, .freeptr_offset = 8, .use_freeptr_offset = true, .ctor = construct,
		.sheaf_capacity = 32,
	};
	struct kmem_cache *second = kmem_cache_create("second", sizeof(struct item), &args, 0);
	struct kmem_cache *third = kmem_cache_init(sizeof(struct item), "third");
	struct kmem_cache *fourth = KMEM_CACHE(item, SLAB_ACCOUNT | SLAB_PANIC);
	struct item *a = kmem_cache_alloc(first, GFP_KERNEL), *b = kmem_cache_alloc_lru(second, NULL, GFP_NOFS);
	struct item *c = kmem_cache_zalloc(third, GFP_KERNEL), *d = kmem_cache_alloc_node(fourth, __GFP_ZERO, 0);
	void *objects[20];

	CHECK(first && second && third && fourth && a && b && c && d);
	CHECK(all_bytes(a, sizeof(*a), 0x5c) && all_bytes(b, sizeof(*b), 0x5c) && (uintptr_t)b % 64 == 0);
	CHECK(is_clear(c, sizeof(*c)) && is_clear(d, sizeof(*d)));
	CHECK_EQ(kmem_cache_size(third), sizeof(struct item));
	kmem_cache_free(first, a);
	kmem_cache_free(second, b);
	kfree(c); /* a cache's object */
	kmem_cache_free(fourth, d);
	CHECK_EQ(kmem_cache_alloc_bulk(third, GFP_KERNEL | __GFP_ZERO, 20, objects), 20);
	CHECK(is_clear(objects[19], sizeof(struct item)));
	kmem_cache_free_bulk(third, 20, objects);
	CHECK_EQ(kmem_cache_shrink(third), 0);
	kmem_cache_destroy(first);
	kmem_cache_destroy(second);
	kmem_cache_destroy(third);
	kmem_cache_destroy(fourth);
	kmem_cache_destroy(NULL);
}

static void test_blocks(void)
{
	void *blocks[8] = { kmalloc(100, GFP_KERNEL), kzalloc(100, GFP_ATOMIC), kmalloc_node(5000, GFP_KERNEL, 0),
			    kzalloc_node(5000, GFP_KERNEL, 0), kmalloc_array(10, 10, GFP_KERNEL),
			    kcalloc(10, 10, GFP_KERNEL), kmalloc_array_node(10, 10, GFP_KERNEL, 0),
			    kcalloc_node(10, 10, GFP_KERNEL, 0) };
	char *grown, *moved;

	for (int i = 0; i < 8; i++)
		CHECK(blocks[i] != NULL && ksize(blocks[i]) >= 100);
	CHECK(is_clear(blocks[1], 100) && is_clear(blocks[3], 5000) && is_clear(blocks[5], 100) && is_clear(blocks[7], 100));
	kfree_bulk(8, blocks);
	CHECK(kmalloc_array(SIZE_MAX / 2, 3, GFP_KERNEL) == NULL && kcalloc_node(SIZE_MAX / 2, 3, GFP_KERNEL, 0) == NULL);
	CHECK(kmalloc(0, GFP_KERNEL) == ZERO_SIZE_PTR && ksize(ZERO_SIZE_PTR) == 0);
	kfree(ZERO_SIZE_PTR);
	kfree(NULL);

	grown = krealloc(NULL, 50, GFP_KERNEL | __GFP_ZERO);
	memset(grown, 3, 50);
	grown = krealloc(grown, 3000, GFP_KERNEL | __GFP_ZERO);
	CHECK(all_bytes(grown, 50, 3) && is_clear(grown + 2000, 1000));
	CHECK(krealloc_array(grown, SIZE_MAX / 2, 3, GFP_KERNEL) == NULL);
	moved = kvrealloc(grown, 6000, GFP_KERNEL);
	CHECK(moved != NULL && all_bytes(moved, 50, 3));
	moved = kvrealloc(moved, 6000, 9000, GFP_KERNEL); /* as in 6.1 */
	CHECK(moved != NULL && all_bytes(moved, 50, 3) && ksize(moved) >= 9000);
	CHECK(krealloc(moved, 0, GFP_KERNEL) == ZERO_SIZE_PTR);
	kfree_sensitive(kmalloc(40, GFP_KERNEL));
	kzfree(kmalloc(40, GFP_KERNEL));
}

/* Who asks for zeros at each step has them at each size, whatever the memory held before. */
static void test_zeros(void)
{
	const gfp_t zero = GFP_KERNEL | __GFP_ZERO;

	for (size_t size = 1; size < 300000; size += size / 7 + 1) {
		char *dirty = kmalloc(size, GFP_KERNEL), *block;
		const size_t least = size / 2 + 1;

		for (volatile char *p = dirty, *end = p + ksize(dirty); p < end; p++)
			*p = 0x33;
		kfree(dirty);
		block = size % 2 != 0 ? kzalloc(size, GFP_KERNEL) : krealloc(NULL, size, zero);
		memset(block, 1, size);
		block = krealloc(block, size + 5, zero);
		CHECK(all_bytes(block, size, 1) && is_clear(block + size, 5));
		memset(block, 1, size + 5);
		block = krealloc(block, least, zero);
		block = krealloc(block, size + 3, zero);
		CHECK(all_bytes(block, least, 1) && is_clear(block + least, size + 3 - least));
		block = krealloc(block, 3 * size + 9, zero);
		CHECK(all_bytes(block, least, 1) && is_clear(block + least, 3 * size + 9 - least));
		kfree(block);
	}
}

static void test_big(void)
{
	void *blocks[6] = { kvmalloc(100000, GFP_KERNEL), kvzalloc(100000, GFP_KERNEL), kvmalloc_array(10, 9000, GFP_KERNEL),
			    kvcalloc(10, 9000, GFP_KERNEL), kvmalloc_node(100, GFP_KERNEL, 0), kvzalloc_node(100, GFP_KERNEL, 0) };
	void *pages[6] = { vmalloc(70000), vzalloc(70000), vmalloc_node(10, 0), vzalloc_node(10, 0), vmalloc_array(3, 5000),
			   vcalloc(3, 5000) };

	CHECK(is_clear(blocks[1], 100000) && is_clear(blocks[3], 90000) && is_clear(blocks[5], 100));
	CHECK(kvmalloc_array(SIZE_MAX / 2, 3, GFP_KERNEL) == NULL && vmalloc_array(SIZE_MAX / 2, 3) == NULL);
	kvfree_sensitive(blocks[0], 100000);
	for (int i = 1; i < 6; i++)
		kvfree(blocks[i]);
	for (int i = 0; i < 6; i++) {
		CHECK(pages[i] != NULL && (uintptr_t)pages[i] % PAGE_SIZE == 0);
		memset((char *)pages[i] + 9, i & 1 ? *(char *)pages[i] : 1, 1);
	}
	CHECK(is_clear(pages[1], 70000) && is_clear(pages[5], 15000));
	for (int i = 0; i < 6; i++)
		vfree(pages[i]);
	vfree(NULL);
	char *run = alloc_pages_exact(3 * PAGE_SIZE, GFP_KERNEL);
	struct page *parts[3] = { virt_to_page(run), vmalloc_to_page(run + PAGE_SIZE), virt_to_page(run + 2 * PAGE_SIZE) };
	CHECK(vmap(parts, 3, VM_MAP | VM_NO_GUARD, PAGE_KERNEL) == run);
	CHECK(vmap(parts + 1, 2, VM_MAP, PAGE_KERNEL) == run + PAGE_SIZE);
	vunmap(run);
	parts[1] = parts[0];
	CHECK(vmap(parts, 3, VM_MAP, PAGE_KERNEL) == NULL && vmap(parts, 0, VM_MAP, PAGE_KERNEL) == NULL);
	CHECK(!is_vmalloc_addr(run));
	free_pages_exact(run, 3 * PAGE_SIZE);
	CHECK(vmalloc(0) == NULL);
}

static void test_pages(void)
{
	for (unsigned order = 0; order < 5; order++) {
		struct page *page = alloc_pages(GFP_KERNEL, order);
		unsigned long address = __get_free_pages(GFP_KERNEL | __GFP_ZERO, order);

		CHECK(page != NULL && (uintptr_t)page_address(page) % (PAGE_SIZE << order) == 0);
		CHECK(virt_to_page((char *)page_address(page) + 100) == page);
		CHECK(address != 0 && is_clear((void *)(uintptr_t)address, PAGE_SIZE << order));
		CHECK_EQ(get_order(PAGE_SIZE << order), order);
		__free_pages(page, order);
		free_pages(address, order);
	}
	CHECK_EQ(get_order(1), 0);
	CHECK_EQ(get_order(PAGE_SIZE + 1), 1);
	CHECK(alloc_pages(GFP_ATOMIC, 60) == NULL && __get_free_pages(GFP_ATOMIC, 40) == 0);
	__free_page(alloc_page(GFP_KERNEL));
	free_page(__get_free_page(GFP_KERNEL));
	free_page(get_zeroed_page(GFP_KERNEL));
	free_pages_exact(alloc_pages_exact(3 * PAGE_SIZE, GFP_KERNEL), 3 * PAGE_SIZE);
	free_page(0);
}

static void test_text(void)
{
	char *texts[] = { kstrdup("stone", GFP_KERNEL),         kstrndup("stonework", 5, GFP_KERNEL),
			  kstrndup("stone", 100, GFP_KERNEL),   kmemdup_nul("stonework", 5, GFP_KERNEL),
			  kmemdup("stone", 6, GFP_KERNEL),      kasprintf(GFP_KERNEL, "%s%c", "ston", 'e'),
			  kmemdup_array("stone", 1, 6, GFP_KERNEL) };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		CHECK(texts[i] != NULL && strcmp(texts[i], "stone") == 0);
		kfree(texts[i]);
	}
	CHECK(kstrdup(NULL, GFP_KERNEL) == NULL && kstrndup(NULL, 3, GFP_KERNEL) == NULL);
	CHECK(kmemdup_nul(NULL, 3, GFP_KERNEL) == NULL);
	char *longer = kasprintf(GFP_KERNEL, "%0500d", 7);
	CHECK(strlen(longer) == 500 && longer[499] == '7');
	kfree_const(longer);
}

/* ---- shrinkers, no memory ------------------------------------------------- */

static unsigned long to_free, asked;
static gfp_t asked_with;

static unsigned long count(struct shrinker *shrinker, struct shrink_control *control)
{
	asked++;
	asked_with = control->gfp_mask;
	CHECK(shrinker->private_data == &to_free);
	return to_free != 0 ? to_free : SHRINK_EMPTY;
}

static unsigned long scan(struct shrinker *shrinker, struct shrink_control *control)
{
	unsigned long some = control->nr_to_scan < to_free ? control->nr_to_scan : to_free;

	CHECK(control->nr_to_scan <= 128);
	(void)shrinker;
	if (some == 0)
		return SHRINK_STOP;
	to_free -= some;
	return some;
}

/* Objects of 4 MiB: the first that does not fit is refused. */
static void check_bulk_shrinks(void)
{
	static void *objects[64];
	struct kmem_cache *cache = kmem_cache_create("many", 4 << 20, 0, SLAB_NO_MERGE, NULL);

	CHECK(cache != NULL);
	CHECK_EQ(dry_ctl("limit", "64M"), 0);
	to_free = 5;
	asked = 0;
	CHECK(kmem_cache_alloc_bulk(cache, GFP_ATOMIC, 64, objects) == 0 && to_free == 5 && asked == 0);
	CHECK(kmem_cache_alloc_bulk(cache, GFP_NOFS, 64, objects) == 0 && to_free == 0 && asked_with == (gfp_t)GFP_NOFS);
	to_free = 5;
	CHECK(kmem_cache_alloc_bulk(cache, GFP_KERNEL | __GFP_ZERO, 64, objects) == 0 && to_free == 0);
	CHECK(kmem_cache_alloc_bulk(cache, GFP_KERNEL, 0, objects) == 0);
	CHECK_EQ(dry_ctl("limit", "0"), 0);
	kmem_cache_destroy(cache);
}

static void check_shrinks(void)
{
	asked = 0;
	to_free = 1000;
	CHECK(kmalloc(TOO_MUCH, GFP_ATOMIC) == NULL && asked == 0);
	CHECK(kmalloc(TOO_MUCH, GFP_NOFS) == NULL && to_free == 0 && asked == 2 && asked_with == (gfp_t)GFP_NOFS);
	to_free = 5;
	CHECK(vmalloc(TOO_MUCH) == NULL && to_free == 0);
	to_free = 5;
	run_shrinkers(GFP_KERNEL, false);
	run_shrinkers(GFP_ATOMIC, true);
	CHECK(to_free == 5);
	run_shrinkers(GFP_KERNEL, true);
	CHECK(to_free == 0);
	to_free = 5;
	CHECK(krealloc(NULL, TOO_MUCH, GFP_KERNEL) == NULL && to_free == 0);
	check_bulk_shrinks();
}

static void test_shrinkers(void)
{
	struct shrinker own = { .count_objects = count, .scan_objects = scan, .private_data = &to_free };
	struct shrinker *made;

	CHECK_EQ(register_shrinker(&own, "stones-%d", 1), 0);
	check_shrinks();
	unregister_shrinker(&own);
	made = shrinker_alloc(0, "stones-%d", 2);
	made->count_objects = count;
	made->scan_objects = scan;
	made->private_data = &to_free;
	shrinker_register(made);
	check_shrinks();
	shrinker_free(made);
	asked = 0;
	CHECK(kmalloc(TOO_MUCH, GFP_KERNEL) == NULL && asked == 0);
	shrinker_free(NULL);
}

static void ask_block(void)
{
	kmalloc(TOO_MUCH, GFP_KERNEL | __GFP_NOFAIL);
}

static void ask_many(void)
{
	static void *objects[64];
	struct kmem_cache *cache = kmem_cache_create("many", 4 << 20, 0, SLAB_NO_MERGE, NULL);

	dry_ctl("limit", "64M");
	kmem_cache_alloc_bulk(cache, GFP_KERNEL | __GFP_NOFAIL, 64, objects);
}

static void test_nofail(void (*ask)(void))
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		signal(SIGABRT, SIG_DFL);
		fclose(stderr);
		ask();
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

/* ---- forks ------------------------------------------------------------------------ */

static int is_inside, go_on;

/* Runs until it is told to end. */
static unsigned long count_long(struct shrinker *shrinker, struct shrink_control *control)
{
	(void)shrinker;
	(void)control;
	__atomic_store_n(&is_inside, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&go_on, __ATOMIC_ACQUIRE))
		usleep(1000);
	return SHRINK_EMPTY;
}

static void *find_nothing(void *arg)
{
	(void)arg;
	CHECK(kmalloc(TOO_MUCH, GFP_KERNEL) == NULL);
	return NULL;
}

static void wait_for(pid_t child)
{
	int status;

	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* The child of a fork registers, and has its shrinkers run, whatever other threads of the parent were about. */
static void test_fork_beside(void)
{
	struct shrinker slow = { .count_objects = count_long, .scan_objects = scan };
	struct shrinker own = { .count_objects = count, .scan_objects = scan, .private_data = &to_free };
	mempool_t *pool = mempool_create_kmalloc_pool(2, 100);
	pthread_t thread;
	pid_t child;

	CHECK(pool != NULL && register_shrinker(&slow) == 0);
	CHECK_EQ(pthread_create(&thread, NULL, find_nothing, NULL), 0);
	while (!__atomic_load_n(&is_inside, __ATOMIC_ACQUIRE))
		usleep(1000);
	kmem_lock(&pool->lock); /* in the place of another thread */
	child = fork();
	if (child == 0) {
		alarm(60);
		unregister_shrinker(&slow);
		CHECK_EQ(register_shrinker(&own), 0);
		to_free = 5;
		CHECK(kmalloc(TOO_MUCH, GFP_KERNEL) == NULL && to_free == 0);
		CHECK(kmem_pool_take(pool) != NULL && pool->curr_nr == 1);
		_exit(0);
	}
	kmem_unlock(&pool->lock);
	wait_for(child);
	__atomic_store_n(&go_on, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	unregister_shrinker(&slow);
	mempool_destroy(pool);
}

static pid_t forked = -1;
static int depth;

static unsigned long count_forking(struct shrinker *shrinker, struct shrink_control *control)
{
	(void)shrinker;
	(void)control;
	CHECK_EQ(depth++, 0);
	if (forked < 0)
		forked = fork();
	CHECK(kmalloc(TOO_MUCH, GFP_KERNEL) == NULL); /* they do not run within themselves, not in the child either */
	depth--;
	return SHRINK_EMPTY;
}

static void test_fork_inside(void)
{
	struct shrinker forking = { .count_objects = count_forking, .scan_objects = scan };
	struct shrinker own = { .count_objects = count, .scan_objects = scan, .private_data = &to_free };

	CHECK_EQ(register_shrinker(&forking), 0);
	CHECK(kmalloc(TOO_MUCH, GFP_KERNEL) == NULL);
	if (forked == 0)
		alarm(60);
	unregister_shrinker(&forking);
	CHECK_EQ(register_shrinker(&own), 0);
	to_free = 5;
	CHECK(kmalloc(TOO_MUCH, GFP_KERNEL) == NULL && to_free == 0);
	unregister_shrinker(&own);
	if (forked == 0)
		_exit(0);
	wait_for(forked);
}

/* ---- mempool ----------------------------------------------------------------- */

static int barren; /* whether the function finds nothing */

static void *find(gfp_t flags, void *data)
{
	(void)flags;
	CHECK(data == &barren);
	return __atomic_load_n(&barren, __ATOMIC_ACQUIRE) ? NULL : kmalloc(32, GFP_KERNEL);
}

static void drop(void *element, void *data)
{
	CHECK(data == &barren);
	kfree(element);
}

static void *free_later(void *arg)
{
	void **both = arg;

	usleep(20000);
	mempool_free(both[0], both[1]);
	return NULL;
}

static void test_reserve(void)
{
	mempool_t *pool = mempool_create(3, find, drop, &barren);
	void *got[4], *both[2];
	pthread_t thread;

	CHECK(pool != NULL && mempool_initialized(pool) && pool->curr_nr == 3);
	barren = 1;
	for (int i = 0; i < 3; i++)
		CHECK((got[i] = mempool_alloc(pool, GFP_NOWAIT)) != NULL);
	CHECK(mempool_alloc(pool, GFP_ATOMIC) == NULL);
	both[0] = got[2];
	both[1] = pool;
	CHECK_EQ(pthread_create(&thread, NULL, free_later, both), 0);
	got[3] = mempool_alloc(pool, GFP_KERNEL); /* waits */
	CHECK(got[3] == got[2]);
	pthread_join(thread, NULL);
	mempool_free(got[0], pool);
	mempool_free(got[1], pool);
	CHECK_EQ(pool->curr_nr, 2);
	CHECK(mempool_resize(pool, 10) == -ENOMEM && pool->min_nr == 10);
	__atomic_store_n(&barren, 0, __ATOMIC_RELEASE);
	CHECK(mempool_resize(pool, 5) == 0 && pool->curr_nr == 5);
	CHECK(mempool_resize(pool, 1) == 0 && pool->curr_nr == 1 && mempool_resize(pool, 0) == -EINVAL);
	mempool_free(got[3], pool);
	mempool_free(NULL, pool);
	mempool_destroy(pool);
	mempool_destroy(NULL);
	barren = 1;
	CHECK(mempool_create(1, find, drop, &barren) == NULL);
	barren = 0;
}

static void test_pools(void)
{
	struct kmem_cache *cache = kmem_cache_create("pooled", sizeof(struct item), 0, SLAB_NO_MERGE, NULL);
	mempool_t *pools[3] = { mempool_create_slab_pool(2, cache), mempool_create_kvmalloc_pool(2, 100),
				mempool_create_page_pool(2, 1) };
	mempool_t inside[3];
	void *element;

	CHECK(mempool_init_slab_pool(&inside[0], 2, cache) == 0 && mempool_init_kmalloc_pool(&inside[1], 2, 100) == 0);
	CHECK_EQ(mempool_init_page_pool(&inside[2], 2, 1), 0);
	for (int i = 0; i < 6; i++) {
		mempool_t *pool = i < 3 ? pools[i] : &inside[i - 3];

		CHECK(pool != NULL && (element = mempool_alloc(pool, GFP_KERNEL)) != NULL);
		memset(element, i, i % 3 == 2 ? 2 * PAGE_SIZE : sizeof(struct item));
		mempool_free(element, pool);
		if (i < 3)
			mempool_destroy(pool);
		else
			mempool_exit(pool);
	}
	kmem_cache_destroy(cache);
	CHECK(mempool_init(&inside[0], 0, find, drop, &barren) == -EINVAL);
}

/* ---- kfree_rcu ------------------------------------------------------------------ */

static struct dry_grace_head *waiting[16];
static int calls;

static void later(void *arg, struct dry_grace_head *head, void (*func)(struct dry_grace_head *))
{
	CHECK(arg == &calls && calls < 16);
	head->func = func;
	waiting[calls++] = head;
}

static void now(void *arg)
{
	CHECK(arg == &calls);
	while (calls > 0) {
		struct dry_grace_head *head = waiting[--calls];
		head->func(head);
	}
}

struct counted {
	struct item item;
	void *rcu;
};

static size_t live(struct kmem_cache *cache)
{
	struct dry_cache_stats stats;

	CHECK_EQ(dry_cache_stats((dry_cache *)(void *)cache, &stats), 0);
	return stats.active_objects;
}

static void test_grace(void)
{
	static const struct dry_grace grace = { later, now, &calls };
	struct kmem_cache *cache = kmem_cache_create("counted", sizeof(struct counted), 0, SLAB_NO_MERGE, NULL);
	struct counted *a = kmem_cache_alloc(cache, GFP_KERNEL), *b = kmem_cache_alloc(cache, GFP_KERNEL);
	struct counted *c = kmem_cache_alloc(cache, GFP_KERNEL);

	kfree_rcu(c, rcu); /* nobody reads */
	CHECK_EQ(live(cache), 2);
	kmem_set_grace(&grace);
	memset(a, 7, sizeof(*a));
	kfree_rcu(a, rcu);
	kfree_rcu_mightsleep(b);
	kvfree_rcu(kmalloc(10, GFP_KERNEL));
	kvfree_rcu_mightsleep(NULL);
	CHECK(live(cache) == 2 && calls == 3 && all_bytes(a, sizeof(*a), 7)); /* readers may still look */
	kfree_rcu_barrier();
	CHECK(live(cache) == 0 && calls == 0);
	kmem_set_grace(NULL);
	kfree_rcu_barrier();
	kmem_cache_destroy(cache);
}

int main(void)
{
	test_flags();
	test_caches();
	test_constructed();
	test_blocks();
	test_zeros();
	test_big();
	test_pages();
	test_text();
	test_shrinkers();
	test_nofail(ask_block);
	test_nofail(ask_many);
	test_fork_beside();
	test_fork_inside();
	test_reserve();
	test_pools();
	test_grace();
	CHECK_EQ(dry_heap_check(NULL), 0);
	return 0;
}

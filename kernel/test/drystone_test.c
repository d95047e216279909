// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * What every allocator of the kernel has to do; the same for drystone and those that it stands beside. A module, tested by
 * loading it; ends with a line "drystone-test: N passed, N failed". With `measure`, `damage` or `charge` it does that in place
 * of it.
 */
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/nodemask.h>
#include <linux/prandom.h>
#include <linux/slab.h>

#include "test/charge.h"
#include "test/damage.h"
#include "test/measure.h"

static bool measure, damage, charge, letters;
module_param(measure, bool, 0);
module_param(damage, bool, 0);
module_param(charge, bool, 0); /* objects are the group's that asks, until the module goes; not in 6.1 */
module_param(letters, bool, 0); /* damage: caches of its own have red zones and poison */

#define LIVE   512
#define STEPS  40000
#define MANY   700
#define CTOR   0x6b1f

static atomic_t failures = ATOMIC_INIT(0);

#define CHECK(condition) \
	do { \
		if (!(condition) && atomic_inc_return(&failures) <= 20) \
			pr_err("drystone-test: %s:%d: %s\n", __func__, __LINE__, #condition); \
	} while (0)

static u8 byte_of(const void *at)
{
	return (u8)((unsigned long)at >> 4) ^ 0x5a;
}

static void fill(void *at, size_t size)
{
	memset(at, byte_of(at), size);
}

static bool filled(const void *at, size_t size)
{
	return memchr_inv(at, byte_of(at), size) == NULL;
}

/* ---- general allocation ---- */

static void sizes(void)
{
	for (size_t size = 1; size <= 20000; size = size < 300 ? size + 1 : size * 9 / 8) {
		char *a = kmalloc(size, GFP_KERNEL), *b = kmalloc(size, GFP_KERNEL);

		CHECK(a != NULL && b != NULL && a != b);
		CHECK(ksize(a) >= size && ksize(b) >= size);
		if (is_power_of_2(size))
			CHECK(IS_ALIGNED((unsigned long)a, size) && IS_ALIGNED((unsigned long)b, size));
		CHECK(IS_ALIGNED((unsigned long)a, ARCH_KMALLOC_MINALIGN));
		fill(a, size);
		fill(b, size);
		CHECK(filled(a, size));
		kfree(a);
		CHECK(filled(b, size));
		kfree(b);
		a = kzalloc(size, GFP_KERNEL);
		CHECK(a != NULL && memchr_inv(a, 0, size) == NULL);
		kfree(a);
	}
	kfree(NULL);
	CHECK(ZERO_OR_NULL_PTR(kmalloc(0, GFP_KERNEL)));
}

static void reallocation(void)
{
	char *at = NULL, *grown;

	for (size_t size = 16; size <= 16384; size *= 2) {
		grown = krealloc(at, size, GFP_KERNEL);
		CHECK(grown != NULL && (at == NULL || memchr_inv(grown, 0x33, size / 2) == NULL));
		at = memset(grown, 0x33, size);
	}
	kfree(at);
}

static void interrupts_off(void)
{
	static void *at[MANY];
	unsigned long flags;
	int got = 0;

	if (IS_ENABLED(CONFIG_PREEMPT_RT)) /* where locks sleep, nobody allocates so */
		return;
	local_irq_save(flags);
	for (int i = 0; i < MANY; i++)
		got += (at[i] = kmalloc(200, GFP_ATOMIC)) != NULL;
	CHECK(irqs_disabled());
	for (int i = 0; i < MANY; i++)
		kfree(at[i]);
	CHECK(irqs_disabled());
	local_irq_restore(flags);
	CHECK(got == MANY);
}

/* ---- random replacement, by one thread a processor; what one made another may free ---- */

static void *shared[LIVE];
static struct completion done;
static atomic_t running;

/* The size stands in the object. */
static void *make(struct rnd_state *rnd)
{
	u32 size = sizeof(u32) + prandom_u32_state(rnd) % (prandom_u32_state(rnd) % 16 == 0 ? 6000 : 300);
	u32 *at = kmalloc(size, GFP_KERNEL);

	if (at != NULL) {
		fill(at, size);
		*at = size;
	}
	return at;
}

static void unmake(void *object)
{
	u32 *at = object, size;

	if (at == NULL)
		return;
	size = *at;
	CHECK(size >= sizeof(u32) && size < 6004);
	memset(at, byte_of(at), sizeof(*at));
	CHECK(filled(at, size));
	kfree(at);
}

static int replace(void *seed)
{
	struct rnd_state rnd;

	prandom_seed_state(&rnd, (unsigned long)seed);
	for (int step = 0; step < STEPS; step++) {
		unmake(xchg(&shared[prandom_u32_state(&rnd) % LIVE], make(&rnd)));
		if (step % 1000 == 0)
			cond_resched();
	}
	if (atomic_dec_and_test(&running))
		complete(&done);
	return 0;
}

static void replacement(void)
{
	unsigned int cpu;

	init_completion(&done);
	atomic_set(&running, num_online_cpus());
	for_each_online_cpu(cpu)
		CHECK(!IS_ERR(kthread_run_on_cpu(replace, (void *)(cpu + 1ul), cpu, "drystone-test/%u")));
	wait_for_completion(&done);
	for (int i = 0; i < LIVE; i++)
		unmake(xchg(&shared[i], NULL));
}

/* ---- caches ---- */

struct thing {
	u32 mark;
	char rest[76];
};

static void construct(void *object)
{
	((struct thing *)object)->mark = CTOR;
}

static void constructed(void)
{
	struct kmem_cache *cache = kmem_cache_create("drystone-test", sizeof(struct thing), 0, SLAB_HWCACHE_ALIGN, construct);
	static struct thing *at[MANY];

	CHECK(cache != NULL);
	for (int round = 0; round < 3 && cache != NULL; round++) {
		for (int i = 0; i < MANY; i++) {
			at[i] = kmem_cache_alloc(cache, GFP_KERNEL);
			CHECK(at[i] != NULL && at[i]->mark == CTOR);
			memset(at[i]->rest, i, sizeof(at[i]->rest));
		}
		for (int i = 0; i < MANY; i++) {
			CHECK(at[i]->mark == CTOR && memchr_inv(at[i]->rest, i, sizeof(at[i]->rest)) == NULL);
			kmem_cache_free(cache, at[i]);
		}
	}
	CHECK(kmem_cache_shrink(cache) == 0);
	kmem_cache_destroy(cache);
}

static void typesafe(void)
{
	for (int round = 0; round < 8; round++) {
		struct kmem_cache *cache = kmem_cache_create("drystone-test-rcu", 120, 0, SLAB_TYPESAFE_BY_RCU, construct);
		static struct thing *at[MANY];

		CHECK(cache != NULL);
		for (int i = 0; i < MANY; i++)
			at[i] = kmem_cache_alloc(cache, GFP_KERNEL);
		for (int i = 0; i < MANY; i++)
			kmem_cache_free(cache, at[i]);
		rcu_read_lock(); /* freed or not, it is a thing still */
		CHECK(at[MANY / 2]->mark == CTOR);
		rcu_read_unlock();
		kmem_cache_destroy(cache);
	}
}

static void bulk(void)
{
	struct kmem_cache *cache = kmem_cache_create("drystone-test-bulk", 72, 0, 0, NULL);
	static void *at[MANY];

	CHECK(cache != NULL);
	for (size_t n = 1; n <= MANY; n += n / 2 + 1) {
		CHECK(kmem_cache_alloc_bulk(cache, GFP_KERNEL | __GFP_ZERO, n, at) == (int)n);
		for (size_t i = 0; i < n; i++) {
			CHECK(at[i] != NULL && memchr_inv(at[i], 0, 72) == NULL);
			fill(at[i], 72);
		}
		for (size_t i = 0; i < n; i++)
			CHECK(filled(at[i], 72));
		kmem_cache_free_bulk(cache, n, at);
	}
	kmem_cache_destroy(cache);
	for (int i = 0; i < MANY; i++)
		CHECK((at[i] = kmalloc(i * 20 + 1, GFP_KERNEL)) != NULL);
	kfree_bulk(MANY, at); /* of many caches, and of none */
}

/* One by one and in bulk, in and out; the places of a bulk lie in an object of the cache, as maple trees have it. */
static void mixed(void)
{
	struct kmem_cache *cache = kmem_cache_create("drystone-test-mixed", 256, 256, 0, NULL);
	static void *at[MANY];
	struct rnd_state rnd;
	u32 live = 0, n;
	bool shared;

	CHECK(cache != NULL);
	shared = kmem_cache_shrink(cache) != 0; /* in drystone-tiny slabs are general allocation's, too: not empty then */
	prandom_seed_state(&rnd, 1);
	for (int step = 0; step < STEPS / 4; step++) {
		n = prandom_u32_state(&rnd) % 30 + 1;
		if (prandom_u32_state(&rnd) % 2 != 0 && live + n + 1 <= MANY) {
			void **places = kmem_cache_alloc(cache, GFP_KERNEL);

			CHECK(places != NULL && kmem_cache_alloc_bulk(cache, GFP_NOWAIT, n, places) == (int)n);
			memcpy(at + live, places, n * sizeof(void *));
			at[live + n] = places;
			for (u32 i = live; i <= live + n; i++)
				fill(at[i], 256);
			live += n + 1;
		} else if (live != 0) {
			n = min(n, live);
			for (u32 i = live - n; i < live; i++) {
				u32 from = prandom_u32_state(&rnd) % (i + 1);

				swap(at[i], at[from]);
				CHECK(filled(at[i], 256));
			}
			live -= n;
			if (n % 2 != 0)
				kmem_cache_free_bulk(cache, n, at + live);
			for (u32 i = live; n % 2 == 0 && i < live + n; i++)
				kmem_cache_free(cache, at[i]);
		}
	}
	kmem_cache_free_bulk(cache, live, at);
	CHECK(shared || kmem_cache_shrink(cache) == 0);
	kmem_cache_destroy(cache);
}

/* What a slab remembers of free objects is not kept in those that have a constructor, however small they are. */
static void construct_small(void *object)
{
	*(u64 *)object = CTOR;
}

static void small_constructed(void)
{
	for (size_t size = 8; size <= 24; size += 8) {
		struct kmem_cache *cache = kmem_cache_create("drystone-test-small", size, 0, 0, construct_small);
		static u64 *at[MANY];

		CHECK(cache != NULL);
		for (int round = 0; round < 2; round++) {
			for (int i = 0; i < MANY; i++) {
				at[i] = kmem_cache_alloc(cache, GFP_KERNEL);
				CHECK(at[i] != NULL && *at[i] == CTOR);
			}
			for (int i = 0; i < MANY; i++)
				kmem_cache_free(cache, at[i]);
		}
		kmem_cache_destroy(cache);
	}
}

/* A cache that is another name of one with less alignment, because their sizes fit, has its own alignment all the same. */
static void aligned(void)
{
	static void *at[MANY / 2], *too[MANY / 2];

	for (unsigned int align = 16; align <= 1024; align *= 2) {
		struct kmem_cache *plain = kmem_cache_create("drystone-test-plain", 3 * align, 0, 0, NULL);
		struct kmem_cache *cache = kmem_cache_create("drystone-test-aligned", 3 * align, align, 0, NULL);

		CHECK(plain != NULL && cache != NULL);
		for (int i = 0; i < MANY / 2; i++) {
			at[i] = kmem_cache_alloc(plain, GFP_KERNEL);
			too[i] = kmem_cache_alloc(cache, GFP_KERNEL);
			CHECK(at[i] != NULL && too[i] != NULL && IS_ALIGNED((unsigned long)too[i], align));
		}
		kmem_cache_free_bulk(plain, MANY / 2, at);
		kmem_cache_free_bulk(cache, MANY / 2, too);
		kmem_cache_destroy(cache);
		kmem_cache_destroy(plain);
	}
}

/* What must not fail does not, and asks for no pages that the kernel warns of (its log is judged). */
static void never_failing(void)
{
	static void *at[MANY / 4];

	for (size_t size = 8; size <= 8192; size *= 2) {
		for (int i = 0; i < MANY / 4; i++)
			CHECK((at[i] = kmalloc(size, GFP_KERNEL | __GFP_NOFAIL)) != NULL);
		for (int i = 0; i < MANY / 4; i++)
			kfree(at[i]);
	}
}

static struct kmem_cache *of_nodes;
static void *on_node[MANY];

/* Each processor's: every so many. */
static int free_share(void *share)
{
	for (unsigned long i = (unsigned long)share; i < MANY; i += num_online_cpus())
		kmem_cache_free(of_nodes, xchg(&on_node[i], NULL));
	if (atomic_dec_and_test(&running))
		complete(&done);
	return 0;
}

/* Objects that are asked for on a node lie there; processors of all nodes free them. */
static void nodes(void)
{
	unsigned long share;
	int node, cpu;

	of_nodes = kmem_cache_create("drystone-test-nodes", 200, 0, 0, construct); /* so nobody's alias */
	CHECK(of_nodes != NULL);
	for (int round = 0; round < 4; round++)
		for_each_online_node(node) {
			for (int i = 0; i < MANY; i++) {
				on_node[i] = kmem_cache_alloc_node(of_nodes, GFP_KERNEL, node);
				CHECK(on_node[i] != NULL && page_to_nid(virt_to_page(on_node[i])) == node);
				fill(on_node[i], 200);
			}
			for (int i = 0; i < MANY; i++)
				CHECK(filled(on_node[i], 200));
			init_completion(&done);
			atomic_set(&running, num_online_cpus());
			share = 0;
			for_each_online_cpu(cpu)
				CHECK(!IS_ERR(kthread_run_on_cpu(free_share, (void *)share++, cpu, "drystone-test/%u")));
			wait_for_completion(&done);
		}
	CHECK(kmem_cache_shrink(of_nodes) == 0);
	kmem_cache_destroy(of_nodes);
}

static void made_and_destroyed(void)
{
	for (int round = 0; round < 60; round++) {
		size_t size = 8 + round * 97 % 5000, align = 8u << round % 5;
		struct kmem_cache *cache = kmem_cache_create("drystone-test-brief", size, align, 0, NULL);
		void *at[40];

		CHECK(cache != NULL && kmem_cache_size(cache) >= size);
		for (int i = 0; i < 40; i++) {
			at[i] = kmem_cache_alloc(cache, GFP_KERNEL);
			CHECK(at[i] != NULL && IS_ALIGNED((unsigned long)at[i], align));
			fill(at[i], size);
		}
		for (int i = 0; i < 40; i++) {
			CHECK(filled(at[i], size));
			kmem_cache_free(cache, at[i]);
		}
		kmem_cache_destroy(cache);
	}
}

/* ---- all ---- */

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	{ "sizes", sizes },	      { "reallocation", reallocation },	    { "interrupts off", interrupts_off },
	{ "replacement", replacement }, { "constructed", constructed },     { "typesafe", typesafe },
	{ "bulk", bulk },	      { "mixed", mixed },		    { "made and destroyed", made_and_destroyed },
	{ "nodes", nodes },	      { "aligned", aligned },
	{ "never failing", never_failing }, { "small constructed", small_constructed },
};

static int __init drystone_test(void)
{
	unsigned int failed = 0;

	if (measure || damage || charge) {
		if (measure)
			dry_measure();
		else if (damage)
			dry_damage(letters);
		else if (IS_ENABLED(CONFIG_DRYSTONE_TEST_CHARGE))
			dry_charge_begin();
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		atomic_set(&failures, 0);
		tests[i].run();
		failed += atomic_read(&failures) != 0;
		pr_info("drystone-test: %s: %s\n", tests[i].name, atomic_read(&failures) != 0 ? "FAILED" : "passed");
	}
	pr_info("drystone-test: %zu passed, %u failed\n", ARRAY_SIZE(tests) - failed, failed);
	return 0;
}
module_init(drystone_test);

static void __exit drystone_test_exit(void)
{
	if (charge && IS_ENABLED(CONFIG_DRYSTONE_TEST_CHARGE))
		dry_charge_end();
}
module_exit(drystone_test_exit);
MODULE_LICENSE("Dual MIT/GPL");

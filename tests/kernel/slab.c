/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* drystone in place of SLAB, over the mock: the test that kernels run at boot, then what is seen from below and beside. */
#include "core/batch.h"
#include "mm/slab.h"
#include "mocked.h"
#include "pieces.h"
#include "test/damage.h"
#include "slab/caches.h"
#include "support/check.h"

#define SOME "ZP,drystone-*;Z,kmalloc-*,drystone-first;T,kmalloc;-"

static char *letters;
static struct kmem_cache general[14]; /* of 2^n bytes */

/* ---- of mm/slab_common.c ---- */

void create_boot_cache(struct kmem_cache *s, const char *name, unsigned int size, slab_flags_t flags, unsigned int at,
		       unsigned int n)
{
	(void)at, (void)n;
	s->name = name;
	s->size = s->object_size = size;
	s->align = is_power_of_2(size) ? size : 8;
	CHECK_EQ(__kmem_cache_create(s, flags), 0);
	s->refcount = 1;
}

void setup_kmalloc_cache_index_table(void)
{
}

void create_kmalloc_caches(slab_flags_t flags)
{
	static char names[ARRAY_SIZE(general)][16];

	for (unsigned int i = 5; i < ARRAY_SIZE(general); i++) {
		snprintf(names[i], sizeof(names[i]), "kmalloc-%u", 1u << i);
		create_boot_cache(&general[i], names[i], 1u << i, flags | SLAB_KMALLOC, 0, 0);
		list_add(&general[i].list, &slab_caches);
	}
}

char *kasprintf(gfp_t gfp, const char *format, const char *name)
{
	char *text = __kmalloc(64, gfp);

	CHECK((size_t)snprintf(text, 64, format, name) < 64);
	return text;
}

void *__kmalloc(size_t size, gfp_t gfp)
{
	unsigned int i = 5;

	if (size == 0)
		return ZERO_SIZE_PTR;
	while (i < ARRAY_SIZE(general) && size > (size_t)1 << i)
		i++;
	return i == ARRAY_SIZE(general) ? kmalloc_large_node(size, gfp, NUMA_NO_NODE) :
					  __kmem_cache_alloc_node(&general[i], gfp, NUMA_NO_NODE, size, 0);
}

void free_large_kmalloc(struct folio *folio, void *object)
{
	CHECK(page_address(&folio->page) == object);
	mock_slab_bytes -= (long)folio_size(folio);
	__free_pages(&folio->page, (unsigned int)folio_order(folio));
}

void kfree(const void *at)
{
	if (ZERO_OR_NULL_PTR(at))
		return;
	struct folio *folio = virt_to_folio(at);
	if (folio_test_slab(folio))
		__kmem_cache_free(folio_slab(folio)->slab_cache, (void *)at, 0);
	else
		free_large_kmalloc(folio, (void *)at);
}

size_t __ksize(const void *at)
{
	struct folio *folio = virt_to_folio(at);

	if (is_kfence_address(at))
		return kfence_ksize(at);
	return folio_test_slab(folio) ? folio_slab(folio)->slab_cache->object_size : folio_size(folio);
}

struct kmem_cache *find_mergeable(unsigned int size, unsigned int align, slab_flags_t flags, const char *name, void (*ctor)(void *))
{
	(void)size, (void)align, (void)flags, (void)name, (void)ctor;
	return NULL;
}

gfp_t kmalloc_fix_flags(gfp_t flags)
{
	return flags & ~GFP_SLAB_BUG_MASK;
}

bool memcg_slab_pre_alloc_hook(struct kmem_cache *s, struct list_lru *lru, struct obj_cgroup **objcg, size_t size, gfp_t flags)
{
	(void)s, (void)lru, (void)objcg, (void)size, (void)flags;
	return true;
}

void slab_post_alloc_hook(struct kmem_cache *s, struct obj_cgroup *objcg, gfp_t flags, size_t size, void **p, bool init)
{
	(void)objcg, (void)flags;
	for (size_t i = 0; i < size; i++)
		if (p[i] != NULL && init)
			memset(p[i], 0, s->object_size);
}

/* Charges of a slab's objects are numbered by the slab's own cache. */
void mock_leaving(struct kmem_cache *s, const struct slab *slab)
{
	if (slab == NULL || slab->slab_cache != s)
		mock_wrong("a charge is given back of an object of another cache, or of none");
}

/* ---- tests ---- */

struct slabinfo info_of(struct kmem_cache *s)
{
	struct slabinfo info;

	get_slabinfo(s, &info);
	return info;
}

size_t bytes_of(struct kmem_cache *s)
{
	size_t slabs = dry_node_slabs(s->dry), lacking = slabs * s->num - info_of(s).num_objs;
	size_t singles = lacking != 0 ? lacking / (s->num - s->num_single) : 0;
	size_t bytes = (slabs - singles) * (PAGE_SIZE << s->dry->order) + singles * PAGE_SIZE;

	CHECK_EQ(info_of(s).num_slabs, DIV_ROUND_UP(bytes, PAGE_SIZE << s->dry->order));
	return bytes;
}

/* Pages that are slabs now are what was accounted, and no others are marked. */
void check_accounts(void)
{
	long bytes = 0;
	struct kmem_cache *s;

	list_for_each_entry(s, &slab_caches, list)
		bytes += (long)bytes_of(s);
	CHECK_EQ(bytes + (long)dry_kernel_meta_bytes(), mock_slab_bytes);
	for (unsigned long pfn = 0; pfn < max_pfn; pfn++)
		bytes -= mock_pages[pfn].flags & 1 ? (long)folio_size((struct folio *)&mock_pages[pfn]) : 0;
	CHECK_EQ(bytes, 0);
}

/* The reap, twice a round untouched, leaves no slab that holds nothing. */
static void test_reap(void)
{
	static void *at[3000];
	struct kmem_cache *s = &general[8];

	for (int i = 0; i < 3000; i++)
		at[i] = kmalloc(250, GFP_KERNEL);
	CHECK_EQ(info_of(s).active_objs >= 3000, 1);
	check_accounts();
	for (int i = 0; i < 3000; i++)
		kfree(at[i]);
	for (int round = 0; round < 4; round++)
		mock_work(NULL);
	CHECK_EQ(info_of(s).num_slabs, 0);
	check_accounts();
}

/* Of memory that is about to go nothing is kept in free slabs; of what has come nothing is wanted, but that it is within reach. */
static void test_hot_plug(void)
{
	static void *at[3000];
	struct kmem_cache *s = &general[9];

	for (int i = 0; i < 3000; i++)
		at[i] = kmalloc(500, GFP_KERNEL);
	for (int i = 0; i < 3000; i++)
		kfree(at[i]);
	CHECK_EQ(mock_memory_changes(NULL, MEM_ONLINE, NULL), NOTIFY_OK);
	CHECK(info_of(s).num_slabs != 0);
	CHECK_EQ(mock_memory_changes(NULL, MEM_GOING_OFFLINE, NULL), NOTIFY_OK);
	CHECK_EQ(info_of(s).num_slabs, 0);
	CHECK_EQ(mock_memory_changes(NULL, MEM_GOING_ONLINE, &(struct memory_notify){ (1ul << 31) - 17, 16 }), NOTIFY_OK);
	CHECK_EQ(mock_memory_changes(NULL, MEM_GOING_ONLINE, &(struct memory_notify){ (1ul << 31) - 17, 17 }), NOTIFY_BAD);
	check_accounts();
}

static void test_tunables(void)
{
	static void *at[500];
	static const char *const bad[] = { "kmalloc-256", "kmalloc-256 0 1 8", "kmalloc-256 8 9 8", "kmalloc-256 9999 1 8",
					   "nobody 4 2 8", "kmalloc-256 4 2 -1" };
	struct kmem_cache *s = &general[8];
	loff_t where = 0;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK_EQ(slabinfo_write(NULL, bad[i], strlen(bad[i]), &where), -EINVAL);
	for (int i = 0; i < 500; i++)
		at[i] = kmalloc(256, GFP_KERNEL);
	CHECK_EQ(slabinfo_write(NULL, "kmalloc-256 6 3 8\n", 18, &where), 18);
	CHECK_EQ(info_of(s).limit, 6);
	CHECK_EQ(info_of(s).batchcount, 3);
	for (int i = 0; i < 500; i++)
		kfree(at[i]);
	CHECK_EQ(slabinfo_write(NULL, "kmalloc-256 16 16 8\n", 20, &where), 20);
	CHECK_EQ(info_of(s).limit, 16);
}

/* Interrupts off, and no page at once: NULL, and all goes on. */
static void test_no_memory(void)
{
	static void *at[4096];
	unsigned int got = 0;
	unsigned long flags;

	local_irq_save(flags);
	mock_no_pages = true;
	while (got < ARRAY_SIZE(at) && (at[got] = kmalloc(4000, GFP_ATOMIC)) != NULL)
		got++;
	CHECK(got < ARRAY_SIZE(at));
	mock_no_pages = false;
	while (got > 0)
		kfree(at[--got]);
	local_irq_restore(flags);
	at[0] = kmalloc(4000, GFP_KERNEL);
	CHECK(at[0] != NULL);
	kfree(at[0]);
	check_accounts();
}

/* To make a cache, and to let a processor run, may wait for memory. To free does not ask for any but what is at hand. */
static void test_short_of_memory(void)
{
	static struct kmem_cache *made[40];
	static void *at[ARRAY_SIZE(made)][200];

	mock_no_pages = true;
	for (size_t i = 0; i < ARRAY_SIZE(made); i++)
		made[i] = kmem_cache_create("made", 40 + 8 * (unsigned int)i, 0, 0, NULL);
	mock_no_pages = false;
	for (size_t i = 0; i < ARRAY_SIZE(made); i++)
		CHECK_EQ(kmem_cache_alloc_bulk(made[i], GFP_KERNEL, ARRAY_SIZE(at[i]), at[i]), (int)ARRAY_SIZE(at[i]));
	mock_no_waking = true;
	for (size_t i = 0; i < ARRAY_SIZE(made); i++)
		for (size_t j = 0; j < ARRAY_SIZE(at[i]); j++)
			kmem_cache_free(made[i], at[i][j]);
	mock_no_waking = false;
	for (size_t i = 0; i < ARRAY_SIZE(made); i++)
		kmem_cache_destroy(made[i]);
}

/* What must not fail waits until there are pages; other wishes of an object are none of its pages. waits: for several pages. */
static void wish(unsigned int size, bool waits)
{
	struct kmem_cache *s = kmem_cache_create("wishes", size, 0, SLAB_RECLAIM_ACCOUNT, NULL);
	void *object;

	CHECK(s->dry->order > 1);
	mock_fails = 10;
	CHECK(kmem_cache_alloc(s, GFP_KERNEL) == NULL);
	mock_fails = 10;
	mock_waits = 0;
	object = kmem_cache_alloc(s, GFP_KERNEL | __GFP_NOFAIL | __GFP_MOVABLE);
	CHECK(object != NULL && (mock_fails == 0) == waits && (mock_waits != 0) == waits);
	mock_fails = 0;
	kmem_cache_free(s, object);
	kmem_cache_destroy(s);
}

static void test_wishes(void)
{
	wish(5000, true);
	wish(3000, false); /* one page will do, which the kernel promises */
}

/* Each object has one owner, also where handlers of interrupts come into the sequences of others. */
static struct kmem_cache *shared_with_handler;
static void *of_handler[40];
static unsigned int handled;

static void own(void *object, const void *owner)
{
	CHECK(object != NULL);
	memset(object, 0, 64);
	memcpy(object, &owner, sizeof(owner));
}

static void disown(void *object, const void *owner)
{
	CHECK(memcmp(object, &owner, sizeof(owner)) == 0);
	memset(object, 0, 64);
	kmem_cache_free(shared_with_handler, object);
}

static void handler(void)
{
	void **at = &of_handler[handled++ % ARRAY_SIZE(of_handler)];

	if (*at != NULL)
		disown(*at, at);
	*at = NULL;
	if (handled % 3 != 0)
		own(*at = kmem_cache_alloc(shared_with_handler, GFP_ATOMIC), at);
}

static void test_interrupted(void)
{
	static void *at[300];

	shared_with_handler = kmem_cache_create("interrupted", 64, 0, 0, NULL);
	mock_handler = handler;
	for (unsigned int round = 0; round < 100; round++) {
		for (unsigned int i = 0; i < ARRAY_SIZE(at); i++)
			own(at[i] = kmem_cache_alloc(shared_with_handler, GFP_KERNEL), at + i);
		for (unsigned int i = 0; i < ARRAY_SIZE(at); i++)
			disown(at[i], at + i);
		if (round % 10 == 0)
			mock_work(NULL); /* stops slots, and waits for the sequences */
	}
	mock_handler = NULL;
	CHECK(handled > 1000);
	for (unsigned int i = 0; i < ARRAY_SIZE(of_handler); i++)
		if (of_handler[i] != NULL)
			disown(of_handler[i], &of_handler[i]);
	kmem_cache_destroy(shared_with_handler); /* tells what is missing */
	check_accounts();
}

/* Objects that are asked for on a node lie there, wherever the caller runs, and go back to it. */
static void test_nodes(void)
{
	static void *at[300];
	struct kmem_cache *s = kmem_cache_create("nodes", 200, 0, 0, NULL);

	for (unsigned int node = 0; node < nr_node_ids; node++) {
		for (int i = 0; i < 300; i++) {
			at[i] = kmem_cache_alloc_node(s, GFP_KERNEL, (int)node);
			CHECK(at[i] != NULL);
			CHECK_EQ(slab_nid(virt_to_slab(at[i])), (int)node);
		}
		kmem_cache_free_bulk(s, 300, at);
		CHECK_EQ(kmem_cache_shrink(s), 0);
	}
	kmem_cache_destroy(s);
}

/*
 * Objects that are asked for on a node without memory, or with none left, share slabs elsewhere, whether from arrays or not; who
 * wants that node's alone gets none, also where others have some that are free.
 */
static void test_used_up(bool memoryless, unsigned int size)
{
	static void *at[600];
	struct kmem_cache *s = kmem_cache_create("used up", size, 0, 0, NULL);

	mock_used_up = 1;
	mock_memoryless = memoryless;
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
			at[i] = kmem_cache_alloc_node(s, GFP_KERNEL, round == 0 ? 1 : NUMA_NO_NODE);
			CHECK(at[i] != NULL);
			CHECK_EQ(slab_nid(virt_to_slab(at[i])), 0);
		}
		CHECK(bytes_of(s) < 3 * ARRAY_SIZE(at) * size);
		kmem_cache_free_bulk(s, ARRAY_SIZE(at) / 2, at);
		if (!memoryless)
			CHECK(kmem_cache_alloc_node(s, GFP_KERNEL | __GFP_THISNODE, 1) == NULL);
		kmem_cache_free_bulk(s, ARRAY_SIZE(at) / 2, at + ARRAY_SIZE(at) / 2);
		kmem_cache_shrink(s);
	}
	mock_used_up = -1;
	mock_memoryless = false;
	kmem_cache_destroy(s);
}

/* What is freed twice is told by the slab, at the latest when arrays and depots are emptied; what is kept is right. */
static void test_double_free(void)
{
	struct kmem_cache *s = kmem_cache_create("double", 100, 0, 0, NULL);
	void *object = kmem_cache_alloc(s, GFP_KERNEL), *other = kmem_cache_alloc(s, GFP_KERNEL);
	unsigned int before = mock_reports;

	kmem_cache_free(s, object);
	kmem_cache_shrink(s);
	kmem_cache_free(s, object);
	kmem_cache_shrink(s);
	CHECK(mock_reports > before);
	CHECK(strstr(mock_text, "double free") != NULL);
	kmem_cache_free(s, other);
	kmem_cache_destroy(s);
}

/* Each kind of damage is told once, and outlived. */
static void test_damage(void)
{
	unsigned int before = mock_reports;

	dry_damage(letters != NULL);
	CHECK_EQ(mock_reports, before + (letters != NULL ? 8 : 4));
	CHECK(strstr(mock_text, "caches sound") != NULL);
}

/* The boot test again, with samples: they come from anywhere, and none is left. Their memory may be written up to their end. */
static void test_samples(void)
{
	struct kmem_cache *s = kmem_cache_create("samples", 104, 8, 0, NULL);
	void *at[20];

	mock_sampling = true;
	mock_initcall_drystone_test();
	CHECK(strstr(mock_text, " 0 failed") != NULL);
	CHECK(mock_samples > 1000);
	for (int round = 0; round < 10; round++) {
		CHECK_EQ(kmem_cache_alloc_bulk(s, GFP_KERNEL | __GFP_ZERO, 20, at), 20);
		for (int i = 0; i < 20; i++) {
			CHECK(memchr_inv(at[i], 0, 104) == NULL);
			CHECK(nearest_obj(s, virt_to_slab(at[i]), (char *)at[i] + 103) == at[i]);
			CHECK_EQ(objs_per_slab(s, virt_to_slab(at[i])), is_kfence_address(at[i]) ? 1 : s->num_single);
			CHECK(!is_kfence_address(at[i]) || obj_to_index(s, virt_to_slab(at[i]), at[i]) == 0);
			memset(at[i], i, 104);
		}
		kmem_cache_free_bulk(s, 20, at);
	}
	mock_sampling = false;
	CHECK_EQ(mock_samples_out, 0);
	kmem_cache_destroy(s);
}

/* Every address of a slab is of one of its objects, as far as who counts charges by objects is concerned. */
static void test_index(void)
{
	struct kmem_cache *s = kmem_cache_create("index", 600, 0, 0, NULL);
	static char *at[200];

	CHECK_EQ(kmem_cache_alloc_bulk(s, GFP_KERNEL, ARRAY_SIZE(at), (void **)at), (int)ARRAY_SIZE(at));
	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		struct slab *slab = virt_to_slab(at[i]);
		char *start = slab_address(slab);

		CHECK(nearest_obj(s, slab, at[i] + 599) == at[i]);
		for (size_t offset = 0; offset < PAGE_SIZE << s->dry->order; offset += 40)
			CHECK(obj_to_index(s, slab, start + offset) < s->num);
	}
	kmem_cache_free_bulk(s, ARRAY_SIZE(at), (void **)at);
	kmem_cache_destroy(s);
}

/* Objects of big alignment, each its own also where red zones are before them. */
static void test_big_alignment(void)
{
	for (unsigned int align = 4096; align <= 131072; align *= 2) {
		struct kmem_cache *s = kmem_cache_create("big alignment", align, align, 0, NULL);
		void *at[6];

		for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
			at[i] = kmem_cache_alloc(s, GFP_KERNEL);
			CHECK(at[i] != NULL && IS_ALIGNED((unsigned long)at[i], align));
			CHECK(virt_to_slab(at[i])->slab_cache == s && nearest_obj(s, virt_to_slab(at[i]), at[i]) == at[i]);
			memset(at[i], (int)i, align);
		}
		for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
			CHECK(memchr_inv(at[i], (int)i, align) == NULL);
			kmem_cache_free(s, at[i]);
		}
		kmem_cache_destroy(s);
	}
	check_accounts();
}

/* Caches that no letter is for have arrays, and are as they would be; the others have what their letters say. */
static void test_letters(void)
{
	static const struct {
		const char *letters, *name;
		slab_flags_t flags;
		bool constructed;
		slab_flags_t own; /* what the cache is created with */
	} cases[] = {
		{ "FZPU", "any", SLAB_CONSISTENCY_CHECKS | SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER, false, 0 },
		{ "FZPU", "any", SLAB_CONSISTENCY_CHECKS | SLAB_RED_ZONE | SLAB_STORE_USER, true, 0 },
		{ "FZPU", "any", SLAB_NO_USER_FLAGS, false, SLAB_NO_USER_FLAGS },
		{ "FZPU", "any", SLAB_CONSISTENCY_CHECKS | SLAB_RED_ZONE | SLAB_POISON | SLAB_NOLEAKTRACE, false,
		  SLAB_NOLEAKTRACE },
		{ SOME, "drystone-other", SLAB_RED_ZONE | SLAB_POISON, false, 0 },
		{ SOME, "drystone-other", SLAB_RED_ZONE, true, 0 },
		{ SOME, "drystone-first", SLAB_RED_ZONE | SLAB_POISON, false, 0 },
		{ SOME, "kmalloc-x", SLAB_RED_ZONE, false, 0 },
		{ SOME, "kmalloc", SLAB_TRACE, false, 0 },
		{ SOME, "drystone", 0, false, 0 },
		{ SOME, "nobody", 0, false, 0 },
	};

	unsigned int tried = 0;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (strcmp(letters, cases[i].letters) != 0)
			continue;
		tried++;
		struct kmem_cache *s = kmem_cache_create(cases[i].name, 40, 0, cases[i].own, cases[i].constructed ? zero_40 : NULL);
		CHECK_EQ(s->flags, cases[i].flags);
		CHECK_EQ(s->place == 0, cases[i].flags != cases[i].own);
		CHECK_EQ(s->size == 40, (cases[i].flags & (SLAB_RED_ZONE | SLAB_STORE_USER)) == 0);
		kmem_cache_destroy(s);
	}
	CHECK(tried != 0);
}

/* The nodes' number is the argument, each of as much memory, and what slab_debug= says. */
int main(int argc, char **argv)
{
	nr_node_ids = argc > 1 ? (unsigned int)atoi(argv[1]) : 1;
	letters = argc > 2 ? argv[2] : NULL;
	mock_total = max_pfn * nr_node_ids; /* with two there are depots */
	if (letters != NULL)
		mock_setup_set_up(letters);
	mock_boot();
	CHECK_EQ(slab_state, FULL);
	mock_no_pages = true;
	slab_prepare_cpu(2);
	mock_no_pages = false;
	CHECK(dry_kernel_caches->areas[2] != dry_stopped_area);
	CHECK_EQ(page_to_nid(virt_to_page(dry_kernel_caches->areas[2])), cpu_to_node(2));
	mock_core_initcall_watch_memory();
	mock_initcall_start_reap();
	mock_initcall_drystone_test();
	CHECK(strstr(mock_text, " 0 failed") != NULL);
	CHECK_EQ(mock_reports, 0);
	check_accounts();
	test_reap();
	test_hot_plug();
	if (letters == NULL) /* debugged caches have no arrays */
		test_tunables();
	else
		test_letters();
	test_no_memory();
	test_short_of_memory();
	test_wishes();
	if (letters == NULL)
		test_pieces();
	else
		test_behind();
	test_grows(letters == NULL);
	test_orders();
	test_interrupted();
	test_nodes();
	for (int memoryless = 0; memoryless < 2 && nr_node_ids > 1 && letters == NULL; memoryless++) {
		test_used_up(memoryless, 200);
		test_used_up(memoryless, 8); /* of which a slab has more than an array */
	}
	test_index();
	test_big_alignment();
	test_double_free();
	test_damage();
	if (nr_node_ids == 1) /* a sample may be of another node than was asked for */
		test_samples();
	for (int round = 0; round < 4; round++)
		mock_work(NULL);
	check_accounts();
	return 0;
}

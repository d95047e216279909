// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Caches: made, shrunk, destroyed; how the set of them comes up, and what is done from time to time. */
#include <linux/cpu.h>
#include <linux/init.h>
#include <linux/kasan.h>
#include <linux/memblock.h>
#include <linux/memory.h>
#include <linux/topology.h>
#include <linux/workqueue.h>

#include "base/error.h"
#include "core/batch.h"
#include "core/create.h"
#include "core/reap.h"
#include "core/slots.h"
#include "core/walk.h"
#include "slab/caches.h"
#include "slab/letters.h"

/* What nobody touched for one to two of them goes back to slabs, and what is free then after one more. */
#define REAP_PERIOD HZ

struct dry_caches *dry_kernel_caches;

/* ---- one cache ---- */

static void construct(void *object, void *s)
{
	((struct kmem_cache *)s)->ctor(object);
}

/* Objects of a per-CPU array: up to 32 KiB of kmalloc()'s, which many use, or 16 of them, and up to 16 KiB of others. */
static unsigned int limit_of(size_t size, bool general)
{
	return general ? clamp_t(size_t, SZ_32K / size, size <= SZ_4K ? 16 : 8, 120) : clamp_t(size_t, SZ_16K / size, 8, 60);
}

/*
 * Where a page has more of the smallest objects than a slab's descriptor counts, it has 4096: 6.1 with pages of 64 KiB. There
 * ksize() is the object's size; in 6.12 that of its place, so that nothing must be left behind an object of kmalloc()'s.
 */
static size_t align_of(const struct kmem_cache *s)
{
	return PAGE_SIZE / 8 > DRY_ACTIVE_MAX ? max_t(size_t, s->align, PAGE_SIZE / 4096) : s->align;
}

static gfp_t page_gfp_of(slab_flags_t flags)
{
	gfp_t gfp = flags & SLAB_RECLAIM_ACCOUNT ? __GFP_RECLAIMABLE : 0;

	if (flags & SLAB_CACHE_DMA)
		gfp |= GFP_DMA;
	if (flags & SLAB_CACHE_DMA32)
		gfp |= GFP_DMA32;
	return gfp;
}

int dry_kernel_create(struct kmem_cache *s, slab_flags_t flags)
{
	unsigned int size = IS_ENABLED(CONFIG_KASAN) ? ALIGN(s->size, sizeof(void *)) : s->size;
	struct dry_cache_attr attr = {
		.name = s->name,
		.align = align_of(s),
		.flags = DRY_CACHE_NO_MERGE | (flags & SLAB_TYPESAFE_BY_RCU ? DRY_CACHE_TYPESAFE_BY_RCU : 0),
		.ctor = s->ctor ? construct : NULL,
		.arg = s,
		.limit = limit_of(s->size, flags & SLAB_KMALLOC),
	};
	int error;

	s->flags = flags; /* by which core is told what is wanted of a debugged cache */
	kasan_cache_create(s, &size, &s->flags); /* what it knows of an object it keeps behind it */
	attr.size = size;
	s->page_gfp = page_gfp_of(flags);
	do
		s->dry = dry_cache_make(dry_kernel_caches, &attr, &error);
	while (s->dry == NULL && error == DRY_ENOMEM &&
	       dry_kernel_meta_provide(dry_cache_struct_bytes(dry_kernel_caches), NUMA_NO_NODE));
	if (s->dry == NULL)
		return -error;
	dry_letters_made(s);
	s->size = s->dry->size;
	s->num = s->dry->num;
	s->num_single = s->dry->num_single;
	s->place = s->dry->place;
	s->reciprocal = reciprocal_value(s->size);
	return 0;
}

/* 0, or -EBUSY: objects are out, and the cache lives on. */
int __kmem_cache_shutdown(struct kmem_cache *s)
{
	int error = dry_cache_unmake(s->dry);

	if (error == 0)
		s->place = 0;
	return error;
}

/* 0: no slab is left. */
int __kmem_cache_shrink(struct kmem_cache *s)
{
	size_t freed;

	dry_cache_empty(s->dry, &freed);
	return dry_node_slabs(s->dry) != 0;
}

bool __kmem_cache_empty(struct kmem_cache *s)
{
	return __kmem_cache_shrink(s) == 0;
}

/* ---- all of them ---- */

/* More nodes than core has room for are one. */
static unsigned int nodes_of_world(void)
{
	return nr_node_ids <= DRY_MAX_NODES ? nr_node_ids : 1;
}

/*
 * A two-thousandth of memory, so that arrays do not stand for much of it on small machines, whose caches are few. Below 64 KiB core
 * has no depots: one processor has nobody to share objects with, and on a machine of up to 128 MB what they hold keeps slabs.
 */
static size_t __init area_bytes(void)
{
	if (num_possible_cpus() == 1)
		return SZ_64K - min_t(size_t, PAGE_SIZE, SZ_32K);
	return clamp_t(size_t, PAGE_ALIGN(totalram_pages() * (PAGE_SIZE / 2048)), SZ_32K, CONFIG_DRYSTONE_AREA_KB * SZ_1K);
}

/* Slabs have names of 32 bits, twice the number after their first page's (backing_impl.h): up to 8 TiB, with pages of 4 KiB. */
static bool has_name(unsigned long end_pfn)
{
	return end_pfn <= U32_MAX >> 1;
}

void __init kmem_cache_init(void)
{
	static struct kmem_cache cache_of_caches;
	struct dry_caches *caches = dry_backing_meta_alloc(NULL, struct_size(caches, slots, nr_cpu_ids + 1));
	unsigned int cpu;

	if (!has_name(max_pfn))
		panic("drystone: there is memory beyond its reach");
	if (caches == NULL)
		panic("drystone: no memory for its caches");
	dry_fatal_aborts = false; /* what can go on does, after a report */
	dry_kernel_caches = caches;
	caches->backing.nodes = nodes_of_world();
	caches->grace = &dry_kernel_grace;
	caches->hooks = dry_letters_hooks();
	if (!dry_caches_init(caches, nr_cpu_ids, caches->backing.nodes, area_bytes(), false))
		panic("drystone: no memory for its slots");
	for_each_possible_cpu(cpu)
		per_cpu(dry_percpu_area, cpu) = dry_stopped_area;
	dry_slot_open_locked(caches, smp_processor_id());

	kmem_cache = &cache_of_caches;
	create_boot_cache(kmem_cache, "kmem_cache", sizeof(struct kmem_cache), SLAB_HWCACHE_ALIGN, 0, 0);
	list_add(&kmem_cache->list, &slab_caches);
	slab_state = PARTIAL;
	setup_kmalloc_cache_index_table();
	dry_kmalloc_caches();
}

void __init kmem_cache_init_late(void)
{
	slab_state = FULL;
}

/* One that does not run any more is not forgotten: its arrays are not touched, so the next rounds of the reap empty them. */
void dry_kernel_prepare_cpu(unsigned int cpu)
{
	if (READ_ONCE(dry_kernel_caches->areas[cpu]) == dry_stopped_area)
		dry_kernel_meta_provide(dry_kernel_caches->area_size, cpu_to_node(cpu));
	dry_lock_acquire(&dry_kernel_caches->lock);
	dry_slot_open_locked(dry_kernel_caches, cpu);
	dry_lock_release(&dry_kernel_caches->lock);
}

static void reap(struct work_struct *work);
static DECLARE_DEFERRABLE_WORK(reap_work, reap);

static void reap(struct work_struct *work)
{
	dry_caches_reap(dry_kernel_caches, DRY_REAP_IDLE);
	schedule_delayed_work(&reap_work, REAP_PERIOD);
}

/*
 * Memory of a node is about to go: what of it is in free slabs is to go first. What comes needs nothing, for every node that can
 * be has its structures; but it must be within reach.
 */
static int memory_changes(struct notifier_block *unused, unsigned long what, void *block)
{
	const struct memory_notify *memory = block;

	if (what == MEM_GOING_OFFLINE)
		dry_caches_reap(dry_kernel_caches, DRY_REAP_ALL);
	return what == MEM_GOING_ONLINE && !has_name(memory->start_pfn + memory->nr_pages) ? NOTIFY_BAD : NOTIFY_OK;
}

/* Before anybody can bring memory. */
static int __init watch_memory(void)
{
	hotplug_memory_notifier(memory_changes, SLAB_CALLBACK_PRI);
	return 0;
}
core_initcall(watch_memory);

static int __init start_reap(void)
{
	schedule_delayed_work(&reap_work, REAP_PERIOD);
	return 0;
}
late_initcall(start_reap);

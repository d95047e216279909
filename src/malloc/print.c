/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "malloc/print.h"

#include <stddef.h>

#include "base/fatal.h"
#include "base/fmt.h"
#include "heap/heap.h"

static void to_stderr(void *arg, const char *text, size_t bytes)
{
	(void)arg;
	dry_port_write(text, bytes);
}

void dry_print_stats(void)
{
	struct dry_heap_stats stats;
	char line[192];
	uint64_t hundredths;

	dry_heap_slabinfo(NULL, to_stderr, NULL);
	if (dry_heap_stats(NULL, &stats) != 0)
		return;
	hundredths = stats.allocs != 0 ? (stats.allocs - stats.slow_allocs) * 10000 / stats.allocs : 10000;
	size_t length = dry_format(line, sizeof(line), "# drystone: allocs %lu slow_allocs %lu slow_frees %lu hits %lu.%02lu%%\n",
				   (unsigned long)stats.allocs, (unsigned long)stats.slow_allocs,
				   (unsigned long)stats.slow_frees, (unsigned long)(hundredths / 100),
				   (unsigned long)(hundredths % 100));
	dry_port_write(line, length);
}

void dry_print_leaks(void)
{
	size_t objects, bytes;

	dry_heap_owners(NULL, NULL, NULL, &objects, &bytes);
	if (objects == 0)
		return;
	dry_warn("%zu objects, %zu bytes still allocated at exit", objects, bytes);
	dry_heap_owners(NULL, to_stderr, NULL, NULL, NULL);
}

struct slabs {
	size_t page, idle;
};

static int add_cache(dry_cache *cache, void *arg)
{
	struct slabs *slabs = arg;
	struct dry_cache_stats s;
	size_t all, active;

	if (cache->root != cache || dry_cache_stats(cache, &s) != 0)
		return 0;
	all = s.slabs * s.pages_per_slab * slabs->page;
	active = s.active_objects * s.slot_size;
	slabs->idle += all > active ? all - active : 0;
	return 0;
}

void dry_idle_and_guarded(size_t *idle, size_t *guarded)
{
	struct slabs slabs = { .page = (size_t)1 << dry_heap_arena(&dry_main_heap)->page_shift };

	dry_heap_for_each_cache(NULL, add_cache, &slabs);
	*idle = slabs.idle;
	*guarded = atomic_load_explicit(&dry_main_heap.guarded, memory_order_relaxed);
}

// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* What debugging (src/debug) asks of a port in Linux, and what it tells of an object after the line of a report. */
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/stackdepot.h>
#include <linux/stacktrace.h>

#include "core/slab.h"
#include "debug/object.h"
#include "debug/stacks.h"
#include "port/guard.h"
#include "port/stack.h"
#include "slab/caches.h"

#define ROW    16 /* bytes in a line of a dump */
#define FRAMES 16
#define OURS   3  /* of them, frames of the allocator's */

/* ---- who, when ---- */

uint64_t dry_port_clock_ms(void)
{
	return jiffies_to_msecs(jiffies);
}

uint32_t dry_port_thread(void)
{
	return current->pid;
}

uint64_t dry_port_random(void)
{
	return get_random_u64() | 1;
}

uint32_t dry_stack_save(void)
{
#ifdef CONFIG_STACKDEPOT
	unsigned long frames[FRAMES];
	unsigned int count = stack_trace_save(frames, FRAMES, OURS);

	/* The caller may have forbidden to wake kswapd, whose locks it has. */
	return stack_depot_save(frames, count, __GFP_NOWARN);
#else
	return 0;
#endif
}

static void tell_stack(uint32_t stack)
{
#ifdef CONFIG_STACKDEPOT
	if (stack != 0)
		stack_depot_print(stack);
#endif
}

/* ---- reports ---- */

static const char *state_of(const struct dry_record *owner)
{
	uint32_t state = atomic_load_explicit(&owner->state, memory_order_relaxed);

	return state == DRY_OBJECT_LIVE ? "in use" : state == DRY_OBJECT_FREE ? "free" : "in an unknown state";
}

static void tell_track(const char *what, const struct dry_track *track)
{
	u32 age = (u32)dry_port_clock_ms() - track->when;

	if (track->when == 0)
		return;
	pr_alert("drystone-object: %s %u ms ago by process %u\n", what, (int)age < 0 ? 0 : age, track->thread);
	tell_stack(track->stack);
}

static void tell_object(const struct dry_cache *cache, const char *object, const char *address)
{
	const struct dry_record *owner = dry_record_of(cache, object);
	const char *slot = object - cache->before, *from = max_t(const char *, slot, PTR_ALIGN_DOWN(address, ROW) - ROW);

	pr_alert("drystone-object: %px of cache %s, %zu bytes, %s; the address is at offset %td; from %px on:\n", object,
		 cache->name, cache->object_size, owner != NULL ? state_of(owner) : "without owner", address - object, from);
	print_hex_dump(KERN_ALERT, "drystone-object: ", DUMP_PREFIX_NONE, ROW, 1, from,
		       min_t(size_t, 3 * ROW, slot + cache->size - from), true);
	if (owner == NULL || !(cache->flags & DRY_CACHE_STORE_USER))
		return;
	tell_track("allocated", &owner->allocated);
	tell_track("freed", &owner->freed);
}

static void explain(const void *address)
{
	struct slab *slab = virt_addr_valid(address) ? virt_to_slab(address) : NULL;
	const struct dry_cache *cache = slab != NULL ? dry_backing_cache_of(slab) : NULL;
	const char *first;
	size_t index;

	if (cache == NULL || cache->debug == NULL)
		return;
	first = (const char *)slab_address(slab) + slab->first - cache->before;
	index = ((const char *)address - first) / cache->size;
	if ((const char *)address >= first && index < dry_slab_num(cache, slab))
		tell_object(cache, first + index * cache->size + cache->before, address);
}

/* Without a lock: who reports may hold any. So consoles print later (port/text.c). */
void dry_debug_explain(enum dry_fatal_code code, const void *address)
{
	unsigned long flags;

	local_irq_save(flags);
	printk_deferred_enter();
	explain(address);
	printk_deferred_exit();
	local_irq_restore(flags);
}

void dry_debug_trace(const struct dry_cache *cache, const char *what, const void *object, uint32_t stack)
{
	pr_info("drystone-trace: %s %s %px, process %u\n", cache->name, what, object, dry_port_thread());
	tell_stack(stack);
}

/* How many there are core has told; the kernel says what cache it could not destroy. */
void dry_owners_left_over(struct dry_cache *cache)
{
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What follows the first line of a report, in the form that kernel people know: what, which cache, the object
 * and its owners, its bytes, and who is calling.
 */
#include <string.h>

#include "base/fmt.h"
#include "core/slab.h"
#include "debug/object.h"
#include "debug/say.h"
#include "debug/stacks.h"
#include "heap/heap.h"
#include "port/stack.h"

#define ROW       16u  /* bytes in a line of the dump */
#define DUMP_HEAD 64u  /* of a long object, its first bytes and those around the damage */
#define PATIENCE  2000 /* yields that a report waits for another to end */

static atomic_flag busy = ATOMIC_FLAG_INIT;

struct place {
	struct dry_cache *cache;
	struct dry_slab *slab;
	unsigned char *object;
};

/*
 * The debugged object whose slot an address lies in. No lock: the process is about to end, and
 * may hold any.
 */
static bool find(const void *address, struct place *place)
{
	for (struct dry_heap *heap = dry_heaps; heap != NULL; heap = heap->next) {
		struct dry_slab *slab = dry_backing_find(&heap->caches.backing, address);
		if (slab == NULL || slab->cache->debug == NULL)
			continue;
		struct dry_cache *cache = slab->cache;
		uintptr_t first = (uintptr_t)dry_slab_objects(cache, slab) - cache->before;
		uintptr_t index = ((uintptr_t)address - first) / cache->size;
		if ((uintptr_t)address < first || index >= cache->num)
			return false;
		*place = (struct place){ cache, slab, (unsigned char *)first + index * cache->size + cache->before };
		return true;
	}
	return false;
}

static void say_track(const char *what, const struct dry_track *track)
{
	uint32_t age = (uint32_t)dry_port_clock_ms() - track->when;
	const uintptr_t *frame;
	unsigned count = dry_stack_frames(track->stack, &frame);

	if (track->when == 0)
		return;
	dry_debug_say("%s %u ms ago by thread %u", what, (int32_t)age < 0 ? 0 : age, track->thread);
	dry_debug_say_frames(frame, count);
}

/* Sixteen bytes from `at` that are not past `end`, in hexadecimal and as characters. */
static DRY_UNCHECKED DRY_NOINLINE void say_row(const char *name, const unsigned char *at, const unsigned char *end)
{
	char hex[ROW * 3 + 1], text[ROW + 1];
	unsigned n = (unsigned)((size_t)(end - at) < ROW ? (size_t)(end - at) : ROW);

	for (unsigned i = 0; i < n; i++) {
		dry_format(hex + (size_t)i * 3, 4, "%02x ", at[i]);
		text[i] = at[i] >= ' ' && at[i] <= '~' ? (char)at[i] : '.';
	}
	hex[n != 0 ? n * 3 - 1 : 0] = text[n] = '\0';
	dry_debug_say("%-8s %p: %-47s %s", name, (const void *)at, hex, text);
}

static void say_bytes(const struct place *place, const unsigned char *damage)
{
	const struct dry_cache *cache = place->cache;
	const unsigned char *object = place->object, *end = object + cache->object_size;
	uint32_t before = dry_zone_before(cache);

	for (const unsigned char *at = object - before; at < object; at += ROW)
		say_row("Redzone", at, object);
	for (const unsigned char *at = object; at < end; at += ROW)
		if ((size_t)(at - object) < DUMP_HEAD || (damage >= at && damage < at + ROW))
			say_row("Object", at, end);
	if (cache->flags & DRY_CACHE_RED_ZONE)
		for (const unsigned char *at = end; at < object + cache->record_at; at += ROW)
			say_row("Redzone", at, object + cache->record_at);
}

static const char *state_of(const struct dry_record *owner)
{
	switch (atomic_load_explicit(&owner->state, memory_order_relaxed)) {
	case DRY_OBJECT_LIVE:
		return "in use";
	case DRY_OBJECT_FREE:
		return "free";
	case DRY_OBJECT_KEPT:
		return "free, in quarantine";
	default:
		return "in an unknown state";
	}
}

static void say_object(const struct place *place, const unsigned char *address)
{
	const struct dry_cache *cache = place->cache;
	const struct dry_record *owner = dry_record_of(cache, place->object);
	long offset = (long)(address - place->object);
	bool known = owner != NULL && dry_record_is_whole(cache, owner);

	dry_debug_say("Slab %p objects=%u used=%u flags=0x%x", (void *)(dry_slab_objects(cache, place->slab) - cache->before),
	    cache->num, place->slab->active, cache->flags);
	if (known)
		dry_debug_say("Object %p, %u of %u bytes asked for, %s; the address is at offset %ld", (void *)place->object,
		    owner->asked, (unsigned)cache->object_size, state_of(owner), offset);
	else
		dry_debug_say("Object %p, %u bytes; the address is at offset %ld", (void *)place->object,
		    (unsigned)cache->object_size, offset);
	if (known && cache->flags & DRY_CACHE_STORE_USER) {
		say_track("Allocated", &owner->allocated);
		say_track("Freed", &owner->freed);
	}
	say_bytes(place, address);
}

void dry_debug_explain(enum dry_fatal_code code, const void *address)
{
	static const char line[] = "-----------------------------------------------------------------------------";
	static const char thick[] = "=============================================================================";
	struct place place;

	/* Reports of several threads one after the other, but none waits for one that does not end. */
	for (unsigned i = 0; i < PATIENCE && atomic_flag_test_and_set_explicit(&busy, memory_order_acquire); i++)
		dry_port_yield();
	dry_debug_say("%s", thick);
	if (address != NULL && find(address, &place)) {
		dry_debug_say("BUG %s: %s", place.cache->name, dry_fatal_text(code));
		dry_debug_say("%s", line);
		say_object(&place, address);
	} else {
		dry_debug_say("BUG: %s", dry_fatal_text(code));
		dry_debug_say("%s", line);
	}
	dry_debug_say("Call trace, thread %u:", dry_port_thread());
	dry_debug_say_stack();
	dry_debug_say("%s", thick);
	atomic_flag_clear_explicit(&busy, memory_order_release);
}

void dry_debug_trace(const struct dry_cache *cache, const char *what, const void *object, uint32_t stack)
{
	char text[160] = "unknown";
	const uintptr_t *frame;

	if (dry_stack_frames(stack, &frame) != 0)
		dry_port_symbol(frame[0], text, sizeof(text));
	dry_warn("trace: %s %s %p, thread %u, %s", cache->name, what, object, dry_port_thread(), text);
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Live objects by the stack that allocated them, as the kernel's alloc_traces has it: all slabs of a debugged cache
 * are on its nodes' lists, the full ones too.
 */
#include "base/fmt.h"
#include "core/slab.h"
#include "debug/object.h"
#include "debug/say.h"
#include "debug/stacks.h"
#include "heap/heap.h"

static atomic_flag listing = ATOMIC_FLAG_INIT; /* the stacks have one set of counts */

struct listing {
	dry_port_writer *write;
	void *arg;
	size_t objects, bytes;
	size_t unknown, unknown_bytes; /* of them, those whose stack is not known */
};

static void count_slab(struct listing *list, const struct dry_cache *cache, const struct dry_slab *slab)
{
	for (uint32_t i = 0; i < cache->num; i++) {
		const void *object = dry_slab_objects(cache, slab) + (size_t)i * cache->size;
		const struct dry_record *owner = dry_record_of(cache, object);
		const uintptr_t *frame;
		if (atomic_load_explicit(&owner->state, memory_order_relaxed) != DRY_OBJECT_LIVE)
			continue;
		list->objects++;
		list->bytes += owner->asked;
		if (dry_stack_frames(owner->allocated.stack, &frame) != 0) {
			dry_stack_count(owner->allocated.stack, owner->asked);
		} else {
			list->unknown++;
			list->unknown_bytes += owner->asked;
		}
	}
}

static void count_cache(struct listing *list, struct dry_cache *cache)
{
	const struct dry_backing *backing = &cache->caches->backing;

	for (uint32_t n = 0; n < cache->caches->nodes; n++) {
		struct dry_node *node = &cache->node[n];
		dry_lock_acquire(&node->lock);
		for (unsigned i = 0; i < DRY_LISTS; i++)
			for (dry_slab_ref at = node->list[i]; at != DRY_SLAB_NIL; at = dry_backing_deref(backing, at)->next)
				count_slab(list, cache, dry_backing_deref(backing, at));
		dry_lock_release(&node->lock);
	}
}

static void put_line(struct listing *list, size_t objects, size_t bytes, const char *where)
{
	char line[128];
	size_t n = dry_format(line, sizeof(line), "%zu objects, %zu bytes allocated %s\n", objects, bytes, where);

	list->write(list->arg, line, n);
}

static void put_frames(struct listing *list, uint32_t stack)
{
	const uintptr_t *frame;
	unsigned count = dry_stack_frames(stack, &frame);

	dry_debug_put_frames(list->write, list->arg, frame, count);
}

static void put_stacks(struct listing *list)
{
	size_t objects, bytes;
	uint32_t stack;

	while (dry_stack_next(&stack, &objects, &bytes)) {
		if (list->write == NULL)
			continue;
		put_line(list, objects, bytes, "by");
		put_frames(list, stack);
	}
	if (list->write != NULL && list->unknown != 0)
		put_line(list, list->unknown, list->unknown_bytes, "where no stack was to be had");
}

static bool listed(const struct dry_cache *cache)
{
	return cache->root == cache && (cache->flags & DRY_CACHE_STORE_USER) && cache->record_at != 0;
}

static void begin(void)
{
	while (atomic_flag_test_and_set_explicit(&listing, memory_order_acquire))
		dry_port_yield();
}

static void end(void)
{
	atomic_flag_clear_explicit(&listing, memory_order_release);
}

void dry_owners_forked(void)
{
	if (atomic_flag_test_and_set_explicit(&listing, memory_order_acquire))
		dry_stack_forget_counts(); /* another thread was counting, or in the middle of a list */
	end();
}

void dry_owners_left_over(struct dry_cache *cache)
{
	struct listing list = { .write = dry_debug_write };

	if (!listed(cache))
		return;
	begin();
	count_cache(&list, cache);
	put_stacks(&list);
	end();
}

DRY_EXPORT void dry_heap_owners(dry_heap *heap, void (*write)(void *, const char *, size_t), void *arg, size_t *objects,
				size_t *bytes)
{
	struct listing list = { .write = write, .arg = arg };

	heap = dry_heap_get(heap);
	begin();
	if (heap != NULL) {
		dry_lock_acquire(&heap->caches.lock);
		for (struct dry_cache *cache = heap->caches.first; cache != NULL; cache = cache->next)
			if (listed(cache))
				count_cache(&list, cache);
		dry_lock_release(&heap->caches.lock);
	}
	put_stacks(&list);
	end();
	if (objects != NULL)
		*objects = list.objects;
	if (bytes != NULL)
		*bytes = list.bytes;
}

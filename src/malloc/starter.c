/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "malloc/starter.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "malloc/general.h"

#define LAID  1024u /* bytes: libc's table of a thread for 48 modules with thread-local data */
#define BELOW 4096u /* bytes of stack that a spared frame's calls take, at most */

static _Atomic uintptr_t spared; /* relaxed: written and read by one thread, to others it is no frame of theirs */
static void *_Atomic laid;       /* relaxed: that thread's, but in a child */

bool dry_starter_is_below(void)
{
	return atomic_load_explicit(&spared, memory_order_relaxed) - (uintptr_t)__builtin_frame_address(0) < BELOW;
}

void *dry_starter_take(size_t size, size_t align, bool zero)
{
	void *block;

	if (size > LAID || align > _Alignof(max_align_t))
		return NULL;
	block = atomic_exchange_explicit(&laid, NULL, memory_order_relaxed);
	if (block != NULL && zero)
		memset(block, 0, size);
	return block;
}

/* ---- a secondary allocator for as long, where there is none ---------------------------------- */

static void *allocate(size_t size, size_t align, bool zero)
{
	return dry_starter_is_below() ? dry_starter_take(size, align, zero) : NULL;
}

static void *last(size_t size, size_t align)
{
	(void)size;
	(void)align;
	return NULL;
}

static bool contains(const void *ptr)
{
	(void)ptr;
	return false;
}

static void *address(void *pointer)
{
	return pointer;
}

/* The rest is asked of what it contains. */
static const struct dry_secondary spares = { .allocate = allocate, .last = last, .contains = contains, .address = address,
					     .object = dry_heap_alloc_slow };

void dry_starter_begin(const void *frame)
{
	const struct dry_secondary *none = NULL;

	atomic_store_explicit(&spared, (uintptr_t)frame, memory_order_relaxed);
	atomic_store_explicit(&laid, dry_general_alloc(&dry_main_heap, LAID, 1, false), memory_order_relaxed);
	atomic_compare_exchange_strong_explicit(&dry_main_heap.secondary, &none, &spares, memory_order_relaxed,
						memory_order_relaxed);
}

/* What was laid by and not taken. */
static void *withdraw(void)
{
	const struct dry_secondary *ours = &spares;

	/* Another one may have come meanwhile. */
	atomic_compare_exchange_strong_explicit(&dry_main_heap.secondary, &ours, NULL, memory_order_relaxed, memory_order_relaxed);
	atomic_store_explicit(&spared, 0, memory_order_relaxed);
	return atomic_exchange_explicit(&laid, NULL, memory_order_relaxed);
}

void dry_starter_end(void)
{
	dry_general_free(&dry_main_heap, withdraw());
}

void dry_starter_forked(void)
{
	(void)withdraw(); /* its starter is not there; a free would be early here */
}

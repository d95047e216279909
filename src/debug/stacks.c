/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "debug/stacks.h"

#include <stdatomic.h>
#include <string.h>

#include "heap/heap.h"
#include "port/stack.h"

#define UNIT        8u
#define PIECE_BYTES ((size_t)64 << 10)
#define PIECE_UNITS (uint32_t)(PIECE_BYTES / UNIT)
#define PIECES      1024u /* 64 MiB of stacks */
#define BUCKETS     16384u

struct record {
	uint32_t next; /* number of the next record of the bucket; 0: the last */
	uint32_t hash : 24, count : 8; /* the latter: of frames */
	uint32_t objects, behind;      /* of a listing: what was counted, and the next record that has some; 0: the last */
	uint64_t bytes;
	uintptr_t frame[];
};
_Static_assert(sizeof(struct record) % UNIT == 0, "records stand side by side");
_Static_assert(DRY_STACK_FRAMES < 256, "a record has eight bits for their number");

static char *_Atomic buckets; /* heads of lists; made with the first stack: most programs save none */
static char *_Atomic piece[PIECES];
static _Atomic uint32_t used = 1; /* units; 0 is no stack's */

static struct record *record_of(uint32_t stack)
{
	/* acquire: pairs with make() */
	char *start = atomic_load_explicit(&piece[stack / PIECE_UNITS], memory_order_acquire);

	return (struct record *)(void *)(start + (size_t)(stack % PIECE_UNITS) * UNIT);
}

/* Cleared memory for as long as the process runs, made by who comes first. */
static bool make(char *_Atomic *where, size_t bytes)
{
	struct dry_heap *heap = dry_heap_get(NULL);
	char *expected = NULL, *start;

	if (atomic_load_explicit(where, memory_order_acquire) != NULL)
		return true;
	start = heap != NULL ? dry_backing_meta_alloc(&heap->caches.backing, bytes) : NULL;
	if (start == NULL)
		return false;
	/* release: who sees it sees it cleared */
	if (!atomic_compare_exchange_strong_explicit(where, &expected, start, memory_order_acq_rel, memory_order_acquire))
		dry_backing_meta_free(&heap->caches.backing, start, bytes);
	return true;
}

/* NULL: no stack was saved yet. */
static _Atomic uint32_t *bucket_of(uint32_t hash)
{
	/* acquire: pairs with make() */
	char *start = atomic_load_explicit(&buckets, memory_order_acquire);

	return start != NULL ? (_Atomic uint32_t *)(void *)start + hash % BUCKETS : NULL;
}

/* Room for a record within one piece; 0: none is left. */
static uint32_t reserve(uint32_t units)
{
	uint32_t at = atomic_load_explicit(&used, memory_order_relaxed), start;

	do {
		start = at;
		if (start % PIECE_UNITS + units > PIECE_UNITS)
			start = (start / PIECE_UNITS + 1) * PIECE_UNITS;
		if (start / PIECE_UNITS >= PIECES)
			return 0;
	} while (!atomic_compare_exchange_weak_explicit(&used, &at, start + units, memory_order_relaxed,
							memory_order_relaxed));
	return make(&piece[start / PIECE_UNITS], PIECE_BYTES) ? start : 0;
}

static uint32_t hash_of(const uintptr_t *frame, unsigned count)
{
	uint64_t hash = count;

	for (unsigned i = 0; i < count; i++) {
		hash = (hash ^ frame[i]) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	return (uint32_t)(hash >> 40);
}

static uint32_t look_up(uint32_t hash, const uintptr_t *frame, unsigned count)
{
	_Atomic uint32_t *bucket = bucket_of(hash);
	/* acquire: pairs with the release in dry_stack_save() */
	uint32_t stack = bucket != NULL ? atomic_load_explicit(bucket, memory_order_acquire) : 0;

	while (stack != 0) {
		const struct record *record = record_of(stack);
		if (record->hash == hash && record->count == count &&
		    memcmp(record->frame, frame, count * sizeof(frame[0])) == 0)
			break;
		stack = record->next;
	}
	return stack;
}

uint32_t dry_stack_save(void)
{
	uintptr_t frame[DRY_STACK_FRAMES];
	unsigned count = dry_port_stack(frame, DRY_STACK_FRAMES);
	uint32_t hash = hash_of(frame, count), stack = look_up(hash, frame, count);

	if (stack != 0 || count == 0 || !make(&buckets, BUCKETS * sizeof(_Atomic uint32_t)))
		return stack;
	stack = reserve((uint32_t)(sizeof(struct record) + count * sizeof(frame[0])) / UNIT);
	if (stack == 0)
		return 0;
	struct record *record = record_of(stack);
	_Atomic uint32_t *bucket = bucket_of(hash);
	record->hash = hash;
	record->count = count;
	memcpy(record->frame, frame, count * sizeof(frame[0]));
	record->next = atomic_load_explicit(bucket, memory_order_relaxed);
	/* release: who finds the record sees what is in it */
	while (!atomic_compare_exchange_weak_explicit(bucket, &record->next, stack, memory_order_release, memory_order_relaxed))
		;
	return stack;
}

/* Owners lie between objects, where a program may have written: any number can come. */
static struct record *checked(uint32_t stack)
{
	if (stack == 0 || stack % PIECE_UNITS + sizeof(struct record) / UNIT > PIECE_UNITS ||
	    stack >= atomic_load_explicit(&used, memory_order_relaxed) ||
	    atomic_load_explicit(&piece[stack / PIECE_UNITS], memory_order_relaxed) == NULL)
		return NULL;
	struct record *record = record_of(stack);
	if (record->count == 0 || record->count > DRY_STACK_FRAMES ||
	    stack % PIECE_UNITS + (sizeof(struct record) + record->count * sizeof(uintptr_t)) / UNIT > PIECE_UNITS)
		return NULL;
	return look_up(record->hash, record->frame, record->count) != 0 ? record : NULL;
}

unsigned dry_stack_frames(uint32_t stack, const uintptr_t **frames)
{
	const struct record *record = checked(stack);

	*frames = record != NULL ? record->frame : NULL;
	return record != NULL ? record->count : 0;
}

/* ---- a listing: one at a time ---- */

static uint32_t counted; /* the first record that has some; 0: none */
static bool in_order;

void dry_stack_count(uint32_t stack, size_t bytes)
{
	struct record *record = checked(stack);

	if (record == NULL)
		return;
	if (record->objects++ == 0) {
		record->behind = counted;
		counted = stack;
	}
	record->bytes += bytes;
	in_order = false;
}

static uint32_t merge(uint32_t one, uint32_t other)
{
	uint32_t first = 0, *end = &first;

	while (one != 0 && other != 0) {
		uint32_t *most = record_of(one)->bytes >= record_of(other)->bytes ? &one : &other;
		*end = *most;
		end = &record_of(*most)->behind;
		*most = *end;
	}
	*end = one != 0 ? one : other;
	return first;
}

/* Those with most bytes first: merged by twos, fours, eights... */
static uint32_t sort(uint32_t list)
{
	uint32_t part[32] = { 0 }, all = 0; /* part[i]: none, or 2^i of them */

	while (list != 0) {
		uint32_t one = list;
		unsigned i = 0;
		list = record_of(one)->behind;
		record_of(one)->behind = 0;
		for (; part[i] != 0; part[i++] = 0)
			one = merge(part[i], one);
		part[i] = one;
	}
	for (unsigned i = 0; i < sizeof(part) / sizeof(part[0]); i++)
		all = merge(part[i], all);
	return all;
}

bool dry_stack_next(uint32_t *stack, size_t *objects, size_t *bytes)
{
	struct record *most;

	if (!in_order)
		counted = sort(counted);
	in_order = true;
	if (counted == 0)
		return false;
	most = record_of(counted);
	*stack = counted;
	*objects = most->objects;
	*bytes = most->bytes;
	counted = most->behind;
	most->objects = 0;
	most->bytes = 0;
	return true;
}

void dry_stack_forget_counts(void)
{
	counted = 0;
	for (uint32_t i = 0; i < BUCKETS && bucket_of(i) != NULL; i++) {
		uint32_t at = atomic_load_explicit(bucket_of(i), memory_order_acquire);
		for (; at != 0; at = record_of(at)->next) {
			record_of(at)->objects = 0;
			record_of(at)->bytes = 0;
		}
	}
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The sequences on per-CPU arrays for one thread, in the simplest form; layout and operands are those of
 * port/arch/x86_64/percpu.h. Each asks for its slot afresh, so that a test can move its caller between any two.
 *
 * Words of arrays carry a flag, as they do where threads own their slots: core has to keep it.
 */
#ifndef DRY_TESTS_PLAIN_PERCPU_H
#define DRY_TESTS_PLAIN_PERCPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "port/slots.h"
#include "port_impl.h"

struct dry_percpu_array {
	uint64_t word;
	uint16_t limit;
	uint16_t pad[3];
	void *entry[];
};

/* world.c: the slot that the caller is on now. */
unsigned dry_percpu_slot(void);
/* Ends the test if an array in use has lost its flag. */
void plain_flag_kept(const struct dry_percpu_array *array, bool packed);

static inline uint64_t dry_percpu_empty_word(bool packed)
{
	return (uint64_t)1 << (packed ? 15 : 63);
}

static inline struct dry_percpu_array *plain_array(const void *base, size_t disp, size_t at, bool packed)
{
	char *const *slots = (char *const *)(const void *)((const char *)base + disp);
	struct dry_percpu_array *array = (struct dry_percpu_array *)(void *)(slots[dry_percpu_slot()] + at * 8);

	plain_flag_kept(array, packed);
	return array;
}

static inline size_t plain_room(const struct dry_percpu_array *array, size_t used, size_t max)
{
	size_t room = array->limit > used ? array->limit - used : 0;

	return room < max ? room : max;
}

static inline size_t dry_percpu_pop_batch(const void *base, size_t disp, size_t at, void **objects, size_t max)
{
	struct dry_percpu_array *array = plain_array(base, disp, at, false);
	size_t n = array->word & 0xffff, count = n < max ? n : max;

	for (size_t i = 0; i < count; i++)
		objects[i] = array->entry[n - count + i];
	if (count != 0)
		array->word -= count;
	return count;
}

static inline void *dry_percpu_pop(const void *base, size_t disp, size_t at)
{
	struct dry_percpu_array *array = plain_array(base, disp, at, false);
	size_t n = array->word & 0xffff;

	if (n == 0)
		return NULL;
	array->word += 0xffff; /* one less, and a pop more */
	return array->entry[n - 1];
}

static inline size_t dry_percpu_push_batch(const void *base, size_t disp, size_t at, void *const *objects, size_t max)
{
	struct dry_percpu_array *array = plain_array(base, disp, at, false);
	size_t n = array->word & 0xffff, count = plain_room(array, n, max);

	for (size_t i = 0; i < count; i++)
		array->entry[n + i] = objects[i];
	if (count != 0)
		array->word += count;
	return count;
}

static inline bool dry_percpu_push(const void *base, size_t disp, size_t at, void *object)
{
	return dry_percpu_push_batch(base, disp, at, &object, 1) == 1;
}

/* The packed stack, whose word is the newest entry. */
static inline void *dry_percpu_pop_packed(const void *base, size_t disp, size_t at)
{
	struct dry_percpu_array *array = plain_array(base, disp, at, true);
	uint64_t word = array->word;

	if ((word & 0xff) == 0)
		return NULL;
	array->word = (uint64_t)(uintptr_t)array->entry[(word & 0xff) - 1];
	return dry_unpack_address(word, array);
}

static inline size_t dry_percpu_push_batch_packed(const void *base, size_t disp, size_t at, void *const *objects, size_t max)
{
	struct dry_percpu_array *array = plain_array(base, disp, at, true);
	size_t n = array->word & 0xff, count = plain_room(array, n, max);
	uint64_t word = array->word;

	for (size_t i = 0; i < count; i++) {
		array->entry[n + i] = (void *)(uintptr_t)word;
		word = (uint64_t)(uintptr_t)objects[i] << 16 | dry_percpu_empty_word(true) | (n + i + 1);
	}
	if (count != 0)
		array->word = word;
	return count;
}

#endif

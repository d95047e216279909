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
#include "port/word.h"
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
void plain_flag_kept(const struct dry_percpu_array *array);

static inline uint64_t dry_percpu_empty_word(void)
{
	return DRY_WORD_OWNED;
}

static inline struct dry_percpu_array *plain_array(const void *base, size_t disp, size_t at)
{
	char *const *slots = (char *const *)(const void *)((const char *)base + disp);
	struct dry_percpu_array *array = (struct dry_percpu_array *)(void *)(slots[dry_percpu_slot()] + at * 8);

	plain_flag_kept(array);
	return array;
}

static inline size_t plain_room(const struct dry_percpu_array *array, size_t used, size_t max)
{
	size_t room = array->limit > used ? array->limit - used : 0;

	return room < max ? room : max;
}

static inline size_t dry_percpu_pop_batch(const void *base, size_t disp, size_t at, void **objects, size_t max)
{
	struct dry_percpu_array *array = plain_array(base, disp, at);
	size_t n = array->word & 0xffff, count = n < max ? n : max;

	for (size_t i = 0; i < count; i++)
		objects[i] = array->entry[n - count + i];
	if (count != 0)
		array->word -= count;
	return count;
}

static inline void *dry_percpu_pop(const void *base, size_t disp, size_t at)
{
	struct dry_percpu_array *array = plain_array(base, disp, at);
	size_t n = array->word & 0xffff;

	if (n == 0)
		return NULL;
	array->word += DRY_WORD_POP;
	if (dry_word_is_over(array->word)) {
		array->word++; /* it stays where it is */
		return NULL;
	}
	return array->entry[n - 1];
}

static inline uint64_t dry_percpu_charge(const void *base, size_t disp, size_t at)
{
	struct dry_percpu_array *array = plain_array(base, disp, at);

	return array->limit != 0 ? array->word += (uint64_t)1 << DRY_WORD_COUNT : 0;
}

static inline uint64_t dry_percpu_arm(const void *base, size_t disp, size_t at, uint64_t beginning)
{
	struct dry_percpu_array *array = plain_array(base, disp, at);
	uint64_t word = array->word;

	if (!dry_word_is_over(word))
		return 0;
	array->word = (word & 0xffff) | beginning;
	return word;
}

static inline size_t dry_percpu_push_batch(const void *base, size_t disp, size_t at, void *const *objects, size_t max)
{
	struct dry_percpu_array *array = plain_array(base, disp, at);
	size_t n = array->word & 0xffff, count = plain_room(array, n, max);

	for (size_t i = 0; i < count; i++)
		array->entry[n + i] = objects[i];
	if (count != 0)
		array->word += count;
	return count;
}

static inline bool dry_percpu_push(const void *base, size_t disp, size_t at, void *object)
{
	struct dry_percpu_array *array = plain_array(base, disp, at);
	size_t n = array->word & 0xffff;

	if (n != 0 && array->entry[n - 1] == object)
		return false;
	return dry_percpu_push_batch(base, disp, at, &object, 1) == 1;
}

#endif

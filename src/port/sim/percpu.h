/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The sequences on per-CPU arrays as the simulation runs them: step by step, each step
 * possibly the last before an abort, which starts the sequence again. Until the last step
 * nothing is visible. arch/x86_64/percpu.h has the layout and the operands; what
 * commits there in one instruction is one step here.
 *
 * With exclusive slots (dry_sim_setup.thread_slots) nothing ever aborts, and `inside` is what the
 * fence waits for: the semantics of arch/generic/percpu.h.
 */
#ifndef DRY_PORT_PERCPU_H
#define DRY_PORT_PERCPU_H

#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "port/sim/point.h"
#include "port/slots.h"
#include "port/word.h"

struct dry_percpu_array {
	uint64_t word;
	uint16_t limit;
	uint16_t pad[3];
	void *entry[];
};

/*
 * As on x86-64, arrays of slots that tasks own carry a flag in their words, without which a hit would not tell
 * the fence that it is over.
 */
DRY_SIM_PLAIN uint64_t dry_percpu_empty_word(void)
{
	return dry_sim_slots_owned ? DRY_WORD_OWNED : 0;
}

/* The end of a hit on an array, whose word is as committed. */
DRY_SIM_PLAIN void dry_percpu_hit(const struct dry_percpu_array *array)
{
	if (dry_sim_slots_owned && array->word >> 63 == 0)
		dry_sim_flag_lost();
}

/* Objects that a batch copies between two possible aborts. */
#define DRY_SIM_COPY 4

/* Pieces so small that the arrays of a few tasks go in several. */
#define DRY_PIECE 16

/* What another task does comes between two tries in any case. */
#define DRY_SLOT_TRIES 2

DRY_SIM_PLAIN void dry_percpu_begin(void)
{
	dry_sim_sequence->inside = true;
	dry_sim_sequence->aborted = false;
}

DRY_SIM_PLAIN void dry_percpu_leave(void)
{
	dry_sim_sequence->inside = false;
}

/* After an abort. Whether the sequence begins anew: each so many times of the task one gives up, and finds nothing. */
#define DRY_SIM_PATIENCE 8

DRY_SIM_PLAIN bool dry_percpu_again(void)
{
	return ++dry_sim_sequence->aborts % DRY_SIM_PATIENCE != 0;
}

/* One more step. false: start again. */
#define DRY_SIM_STEP(what) (DRY_SIM_POINT("sequence: " what), !dry_sim_sequence->aborted)

/* The array of the slot that the task runs on; NULL: start again. */
DRY_SIM_PLAIN struct dry_percpu_array *dry_percpu_array(const void *base, size_t disp, size_t at)
{
	char *const *slots = (char *const *)(const void *)((const char *)base + disp);
	uint32_t slot;
	char *area;

	dry_percpu_begin();
	if (!DRY_SIM_STEP("slot"))
		return NULL;
	slot = dry_sim_slot();
	if (!DRY_SIM_STEP("area"))
		return NULL;
	area = slots[slot];
	return DRY_SIM_STEP("avail") ? (struct dry_percpu_array *)(void *)(area + at * 8) : NULL;
}

/* Takes the newest object, or NULL; over: the countdown is. false: start again. */
DRY_SIM_PLAIN bool dry_percpu_try_pop(const void *base, size_t disp, size_t at, void **object, bool *over)
{
	struct dry_percpu_array *array = dry_percpu_array(base, disp, at);
	void *newest;
	size_t n;

	if (array == NULL)
		return false;
	n = array->word & 0xffff;
	*object = NULL;
	if (n == 0)
		return true;
	if (!DRY_SIM_STEP("entry"))
		return false;
	newest = array->entry[n - 1];
	if (!DRY_SIM_STEP("commit pop"))
		return false;
	array->word += DRY_WORD_POP;
	dry_percpu_hit(array);
	*over = dry_word_is_over(array->word);
	*object = newest;
	return true;
}

DRY_SIM_PLAIN bool dry_percpu_try_push(const void *base, size_t disp, size_t at, void *object, bool *room)
{
	struct dry_percpu_array *array = dry_percpu_array(base, disp, at);
	size_t n;

	if (array == NULL)
		return false;
	n = array->word & 0xffff;
	*room = n < array->limit;
	if (*room && n != 0) {
		if (!DRY_SIM_STEP("newest"))
			return false;
		*room = array->entry[n - 1] != object;
	}
	if (!*room)
		return true;
	if (!DRY_SIM_STEP("store"))
		return false;
	array->entry[n] = object;
	if (!DRY_SIM_STEP("commit push"))
		return false;
	array->word++;
	dry_percpu_hit(array);
	return true;
}

DRY_SIM_PLAIN bool dry_percpu_push(const void *base, size_t disp, size_t at, void *object)
{
	bool room, done;

	while (!(done = dry_percpu_try_push(base, disp, at, object, &room)) && dry_percpu_again())
		;
	dry_percpu_leave();
	return done && room;
}

/* With a sequence of its own for an object that goes back. One that finds no room is handed out, and no figure has it. */
DRY_SIM_PLAIN void *dry_percpu_pop(const void *base, size_t disp, size_t at)
{
	bool over = false, done;
	void *object;

	while (!(done = dry_percpu_try_pop(base, disp, at, &object, &over)) && dry_percpu_again())
		;
	dry_percpu_leave();
	if (!done)
		return NULL;
	if (over && dry_percpu_push(base, disp, at, object))
		return NULL;
	dry_sim_uncounted += over;
	return object;
}

/* How a sequence of few steps changes a word; the word afterwards or before, as its caller wants it. 0: nothing was done. */
enum dry_percpu_change { DRY_PERCPU_CHARGE, DRY_PERCPU_ARM };

DRY_SIM_PLAIN bool dry_percpu_try_change(const void *base, size_t disp, size_t at, enum dry_percpu_change what,
					 uint64_t beginning, uint64_t *word)
{
	struct dry_percpu_array *array = dry_percpu_array(base, disp, at);

	if (array == NULL)
		return false;
	*word = 0;
	if (what == DRY_PERCPU_CHARGE ? array->limit == 0 : !dry_word_is_over(array->word))
		return true;
	if (!DRY_SIM_STEP("commit word"))
		return false;
	*word = array->word;
	if (what == DRY_PERCPU_CHARGE)
		*word = array->word += (uint64_t)1 << DRY_WORD_COUNT;
	else
		array->word = (array->word & 0xffff) | beginning;
	return true;
}

DRY_SIM_PLAIN uint64_t dry_percpu_charge(const void *base, size_t disp, size_t at)
{
	uint64_t word;
	bool done;

	while (!(done = dry_percpu_try_change(base, disp, at, DRY_PERCPU_CHARGE, 0, &word)) && dry_percpu_again())
		;
	dry_percpu_leave();
	return done ? word : 0;
}

DRY_SIM_PLAIN uint64_t dry_percpu_arm(const void *base, size_t disp, size_t at, uint64_t beginning)
{
	uint64_t word;
	bool done;

	while (!(done = dry_percpu_try_change(base, disp, at, DRY_PERCPU_ARM, beginning, &word)) && dry_percpu_again())
		;
	dry_percpu_leave();
	return done ? word : 0;
}

DRY_SIM_PLAIN bool dry_percpu_try_pop_batch(const void *base, size_t disp, size_t at, void **objects, size_t max,
					    size_t *count)
{
	struct dry_percpu_array *array = dry_percpu_array(base, disp, at);
	size_t n;

	if (array == NULL)
		return false;
	n = array->word & 0xffff;
	*count = n < max ? n : max;
	for (size_t i = 0; i < *count; i++) {
		if (i % DRY_SIM_COPY == 0 && !DRY_SIM_STEP("copy out"))
			return false;
		objects[i] = array->entry[n - *count + i];
	}
	if (*count == 0) /* the stopped area is never written */
		return true;
	if (!DRY_SIM_STEP("commit batch pop"))
		return false;
	array->word -= *count;
	return true;
}

DRY_SIM_PLAIN size_t dry_percpu_pop_batch(const void *base, size_t disp, size_t at, void **objects, size_t max)
{
	size_t count;
	bool done;

	while (!(done = dry_percpu_try_pop_batch(base, disp, at, objects, max, &count)) && dry_percpu_again())
		;
	dry_percpu_leave();
	return done ? count : 0;
}

DRY_SIM_PLAIN bool dry_percpu_try_push_batch(const void *base, size_t disp, size_t at, void *const *objects, size_t max,
					     size_t *count)
{
	struct dry_percpu_array *array = dry_percpu_array(base, disp, at);
	size_t n, room;

	if (array == NULL)
		return false;
	n = array->word & 0xffff;
	room = array->limit > n ? array->limit - n : 0;
	*count = room < max ? room : max;
	for (size_t i = 0; i < *count; i++) {
		if (i % DRY_SIM_COPY == 0 && !DRY_SIM_STEP("copy in"))
			return false;
		array->entry[n + i] = objects[i];
	}
	if (*count == 0)
		return true;
	if (!DRY_SIM_STEP("commit batch push"))
		return false;
	array->word += *count;
	return true;
}

DRY_SIM_PLAIN size_t dry_percpu_push_batch(const void *base, size_t disp, size_t at, void *const *objects, size_t max)
{
	size_t count;
	bool done;

	while (!(done = dry_percpu_try_push_batch(base, disp, at, objects, max, &count)) && dry_percpu_again())
		;
	dry_percpu_leave();
	return done ? count : 0;
}

DRY_SIM_PLAIN unsigned dry_percpu_slot(void)
{
	return dry_sim_slot();
}

#endif

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The sequences on per-CPU arrays in Linux. A processor's mark says that one is under way there, and nobody is moved away
 * meanwhile; interrupts stay on. The sequences of a handler that comes in between find the mark, and see an array without
 * objects and without room, as in a stopped slot: they go to the node. To switch interrupts off and on costs more than the rest
 * of a sequence. Layout and operands are those of src/port/arch/x86_64/percpu.h; a slot is a processor's number.
 *
 * Stopped slots point to dry_stopped_area, which is only as long as its first array: it is known by its address.
 */
#ifndef DRY_KERNEL_PERCPU_H
#define DRY_KERNEL_PERCPU_H

#include <linux/compiler.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/smp.h>
#include <linux/types.h>

#include "base/bits.h"
#include "port/slots.h"
#include "port/word.h"

#define DRY_STOPPED_BYTES 64
#define DRY_PIECE	  88 /* objects on the stack at a time: what leaves a full array is one piece (core/alloc.c) */

extern char dry_stopped_area[];

struct dry_percpu_array {
	uint64_t word;
	uint16_t limit;
	uint16_t pad[3];
	void *entry[];
};

DECLARE_PER_CPU(u8, dry_percpu_busy);	 /* 1: a sequence is under way; port.c */
DECLARE_PER_CPU(char *, dry_percpu_area); /* what slots[] has of it, without a look for the table and the processor's number */

/* There may be numbers of no processor among those that there are, which have no variables. */
#define DRY_SLOT_PUBLISH(slot, area)                                                 \
	do {                                                                         \
		if (cpu_possible(slot))                                              \
			smp_store_release(&per_cpu(dry_percpu_area, slot), area);    \
	} while (0)

/* Whether there is none, and then the mark is set. A handler leaves it as it was, so between look and mark one may come. */
static __always_inline bool dry_percpu_begin(void)
{
	preempt_disable();
	if (unlikely(__this_cpu_read(dry_percpu_busy))) {
		preempt_enable();
		return false;
	}
	__this_cpu_write(dry_percpu_busy, 1);
	barrier(); /* first the mark, then the slot: the fence looks for it once the slot is stopped */
	return true;
}

static __always_inline void dry_percpu_end(void)
{
	barrier();
	__this_cpu_write(dry_percpu_busy, 0);
	preempt_enable();
}

/* In a sequence. An acquire is not needed: the address is what the rest is reached through. */
static __always_inline struct dry_percpu_array *dry_percpu_array(const void *base, size_t disp, size_t at)
{
	char *area = __this_cpu_read(dry_percpu_area);

	OPTIMIZER_HIDE_VAR(area); /* read once, which READ_ONCE() takes an instruction more for */
	return (struct dry_percpu_array *)(likely(area != dry_stopped_area) ? area + at * 8 : area);
}

static __always_inline size_t dry_percpu_room(const struct dry_percpu_array *array, size_t used, size_t max)
{
	size_t room = array->limit > used ? array->limit - used : 0;

	return room < max ? room : max;
}

/* By words: a batch is too short for memcpy(), which moves bytes where the processor says that it is quick at that. */
static __always_inline void dry_percpu_copy(void **to, void *const *from, size_t count)
{
	for (; count >= 4; from += 4, to += 4, count -= 4) {
		to[0] = READ_ONCE(from[0]); /* or the compiler makes one call of it */
		to[1] = READ_ONCE(from[1]);
		to[2] = READ_ONCE(from[2]);
		to[3] = READ_ONCE(from[3]);
	}
	while (count-- != 0)
		*to++ = READ_ONCE(*from++);
}

static __always_inline void *dry_percpu_pop(const void *base, size_t disp, size_t at)
{
	struct dry_percpu_array *array;
	void *object = NULL;
	size_t n;

	if (!dry_percpu_begin())
		return NULL;
	array = dry_percpu_array(base, disp, at);
	n = array->word & 0xffff;
	if (likely(n != 0)) {
		object = array->entry[n - 1];
		if (object == NULL)
			__builtin_unreachable(); /* none was ever pushed: spares the caller's test */
		array->word += 0xffff; /* one less, and a pop more */
	}
	dry_percpu_end();
	return object;
}

static __always_inline bool dry_percpu_push(const void *base, size_t disp, size_t at, void *object)
{
	struct dry_percpu_array *array;
	bool room;
	size_t n;

	if (!dry_percpu_begin())
		return false;
	array = dry_percpu_array(base, disp, at);
	n = array->word & 0xffff;
	/* Not freed twice in a row. Before the first entry is none that is an object, or it is asked for in vain (core/array.h). */
	room = likely(n < array->limit) && likely((array->entry - 1)[n] != object);
	if (room) {
		array->entry[n] = object;
		array->word++;
	}
	dry_percpu_end();
	return room;
}

static inline size_t dry_percpu_pop_batch(const void *base, size_t disp, size_t at, void **objects, size_t max)
{
	struct dry_percpu_array *array;
	size_t n, count;

	if (!dry_percpu_begin())
		return 0;
	array = dry_percpu_array(base, disp, at);
	n = array->word & 0xffff;
	count = n < max ? n : max;
	if (likely(count != 0)) {
		dry_percpu_copy(objects, array->entry + n - count, count);
		array->word -= count;
	}
	dry_percpu_end();
	return count;
}

static inline size_t dry_percpu_push_batch(const void *base, size_t disp, size_t at, void *const *objects, size_t max)
{
	struct dry_percpu_array *array;
	size_t n, count;

	if (!dry_percpu_begin())
		return 0;
	array = dry_percpu_array(base, disp, at);
	n = array->word & 0xffff;
	count = dry_percpu_room(array, n, max);
	if (likely(count != 0)) {
		dry_percpu_copy(array->entry + n, objects, count);
		array->word += count;
	}
	dry_percpu_end();
	return count;
}

/* Nobody in a kernel counts down. */
static inline uint64_t dry_percpu_charge(const void *base, size_t disp, size_t at)
{
	return 0;
}

static inline uint64_t dry_percpu_arm(const void *base, size_t disp, size_t at, uint64_t beginning)
{
	return 0;
}

static inline uint64_t dry_percpu_empty_word(void)
{
	return 0;
}

static inline unsigned dry_percpu_slot(void)
{
	return raw_smp_processor_id();
}

#endif

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Threads remember the area of arrays that they found last (port/here.h): no hit may work on an array that is stopped, nor on
 * another slot's after a move to another CPU, and hits go on afterwards. DRY_TEST_NO_SANITIZER: malloc is the
 * sanitizer's then.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "check.h"
#include "core/slots.h"
#include "heap/heap.h"

#define SIZE  64
#define SLOTS 4096

static struct dry_caches *const caches = &dry_main_heap.caches;
static const struct dry_cache *cache;
static uint64_t before[SLOTS];

static uint64_t word(uint32_t slot)
{
	char *area = caches->areas[slot];

	return area != dry_stopped_area ? dry_peek64(&dry_area_array(area, cache->place)->word) : 0;
}

static void note(void)
{
	for (uint32_t slot = 0; slot < caches->slots_open; slot++)
		before[slot] = word(slot);
}

/* Whether the array of the slot changed, and no other. */
static void changed_only(uint32_t slot)
{
	CHECK(slot < caches->slots_open && word(slot) != before[slot]);
	for (uint32_t other = 0; other < caches->slots_open; other++)
		CHECK(other == slot || word(other) == before[other]);
}

static void pairs(int count)
{
	for (int i = 0; i < count; i++) {
		char *volatile block = malloc(SIZE);
		CHECK(block != NULL);
		*block = 1;
		free(block);
	}
}

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	CHECK(sched_setaffinity(0, sizeof(set), &set) == 0);
}

/* Each pop counts, so a pair of hits changes the word. */
static void hits(void)
{
	pairs(8);
	note();
	pairs(8);
	changed_only(dry_percpu_slot());
}

static void stopped(void)
{
	pairs(8);
	dry_lock_acquire(&caches->reap_lock);
	dry_lock_acquire(&caches->lock);
	CHECK(dry_slots_stop_locked(caches));
	note();
	pairs(2);
	for (uint32_t slot = 0; slot < caches->slots_open; slot++)
		CHECK(word(slot) == before[slot]);
	dry_slots_start_locked(caches);
	dry_lock_release(&caches->lock);
	dry_lock_release(&caches->reap_lock);
	hits();
}

static void moved(const cpu_set_t *allowed)
{
	for (int round = 0; round < 3; round++)
		for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
			if (CPU_ISSET(cpu, allowed)) {
				stay_on(cpu);
				note();
				pairs(4); /* the first one may be slow, on the right array */
				changed_only(dry_percpu_slot());
				hits();
			}
}

static void *other_thread(void *unused)
{
	(void)unused;
	hits();
	return NULL;
}

static void other(void)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, other_thread, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	hits();
}

int main(void)
{
	cpu_set_t allowed;
	int cpu = 0;

	pairs(8);
	void *volatile block = malloc(SIZE);
	cache = dry_backing_find(&caches->backing, block)->cache;
	free(block);
	CHECK(cache->place != 0 && caches->slot_count <= SLOTS);
	CHECK(sched_getaffinity(0, sizeof(allowed), &allowed) == 0);
	while (!CPU_ISSET(cpu, &allowed))
		cpu++;
	stay_on(cpu);
	hits();
	stopped();
	moved(&allowed);
	other();
	puts("ok: here: arrays that threads remember");
	return 0;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "world.h"

#include "support/pattern.h"

#define SLOTS 16384u /* more than twice what all tasks and boxes can hold */
#define ENDS  64u    /* bytes of the pattern at both ends of a big object */
#define BUILT 0xc0257ac7edULL

static struct world_object table[SLOTS];

void ledger_clear(void)
{
	memset(table, 0, sizeof(table));
}

static uint32_t home(const void *at)
{
	return (uint32_t)(((uintptr_t)at >> 3) * 0x9e3779b97f4a7c15u >> 50) % SLOTS;
}

static uint32_t find(const void *at)
{
	uint32_t i = home(at);

	while (table[i].at != NULL && table[i].at != at)
		i = (i + 1) % SLOTS;
	return i;
}

static void erase(uint32_t hole)
{
	for (uint32_t i = (hole + 1) % SLOTS; table[i].at != NULL; i = (i + 1) % SLOTS) {
		uint32_t wants = home(table[i].at);
		if ((i - wants) % SLOTS < (i - hole) % SLOTS)
			continue;
		table[hole] = table[i];
		hole = i;
	}
	table[hole].at = NULL;
}

size_t ledger_each(void (*fn)(const struct world_object *object, void *arg), void *arg)
{
	size_t count = 0;

	for (uint32_t i = 0; i < SLOTS; i++) {
		if (table[i].at == NULL)
			continue;
		count++;
		fn(&table[i], arg);
	}
	return count;
}

/* ---- payload ------------------------------------------------------------------------ */

void ledger_construct(void *object, void *arg)
{
	uint64_t built = BUILT;

	memcpy(object, &built, sizeof(built));
	if (arg != NULL)
		++*(size_t *)arg;
}

void ledger_destruct(void *object, void *arg)
{
	uint64_t seen;

	memcpy(&seen, object, sizeof(seen));
	if (seen != BUILT)
		dry_sim_fail("destructor: object %p is not as constructed", object);
	--*(size_t *)arg;
}

static bool constructed(const struct world_object *object)
{
	return object->kind != WORLD_GENERAL && world.cache[object->kind].attr.ctor != NULL;
}

/* The part that belongs to the owner: after what the constructor wrote. */
static void payload(const struct world_object *object, char **start, size_t *size)
{
	size_t kept = constructed(object) ? sizeof(uint64_t) : 0;

	*start = (char *)object->at + kept;
	*size = object->size - kept;
}

static void fill(const struct world_object *object)
{
	char *start;
	size_t size;

	payload(object, &start, &size);
	if (object->full || size <= 2 * ENDS) {
		pattern_fill(start, size);
	} else {
		pattern_fill(start, ENDS);
		pattern_fill(start + size - ENDS, ENDS);
	}
}

void ledger_verify(const struct world_object *object)
{
	uint64_t built = BUILT;
	char *start;
	size_t size;
	bool good;

	payload(object, &start, &size);
	if (object->full || size <= 2 * ENDS)
		good = pattern_holds(start, size);
	else
		good = pattern_holds(start, ENDS) && pattern_holds(start + size - ENDS, ENDS);
	if (!good)
		dry_sim_fail("payload: object %p of %u bytes was changed while it was owned", object->at, object->size);
	if (constructed(object) && memcmp(object->at, &built, sizeof(built)) != 0)
		dry_sim_fail("constructor: object %p lost its constructed part while it was owned", object->at);
}

/* ---- owners --------------------------------------------------------------------------- */

void ledger_add(struct world_object *object, bool full)
{
	uint64_t built = BUILT;
	uint32_t i = find(object->at);

	if (table[i].at != NULL)
		dry_sim_fail("owned twice: object %p, %u bytes, is given out again", object->at, object->size);
	if (constructed(object) && memcmp(object->at, &built, sizeof(built)) != 0)
		dry_sim_fail("constructor: object %p is not as constructed", object->at);
	object->full = full;
	table[i] = *object;
	if (object->kind != WORLD_GENERAL)
		world.cache[object->kind].live++;
	fill(object);
}

void ledger_remove(struct world_object *object)
{
	uint32_t i = find(object->at);

	if (table[i].at == NULL)
		dry_sim_fail("ledger: object %p is not owned", object->at);
	ledger_verify(object);
	erase(i);
	if (object->kind != WORLD_GENERAL)
		world.cache[object->kind].live--;
}

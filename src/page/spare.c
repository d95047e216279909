/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "page/spare.h"

#include "page/dense.h"
#include "page/internal.h"

#define BATCH 16                 /* released without the lock in between */
#define LEAST ((size_t)1 << 20) /* to be left of one that is released in part */

static bool joins(const struct dry_extents *extents)
{
	return extents->source.reserve == NULL;
}

void dry_extent_unmap(struct dry_extents *extents, void *addr, size_t size)
{
	dry_source_release(&extents->source, addr, size);
	if (extents->source.reserve == NULL)
		dry_budget_share_give(&extents->share, size);
}

static void remove_at(struct dry_extents *extents, unsigned index)
{
	extents->cached--;
	for (; index < extents->cached; index++)
		extents->spare[index] = extents->spare[index + 1];
}

/* The first one that ends behind `addr`. */
static unsigned place_of(const struct dry_extents *extents, uintptr_t addr)
{
	unsigned low = 0, high = extents->cached;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (extents->spare[middle].addr + extents->spare[middle].size > addr)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

int dry_spare_find_locked(const struct dry_extents *extents, size_t size, size_t align, unsigned node)
{
	size_t most = joins(extents) ? SIZE_MAX : size + size / 4;
	int best = -1;

	for (unsigned i = 0; i < extents->cached; i++) {
		const struct dry_extent_spare *spare = &extents->spare[i];

		if (spare->size < size || spare->size > most || (spare->addr & (align - 1)) != 0 || spare->node != node)
			continue;
		if (best < 0 || spare->size < extents->spare[best].size)
			best = (int)i;
	}
	return best;
}

struct dry_extent_spare dry_spare_take_locked(struct dry_extents *extents, unsigned index, size_t size)
{
	struct dry_extent_spare *spare = &extents->spare[index], taken = *spare;

	if (joins(extents) && taken.size - size > size / 16) {
		taken.size = size;
		spare->addr += size;
		spare->size -= size;
	} else {
		remove_at(extents, index);
	}
	extents->cached_bytes -= taken.size;
	return taken;
}

size_t dry_spare_take_at_locked(struct dry_extents *extents, uintptr_t addr, size_t size, unsigned node)
{
	unsigned index = place_of(extents, addr);
	const struct dry_extent_spare *spare = &extents->spare[index];

	if (!joins(extents) || index == extents->cached || spare->addr != addr || spare->node != node || spare->size < size)
		return 0;
	return dry_spare_take_locked(extents, index, size).size;
}

struct dry_extent_spare dry_spare_take_biggest_locked(struct dry_extents *extents, size_t size, unsigned node)
{
	struct dry_extent_spare none = { 0 };
	int best = -1;

	for (unsigned i = 0; i < extents->cached && joins(extents); i++)
		if (extents->spare[i].node == node && (best < 0 || extents->spare[i].size > extents->spare[best].size))
			best = (int)i;
	/* one that fits would do as it is, but for its alignment */
	if (best < 0 || extents->spare[best].size < size / 4 || extents->spare[best].size >= size)
		return none;
	/* whole huge pages: what comes behind begins with one then */
	size_t whole = dry_round_down(extents->spare[best].size, DRY_DENSE_UNIT);
	return dry_spare_take_locked(extents, (unsigned)best, whole != 0 ? whole : extents->spare[best].size);
}

/* Which one goes first: the oldest, of like ones the smallest. */
static unsigned first_to_go(const struct dry_extents *extents)
{
	unsigned first = 0;

	for (unsigned i = 1; i < extents->cached; i++) {
		const struct dry_extent_spare *spare = &extents->spare[i], *other = &extents->spare[first];

		if (spare->age < other->age || (spare->age == other->age && spare->size < other->size))
			first = i;
	}
	return first;
}

/* To be released: one that is too old, or what there is beyond `keep` bytes, at most. Its size is 0: nothing is. */
static struct dry_extent_spare next_victim(struct dry_extents *extents, size_t keep, uint64_t newest)
{
	unsigned index = first_to_go(extents);
	struct dry_extent_spare *spare = &extents->spare[index], victim = *spare;
	size_t excess;

	if (extents->cached == 0 || (spare->age > newest && extents->cached_bytes <= keep))
		return (struct dry_extent_spare){ 0 };
	excess = spare->age <= newest ? spare->size :
					dry_round_up(extents->cached_bytes - keep, dry_source_unit(&extents->source));
	if (excess < spare->size && spare->size - excess >= LEAST) {
		spare->size -= excess;
		victim.addr += spare->size;
		victim.size = excess;
	} else {
		remove_at(extents, index);
	}
	extents->cached_bytes -= victim.size;
	return victim;
}

size_t dry_spare_release_locked(struct dry_extents *extents, size_t keep, uint64_t newest)
{
	struct dry_extent_spare victims[BATCH];
	unsigned count, i;
	size_t bytes = 0;

	do {
		size_t before = bytes, part;

		for (count = 0; count < BATCH; count++) {
			victims[count] = next_victim(extents, keep, newest);
			if (victims[count].size == 0)
				break;
			bytes += victims[count].size;
		}
		if (count == 0)
			break;
		part = bytes - before;
		extents->releasing += part;
		dry_lock_release(&extents->lock);
		for (i = 0; i < count; i++)
			dry_extent_unmap(extents, (void *)victims[i].addr, victims[i].size);
		dry_lock_acquire(&extents->lock);
		/* in a child of a fork in a handler that came in between it is 0 (dry_extents_after_fork()) */
		extents->releasing -= extents->releasing < part ? extents->releasing : part;
	} while (count == BATCH);
	extents->purged += bytes;
	return bytes;
}

bool dry_spare_settles_locked(struct dry_extents *extents)
{
	/* a user's source may call back */
	if (extents->releasing == 0 || extents->source.reserve != NULL)
		return false;
	dry_lock_release(&extents->lock);
	dry_port_yield();
	dry_lock_acquire(&extents->lock);
	return true;
}

/* Whether they are one; then the first one is both, of the age of the bigger one. */
static bool join(const struct dry_extents *extents, struct dry_extent_spare *low, const struct dry_extent_spare *high)
{
	if (!joins(extents) || low->addr + low->size != high->addr || low->node != high->node)
		return false;
	low->age = low->size < high->size ? high->age : low->age;
	low->size += high->size;
	return true;
}

/* Whether it is one with neighbours, or there is room for it. */
static bool put(struct dry_extents *extents, struct dry_extent_spare spare)
{
	unsigned index = place_of(extents, spare.addr), i;
	size_t size = spare.size;

	if (index < extents->cached && join(extents, &spare, &extents->spare[index]))
		remove_at(extents, index);
	if (index == 0 || !join(extents, &extents->spare[index - 1], &spare)) {
		if (extents->cached == extents->room)
			return false;
		for (i = extents->cached++; i > index; i--)
			extents->spare[i] = extents->spare[i - 1];
		extents->spare[index] = spare;
	}
	extents->cached_bytes += size;
	return true;
}

void dry_spare_put_locked(struct dry_extents *extents, struct dry_extent_spare spare)
{
	/* The lock is dropped on the way. A whole one makes room: a part of it would leave its place taken. */
	while (!put(extents, spare))
		dry_spare_release_locked(extents, extents->cached_bytes - extents->spare[first_to_go(extents)].size, 0);
}

const char *dry_spares_check_locked(const struct dry_extents *extents)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < extents->cached; i++) {
		const struct dry_extent_spare *spare = &extents->spare[i], *before = spare - (i > 0);

		bytes += spare->size;
		if (spare->size == 0 || spare->age > extents->tick)
			return "extent: a spare extent";
		if (i > 0 && before->addr + before->size > spare->addr)
			return "extent: spare extents out of order";
		if (i > 0 && joins(extents) && before->node == spare->node && before->addr + before->size == spare->addr)
			return "extent: spare extents that are one";
	}
	return bytes == extents->cached_bytes ? NULL : "extent: cached bytes";
}

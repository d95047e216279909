/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "page/dense.h"

#include "base/checked.h"
#include "page/huge.h"
#include "page/internal.h"

#define DENSE_LEAST   ((size_t)2 << 20) /* smaller extents are not worth it */
#define DENSE_PERCENT 98
#define GIANT         ((size_t)32 << 20) /* such may well be meant as address space, and bigger ones */
#define END           ((size_t)2 << 20)  /* of an extent, to be looked at: so much tells */
#define SURE          2 /* so many extents in a row were filled: the next ones will be */
/* After so many with the hint one is looked at; after twice as many with each that was filled. */
#define PROBES        8
#define PROBES_MOST   32
#define SEEN_MOST     0xfffu /* of dry_extent.seen: 8 GiB */
#define LOOKS         8  /* more at one that is not filled yet */
#define LOOK_AGAIN    10 /* ms between them at least */
#define WAITED        4 /* have the hint while one that was looked at is not filled yet */
#define TRUSTED       2 /* the first extents of a process, but giants, which have the hint before anything is known */

void dry_dense_init(struct dry_extents *extents)
{
	extents->usual = (struct dry_extent_probe){ .filled = SURE, .hinted = PROBES - TRUSTED };
}

static struct dry_extent_probe *probe_of(struct dry_extents *extents, size_t size)
{
	return size < GIANT ? &extents->usual : &extents->giant;
}

bool dry_dense_is_likely_locked(struct dry_extents *extents, size_t size)
{
	return size >= DENSE_LEAST && extents->source.reserve == NULL && probe_of(extents, size)->filled >= SURE;
}

size_t dry_dense_size_locked(struct dry_extents *extents, size_t size)
{
	size_t whole;

	if (!dry_dense_is_likely_locked(extents, size) || !dry_checked_round_up(size, DRY_DENSE_UNIT, &whole) ||
	    whole - size > size / 8 || dry_port_is_scarce())
		return size;
	return whole;
}

/* Whether a new extent is to be looked at. */
static bool looks_locked(struct dry_extent_probe *probe)
{
	unsigned hints = PROBES;

	for (unsigned i = SURE; i < probe->filled && hints < PROBES_MOST; i++)
		hints *= 2;
	if (probe->filled >= SURE && probe->hinted++ < hints)
		return false;
	probe->hinted = 0;
	return true;
}

/*
 * See whether what is looked at was filled. Drops the lock. A block that lives may be filled yet, from its start; if so, or if
 * little is known, it is looked at again, some times.
 */
static void look_locked(struct dry_extents *extents, struct dry_extent_probe *probe, bool freed)
{
	struct dry_extent_probe seen = *probe;
	bool filled, first;
	int density;

	if (seen.addr == 0 || (!freed && seen.looks != 0 && dry_port_clock_ms() < seen.again))
		return;
	probe->addr = 0;
	dry_lock_release(&extents->lock);
	density = dry_port_density((void *)seen.addr, seen.size, &first);
	filled = density >= DENSE_PERCENT;
	if (filled && freed) /* one mapping again, which can become bigger */
		dry_port_dense((void *)seen.addr, seen.size);
	dry_lock_acquire(&extents->lock);
	if (density >= 0 && !filled && !freed && seen.looks < LOOKS && (first || seen.filled < SURE) && probe->addr == 0) {
		probe->addr = seen.addr;
		probe->looks = seen.looks + 1;
		probe->again = dry_port_clock_ms() + LOOK_AGAIN;
	} else {
		probe->filled = filled ? probe->filled + 1 : 0;
	}
}

void dry_dense_begin(struct dry_extents *extents, void *addr, size_t size, size_t asked)
{
	struct dry_extent_probe *probe = probe_of(extents, size);
	size_t hinted = size;

	if (size < DENSE_LEAST || extents->source.reserve != NULL)
		return;
	dry_lock_acquire(&extents->lock);
	look_locked(extents, probe, false);
	if (probe->filled < SURE || (probe->addr != 0 && probe->waited++ >= WAITED))
		hinted = 0;
	if (probe->addr == 0 && looks_locked(probe)) {
		if (hinted != 0)
			hinted = asked >= END + DRY_DENSE_UNIT ? dry_round_down(asked - END, DRY_DENSE_UNIT) : 0;
		probe->extent = (uintptr_t)addr;
		probe->addr = (uintptr_t)addr + hinted;
		probe->size = asked - hinted;
		probe->looks = 0;
		probe->waited = 0;
	}
	dry_lock_release(&extents->lock);
	if (hinted != 0 && dry_huge_is_affordable())
		dry_port_dense(addr, hinted);
}

void dry_dense_end_locked(struct dry_extents *extents, uintptr_t addr, size_t size)
{
	struct dry_extent_probe *probe = probe_of(extents, size);

	if (probe->extent == addr)
		look_locked(extents, probe, true);
}

void dry_dense_moved_locked(struct dry_extents *extents, uintptr_t from)
{
	if (extents->usual.extent == from)
		extents->usual.addr = 0;
	if (extents->giant.extent == from)
		extents->giant.addr = 0;
}

/* The next piece whose turn has come, of up to `most` bytes, or 0; its extent was there at the last look. */
static size_t due_locked(struct dry_extents *extents, size_t most, uintptr_t *from)
{
	for (size_t i = 0; i < extents->buckets; i++) {
		struct dry_extent *entry = &extents->table[i];

		if (entry->addr == 0 || entry->size < DENSE_LEAST)
			continue;
		if (entry->seen == 0) {
			entry->seen = 1;
			continue;
		}
		/* Of what grew an eighth was perhaps not asked for. */
		uintptr_t end = entry->addr + entry->size - entry->size / 8;
		size_t left = (SEEN_MOST - entry->seen) * DRY_DENSE_UNIT;

		*from = dry_round_up(entry->addr, DRY_DENSE_UNIT) + (entry->seen - 1) * DRY_DENSE_UNIT;
		if (left > most)
			left = most;
		if (*from < end && left > end - *from)
			left = dry_round_down(end - *from, DRY_DENSE_UNIT);
		if (*from >= end || left == 0)
			continue;
		entry->seen += left / DRY_DENSE_UNIT;
		return left;
	}
	return 0;
}

size_t dry_dense_collapse(struct dry_extents *extents, size_t most)
{
	uintptr_t from;
	size_t piece;
	bool first;

	most = dry_round_down(most, DRY_DENSE_UNIT);
	if (extents->source.reserve != NULL || most == 0)
		return 0;
	dry_lock_acquire(&extents->lock);
	piece = due_locked(extents, most, &from);
	dry_lock_release(&extents->lock);
	/* If it was freed meanwhile, the port refuses, or gives huge pages to whoever is there. */
	if (piece == 0 || dry_port_density((void *)from, piece, &first) < DENSE_PERCENT)
		return 0;
	return dry_port_collapse((void *)from, piece) ? piece : 0;
}

void dry_dense_grown(void *addr, size_t size, size_t used)
{
	bool first;

	if (size >= DENSE_LEAST && dry_port_density(addr, used, &first) >= DENSE_PERCENT)
		dry_port_dense(addr, size);
}

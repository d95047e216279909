/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What is known of sampled blocks: each live one, and the sites that they come from. A site is a stack and a size class.
 *
 *   table[hash of address] -> address, size, site        the live ones, open addressing
 *   site | site | site ...                                one after the other, for ever; bucket[hash] -> site -> site
 *
 * Who looks from outside finds the sites through dry_inspect (<drystone/inspect.h> has their layout), and none of the rest.
 *
 * Concurrency: one lock for all of it, taken at fork. A site is complete before it is counted in `used`.
 */
#ifndef DRY_STATS_SITES_H
#define DRY_STATS_SITES_H

#include <drystone/inspect.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "port/save.h"

#define DRY_SITE_FRAMES 128

/* What readers see. mean and request are the sampler's, all else guarded by the lock. */
extern struct dry_inspect_profile dry_profile DRY_HIDDEN;

/* Address space for sites; again is harmless. false: none. */
bool dry_sites_init(void);

/*
 * A block of `size` bytes begins to live, for which `served` are taken, allocated at these frames; of a size class of about
 * `class` bytes, from a cache or big. false: no room to know it.
 */
struct dry_site_block {
	size_t size, served, class;
	const char *name; /* of a typed cache; NULL: none */
	bool big;
	void *instead;    /* object of a cache that it keeps; NULL: none */
};
bool dry_sites_add(const void *block, const struct dry_site_block *as, const uintptr_t *frames, unsigned count);

/* It ends: what it was; false: none lives there. */
bool dry_sites_remove(const void *block, struct dry_site_block *as);

/* So do all that lie there. */
void dry_sites_remove_range(uintptr_t from, uintptr_t to);

/* size, served and instead of the block that lives there; false: none does. */
bool dry_sites_find(const void *block, struct dry_site_block *as);

/* All of it, of which every `mean` bytes was one sample, as a text that pprof reads. */
void dry_sites_write(dry_port_writer *write, void *arg, uint64_t mean);

/* All live blocks, unless visit is NULL. How many there are. */
typedef void dry_sites_visitor(uintptr_t address, size_t size, uint32_t site);
size_t dry_sites_blocks_locked(dry_sites_visitor *visit);
/* Where that is kept. */
void dry_sites_table_locked(uintptr_t *from, uintptr_t *to);
/* At the end: the figures of all sites are 0, mean something else (stats/leaks.h), and change by the second call alone. */
void dry_sites_close_locked(void);
void dry_sites_set_lost_locked(uint32_t site, size_t bytes, size_t behind, size_t behind_bytes);

/* For fork, and for who looks at all of it. */
void dry_sites_lock(void);
void dry_sites_unlock(bool in_child);

#endif

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Lost blocks: those that the process has and cannot reach any more. A block is reached if a word of a root (port/roots.h), or of
 * another block that is reached, points to one of its bytes.
 *
 *   NEW --a root, or what is reached, points to it--> REACHED
 *    +----else, in order of address--> LOST --another lost one leads to it--> BEHIND
 *    +----a lost one leads to it--> BEHIND
 *
 * What a lost block leads to is counted with it, as it goes with it: of a list, or ring, one block is LOST. Words are not known
 * to be pointers: what looks like one is taken for one, so that some lost blocks go unseen.
 *
 * Concurrency: with the lock of sites held, all other threads stopped as far as they can be.
 */
#ifndef DRY_STATS_LEAKS_H
#define DRY_STATS_LEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "port/save.h"

/*
 * Before: memory that is no root: where blocks of sites lie, and what is known of them. At most 60 ranges: those beyond are
 * roots.
 */
void dry_leaks_apart(uintptr_t from, uintptr_t to);

/*
 * Among the blocks of sites. From then on these have no other figures: of live objects, those that are lost; of all, those behind
 * them. false: no memory, or the port cannot tell of roots.
 */
bool dry_leaks_find(void);

/* Sites of what was lost, as dry_sites_write(), and a line on what is alive. */
void dry_leaks_write(dry_port_writer *write, void *arg);

#endif

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Core alone, as a test sees it: sets of caches over the plain backing, the world around them, and what may be demanded of
 * it at any time.
 */
#ifndef DRY_TESTS_PLAIN_PLAIN_H
#define DRY_TESTS_PLAIN_PLAIN_H

#include <drystone/experiment.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fatal.h"
#include "base/memory.h"
#include "core/alloc.h"
#include "core/batch.h"
#include "core/check.h"
#include "core/countdown.h"
#include "core/create.h"
#include "core/depot.h"
#include "core/fast.h"
#include "core/freelist.h"
#include "core/layout.h"
#include "core/reap.h"
#include "core/slab.h"
#include "core/slots.h"
#include "core/walk.h"
#include "support/check.h"
#include "support/pattern.h"
#include "support/random.h"

/* The world of the one thread that there is. */
struct plain_world {
	unsigned slot;                       /* where sequences run */
	void (*move)(unsigned *slot);        /* asked before each of them; NULL: the slot stays */
	bool no_slot, no_fence, no_try;      /* attaching, fencing, trying a lock fail */
	void (*at_fence)(void);              /* called in the middle of each fence: what another thread does then */
	unsigned fences;
	unsigned held[DRY_RANK_COUNT];       /* locks */
	uint64_t gap, turns;                 /* plain_alloc(): of countdowns; how many were over */
	/* Reports; the test ends with one that is not expected. */
	unsigned reports, warnings;
	enum dry_fatal_code code;
	const void *address;
	char text[256];                      /* the last one's cache and detail, or the warning */
	bool quiet;                          /* reports and warnings are expected */
	jmp_buf *end;                        /* where to go from one that core cannot go on after; NULL: the test ends */
};
extern struct plain_world plain;

/* Ends the test. */
_Noreturn void plain_wrong(const char *what);

struct plain_attr {
	unsigned slots, nodes;         /* 0: 1 */
	uint32_t pages;                /* 0: 2048 */
	unsigned page_shift, max_order; /* 0: 12, 9 */
	size_t area_size;              /* 0: 64 KiB */
	const struct dry_grace *grace;
	const struct dry_debug_hooks *hooks;
};

/* A set of caches. Where metadata is refused (fail_at of its backing starts as given): NULL. */
struct dry_caches *plain_open(const struct plain_attr *attr);
struct dry_caches *plain_open_failing(const struct plain_attr *attr, size_t fail_at);
/* The end of a set whose caches were all destroyed: nothing may be out. */
void plain_close(struct dry_caches *caches);
/* The end of a set that was damaged. */
void plain_abandon(struct dry_caches *caches);

/* A cache; the test ends if it cannot be. counted: its arrays have countdowns. */
struct dry_cache *plain_cache(struct dry_caches *caches, const char *name, size_t size, unsigned flags);
struct dry_cache *plain_make(struct dry_caches *caches, const struct dry_cache_attr *attr, bool counted);

/* An object by the hit, or by the slow twin; and back. NULL: no memory. */
void *plain_alloc(struct dry_cache *cache);
void plain_free(struct dry_cache *cache, void *object);

/* What arrays and depots hold, what is in quarantine, what is out of all of these: with the program. */
size_t plain_cached(struct dry_cache *cache);
size_t plain_live(struct dry_cache *cache);
/* All equations of a cache, and that `live` objects are with the program. Ends the test if one does not hold. */
void plain_holds(struct dry_cache *cache, size_t live);

/* From here on reports and warnings are expected; then: there was one report, of this code and address (NULL: any). */
void plain_expect(void);
void plain_expected(enum dry_fatal_code code, const void *address);

#endif

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Caches, and the set of them that shares slots, a backing and two locks.
 *
 * Words, each with one meaning:
 *   object       what a cache hands out; size bytes from one to the next, of which object_size were asked for
 *   slab         2^order pages of objects of one cache
 *   cache        the slabs of one type of object. A root owns slabs; an alias is another name for those of its root
 *   node         the slabs of a cache on one memory node
 *   slot         number of a per-CPU place: a CPU, a concurrency id, or (without restartable sequences) a thread
 *   area, array  the memory of one slot, and a stack of objects in it; place: where in every area, in units of 8 bytes
 *   countdown    pops of an array until one fails, so that somebody looks at it (port/word.h)
 *   depot        objects that wait for their slot (local), between CPUs of a node (shared), on their way to another one (alien)
 *   refill       a batch into an empty array; flush: out of a full one
 *   reap         give back what was idle; shrink: all that can be; drain: what lies in arrays goes into slabs
 *   partial      a slab with objects in use and free ones
 *   type         how a slab knows its free objects: a bitmap, a chain, an index array (enum dry_mgmt)
 *   colour       bytes before the first object that differ from slab to slab; lead: those that do not
 *   debugged     somebody looks at each object on its way in and out (debug_ops.h): the cache has no arrays
 *   quarantine   freed objects of debugged caches that wait
 *   metadata     what the allocator itself believes: never in pages next to objects
 *
 *   dry_caches ── first ──> dry_cache ── node[0..nodes) ── list[] ──> slabs
 *       │ slots[slot]           │ place                        └── shared array; alien, local arrays
 *       v                       v
 *   area of one slot:   [ stopped | dry_array | dry_array | ... ]
 *
 * Concurrency: lock order is that of base/rank.h. lock (CACHES) guards what changes rarely; a node's lock guards the slabs
 * of one cache on one node.
 */
#ifndef DRY_CORE_CACHE_H
#define DRY_CORE_CACHE_H

#include <drystone/drystone.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "core/array.h"
#include "core/backing.h"
#include "core/debug_ops.h"
#include "core/node.h"
#include "core/asking.h"
#include "port_impl.h"

/*
 * Internal flag: objects end in eight bytes that no program has, for canaries. Needs management by bitmap; where a cache
 * cannot have that, the flag is without effect. drystone.h says who else has flags.
 */
#define DRY_CACHE_SECURE 0x1000000u
#define DRY_SECURE_TAIL  8 /* bytes of such a slot that no object has */

/* Internal flag: the hooks are told of each object that is handed out, and asked at each free (debug_ops.h). */
#define DRY_CACHE_CHECKED 0x2000000u

/* Of its arrays (core/countdown.h). ENDING: they had some, and those that run are the last. */
enum dry_countdowns { DRY_COUNTDOWNS_NEVER, DRY_COUNTDOWNS_ON, DRY_COUNTDOWNS_ENDING };

enum dry_cache_state { DRY_CACHE_DEAD = 0, DRY_CACHE_LIVE = 0x11fe };

/* Immutable after creation but where it says otherwise. */
struct dry_cache {
	/* read by a hit */
	struct dry_caches *caches;
	uint32_t hits;  /* place, as hits of the public calls know it; 0: all of them are to be slow, or it has no arrays */
	uint32_t state; /* enum dry_cache_state; changes once, by destroy */
	uint32_t flags;

	/* read by refill and flush */
	uint32_t place;             /* of its arrays; 0: it has none */
	uint32_t limit, batchcount; /* of its arrays; changed by dry_cache_tune(), while they are stopped */
	uint32_t room;              /* entries of its arrays, as placed: limit <= room */
	uint8_t countdowns;         /* enum dry_countdowns; guarded by caches->lock, read without */
	uint8_t order;              /* log2 pages of a slab */
	uint8_t mgmt;               /* enum dry_mgmt */
	uint8_t index_width;        /* index types: bytes of an index, 1 or 2; 0: OFF_SLAB are bits (freelist.h) */
	uint32_t num;               /* objects of a slab, */
	uint32_t num_single;        /* and of one of a single page (backing.h); 0: there are none */
	size_t size;                /* from one object to the next */
	size_t inverse;             /* of the odd part of size; see dry_slab_index() */
	uint32_t fill_scale;        /* index of a partial list = active * fill_scale >> 16 */
	uint8_t shift;              /* size = odd part << shift */
	const struct dry_debug_ops *debug; /* NULL: not debugged */
	void (*ctor)(void *object, void *arg);

	/* properties */
	void (*dtor)(void *object, void *arg);
	void *arg;                  /* both get it, and: */
	size_t (*reclaim)(void *arg, size_t bytes); /* guarded by caches->lock: none while it is being destroyed */
	size_t object_size, align;  /* asked for */
	char name[64];
	struct dry_cache *root;     /* who owns the slabs: itself, or the cache that this is an alias of */
	struct dry_cache *next;     /* list of all, oldest first; guarded by caches->lock, as the five below */
	struct dry_cache **link;    /* what points to it there */
	struct dry_cache *alias;    /* root: list of its aliases through their `alias` */
	struct dry_cache **alias_link; /* alias: what points to it there */
	bool mergeable;             /* may get aliases */
	_Atomic bool orphan;        /* root: destroyed by name, alive for its aliases; written under lock, read without */
	size_t refills_seen[2];     /* reap: at the last round by the clock, at the last look while it grew */

	/* layout of a slab */
	uint32_t colours, colour_unit; /* offsets 0, unit, ... (colours - 1) * unit, after the lead */
	uint32_t lead;                 /* bytes before the first object that belong to none */
	uint32_t freelist_offset;      /* NORMAL: of the index array from the slab's start, at colour 0 */
	uint32_t waste;                /* bytes a slab, see dry_cache_stats */
	uint32_t before;               /* debugged: bytes before each object, a multiple of align */
	uint32_t record_at;             /* debugged: of what is known of its owner, from the object; 0: nothing */

	/* debugged */
	void **kept;                   /* quarantine, a ring; NULL: nothing was kept yet. Guarded by node[0].lock, as the next */
	uint32_t kept_oldest;          /* place of the oldest in it */
	size_t kept_objects;           /* in it; atomic */
	_Atomic bool pools_apart;      /* of secure objects: each slot has its own (debug/pool.h) */
	_Atomic uint32_t deferred;     /* slabs waiting for a grace period */

	struct dry_node node[]; /* [caches->nodes] */
};

/* On the stack of who walks. */
struct dry_walk {
	struct dry_walk *next; /* guarded by the set's lock */
	uintptr_t thread;      /* dry_backing_self() */
};

/* What caches and heaps count. The order is also <drystone/inspect.h>'s. */
enum dry_counter {
	DRY_COUNTER_ALLOCS,
	DRY_COUNTER_SLOW_ALLOCS,
	DRY_COUNTER_SLOW_FREES,
	DRY_COUNTER_FAILURES,
	DRY_COUNTER_LOCK_ROUNDS,
	DRY_COUNTER_LOCK_WAITS,
	DRY_COUNTER_BATCHES,
	DRY_COUNTER_SLABS_MADE,
	DRY_COUNTER_REMOTE_FREES,
	DRY_COUNTER_REAPS,  /* of heaps alone */
	DRY_COUNTER_PURGED, /* bytes, likewise */
	DRY_COUNTERS
};

#define DRY_FORGOTTEN 16u

struct dry_caches {
	struct dry_backing backing; /* first: a hit reads its first fields */

	/* [slot_count], beside slots[]: the areas themselves, or dry_stopped_area where there is none yet */
	char **areas;        /* entries change once, under lock */
	uint32_t slot_count;
	uint32_t stops;      /* and starts; odd: all of slots[] is `nowhere`. Written under lock */
	bool overdue;        /* a stop was waited for too long: nobody does so any more */
	bool counted;        /* caches that are made have countdowns; guarded by lock */
	bool remembered;     /* threads remember its areas (port/here.h); immutable */
	uint32_t nodes;
	size_t area_size;    /* bytes of a slot's area at most */
	size_t area_reach;   /* of them, those that are there: places lie below. It grows, with the lock held */
	char *nowhere;       /* the stopped area: zero as far as area_reach. dry_stopped_area, or a bigger one; likewise */
	struct dry_lock lock;
	struct dry_lock reap_lock; /* one reap, drain or destroy at a time */
	struct dry_cache *first, **end; /* guarded by lock, as all below */
	size_t count;                /* of roots */
	size_t reaps;                /* since the start */
	uint64_t gone[DRY_COUNTERS]; /* of caches that were destroyed: sums over all never go down */
	uint32_t slots_open;         /* one more than the highest slot that has an area */
	struct dry_walk *walks;      /* of the list of caches, under way */
	unsigned own_walks;          /* fork: so many of them, the first, are of the thread that forks */
	struct dry_cache *asked;     /* its callback runs: only ever compared */
	_Atomic size_t depots_grown; /* bytes of objects for which depots grew beyond what is usual */
	struct dry_asking reclaiming;  /* callbacks are being asked for memory */
	/*
	 * Destroyed, by `alias`, oldest first: kept while there are walks, and the last DRY_FORGOTTEN of them after that, so
	 * that who uses one is told, and gets no object of a cache that was made in its place.
	 */
	struct dry_cache *forgotten, **forgotten_end;
	unsigned forgotten_count;
	uint64_t area_map[DRY_AREA_MAX / DRY_AREA_UNIT / 64]; /* 1: unit in use */
	size_t area_used;            /* bytes of those units */
	const struct dry_grace *grace;       /* NULL: no typesafe caches */
	const struct dry_debug_hooks *hooks; /* never NULL */
	void *shadows;                         /* what they know of objects; NULL: nothing. Immutable after start */
	/*
	 * [slot_count + 1], read by the sequences: areas[], `nowhere` where there is none and throughout while stopped. The last
	 * one is so always: a thread that is on no slot has its number.
	 */
	char *slots[];
};

/* The table of slots, as the sequences of percpu.h take it. */
#define DRY_SLOTS(caches) (caches), offsetof(struct dry_caches, slots)

/* Its areas are: depots would be too much for it. */
static inline bool dry_caches_small(const struct dry_caches *caches)
{
	return caches->area_size < (size_t)64 << 10;
}

/* The caller's memory node; a hint. */
static inline unsigned dry_caches_home(const struct dry_caches *caches)
{
	return caches->nodes == 1 ? 0 : dry_backing_node(&caches->backing);
}

#endif

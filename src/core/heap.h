/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The structures of the core: heap, cache, node, array cache.
 *
 *   dry_heap ── caches ──> dry_cache ── node[0..nodes) ── list[] ──> slabs (struct dry_page)
 *      │                       │                      └── shared array, alien arrays
 *      │ slots[slot]           │ alloc_at, free_at
 *      v                       v
 *   slot area of one CPU:  [ stopped | dry_array | dry_array | ... ]
 *
 * A cache's array in a slot is found at slots[slot] + 8 * its place. Typed
 * caches have one array per slot: a stack that alloc pops and free pushes. The
 * general caches are split: alloc pops one array, free pushes the other, and the slow
 * path moves objects over. This keeps a free's late-known store address away
 * from the next allocation's loads; for the same reason the array that is popped
 * is packed: its word holds the newest object (docs/design/fast-path.md has the figures).
 *
 * slots[] of a stopped heap, and of slots without an area yet, point to
 * dry_stopped_area: all arrays there have avail 0 and limit 0, so the emptiness and
 * fullness tests that the fast path needs anyway lead to the slow path. Place 0 of
 * every area is such an array, too: caches without array caches use it.
 *
 * Lock order: see base/rank.h. heap->lock (CACHES) guards what changes rarely;
 * a node's lock guards the slabs of one cache on one node; counters written outside
 * of it are atomic and say so.
 */
#ifndef DRY_CORE_HEAP_H
#define DRY_CORE_HEAP_H

#include <drystone/drystone.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "page/extent.h"
#include "page/page.h"
#include "percpu.h"

#define DRY_MAX_NODES      8
#define DRY_MAX_LIMIT      512
#define DRY_GENERAL_CACHES 72
#define DRY_AREA_MAX       ((size_t)512 << 10) /* a slot's area: what a uint16_t of 8-byte units can reach */
#define DRY_SHARED_FACTOR  8                  /* batches that a shared or alien array holds, as published */
#define DRY_AREA_UNIT      64                 /* arrays start on a cache line */

/* One array cache of one slot. Written by its slot's sequences only, but for a stopped heap. */
struct dry_array {
	uint64_t word;       /* 0 <= avail <= limit, and pops so far or (packed) the newest object: see percpu.h */
	uint16_t limit;      /* immutable after init */
	uint16_t batchcount; /* likewise */
	uint32_t seen;       /* reap only: low half of word at the last reap */
	void *entry[];       /* [0, avail) oldest first; packed: entry[k] is word as it was when avail was k */
};
_Static_assert(sizeof(void *) == 8, "64-bit processors only: libdrystone-tiny is for the others");
_Static_assert(offsetof(struct dry_array, limit) == 8 && offsetof(struct dry_array, entry) == 16,
	       "the layout that percpu.h works on");

#define DRY_MAX_PACKED 255u /* objects in a packed array */

static inline unsigned dry_array_avail(const struct dry_array *array, bool packed)
{
	/* relaxed: a hint, unless the array is at rest */
	return __atomic_load_n(&array->word, __ATOMIC_RELAXED) & (packed ? 0xff : 0xffff);
}

/* Object number i of an array at rest, 0 <= i < avail, oldest first. */
static inline void *dry_array_object(const struct dry_array *array, bool packed, unsigned i)
{
	if (!packed)
		return array->entry[i];
	uint64_t word = i + 1 == dry_array_avail(array, true) ? array->word : (uint64_t)(uintptr_t)array->entry[i + 1];
	return dry_unpack_address(word, array);
}

/*
 * Objects on their way between CPUs of one node (shared), or to another node (alien).
 * 0 <= avail <= limit. Guarded by lock; avail may be read without, as a hint.
 */
struct dry_depot {
	struct dry_lock lock;
	_Atomic uint32_t avail;
	uint32_t limit;   /* 0: none could be allocated yet */
	uint32_t seen;    /* reap: value of moves at the last reap */
	uint32_t moves;   /* batches moved in or out, or that found no room: the lock's rounds */
	void **entry;
};

/*
 * Lists of slabs. A partial slab is in the list of its fill, so that the
 * fullest can be used first; a full slab is on no list, unless its cache is debugged.
 */
enum {
	DRY_LIST_PARTIAL = 0,
	DRY_PARTIAL_LISTS = 4,
	DRY_LIST_FULL = DRY_PARTIAL_LISTS, /* of debugged caches only */
	DRY_LIST_FREE,
	DRY_LISTS,
	DRY_LIST_NONE = 0xff
};

/*
 * free_objects = sum over slabs on lists of (num - active)
 * free_slabs   = length of list[DRY_LIST_FREE]
 */
struct dry_node {
	struct dry_lock lock;
	uint32_t list[DRY_LISTS];    /* guarded by lock: page index or DRY_PAGE_NIL */
	_Atomic size_t free_objects; /* written under lock; read without, as a hint */
	size_t free_slabs;           /* guarded by lock */
	size_t free_limit;           /* most free slabs kept; guarded by lock */
	size_t free_low;             /* fewest free slabs since the last reap; guarded by lock */
	_Atomic uint64_t lock_rounds; /* for slabs: refill, flush, attach; written under lock, read without */
	_Atomic uint32_t colour_next; /* counts slabs made */
	_Atomic size_t slabs;        /* all of this cache on this node */
	_Atomic size_t reserved;     /* prefill: free objects that may not be given back */
	_Atomic uint64_t slow_allocs, slow_frees;
	_Atomic uint64_t bulk_allocs; /* objects that bulk calls took from arrays, or that went into packed ones */
	struct dry_depot shared;
	struct dry_depot *alien; /* [nodes]: objects of node i freed on this one; NULL: none yet */
};

enum dry_cache_state { DRY_CACHE_DEAD = 0, DRY_CACHE_LIVE = 0x11fe };

struct dry_debug_ops;

/* Immutable after creation but where it says otherwise. */
struct dry_cache {
	/* what the fast path reads */
	struct dry_heap *heap;
	uint32_t pop_at;    /* place of the array in a slot, in units of 8 bytes; 0: none, or split */
	uint32_t free_at;   /* = the map value of the cache's pages */
	uint32_t state;     /* enum dry_cache_state; changes once, by destroy */
	uint32_t flags;

	struct dry_cache *root;  /* who owns the slabs: itself, or the cache that this is an alias of */
	struct dry_cache *next;  /* heap's list, oldest first; guarded by heap->lock */
	struct dry_cache *alias; /* root: list of its aliases through their `alias`; guarded by heap->lock */
	char name[64];
	void (*ctor)(void *);

	/* Debugging only (core/debug_ops.h). A slot: | before | object | red zone | owner | */
	const struct dry_debug_ops *debug; /* NULL: not debugged */
	uint32_t before;                   /* bytes of a slot before its object, a multiple of align */
	uint32_t owner_at;                 /* of the owner from the object; 0: there is none */
	void *kept_first, *kept_last;      /* quarantine, oldest first; guarded by node[0].lock */
	size_t kept_objects;               /* in quarantine, or in that of secure:1; atomic */

	size_t object_size, size, align; /* asked for; slot: distance between objects; alignment */
	uint64_t reciprocal;             /* ceil(2^44 / size): index = offset * reciprocal >> 44 */
	uint32_t num;                    /* objects per slab */
	uint8_t order;                   /* log2 pages per slab */
	uint8_t mgmt;                    /* enum dry_mgmt */
	uint8_t index_width;             /* 1 or 2 bytes, index types */
	bool annotated;                  /* a memory checker is told of its objects; it has no arrays */
	bool split;                      /* two arrays a slot: see alloc_at */
	uint32_t alloc_at;               /* split: place of the packed array that allocations pop; else pop_at */
	bool mergeable;                  /* may get aliases */
	bool orphan;                     /* root: destroyed by name, alive for its aliases; guarded by heap->lock */
	uint32_t colours, colour_unit;   /* offsets 0, unit, ... (colours - 1) * unit, after the lead */
	uint32_t lead;                   /* bytes before the first object that belong to none */
	uint32_t freelist_offset;        /* NORMAL: of the index array from the slab's start, at colour 0 */
	uint32_t waste;                  /* bytes a slab, see dry_cache_stats */
	uint32_t limit, batchcount;      /* of its arrays */
	struct dry_cache *freelist_cache; /* OFF_SLAB: where the index arrays come from */
	_Atomic uint32_t deferred;        /* slabs waiting for a grace period */

	struct dry_node node[]; /* [heap->nodes] */
};

struct dry_heap {
	struct dry_arena arena; /* first: the fast path reads its first fields */

	/* [slot_count], beside slots[]: the areas themselves, or dry_stopped_area where there is none yet */
	char **areas;        /* entries change once, under lock */
	uint32_t slot_count;
	bool stopped;        /* written under lock; all of slots[] is dry_stopped_area */
	uint32_t nodes;
	size_t area_size;    /* bytes of a slot's area */
	struct dry_lock lock;
	struct dry_lock reap_lock; /* one reap, drain or destroy at a time */
	struct dry_cache *caches, **caches_end; /* guarded by lock, as all below */
	size_t cache_count;
	unsigned walks;              /* of the list of caches, under way */
	struct dry_cache *forgotten; /* destroyed while there was a walk: kept until the last one ends; by `alias` */
	uint64_t area_map[DRY_AREA_MAX / DRY_AREA_UNIT / 64]; /* 1: unit in use */
	struct dry_cache *_Atomic general[DRY_GENERAL_CACHES]; /* made at first use */
	struct dry_extents extents;
	_Atomic size_t guarded; /* bytes of guarded blocks (debug/guard.h); a statistic */
	const struct dry_grace *grace;
	struct dry_heap *next; /* list of heaps */
	bool ready;            /* written once, after all else */
	bool is_default;
	char name[32];
	/* the cache that cache structs come from; room for its nodes follows it */
	struct dry_cache cache_cache;
	struct dry_node cache_cache_nodes[DRY_MAX_NODES];
	/* [slot_count], read by the sequences: areas[], or dry_stopped_area throughout while stopped */
	char *slots[];
};

#define DRY_SLOTS_MAX 4096

/* The default heap, with room for its slots. */
struct dry_main {
	struct dry_heap heap;
	char *slots[DRY_SLOTS_MAX];
};

extern DRY_HIDDEN struct dry_main dry_main;
#define dry_main_heap dry_main.heap
extern DRY_HIDDEN char dry_stopped_area[];

/* All heaps; guarded by dry_heaps_lock. */
extern struct dry_heap *dry_heaps;
extern struct dry_lock dry_heaps_lock;

/* A heap's table of slots, as the sequences of percpu.h take it. */
#define DRY_SLOTS(heap) (heap), offsetof(struct dry_heap, slots)

static inline struct dry_array *dry_area_array(char *area, uint32_t at)
{
	return (struct dry_array *)(void *)(area + (size_t)at * 8);
}

/* heap.c */
int dry_heap_init(struct dry_heap *heap, const struct dry_heap_attr *attr);
/* The caller's memory node within the heap; a hint. */
unsigned dry_heap_node(const struct dry_heap *heap);
/* A heap argument of the public interface: NULL means the default heap, made at first use; NULL if that fails. */
struct dry_heap *dry_heap_get(struct dry_heap *heap);
/*
 * To be called now and then when memory was taken: gives back what waits for reuse in exchange for what was taken fresh,
 * so that the process does not grow while it holds memory of no use to it.
 */
void dry_heap_exchange(struct dry_heap *heap);
/* Array caches, shared and alien arrays into the slabs, free slabs into the arena; all, or what was idle. */
void dry_heap_return_objects(struct dry_heap *heap, bool all);
/* Whether no lock of the heap is held: at the end of a process a thread may have been stopped with one. */
bool dry_heap_is_quiet(struct dry_heap *heap);
/* Take and release every lock of the library, for fork. */
void dry_heaps_lock_all(void);
void dry_heaps_unlock_all(bool in_child);

/* slots.c */
bool dry_slot_prepare(struct dry_heap *heap);
int dry_slots_init(struct dry_heap *heap);
void dry_slots_fini(struct dry_heap *heap);
/* A place for an array of the cache in every slot; packed: of at most DRY_MAX_PACKED entries. 0: none left. heap->lock is held. */
uint32_t dry_slot_place_locked(struct dry_cache *cache, bool packed);
void dry_slot_unplace_locked(struct dry_cache *cache, uint32_t at);
/* Stop and start all array caches of the heap; caller holds reap_lock and lock. false: not stopped. */
bool dry_slots_stop_locked(struct dry_heap *heap);
void dry_slots_start_locked(struct dry_heap *heap);

#endif

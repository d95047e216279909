/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Pages: the descriptor of a page, and the arena that hands out runs of pages.
 *
 * An arena is one range of address space, reserved and committed in
 * chunks as it grows (reserve.c). Two arrays run beside it, and a third one for who asks:
 *
 *   pages  |  0  |  1  |  2  |  3  | ...        page_size bytes each
 *   desc   | d0  | d1  | d2  | d3  | ...        struct dry_page, 64 bytes
 *   map    | m0  | m1  | m2  | m3  | ...        uint16_t per 4 KiB granule
 *   side   | s0  | s1  | s2  | s3  | ...        some bytes per 16: what debug knows of blocks
 *
 * The map gives the free path the place of the right array cache in one load;
 * 0 means "not the fast case". (One byte per page with a table behind it was
 * measured slower: docs/design/fast-path.md.) A page of 16 or 64 KiB has 4 or
 * 16 equal entries. As far as `granules` the map can be read at any time.
 *
 * Free runs are kept by a buddy allocator in power-of-two blocks, naturally
 * aligned by address: also where the arena lies over memory of a user and does
 * not begin at a chunk boundary (`skew`). A run may have any number of pages: the
 * tail of its block goes back at once, and one of more than a chunk takes blocks
 * side by side, from the start of a chunk on. A block that has been
 * used since its memory was last given back is dirty; a merge with a dirty
 * block is dirty. Dirty blocks are reused first, and purged after a delay. A
 * chunk that is wholly free and clean is retired: its descriptors and map are
 * purged too, and it is reused before the arena grows.
 *
 * Memory nodes: a chunk belongs to one, which it is placed on when it is committed; its free blocks are on that node's lists,
 * and blocks never reach over a chunk. A retired chunk may become another node's. Over memory of a user nothing
 * is known of nodes, so there is one set of lists.
 *
 * States of a page:
 *
 *   not committed --grow--> free, clean --alloc--> run --free--> free, dirty
 *                             |     ^ ^                              |
 *                       retire|     | +----- purged <-- limbo <------+ collect
 *                             v     | revive                       (lock dropped)
 *                            retired
 *
 * A chunk where others had mapped memory when the arena came there is lost: committed, but nobody's. So are the first pages
 * of a short chunk, which were never reserved: the first one, and those of who may not lock (mlockall) a whole one more.
 *
 * kind != NONE only in the first descriptor of a run or free block; all
 * others are NONE. That is what makes dry_arena_run_of() safe on any pointer.
 *
 * Over memory of a user nothing is ever committed, purged or retired, and every
 * free block is dirty.
 *
 * Concurrency: one lock (rank PAGE) guards the free lists and counts. It is
 * held for the commit of a chunk, and not while memory is purged.
 * Descriptors of a handed-out run belong to the caller.
 *
 * Must not know: what caches, objects and size classes are (a descriptor only has room for what core says of a slab); errno.
 */
#ifndef DRY_PAGE_PAGE_H
#define DRY_PAGE_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <drystone/page_source.h>

#include "port/contract.h"

#define DRY_GRANULE_SHIFT   12
#define DRY_CHUNK_SIZE      ((size_t)4 << 20)
#define DRY_CHUNK_LEAST     ((size_t)64 << 10) /* of one that a limit makes short */
#define DRY_CHUNK_MAX_ORDER 10 /* 4 MiB of 4 KiB pages */
#define DRY_PAGE_NIL        UINT32_MAX

enum dry_page_kind {
	DRY_PAGE_NONE = 0, /* inside a run or block, or not committed */
	DRY_PAGE_FREE,     /* first of a free block */
	DRY_PAGE_RUN,      /* first of a run with no slab in it */
	DRY_PAGE_SLAB,     /* first of a slab */
	DRY_PAGE_KEPT,     /* first of a run that nobody has, and that is not free yet; or of metadata, over memory of a user */
};

#define DRY_PAGE_DIRTY  0x01 /* FREE: memory behind it since last purge; RUN: content undefined */
#define DRY_PAGE_FENCED 0x02 /* its last page faults (struct dry_slab_pages) */
#define DRY_PAGE_GONE   0x04 /* KEPT: all of its pages fault */

/*
 * 64 bytes. For a FREE block or a RUN: order, flags, age, count, next/prev. Who has a run may write to `owner`.
 */
struct dry_page {
	uint8_t kind;   /* enum dry_page_kind; by dry_page_set_kind(), because dry_arena_run_of() looks without a lock */
	uint8_t order;  /* log2 pages of the block */
	uint8_t node;   /* memory node that it lies on; over memory of a user, that it was asked for */
	uint8_t flags;  /* DRY_PAGE_DIRTY and those below it */
	uint32_t count; /* pages in the run or block; likewise */
	union {
		struct {
			uint32_t next; /* list links: page index or DRY_PAGE_NIL */
			uint32_t prev;
			union {
				struct {
					uint64_t age;   /* FREE and dirty: arena tick at which it was freed */
					uint32_t clean; /* FREE: pages without memory behind them, about; = count if and only
							   if not dirty */
				} block;
				struct {
					uint64_t bits[4]; /* run of page/meta.c: 1 = free */
					uint16_t free;    /* bits that are set */
					uint8_t class;
				} pieces;
			};
		};
		uint64_t owner[7]; /* of a SLAB: process/backing_impl.h */
	};
};
_Static_assert(sizeof(struct dry_page) == 64, "a page descriptor is one cache line");

/*
 * relaxed: who looks at a descriptor that is not its own only needs one of the values that it had; whether the
 * page is its own it knows from elsewhere.
 */
static inline unsigned dry_page_kind(const struct dry_page *page)
{
	return __atomic_load_n(&page->kind, __ATOMIC_RELAXED);
}
static inline void dry_page_set_kind(struct dry_page *page, enum dry_page_kind kind)
{
	__atomic_store_n(&page->kind, (uint8_t)kind, __ATOMIC_RELAXED);
}
/* A run that a program frees, or resizes, is its caller's alone from now on, and KEPT; false: another one has it, or had it. */
static inline bool dry_page_claim(struct dry_page *run)
{
	uint8_t kind = DRY_PAGE_RUN;

	/* acquire: what was done to the descriptor before it became a run */
	return __atomic_compare_exchange_n(&run->kind, &kind, DRY_PAGE_KEPT, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}
/* It is a run again. */
static inline void dry_page_unclaim(struct dry_page *run)
{
	__atomic_store_n(&run->kind, DRY_PAGE_RUN, __ATOMIC_RELEASE); /* pairs with the claim */
}
static inline uint32_t dry_page_count(const struct dry_page *page)
{
	return __atomic_load_n(&page->count, __ATOMIC_RELAXED);
}
static inline void dry_page_set_count(struct dry_page *page, uint32_t count)
{
	__atomic_store_n(&page->count, count, __ATOMIC_RELAXED);
}

struct dry_arena_attr {
	void *memory; /* NULL: reserve from the port */
	size_t memory_size;
	size_t reserve;   /* bytes wanted; less is taken if there is no room. Ignored with memory */
	size_t limit;     /* most bytes in use at once; 0: no limit */
	size_t first;     /* bytes reserved at first where it grows; a power of two; 0: a chunk */
	size_t page_size; /* 0: the least */
	unsigned nodes;   /* memory nodes; 0: 1. Ignored with memory */
	const struct dry_page_source *source; /* of the pages, not of the arrays beside them; NULL: the port */
	bool guarded;     /* reserved from the port: between two pages that nobody maps, or that are never committed */
};

/*
 * The page size of an arena for which `wanted` was asked (0: the least). 0: it cannot be. The least is the port's, for its calls
 * take whole pages; 4096 over memory that a user handed in: no page of it is ever committed or purged.
 */
size_t dry_arena_page_size(size_t wanted, const void *memory);

#define DRY_ARENA_LIMBO 32

/* An array beside the pages, committed from its start as the arena grows; between pages as those of `guarded`. */
struct dry_arena_array {
	void *start;
	size_t reserved, committed; /* bytes, multiples of the port's page size */
};

struct dry_arena_block {
	uint32_t index;
	uint32_t order;
};

/* The free blocks of a node, by [dirty] and order. */
struct dry_arena_lists {
	uint32_t nonempty[2];                      /* bit per order with a block */
	uint32_t head[2][DRY_CHUNK_MAX_ORDER + 1]; /* page index or NIL */
	uint32_t tail[2][DRY_CHUNK_MAX_ORDER + 1]; /* the oldest */
};

/*
 * The equations:
 *   used + free_dirty + free_clean + limbo_pages + lost = committed (retired chunks count as clean)
 *   dirty_clean = the sum of `clean` over the dirty blocks
 *   free_clean + dirty_clean = the sum of `clean` over all free blocks + pages of retired chunks
 *   committed <= reserved <= pages
 *   used + charged <= limit_pages
 *   along each dirty list, from head to tail, age does not grow
 *   no two free blocks are buddies of each other
 *   a free block is on the lists of its chunk's node
 */
struct dry_arena {
	/* immutable after init; the fast path reads the first three */
	uintptr_t base;  /* first byte; aligned to DRY_CHUNK_SIZE where reserved from the port */
	size_t granules; /* that the map covers; grows with the lock held, read by dry_arena_granules() */
	uint16_t *map;   /* map[(ptr - base) >> DRY_GRANULE_SHIFT] */
	struct dry_page *desc;
	uint8_t *chunk_end; /* of the chunks' bytes; their array grows downwards */
	uint32_t pages; /* the most that there can be; immutable but for dry_arena_give_up() of a whole reservation */
	uint32_t skew;  /* pages from the chunk boundary at or below base to base */
	uint8_t page_shift;
	uint8_t max_order;  /* of a chunk */
	uint8_t nodes;
	bool owns_memory;   /* false: over memory that a user handed in: never committed, purged, released */
	bool guarded;       /* as in the attribute */
	bool window;        /* reserved as it grows */
	struct dry_page_source source; /* reserve NULL: the port */
	size_t limit_pages; /* SIZE_MAX: none */

	/* Written with the lock held (release, after desc is usable); read by dry_arena_run_of (acquire). */
	_Atomic uint32_t committed; /* pages; they are the first ones; whole chunks if owns_memory */

	/* Pages handed out clean since dry_arena_balance() was last called. A hint for when to call it again. */
	_Atomic size_t fresh;

	_Atomic size_t blank; /* pages of runs that fault: fences, and slabs that are gone (debug/fence.h) */

	/* guarded by lock */
	struct dry_lock lock;
	uint32_t reserved;                              /* pages up to the end of the reservation */
	uint32_t missing;                               /* first pages of the next chunk that are not reserved: it is short */
	uint32_t front;                                 /* a short chunk that may grow at its front; DRY_PAGE_NIL: none */
	size_t give_at;                                 /* free_dirty from which on chunks are looked for that can be given up */
	bool ready;                                     /* the next chunk, the last that is reserved, is committed already */
	size_t used, free_dirty, free_clean, lost;      /* pages */
	size_t dirty_clean;                             /* of free_dirty: without memory behind them, about */
	size_t counted;                                 /* pages of it in page/budget.h's count; 0: is not counted */
	size_t charged;                                 /* pages of others that count against the limit */
	uint64_t purged;                                /* pages, since the start */
	uint64_t tick;                                  /* grows by one with each dry_arena_decay() */
	uint32_t retired, gone;                         /* chunks retired; given up, which are lost until they are had again */
	uint32_t retired_hint;                          /* no retired chunk below this one */
	uint32_t collapse_next;                         /* chunk that dry_arena_collapse() looks at next */
	struct dry_arena_lists lists;                   /* of node 0 */
	struct dry_arena_lists *more;                   /* [nodes - 1], of the others; NULL: there are none */
	uint32_t ahead;                                 /* pages that get memory at once while the heap grows; 0 or 1: none */
	uint32_t huge;                                  /* pages of a huge page; 0: there is none to be had */
	bool no_ahead, no_huge;                         /* the system refused it since the last dry_arena_decay() */
	size_t inherited;                               /* pages that there were when the process was forked; 0: it was not */
	uint32_t limbo_count;                           /* blocks being purged right now: on no list, kind NONE */
	size_t limbo_pages;
	struct dry_arena_block limbo[DRY_ARENA_LIMBO];
	struct dry_arena_array desc_array, map_array, chunk_array; /* reserved 0: user's memory */
	struct dry_arena_array side_array; /* reserved 0: nobody asked for it */
	uint8_t side;                      /* bytes of it for each 16 of the pages */
};

/* 0; -EINVAL: bad page size, memory too small; -ENOMEM. */
int dry_arena_init(struct dry_arena *arena, const struct dry_arena_attr *attr);
/*
 * Where address space, or what is promised or locked, is short: give up what the arena does not use, for others to map. Of one in a
 * window `size` bytes or what there is: of the reservation what was never used, then chunks that are wholly free; it takes these
 * again when it grows, if nobody else has. Of another one `size` bytes of the former, or nothing. The map still covers them,
 * as "not ours". What another thread purges is waited for: it is given up by that. false: there are none.
 */
bool dry_arena_give_up(struct dry_arena *arena, size_t size);
/*
 * From now on there is an array beside the pages with `width` bytes for each 16 of those that are committed, zero at first
 * and where memory was given back. Called once. NULL: no room.
 */
void *dry_arena_add_side(struct dry_arena *arena, unsigned width);
/* Everything back to the port. */
void dry_arena_fini(struct dry_arena *arena);

/*
 * In the child of a fork, whose forking thread holds the arena's lock: takes back what another
 * thread of the parent was purging at that moment.
 */
void dry_arena_after_fork(struct dry_arena *arena);
/*
 * In the child, of its only thread, whatever that was doing: what there is says nothing of what the child is going to need. With a
 * huge page for the first slab that each takes, eight processes of a server had 2 MiB more each, a third of all that they had.
 */
void dry_arena_inherit(struct dry_arena *arena);

/* relaxed: who has a pointer to what was reserved later has got it from who saw that */
static inline size_t dry_arena_granules(const struct dry_arena *arena)
{
	return __atomic_load_n(&arena->granules, __ATOMIC_RELAXED);
}
static inline bool dry_arena_contains(const struct dry_arena *arena, const void *ptr)
{
	return ((uintptr_t)ptr - arena->base) >> DRY_GRANULE_SHIFT < dry_arena_granules(arena);
}
static inline void *dry_arena_address(const struct dry_arena *arena, uint32_t index)
{
	return (void *)(arena->base + ((uintptr_t)index << arena->page_shift));
}
static inline uint32_t dry_arena_index(const struct dry_arena *arena, const void *ptr)
{
	return (uint32_t)(((uintptr_t)ptr - arena->base) >> arena->page_shift);
}
static inline uint32_t dry_arena_index_of(const struct dry_arena *arena, const struct dry_page *page)
{
	return (uint32_t)(page - arena->desc);
}
/* Its first byte. */
static inline void *dry_arena_start(const struct dry_arena *arena, const struct dry_page *page)
{
	return dry_arena_address(arena, dry_arena_index_of(arena, page));
}
/*
 * First page of the naturally aligned block of 2^order pages around a page. Blocks are
 * aligned by address, and over a user's memory the arena may begin at any page.
 */
static inline uint32_t dry_arena_block_start(const struct dry_arena *arena, uint32_t index, unsigned order)
{
	return ((index + arena->skew) >> order << order) - arena->skew;
}

/*
 * A run of `count` pages, its address aligned to `align_pages` pages (a power of
 * two; block alignment comes for free: a count that is a power of two is aligned
 * to itself, up to a chunk). Result: the
 * first descriptor, kind RUN, count set, DIRTY unless the content is known to
 * be zero, map entries 0. It lies on memory node `node` (< nodes), or where there is none to be had, on another: node
 * of the descriptor tells; of more than a chunk, on any. NULL: limit reached, or the port has no memory.
 */
struct dry_page *dry_arena_alloc(struct dry_arena *arena, uint32_t count, uint32_t align_pages, unsigned node);

/* The same of 2^order pages, aligned to their size; slabs: so many its cache has, a hint. */
struct dry_page *dry_arena_alloc_slab(struct dry_arena *arena, unsigned order, unsigned node, size_t slabs);

/* Pages of others that shall count against the limit; negative: that no longer do. false: beyond the limit. */
bool dry_arena_charge(struct dry_arena *arena, ptrdiff_t pages);

/* Give a run back (first descriptor, any kind but FREE/NONE). Clears its map entries. */
void dry_arena_free(struct dry_arena *arena, struct dry_page *page);

/* It is nobody's from now on, as after a free, until who calls this frees it. Its memory may be touched no more. */
void dry_arena_keep(struct dry_arena *arena, struct dry_page *page);

/*
 * Whether nothing lies in a chunk but runs that are kept; and such a chunk becomes others', where nobody else has any of these,
 * which are linked by `next`. false: it is as it was. Their memory need not be there.
 */
bool dry_arena_holds_kept_only(struct dry_arena *arena, uint32_t chunk);
bool dry_arena_give_up_kept(struct dry_arena *arena, uint32_t chunk, uint32_t first);

/* How pages of slabs are had where they shall not simply lie side by side: 2^order aligned to their size, perhaps more. */
struct dry_slab_pages {
	struct dry_page *(*alloc)(struct dry_arena *arena, unsigned order, unsigned node);
	void (*free)(struct dry_arena *arena, struct dry_page *run);
	bool (*let_go)(struct dry_arena *arena); /* free what was given back and is kept still. false: there was none */
};

/* Give the pages from `count` on back; the run keeps its first `count` (>= 1). */
void dry_arena_trim_run(struct dry_arena *arena, struct dry_page *page, uint32_t count);

/* Let the run have `count` pages, more than it has, where it is. false: there is no room. Its map entries must be 0. */
bool dry_arena_extend_run(struct dry_arena *arena, struct dry_page *page, uint32_t count);

/* Set the map entries of a run. */
void dry_arena_set_map(struct dry_arena *arena, const struct dry_page *page, uint16_t value);

/*
 * The run (RUN or SLAB) that a pointer lies in; NULL if it lies in none. Safe on any
 * address; the answer is stable only if the caller owns the run.
 */
struct dry_page *dry_arena_run_of(const struct dry_arena *arena, const void *ptr);

/*
 * One tick: purge blocks that were dirty for at least `age` ticks. Pages purged; 0 over a user's memory, of which none ever goes
 * back. Purging happens outside of the lock.
 */
size_t dry_arena_decay(struct dry_arena *arena, unsigned age);

/*
 * Against `pages` that were taken without memory behind them: purge about as many, the biggest blocks first,
 * until `keep` pages and a quarter of what is in use are left dirty. Pages purged.
 */
size_t dry_arena_balance(struct dry_arena *arena, size_t pages, size_t keep);

/* Purge everything that is free at the call. Pages purged. */
size_t dry_arena_purge_all(struct dry_arena *arena);

/* What is committed is so once more: what that gives to memory has changed (tags). */
void dry_arena_commit_again(struct dry_arena *arena);

/* Verify the equations, the lists and the descriptors. NULL, or the name of what does not hold. */
const char *dry_arena_check(struct dry_arena *arena);

#endif

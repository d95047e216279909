/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * drystone.h - typed object caches and general allocation.
 *
 * A heap owns address space. A cache hands out objects of one size from slabs
 * of that heap; a per-CPU array of free objects stands in front of it. General
 * allocation (dry_alloc) is a set of caches in graded sizes plus page runs and
 * extents for big blocks.
 *
 * Conventions, unless a function says otherwise:
 *  - Sizes and alignments are in bytes; an alignment is a power of two.
 *  - Every function may be called by any thread at any time, except that an
 *    object, cache or heap must not be used while or after it is destroyed.
 *    None is async-signal-safe.
 *  - A `heap` argument of NULL means the default heap, the one that malloc()
 *    uses when drystone replaces it.
 *  - Functions that a program hands in (constructors, callbacks, page sources) return: they neither throw nor jump out.
 *  - A function that returns a pointer fails with NULL and sets errno; one
 *    that returns int fails with a negative errno value and leaves errno alone.
 *  - A corrupt argument (double free, pointer never given out, ...) is one
 *    line on standard error and abort(). DRYSTONE_CONF=abort:0 makes it a
 *    warning where going on is safe.
 */
#ifndef DRYSTONE_DRYSTONE_H
#define DRYSTONE_DRYSTONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <drystone/page_source.h>

#ifdef __cplusplus
#ifdef __GNUC__ /* a struct and the function that fills it have one name */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif
extern "C" {
#endif

#define DRY_VERSION_MAJOR 0
#define DRY_VERSION_MINOR 1
#define DRY_VERSION_PATCH 0

/*
 * Calls through the global offset table at once, not through an entry of the procedure linkage table:
 * one jump less for programs linked to the shared library, nothing for those linked statically. A kernel has no such table.
 */
#if defined(__has_attribute) && !defined(__KERNEL__)
#if __has_attribute(noplt)
#define DRY_DIRECT_CALL __attribute__((noplt))
#endif
#endif
#ifndef DRY_DIRECT_CALL
#define DRY_DIRECT_CALL
#endif

/* What a compiler may know: nothing points to the result, nor its content anywhere; its size is argument `n`; it is to be used. */
#if defined(__GNUC__)
#define DRY_RETURNS_NEW   __attribute__((malloc, warn_unused_result))
#define DRY_RETURNS_SIZE(n) __attribute__((alloc_size(n)))
#define DRY_NODISCARD     __attribute__((warn_unused_result))
#else
#define DRY_RETURNS_NEW
#define DRY_RETURNS_SIZE(n)
#define DRY_NODISCARD
#endif

typedef struct dry_heap dry_heap;
typedef struct dry_cache dry_cache;

/* The library's version, "MAJOR.MINOR.PATCH". Never fails. */
const char *dry_version(void);

/* ---- heaps ------------------------------------------------------------ */

/* Storage that a grace-period provider may use for one deferred call. */
struct dry_grace_head {
	void *opaque[2];
	void (*func)(struct dry_grace_head *head);
};

/*
 * Grace periods, for caches with DRY_CACHE_TYPESAFE_BY_RCU. `call` arranges
 * for func(head) to run once every reader that was inside a read-side critical
 * section at the time of the call has left it; it must not block and must not
 * allocate from the same heap. `barrier` returns when all calls made so far
 * have run. Both get `arg`. With liburcu: call_rcu() and rcu_barrier().
 */
struct dry_grace {
	void (*call)(void *arg, struct dry_grace_head *head, void (*func)(struct dry_grace_head *head));
	void (*barrier)(void *arg);
	void *arg;
};

/*
 * How a heap is made. Zero-initialise, then set what matters. With `memory` or a limit, a heap has no big blocks beside
 * its arena: a block may be as large as the memory side by side that is free behind a multiple of its size, rounded up to a
 * power of two (of 4 MiB, if it is bigger), and grows there if it can (in libdrystone-tiny it moves). All that belongs to a heap
 * over `memory` lies in it, and nothing else is taken; it must not be memory that other processes map, too.
 */
struct dry_heap_attr {
	const char *name;              /* for reports; copied, at most 31 bytes kept; NULL: "heap" */
	void *memory;                  /* use only this memory; NULL: take from the system */
	/*
	 * Bytes at `memory`, at least 256 KiB; libdrystone-tiny: 2 KiB. With page_size 65536 use 512 KiB at least: a heap of less
	 * may be made, and have no page left for blocks.
	 */
	size_t memory_size;
	size_t limit;                  /* most bytes of pages in use at once, to the page; 0: no limit */
	size_t page_size;              /* 4096, 16384 or 65536, the system's at least; with `memory` any. 0: the least */
	unsigned nodes;                /* memory nodes, 1 to 8; 0: as many as the system has */
	const struct dry_grace *grace; /* must outlive the heap; NULL: no typesafe caches */
	/* Where the pages of blocks come from; copied; not together with `memory`. NULL: the system. Not for libdrystone-tiny. */
	const struct dry_page_source *source;
};

/*
 * Make a heap. attr may be NULL (all defaults). NULL and errno: EINVAL (bad
 * attribute), ENOMEM.
 */
DRY_NODISCARD dry_heap *dry_heap_create(const struct dry_heap_attr *attr);

/*
 * Destroy a heap and everything in it; its memory goes back at once, whether
 * or not objects are still allocated, and no dtor runs: who wants that destroys the caches before. Caches with a page
 * source of their own are not in it: they stay as they are. Waits for deferred frees. 0, or -EINVAL for the default heap,
 * and after a report for one that is gone.
 */
int dry_heap_destroy(dry_heap *heap);

/* The heap that a NULL argument means. Never NULL. */
dry_heap *dry_heap_default(void);

/*
 * One step of housekeeping: shrinks per-CPU arrays that were not used since
 * the last call, frees slabs that stayed unused, returns pages that stayed free.
 * The default heap does it by itself (with libdrystone-noverride in calls
 * alone, and leaving the arrays: a program that may be idle calls this);
 * for others call it every second or two.
 */
void dry_heap_reap(dry_heap *heap);

/* Return to the system all that is free, at once. The number of bytes returned. */
size_t dry_heap_trim(dry_heap *heap);

/*
 * Verify every equation of the heap's structures. 0, or -EFAULT after a line
 * on standard error that names the first inconsistency. The heap's caches must
 * be quiet meanwhile (no concurrent calls), else it may report a false one.
 */
int dry_heap_check(dry_heap *heap);

/* Figures of a heap, in bytes unless named otherwise; the default one has what a profile sampled, too. A snapshot, not atomic. */
struct dry_heap_stats {
	size_t reserved;       /* address space */
	size_t in_use;         /* pages handed out to slabs and runs */
	size_t extents;        /* big blocks outside the arena */
	size_t guarded;        /* of extents: blocks between pages that fault */
	size_t dirty;          /* free pages that still hold memory */
	size_t idle;           /* of in_use: in slabs, but of no object that is handed out; libdrystone-tiny: 0 */
	size_t metadata;       /* pages of what the allocator itself keeps, tables of the arena aside */
	size_t caches;         /* number of caches, aliases not counted */
	size_t slots;          /* number of per-CPU (or per-thread) slots */
	uint64_t allocs;       /* allocations from caches since the start; libdrystone-tiny does not count: 0 */
	uint64_t slow_allocs;  /* those that could not be served from a per-CPU array */
	uint64_t slow_frees;   /* frees that found the per-CPU array full */
	/* libdrystone-tiny: 0 */
	uint64_t failures;     /* allocations, of big blocks too, for which there was no memory */
	uint64_t reaps;        /* rounds of housekeeping, for whatever reason */
	uint64_t purged;       /* bytes of free memory that went back to the system */
};
int dry_heap_stats(dry_heap *heap, struct dry_heap_stats *stats);

/* ---- caches ----------------------------------------------------------- */

/* Cache flags: dry_cache_attr.flags. */
#define DRY_CACHE_HWALIGN          0x0001u /* align objects to the cache line (64 bytes) */
#define DRY_CACHE_NO_MERGE         0x0002u /* never share slabs with a like cache */
#define DRY_CACHE_TYPESAFE_BY_RCU  0x0004u /* memory stays of this type until a grace period has passed */
/*
 * Debugging, each also by a letter of DRYSTONE_CONF=debug: (drystone(7)), which needs no change of the program. Such a
 * cache has no per-CPU arrays. A write to where it must not be is reported when the object is next freed or allocated.
 */
#define DRY_CACHE_POISON           0x0008u /* P: fill free objects with a pattern and verify it; not with a
                                              constructor, a destructor or TYPESAFE_BY_RCU */
#define DRY_CACHE_RED_ZONE         0x0010u /* Z: bytes on both sides of each object that nobody may write */
#define DRY_CACHE_STORE_USER       0x0020u /* U: who allocated an object and who freed it, with their stacks */
#define DRY_CACHE_CHECKS           0x0040u /* F: the equations of a slab verified at each step */
#define DRY_CACHE_TRACE            0x0080u /* T: a line on standard error for each allocation and free */
#define DRY_CACHE_QUARANTINE       0x20000u /* Q: freed objects are not reused at once; up to 1024 of them, 256 KiB in all */
#define DRY_CACHE_DEBUG            0x200f8u /* all of them */
/*
 * Management type, at most one; default: the zero-waste choice. The first four
 * are the published ones (see docs/design/slab-management.md); each fails with
 * EINVAL where the cache cannot have it.
 */
#define DRY_CACHE_OBJFREELIST      0x0100u /* index array inside a free object */
#define DRY_CACHE_NORMAL           0x0200u /* index array in the slab */
#define DRY_CACHE_OFF_SLAB         0x0300u /* index array in an object of another cache */
#define DRY_CACHE_BITMAP           0x0400u /* bitmap in the page descriptor, at most 256 objects a slab */
#define DRY_CACHE_CHAIN            0x0500u /* links through free objects */
#define DRY_CACHE_PUBLISHED        0x0600u /* whichever of the first three the published order gives */
#define DRY_CACHE_TYPE_MASK        0x0f00u
/*
 * Whose the bits of the flags are, all in one place: 0 to 11 and 17 are above; 0x0700 and 12 to 15 are of experiment.h; 16 is
 * of kmem.h; 24 to 31 are the library's own, and refused from outside.
 */

struct dry_cache_attr {
	/* Required, not empty; copied, at most 63 bytes kept. Listings show '_' for blanks, '?' for all but visible ASCII. */
	const char *name;
	size_t size;               /* object size, 1 to 4194304 */
	size_t align;              /* 0: 16 if the size is a multiple of 16, else 8; a power of two up to 65536 */
	unsigned flags;            /* DRY_CACHE_* */
	/*
	 * Run once per object: ctor when its slab is made, dtor when that is given back (after the grace period of a
	 * TYPESAFE_BY_RCU cache); objects that are there when the heap is destroyed get no dtor, handed out or free.
	 * Objects must be freed in constructed state. A dtor may run in any thread that allocates or frees, or does
	 * housekeeping, of whichever heap. Both may allocate and free blocks, and objects of other caches, in this heap, too,
	 * and call nothing else of the library. Both get `arg`.
	 */
	void (*ctor)(void *object, void *arg);
	void (*dtor)(void *object, void *arg);
	void *arg;
	/*
	 * Called when an allocation of this heap finds no memory: give back what you can, objects of whatever cache, at least
	 * `bytes` if there are as many; returns about how many. It runs in the thread that allocates, which may hold
	 * locks of the program's own, but none of the library's; it may free and, with care, allocate (then it is not
	 * called again). Another thread that finds no memory meanwhile waits until it is done, two seconds at most, and tries
	 * again: it must not wait for locks that are held around allocations. NULL: none.
	 */
	size_t (*reclaim)(void *arg, size_t bytes);
	/*
	 * Where the slabs come from (page_source.h); copied. The cache then has a heap of its own, made and destroyed with
	 * it, under its name; the listing and walks of `heap` do not show it, its limit does not hold for it, and destroying
	 * `heap` leaves it. NULL: the heap's. Not for libdrystone-tiny.
	 */
	const struct dry_page_source *source;
	unsigned limit;            /* objects in each per-CPU array, 1 to 512; 0: by size */
};

/*
 * Make a cache. Unless NO_MERGE, a constructor, a management type or
 * debugging is asked for, a like cache may lend its slabs; the new cache then is an alias with a
 * name of its own. NULL and errno: EINVAL (attribute out of range, NULL name,
 * TYPESAFE_BY_RCU in a heap without grace hook, POISON with a constructor, a
 * destructor or TYPESAFE_BY_RCU, a type that the cache cannot have), ENOMEM.
 */
DRY_NODISCARD dry_cache *dry_cache_create(dry_heap *heap, const struct dry_cache_attr *attr);

/*
 * Destroy a cache. 0; -EBUSY if objects are still allocated: then one line on
 * standard error names the cache and the count, and the cache stays usable. An
 * alias is only taken off the list, and so is a cache that has aliases, objects or not: those then are of the aliases, to be freed
 * by them, and the last one to be destroyed gets the -EBUSY. Who counts on -EBUSY asks for NO_MERGE. What was destroyed
 * with 0 is not to be used again, which is reported of the last 16 of a heap. NULL is ignored. If its `reclaim` runs in another
 * thread, waits until that is done: hold no lock that it waits for. Within a `reclaim` of the same heap it does not wait, and what
 * `arg` points to must outlive the call.
 */
int dry_cache_destroy(dry_cache *cache);

/*
 * An object, its content undefined (or as constructed: then it may point to itself, which DRY_RETURNS_NEW would deny). NULL and
 * errno ENOMEM.
 */
DRY_DIRECT_CALL DRY_NODISCARD void *dry_cache_alloc(dry_cache *cache);

/*
 * The same, on a memory node if there is memory on it: 0 to 7, in the numbers of the heap's nodes. It takes the slow path.
 * Of libdrystone-tiny-check, not libdrystone-tiny.
 */
DRY_NODISCARD void *dry_cache_alloc_node(dry_cache *cache, unsigned node);

/* A zeroed object; on a cache with constructor NULL and errno EINVAL. */
DRY_RETURNS_NEW void *dry_cache_zalloc(dry_cache *cache);

/* Give an object back. NULL is ignored. errno is kept. */
DRY_DIRECT_CALL void dry_cache_free(dry_cache *cache, void *object);

/* n objects at once: all (returns n) or none (returns 0, errno ENOMEM). */
size_t dry_cache_alloc_bulk(dry_cache *cache, size_t n, void **objects);

/* The same, zeroed; on a cache with constructor 0 and errno EINVAL. Of libdrystone-tiny-check, not libdrystone-tiny. */
size_t dry_cache_zalloc_bulk(dry_cache *cache, size_t n, void **objects);

/* Free n objects at once. */
void dry_cache_free_bulk(dry_cache *cache, size_t n, void **objects);

/*
 * Reserve: make sure that the next n allocations from this cache, by whatever
 * thread, succeed without memory from the system. 0 or -ENOMEM (then nothing more
 * is reserved than before). What an earlier call reserved and is not used yet counts: two calls reserve
 * the bigger of both, not the sum. Unused reserve stays through shrink and trim; prefill of 0 ends it. It is for a cache
 * with NO_MERGE: others that share its slabs may use what is reserved.
 */
int dry_cache_prefill(dry_cache *cache, size_t n);

/* Empty all per-CPU arrays and give free slabs back. The number of slabs freed. */
size_t dry_cache_shrink(dry_cache *cache);

/* As dry_heap_check(), for one cache. */
int dry_cache_check(dry_cache *cache);

/* How a cache keeps track of the free objects of a slab. */
enum dry_mgmt { DRY_MGMT_OBJFREELIST, DRY_MGMT_NORMAL_LEFTOVER, DRY_MGMT_OFF_SLAB,
		DRY_MGMT_NORMAL_DEDICATED, DRY_MGMT_BITMAP, DRY_MGMT_CHAIN };

/* Figures of a cache. A snapshot, not atomic. */
struct dry_cache_stats {
	const char *name;       /* valid while the cache lives */
	size_t object_size;     /* as asked for */
	size_t stride;       /* distance between objects */
	size_t align;
	unsigned flags;
	enum dry_mgmt mgmt;
	unsigned objects_per_slab; /* libdrystone-tiny: the most, slabs grow as they are needed; and so are pages_per_slab */
	unsigned pages_per_slab;
	unsigned colours;       /* distinct colour offsets */
	size_t waste;           /* bytes per slab that management takes from objects or other caches */
	unsigned limit, batchcount, shared; /* tunables */
	unsigned aliases;       /* further names */
	size_t active_objects;  /* handed out to the program */
	size_t objects;         /* in all slabs */
	size_t active_slabs;    /* slabs with at least one object out of the slab */
	size_t slabs;
	size_t shared_objects;  /* in the nodes' shared arrays, and in local ones */
	size_t cached_objects;  /* in per-CPU arrays, local, shared and alien arrays */
	uint64_t allocs, slow_allocs, slow_frees;
	uint64_t node_locks;    /* times that a node's lock was taken for slabs: refill, flush, attach */
	uint64_t shared_locks;  /* batches that went into or came out of local, shared and alien arrays */
	/* libdrystone-tiny: 0 */
	uint64_t node_waits;    /* of node_locks, those that found the lock held */
	uint64_t slabs_made;    /* since the start */
	size_t peak_slabs;      /* the most slabs at a time; a sum over nodes */
	uint64_t remote_frees;  /* objects that were freed on another memory node than theirs */
	uint64_t failures;      /* allocations for which there was no memory */
};
/* 0, or -EINVAL: another thread has destroyed the cache since dry_heap_for_each_cache() came to it. */
int dry_cache_stats(dry_cache *cache, struct dry_cache_stats *stats);

/*
 * Call fn for every cache of the heap, oldest first, until it returns non-zero;
 * returns that. fn must not create or destroy caches.
 */
int dry_heap_for_each_cache(dry_heap *heap, int (*fn)(dry_cache *cache, void *arg), void *arg);

/* ---- general allocation ---------------------------------------------- */

/*
 * size bytes, aligned to two pointers (16; 8 with 32 bits, or below size 16), and naturally for
 * powers of two up to 4096. Size 0 gives a unique pointer. NULL and errno ENOMEM.
 */
DRY_RETURNS_NEW DRY_RETURNS_SIZE(2) void *dry_alloc(dry_heap *heap, size_t size);
DRY_RETURNS_NEW DRY_RETURNS_SIZE(2) void *dry_zalloc(dry_heap *heap, size_t size);

/* As dry_alloc with an alignment; EINVAL if it is not a power of two. */
DRY_RETURNS_NEW DRY_RETURNS_SIZE(3) void *dry_alloc_aligned(dry_heap *heap, size_t align, size_t size);

/*
 * Change the size of a block, moving it if need be; the common part of the
 * content is kept. On failure NULL, errno ENOMEM, and the old block is untouched.
 * object NULL: as dry_alloc.
 */
DRY_NODISCARD DRY_RETURNS_SIZE(3) void *dry_realloc(dry_heap *heap, void *object, size_t size);

/* Free what one of the four above gave. NULL is ignored. errno is kept. */
void dry_free(dry_heap *heap, void *object);

/*
 * Bytes usable at object, at least those asked for; constant for its life. 0 for NULL. A figure: compilers hold a block for as big
 * as was asked (DRY_RETURNS_SIZE), and with _FORTIFY_SOURCE a memset() beyond that ends the process. Who wants all of it asks for
 * it, by dry_realloc(heap, object, dry_usable_size(heap, object)), which leaves it in place unless debugging or `secure` is on.
 */
size_t dry_usable_size(dry_heap *heap, const void *object);

/*
 * Who holds the live objects of the caches with DRY_CACHE_STORE_USER: the stacks that allocated them, those with most
 * bytes first, in pieces to write(arg, text, bytes). *objects and *bytes (where not NULL) are their sums.
 */
void dry_heap_owners(dry_heap *heap, void (*write)(void *arg, const char *text, size_t bytes), void *arg,
		     size_t *objects, size_t *bytes);

/*
 * Guard a sample of the default heap's allocations, general ones and objects of its caches, on average every mean-th one: an access
 * beyond such a block, or after its free, is reported where it happens. 0: no more. As DRYSTONE_CONF=guard:1 at start.
 * 0; -ENOMEM; -EAGAIN: there are other threads, and the kernel refuses to interrupt them (membarrier, under a filter), or, in the
 * POSIX port, one of them was interrupted in the allocator and got no turn for 0.1 s; none are guarded then. -EOPNOTSUPP: not
 * together with the options debug, fail or leaks_file, nor under a memory checker.
 */
int dry_guard(size_t mean);

/*
 * A heap profile of the default heap's allocations, general ones and objects of its caches: on average one every `mean` bytes is
 * noted with its stack. 0: no more are. While there are samples the first mean stays. As DRYSTONE_CONF=profile:BYTES at start. 0;
 * -ENOMEM; -EAGAIN as dry_guard(); -EOPNOTSUPP: not together with the options debug, fail, leaks_file or secure, nor under a memory
 * checker.
 */
int dry_profile_heap(size_t mean);

/*
 * Write it to a file that pprof reads, and `drystone profile`; %p in its name is the number of the process. 0; -EIO; -EINVAL: the
 * name is NULL.
 */
int dry_profile_write(const char *path);

/*
 * The cache-listing of /proc/slabinfo 2.1: write(arg, text, bytes) gets it in pieces, and may allocate. Other threads may
 * create and destroy caches meanwhile.
 */
void dry_heap_slabinfo(dry_heap *heap, void (*write)(void *arg, const char *text, size_t bytes), void *arg);

#ifdef __cplusplus
}
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
#endif
#endif

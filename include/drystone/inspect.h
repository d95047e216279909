/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * inspect.h - how a reader outside of the process finds a heap's figures.
 *
 * The library holds one constant, `dry_inspect`. It says where the list of
 * heaps starts and at which offset each field lies that a reader needs, so that a
 * reader built with another version of the library still reads the right bytes,
 * or sees from `version` that it cannot.
 *
 *   dry_inspect.heaps -> struct dry_heap * -> heap -> heap -> NULL      by heap_next
 *                          heap -> cache -> cache -> NULL               by heap_caches, cache_next
 *                          cache: node[0], node[1], ...                 inline at cache_nodes,
 *                                                                       node_size bytes each
 *   array of a cache in slot s:  area = ((char **)heap_slot_table)[s]; where area is not stopped_area:
 *                                area + cache_array * array_unit
 *   heap -> arena[i]                                                   inline at heap_arenas, arena_size bytes each
 *   arena -> descriptors of pages [0, arena_committed)                 by arena_desc, page_size bytes each
 *   heap -> extents: a table of live ones, an array of kept ones       by extents_*
 *   guards -> guarded blocks, the default heap's: a table              by guards_*, guard_size bytes each
 *
 * The figures of a cache (sums over the heap's nodes; arrays over the heap's slots):
 *   num_objs     = sum(slabs) * num
 *   active_objs  = num_objs - sum(free_objects + shared_avail) - sum(avail of alien and local depots) - sum(avail of arrays)
 *   of a node: node_alien points to `heap_nodes` alien depots, then `locals` local ones, depot_size bytes each (NULL: none)
 *   num_slabs    = sum(slabs)
 *   active_slabs = sum(slabs - free_slabs)
 *   allocations  = sum(slow_allocs + bulk_allocs + pops_apart) + sum(pops that words count): see avail_bits
 *
 * The pages of an arena (base 0: it is not in use). The first descriptor of a run or free block says which kind it
 * is and how many pages it has; those inside are of another kind than page_free, page_run and page_slab. A slab's says
 * whose it is. A run is a big block of the program. In a heap without an arena of metadata (over memory that it was
 * given) it may hold metadata instead: then a cache, an area of a slot, depots or a depot's array lie in it.
 *
 * Concurrency: the process goes on while it is read. Any value may be from another
 * moment than its neighbour, and a cache may vanish between two reads. A reader bounds
 * every loop, believes no value, and clamps results to 0.
 *
 * Finding it: look the symbol DRY_INSPECT_SYMBOL up in the ELF objects that /proc/PID/maps
 * names; in a stripped static program, scan its data for the magic.
 */
#ifndef DRYSTONE_INSPECT_H
#define DRYSTONE_INSPECT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DRY_INSPECT_SYMBOL  "dry_inspect"
#define DRY_INSPECT_MAGIC   "DRYSTONE-LAYOUT" /* 15 characters and the NUL */
#define DRY_INSPECT_VERSION 15u /* grows when a field changes its meaning or place in this struct */

/* An integer, pointer, char array or inline struct array. size in bytes. */
struct dry_inspect_field {
	uint32_t offset;
	uint32_t size; /* integers: 1, 2, 4 or 8. 0: the library has no such field */
};
#define DRY_INSPECT_FIELD(type, member) \
	{ (uint32_t)offsetof(type, member), (uint32_t)sizeof(((type *)0)->member) }

/*
 * The heap profile: sites stand one after the other at `sites`, `used` bytes of them, each `bytes` long. What is counted is
 * samples: of blocks of s bytes (as served) each has come in with probability 1 - exp(-s / mean), so that each stands for
 * 1 / (1 - exp(-s / mean)) of them.
 *
 * Who may write to the process may ask for something by `request`: a mean of bytes between two samples, or one of the
 * values below. It is 0 again when that is done, which is when an allocation of malloc next goes the slow way. So that the next one
 * does, they write 0 to the size_t at `limit` before `request`, which is taken back then.
 */
struct dry_inspect_profile {
	uint64_t mean;   /* bytes between two samples, on average; 0: there was never one */
	uint64_t sites;  /* address; 0: there are none */
	uint64_t used;
	uint64_t lost;   /* samples that no site could be had for */
	uint32_t request;
	uint32_t on;     /* 1: samples are taken */
	uint64_t limit;  /* address; 0: there is none, or none yet */
};
#define DRY_INSPECT_PROFILE_OFF   UINT32_MAX
#define DRY_INSPECT_PROFILE_WRITE (UINT32_MAX - 1) /* to the file of option profile_file */

struct dry_inspect_site {
	uint32_t bytes;  /* of this struct with its frames */
	uint32_t frames; /* return addresses, innermost first; they follow */
	uint32_t next, hash; /* the library's own */
	uint32_t big;        /* 1: they do not come from a cache */
	uint32_t name;       /* bytes of their cache's name, which follows the frames; 0: a general cache, or none */
	uint64_t class_size; /* bytes of each block, of big ones about */
	uint64_t live_objects, live_bytes; /* sampled, and not freed yet */
	uint64_t all_objects, all_bytes;
};

struct dry_inspect {
	char magic[16];        /* DRY_INSPECT_MAGIC */
	uint32_t version;      /* DRY_INSPECT_VERSION */
	uint32_t size;         /* sizeof(struct dry_inspect) */
	uint32_t pointer_size; /* sizeof(void *) */
	uint32_t node_size;    /* distance between two nodes of a cache */
	uint32_t avail_bits;   /* an array's word: this many low bits are avail, the rest tells of pops: dry_inspect_pops() */
	uint32_t array_unit;   /* bytes in one unit of cache_array */
	uint32_t depot_size;   /* distance between two depots of those that node_alien points to */
	uint32_t locals;       /* local depots of a node, behind its alien ones */

	struct dry_inspect_field heap_next, heap_name, heap_caches;
	struct dry_inspect_field heap_slot_table; /* char **, heap_slots entries */
	struct dry_inspect_field heap_slots, heap_nodes;

	struct dry_inspect_field cache_next, cache_name;
	struct dry_inspect_field cache_root;        /* the cache itself, unless it is an alias */
	struct dry_inspect_field cache_object_size; /* as asked for */
	struct dry_inspect_field cache_size;        /* distance between objects */
	struct dry_inspect_field cache_num;         /* objects per slab */
	struct dry_inspect_field cache_order;       /* a slab has 1 << order pages */
	struct dry_inspect_field cache_limit, cache_batchcount, cache_flags; /* the shared factor is `shared_factor` */
	struct dry_inspect_field cache_array; /* place within a slot's area; 0: the cache has no arrays */
	struct dry_inspect_field cache_nodes; /* offset of node[0]; size of the whole array */

	struct dry_inspect_field array_word; /* in an array: see avail_bits */
	struct dry_inspect_field array_limit;

	struct dry_inspect_field node_slabs, node_free_objects, node_free_slabs;
	struct dry_inspect_field node_shared_avail;
	struct dry_inspect_field node_alien;  /* pointer to alien, then local depots */
	struct dry_inspect_field depot_avail; /* in one of those */
	struct dry_inspect_field node_slow_allocs, node_slow_frees, node_bulk_allocs;
	struct dry_inspect_field node_pops_apart; /* signed */

	struct dry_inspect_field heap_area_size; /* bytes of a slot's area */
	struct dry_inspect_field heap_arenas;    /* offset of arena[0]; size of all of them */
	struct dry_inspect_field heap_meta_arena; /* an arena of metadata alone, inline; base 0: there is none */
	struct dry_inspect_field heap_meta_pages; /* pages of metadata: of that arena, of arena[0], or mapped apart */
	struct dry_inspect_field cache_kept;     /* objects in quarantine */
	struct dry_inspect_field node_lock_rounds;
	struct dry_inspect_field node_shared_entry, depot_entry; /* pointers to the objects of a depot */

	/* in an arena; those that count do so in pages */
	struct dry_inspect_field arena_base, arena_page_shift;
	struct dry_inspect_field arena_pages;     /* reserved so far, at least those that are committed */
	struct dry_inspect_field arena_committed; /* pages with descriptors, from the first on */
	struct dry_inspect_field arena_free_dirty, arena_free_clean, arena_limbo;
	struct dry_inspect_field arena_desc, arena_desc_bytes; /* arrays beside the pages, and the bytes used of them */
	struct dry_inspect_field arena_map, arena_map_bytes, arena_chunks, arena_chunks_bytes;
	struct dry_inspect_field arena_side, arena_side_bytes; /* what profiles know of each object */

	struct dry_inspect_field page_kind, page_count, page_cache, page_node; /* in a descriptor */
	struct dry_inspect_field page_first; /* of a slab: bytes to its first object */
	struct dry_inspect_field page_bits;  /* of a slab of a cache with mgmt_bitmap: bits of its objects, 1: free */
	struct dry_inspect_field page_active; /* of a slab: objects that were taken out of it, those in arrays as well */
	struct dry_inspect_field cache_mgmt; /* how it knows its free objects */

	/* in a heap */
	struct dry_inspect_field extents_table, extents_slots;  /* of live ones, in no order; address 0: slot unused */
	struct dry_inspect_field extents_kept, extents_kept_count; /* pointer to an array of free ones that wait for reuse */
	struct dry_inspect_field extent_address, extent_bytes;     /* in an entry of the table */
	struct dry_inspect_field kept_address, kept_bytes;         /* in an entry of the array */

	/* what grows only, but for peaks */
	struct dry_inspect_field node_lock_waits, node_slabs_made, node_peak_slabs, node_remote_frees, node_failures;
	struct dry_inspect_field node_shared_moves, depot_moves; /* batches in and out; 32 bits, which begin anew */
	struct dry_inspect_field depot_allocs, depot_frees; /* slow ones that the node does not count */
	struct dry_inspect_field heap_failures, heap_reaps;
	/*
	 * Of caches of the heap that are not there any more, eight bytes each: allocations, slow ones, slow frees, failures,
	 * rounds of locks, waits for them, batches, slabs made, remote frees. `heaps_gone` has the same of heaps, then reaps and
	 * purged bytes.
	 */
	struct dry_inspect_field heap_gone;
	struct dry_inspect_field arena_purged;   /* pages */
	struct dry_inspect_field extents_purged; /* bytes */

	struct dry_inspect_field guards_base; /* address of their first page; 0: there are none */
	struct dry_inspect_field guards_table, guards_fresh; /* pointer to entries, and how many were used so far */
	struct dry_inspect_field guards_table_bytes;
	struct dry_inspect_field guards_owner, guards_bytes; /* pointer to 4 bytes for each page of guards_bytes */
	struct dry_inspect_field guard_state, guard_page, guard_pages; /* in an entry: guard_live, or it is no live block */

	/*
	 * Where a cache's cache_debug is `pooled`, the entry of a depot points to a pool instead: its objects are the first
	 * pool_candidates entries from pool_entry on, and behind the first pool_room a ring of pool_ring, a power of two, in which
	 * there are pool_waits from pool_oldest on.
	 */
	struct dry_inspect_field cache_debug;
	struct dry_inspect_field pool_candidates, pool_room, pool_waits, pool_oldest, pool_ring, pool_entry;

	uint32_t arena_size, page_size, extent_size, kept_size; /* distances between two of each */
	uint8_t page_free, page_run, page_slab;                 /* values of page_kind */
	uint8_t extent_bits;                                    /* low bits of extent_bytes that are the size */
	uint8_t mgmt_bitmap;                                    /* a value of cache_mgmt */
	uint8_t guard_live;                                     /* a value of guard_state */
	uint8_t reserved[2];                                    /* 0 */
	uint32_t shared_factor;                                 /* batches that a shared array holds */
	uint32_t guard_size;                                    /* as the sizes above */
	const void *stopped_area;   /* entry of a slot table that stands for "no area" */
	const void *heaps;        /* address of the variable that points to the first heap */
	const void *default_heap; /* address of the default heap; NULL: the heap named "default" */
	const void *profile;      /* address of a struct dry_inspect_profile */
	const void *guards;       /* address of what guards_* are in; NULL: no guarded blocks */
	const void *pooled;       /* see cache_debug */
	const void *heaps_gone;   /* address of what heaps have counted that are not there any more: see heap_gone */
};

/* Defined by the library. Constant, with addresses that the loader has relocated. */
extern const struct dry_inspect dry_inspect;

/*
 * Pops that the word of an array counts; where a countdown runs for who samples, less than 0: as many as are left, and one. Bits
 * 61 to 63 are flags; in an array without flags the count goes on up to bit 62.
 */
static inline int64_t dry_inspect_pops(uint64_t word, unsigned avail_bits)
{
	unsigned flags = (unsigned)(word >> 61), wide = (flags >= 4 ? 61 : 63) - avail_bits;
	uint64_t all = ((uint64_t)1 << wide) - 1, count = word >> avail_bits & all;

	if (flags == 4 || flags == 6) /* it is over: -1, unless nobody has begun it */
		return (count >> 20 & 1) != 0 ? 0 : -1;
	return count >> 37 == all >> 37 ? (int64_t)count - (int64_t)all - 1 : (int64_t)count;
}

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The figures that the command shows, in one place: what each is called, what it means, in which unit.
 * Tables, JSON, OpenMetrics and the keys of --sort and --columns all derive from the two lists here.
 *
 *   snapshot = totals of the process (enum total) + rows (enum figure), one row a cache or a size class of big blocks
 *
 * Who fills a snapshot: walk.c (a process or core file), kernel.c (the running kernel). Who shows it: show_*.c.
 *
 * Equations, of a process at rest:
 *   LIVE  = LIVE_OBJECTS + LIVE_RUNS + LIVE_EXTENTS + GUARDED
 *   WASTE = SLOTS + IN_SLABS + IN_ARRAYS + IN_SHARED + IN_ALIEN + QUARANTINE + SLAB_ENDS
 *   FREE  = FREE_DIRTY + EXTENTS_KEPT
 *   of a cache: BYTES = LIVE + WASTE; WASTE = IN_SLABS + CACHED + ends of slabs + what slots have beyond their objects
 *   RESIDENT_OURS = LIVE + WASTE + FREE + METADATA - UNTOUCHED; ANONYMOUS = RESIDENT_OURS + OTHERS
 */
#ifndef DRYSTONE_FIGURES_H
#define DRYSTONE_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROW_NAME 64

/* What a row is about. */
enum row_kind { ROW_CACHE, ROW_RUNS, ROW_EXTENTS, ROW_GUARDED, ROW_NODE, ROW_SLOT, ROW_PROCESS, ROW_KINDS };
#define ON(kind)   (1u << (kind))
#define ON_CACHES  ON(ROW_CACHE)
#define ON_BIG     (ON(ROW_RUNS) | ON(ROW_EXTENTS) | ON(ROW_GUARDED))
#define ON_PARTS   (ON(ROW_NODE) | ON(ROW_SLOT)) /* of a cache */
#define ON_WHOLES  (ON_CACHES | ON_BIG | ON(ROW_PROCESS))
#define ON_COUNTED (ON_CACHES | ON_BIG | ON(ROW_PROCESS)) /* have objects that can be counted */
#define ON_ALL     (ON_WHOLES | ON_PARTS)

enum unit {
	UNIT_BYTES,
	UNIT_COUNT,
	UNIT_COUNTER, /* grows only */
	UNIT_BYTES_COUNTER,
	UNIT_SHARE,   /* thousandths */
	UNIT_CHANGE,  /* bytes a second, int64_t; known if the snapshot was compared with an older one */
	UNIT_RATE,    /* a second, likewise */
};

/* name, key, title of a column, unit, rows that have it, whether a metric, meaning */
#define FIGURES(X)                                                                                                         \
	X(BYTES, "bytes", "BYTES", UNIT_BYTES, ON_ALL, true, "memory of its slabs or pages")                               \
	X(SHARE, "share", "SHARE", UNIT_SHARE, ON_ALL, false, "its part of the bytes of all rows")                         \
	X(LIVE, "live_bytes", "LIVE", UNIT_BYTES, ON_WHOLES, true, "bytes of objects that the program holds")              \
	X(WASTE, "waste_bytes", "WASTE", UNIT_BYTES, ON_CACHES | ON(ROW_PROCESS), true, "bytes that hold no object of it") \
	X(IN_SLABS, "free_bytes", "FREE", UNIT_BYTES, ON_CACHES | ON(ROW_NODE), true, "bytes of free objects in slabs")    \
	X(CACHED, "cached_bytes", "CACHED", UNIT_BYTES, ON_CACHES | ON_PARTS, true,                                        \
	  "bytes of free objects in array caches, shared and alien arrays, quarantine")                                    \
	X(RESIDENT, "resident_bytes", "RESIDENT", UNIT_BYTES, ON_COUNTED, true, "memory behind its pages")                 \
	X(ACTIVE, "active_objs", "OBJECTS", UNIT_COUNT, ON_COUNTED, true, "objects that the program holds")                \
	X(TOTAL, "num_objs", "ALL OBJS", UNIT_COUNT, ON_CACHES | ON(ROW_NODE), true, "objects in all slabs")               \
	X(SIZE, "objsize", "SIZE", UNIT_BYTES, ON_CACHES | ON_BIG, false, "bytes from one object to the next")          \
	X(ASKED, "object_size", "ASKED", UNIT_BYTES, ON_CACHES, false, "bytes of an object as asked for")                  \
	X(PER_SLAB, "objperslab", "PER SLAB", UNIT_COUNT, ON_CACHES, false, "objects in a slab")                           \
	X(PAGES, "pagesperslab", "PAGES", UNIT_COUNT, ON_CACHES, false, "pages in a slab")                                 \
	X(LIMIT, "limit", "LIMIT", UNIT_COUNT, ON_CACHES, false, "most objects in an array cache")                         \
	X(BATCH, "batchcount", "BATCH", UNIT_COUNT, ON_CACHES, false, "objects moved at once")                             \
	X(FACTOR, "sharedfactor", "FACTOR", UNIT_COUNT, ON_CACHES, false, "batches that a shared array holds")             \
	X(ACTIVE_SLABS, "active_slabs", "USED SLABS", UNIT_COUNT, ON_CACHES | ON(ROW_NODE), false,                         \
	  "slabs with objects in use")                                                                                     \
	X(SLABS, "num_slabs", "SLABS", UNIT_COUNT, ON_CACHES | ON(ROW_NODE), true, "slabs")                                \
	X(SHARED, "sharedavail", "SHARED", UNIT_COUNT, ON_CACHES | ON(ROW_NODE), false, "objects in shared arrays")        \
	X(ALIEN, "alien_objs", "ALIEN", UNIT_COUNT, ON_CACHES | ON(ROW_NODE), false, "objects in alien arrays")            \
	X(ARRAYS, "array_objs", "IN ARRAYS", UNIT_COUNT, ON_CACHES | ON(ROW_SLOT), false, "objects in array caches")       \
	X(FREE_OBJS, "free_objs", "FREE OBJS", UNIT_COUNT, ON_CACHES | ON(ROW_NODE), false, "free objects in slabs")       \
	X(KEPT, "quarantine_objs", "KEPT", UNIT_COUNT, ON_CACHES, false, "objects in quarantine")                          \
	X(ALLOCS, "allocs", "ALLOCS", UNIT_COUNTER, ON_CACHES | ON_PARTS | ON(ROW_PROCESS), true, "allocations")           \
	X(SLOW_ALLOCS, "slow_allocs", "SLOW ALLOCS", UNIT_COUNTER, ON_CACHES | ON(ROW_NODE), true,                         \
	  "allocations that found the array cache empty")                                                                  \
	X(SLOW_FREES, "slow_frees", "SLOW FREES", UNIT_COUNTER, ON_CACHES | ON(ROW_NODE), true,                            \
	  "frees that found the array cache full")                                                                         \
	X(LOCKS, "lock_rounds", "LOCKS", UNIT_COUNTER, ON_CACHES | ON(ROW_NODE), true,                                     \
	  "times that the lock of a node's slabs was taken for slabs")                                                     \
	X(WAITS, "lock_waits", "WAITS", UNIT_COUNTER, ON_CACHES | ON(ROW_NODE), true, "of them, those that found it held") \
	X(BATCHES, "batches", "BATCHES", UNIT_COUNTER, ON_CACHES | ON(ROW_NODE), true,                                     \
	  "batches that went into or came out of shared and alien arrays")                                                 \
	X(SLABS_MADE, "slabs_made", "MADE", UNIT_COUNTER, ON_CACHES | ON(ROW_NODE), true, "slabs that were made")          \
	X(PEAK, "peak_bytes", "PEAK", UNIT_BYTES, ON_CACHES | ON(ROW_NODE), true, "the most memory of its slabs at a time") \
	X(REMOTE, "remote_frees", "REMOTE", UNIT_COUNTER, ON_CACHES | ON(ROW_NODE), true,                                  \
	  "objects that were freed on another memory node than theirs")                                                    \
	X(FAILURES, "failures", "FAILED", UNIT_COUNTER, ON_CACHES, true, "allocations for which there was no memory")      \
	X(GROWTH, "growth", "GROWTH/S", UNIT_CHANGE, ON_WHOLES, false, "change of its bytes a second")                     \
	X(RATE, "alloc_rate", "ALLOCS/S", UNIT_RATE, ON_CACHES | ON(ROW_PROCESS), false, "allocations a second")

enum figure {
#define X(name, ...) FIG_##name,
	FIGURES(X)
#undef X
	FIGURE_COUNT
};

struct figure_info {
	const char *key, *title;
	enum unit unit;
	unsigned kinds;
	bool metric;
	const char *help;
};
extern const struct figure_info figure_info[FIGURE_COUNT];

/* name, key, text, depth in the summary (0: not a line of it), unit, meaning */
#define TOTALS(X)                                                                                                          \
	X(RSS, "resident_bytes", "resident", 0, UNIT_BYTES, "resident memory of the process")                              \
	X(ANONYMOUS, "anonymous_bytes", "anonymous", 0, UNIT_BYTES, "resident memory that is no file's")                   \
	X(PEAK, "resident_peak_bytes", "at most", 0, UNIT_BYTES, "the most resident memory that the process had")          \
	X(SWAPPED, "swapped_bytes", "swapped out", 0, UNIT_BYTES, "memory of the process in swap")                         \
	X(ALLOCATED, "allocated_bytes", "live", 1, UNIT_BYTES, "what the program holds")                                   \
	X(LIVE_OBJECTS, "live_objects_bytes", "objects of caches", 2, UNIT_BYTES, "objects of caches")                     \
	X(LIVE_RUNS, "live_runs_bytes", "page runs", 2, UNIT_BYTES, "blocks too big for a cache, of whole pages")          \
	X(LIVE_EXTENTS, "live_extents_bytes", "extents", 2, UNIT_BYTES, "the biggest blocks, each mapped by itself")       \
	X(GUARDED, "guarded_bytes", "guarded blocks", 2, UNIT_BYTES, "blocks between pages that fault")                    \
	X(WASTE, "waste_bytes", "waste", 1, UNIT_BYTES, "slab memory that holds no object of the program")                 \
	X(SLOTS, "waste_internal_bytes", "beyond the objects", 2, UNIT_BYTES,                                              \
	  "between the size that was asked for and that of the slot, where the cache knows it")                            \
	X(IN_SLABS, "waste_free_bytes", "free in slabs", 2, UNIT_BYTES, "free objects in slabs")                           \
	X(IN_ARRAYS, "waste_arrays_bytes", "in array caches", 2, UNIT_BYTES, "free objects in array caches")               \
	X(IN_SHARED, "waste_shared_bytes", "in shared arrays", 2, UNIT_BYTES, "free objects in shared arrays")             \
	X(IN_ALIEN, "waste_alien_bytes", "in alien arrays", 2, UNIT_BYTES, "free objects on their way to their node")      \
	X(QUARANTINE, "waste_quarantine_bytes", "in quarantine", 2, UNIT_BYTES, "freed objects that are kept for a while") \
	X(SLAB_ENDS, "waste_slab_bytes", "ends of slabs", 2, UNIT_BYTES, "what is left over in slabs, colours, bookkeeping") \
	X(RETAINED, "retained_bytes", "free", 1, UNIT_BYTES, "free memory that was not given back yet")                    \
	X(FREE_DIRTY, "retained_pages_bytes", "free pages, dirty", 2, UNIT_BYTES, "free pages that still hold memory")     \
	X(EXTENTS_KEPT, "retained_extents_bytes", "extents kept", 2, UNIT_BYTES, "free extents that wait for reuse")       \
	X(METADATA, "metadata_bytes", "metadata", 1, UNIT_BYTES, "descriptors, arrays, cache structures")                  \
	X(UNTOUCHED, "untouched_bytes", "of this not touched yet", 1, UNIT_BYTES, "counted above, but not resident")       \
	X(OTHERS, "others_bytes", "not drystone's", 1, UNIT_BYTES, "anonymous memory that is not drystone's")              \
	X(RESIDENT_OURS, "heap_resident_bytes", "resident, drystone's", 0, UNIT_BYTES, "resident memory that is drystone's") \
	X(FREE_CLEAN, "free_clean_bytes", "free pages, clean", 0, UNIT_BYTES, "free pages that hold no memory")            \
	X(ACTIVE, "active_bytes", "in use", 0, UNIT_BYTES, "memory of slabs, page runs and extents: live and waste")       \
	X(FRAGMENTATION, "fragmentation_ratio", "fragmentation", 0, UNIT_SHARE, "the part of active_bytes that is waste")  \
	X(TRIM, "trim_bytes", "malloc_trim returns", 0, UNIT_BYTES, "what malloc_trim() would return at least")            \
	X(RESERVED, "reserved_bytes", "reserved", 0, UNIT_BYTES, "address space")                                          \
	X(HEAPS, "heaps", "heaps", 0, UNIT_COUNT, "heaps")                                                                 \
	X(CACHES, "caches", "caches", 0, UNIT_COUNT, "caches, aliases not counted")                                        \
	X(OBJECTS, "objects", "objects", 0, UNIT_COUNT, "objects of caches that the program holds")                        \
	X(BIG_BLOCKS, "big_blocks", "big blocks", 0, UNIT_COUNT, "page runs and extents that the program holds")           \
	X(GUARDED_BLOCKS, "guarded_blocks", "guarded blocks", 0, UNIT_COUNT, "guarded blocks that the program holds")      \
	X(ALLOCS, "allocs", "allocations", 0, UNIT_COUNTER, "allocations from caches")                                     \
	X(SLOW_ALLOCS, "slow_allocs", "slow allocations", 0, UNIT_COUNTER, "of them, those that found an array cache empty") \
	X(SLOW_FREES, "slow_frees", "slow frees", 0, UNIT_COUNTER, "frees that found an array cache full")                 \
	X(LOCKS, "lock_rounds", "lock rounds", 0, UNIT_COUNTER, "times that the lock of a node's slabs was taken for slabs") \
	X(WAITS, "lock_waits", "lock waits", 0, UNIT_COUNTER, "of them, those that found it held")                         \
	X(BATCHES, "batches", "batches", 0, UNIT_COUNTER, "batches that went into or came out of shared and alien arrays") \
	X(SLABS_MADE, "slabs_made", "slabs made", 0, UNIT_COUNTER, "slabs that were made")                                 \
	X(REMOTE, "remote_frees", "remote frees", 0, UNIT_COUNTER, "objects that were freed on another memory node than theirs") \
	X(FAILURES, "failures", "failures", 0, UNIT_COUNTER, "allocations, of big blocks too, for which there was no memory") \
	X(REAPS, "reaps", "reaps", 0, UNIT_COUNTER, "rounds of housekeeping")                                              \
	X(PURGED, "purged_bytes", "purged", 0, UNIT_BYTES_COUNTER, "bytes of free memory that went back to the system")

enum total {
#define X(name, ...) SUM_##name,
	TOTALS(X)
#undef X
	TOTAL_COUNT
};

struct total_info {
	const char *key, *text;
	unsigned depth;
	enum unit unit;
	const char *help;
};
extern const struct total_info total_info[TOTAL_COUNT];

/* Texts are printable and without blanks, whatever lay in the process. */
struct row {
	enum row_kind kind;
	char heap[ROW_NAME], name[ROW_NAME];
	char alias_of[ROW_NAME]; /* "": it is none */
	bool default_heap;
	unsigned index; /* of a node or slot; id of a process */
	uint64_t id;    /* of a cache: its address; joins two snapshots */
	uint64_t v[FIGURE_COUNT];
};

/* What a stretch of memory is, for a map. A slab's is its cache, too. */
enum piece_kind { PIECE_GONE, PIECE_FREE, PIECE_RUN, PIECE_EXTENT, PIECE_KEPT, PIECE_META, PIECE_GUARDED, PIECE_SLAB };
struct piece {
	enum piece_kind kind;
	uint32_t row;          /* of a slab: its cache */
	uint64_t start, pages; /* where it begins; it may be anywhere behind the last one */
	uint64_t used;         /* objects that were taken out of a slab; else pages that are resident, all if that is not known */
};
/* Pieces by address: an arena; or what has no order of its own: extents, metadata, guarded blocks. */
struct region {
	char heap[ROW_NAME];
	const char *what;
	uint64_t page_bytes;
	size_t first; /* piece; it ends where the next region begins */
};
struct map {
	struct region *region;
	struct piece *piece;
	size_t regions, region_room, pieces, piece_room;
};

struct snapshot {
	char program[64]; /* what it is of */
	int pid;          /* 0: no process */
	bool of_core;     /* what a core file held of it */
	struct row *rows;
	size_t count, room;
	struct map map;   /* if it was asked for */
	size_t left_out; /* rows that a selection dropped for being empty */
	uint64_t sum[TOTAL_COUNT];
	bool has[TOTAL_COUNT];  /* which of them are known */
	bool has_resident;      /* of rows */
	bool compared;          /* FIG_GROWTH and FIG_RATE are known */
	const char *damage;     /* NULL, or why it could not be read to the end */
	char note[256];         /* "", or a line to be said besides */
	double when;            /* seconds, monotonic */
};

/* A new row, zeroed but for its kind. The pointer is good until the next one. */
struct row *snapshot_add(struct snapshot *snapshot, enum row_kind kind);
void snapshot_free(struct snapshot *snapshot);
struct snapshot snapshot_copy(const struct snapshot *snapshot);
/* Derive the sums and shares from what was filled in. */
void snapshot_sum(struct snapshot *snapshot);
/* Growth and rate, against an older snapshot. What was not in it began at 0. */
void snapshot_compare(struct snapshot *snapshot, const struct snapshot *older);
void sum_add(struct snapshot *snapshot, enum total total, uint64_t value);

/* What is shown of a snapshot, in which order. */
struct selection {
	bool aliases, parts; /* rows of further names; of nodes and slots only */
	bool no_empty;       /* none without memory */
	const char *filter;  /* NULL, or a pattern of names as in the shell */
	int sort;            /* enum figure, or one of the following */
	bool reverse;
};
enum { SORT_LISTED = -1, SORT_NAME = -2 };

/* A key of a column or order: enum figure or SORT_NAME; false: there is none of this name. */
bool figure_by_key(const char *key, int *which);
/* Drop the rows that are not wanted, and sort the others. */
void snapshot_select(struct snapshot *snapshot, const struct selection *selection);
/* "cache", "heap/cache", and of a part which one. */
void row_full_name(const struct row *row, char *text, size_t size);
const char *row_kind_name(enum row_kind kind);

#endif

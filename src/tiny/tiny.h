/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The allocator for small machines: heaps, classes, slabs.
 *
 * A heap lives in memory that the caller hands in, one pool or several. A pool is cut into pages of 256 bytes to
 * 64 KiB, the smallest size that gives at most 32255 of them. Runs of pages (pages.h) become slabs or big blocks:
 *
 *	pool    | struct dry_heap or dry_pool | map: 16 bits a page | page | page | ...
 *	slab    | struct dry_slab | object | object | ...      (one run; it can grow at its end)
 *	object  free: a link to the next free one and a key; else all of it is the program's
 *
 * A class is objects of one spacing. It has one list, of the slabs with free objects. Caches are names of classes: like
 * caches share one, also with general allocation. Nothing stands before an object, and
 * nothing but the objects' own memory says which of a slab are free.
 *
 * Concurrency: one lock for everything, the hook dry_tiny_lock() of tiny_config.h. A function
 * here or in pages.h expects it to be held; those of drystone.h take it.
 *
 * What a call costs at most. S = DRY_TINY_SLAB_PAGES, L = DRY_TINY_LOOK, P = DRY_TINY_POOLS, K = DRY_TINY_SPARES,
 * C = DRY_TINY_CARVE and M = MERGE_LOOK of cache.c are constants. These bounds grow with nothing:
 *
 *  - a pointer's page is arithmetic after at most P comparisons; from there to the slab it is one 16-bit load;
 *  - a run is taken from 15 lists by length, of each of which at most L entries are looked at; what is left of it on
 *    either side goes back by writing its two ends. A run that is given back joins at most two neighbours;
 *  - a slab's map entries are written for at most S pages, or up to where an aligned object begins: 64 KiB / page;
 *  - an allocation from a class pops an object. If that was the slab's last linked one, C objects that were never used are
 *    linked, or the slab leaves its list. If no slab has any, the last one grows, or a run is taken, at most
 *    twice, and its map entries are written; before the second try at most K empty slabs are given back;
 *  - a free divides once, pushes an object, moves its slab at most twice, and gives back at most one other. Only when
 *    an object in use looks like a free one are the slab's free objects compared with it, at most S pages full; so they are
 *    when it is resized or its size is asked for;
 *  - constructors run when a slab is made or grows, one per object of it: at most S pages full;
 *  - a general allocation is one of these two, and the first one of its size also an allocation of its class;
 *  - a cache is created by two allocations and a look at M classes for a like one; a further name of a class is
 *    destroyed by a free.
 *
 * These grow with what the caller asks for or gets, and with nothing else: realloc by what it copies, zalloc by what it
 * clears, bulk calls and prefill by the objects, shrink and a destroy that succeeds by the slabs that they give back
 * (shrink looks at L others), laying out a pool by its map.
 *
 * And these look at more, and are not for a moment that has a deadline: a destroy that fails looks at each slab of the
 * class with free objects, to tell how many are out, and so does dry_cache_stats(); dry_heap_stats() looks at each
 * class; listing, verification and the text of reports visit what they report.
 *
 * This layer must not know an OS, a CPU, or core: it is core's sibling under the same public header.
 */
#ifndef DRY_TINY_TINY_H
#define DRY_TINY_TINY_H

#include <drystone/tiny.h>

#include "base/compiler.h"
#include "tiny_config.h"

/* A slab of several objects has at most so many; a power of two, 2 to 512 (pages.h says why). */
#ifndef DRY_TINY_SLAB_PAGES
#define DRY_TINY_SLAB_PAGES 64
#endif
/* A new slab is made for one in so many of the objects that its class has. */
#ifndef DRY_TINY_SHARE
#define DRY_TINY_SHARE 4
#endif
/* 0: a slab never grows at its end. */
#ifndef DRY_TINY_EXTENDS
#define DRY_TINY_EXTENDS 1
#endif

enum {
	DRY_TINY_BINS = 15,	  /* lists of free runs, by floor(log2(pages)) */
	DRY_TINY_LOOK = 4,	  /* runs looked at in each */
	DRY_TINY_POOLS = 8,	  /* at most, in one heap */
	DRY_TINY_SPARES = 2,	  /* empty slabs kept */
	DRY_TINY_CARVE = 8,	  /* objects linked at once */
	DRY_TINY_MAX_PAGES = 32255,
	DRY_TINY_PAGE_SHIFT = 8, /* 256: the smallest page */
	DRY_TINY_SIZE_MOST = 4194304, /* of a cache's objects */
	DRY_TINY_ALIGN_MOST = 65536,
};

/* The unit of general allocation, and what its blocks are aligned to: 16, or 8 with pointers of 32 bits. */
#define DRY_TINY_UNIT (2 * sizeof(void *))

/*
 * A free object: the next one of its slab, and how many there are from here to the end, as DRY_TINY_KEY + n. The key
 * also marks the object as free; a program's data looks like that by accident only.
 */
struct dry_object {
	struct dry_object *next;
	uintptr_t key;
};
#define DRY_TINY_KEY   ((uintptr_t)0x7f << (sizeof(uintptr_t) * 8 - 8))
#define DRY_TINY_SPARE ((uintptr_t)0xff << (sizeof(uintptr_t) * 8 - 8))

/* Of a ring, or its head; or of a list that ends with NULL, whose head has no `prev`. */
struct dry_link {
	struct dry_link *next, *prev;
};

/*
 * A slab is on its class's list if it has linked objects. carved <= objects: of the objects, [0, carved) were linked once.
 * Those that are not linked now are used.
 */
struct dry_slab {
	struct dry_link list;
	struct dry_object *free;
	struct dry_class *class;
	uintptr_t emptied; /* key of the first free object once all are free; DRY_TINY_SPARE, which none has, if it is a spare */
	uint16_t carved, objects;
};

/* Objects of one spacing. */
struct dry_class {
	struct dry_link list; /* of slabs with free objects */
	struct dry_object *free; /* nil: an empty list looks like a slab without free objects */
	uint32_t slot;	/* distance between objects; immutable, as all below to align */
	uint32_t first; /* of the first object from the slab's start */
	uint32_t link;	/* of struct dry_object in a free object: behind a constructed one, which is not to be written to */
	void (*ctor)(void *, void *);
	void *arg; /* its second argument */
	struct dry_heap *heap;
	uint32_t align;
	struct dry_link classes; /* of the heap */
	uint16_t names;		 /* caches that share it */
	uint8_t flags;		 /* DRY_CLASS_* */
	uint32_t objects;	 /* in all slabs */
	uint32_t slabs;
	struct dry_slab *last; /* made last, may grow; or NULL */
};
enum {
	DRY_CLASS_OWN = 1, /* never shared: DRY_CACHE_NO_MERGE, a constructor */
	DRY_CLASS_KEPT = 2, /* the heap's: of general allocation, or of classes */
};

/* Whose an object is said to be: what a cache begins with. class is behind what is overwritten when it is free. */
struct dry_owner {
	struct dry_link caches; /* of the heap */
	struct dry_class *class;
	struct dry_heap *heap;
};

/* A name of a class. */
struct dry_cache {
	struct dry_owner owner; /* class DRY_TINY_DEAD once destroyed, also while the memory is free */
	uint32_t size;		/* as asked for */
	uint8_t flags;
	char name[];
};

/*
 * Ends of lists. nil is what an empty list of objects begins with: it has no next object, as the last one, and its key is above
 * all others but counts 0 objects, so that neither end of a list needs a comparison of its own. dead begins like a class without
 * slabs; nothing reads the rest.
 */
struct dry_tiny_ends {
	struct dry_object nil;
	struct dry_link *dead[2];
	const struct dry_object *dead_free;
};
extern const struct dry_tiny_ends dry_tiny_ends;
#define DRY_TINY_NIL  ((struct dry_object *)(uintptr_t)&dry_tiny_ends.nil)
#define DRY_TINY_DEAD ((struct dry_class *)(uintptr_t)&dry_tiny_ends.dead)

/* A pool. Immutable but for next. */
struct dry_pool {
	uintptr_t base; /* of the first page */
	size_t bytes;	/* of all pages */
	uintptr_t map;	/* of the entry that page 0 of the address space would have, see pages.h */
	struct dry_pool *next;
	uint8_t shift; /* log2 of the page size, the same in all of a heap */
	uint8_t pools; /* of the heap; in its first */
	bool system;   /* the heap's memory came from dry_tiny_map(); in its first */
};

struct dry_heap {
	struct dry_pool pool; /* the first */
	uint32_t pages_free;
	struct dry_link *bins[DRY_TINY_BINS]; /* heads, of free runs */
	struct dry_link *classes;	      /* head; youngest first */
	struct dry_link caches;		      /* ring; oldest first */
	struct dry_slab *spares[DRY_TINY_SPARES]; /* empty when they came here, the latest first */
	struct dry_class classes_of; /* where struct dry_class comes from */
	void *kept[]; /* of blocks.c: classes by size, made at first use; of sequential.c: lists of pages */
};

/* The default heap for NULL, made at first use; NULL if there is no memory for it. */
struct dry_heap *dry_tiny_heap(struct dry_heap *heap);

static inline void dry_link_init(struct dry_link *head)
{
	head->next = head->prev = head;
}
/* behind: a link or a head. */
void dry_link_insert(struct dry_link *link, void *behind);
void dry_link_remove(struct dry_link *link);

/* ---- objects: slab.c, or sequential.c in its place ---------------------------------------------- */

/* Lays out a class, as the youngest of the heap's. */
void dry_tiny_class_init(struct dry_class *class, struct dry_heap *heap, size_t size, size_t align, void (*ctor)(void *, void *));
void *dry_tiny_object_alloc(struct dry_class *class);
/* Reports what is none of the owner's objects. */
void dry_tiny_object_free(const struct dry_owner *owner, void *object);
/* Bytes of an object that is used; 0: it is none of the slab's. */
size_t dry_tiny_object_size(const struct dry_slab *slab, const void *object);
/* Its linked objects. */
static inline unsigned dry_tiny_slab_free(const struct dry_slab *slab)
{
	return (uint16_t)slab->free->key;
}
/* Pages of a slab, of the largest slab; objects in a number of pages. */
size_t dry_tiny_slab_pages(const struct dry_class *class, size_t objects);
size_t dry_tiny_slab_most(const struct dry_class *class);
size_t dry_tiny_slab_room(const struct dry_class *class, size_t pages);
/* Slabs without used objects are given back; how many. */
size_t dry_tiny_class_shrink(struct dry_class *class);
/* n objects more can be had without a new slab. */
bool dry_tiny_class_reserve(struct dry_class *class, size_t n);
/* Objects out; looks at each slab that has free ones. */
size_t dry_tiny_class_used(const struct dry_class *class);
/* Those of a class; looks at them, too. */
void dry_tiny_class_figures(const struct dry_class *class, struct dry_cache_stats *stats);
/* Empty slabs that were kept are given back. */
void dry_tiny_spares_free(struct dry_heap *heap);

/* ---- general blocks: blocks.c, or sequential.c in its place ------------------------------------------------------------- */

void *dry_tiny_alloc(struct dry_heap *heap, size_t size, size_t align);
void dry_tiny_free(struct dry_heap *heap, void *block);
/* 0: it is none. */
size_t dry_tiny_usable(struct dry_heap *heap, const void *block);
/* What a block of less than 4 pages takes: its class. */
size_t dry_tiny_class_size(size_t size);
/* Pointers in heap->kept. */
unsigned dry_tiny_kept(unsigned shift);

/* ---- reports: hooks.c, and report.c if it is linked ------------------------------------------------------ */

/* Not an object or block of the owner (class NULL: any); the class may be DRY_TINY_DEAD. */
DRY_SLOW void dry_tiny_bad_pointer(const struct dry_owner *owner, const void *pointer);
/* An overwritten link was found before it was followed. class may be NULL. */
DRY_SLOW void dry_tiny_bad_link(const struct dry_class *class, const void *where);
/* A cache that was to be destroyed has objects out. */
DRY_SLOW void dry_tiny_leak(const char *cache, size_t objects);
/* What dry_heap_check() found, and where. */
DRY_SLOW void dry_tiny_wrong(const char *what, const void *where);
/* Of report.c: they say why, in a line, by dry_fatal(). */
DRY_SLOW void dry_tiny_say_pointer(const struct dry_owner *owner, const void *pointer);
DRY_SLOW void dry_tiny_say_link(const struct dry_class *class, const void *where);
DRY_SLOW void dry_tiny_say_leak(const char *cache, size_t objects);
const char *dry_tiny_class_name(const struct dry_class *class);

#endif

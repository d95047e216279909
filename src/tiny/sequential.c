/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The predecessor: sequential fit (the idea of the kernel's SLOB, Matt Mackall, 2006). Takes the place of slab.c, blocks.c and
 * report.c under the same calls.
 *
 * A sheet is a run of pages, cut into units of 4 bytes. Its free units are blocks, linked in the order of their
 * addresses; each says in its first 4 bytes how many units it has and where the next one begins. Objects of caches lie in it
 * without any header; a general block has its size in the 4 bytes before it. Sheets with free units are on one of
 * three lists, by the size of what is asked for: below 256, below 1024, above, so that small ones do not break up the
 * room of large ones.
 *
 * An allocation looks at the sheets of its list one after the other, at the blocks of each that may have room, and takes
 * the first that fits, alignment considered; the list then begins at that sheet (next fit). A free looks for its place
 * among the sheet's blocks and joins it with its neighbours; a sheet without used units is given back. Both take
 * as long as there are sheets and blocks.
 *
 * A constructor runs at each allocation. A pointer into the middle of an object, or of another cache, cannot be told
 * from a good one: nothing says what lies in a sheet.
 */
#include "base/bits.h"
#include "base/error.h"
#include "base/memory.h"
#include "tiny/sequential.h"

#define SHEET_BYTES ((size_t)4096)
enum { LISTS = 3, HEADER = 4 };

static struct dry_sheet **list_for(struct dry_heap *heap, size_t size)
{
	return (struct dry_sheet **)(void *)&heap->kept[size < 256 ? 0 : size < 1024 ? 1 : 2];
}

unsigned dry_tiny_kept(unsigned shift)
{
	(void)shift;
	return LISTS;
}

/* ---- sheets ------------------------------------------------------------------------------------ */

static struct dry_unit *unit(struct dry_sheet *sheet, size_t index)
{
	return (struct dry_unit *)(void *)sheet + index;
}

static void list_remove(struct dry_sheet *sheet)
{
	struct dry_sheet **list = sheet->list;

	if (sheet->next == sheet)
		*list = NULL;
	else if (*list == sheet)
		*list = sheet->next;
	sheet->next->prev = sheet->prev;
	sheet->prev->next = sheet->next;
}

/* To be looked at first. */
static void list_insert(struct dry_sheet *sheet)
{
	struct dry_sheet *first = *sheet->list;

	sheet->next = first != NULL ? first : sheet;
	sheet->prev = first != NULL ? first->prev : sheet;
	sheet->next->prev = sheet->prev->next = sheet;
	*sheet->list = sheet;
}

static void map_sheet(struct dry_heap *heap, struct dry_sheet *sheet, bool there)
{
	uint16_t *map = dry_map_of(heap, sheet);

	for (size_t i = 0, n = dry_pages_for(heap, sheet->units * sizeof(struct dry_unit)); i < n; i++)
		map[i] = there ? (uint16_t)i : DRY_MAP_NONE;
}

/* A sheet with room for one block at least. */
static struct dry_sheet *sheet_create(struct dry_heap *heap, size_t bytes, size_t align, struct dry_sheet **list)
{
	size_t least = dry_pages_for(heap, dry_round_up(sizeof(struct dry_sheet) + HEADER, align) + bytes), pages = least;
	struct dry_sheet *sheet;

	if (pages << heap->pool.shift < SHEET_BYTES)
		pages = SHEET_BYTES >> heap->pool.shift;
	sheet = dry_pages_alloc(heap, pages, 1);
	if (sheet == NULL)
		sheet = dry_pages_alloc(heap, pages = least, 1);
	if (sheet == NULL)
		return NULL;
	sheet->list = list;
	sheet->units = (uint32_t)((pages << heap->pool.shift) / sizeof(struct dry_unit));
	sheet->first = sizeof(*sheet) / sizeof(struct dry_unit);
	sheet->free = sheet->units - sheet->first;
	*unit(sheet, sheet->first) = (struct dry_unit){ (uint16_t)sheet->free, 0 };
	map_sheet(heap, sheet, true);
	list_insert(sheet);
	return sheet;
}

/* First fit in one sheet: the address `skip` bytes behind the block's start is to be aligned. */
static void *sheet_take(struct dry_sheet *sheet, size_t units, size_t align, size_t skip)
{
	struct dry_unit *back = NULL;

	for (size_t at = sheet->first; at != 0; at = back->next) {
		struct dry_unit *block = unit(sheet, at);
		size_t front = (-((uintptr_t)block + skip) & (align - 1)) / sizeof(*block), rest, next = block->next;

		if (front + units > block->units) {
			back = block;
			continue;
		}
		rest = block->units - front - units;
		if (rest != 0) {
			*unit(sheet, at + front + units) = (struct dry_unit){ (uint16_t)rest, (uint16_t)next };
			next = at + front + units;
		}
		if (front != 0)
			*block = (struct dry_unit){ (uint16_t)front, (uint16_t)next };
		else if (back != NULL)
			back->next = (uint16_t)next;
		else
			sheet->first = (uint32_t)next;
		sheet->free -= (uint32_t)units;
		if (sheet->free == 0)
			list_remove(sheet);
		return unit(sheet, at + front);
	}
	return NULL;
}

/* Next fit. NULL: no memory. bytes: a multiple of the unit. */
static void *fit(struct dry_heap *heap, size_t bytes, size_t align, size_t skip)
{
	struct dry_sheet **list = list_for(heap, bytes), *sheet = *list;
	size_t units = bytes / sizeof(struct dry_unit);
	void *block = NULL;

	if (sheet != NULL) {
		struct dry_sheet *end = sheet;

		do {
			struct dry_sheet *next = sheet->next;
			bool last = next == end;

			if (sheet->free >= units && (block = sheet_take(sheet, units, align, skip)) != NULL) {
				if (sheet->free != 0)
					*list = sheet;
				return block;
			}
			sheet = next;
			if (last)
				break;
		} while (true);
	}
	sheet = sheet_create(heap, bytes, align, list);
	return sheet != NULL ? sheet_take(sheet, units, align, skip) : NULL;
}

/* false: the units are free already, or none of a block. */
static bool give(struct dry_heap *heap, struct dry_sheet *sheet, void *start, size_t bytes)
{
	size_t units = bytes / sizeof(struct dry_unit), at = (size_t)((struct dry_unit *)start - unit(sheet, 0)), next;
	struct dry_unit *back = NULL, *block = unit(sheet, at);

	for (next = sheet->first; next != 0 && next < at; next = back->next)
		back = unit(sheet, next);
	if (at < sizeof(*sheet) / sizeof(*block) || at + units > sheet->units || (next != 0 && at + units > next) ||
	    (back != NULL && back + back->units > block))
		return false;
	if (sheet->free == 0)
		list_insert(sheet);
	sheet->free += (uint32_t)units;
	if (sheet->free == sheet->units - sizeof(*sheet) / sizeof(*block)) {
		list_remove(sheet);
		map_sheet(heap, sheet, false);
		dry_pages_free(heap, sheet, dry_pages_for(heap, sheet->units * sizeof(*block)));
		return true;
	}
	if (next != 0 && at + units == next) {
		units += unit(sheet, next)->units;
		next = unit(sheet, next)->next;
	}
	if (back != NULL && back + back->units == block) {
		*back = (struct dry_unit){ (uint16_t)(back->units + units), (uint16_t)next };
		return true;
	}
	*block = (struct dry_unit){ (uint16_t)units, (uint16_t)next };
	if (back != NULL)
		back->next = (uint16_t)at;
	else
		sheet->first = (uint32_t)at;
	return true;
}

/* ---- objects of caches ------------------------------------------------------------------------- */

/* class->objects: out and reserved; class->slabs: reserved, linked from class->free. */
void dry_tiny_class_init(struct dry_class *class, struct dry_heap *heap, size_t size, size_t align, void (*ctor)(void *, void *))
{
	memset(class, 0, sizeof(*class));
	if (align < 4)
		align = 4;
	class->heap = heap;
	class->ctor = ctor;
	class->align = (uint32_t)align;
	/* an object that is reserved holds a link */
	class->slot = (uint32_t)dry_round_up(size < sizeof(void *) ? sizeof(void *) : size, align);
	dry_link_insert(&class->classes, &heap->classes);
}

/* In a sheet, or if it would fill one, a run of pages. */
static void *object_fit(struct dry_class *class)
{
	struct dry_heap *heap = class->heap;
	size_t align = class->align;

	if (class->slot > SHEET_BYTES / 2 || align > SHEET_BYTES / 2)
		return dry_pages_alloc(heap, dry_pages_for(heap, class->slot), align);
	return fit(heap, class->slot, align, 0);
}

static bool object_give(struct dry_class *class, void *object)
{
	struct dry_sheet *sheet = dry_map_slab(class->heap, object);

	if (sheet != NULL && (uintptr_t)object % sizeof(struct dry_unit) == 0)
		return give(class->heap, sheet, object, class->slot);
	return sheet == NULL && dry_tiny_block_free(class->heap, object);
}

/* Reserved objects are aligned as the cache asked, not as a pointer is. */
static void unreserve(struct dry_class *class, const struct dry_object *object)
{
	memcpy(&class->free, object, sizeof(object->next));
	class->slabs--;
}

void *dry_tiny_object_alloc(struct dry_class *class)
{
	struct dry_object *object = class->free;

	if (object != NULL) {
		unreserve(class, object);
	} else {
		object = object_fit(class);
		if (object == NULL)
			return NULL;
		class->objects++;
	}
	if (class->ctor != NULL)
		class->ctor(object, class->arg);
	return object;
}

void dry_tiny_object_free(const struct dry_owner *owner, void *object)
{
	struct dry_class *class = owner->class;

	if (object == NULL)
		return;
	if (class != DRY_TINY_DEAD && object_give(class, object))
		class->objects--;
	else
		dry_tiny_bad_pointer(owner, object);
}

/* Reserved objects go back. */
size_t dry_tiny_class_shrink(struct dry_class *class)
{
	struct dry_object *object;
	size_t count = 0;

	for (; (object = class->free) != NULL; count++) {
		unreserve(class, object);
		class->objects--;
		object_give(class, object);
	}
	return count;
}

bool dry_tiny_class_reserve(struct dry_class *class, size_t n)
{
	size_t before = class->slabs;

	while (class->slabs < n) {
		struct dry_object *object = object_fit(class);

		if (object == NULL) {
			while (class->slabs > before) {
				object = class->free;
				unreserve(class, object);
				class->objects--;
				object_give(class, object);
			}
			return false;
		}
		memcpy((void *)object, &class->free, sizeof(struct dry_object *));
		class->free = object;
		class->slabs++;
		class->objects++;
	}
	return true;
}

size_t dry_tiny_class_used(const struct dry_class *class)
{
	return class->objects - class->slabs;
}

/* Each object is a slab of its own. */
void dry_tiny_class_figures(const struct dry_class *class, struct dry_cache_stats *stats)
{
	stats->pages_per_slab = (unsigned)dry_pages_for(class->heap, class->slot);
	stats->objects_per_slab = 1;
	stats->active_objects = stats->active_slabs = dry_tiny_class_used(class);
	stats->objects = stats->slabs = class->objects;
	stats->cached_objects = class->slabs;
}

void dry_tiny_spares_free(struct dry_heap *heap)
{
	(void)heap;
}

/* ---- general blocks ---------------------------------------------------------------------------- */

bool dry_tiny_block_free(struct dry_heap *heap, void *block)
{
	const uint16_t *entry = dry_map_of(heap, block);
	size_t pages = entry != NULL ? dry_map_block(*entry) : 0;

	if (pages == 0 || ((uintptr_t)block & (((size_t)1 << heap->pool.shift) - 1)) != 0)
		return false;
	dry_pages_free(heap, block, pages);
	return true;
}

void *dry_tiny_alloc(struct dry_heap *heap, size_t size, size_t align)
{
	char *block;

	size += size == 0;
	if (align < DRY_TINY_UNIT)
		align = size < DRY_TINY_UNIT ? 8 : DRY_TINY_UNIT;
	if (size <= 4096 && size > align && dry_is_pow2(size))
		align = size;
	if (size > SHEET_BYTES / 2 || align > SHEET_BYTES / 2)
		return dry_pages_alloc(heap, dry_pages_for(heap, size), align);
	size = dry_round_up(size, sizeof(struct dry_unit));
	block = fit(heap, size + HEADER, align, HEADER);
	if (block == NULL)
		return NULL;
	*(uint32_t *)(void *)block = (uint32_t)size;
	return block + HEADER;
}

size_t dry_tiny_usable(struct dry_heap *heap, const void *block)
{
	const uint16_t *entry = dry_map_of(heap, block);

	if (entry == NULL)
		return 0;
	if (dry_map_slab(heap, block) != NULL)
		return ((const uint32_t *)block)[-1];
	return dry_map_block(*entry) << heap->pool.shift;
}

void dry_tiny_free(struct dry_heap *heap, void *block)
{
	struct dry_sheet *sheet = dry_map_slab(heap, block);
	uint32_t *header = (uint32_t *)block - 1;
	bool good;

	if (sheet == NULL || (uintptr_t)block % sizeof(struct dry_unit) != 0)
		good = dry_tiny_block_free(heap, block);
	else
		good = (char *)header >= (char *)(sheet + 1) && give(heap, sheet, header, *header + HEADER);
	if (!good)
		dry_tiny_bad_pointer(&(struct dry_owner){ .heap = heap }, block);
}

/* ---- the calls that slab.c has short ----------------------------------------------------------- */

void *dry_cache_alloc(dry_cache *cache)
{
	void *object;

	dry_tiny_lock();
	object = NULL;
	if (cache->owner.class != DRY_TINY_DEAD)
		object = dry_tiny_object_alloc(cache->owner.class);
	else
		dry_tiny_bad_pointer(&cache->owner, cache);
	dry_tiny_unlock();
	if (object == NULL)
		dry_tiny_set_errno(DRY_ENOMEM);
	return object;
}

void dry_cache_free(dry_cache *cache, void *object)
{
	dry_tiny_lock();
	dry_tiny_object_free(&cache->owner, object);
	dry_tiny_unlock();
}

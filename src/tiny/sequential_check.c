/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Verification of sheets. */
#include "base/memory.h"
#include "tiny/check.h"
#include "tiny/sequential.h"

size_t dry_check_slab(struct dry_check *check, const struct dry_pool *pool, size_t page)
{
	struct dry_heap *heap = check->heap;
	const struct dry_sheet *sheet = (const struct dry_sheet *)(pool->base + (page << heap->pool.shift));
	const struct dry_unit *units = (const struct dry_unit *)(const void *)sheet;
	const uint16_t *map = dry_map_entry(pool, sheet);
	size_t pages = dry_pages_for(heap, sheet->units * sizeof(*units)), free = 0;
	size_t behind = sizeof(*sheet) / sizeof(*units);

	if (!dry_check_expect(check, pages != 0 && pages <= (pool->bytes >> heap->pool.shift) - page, "a sheet's size", sheet))
		return 0;
	for (size_t i = 1; i < pages; i++)
		if (!dry_check_expect(check, map[i] == i, "a map entry inside of a sheet", map + i))
			return 0;
	for (size_t at = sheet->first; at != 0; at = units[at].next) {
		if (!dry_check_expect(check, at >= behind && units[at].units != 0 && at + units[at].units <= sheet->units,
				      "a free block's place", units + at))
			return 0;
		behind = at + units[at].units + 1u; /* neighbours were joined */
		free += units[at].units;
	}
	if (!dry_check_expect(check, free == sheet->free, "a sheet's number of free units", sheet))
		return 0;
	if (free != 0 && !dry_check_expect(check, dry_check_inside(heap, sheet->prev, sizeof(*sheet)) && sheet->prev->next == sheet,
					   "a sheet's link back", sheet))
		return 0;
	return pages;
}

void dry_check_class(struct dry_check *check, const struct dry_class *class)
{
	const struct dry_object *object = class->free;
	size_t reserved = 0;

	for (; object != NULL; reserved++) {
		if (!dry_check_expect(check, reserved < class->slabs && dry_map_of(check->heap, object) != NULL,
				      "a class's reserved objects", class))
			return;
		memcpy(&object, object, sizeof(object->next));
	}
	dry_check_expect(check, reserved == class->slabs && class->slabs <= class->objects, "a class's counts", class);
}

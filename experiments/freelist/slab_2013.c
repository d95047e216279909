/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#define _GNU_SOURCE
#include "freelist/slab_2013.h"

#include <string.h>
#include <sys/mman.h>

#define OFF_SLAB_FROM   (S13_PAGE / 8) /* bytes: from here on management is elsewhere */
#define MANAGEMENT_MIN  32u
#define LINE            64u
#define LIST_END        UINT32_MAX

enum seen { INDEX, DESCRIPTOR };

/* ---- counting --------------------------------------------------------------------- */

static void see(struct s13_cache *cache, enum seen kind, const void *address)
{
	uintptr_t line = (uintptr_t)address / LINE;

	if (cache->counts == NULL)
		return;
	for (uint32_t i = 0; i < cache->seen_count[kind]; i++)
		if (cache->seen[kind][i] == line)
			return;
	cache->seen[kind][cache->seen_count[kind]++] = line;
}

static void batch_done(struct s13_cache *cache, enum s13_batch batch, uint32_t objects)
{
	if (cache->counts == NULL)
		return;
	cache->counts[batch].objects += objects;
	cache->counts[batch].index_lines += cache->seen_count[INDEX];
	cache->counts[batch].descriptor_lines += cache->seen_count[DESCRIPTOR];
	cache->seen_count[INDEX] = cache->seen_count[DESCRIPTOR] = 0;
}

/* ---- lists ------------------------------------------------------------------------ */

static void ring_init(struct s13_link *head)
{
	head->next = head->prev = head;
}

static void ring_remove(struct s13_cache *cache, struct s13_link *link)
{
	see(cache, DESCRIPTOR, link->next);
	see(cache, DESCRIPTOR, link->prev);
	link->next->prev = link->prev;
	link->prev->next = link->next;
}

static void ring_add(struct s13_cache *cache, struct s13_link *head, struct s13_link *link)
{
	see(cache, DESCRIPTOR, head->next);
	link->next = head->next;
	link->prev = head;
	head->next->prev = link;
	head->next = link;
}

/* ---- memory ----------------------------------------------------------------------- */

static void *map(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

bool s13_memory_init(struct s13_memory *memory, size_t pages)
{
	memset(memory, 0, sizeof(*memory));
	memory->pages = pages;
	memory->base = map(pages * S13_PAGE);
	memory->page = map(pages * sizeof(struct s13_page));
	return memory->base != NULL && memory->page != NULL;
}

static void *take_linked(void **head)
{
	void *first = *head;

	if (first != NULL)
		*head = *(void **)first;
	return first;
}

static void give_linked(void **head, void *memory)
{
	*(void **)memory = *head;
	*head = memory;
}

static char *page_alloc(struct s13_memory *memory)
{
	char *page = take_linked(&memory->free_page);

	if (page == NULL && memory->used < memory->pages)
		page = memory->base + S13_PAGE * memory->used++;
	return page;
}

static void *management_alloc(struct s13_cache *cache)
{
	void *slot = take_linked(&cache->free_management);

	return slot != NULL ? slot : cache->management + cache->management_slot * cache->management_used++;
}

static struct s13_page *page_of(const struct s13_cache *cache, const void *address)
{
	return &cache->memory->page[(size_t)((const char *)address - cache->memory->base) / S13_PAGE];
}

/* ---- a slab, whose handle is its link ------------------------------------------------ */

static uint32_t entry_get(struct s13_cache *cache, const void *array, uint32_t i)
{
	see(cache, INDEX, (const char *)array + (size_t)i * cache->entry);
	return cache->entry == 1 ? ((const uint8_t *)array)[i] : ((const uint32_t *)array)[i];
}

static void entry_set(struct s13_cache *cache, void *array, uint32_t i, uint32_t value)
{
	see(cache, INDEX, (char *)array + (size_t)i * cache->entry);
	if (cache->entry == 1)
		((uint8_t *)array)[i] = (uint8_t)value;
	else
		((uint32_t *)array)[i] = value;
}

static uint32_t active(struct s13_cache *cache, struct s13_link *link)
{
	return cache->layout == S13_THREADED ? ((struct s13_slab *)link)->in_use : ((struct s13_page *)link)->active;
}

static void *take(struct s13_cache *cache, struct s13_link *link)
{
	uint32_t index;

	see(cache, DESCRIPTOR, link);
	if (cache->layout == S13_THREADED) {
		struct s13_slab *slab = (struct s13_slab *)link;
		see(cache, DESCRIPTOR, &slab->free);
		index = slab->free;
		slab->free = entry_get(cache, slab->bufctl, index);
		slab->in_use++;
		return slab->first + (size_t)index * cache->size;
	}
	struct s13_page *page = (struct s13_page *)link;
	index = entry_get(cache, page->array, page->active++);
	return page->first + (size_t)index * cache->size;
}

static void put(struct s13_cache *cache, struct s13_link *link, char *object)
{
	see(cache, DESCRIPTOR, link);
	if (cache->layout == S13_THREADED) {
		struct s13_slab *slab = (struct s13_slab *)link;
		see(cache, DESCRIPTOR, &slab->free);
		uint32_t index = (uint32_t)((uint64_t)(object - slab->first) * cache->reciprocal >> 32);
		entry_set(cache, slab->bufctl, index, slab->free);
		slab->free = index;
		slab->in_use--;
		return;
	}
	struct s13_page *page = (struct s13_page *)link;
	uint32_t index = (uint32_t)((uint64_t)(object - page->first) * cache->reciprocal >> 32);
	entry_set(cache, page->array, --page->active, index);
}

static struct s13_link *slab_new(struct s13_cache *cache)
{
	char *memory = page_alloc(cache->memory);

	if (memory == NULL)
		return NULL;
	struct s13_page *page = page_of(cache, memory);
	void *management = cache->off_slab ? management_alloc(cache) : memory;
	char *first = memory + cache->offset + (size_t)(cache->colour_next++ % cache->colours) * LINE;
	page->cache = cache;
	if (cache->layout == S13_THREADED) {
		struct s13_slab *slab = management;
		*slab = (struct s13_slab){ .first = first };
		for (uint32_t i = 0; i < cache->num; i++)
			slab->bufctl[i] = i + 1 < cache->num ? i + 1 : LIST_END;
		page->slab = slab;
		return &slab->list;
	}
	page->first = first;
	page->array = management;
	page->active = 0;
	for (uint32_t i = 0; i < cache->num; i++)
		entry_set(cache, management, i, i);
	return &page->list;
}

static void slab_destroy(struct s13_cache *cache, struct s13_link *link)
{
	bool threaded = cache->layout == S13_THREADED;
	char *first = threaded ? ((struct s13_slab *)link)->first : ((struct s13_page *)link)->first;
	void *management = threaded ? (void *)link : ((struct s13_page *)link)->array;

	if (cache->off_slab)
		give_linked(&cache->free_management, management);
	size_t number = (size_t)(page_of(cache, first) - cache->memory->page);
	give_linked(&cache->memory->free_page, cache->memory->base + number * S13_PAGE);
}

/* ---- the cache -------------------------------------------------------------------------- */

static uint32_t management_bytes(const struct s13_cache *cache, uint32_t num)
{
	return (cache->layout == S13_THREADED ? (uint32_t)sizeof(struct s13_slab) : 0) + num * cache->entry;
}

static uint32_t first_object(const struct s13_cache *cache, uint32_t num)
{
	uint32_t align = cache->size % 64 == 0 ? 64 : 32;

	return cache->off_slab ? 0 : (management_bytes(cache, num) + align - 1) / align * align;
}

bool s13_cache_init(struct s13_cache *cache, struct s13_memory *memory, enum s13_layout layout, uint32_t size, uint32_t entry,
		    uint32_t limit)
{
	memset(cache, 0, sizeof(*cache));
	cache->memory = memory;
	cache->layout = layout;
	cache->size = size;
	cache->entry = entry;
	cache->reciprocal = (((uint64_t)1 << 32) + size - 1) / size;
	cache->off_slab = size >= OFF_SLAB_FROM;
	cache->num = S13_PAGE / size;
	while (first_object(cache, cache->num) + cache->num * size > S13_PAGE)
		cache->num--;
	cache->offset = first_object(cache, cache->num);
	cache->limit = limit;
	cache->batch = (limit + 1) / 2;
	cache->free_limit = 1 + 2 * limit / cache->num;
	cache->colours = (S13_PAGE - cache->offset - cache->num * size) / LINE + 1;
	ring_init(&cache->partial);
	ring_init(&cache->free);
	if (!cache->off_slab)
		return true;
	cache->management_slot = MANAGEMENT_MIN;
	while (cache->management_slot < management_bytes(cache, cache->num))
		cache->management_slot *= 2;
	cache->management = map(memory->pages * cache->management_slot);
	return cache->management != NULL;
}

static struct s13_link *slab_with_free(struct s13_cache *cache)
{
	if (cache->partial.next != &cache->partial)
		return cache->partial.next;
	struct s13_link *slab = cache->free.next;
	if (slab != &cache->free) {
		ring_remove(cache, slab);
		cache->free_slabs--;
	} else if ((slab = slab_new(cache)) == NULL) {
		return NULL;
	}
	ring_add(cache, &cache->partial, slab);
	return slab;
}

static bool refill(struct s13_cache *cache)
{
	while (cache->avail < cache->batch) {
		struct s13_link *slab = slab_with_free(cache);
		if (slab == NULL)
			break;
		while (cache->avail < cache->batch && active(cache, slab) < cache->num)
			cache->array[cache->avail++] = take(cache, slab);
		if (active(cache, slab) == cache->num)
			ring_remove(cache, slab);
	}
	batch_done(cache, S13_REFILL, cache->avail);
	return cache->avail != 0;
}

static void flush_one(struct s13_cache *cache, void *object)
{
	struct s13_page *page = page_of(cache, object);
	struct s13_link *slab = cache->layout == S13_THREADED ? &page->slab->list : &page->list;

	see(cache, DESCRIPTOR, page);
	bool was_full = active(cache, slab) == cache->num;
	put(cache, slab, object);
	if (active(cache, slab) == 0) {
		if (!was_full)
			ring_remove(cache, slab);
		if (cache->free_slabs < cache->free_limit) {
			ring_add(cache, &cache->free, slab);
			cache->free_slabs++;
		} else {
			slab_destroy(cache, slab);
		}
	} else if (was_full) {
		ring_add(cache, &cache->partial, slab);
	}
}

static void flush(struct s13_cache *cache)
{
	for (uint32_t i = 0; i < cache->batch; i++)
		flush_one(cache, cache->array[i]);
	cache->avail -= cache->batch;
	memmove(cache->array, cache->array + cache->batch, cache->avail * sizeof(void *));
	batch_done(cache, S13_FLUSH, cache->batch);
}

void *s13_alloc(struct s13_cache *cache)
{
	if (cache->avail == 0 && !refill(cache))
		return NULL;
	return cache->array[--cache->avail];
}

void s13_free(struct s13_cache *cache, void *object)
{
	if (cache->avail == cache->limit)
		flush(cache);
	cache->array[cache->avail++] = object;
}

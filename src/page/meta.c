/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "page/meta.h"

#include <string.h>

#include "base/rank.h"
#include "page/internal.h"

#define SHARE 32 /* of the users' address space, that much for metadata */
/* Where that is wide: it begins with so little, for programs that lock all they have (mlockall). */
#define WIDE  ((size_t)1 << 30)
#define FIRST ((size_t)256 << 10)

static struct dry_arena *pages_of(struct dry_meta *meta)
{
	return meta->users->owns_memory ? &meta->own : meta->users;
}

/* log2 of the size of pieces of a class: a descriptor has 256 bits. */
static unsigned class_shift(const struct dry_meta *meta, unsigned class)
{
	return meta->users->page_shift - DRY_META_CLASSES + class;
}

/* DRY_META_CLASSES: it takes pages. */
static unsigned class_of(const struct dry_meta *meta, size_t bytes)
{
	unsigned class = 0;

	while (class < DRY_META_CLASSES && bytes > (size_t)1 << class_shift(meta, class))
		class ++;
	return class;
}

int dry_meta_init(struct dry_meta *meta, struct dry_arena *users)
{
	size_t reserve = ((size_t)users->pages << users->page_shift) / SHARE;
	struct dry_arena_attr attr = { .reserve = reserve > DRY_CHUNK_SIZE ? reserve : DRY_CHUNK_SIZE,
				       .page_size = (size_t)1 << users->page_shift,
				       .guarded = true };

	if (reserve >= WIDE)
		attr.first = FIRST;

	*meta = (struct dry_meta){ .users = users };
	dry_lock_init(&meta->lock, DRY_RANK_META);
	for (unsigned class = 0; class < DRY_META_CLASSES; class ++)
		meta->partial[class] = DRY_PAGE_NIL;
	return users->owns_memory ? dry_arena_init(&meta->own, &attr) : 0;
}

void dry_meta_fini(struct dry_meta *meta)
{
	if (meta->users->owns_memory)
		dry_arena_fini(&meta->own);
}

/* ---- pages; the lock is held ------------------------------------------------ */

static bool is_big(const struct dry_meta *meta, size_t bytes)
{
	return bytes >= DRY_META_BIG && bytes > (size_t)1 << meta->users->page_shift && meta->users->owns_memory;
}

static DRY_NOINLINE void *map_big(size_t bytes)
{
	void *at;

	if (!dry_budget_take(bytes))
		return NULL;
	at = dry_map_apart(bytes);
	if (at == NULL)
		dry_budget_give(bytes);
	return at;
}

/* Among the users' pages no free takes it for a block. */
static enum dry_page_kind kind_of(const struct dry_arena *arena)
{
	return arena->owns_memory ? DRY_PAGE_RUN : DRY_PAGE_KEPT;
}

/* In each of those that call it, for from here it may be a long way down (docs/design/stack.md). */
DRY_FAST void *take_pages(struct dry_meta *meta, size_t count, bool *dirty)
{
	size_t bytes = count << meta->users->page_shift;
	struct dry_arena *arena = pages_of(meta);
	struct dry_page *run = NULL;
	void *at = NULL;

	if (arena == &meta->own && !dry_arena_charge(meta->users, (ptrdiff_t)count))
		return NULL;
	if (is_big(meta, bytes))
		at = map_big(bytes);
	else if (count < UINT32_MAX)
		run = dry_arena_alloc(arena, (uint32_t)count, 1, 0);
	if (run != NULL) {
		at = dry_arena_start(arena, run);
		dry_page_set_kind(run, kind_of(arena));
		*dirty = (run->flags & DRY_PAGE_DIRTY) != 0;
	}
	if (at != NULL) {
		meta->pages += count;
		meta->big += run == NULL ? count : 0;
	} else if (arena == &meta->own) {
		dry_arena_charge(meta->users, -(ptrdiff_t)count);
	}
	return at;
}

static void give_pages(struct dry_meta *meta, void *at, size_t count)
{
	size_t bytes = count << meta->users->page_shift;
	struct dry_arena *arena = pages_of(meta);

	if (is_big(meta, bytes)) {
		dry_release_apart(at, bytes);
		dry_budget_give(bytes);
		meta->big -= count;
	} else {
		dry_arena_free(arena, &arena->desc[dry_arena_index(arena, at)]);
	}
	meta->pages -= count;
	if (arena == &meta->own)
		dry_arena_charge(meta->users, -(ptrdiff_t)count);
}

/* ---- pieces; the lock is held ----------------------------------------------- */

static unsigned pieces_in(unsigned class)
{
	return 256u >> class;
}

static void link_page(struct dry_meta *meta, struct dry_arena *arena, struct dry_page *page)
{
	uint32_t *head = &meta->partial[page->pieces.class];

	page->prev = DRY_PAGE_NIL;
	page->next = *head;
	*head = dry_arena_index_of(arena, page);
	if (page->next != DRY_PAGE_NIL)
		arena->desc[page->next].prev = *head;
}

static void unlink_page(struct dry_meta *meta, const struct dry_arena *arena, const struct dry_page *page)
{
	if (page->next != DRY_PAGE_NIL)
		arena->desc[page->next].prev = page->prev;
	*(page->prev != DRY_PAGE_NIL ? &arena->desc[page->prev].next : &meta->partial[page->pieces.class]) = page->next;
}

static DRY_NOINLINE bool add_page(struct dry_meta *meta, unsigned class)
{
	bool dirty;
	void *at = take_pages(meta, 1, &dirty);

	if (at == NULL)
		return false;
	struct dry_arena *arena = pages_of(meta);
	struct dry_page *page = &arena->desc[dry_arena_index(arena, at)];
	page->pieces.class = (uint8_t) class;
	page->pieces.free = (uint16_t)pieces_in(class);
	memset(page->pieces.bits, 0, sizeof(page->pieces.bits));
	for (unsigned i = 0; i < pieces_in(class); i++)
		page->pieces.bits[i / 64] |= UINT64_C(1) << i % 64;
	link_page(meta, arena, page);
	return true;
}

/* Of the first page that has some; there is one. */
static DRY_NOINLINE void *take_piece(struct dry_meta *meta, unsigned class)
{
	struct dry_arena *arena = pages_of(meta);
	struct dry_page *page = &arena->desc[meta->partial[class]];
	unsigned word = 0, bit;

	while (page->pieces.bits[word] == 0)
		word++;
	bit = dry_ctz64(page->pieces.bits[word]);
	page->pieces.bits[word] &= ~(UINT64_C(1) << bit);
	if (--page->pieces.free == 0)
		unlink_page(meta, arena, page);
	return (char *)dry_arena_start(arena, page) +
	       ((size_t)(word * 64 + bit) << class_shift(meta, class));
}

static void give_piece(struct dry_meta *meta, void *at)
{
	struct dry_arena *arena = pages_of(meta);
	struct dry_page *page = &arena->desc[dry_arena_index(arena, at)];
	char *start = dry_arena_start(arena, page);
	size_t piece = (size_t)((char *)at - start) >> class_shift(meta, page->pieces.class);

	if (page->pieces.free == 0)
		link_page(meta, arena, page);
	page->pieces.bits[piece / 64] |= UINT64_C(1) << piece % 64;
	if (++page->pieces.free == pieces_in(page->pieces.class)) {
		unlink_page(meta, arena, page);
		give_pages(meta, start, 1);
	}
}

/* ---- interface ---------------------------------------------------------------- */

/* What `bytes` take; *class says how. 0: too many. */
static size_t size_of(const struct dry_meta *meta, size_t bytes, unsigned *class)
{
	*class = class_of(meta, bytes);
	if (*class < DRY_META_CLASSES)
		return (size_t)1 << class_shift(meta, *class);
	return bytes <= SIZE_MAX / 2 ? dry_round_up(bytes, (size_t)1 << meta->users->page_shift) : 0;
}

static DRY_NOINLINE void *take_whole(struct dry_meta *meta, size_t size, bool *dirty)
{
	*dirty = false;
	return take_pages(meta, size >> meta->users->page_shift, dirty);
}

static void *take(struct dry_meta *meta, unsigned class, size_t size, bool zeroed)
{
	bool dirty = true;
	void *at = NULL;

	dry_lock_acquire(&meta->lock);
	if (class >= DRY_META_CLASSES)
		at = size != 0 ? take_whole(meta, size, &dirty) : NULL;
	else if (meta->partial[class] != DRY_PAGE_NIL || add_page(meta, class))
		at = take_piece(meta, class);
	meta->bytes += at != NULL ? size : 0;
	dry_lock_release(&meta->lock);
	return at != NULL && dirty && zeroed ? memset(at, 0, size) : at;
}

void *dry_meta_alloc_as(struct dry_meta *meta, size_t bytes, bool zeroed)
{
	unsigned class;
	size_t size = size_of(meta, bytes, &class);
	void *at = take(meta, class, size, zeroed);

	/* The users' free pages may be all that it takes to stay within the process's limit. */
	if (DRY_UNLIKELY(at == NULL) && dry_arena_is_counted(meta->users) && dry_arena_purge_all(meta->users) != 0)
		at = take(meta, class, size, zeroed);
	return at;
}

void dry_meta_free(struct dry_meta *meta, void *at, size_t bytes)
{
	unsigned class;
	size_t size = size_of(meta, bytes, &class);

	if (at == NULL)
		return;
	dry_lock_acquire(&meta->lock);
	if (class < DRY_META_CLASSES)
		give_piece(meta, at);
	else
		give_pages(meta, at, size >> meta->users->page_shift);
	meta->bytes -= size;
	dry_lock_release(&meta->lock);
}

void dry_meta_purge(struct dry_meta *meta)
{
	if (meta->users->owns_memory)
		dry_arena_purge_all(&meta->own);
}

void dry_meta_decay(struct dry_meta *meta, unsigned age)
{
	if (meta->users->owns_memory)
		dry_arena_decay(&meta->own, age);
}

void dry_meta_after_fork(struct dry_meta *meta)
{
	if (meta->users->owns_memory)
		dry_arena_after_fork(&meta->own);
}

static const char *check_pages(struct dry_meta *meta, unsigned class, size_t *spare)
{
	const struct dry_arena *arena = pages_of(meta);
	uint32_t index = meta->partial[class], previous = DRY_PAGE_NIL;

	for (; index != DRY_PAGE_NIL; index = arena->desc[index].next) {
		const struct dry_page *page = &arena->desc[index];

		if (page->kind != kind_of(arena) || page->count != 1 || page->pieces.class != class || page->prev != previous)
			return "meta: a page of pieces";
		unsigned set = 0;
		for (unsigned word = 0; word < 4; word++)
			set += dry_popcount64(page->pieces.bits[word]);
		if (set != page->pieces.free || set == 0 || set >= pieces_in(class))
			return "meta: free pieces of a page";
		*spare += (size_t)set << class_shift(meta, class);
		previous = index;
	}
	return NULL;
}

const char *dry_meta_check(struct dry_meta *meta)
{
	const char *problem = NULL;
	size_t spare = 0;

	dry_lock_acquire(&meta->lock);
	for (unsigned class = 0; class < DRY_META_CLASSES && problem == NULL; class ++)
		problem = check_pages(meta, class, &spare);
	if (problem == NULL && meta->pages << meta->users->page_shift != meta->bytes + spare)
		problem = "meta: bytes in use";
	if (problem == NULL && meta->users->owns_memory &&
	    (meta->own.used + meta->big != meta->pages || meta->pages > meta->users->charged))
		problem = "meta: pages";
	dry_lock_release(&meta->lock);
	return problem != NULL || !meta->users->owns_memory ? problem : dry_arena_check(&meta->own);
}

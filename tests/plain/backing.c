/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "plain.h"

#define POISON_TAKEN 0xa5
#define POISON_FREE  0x5a
#define META_MAGIC   0x6d657461u

/* Before metadata; the room keeps that aligned to a cache line. */
struct meta {
	size_t bytes;
	uint32_t magic;
	void *block;
};

static bool refuses(struct dry_backing *backing)
{
	bool refused;

	backing->calls++;
	refused = backing->fail_at != 0 &&
		  (backing->fail_all ? backing->calls >= backing->fail_at : backing->calls == backing->fail_at);
	backing->refused += refused;
	return refused;
}

static void no_lock_from(enum dry_rank rank, const char *what)
{
	for (unsigned r = rank; r < DRY_RANK_COUNT; r++)
		if (plain.held[r] != 0)
			plain_wrong(what);
}

static bool all_free(const struct dry_backing *backing, uint32_t head, uint32_t count)
{
	for (uint32_t i = head; i < head + count; i++)
		if (backing->page[i].state != PLAIN_FREE)
			return false;
	return true;
}

/* The first page of a free block of the node; DRY_SLAB_NIL: there is none. */
static uint32_t find_block(const struct dry_backing *backing, uint32_t count, unsigned node)
{
	uint32_t share = backing->pages / backing->nodes, first = node * share, end = first + share;

	for (uint32_t head = (first + count - 1) / count * count; head + count <= end; head += count)
		if (all_free(backing, head, count))
			return head;
	return DRY_SLAB_NIL;
}

static uint32_t find_on(const struct dry_backing *backing, unsigned order, unsigned node)
{
	uint32_t head = DRY_SLAB_NIL;

	for (unsigned i = 0; i < backing->nodes && head == DRY_SLAB_NIL; i++)
		head = find_block(backing, UINT32_C(1) << order, (node + i) % backing->nodes);
	return head;
}

struct dry_slab *dry_backing_alloc(struct dry_backing *backing, unsigned order, unsigned single, unsigned node, dry_gfp gfp,
				   size_t slabs)
{
	uint32_t count, head = DRY_SLAB_NIL;

	(void)slabs;
	no_lock_from(DRY_RANK_HEAPS, "pages are asked for with a lock held");
	if (order > backing->max_order || node >= backing->nodes || (single != 0 && order == 0) || single > 100)
		plain_wrong("pages of an order or node that there is not");
	if (refuses(backing) || gfp == PLAIN_GFP_NEVER)
		return NULL;
	if (order == 0 || backing->in_pieces == NULL || !backing->in_pieces())
		head = find_on(backing, order, node);
	bool one = single != 0 && head == DRY_SLAB_NIL;
	if (one)
		head = find_on(backing, order = 0, node);
	if (head == DRY_SLAB_NIL)
		return NULL;
	count = UINT32_C(1) << order;
	for (uint32_t i = head; i < head + count; i++) {
		backing->page[i].state = PLAIN_TAKEN;
		backing->page[i].order = (uint8_t)order;
		backing->page[i].single = one;
		backing->page[i].head = head;
	}
	backing->blocks_out++;
	backing->pages_out += count;
	memset(dry_backing_address(backing, &backing->page[head]), POISON_TAKEN, (size_t)count << backing->shift);
	return &backing->page[head];
}

void dry_backing_publish(struct dry_backing *backing, struct dry_slab *slab, uint32_t place)
{
	if (slab->state != PLAIN_TAKEN || slab->head != dry_backing_ref(backing, slab))
		plain_wrong("what is published is no fresh block");
	for (uint32_t i = 0; i < UINT32_C(1) << slab->order; i++) {
		slab[i].state = PLAIN_SLAB;
		slab[i].place = place;
	}
}

void dry_backing_free(struct dry_backing *backing, struct dry_slab *slab)
{
	uint32_t count = UINT32_C(1) << slab->order;

	no_lock_from(DRY_RANK_ALIEN, "pages are given back with a lock of a node or depot held");
	if (slab->state == PLAIN_FREE || slab->head != dry_backing_ref(backing, slab))
		plain_wrong("what is given back is no block");
	memset(dry_backing_address(backing, slab), POISON_FREE, (size_t)count << backing->shift);
	for (uint32_t i = 0; i < count; i++) {
		uint8_t node = slab[i].node;
		memset(&slab[i], POISON_FREE, sizeof(slab[i]));
		slab[i].node = node;
		slab[i].state = PLAIN_FREE;
	}
	backing->blocks_out--;
	backing->pages_out -= count;
}

void *dry_backing_meta_alloc(struct dry_backing *backing, size_t bytes)
{
	no_lock_from(DRY_RANK_NODE, "metadata is asked for with a node's lock held");
	if (refuses(backing))
		return NULL;
	void (*on_meta)(void) = backing->on_meta;
	backing->on_meta = NULL;
	if (on_meta != NULL)
		on_meta();
	char *block = calloc(1, bytes + 128), *at;
	if (block == NULL)
		plain_wrong("the test has no memory");
	at = (char *)(((uintptr_t)block + 127) & ~(uintptr_t)63);
	*(struct meta *)(void *)(at - sizeof(struct meta)) = (struct meta){ bytes, META_MAGIC, block };
	backing->meta_out++;
	backing->meta_bytes += bytes;
	return at;
}

/* Nobody may read what it did not write. */
void *dry_backing_meta_raw(struct dry_backing *backing, size_t bytes)
{
	void *at = dry_backing_meta_alloc(backing, bytes);

	return at != NULL ? memset(at, POISON_FREE, bytes) : NULL;
}

/* As a whole at once, but what is not there yet is no area. */
void *dry_backing_area_alloc(struct dry_backing *backing, size_t bytes, size_t most)
{
	char *area = dry_backing_meta_alloc(backing, most);

	if (area != NULL)
		memset(area + bytes, POISON_FREE, most - bytes);
	return area;
}

bool dry_backing_area_extend(struct dry_backing *backing, void *area, size_t from, size_t to, size_t most)
{
	if (from >= to || to > most)
		plain_wrong("an area is to grow beyond what it may be, or not at all");
	if (refuses(backing))
		return false;
	memset((char *)area + from, 0, to - from);
	return true;
}

void dry_backing_area_free(struct dry_backing *backing, void *area, size_t from, size_t to, size_t most)
{
	if (from == 0)
		dry_backing_meta_free(backing, area, most);
	else
		memset((char *)area + from, POISON_FREE, to - from);
}

void dry_backing_meta_free(struct dry_backing *backing, void *at, size_t bytes)
{
	struct meta meta;

	no_lock_from(DRY_RANK_NODE, "metadata is given back with a node's lock held");
	if (at == NULL)
		return;
	memcpy(&meta, (char *)at - sizeof(meta), sizeof(meta));
	if (meta.magic != META_MAGIC || meta.bytes != bytes)
		plain_wrong("metadata is given back twice, or with another size");
	memset((char *)at - sizeof(meta), POISON_FREE, bytes + sizeof(meta));
	backing->meta_out--;
	backing->meta_bytes -= bytes;
	free(meta.block);
}

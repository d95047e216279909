/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A constructor makes the head of a list, which points to itself. Each function is small enough for a compiler to see all of it. */
#include <drystone/kmem.h>

struct list {
	struct list *next, *prev;
};

struct thing {
	int references;
	struct list head;
};

static void construct(void *object)
{
	struct thing *thing = (struct thing *)object;

	thing->references = 0;
	thing->head.next = thing->head.prev = &thing->head;
}

/* What is written through the head's own pointer is read from the head. */
static int use(struct thing *thing, struct list *item)
{
	struct list *head = &thing->head;
	int same;

	head->prev = NULL;
	head->next->prev = item;
	same = head->prev == item;
	head->next->prev = head;
	return same;
}

/* As list_add() and list_del() do. */
static int add(struct thing *thing, struct list *item)
{
	struct list *head = &thing->head, *first = head->next;
	int right;

	first->prev = item;
	item->next = first;
	item->prev = head;
	head->next = item;
	right = head->prev == item && head->next == item;
	item->next->prev = item->prev;
	item->prev->next = item->next;
	return right && head->next == head && head->prev == head;
}

__attribute__((noinline)) static int use_plain(dry_cache *cache, struct list *item)
{
	struct thing *thing = (struct thing *)dry_cache_alloc(cache);
	int right = use(thing, item);

	dry_cache_free(cache, thing);
	return right;
}

__attribute__((noinline)) static int add_plain(dry_cache *cache, struct list *item)
{
	struct thing *thing = (struct thing *)dry_cache_alloc(cache);
	int right = add(thing, item);

	dry_cache_free(cache, thing);
	return right;
}

__attribute__((noinline)) static int use_of_node(dry_cache *cache, struct list *item)
{
	struct thing *thing = (struct thing *)dry_cache_alloc_node(cache, 0);
	int right = use(thing, item);

	dry_cache_free(cache, thing);
	return right;
}

__attribute__((noinline)) static int use_kernel(struct kmem_cache *cache, struct list *item)
{
	struct thing *thing = (struct thing *)kmem_cache_alloc(cache, GFP_KERNEL);
	int right = use(thing, item);

	kmem_cache_free(cache, thing);
	return right;
}

int main(void)
{
	struct kmem_cache *cache = kmem_cache_create("thing", sizeof(struct thing), 0, 0, construct);
	struct list item;

	if (cache == NULL || !use_plain(kmem_to_dry(cache), &item) || !add_plain(kmem_to_dry(cache), &item))
		return 1;
	if (!use_of_node(kmem_to_dry(cache), &item) || !use_kernel(cache, &item))
		return 2;
	kmem_cache_destroy(cache);
	return 0;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The same as typed_cache.c, in the kernel's words: code that was written for
 * a kernel's slab allocator runs on real caches in user space.
 */
#include <stdio.h>
#include <string.h>

#include <drystone/kmem.h>

enum { IDLE, BUSY };

struct connection {
	int state; /* IDLE whenever the object is free */
	int uses;
	char greeting[32];
};

struct request {
	unsigned long id;
	char path[100];
};

static unsigned constructed;

static void connection_construct(void *object)
{
	struct connection *connection = object;

	connection->state = IDLE;
	connection->uses = 0;
	strcpy(connection->greeting, "hello");
	constructed++;
}

static int serve(struct kmem_cache *cache, struct connection **open, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		open[i] = kmem_cache_alloc(cache, GFP_KERNEL);
		if (open[i] == NULL || open[i]->state != IDLE || strcmp(open[i]->greeting, "hello") != 0)
			return -1;
		open[i]->state = BUSY;
		open[i]->uses++;
	}
	for (size_t i = 0; i < n; i++) {
		open[i]->state = IDLE;
		kmem_cache_free(cache, open[i]);
	}
	return 0;
}

/* The other form of creation, and blocks without a type. */
static int other_forms(void)
{
	struct kmem_cache *requests = KMEM_CACHE(request, SLAB_HWCACHE_ALIGN);
	struct kmem_cache *named = kmem_cache_create("request_by_args", sizeof(struct request),
						     &(struct kmem_cache_args){ .align = 32 }, 0);
	struct request *request;
	char *text;

	if (requests == NULL || named == NULL)
		return -1;
	request = kmem_cache_alloc(named, GFP_KERNEL);
	if (request == NULL || ((unsigned long)request & 31) != 0)
		return -1;
	kmem_cache_free(named, request);
	kmem_cache_destroy(named);
	kmem_cache_destroy(requests);

	text = kzalloc(100, GFP_KERNEL);
	if (text == NULL || text[0] != 0 || text[99] != 0 || ksize(text) < 100)
		return -1;
	strcpy(text, "kept");
	text = krealloc(text, 100000, GFP_KERNEL);
	if (text == NULL || strcmp(text, "kept") != 0)
		return -1;
	kfree(text);
	return 0;
}

int main(void)
{
	enum { CONNECTIONS = 1000, ROUNDS = 10 };
	static struct connection *open[CONNECTIONS];
	struct kmem_cache *cache = kmem_cache_create("connection", sizeof(struct connection), 0, SLAB_HWCACHE_ALIGN,
						     connection_construct);

	if (cache == NULL)
		return 1;
	for (int round = 0; round < ROUNDS; round++)
		if (serve(cache, open, CONNECTIONS) != 0)
			return 1;
	printf("connection: %u constructed for %u allocations\n", constructed, CONNECTIONS * ROUNDS);
	if (constructed < CONNECTIONS || constructed >= CONNECTIONS * ROUNDS)
		return 1;
	kmem_cache_destroy(cache);
	return other_forms() != 0;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * mock MODE: a process that publishes a layout of its own over made-up structures, whole or
 * damaged in one way, for a reader to look at. Says "ready" and sleeps; mode "scribble"
 * instead damages random bytes all the time; mode "ending" is whole until SIGUSR1, and damaged for
 * a moment before its end.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <drystone/inspect.h>

struct array {
	uint16_t limit;
	uint64_t word;
};
struct depot {
	uint32_t pad, avail;
};
struct node {
	uint64_t slabs;
	uint32_t free_objects;
	uint16_t free_slabs;
	uint8_t shared;
	struct depot *alien;
	uint64_t slow_allocs, slow_frees, bulk_allocs;
	int64_t pops_apart;
};
struct cache {
	char name[24];
	struct cache *next, *root;
	uint64_t object_size;
	uint32_t size;
	uint16_t num;
	uint8_t order;
	uint32_t limit, batchcount, flags, array_at;
	struct node node[2];
};
struct heap {
	char name[16];
	struct heap *next;
	struct cache *caches;
	char **slots;
	uint32_t slot_count;
	uint8_t nodes;
};

/* All in one block, so that damage can be done anywhere. */
static struct image {
	struct heap heap[2];
	struct cache cache[4];
	struct depot depot[2];
	char *slots[3];
	struct array area[2][4];
	struct heap *heaps;
} image;
static char stopped[64];

#define F(type, member) DRY_INSPECT_FIELD(struct type, member)
/* The header declares the symbol constant; this one is not, so it has another name in C. */
struct dry_inspect layout __asm__("dry_inspect") = {
	.magic = DRY_INSPECT_MAGIC, .version = DRY_INSPECT_VERSION, .size = sizeof(struct dry_inspect),
	.pointer_size = sizeof(void *), .node_size = sizeof(struct node), .avail_bits = 16,
	.array_unit = sizeof(struct array), .depot_size = sizeof(struct depot),
	.heap_next = F(heap, next), .heap_name = F(heap, name), .heap_caches = F(heap, caches),
	.heap_slot_table = F(heap, slots), .heap_slots = F(heap, slot_count), .heap_nodes = F(heap, nodes),
	.cache_next = F(cache, next), .cache_name = F(cache, name), .cache_root = F(cache, root),
	.cache_object_size = F(cache, object_size), .cache_size = F(cache, size), .cache_num = F(cache, num),
	.cache_order = F(cache, order), .cache_limit = F(cache, limit), .cache_batchcount = F(cache, batchcount),
	.cache_flags = F(cache, flags), .cache_array = F(cache, array_at),
	.cache_nodes = F(cache, node), .array_word = F(array, word), .array_limit = F(array, limit),
	.node_slabs = F(node, slabs), .node_free_objects = F(node, free_objects),
	.node_free_slabs = F(node, free_slabs), .node_shared_avail = F(node, shared), .node_alien = F(node, alien),
	.depot_avail = F(depot, avail), .node_slow_allocs = F(node, slow_allocs),
	.node_slow_frees = F(node, slow_frees), .node_bulk_allocs = F(node, bulk_allocs),
	.node_pops_apart = F(node, pops_apart),
	.shared_factor = 8, .stopped_area = stopped, .heaps = &image.heaps, .default_heap = &image.heap[0],
};

static void cache_init(unsigned n, const char *name, uint32_t size, uint16_t num, uint64_t slabs)
{
	struct cache *cache = &image.cache[n];

	strcpy(cache->name, name);
	cache->root = cache;
	cache->object_size = size - 1;
	cache->size = size;
	cache->num = num;
	cache->limit = 20;
	cache->batchcount = 10;
	cache->node[0].slabs = slabs;
}

/* The listing of this is in test_cli_reader.sh. */
static void build(void)
{
	memset(&image, 0, sizeof(image));
	cache_init(0, "plain", 32, 100, 10);
	cache_init(1, "two slots", 64, 50, 4);
	cache_init(2, "other-name", 32, 100, 0);
	cache_init(3, "elsewhere", 4096, 4, 2);
	image.cache[0].next = &image.cache[1];
	image.cache[1].next = &image.cache[2];
	image.cache[2].root = &image.cache[0];
	image.cache[0].order = 2;
	image.cache[0].array_at = 1;
	image.cache[1].array_at = 2;
	image.cache[0].node[0].free_objects = 150;
	image.cache[0].node[0].free_slabs = 1;
	image.cache[0].node[0].shared = 30;
	image.cache[0].node[1].slabs = 5;
	image.cache[0].node[1].alien = image.depot;
	image.cache[0].node[1].slow_allocs = 7;
	image.depot[0].avail = 9;
	image.slots[0] = (char *)image.area[0];
	image.slots[1] = stopped;
	image.slots[2] = (char *)image.area[1];
	image.area[0][1].word = 11 | (uint64_t)1000 << 16;
	/* it counts down, 300 are left; 500 pops so far */
	image.area[1][1].word = ((uint64_t)6 << 61) - ((uint64_t)301 << 16) + 2;
	image.cache[0].node[0].pops_apart = 500 + 301;
	image.area[0][2].word = 3;
	image.area[1][2].word = (uint64_t)4 << 61 | 4; /* is over */
	image.cache[1].node[0].pops_apart = 41;
	image.heaps = &image.heap[0];
	for (unsigned i = 0; i < 2; i++) {
		strcpy(image.heap[i].name, i == 0 ? "first" : "second");
		image.heap[i].caches = &image.cache[i * 3];
		image.heap[i].slots = image.slots;
		image.heap[i].slot_count = 3;
		image.heap[i].nodes = 2;
	}
	image.heap[0].next = &image.heap[1];
}

static void scribble(void)
{
	unsigned state = 12345;

	for (unsigned n = 0;; n++) {
		state = state * 1664525u + 1013904223u;
		((volatile char *)&image)[(state >> 8) % sizeof(image)] = (char)(state >> 4);
		if (n % 8 == 7) {
			usleep(400);
			build();
		}
	}
}

static int damage(const char *mode)
{
	char *wild = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (strcmp(mode, "cycle") == 0)
		image.cache[2].next = &image.cache[1];
	else if (strcmp(mode, "heap-cycle") == 0)
		image.heap[1].next = &image.heap[1];
	else if (strcmp(mode, "next-unmapped") == 0)
		image.cache[0].next = (struct cache *)(void *)wild;
	else if (strcmp(mode, "next-odd") == 0)
		image.cache[0].next = (struct cache *)(void *)((char *)&image.cache[1] + 1);
	else if (strcmp(mode, "root-unmapped") == 0)
		image.cache[2].root = (struct cache *)(void *)wild;
	else if (strcmp(mode, "num-zero") == 0)
		image.cache[1].num = 0;
	else if (strcmp(mode, "order-huge") == 0)
		image.cache[1].order = 200;
	else if (strcmp(mode, "slots-huge") == 0)
		image.heap[0].slot_count = UINT32_MAX;
	else if (strcmp(mode, "nodes-huge") == 0)
		image.heap[0].nodes = 255;
	else if (strcmp(mode, "alien-unmapped") == 0)
		image.cache[0].node[0].alien = (struct depot *)(void *)wild;
	else if (strcmp(mode, "array-far") == 0)
		image.cache[1].array_at = UINT32_MAX;
	else if (strcmp(mode, "field-odd") == 0)
		layout.cache_num.size = 3;
	else if (strcmp(mode, "field-far") == 0)
		layout.cache_num.offset = UINT32_MAX;
	else if (strcmp(mode, "area-unmapped") == 0)
		image.slots[0] = wild;
	else if (strcmp(mode, "too-many-free") == 0)
		image.cache[1].node[0].free_objects = 1000000;
	else if (strcmp(mode, "name") == 0)
		memcpy(image.cache[1].name, "\033[2J\n\377 \"\\ a name without end", 24);
	else if (strcmp(mode, "version") == 0)
		layout.version = 77;
	else if (strcmp(mode, "width") == 0)
		layout.pointer_size = 4;
	else if (strcmp(mode, "magic") == 0)
		layout.magic[3] = 'X';
	else if (strcmp(mode, "empty") == 0)
		image.heaps = NULL;
	else
		return strcmp(mode, "whole") == 0 || strcmp(mode, "scribble") == 0 || strcmp(mode, "ending") == 0;
	return 1;
}

static void wake(int signal)
{
	(void)signal;
}

int main(int argc, char **argv)
{
	build();
	if (argc != 2 || !damage(argv[1]))
		return 1;
	if (strcmp(argv[1], "ending") == 0)
		signal(SIGUSR1, wake);
	puts("ready");
	fflush(stdout);
	if (strcmp(argv[1], "scribble") == 0)
		scribble();
	pause(); /* for ever, but for "ending" */
	damage("cycle");
	usleep(200000);
	return 0;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A made-up process for the targets that read one: an image of IMAGE bytes at address BASE, which is an ELF object with its
 * dynamic symbols, the layout that it publishes, and two heaps with caches, nodes, arrays, pages and extents.
 */
#ifndef DRY_TESTS_FUZZ_PROCESS_IMAGE_H
#define DRY_TESTS_FUZZ_PROCESS_IMAGE_H

#include <elf.h>
#include <link.h>
#include <stdint.h>

#include "../../tools/drystone/walk.h"
#include "input.h"

#define BASE  ((uint64_t)0x10000)
#define IMAGE 16384

/*
 * Rows that the whole image has: caches, their nodes and slots with something in them, big blocks
 * of three sizes and guarded ones.
 */
#define WHOLE_ROWS 15

struct array {
	uint16_t limit;
	uint64_t word;
};
struct depot {
	uint32_t pad, avail;
	uint64_t entry;
};
struct node {
	uint64_t slabs;
	uint32_t free_objects;
	uint16_t free_slabs;
	uint8_t shared;
	uint64_t alien, slow_allocs, slow_frees, bulk_allocs, pops_apart, lock_rounds, shared_entry;
};
struct cache {
	char name[24];
	uint64_t next, root, object_size;
	uint32_t size;
	uint16_t num;
	uint8_t order;
	uint32_t limit, batchcount, flags, array_at, kept;
	struct node node[2];
};
struct page {
	uint8_t kind;
	uint16_t active;
	uint32_t count;
	uint64_t cache;
};
struct arena {
	uint64_t base, pages, committed, free_dirty, free_clean, limbo, desc, desc_bytes, map, map_bytes, chunks, chunks_bytes;
	uint32_t page_shift;
};
struct extent {
	uint64_t address, bytes;
};
struct guard {
	uint32_t page, pages;
	uint8_t state;
};
struct guards {
	uint64_t base, table;
	uint32_t fresh;
};
struct heap {
	char name[16];
	uint64_t next, caches, slots;
	uint32_t slot_count;
	uint8_t nodes;
	uint64_t failures, area_size;
	struct arena arena[2], meta;
	uint64_t meta_pages;
	uint64_t table, table_slots, kept, kept_count;
	struct extent spare[2];
};

/* What lies at BASE. Pointers are addresses in the image. */
struct image {
	ElfW(Ehdr) header;
	ElfW(Phdr) segment[2];
	ElfW(Dyn) dynamic[5];
	ElfW(Sym) symbol[2];
	struct {
		uint32_t buckets, first, words, shift;
		uint64_t filter;
		uint32_t bucket, chain[1];
	} hash;
	char strings[64];
	struct dry_inspect layout;
	struct heap heap[2];
	struct cache cache[4];
	struct depot depot[2];
	uint64_t slots[3];
	struct array area[2][4];
	struct page page[16];
	struct extent extent[4];
	struct guard guard[4];
	struct guards guards;
	uint64_t heaps;
	char stopped[64];
};

extern union process_memory {
	struct image image;
	unsigned char bytes[IMAGE];
} process_memory;

/* Whole again. */
void process_image_make(void);
/* Damage it as the input says, up to a damage of length 0. */
void process_image_damage(struct input *in);
/* Read it as the command does, and hold the figures to what is promised of them. Returns how many rows they have. */
size_t process_image_look(struct target *target);

#endif

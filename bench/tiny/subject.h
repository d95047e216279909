/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the measurements ask of an allocator for small machines: one pool, typed objects, and
 * blocks of any size. Each subject_*.c (and rlsf/) puts one allocator behind these calls; a program is
 * linked with exactly one. An allocator without typed objects serves them as blocks.
 */
#ifndef DRY_BENCH_TINY_SUBJECT_H
#define DRY_BENCH_TINY_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>

/* A kind of objects. */
struct kind {
	const char *name;
	size_t size, align;	   /* align 0: the allocator's own choice */
	void (*ctor)(void *object, void *arg); /* may be NULL; arg: NULL */
	void *cache;		   /* the allocator's own */
};

/* The allocator's name in the tables. */
const char *subject_name(void);

/* Start afresh in this memory and no other. false: it does not work there. */
bool subject_open(void *pool, size_t size);

/* Prepare a kind; its objects; NULL: the pool is exhausted. */
bool subject_kind(struct kind *kind);
void *subject_get(struct kind *kind);
void subject_put(struct kind *kind, void *object);

/* Blocks. `size` is told again when a block is freed; most have no use for it. */
void *subject_alloc(size_t size);
void *subject_resize(void *block, size_t old_size, size_t size);
void subject_free(void *block, size_t size);
void *subject_aligned(size_t align, size_t size);
void subject_free_aligned(void *block, size_t align);

/* Bytes of the pool in use now by the allocator's own figures; 0: it keeps none. */
size_t subject_in_use(void);

#endif

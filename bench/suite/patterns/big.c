/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Big blocks.
 *
 *   grow        buffers of 4 KiB grow by half again and again with realloc, each to a limit of up to 32 MiB (every
 *               doubling as likely); what is new is written. Then the buffer is freed and another begins. 8 at a time.
 *   big         20 live blocks of 5 to 25 MB; a random one is replaced, and all of the new one is written
 *   big_sparse  the same, but the program writes one byte in each page
 *
 * An operation is one realloc, or one block.
 */
#include "patterns.h"

#include <string.h>

/* ---- grow ---- */

#define BUFFERS 8

struct buffer {
	uint8_t *memory;
	size_t size, limit;
};

static void check_buffer(const struct buffer *b)
{
	if (b->memory[0] != 7 || b->memory[b->size / 2] != 7 || b->memory[b->size - 1] != 7)
		suite_damaged(b->memory);
}

static void grow_one(struct suite_worker *w, struct buffer *b)
{
	size_t size = b->size + b->size / 2;

	if (b->memory != NULL)
		check_buffer(b);
	if (b->memory == NULL || size > b->limit) {
		size_t low = (size_t)4096 << bench_range(&w->random, 0, 12);

		free(b->memory);
		*b = (struct buffer){ .limit = low + bench_range(&w->random, 0, (uint32_t)low) };
		size = 4096;
	}
	b->memory = realloc(b->memory, size);
	if (b->memory == NULL)
		bench_die("out of memory");
	memset(b->memory + b->size, 7, size - b->size);
	b->size = size;
	w->check += size;
}

static void grow(struct suite_worker *w)
{
	struct buffer buffer[BUFFERS] = { 0 };

	w->ops = suite_share(w->suite, 4000);
	for (size_t i = 0; i < w->ops; i++)
		grow_one(w, &buffer[bench_range(&w->random, 0, BUFFERS - 1)]);
	for (size_t b = 0; b < BUFFERS; b++)
		free(buffer[b].memory);
}

void pattern_grow(struct suite *suite)
{
	suite_threads(suite, grow);
}

/* ---- big ---- */

#define BIG_LIVE 20
#define MEGABYTE 1000000u

static void replace_big(struct suite_worker *w, int sparse)
{
	struct suite_block *live[BIG_LIVE] = { NULL };

	w->ops = suite_share(w->suite, sparse ? 200 : 80);
	for (size_t i = 0; i < w->ops; i++) {
		struct suite_block **place = &live[bench_range(&w->random, 0, BIG_LIVE - 1)];
		uint32_t size = bench_range(&w->random, 5 * MEGABYTE, 25 * MEGABYTE);

		suite_free(*place);
		if (sparse) {
			*place = suite_alloc(size);
		} else {
			void *memory = malloc(size);

			if (memory == NULL)
				bench_die("out of memory");
			memset(memory, (int)i, size);
			*place = suite_mark(memory, size);
		}
		w->check += size;
	}
	for (size_t i = 0; i < BIG_LIVE; i++)
		suite_free(live[i]);
}

static void big(struct suite_worker *w)
{
	replace_big(w, 0);
}

static void big_sparse(struct suite_worker *w)
{
	replace_big(w, 1);
}

void pattern_big(struct suite *suite)
{
	suite_threads(suite, big);
}

void pattern_big_sparse(struct suite *suite)
{
	suite_threads(suite, big_sparse);
}

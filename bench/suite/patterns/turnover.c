/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A table of blocks that is turned over: each thread fills its table with blocks of ten sizes, the smaller the more of
 * them; then two fifths are freed from the start on and two fifths from the end back, and the freed places are filled
 * again. The fifth in between survives, and lies elsewhere in the next round. About 17 MB are live when the tables are
 * full, in all threads together, and most of it is free between two rounds. An operation is one block.
 */
#include "patterns.h"

#define PLACES 400000 /* in all threads together */
#define FEW    1000   /* at tiny scales */

/* Of a thousand blocks so many have this size. */
static const struct {
	uint16_t size, share;
} mix[] = {
	{ 16, 400 }, { 24, 300 }, { 40, 150 }, { 64, 80 },	{ 100, 30 },
	{ 160, 20 }, { 300, 10 }, { 700, 6 },	{ 1500, 3 }, { 4000, 1 },
};

static size_t size_of(uint32_t number)
{
	size_t i = 0;

	for (uint32_t rest = number; rest >= mix[i].share; i++)
		rest -= mix[i].share;
	return mix[i].size;
}

/* A table seen from a place on that changes from round to round. */
struct table {
	struct suite_block **place;
	size_t places, start;
};

static struct suite_block **at(const struct table *table, size_t i)
{
	return &table->place[(table->start + i) % table->places];
}

static void drop(struct suite_worker *w, struct suite_block **place)
{
	w->check += suite_unmark(*place);
	free(*place);
	*place = NULL;
	w->ops++;
}

static void fill(struct suite_worker *w, const struct table *table)
{
	for (size_t i = 0; i < table->places; i++)
		if (*at(table, i) == NULL)
			*at(table, i) = suite_alloc(size_of(bench_range(&w->random, 0, 999)));
}

static void turnover(struct suite_worker *w)
{
	size_t want = suite_share(w->suite, 2e7), fifth = (w->suite->scale < 0.01 ? FEW : PLACES) / w->suite->threads / 5;
	struct table table = { .places = 5 * fifth };

	table.place = calloc(table.places, sizeof(*table.place));
	if (table.place == NULL)
		bench_die("out of memory");
	do {
		fill(w, &table);
		for (size_t i = 0; i < 2 * fifth; i++)
			drop(w, at(&table, i));
		for (size_t i = 5 * fifth; i-- > 3 * fifth;)
			drop(w, at(&table, i));
		table.start = (table.start + 2 * fifth) % table.places;
	} while (w->ops < want);
	for (size_t i = 0; i < table.places; i++)
		if (table.place[i] != NULL)
			drop(w, &table.place[i]);
	free(table.place);
}

void pattern_turnover(struct suite *suite)
{
	suite_threads(suite, turnover);
}

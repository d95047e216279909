/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A logic minimiser's inner work: functions of 14 Boolean variables as covers, lists of cubes; every cube is a block of
 * its own. A cover's complement is found by Shannon's expansion (choose a variable, take both cofactors, complement
 * each, put them together), then cubes that others contain are dropped. Blocks are tiny and live shortly; the lists
 * grow by realloc.
 *
 * Each result is tried at random points: exactly one of the function and its complement is true. An operation is one
 * cube.
 */
#include "patterns.h"

#define VARIABLES 14
#define CUBES     40

/* Two bits a variable: may be 0, may be 1. */
struct cube {
	uint32_t zero, one;
};

#define ALL ((1u << VARIABLES) - 1)

/* 0 <= count <= room */
struct cover {
	struct cube **cube;
	uint32_t count, room;
};

static size_t made;

static void add(struct cover *cover, uint32_t zero, uint32_t one)
{
	struct cube *cube = bench_touch(malloc(sizeof(*cube)));

	if (cover->count == cover->room) {
		cover->room = cover->room == 0 ? 4 : cover->room * 2;
		cover->cube = realloc(cover->cube, cover->room * sizeof(struct cube *));
		if (cover->cube == NULL)
			bench_die("out of memory");
	}
	*cube = (struct cube){ zero, one };
	cover->cube[cover->count++] = cube;
	made++;
}

static void drop(struct cover *cover)
{
	for (uint32_t i = 0; i < cover->count; i++)
		free(cover->cube[i]);
	free(cover->cube);
}

/* The cover where `variable` has this value. */
static struct cover cofactor(const struct cover *cover, uint32_t variable, int value)
{
	struct cover half = { NULL, 0, 0 };
	uint32_t bit = 1u << variable;

	for (uint32_t i = 0; i < cover->count; i++) {
		const struct cube *c = cover->cube[i];

		if (((value ? c->one : c->zero) & bit) != 0)
			add(&half, c->zero | bit, c->one | bit);
	}
	return half;
}

/* The variable on which most cubes depend; VARIABLES: there is none. */
static uint32_t choose(const struct cover *cover)
{
	uint32_t best = VARIABLES, most = 0;

	for (uint32_t v = 0; v < VARIABLES; v++) {
		uint32_t depend = 0;

		for (uint32_t i = 0; i < cover->count; i++)
			depend += ((cover->cube[i]->zero & cover->cube[i]->one) >> v & 1) == 0;
		if (depend > most) {
			most = depend;
			best = v;
		}
	}
	return best;
}

/* Cubes within another are dropped. */
static void drop_contained(struct cover *cover)
{
	for (uint32_t i = 0; i < cover->count; i++) {
		for (uint32_t k = 0; k < cover->count; k++) {
			const struct cube *a = cover->cube[i], *b = cover->cube[k];

			if (i == k || (a->zero & ~b->zero) != 0 || (a->one & ~b->one) != 0)
				continue;
			free(cover->cube[i]);
			cover->cube[i--] = cover->cube[--cover->count];
			break;
		}
	}
}

static struct cover complement(const struct cover *cover)
{
	struct cover result = { NULL, 0, 0 };
	uint32_t v = choose(cover);

	if (cover->count == 0)
		add(&result, ALL, ALL);
	if (v == VARIABLES)
		return result; /* nothing, or a cube that is everything */
	for (int value = 0; value < 2; value++) {
		struct cover half = cofactor(cover, v, value), rest = complement(&half);

		for (uint32_t i = 0; i < rest.count; i++)
			add(&result, rest.cube[i]->zero & ~(value ? 1u << v : 0),
			    rest.cube[i]->one & ~(value ? 0 : 1u << v));
		drop(&half);
		drop(&rest);
	}
	drop_contained(&result);
	return result;
}

static int holds(const struct cover *cover, uint32_t point)
{
	for (uint32_t i = 0; i < cover->count; i++)
		if ((point & ~cover->cube[i]->one) == 0 && (~point & ALL & ~cover->cube[i]->zero) == 0)
			return 1;
	return 0;
}

static struct cover any_function(uint64_t *random)
{
	struct cover cover = { NULL, 0, 0 };

	for (int i = 0; i < CUBES; i++) {
		/* About every third variable is not asked about. */
		uint32_t free_ones = bench_random(random) & ALL, value = bench_random(random) & ALL;

		free_ones &= ~(bench_random(random) & bench_random(random));
		add(&cover, free_ones | (~value & ALL), free_ones | value);
	}
	return cover;
}

void pattern_minimise(struct suite *suite)
{
	size_t want = suite_count(suite, 3e6);
	uint64_t random = 88172645463325252ull, check = 0;

	while (made < want) {
		struct cover cover = any_function(&random), rest = complement(&cover);

		for (int i = 0; i < 64; i++) {
			uint32_t point = bench_random(&random) & ALL;

			if (holds(&cover, point) == holds(&rest, point))
				suite_damaged(rest.cube);
		}
		check += rest.count;
		drop(&cover);
		drop(&rest);
	}
	suite_add(made, check);
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Symbolic mathematics: numbers of any length, each a block of its own that no operation changes, so that every sum
 * and product is a new one and most live for a few operations.
 *
 * The square roots of numbers n are developed into continued fractions; numerators p and denominators q of the
 * convergents grow without bound, and at each step p*p - n*q*q must be what the theory says. An operation is one
 * number.
 */
#include "patterns.h"

#include <math.h>
#include <string.h>

#define STEPS 60

/* length > 0 but for zero, and the last limb is not zero. */
struct number {
	uint32_t length;
	uint32_t limb[];
};

static size_t made;

static struct number *number(uint32_t length)
{
	struct number *n = bench_touch(malloc(sizeof(*n) + length * sizeof(n->limb[0])));

	n->length = length;
	made++;
	return n;
}

static struct number *trim(struct number *n)
{
	while (n->length > 0 && n->limb[n->length - 1] == 0)
		n->length--;
	return n;
}

static struct number *of(uint32_t value)
{
	struct number *n = number(1);

	n->limb[0] = value;
	return trim(n);
}

static struct number *sum(const struct number *a, const struct number *b)
{
	if (a->length < b->length)
		return sum(b, a);

	struct number *s = number(a->length + 1);
	uint64_t carry = 0;

	for (uint32_t i = 0; i < a->length; i++) {
		carry += (uint64_t)a->limb[i] + (i < b->length ? b->limb[i] : 0);
		s->limb[i] = (uint32_t)carry;
		carry >>= 32;
	}
	s->limb[a->length] = (uint32_t)carry;
	return trim(s);
}

/* a - b; b is not greater. */
static struct number *difference(const struct number *a, const struct number *b)
{
	struct number *d = number(a->length);
	int64_t borrow = 0;

	for (uint32_t i = 0; i < a->length; i++) {
		borrow += (int64_t)a->limb[i] - (i < b->length ? b->limb[i] : 0);
		d->limb[i] = (uint32_t)borrow;
		borrow >>= 32;
	}
	return trim(d);
}

static struct number *product(const struct number *a, const struct number *b)
{
	struct number *p = number(a->length + b->length);

	memset(p->limb, 0, p->length * sizeof(p->limb[0]));
	for (uint32_t i = 0; i < a->length; i++) {
		uint64_t carry = 0;

		for (uint32_t k = 0; k < b->length; k++) {
			carry += (uint64_t)a->limb[i] * b->limb[k] + p->limb[i + k];
			p->limb[i + k] = (uint32_t)carry;
			carry >>= 32;
		}
		p->limb[i + b->length] = (uint32_t)carry;
	}
	return trim(p);
}

/* a * factor + b, a step of the recurrence; frees nothing. */
static struct number *step(const struct number *a, uint32_t factor, const struct number *b)
{
	struct number *f = of(factor), *p = product(a, f), *s = sum(p, b);

	free(f);
	free(p);
	return s;
}

/* p*p and n*q*q differ by d, in the direction `above`. */
static void must_differ(const struct number *p, uint32_t n, const struct number *q, uint32_t d, int above)
{
	struct number *pp = product(p, p), *qq = product(q, q), *root = of(n), *nqq = product(root, qq);
	struct number *rest = above ? difference(pp, nqq) : difference(nqq, pp);

	if (rest->length != 1 || rest->limb[0] != d)
		suite_damaged(rest);
	free(pp);
	free(qq);
	free(root);
	free(nqq);
	free(rest);
}

/* The first STEPS convergents of the root of n, which is no square. */
static uint64_t develop(uint32_t n)
{
	uint32_t whole = (uint32_t)sqrt((double)n), m = 0, d = 1, a = whole;
	struct number *p = of(whole), *q = of(1), *p_before = of(1), *q_before = of(0);
	uint64_t check = 0;

	for (int i = 0; i < STEPS; i++) {
		m = d * a - m;
		d = (n - m * m) / d;
		must_differ(p, n, q, d, i % 2);
		a = (whole + m) / d;

		struct number *p_next = step(p, a, p_before), *q_next = step(q, a, q_before);

		free(p_before);
		free(q_before);
		p_before = p;
		q_before = q;
		p = p_next;
		q = q_next;
		check += a;
	}
	check += p->limb[0];
	free(p);
	free(q);
	free(p_before);
	free(q_before);
	return check;
}

void pattern_symbols(struct suite *suite)
{
	size_t want = suite_count(suite, 1.6e7);
	uint64_t check = 0;

	for (uint32_t n = 1000003; made < want; n += 7) {
		uint32_t whole = (uint32_t)sqrt((double)n);

		if (whole * whole != n)
			check += develop(n);
	}
	suite_add(made, check);
}

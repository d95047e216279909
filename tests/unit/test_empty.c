/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Blocks of no bytes: where nearly all addresses have one, the next is refused at once; freed, they come again. */
#include <stdlib.h>
#include <time.h>

#include "../support/check.h"
#include "guard/empty.h"
#include "port/contract.h"

#define MOST    ((size_t)4 << 20)
#define REFUSED 4000

static void **block;

/* As many as there are, of which the first `have` are there. */
static size_t fill(size_t have, size_t align)
{
	while (have < MOST && (block[have] = dry_empty_alloc(align)) != NULL) {
		CHECK((uintptr_t)block[have] % align == 0 && dry_empty_contains(block[have]));
		have++;
	}
	return have;
}

/* Calls that find nothing take less time than the many that found something. */
static void check_refused(size_t align, clock_t taken)
{
	clock_t start = clock();

	for (int i = 0; i < REFUSED; i++)
		CHECK(dry_empty_alloc(align) == NULL);
	CHECK(clock() - start < taken);
}

static void drop(size_t count)
{
	while (count-- > 0)
		CHECK(dry_empty_check(block[count], true));
}

/* How many are left, at the front. */
static size_t drop_others(size_t count)
{
	size_t left = 0;

	for (size_t i = 0; i < count; i++) {
		if (i % 2 == 0)
			block[left++] = block[i];
		else
			CHECK(dry_empty_check(block[i], true));
	}
	return left;
}

int main(void)
{
	clock_t start = clock(), taken;
	size_t count;

	block = malloc(MOST * sizeof(block[0]));
	CHECK(block != NULL);
	count = fill(0, 16);
	CHECK(count >= MOST / 64 * 62);
	taken = clock() - start;
	check_refused(16, taken);
	CHECK_EQ(fill(drop_others(count), 16), count);
	drop(count);

	count = fill(0, dry_port_page_size());
	CHECK(count == MOST * 16 / dry_port_page_size());
	drop(count);
	CHECK_EQ(fill(0, dry_port_page_size()), count);
	check_refused(dry_port_page_size(), taken);
	drop(count);
	CHECK_EQ(fill(0, 16), MOST / 64 * 63);
	free(block);
	return 0;
}

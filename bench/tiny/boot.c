/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * boot TABLE POOL_KIB [DRAWN [SEED]]: does the population of TABLE, allocated in random order, fit in such a pool?
 * General blocks are of the sizes of the table's caches or (DRAWN 1) of sizes drawn from what those serve.
 * Exit status 0: yes; then it prints in_use_kb and touched_kb. 1: no.
 */
#include <stdio.h>
#include <stdlib.h>

#include "workload.h"

int main(int argc, char **argv)
{
	struct dice dice = { argc > 4 ? strtoull(argv[4], NULL, 0) : 1 };
	bool drawn = argc > 3 && argv[3][0] == '1';
	static struct population population;
	struct pool pool;

	if (argc < 3 || !dice.state || !population_read(&population, argv[1], 100, drawn, &dice)) {
		fprintf(stderr, "use: boot TABLE POOL_KIB [DRAWN [SEED]]\n");
		return 2;
	}
	if (!pool_make(&pool, strtoul(argv[2], NULL, 0) << 10) || !subject_open(pool.memory, pool.size) ||
	    !population_open(&population))
		return 1;
	for (size_t i = 0; i < population.count; i++)
		if (!population_get(&population, &population.objects[i]))
			return 1;
	printf("in_use_kb %zu\ntouched_kb %zu\nobjects_kb %zu\n", subject_in_use() >> 10, pool_touched(&pool) >> 10,
	       population.bytes >> 10);
	return 0;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A live set that drifts: 4 MiB of blocks of one size, each replaced by as many bytes of the next size, in random order; 24
 * sizes. What is left of a size, in arrays and shared arrays, must not keep its slabs for long while the heap grows for the next
 * ones: at most five times the live set is resident, and a MiB. (25 times, before growth gave a reason to look.)
 */
#include <stdlib.h>

#include "../support/check.h"
#include "../support/random.h"

#define LIVE  ((size_t)4 << 20)
#define LEAST 64
#define SIZES 24

static const uint16_t sizes[SIZES] = { 64,  80,  96,  112, 128, 144, 160, 176, 192, 208, 224, 240,
				       256, 288, 320, 352, 384, 416, 448, 480, 512, 576, 640, 704 };
static char *block[LIVE / LEAST + 1];
static size_t count;

/* Of the process, as the system counts it, in KiB. */
static size_t peak(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[256];
	size_t kib = 0;

	CHECK(status);
	while (kib == 0 && fgets(line, sizeof(line), status))
		sscanf(line, "VmHWM: %zu", &kib);
	fclose(status);
	CHECK(kib != 0);
	return kib;
}

static void add(size_t size)
{
	CHECK(block[count] = malloc(size));
	memset(block[count++], (int)size, size);
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };
	size_t before = peak(), grown;

	for (size_t bytes = 0; bytes < LIVE; bytes += sizes[0])
		add(sizes[0]);
	for (unsigned s = 1; s < SIZES; s++) {
		size_t old = count, made = 0;

		rng_shuffle(&rng, (void **)block, old);
		while (old > 0) {
			free(block[--old]);
			block[old] = block[--count];
			for (; made + sizes[s] <= LIVE - old * sizes[s - 1]; made += sizes[s])
				add(sizes[s]);
		}
	}
	grown = peak() - before;
	printf("live %zu KiB, peak %zu KiB\n", LIVE >> 10, grown);
	fflush(stdout);
	CHECK(grown <= 5 * (LIVE >> 10) + 1024);
	return 0;
}

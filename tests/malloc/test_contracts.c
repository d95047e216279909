/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What programs take for granted because glibc does it: every block is aligned to 16 bytes, malloc(0) has room (unless
 * it is guarded: its first byte is beyond its end), mallinfo2() counts what is in use, also after threads have come and
 * gone, what cannot be had is refused (at once, if it never could be), and most of the mappings that the system counts
 * (65,530) are left to stacks and libraries. In the default profile, with guards, and under secure:1.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>

#include "../support/check.h"
#include "../support/glibc.h"
#include "../support/mappings.h"
#include "../support/pages.h"
#include "../support/profiles.h"
#include "../support/random.h"
#include "../support/statm.h"

static bool guarded; /* some blocks are */

static void holds(void *block, size_t size)
{
	CHECK(block);
	CHECK_EQ((uintptr_t)block % 16, 0);
	CHECK(malloc_usable_size(block) >= size);
	CHECK(guarded || malloc_usable_size(block) > 0);
	free(block);
}

static void test_alignment(void)
{
	for (int round = 0; round < 4; round++)
		for (size_t size = 0; size < 3000; size += size < 64 ? 1 : 61) {
			holds(malloc(size), size);
			holds(calloc(size, 1), size);
			holds(memalign(8, size), size);
			holds(realloc(malloc(size / 2), size + 1), size + 1);
		}
}

static void *thread(void *arg)
{
	struct rng rng = { (uint64_t)(uintptr_t)arg };
	void *blocks[200];

	for (size_t i = 0; i < 200; i++)
		CHECK(blocks[i] = malloc(rng_size(&rng, 15)));
	for (size_t i = 0; i < 200; i++)
		free(blocks[i]);
	return NULL;
}

static size_t in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static void threads(size_t n)
{
	for (uintptr_t i = 0; i < n; i++) {
		pthread_t ids[4];

		for (uintptr_t k = 0; k < 4; k++)
			CHECK(!pthread_create(&ids[k], NULL, thread, (void *)(i * 4 + k)));
		for (int k = 0; k < 4; k++)
			CHECK(!pthread_join(ids[k], NULL));
	}
}

/* Stacks and what libc keeps for them are there after the first ones. slack: what is kept of freed blocks on purpose. */
static void test_in_use(size_t slack)
{
	enum { N = 1000, SIZE = 1008 };
	static void *blocks[N];
	size_t before, full, after;

	threads(5);
	before = in_use();
	threads(test_scaled(200));
	after = in_use();
	CHECK(after <= before + slack && before <= after + slack);
	for (size_t i = 0; i < N; i++)
		CHECK(blocks[i] = malloc(SIZE));
	full = in_use();
	CHECK(full + slack >= after + (size_t)N * SIZE); /* some of what was kept may have gone meanwhile */
	CHECK(full <= after + (size_t)N * SIZE * 5 / 4 + slack);
	for (size_t i = 0; i < N; i++)
		free(blocks[i]);
	after = in_use();
	CHECK(after <= before + slack);
}

/* Nothing is given back for a block that cannot be had in any case. */
static void test_impossible(void)
{
	static const size_t sizes[] = { (size_t)PTRDIFF_MAX,	   (size_t)PTRDIFF_MAX - 4096, (size_t)PTRDIFF_MAX / 2,
					(size_t)8136878626751643648u, (size_t)1 << 60,		       (size_t)1 << 48 };
	enum { N = 20000, SIZE = 2000 };
	static void *blocks[N];
	size_t before;

	for (size_t i = 0; i < N; i++) {
		CHECK(blocks[i] = malloc(SIZE));
		memset(blocks[i], 1, SIZE);
	}
	for (size_t i = 0; i < N; i++)
		free(blocks[i]);
	before = test_resident();
	CHECK(before > (size_t)N * SIZE / 2);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t size = sizes[i];
		void *block;

		OPAQUE(size);
		errno = 0;
		CHECK(!malloc(size) && errno == ENOMEM);
		CHECK(!calloc(size / 16, 16) && errno == ENOMEM);
		CHECK(!realloc(NULL, size) && errno == ENOMEM);
		CHECK(!memalign(1 << 20, size));
		CHECK_EQ(posix_memalign(&block, 4096, size), ENOMEM);
	}
	CHECK(test_resident() + (4 << 20) > before);
}

/* The kernel refuses to promise more than the machine has at once, unless it was told to promise anything. */
static void test_beyond_the_machine(void)
{
	FILE *file = fopen("/proc/sys/vm/overcommit_memory", "r");
	int mode = file != NULL ? fgetc(file) : '1';
	struct sysinfo machine;
	size_t size;
	void *block;

	if (file != NULL)
		fclose(file);
	CHECK(sysinfo(&machine) == 0);
	size = ((size_t)machine.totalram + machine.totalswap) * machine.mem_unit + ((size_t)1 << 30);
	CHECK(mode == '1' || (!malloc(size) && !calloc(1, size)));
	CHECK(block = malloc(1 << 20));
	CHECK(mode == '1' || !realloc(block, size));
	free(block);
}

static void run(const char *conf)
{
	int usual = strcmp(conf, "background:0") == 0;

	guarded = !usual;
	test_alignment();
	test_in_use(usual ? (size_t)64 << 10 : 2048 * test_page_size()); /* guarded ones, live and freed: 1024 each, of a page */
	CHECK(test_mappings() < 3000);
	if (usual)
		test_impossible();
	test_beyond_the_machine();
	exit(0);
}

int main(int argc, char **argv)
{
	static const char *const confs[] = { "background:0", "guard:1,guard_rate:3", "secure:1" };

	if (argc == 2 && strchr(argv[1], ':'))
		run(argv[1]);
	for (size_t i = 0; i < sizeof(confs) / sizeof(confs[0]); i++) {
		int status = test_again(confs[i], confs[i], NULL);

		if (status)
			fprintf(stderr, "with DRYSTONE_CONF=%s\n", confs[i]);
		CHECK_EQ(status, 0);
	}
	return 0;
}

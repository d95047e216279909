/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Attacks, each in a process of its own under each profile: a program that allocated a lot has one error, and goes on to make
 * of it what an attacker wants: two live blocks at one place, a block where there is none (`target`), or a call of a
 * function of its choice. Any other end will do: a report, a fault, a program that goes on with its own data broken.
 *
 *   bad frees        of a block, or an object of a cache, also in a heap of the program's: twice in any way; of a pointer into
 *                    one; realloc() of a freed one; another size. None succeeds under check:1 and secure:1
 *   bad writes       over all that a block leads to, by one write after the other up and down until a page faults, and by every
 *                    page up to 8 MiB away that does not fault: depots, arrays of CPUs, caches, descriptors, tables
 *                    of guarded blocks lie out of reach, so that none succeeds under any profile
 *   links            in free objects of 8 bytes, which have no other place. None leads out of a slab under any profile
 *
 * How canaries are forged: test_canary.c.
 *
 * DRY_TEST_NO_NORSEQ: the same memory in the same places.
 * DRY_TEST_NO_POSIX: likewise.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <drystone/drystone.h>

#include "../support/check.h"
#include "../support/glibc.h"
#include "../support/profiles.h"

enum { FAILED = 0, SUCCEEDED = 7, NOTHING_TRIED = 8 };

#define REACH ((size_t)8 << 20)
#define FAR   ((size_t)400 << 20)
#define KEEP  600

extern __typeof__(dry_cache_create) dry_cache_create __attribute__((weak));
extern __typeof__(dry_cache_alloc) dry_cache_alloc __attribute__((weak));
extern __typeof__(dry_cache_free) dry_cache_free __attribute__((weak));
extern __typeof__(dry_heap_create) dry_heap_create __attribute__((weak));
extern __typeof__(dry_alloc) dry_alloc __attribute__((weak));
extern __typeof__(dry_free) dry_free __attribute__((weak));
extern __typeof__(dry_heap_trim) dry_heap_trim __attribute__((weak));
extern __typeof__(dry_heap_stats) dry_heap_stats __attribute__((weak));
extern __typeof__(dry_guard) dry_guard __attribute__((weak));
void free_sized(void *block, size_t size) __attribute__((weak));

static uint64_t target[512] __attribute__((aligned(4096)));

static void pwned(void)
{
	_exit(SUCCEEDED);
}

static void warm_up(void)
{
	void *block[64];

	for (size_t size = 8; size <= 40000; size += size / 2)
		for (int i = 0; i < 8 * 64; i++) {
			if (i >= 64)
				free(block[i % 64]);
			CHECK(block[i % 64] = malloc(size));
		}
}

/* ---- what an attacker wants ------------------------------------------------------------------------------- */

/* No two of n blocks of `size` bytes overlap, and none is the target. */
static int overlap(unsigned char **block, unsigned n, size_t size)
{
	for (unsigned i = 0; i < n; i++) {
		if ((uintptr_t)block[i] - (uintptr_t)target < sizeof(target))
			return SUCCEEDED;
		memset(block[i], 0, size);
	}
	for (unsigned i = 0; i < n; i++) {
		for (size_t k = 0; k < size; k++)
			if (block[i][k] != 0)
				return SUCCEEDED;
		memset(block[i], 1 + (int)(i % 255), size);
	}
	for (unsigned i = 0; i < n; i++)
		if (block[i][0] != 1 + i % 255 || block[i][size - 1] != 1 + i % 255)
			return SUCCEEDED;
	return FAILED;
}

/* And `first`, if there is one, is not among them. */
static int gain(size_t size, unsigned char *first)
{
	static unsigned char *block[KEEP + 1];
	unsigned n = 0;

	if (first)
		block[n++] = first;
	while (n < KEEP)
		CHECK(block[n++] = malloc(size));
	return overlap(block, n, size);
}

/* ---- bad frees -------------------------------------------------------------------------------------------- */

static void *free_it(void *block)
{
	free(block);
	return NULL;
}

static void free_by_another(void *block)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, free_it, block) == 0 && pthread_join(thread, NULL) == 0);
}

static int twice(size_t size)
{
	void *a = malloc(size);

	free(a);
	OPAQUE(a);
	free(a);
	return gain(size, NULL);
}

static int twice_apart(size_t size)
{
	void *a = malloc(size), *b = malloc(size);

	free(a);
	free(b);
	OPAQUE(a);
	free(a);
	return gain(size, NULL);
}

static int twice_by_two(size_t size)
{
	void *a = malloc(size);

	free(a);
	OPAQUE(a);
	free_by_another(a);
	return gain(size, NULL);
}

/* Somebody else has it by then. */
static int freed_again_later(size_t size)
{
	void *a = malloc(size);
	unsigned char *other = NULL;

	free(a);
	for (int i = 0; i < 20000 && other != a; i++) {
		other = malloc(size);
		OPAQUE(a);
	}
	if (other != a)
		return FAILED;
	free(a);
	OPAQUE(a);
	free(a);
	return gain(size, NULL);
}

/* In between it has gone where all CPUs take from. */
static int twice_through_depot(size_t size)
{
	static void *block[KEEP];

	for (unsigned i = 0; i < KEEP; i++)
		CHECK(block[i] = malloc(size));
	for (unsigned i = 0; i < KEEP; i++)
		free(block[i]);
	for (unsigned i = 0; i < KEEP; i += 50) {
		OPAQUE(block[i]);
		free_by_another(block[i]);
	}
	return gain(size, NULL);
}

/* A freed block is had again without an allocation: it has the size. */
static int freed_and_resized(size_t size)
{
	unsigned char *a = malloc(size);

	free(a);
	OPAQUE(a);
	a = realloc(a, size);
	return a ? gain(size, a) : FAILED;
}

/* As if it were of a class of much bigger blocks. */
static int of_another_size(size_t size)
{
	unsigned char *a = malloc(size);

	if (!free_sized)
		return NOTHING_TRIED;
	free_sized(a, 8 * size);
	OPAQUE(a);
	return gain(8 * size, NULL);
}

/* A bad free of an object of a cache, with others in between; then as many as it takes. Also in a heap of the program's. */
static int typed(size_t size, dry_heap *heap, size_t into, void *(*by)(void *))
{
	struct dry_cache_attr attr = { .name = "typed", .size = size };
	static unsigned char *object[KEEP + 1];
	dry_cache *cache = dry_cache_create ? dry_cache_create(heap, &attr) : NULL;
	unsigned n = 0;

	if (!cache)
		return NOTHING_TRIED;
	for (unsigned i = 0; i < 100; i++)
		CHECK(object[i] = dry_cache_alloc(cache));
	for (unsigned i = into == 0 ? 0 : 1; i < 100; i++)
		dry_cache_free(cache, object[i]);
	if (by) {
		void *what[2] = { cache, object[50] };
		pthread_t thread;
		CHECK(pthread_create(&thread, NULL, by, what) == 0 && pthread_join(thread, NULL) == 0);
	} else {
		dry_cache_free(cache, object[into == 0 ? 50 : 0] + into);
	}
	if (into != 0)
		n = 1;
	while (n < KEEP)
		CHECK(object[n++] = dry_cache_alloc(cache));
	return overlap(object, KEEP, size);
}

static void *free_typed(void *what)
{
	dry_cache_free(((void **)what)[0], ((void **)what)[1]);
	return NULL;
}

static dry_heap *own_heap(void)
{
	return dry_heap_create ? dry_heap_create(NULL) : NULL;
}

/* In whose pages there are more small objects than a slab's bitmap has bits for. */
static dry_heap *heap_of_big_pages(void)
{
	return dry_heap_create ? dry_heap_create(&(struct dry_heap_attr){ .name = "pages", .page_size = 65536 }) : NULL;
}

static int typed_twice(size_t size)
{
	return typed(size, NULL, 0, NULL);
}

static int typed_twice_by_two(size_t size)
{
	return typed(size, NULL, 0, free_typed);
}

static int typed_interior(size_t size)
{
	return typed(size, NULL, 8, NULL);
}

static int typed_twice_in_heap(size_t size)
{
	dry_heap *heap = own_heap();

	return heap ? typed(size, heap, 0, NULL) : NOTHING_TRIED;
}

static int typed_interior_in_heap(size_t size)
{
	dry_heap *heap = own_heap();

	return heap ? typed(size, heap, 8, NULL) : NOTHING_TRIED;
}

static int typed_interior_in_big_pages(size_t size)
{
	dry_heap *heap = heap_of_big_pages();

	return heap ? typed(size, heap, 8, NULL) : NOTHING_TRIED;
}

/* As twice_apart(), of blocks of a heap. */
static int twice_in(dry_heap *heap, size_t size)
{
	static unsigned char *block[KEEP];

	if (!heap)
		return NOTHING_TRIED;
	for (unsigned i = 0; i < 100; i++)
		CHECK(block[i] = dry_alloc(heap, size));
	for (unsigned i = 0; i < 100; i++)
		dry_free(heap, block[i]);
	dry_free(heap, block[30]);
	for (unsigned i = 0; i < KEEP; i++)
		CHECK(block[i] = dry_alloc(heap, size));
	return overlap(block, KEEP, size);
}

static int twice_in_heap(size_t size)
{
	return twice_in(own_heap(), size);
}

static int twice_in_big_pages(size_t size)
{
	return twice_in(heap_of_big_pages(), size);
}

/* What the last owner left is gone, and does not come back at once. */
static int read_after_free_in_big_pages(size_t size)
{
	static unsigned char *block[KEEP];
	dry_heap *heap = heap_of_big_pages();

	if (!heap)
		return NOTHING_TRIED;
	for (unsigned i = 0; i < KEEP; i++) {
		CHECK(block[i] = dry_alloc(heap, size));
		memset(block[i], 0xa5, size);
	}
	for (unsigned i = 0; i < 100; i++) {
		unsigned char *freed = block[i];

		dry_free(heap, freed);
		OPAQUE(freed);
		for (size_t k = 0; k < size; k++)
			if (freed[k] == 0xa5)
				return SUCCEEDED;
		CHECK(block[i] = dry_alloc(heap, size));
		if (block[i] == freed)
			return SUCCEEDED;
	}
	return FAILED;
}

static int interior(size_t size)
{
	unsigned char *a = malloc(size);
	void *inner = a + 16;

	OPAQUE(inner);
	free(inner);
	return gain(size, a);
}

static int misaligned(size_t size)
{
	unsigned char *a = malloc(size);
	void *inner = a + 3;

	OPAQUE(inner);
	free(inner);
	return gain(size, a);
}

static int foreign(size_t size)
{
	void *inner = target + 8;

	OPAQUE(inner);
	free(inner);
	return gain(size, NULL);
}

/* ---- bad writes -------------------------------------------------------------------------------------------- */

static sigjmp_buf out;

static void faulted(int number)
{
	(void)number;
	siglongjmp(out, 1);
}

/* All of a range gets the value, as far as it does not fault. */
static void spray(unsigned char *from, size_t bytes, uint64_t value)
{
	if (sigsetjmp(out, 0) == 0)
		for (size_t i = 0; i + 8 <= bytes; i += 8)
			*(volatile uint64_t *)(void *)(from + i) = value;
}

static void spray_down(unsigned char *from, uint64_t value)
{
	if (sigsetjmp(out, 0) == 0)
		for (size_t i = 8; i <= REACH; i += 8)
			*(volatile uint64_t *)(void *)(from - i) = value;
}

/* A program that uses all of the allocator. What it keeps in blocks itself is broken. */
static int live_on(void)
{
	int result = FAILED;

	for (size_t size = 16; size <= 70000 && result == FAILED; size *= 3)
		result = gain(size, NULL);
	for (int i = 0; i < 200; i++)
		free(calloc(1, (size_t)40 << i % 16));
	malloc_trim(0);
	return result;
}

static int write_all(size_t size, uint64_t value)
{
	struct sigaction action = { .sa_handler = faulted, .sa_flags = SA_NODEFER };
	unsigned char *block = malloc(size);

	CHECK(block);
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	spray(block, REACH, value);
	spray_down(block, value);
	/* What is behind pages that fault, one by one */
	block = (unsigned char *)((uintptr_t)block & ~(uintptr_t)4095);
	for (size_t at = 4096; at <= REACH; at += 4096) {
		spray(block + at, 4096, value);
		spray(block - at, 4096, value);
	}
	signal(SIGSEGV, SIG_DFL);
	signal(SIGBUS, SIG_DFL);
	return live_on();
}

static int write_target(size_t size)
{
	return write_all(size, (uint64_t)(uintptr_t)&target[64]);
}

static int write_code(size_t size)
{
	return write_all(size, (uint64_t)(uintptr_t)pwned);
}

/* From a block between pages that fault to what is known of such blocks: far and wide, the first bytes of each page. */
static int write_guards(size_t size)
{
	struct sigaction action = { .sa_handler = faulted, .sa_flags = SA_NODEFER };
	struct dry_heap_stats stats = { .guarded = 0 };
	unsigned char *block = NULL;

	if (!dry_guard || dry_guard(1))
		return NOTHING_TRIED;
	CHECK(!dry_heap_stats(NULL, &stats));
	for (size_t before = stats.guarded, n = 0; n < 3000 && stats.guarded <= before; n++) {
		CHECK(block = malloc(size));
		CHECK(!dry_heap_stats(NULL, &stats));
	}
	if (stats.guarded == 0) /* so many live as may be */
		return NOTHING_TRIED;
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	block = (unsigned char *)((uintptr_t)block & ~(uintptr_t)4095);
	for (size_t at = 4096; at <= FAR; at += at < 4 * REACH ? 4096 : 65536) {
		spray(block + at, 64, (uint64_t)(uintptr_t)&target[64]);
		spray(block - at, 64, (uint64_t)(uintptr_t)&target[64]);
	}
	signal(SIGSEGV, SIG_DFL);
	signal(SIGBUS, SIG_DFL);
	return live_on();
}

/* ---- links ----------------------------------------------------------------------------------------------- */

/* Every link leads elsewhere, its mark as it was: to all that 16 bits can say. */
static int links(size_t size)
{
	struct dry_cache_attr attr = { .name = "small", .size = size };
	static unsigned char *object[KEEP];
	uintptr_t lowest = UINTPTR_MAX, highest = 0;
	dry_cache *cache = dry_cache_create ? dry_cache_create(NULL, &attr) : NULL;

	if (!cache)
		return NOTHING_TRIED;
	for (unsigned i = 0; i < KEEP; i++) {
		CHECK(object[i] = dry_cache_alloc(cache));
		memset(object[i], 0, size);
		lowest = (uintptr_t)object[i] < lowest ? (uintptr_t)object[i] : lowest;
		highest = (uintptr_t)object[i] > highest ? (uintptr_t)object[i] : highest;
	}
	/* Slabs stay, for some are not freed. */
	for (unsigned i = 0; i < KEEP; i++)
		if (i % 4 != 0)
			dry_cache_free(cache, object[i]);
	dry_heap_trim(NULL); /* out of the arrays */
	for (unsigned i = 0; i < KEEP; i++)
		if (i % 4 != 0)
			*(volatile uint16_t *)(void *)object[i] ^= (uint16_t)(i * 0x9e37 | 1);
	for (unsigned i = 0; i < KEEP / 2; i++) {
		uintptr_t got = (uintptr_t)dry_cache_alloc(cache);

		if (got - (lowest & ~UINT64_C(0xffff)) > (highest | 0xffff) - (lowest & ~UINT64_C(0xffff)))
			return SUCCEEDED;
	}
	return FAILED;
}

/* ---- the whole -------------------------------------------------------------------------------------------- */

static const char *const profiles[] = { "abort:1", "guard:1,guard_rate:20", "check:1", "secure:1" };

static const struct attack {
	int (*run)(size_t size);
	unsigned from; /* the first profile that it must not succeed under */
	size_t size[3];
} attacks[] = {
	{ twice, 0, { 24, 500, 6000 } },           { twice_apart, 2, { 24, 500, 6000 } },
	{ twice_by_two, 2, { 24, 500, 6000 } },    { freed_again_later, 2, { 24, 500, 6000 } },
	{ freed_and_resized, 2, { 24, 500, 6000 } }, { of_another_size, 0, { 24, 500, 2000 } },
	{ twice_through_depot, 2, { 24, 500, 6000 } }, { typed_twice, 2, { 8, 24, 1000 } },
	{ write_guards, 0, { 24, 6000, 300000 } },
	{ interior, 2, { 32, 500, 6000 } },        { misaligned, 2, { 32, 500, 6000 } },
	{ typed_twice_by_two, 2, { 8, 24, 1000 } }, { typed_interior, 2, { 24, 100, 1000 } },
	{ typed_twice_in_heap, 2, { 8, 24, 1000 } }, { typed_interior_in_heap, 2, { 24, 100, 1000 } },
	{ twice_in_heap, 2, { 24, 500, 6000 } }, { twice_in_big_pages, 2, { 24, 100, 500 } },
	{ typed_interior_in_big_pages, 2, { 24, 100, 1000 } }, { read_after_free_in_big_pages, 3, { 24, 100, 500 } },
	{ foreign, 0, { 32, 500, 6000 } },         { write_target, 0, { 24, 6000, 300000 } },
	{ write_code, 0, { 24, 6000, 300000 } },   { links, 0, { 8, 8, 8 } },
};

/* The rest of a process: argv is a number of an attack and a size. */
static int attack(const char *number, const char *size)
{
	const struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	CHECK(freopen("/dev/null", "w", stderr));
	warm_up();
	_exit(attacks[atoi(number)].run((size_t)atol(size)));
}

static int status_of(const char *profile, unsigned number, size_t size)
{
	char which[16], bytes[16];

	snprintf(which, sizeof(which), "%u", number);
	snprintf(bytes, sizeof(bytes), "%zu", size);
	return test_again(profile, which, bytes);
}

int main(int argc, char **argv)
{
	unsigned tried = 0, none = 0;

	if (argc == 3)
		return attack(argv[1], argv[2]);
	for (unsigned i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++)
		for (unsigned k = 0; k < 3 * 4; k++) {
			const char *profile = profiles[k / 3];
			size_t size = attacks[i].size[k % 3];
			int status = k / 3 >= attacks[i].from ? status_of(profile, i, size) : 0;

			if (k / 3 < attacks[i].from || (k % 3 && size == attacks[i].size[0]))
				continue;
			tried++;
			none += WIFEXITED(status) && WEXITSTATUS(status) == NOTHING_TRIED;
			if (WIFEXITED(status) && WEXITSTATUS(status) != FAILED && WEXITSTATUS(status) != NOTHING_TRIED) {
				fprintf(stderr, "attack %u, %zu bytes, under %s: status %x\n", i, size, profile, status);
				return 1;
			}
		}
	CHECK(tried >= 120 && none <= 4);
	return 0;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Callbacks that give memory back: every call that finds none asks them, for as long as they give. And big blocks that were freed,
 * and wait for reuse, give theirs to every call that the system refuses memory.
 * DRY_TEST_NOT_TINY: no callbacks there.
 */
#include <drystone/process.h>
#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/statm.h"

#define SPARE 300
#define PIECE 16384

static struct {
	dry_heap *heap;
	void *block[SPARE];
	size_t count, calls;
} spare;

static size_t give(void *arg, size_t bytes)
{
	size_t given = 0;

	CHECK(arg == &spare);
	for (spare.calls++; spare.count > 0 && given < bytes; given += PIECE)
		dry_free(spare.heap, spare.block[--spare.count]);
	return given;
}

enum call { ALLOC, NODE, BULK, PREFILL, SMALL, BIG, ALIGNED };

static bool ask(dry_cache *cache, enum call call, size_t n)
{
	void *objects[64];

	switch (call) {
	case ALLOC:
		return dry_cache_alloc(cache) != NULL;
	case NODE:
		return dry_cache_alloc_node(cache, 0) != NULL;
	case BULK:
		return dry_cache_alloc_bulk(cache, 64, objects) != 0;
	case PREFILL:
		return dry_cache_prefill(cache, n) == 0;
	case SMALL:
		return dry_alloc(spare.heap, 100) != NULL;
	case BIG:
		return dry_alloc(spare.heap, 40000) != NULL;
	default:
		return dry_alloc_aligned(spare.heap, 65536, 100) != NULL;
	}
}

/* A heap with a limit, half of it spare. */
static void test_heap(enum call call)
{
	struct dry_heap_attr attr = { .name = "small", .limit = (size_t)8 << 20 };
	size_t n = 64;

	spare.heap = dry_heap_create(&attr);
	dry_cache *keeper = dry_cache_create(spare.heap, &(struct dry_cache_attr){ .name = "keeper", .size = 64, .reclaim = give,
										   .arg = &spare });
	dry_cache *cache = dry_cache_create(spare.heap, &(struct dry_cache_attr){ .name = "cache", .size = 4096,
										  .flags = DRY_CACHE_NO_MERGE });
	CHECK(spare.heap && keeper && cache);
	for (spare.count = 0; spare.count < SPARE; spare.count++)
		CHECK(spare.block[spare.count] = dry_alloc(spare.heap, PIECE));
	for (spare.calls = 0; ask(cache, call, n); n += 64)
		;
	CHECK(spare.calls > 0);
	CHECK_EQ(spare.count, 0);
	CHECK_EQ(dry_heap_check(spare.heap), 0);
	CHECK_EQ(dry_heap_destroy(spare.heap), 0);
}

/* ---- the process's limit ---- */

#define LIMIT ((size_t)64 << 20)

static bool give_big(void *arg, size_t bytes)
{
	CHECK(arg == &spare && bytes != 0);
	spare.calls++;
	if (spare.count == 0)
		return false;
	dry_free(NULL, spare.block[--spare.count]);
	return true;
}

static void fill(size_t bytes)
{
	for (spare.count = 0; spare.count < bytes >> 20; spare.count++)
		CHECK(spare.block[spare.count] = dry_alloc(NULL, 1 << 20));
}

/* Bytes that the call gets until it fails. */
static size_t use(enum call call)
{
	dry_cache *cache = dry_cache_create(NULL, &(struct dry_cache_attr){ .name = "limited", .size = 4096,
									    .flags = DRY_CACHE_NO_MERGE });
	struct dry_cache_stats stats;
	size_t n = 64, bytes;

	CHECK(cache);
	while (ask(cache, call, n))
		n += 64;
	CHECK_EQ(dry_cache_stats(cache, &stats), 0);
	bytes = (call == PREFILL ? n - 64 : stats.active_objects) << 12;
	return bytes;
}

static void test_limit(enum call call, bool keeps)
{
	size_t had = dry_process_bytes();

	CHECK_EQ(dry_ctl("limit", "64M"), 0);
	fill(LIMIT - had - (8 << 20));
	if (keeps) /* what the program can do without, it is asked for */
		dry_on_limit(give_big, &spare);
	while (!keeps && spare.count > 0) /* what is free is given back */
		dry_free(NULL, spare.block[--spare.count]);
	spare.calls = 0;
	size_t got = use(call);
	CHECK_EQ(spare.count, 0);
	CHECK(!keeps || spare.calls > 0);
	dry_on_limit(NULL, NULL);
	CHECK(got >= (LIMIT - had) / 100 * 75);
	CHECK_EQ(dry_ctl("limit", "0"), 0);
}

/* Each in a process of its own: objects are not freed. */
static void in_child(enum call call, bool keeps)
{
	pid_t child = fork();
	int status;

	CHECK(child >= 0);
	if (child == 0) {
		dry_ctl("decay_ms", "3600000");
		test_limit(call, keeps);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

/* ---- where callbacks have no business ---- */

static void in_child_of(void (*fn)(void))
{
	pid_t child = fork();
	int status;

	CHECK(child >= 0);
	if (child == 0) {
		alarm(60);
		dry_ctl("decay_ms", "3600000");
		fn();
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

static size_t destroyed, logged;

static void log_it(void *object, void *arg)
{
	(void)object;
	(void)arg;
	destroyed++;
	logged += dry_alloc(NULL, 5000) != NULL;
}

/* A destructor may use other heaps: at the limit it gets nothing, and nobody waits for locks of its heap. */
static void destructor_at_limit(void)
{
	dry_heap *heap = dry_heap_create(&(struct dry_heap_attr){ .name = "logs" });
	dry_cache *cache = dry_cache_create(heap, &(struct dry_cache_attr){ .name = "logged", .size = 3000, .dtor = log_it });
	void *object[100];

	CHECK(cache);
	for (size_t i = 0; i < 100; i++)
		CHECK(object[i] = dry_cache_alloc(cache));
	CHECK_EQ(dry_ctl("limit", "64M"), 0);
	for (size_t size = 1 << 20; size > 16; size /= 2)
		while (dry_alloc(NULL, size) != NULL)
			;
	dry_on_limit(give_big, &spare);
	spare.calls = 0;
	for (size_t i = 0; i < 100; i++)
		dry_cache_free(cache, object[i]);
	dry_heap_trim(heap);
	CHECK(destroyed > 50 && logged < destroyed);
	CHECK_EQ(spare.calls, 0);
}

/* A heap that is full by itself is not the process's: others are left alone. */
static void own_limit(void)
{
	static char memory[1 << 20];
	struct dry_heap_attr bounded = { .name = "bounded", .limit = 1 << 20 };
	struct dry_heap_attr given = { .name = "given", .memory = memory, .memory_size = sizeof(memory) };
	dry_heap *heap[2] = { dry_heap_create(&bounded), dry_heap_create(&given) };

	CHECK_EQ(dry_ctl("limit", "1G"), 0);
	dry_on_limit(give_big, &spare);
	for (unsigned i = 0; i < 2; i++) {
		CHECK(heap[i]);
		for (size_t size = 65536; size > 16; size /= 2)
			while (dry_alloc(heap[i], size) != NULL)
				;
		CHECK(dry_alloc(heap[i], 2 << 20) == NULL);
	}
	CHECK_EQ(spare.calls, 0);
}

/* But for objects of one size that are free. */
static dry_heap *full_heap(void)
{
	dry_heap *heap = dry_heap_create(&(struct dry_heap_attr){ .name = "first", .limit = 1 << 20 });
	void *block[8];

	CHECK(heap);
	for (size_t i = 0; i < 8; i++)
		CHECK(block[i] = dry_alloc(heap, 24 << 10));
	while (dry_alloc(heap, 64) != NULL)
		;
	for (size_t i = 0; i < 8; i++)
		dry_free(heap, block[i]);
	return heap;
}

/* Their pages are had for the first block of another size. */
static void first_of_class(void)
{
	for (size_t size = 100; size < 4000; size += size / 3)
		CHECK(dry_alloc(full_heap(), size) != NULL);
	dry_heap *heap = full_heap();
	for (size_t n = 0; n < 20; n++) /* likewise for caches */
		CHECK(dry_cache_create(heap, &(struct dry_cache_attr){ .name = "one", .size = 64, .flags = DRY_CACHE_NO_MERGE }));
}

/* Small blocks come from slabs of bigger ones that have free objects: no failure, and errno is as it was. */
static void bigger_serves(void)
{
	dry_heap *heap = dry_heap_create(&(struct dry_heap_attr){ .name = "bigger", .limit = 4 << 20 });
	static void *block[10000];
	struct dry_heap_stats before, after;
	size_t count = 0;

	CHECK(heap && dry_alloc(heap, 100));
	while ((block[count] = dry_alloc(heap, 440)) != NULL)
		count++;
	while (dry_alloc(heap, 100) != NULL)
		;
	dry_heap_stats(heap, &before);
	CHECK(before.failures != 0);
	for (size_t i = 0; i < count; i++)
		if (i % 7 != 0)
			dry_free(heap, block[i]);
	errno = 1234;
	for (size_t i = 0; i < count / 2; i++)
		CHECK(dry_alloc(heap, 100));
	CHECK_EQ(errno, 1234);
	dry_heap_stats(heap, &after);
	CHECK_EQ(after.failures, before.failures);
}

static enum call spare_call;

/* 64 MiB of big blocks were freed; the system has 2 MiB more, and 32 are wanted. */
static void spares_at_limit(void)
{
	enum { BLOCKS = 64, BYTES = 1 << 20, WANTED = 32000 };
	struct dry_cache_attr attr = { .name = "late", .size = 1000, .flags = DRY_CACHE_NO_MERGE };
	static void *objects[WANTED];
	dry_cache *cache = dry_cache_create(NULL, &attr);
	void *block[BLOCKS];
	struct rlimit limit;

#ifdef __SANITIZE_ADDRESS__ /* it maps memory of its own */
	return;
#endif
	CHECK_EQ(dry_ctl("background", "0"), 0); /* or some are given back as they are freed */
	for (int i = 0; i < BLOCKS; i++)
		CHECK(block[i] = dry_alloc(NULL, BYTES));
	for (int i = 0; i < BLOCKS; i++)
		dry_free(NULL, block[i]);
	CHECK_EQ(getrlimit(RLIMIT_AS, &limit), 0);
	limit.rlim_cur = test_address_space() + (2 << 20);
	CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
	if (spare_call == BULK)
		CHECK_EQ(dry_cache_alloc_bulk(cache, WANTED, objects), WANTED);
	else if (spare_call == PREFILL)
		CHECK(ask(cache, PREFILL, WANTED));
	else
		for (int i = 0; i < WANTED; i++)
			CHECK(ask(cache, spare_call, 0));
}

int main(void)
{
	in_child_of(destructor_at_limit);
	in_child_of(own_limit);
	in_child_of(first_of_class);
	in_child_of(bigger_serves);
	for (enum call call = ALLOC; call <= PREFILL; call++) {
		spare_call = call;
		in_child_of(spares_at_limit);
		in_child(call, false);
		in_child(call, true);
	}
	for (enum call call = ALLOC; call <= ALIGNED; call++)
		test_heap(call);
	return 0;
}

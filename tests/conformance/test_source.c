/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Heaps whose pages come from a source of the program's own: here a file in memory, of small and of huge pages. Every call is
 * held against what page_source.h promises, and each fails once.
 * DRY_TEST_NOT_TINY: it has no page sources.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../support/exercise.h"

#define REGIONS 64
#define HUGE    ((size_t)2 << 20)
#define BLOCKS  200

struct region {
	char *start;
	size_t size, offset;
};

static struct file {
	int fd;
	size_t unit, end, reserved, committed, released;
	unsigned nodes, regions;
	struct region region[REGIONS];
	long reserves, commits, purges, releases; /* calls */
	long requests, fail_at;
} file;

static bool refuses(void)
{
	return ++file.requests == file.fail_at;
}

/* The reservation that a range lies in. */
static struct region *region_of(const void *addr, size_t size)
{
	CHECK(size != 0 && size % file.unit == 0 && (uintptr_t)addr % file.unit == 0);
	for (unsigned i = 0; i < file.regions; i++) {
		const struct region *r = &file.region[i];
		size_t from = (size_t)((const char *)addr - r->start);
		if ((const char *)addr >= r->start && from < r->size && size <= r->size - from)
			return &file.region[i];
	}
	CHECK(!"a range of the source");
	return NULL;
}

static off_t place(const void *addr, size_t size)
{
	const struct region *r = region_of(addr, size);

	return (off_t)(r->offset + (size_t)((const char *)addr - r->start));
}

static bool inside(const void *addr)
{
	for (unsigned i = 0; i < file.regions; i++)
		if ((size_t)((const char *)addr - file.region[i].start) < file.region[i].size)
			return true;
	return false;
}

static void *reserve(void *arg, size_t size, size_t align)
{
	file.reserves++;
	CHECK(arg == &file && size % file.unit == 0 && align >= file.unit && (align & (align - 1)) == 0);
	if (refuses() || file.regions == REGIONS || size > (size_t)1 << 30)
		return NULL;
	char *at = mmap(NULL, size + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(at != MAP_FAILED);
	char *start = at + (-(uintptr_t)at & (align - 1));
	if (start != at)
		munmap(at, (size_t)(start - at));
	if (start + size != at + size + align)
		munmap(start + size, (size_t)(at + align - start));
	CHECK(ftruncate(file.fd, (off_t)(file.end + size)) == 0);
	CHECK(mmap(start, size, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file.fd, (off_t)file.end) == start);
	file.region[file.regions++] = (struct region){ start, size, file.end };
	file.end += size;
	file.reserved += size;
	return start;
}

static int commit(void *arg, void *addr, size_t size, unsigned node)
{
	off_t at = place(addr, size);

	file.commits++;
	CHECK(arg == &file && node < file.nodes);
	if (refuses() || fallocate(file.fd, 0, at, (off_t)size) != 0)
		return -ENOMEM;
	CHECK(mprotect(addr, size, PROT_READ | PROT_WRITE) == 0);
	file.committed += size;
	return 0;
}

static void empty(void *addr, size_t size)
{
	CHECK(fallocate(file.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, place(addr, size), (off_t)size) == 0);
}

static void purge(void *arg, void *addr, size_t size)
{
	file.purges++;
	CHECK(arg == &file);
	*(volatile char *)addr = 1; /* it is committed */
	empty(addr, size);
	CHECK(*(volatile char *)addr == 0);
}

static void release(void *arg, void *addr, size_t size)
{
	struct region *r = region_of(addr, size);

	file.releases++;
	CHECK(arg == &file);
	empty(addr, size);
	munmap(addr, size);
	CHECK((char *)addr + size == r->start + r->size); /* all of it or its end */
	r->size -= size;
	if (r->size == 0)
		*r = file.region[--file.regions];
	file.released += size;
}

/* NULL: there are no such pages, or it refused a request. */
static dry_heap *begin(size_t unit, unsigned nodes, int flags, long fail_at)
{
	struct dry_page_source source = { reserve, commit, purge, release, &file, unit };
	struct dry_heap_attr attr = { .name = "file", .source = &source, .nodes = nodes };

	file = (struct file){ .unit = unit != 0 ? unit : (size_t)sysconf(_SC_PAGESIZE), .nodes = nodes, .fail_at = fail_at };
	file.fd = memfd_create("drystone", (unsigned)flags);
	if (file.fd < 0 || ((flags & MFD_HUGETLB) && fallocate(file.fd, 0, 0, (off_t)(32 * HUGE)) != 0))
		return NULL;
	CHECK(fallocate(file.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)(32 * HUGE)) == 0);
	dry_heap *heap = dry_heap_create(&attr);
	source.reserve = NULL; /* it was copied */
	return heap;
}

static void end(dry_heap *heap)
{
	if (heap != NULL) {
		CHECK_EQ(dry_heap_check(heap), 0);
		CHECK_EQ(dry_heap_destroy(heap), 0);
	}
	CHECK_EQ(file.released, file.reserved);
	if (file.fd >= 0)
		close(file.fd);
}

/* Objects, runs and big blocks, all of them in the source. How many could not be had. */
static unsigned use(dry_heap *heap, struct rng *rng, unsigned blocks)
{
	static struct {
		char *at;
		size_t size;
	} block[BLOCKS];
	unsigned failed = 0;

	for (unsigned i = 0; i < blocks; i++) {
		size_t size = block[i].size = i % 32 == 0 ? HUGE / 2 + rng_below(rng, 2 * HUGE) : rng_size(rng, 17);
		char *at = block[i].at = dry_zalloc(heap, size);
		failed += at == NULL;
		CHECK(at != NULL || errno == ENOMEM);
		if (at == NULL)
			continue;
		CHECK(inside(at) && inside(at + size - 1));
		for (size_t k = 0; k < size; k += 61)
			CHECK(at[k] == 0);
		pattern_fill(at, size);
		size_t in_unit = (uintptr_t)at % file.unit;
		char byte;
		CHECK(pread(file.fd, &byte, 1, place(at - in_unit, file.unit) + (off_t)in_unit) == 1 && byte == *at);
		char *moved = dry_realloc(heap, at, size / 2 + 1);
		CHECK(moved != NULL || errno == ENOMEM);
		if (moved != NULL && moved != at)
			block[i].at = moved;
		if (moved != NULL)
			pattern_fill(moved, block[i].size = size / 2 + 1);
	}
	for (unsigned i = 0; i < blocks; i++)
		if (block[i].at != NULL) {
			CHECK(pattern_holds(block[i].at, block[i].size));
			dry_free(heap, block[i].at);
		}
	dry_heap_trim(heap);
	CHECK_EQ(dry_heap_check(heap), 0);
	return failed;
}

static void whole(struct rng *rng, size_t unit, unsigned nodes, int flags)
{
	dry_heap *heap = begin(unit, nodes, flags, 0);

	if (heap == NULL && (flags & MFD_HUGETLB)) {
		printf("no huge pages here: that part is left out\n");
		if (file.fd >= 0)
			close(file.fd);
		return;
	}
	CHECK(heap != NULL);
	for (int round = 0; round < 2; round++)
		CHECK_EQ(use(heap, rng, BLOCKS), 0);
	CHECK((unit != 0 || file.purges > 0) && file.releases > 0 && file.commits > 1);
	end(heap);
}

static void failures(struct rng *rng)
{
	unsigned refusals = 0, made = 0;
	long at;

	for (at = 1; at < 16; at++) {
		dry_heap *heap = begin(0, 1, 0, at);
		if (heap == NULL) {
			CHECK_EQ(errno, ENOMEM);
		} else {
			made++;
			use(heap, rng, 60);
			refusals += file.requests >= at;
			file.fail_at = 0;
			CHECK_EQ(use(heap, rng, 60), 0);
		}
		end(heap);
	}
	CHECK(made > 10 && refusals > 5);
}

static void refused(struct dry_page_source source, void *memory)
{
	struct dry_heap_attr attr = { .source = &source, .memory = memory, .memory_size = memory != NULL ? 1 << 20 : 0 };

	errno = 0;
	CHECK(dry_heap_create(&attr) == NULL && errno == EINVAL);
}

static void bad_attributes(void)
{
	static char memory[1 << 20];
	const struct dry_page_source good = { reserve, commit, purge, release, &file, 0 };
	struct dry_page_source bad = good;

	refused(good, memory);
	bad.reserve = NULL;
	refused(bad, NULL);
	bad = good;
	bad.commit = NULL;
	refused(bad, NULL);
	bad = good;
	bad.purge = NULL;
	refused(bad, NULL);
	bad = good;
	bad.release = NULL;
	refused(bad, NULL);
	for (size_t unit = 512; unit < (size_t)16 << 20; unit = unit * 2 + (unit == 1024)) {
		bad = good;
		bad.unit = unit;
		if (unit < 4096 || unit > (size_t)4 << 20 || (unit & (unit - 1)) != 0)
			refused(bad, NULL);
	}
}

/* A cache with a source of its own beside others of its heap. */
static void of_cache(void)
{
	struct dry_page_source source = { reserve, commit, purge, release, &file, 0 };
	struct dry_cache_attr attr = { .name = "filed", .size = 300, .source = &source };
	void *object[500];
	dry_cache *cache;

	end(begin(0, 1, 0, 0));
	file = (struct file){ .unit = (size_t)sysconf(_SC_PAGESIZE), .nodes = 1, .fd = memfd_create("drystone", 0) };
	CHECK(cache = dry_cache_create(NULL, &attr));
	for (size_t i = 0; i < 500; i++)
		CHECK((object[i] = dry_cache_alloc(cache)) && inside(object[i]));
	CHECK_EQ(dry_cache_destroy(cache), -EBUSY); /* and it stays */
	for (size_t i = 0; i < 500; i++)
		dry_cache_free(cache, object[i]);
	CHECK(file.purges == 0 && dry_cache_shrink(cache) > 0 && file.purges > 0); /* nobody else can trim its heap */
	CHECK_EQ(dry_cache_destroy(cache), 0);
	CHECK_EQ(file.reserved, file.released);
	close(file.fd);
	source.commit = NULL;
	CHECK(!dry_cache_create(NULL, &attr) && errno == EINVAL);
}

/* Blocks of less than half a huge page share them. */
static void shared_units(void)
{
	dry_heap *heap = begin(HUGE, 1, 0, 0);
	void *block[100];

	CHECK(heap);
	for (size_t i = 0; i < 100; i++)
		CHECK(block[i] = dry_alloc(heap, 130 << 10));
	CHECK(file.committed <= 16 * HUGE);
	for (size_t i = 0; i < 100; i++)
		dry_free(heap, block[i]);
	end(heap);
}

/* A source that has one region, in a process whose address space is limited: giving parts of it back would not help. */
static void one_region(void)
{
	struct rlimit limit = { (rlim_t)64 << 30, (rlim_t)64 << 30 };
	pid_t child = fork();
	int status;

	if (child == 0) {
		dry_heap *heap = begin(0, 1, 0, 0);
		CHECK(heap && setrlimit(RLIMIT_AS, &limit) == 0);
		file.regions = REGIONS; /* no more */
		for (size_t i = 0; i < 100; i++)
			CHECK(dry_alloc(heap, 200 << 10) && dry_alloc(heap, 3000));
		CHECK_EQ(file.released, 0);
		_exit(0);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };

	bad_attributes();
	whole(&rng, 0, 1, 0);
	whole(&rng, HUGE, 1, 0);
	whole(&rng, HUGE / 32, 2, 0);
	whole(&rng, HUGE, 1, MFD_HUGETLB);
	failures(&rng);
	shared_units();
	one_region();
	of_cache();
	return 0;
}

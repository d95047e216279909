/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Tags of memory under secure:1 (src/debug/tags.h): each case in a process of its own, which works to its end, or ends by a
 * fault or a report. Exits with 77 where the processor has no tags.
 *
 * DRY_TEST_NO_POSIX: that port has none.
 */
#define _GNU_SOURCE 1
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <drystone/drystone.h>

#include "../../src/port/memory_tag.h"
#include "../support/check.h"
#include "../support/glibc.h"

#define HAS_TAGS (1ul << 18) /* of AT_HWCAP2 on AArch64 */
#define WARM     2000 /* blocks of each size: the first ones are guarded, and have no tags */
#define MANY     4000
#define OTHERS   "by a pointer to another one, into an object of secure-" /* what a report says */

extern __typeof__(dry_cache_create) dry_cache_create __attribute__((weak));
extern __typeof__(dry_cache_alloc) dry_cache_alloc __attribute__((weak));
extern __typeof__(dry_cache_free) dry_cache_free __attribute__((weak));
void free_sized(void *block, size_t size) __attribute__((weak));

static unsigned tag_of(const void *block)
{
	return (unsigned)((uintptr_t)block >> 56);
}

static uintptr_t address_of(const void *block)
{
	return (uintptr_t)block & (UINTPTR_MAX >> 8);
}

static void warm_up(void)
{
	static void *blocks[WARM];

	for (size_t size = 16; size <= 2000; size += size / 2) {
		for (size_t i = 0; i < WARM; i++)
			CHECK(blocks[i] = malloc(size));
		for (size_t i = 0; i < WARM; i++)
			free(blocks[i]);
	}
}

/* A block that is not one of those that are guarded for once. */
static char *tagged(size_t size)
{
	char *block;

	for (int tries = 0; tries < 100; tries++) {
		CHECK(block = malloc(size));
		if (tag_of(block) != 0)
			return block;
	}
	CHECK(!"a block with a tag");
	return NULL;
}

/* ---- what works ---- */

static void test_sizes(void)
{
	static char *blocks[MANY];
	size_t have = 0;

	for (size_t i = 0; i < MANY; i++) {
		size_t size = i * 7919 % 3000;

		CHECK(blocks[i] = malloc(size));
		CHECK(size == 0 || malloc_usable_size(blocks[i]) >= size);
		memset(blocks[i], (int)i, size);
		have += tag_of(blocks[i]) != 0;
	}
	CHECK(have > MANY / 2);
	for (size_t i = 0; i < MANY; i += 2) {
		size_t size = i * 7919 % 3000, now = i * 104729 % 3000 + 1;
		char *moved = realloc(blocks[i], now);

		CHECK(moved);
		for (size_t k = 0; k < size && k < now; k++)
			CHECK(moved[k] == (char)i);
		blocks[i] = moved;
	}
	for (size_t i = 0; i < MANY; i++)
		free(blocks[i]);
}

static void test_calls(void)
{
	char *block = calloc(10, 10), *aligned = NULL;
	int to[2];

	for (int i = 0; i < 100; i++)
		CHECK(block[i] == 0);
	CHECK(pipe(to) == 0);
	memcpy(block, "through the kernel", 19); /* whose calls take a pointer with a tag */
	CHECK(write(to[1], block, 19) == 19);
	memset(block, 0, 100);
	CHECK(read(to[0], block, 19) == 19 && strcmp(block, "through the kernel") == 0);
	close(to[0]);
	close(to[1]);
	CHECK(posix_memalign((void **)&aligned, 64, 200) == 0 && address_of(aligned) % 64 == 0);
	memset(aligned, 1, 200);
	free(aligned);
	if (free_sized != NULL)
		free_sized(block, 100);
	else
		free(block);
}

/* No two beside each other have one tag, where they are on one page. */
static void test_neighbours(void)
{
	static char *blocks[MANY];
	size_t pairs = 0;

	for (size_t i = 0; i < MANY; i++)
		CHECK(blocks[i] = malloc(40));
	for (size_t i = 0; i < MANY; i++)
		for (size_t k = 0; k < MANY; k++)
			if (address_of(blocks[k]) == address_of(blocks[i]) + 48 && address_of(blocks[k]) % 4096 != 0 &&
			    tag_of(blocks[i]) != 0 && tag_of(blocks[k]) != 0) {
				CHECK(tag_of(blocks[i]) != tag_of(blocks[k]));
				pairs++;
			}
	CHECK(pairs > MANY / 4);
	for (size_t i = 0; i < MANY; i++)
		free(blocks[i]);
}

static void *work(void *arg)
{
	for (int i = 0; i < 20; i++)
		test_calls();
	return arg;
}

static void test_objects(size_t size, bool have)
{
	struct dry_cache_attr attr = { .name = "tagged", .size = size };
	dry_cache *cache = dry_cache_create(NULL, &attr);
	char *objects[200];
	size_t tagged = 0;

	CHECK(cache);
	for (int i = 0; i < 200; i++) {
		CHECK(objects[i] = dry_cache_alloc(cache));
		memset(objects[i], i, size);
		tagged += tag_of(objects[i]) != 0;
	}
	CHECK(have ? tagged > 100 : tagged == 0);
	for (int i = 0; i < 200; i++)
		dry_cache_free(cache, objects[i]);
}

static void works(void)
{
	pthread_t ids[4];
	int status;
	pid_t pid;

	test_sizes();
	test_calls();
	test_neighbours();
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_create(&ids[i], NULL, work, NULL));
	test_sizes();
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_join(ids[i], NULL));
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		test_sizes();
		exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	if (dry_cache_create == NULL)
		return;
	test_objects(56, true);
	test_objects(28, false); /* slots of 40 bytes */
}

static void untagged(void)
{
	test_calls();
	for (int i = 0; i < MANY; i++)
		CHECK(tag_of(malloc(100)) == 0);
}

/* ---- what ends ---- */

static void read_after_free(void)
{
	volatile char *block = tagged(100);

	free((char *)block);
	(void)block[50];
}

static void write_after_free(void)
{
	volatile char *block = tagged(100);

	free((char *)block);
	block[50] = 1;
}

static void read_beyond(void)
{
	volatile char *block = tagged(100);

	(void)block[112];
}

static void read_before(void)
{
	volatile char *block = tagged(100);

	(void)block[-16];
}

static void read_resized(void)
{
	volatile char *block = tagged(500), *now = realloc((char *)block, 490);

	CHECK(address_of((char *)now) == address_of((char *)block) && now != block);
	(void)block[0];
}

/* A pointer to what was freed, whose memory is another's. */
static char *reused(void)
{
	char *old = tagged(100), *other = NULL;

	free(old);
	/* What was freed waits until as many others were. */
	for (int i = 0; i < 100000; i++) {
		CHECK(other = malloc(100));
		if (address_of(other) == address_of(old))
			break;
		free(other);
	}
	CHECK(address_of(other) == address_of(old));
	return other != old ? old : NULL; /* one of 13 times the tag is the same again */
}

static char *stale(void)
{
	char *old = NULL;

	while (old == NULL)
		old = reused();
	return old;
}

static void free_stale(void)
{
	free(stale());
}

static void resize_stale(void)
{
	(void)!realloc(stale(), 90);
}

static void read_stale(void)
{
	(void)*(volatile char *)stale();
}

static void measure_stale(void)
{
	(void)!malloc_usable_size(stale());
}

/* Of the same size, so that sizes do not tell. */
static void free_sized_stale(void)
{
	if (free_sized == NULL)
		free(stale());
	else
		free_sized(stale(), 100);
}

static void free_object_stale(void)
{
	struct dry_cache_attr attr = { .name = "tagged", .size = 56 };
	dry_cache *cache = dry_cache_create != NULL ? dry_cache_create(NULL, &attr) : NULL;
	char *old = NULL, *other = NULL;

	if (cache == NULL)
		free(stale());
	while (old == NULL || tag_of(old) == 0)
		CHECK(old = dry_cache_alloc(cache));
	do {
		dry_cache_free(cache, old);
		for (int i = 0; i < 100000 && address_of(other = dry_cache_alloc(cache)) != address_of(old); i++)
			dry_cache_free(cache, other);
		CHECK(address_of(other) == address_of(old));
	} while (other == old);
	dry_cache_free(cache, old);
}

/* What is free is read when the process ends, while others take it. */
static void *go_on(void *arg)
{
	void *blocks[64] = { NULL };

	for (size_t i = 0;; i++) {
		free(blocks[i % 64]);
		blocks[i % 64] = malloc(100);
	}
	return arg;
}

static void end_meanwhile(void)
{
	pthread_t id;

	for (int i = 0; i < 2; i++)
		CHECK(!pthread_create(&id, NULL, go_on, NULL));
	usleep(20000);
}

/* As sshd's: mmap() and mprotect() for reads and writes alone. */
static void behind_filter(void)
{
#ifdef __aarch64__
	static struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mmap, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mprotect, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, ~3u, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
#endif
	static char *blocks[50000];
	for (int i = 0; i < 50000; i++) {
		CHECK(blocks[i] = malloc(1000));
		memset(blocks[i], i, 1000);
	}
	for (int i = 0; i < 50000; i++) {
		CHECK(blocks[i] = realloc(blocks[i], 1500));
		CHECK(blocks[i][999] == (char)i);
		free(blocks[i]);
	}
}

static void read_asynchronously(void)
{
	volatile char *block = tagged(100);

	free((char *)block);
	(void)block[50];
	for (int i = 0; i < 1000; i++)
		(void)getppid();
}

static const struct {
	const char *name;
	void (*run)(void);
	const char *conf;
	int signal;       /* 0: works to its end */
	const char *says; /* on stderr */
} cases[] = {
	{ "works", works, "secure:1", 0, NULL },
	{ "works, async", works, "secure:1,tags:async", 0, NULL },
	{ "never", untagged, "secure:1,tags:never", 0, NULL },
	{ "not secure", untagged, "check:1", 0, NULL },
	{ "behind a filter", behind_filter, "secure:1", 0, NULL },
	{ "end meanwhile", end_meanwhile, "secure:1", 0, NULL },
	{ "read after free", read_after_free, "secure:1", SIGSEGV, "read, into a freed object" },
	{ "write after free", write_after_free, "secure:1", SIGSEGV, "write, into a freed object" },
	{ "read beyond", read_beyond, "secure:1", SIGSEGV, " of secure-" },
	{ "read before", read_before, "secure:1", SIGSEGV, " of secure-" },
	{ "read by an old pointer", read_resized, "secure:1", SIGSEGV, OTHERS },
	{ "free of what another has", free_stale, "secure:1", SIGABRT, "the tag is an old one" },
	{ "realloc of what another has", resize_stale, "secure:1", SIGABRT, "the tag is an old one" },
	{ "size of what another has", measure_stale, "secure:1", SIGABRT, "the tag is an old one" },
	{ "sized free of what another has", free_sized_stale, "secure:1", SIGABRT, "the tag is an old one" },
	{ "free of another's object", free_object_stale, "secure:1", SIGABRT, "the tag is an old one" },
	{ "read of what another has", read_stale, "secure:1", SIGSEGV, OTHERS },
	{ "read, async", read_asynchronously, "secure:1,tags:async", SIGSEGV, "some time before" },
};

static void expect(size_t which)
{
	char number[8], said[8192] = "";
	size_t n = 0;
	ssize_t got;
	int to[2], status;
	pid_t pid;

	CHECK(pipe(to) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		snprintf(number, sizeof(number), "%zu", which);
		setenv("DRYSTONE_CONF", cases[which].conf, 1);
		dup2(to[1], 2);
		execl("/proc/self/exe", "tags", number, (char *)NULL);
		_exit(9);
	}
	close(to[1]);
	while (n < sizeof(said) - 1 && (got = read(to[0], said + n, sizeof(said) - 1 - n)) > 0)
		n += (size_t)got;
	close(to[0]);
	CHECK(waitpid(pid, &status, 0) == pid);
	bool ends = cases[which].signal == 0 ? status == 0 : WIFSIGNALED(status) && WTERMSIG(status) == cases[which].signal;
	bool says = cases[which].says == NULL || strstr(said, cases[which].says) != NULL;
	if (!ends || !says)
		fprintf(stderr, "%s: status %#x, said:\n%s", cases[which].name, (unsigned)status, said);
	CHECK(ends && says);
}

/* Whether a tag is of the 16 bytes alone that it was given to. */
static bool keeps_apart(void)
{
#ifdef __aarch64__
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | 0x20 /* PROT_MTE */, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(page != MAP_FAILED);
	dry_tag_store((void *)((uintptr_t)(page + 1024) | UINT64_C(5) << 56), DRY_TAG_BYTES);
	return dry_tag_load(page) == page;
#else
	return false;
#endif
}

int main(int argc, char **argv)
{
#ifdef __aarch64__
	unsigned long has = getauxval(AT_HWCAP2) & HAS_TAGS;
#else
	unsigned long has = 0;
#endif

	if (has == 0 || !keeps_apart()) {
		fprintf(stderr, has == 0 ? "no tags of memory\n" : "an emulator with one tag for many places (QEMU before 8)\n");
		return 77;
	}
	if (argc > 1) {
		warm_up();
		cases[atoi(argv[1])].run();
		return 0;
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (int k = 0; k < (cases[i].run == end_meanwhile ? 20 : 1); k++)
			expect(i);
	return 0;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Formatting agrees with the C library on the subset that it has; reports are one exact line. DRY_TEST_NO_NORSEQ: text. */
#include <limits.h>
#include <string.h>

#include "base/fatal.h"
#include "base/fmt.h"
#include "check.h"
#include "random.h"

static void same(const char *ours, size_t length, const char *libc, const char *fmt)
{
	if (strcmp(ours, libc) != 0)
		fprintf(stderr, "format %s: \"%s\", libc \"%s\"\n", fmt, ours, libc);
	CHECK(strcmp(ours, libc) == 0);
	CHECK_EQ(length, strlen(libc));
}

#define SAME(fmt, ...)                                                                                                 \
	do {                                                                                                           \
		char ours[128], libc[128];                                                                             \
		size_t length = dry_format(ours, sizeof(ours), fmt, __VA_ARGS__);                                      \
		snprintf(libc, sizeof(libc), fmt, __VA_ARGS__);                                                        \
		same(ours, length, libc, fmt);                                                                         \
	} while (0)

static void fixed(void)
{
	SAME("%s|%10s|%-10s|%2s", "abc", "abc", "abc", "abc");
	SAME("%c|%3c|%-3c|%%", 'x', 'y', 'z');
	SAME("%d %d %d %d", 0, -1, INT_MAX, INT_MIN);
	SAME("%ld %lld %ld", LONG_MIN, LLONG_MIN, LONG_MAX);
	SAME("%u %lu %llu %zu", UINT_MAX, ULONG_MAX, ULLONG_MAX, SIZE_MAX);
	SAME("%x %lx %llx %zx", UINT_MAX, ULONG_MAX, ULLONG_MAX, SIZE_MAX);
	SAME("%5d|%-5d|%05d|%05d", 42, 42, 42, -42);
	SAME("%25lld|%025lld|%-25lld|", LLONG_MIN, LLONG_MIN, LLONG_MIN);
	SAME("%p", (void *)0x7f12);
}

static void random_numbers(struct rng *rng)
{
	static const char *const conversions[] = { "%ld", "%lu", "%lx", "%zu", "%zx", "%llx" };
	char fmt[16];
	int i, width;

	for (i = 0; i < 20000; i++) {
		unsigned long value = (unsigned long)(rng_next(rng) >> rng_below(rng, 64));
		const char *conversion = conversions[rng_below(rng, 6)];
		char ours[64], libc[64];
		size_t length;

		width = (int)rng_below(rng, 30);
		snprintf(fmt, sizeof(fmt), "%%%s%d%s", (const char *[]){ "", "-", "0" }[rng_below(rng, 3)], width + 1,
			 conversion + 1);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		length = dry_format(ours, sizeof(ours), fmt, value);
		snprintf(libc, sizeof(libc), fmt, value);
#pragma GCC diagnostic pop
		same(ours, length, libc, fmt);
	}
}

/* Cut to the buffer, terminated, and not one byte beyond. */
static void cut(void)
{
	char buf[16];
	size_t size;

	for (size = 1; size <= 12; size++) {
		memset(buf, '#', sizeof(buf));
		CHECK_EQ(dry_format(buf, size, "ab%5dcd%s", 7, "xyz"), size < 13 ? size - 1 : 12);
		CHECK(memcmp(buf, "ab    7cdxyz", size - 1) == 0);
		CHECK(buf[size - 1] == '\0' && buf[size] == '#');
	}
	CHECK_EQ(dry_format(buf, sizeof(buf), "%s", ""), 0);
	CHECK(buf[0] == '\0');
}

/* What `report` writes to standard error is `expected`. */
static void expect(void (*report)(void), const char *expected)
{
	char got[1024];
	int ends[2], saved = dup(2);
	ssize_t n;

	CHECK(pipe(ends) == 0 && saved >= 0);
	CHECK(dup2(ends[1], 2) == 2);
	report();
	dup2(saved, 2);
	close(ends[1]);
	n = read(ends[0], got, sizeof(got) - 1);
	close(ends[0]);
	close(saved);
	got[n > 0 ? n : 0] = '\0';
	char *end = strchr(got, '\n'); /* below the line stands who called */
	if (end != NULL)
		end[1] = '\0';
	if (strcmp(got, expected) != 0)
		fprintf(stderr, "got:      %sexpected: %s", got, expected);
	CHECK(strcmp(got, expected) == 0);
}

static void report_full(void)
{
	dry_fatal(DRY_FATAL_DOUBLE_FREE, (void *)0x7f12, "kmalloc-64", "freed twice");
}
static void report_address(void)
{
	dry_fatal(DRY_FATAL_INVALID_POINTER, (void *)0x1, NULL, NULL);
}
static void report_cache(void)
{
	dry_fatal(DRY_FATAL_DEAD_CACHE, NULL, "tree", NULL);
}
static void report_controls(void)
{
	dry_fatal(DRY_FATAL_DEAD_CACHE, NULL, "two\nlines\033[2J\x7f \xc3\xa4", NULL);
}
static void report_long(void)
{
	char name[600];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	dry_fatal(DRY_FATAL_POISON, (void *)0x10, name, "unseen");
}
static void warn(void)
{
	dry_warn("cache %s: %zu objects remain", "tree", (size_t)3);
}

static void reports(void)
{
	char line[320] = "drystone: free object was written to: 0x10, cache ";

	dry_fatal_aborts = false;
	expect(report_full, "drystone: double free: 0x7f12, cache kmalloc-64: freed twice\n");
	expect(report_address, "drystone: invalid pointer: 0x1\n");
	expect(report_cache, "drystone: cache already destroyed: cache tree\n");
	expect(report_controls, "drystone: cache already destroyed: cache two?lines?[2J? \xc3\xa4\n");
	expect(warn, "drystone: cache tree: 3 objects remain\n");
	memset(line + strlen(line), 'n', sizeof(line) - strlen(line));
	line[sizeof(line) - 1] = '\0';
	line[sizeof(line) - 2] = 'n';
	strcpy(line + sizeof(line) - 2, "n");
	{
		char cut_line[sizeof(line) + 1];

		snprintf(cut_line, sizeof(cut_line), "%s\n", line);
		expect(report_long, cut_line);
	}
	dry_fatal_aborts = true;
}

int main(int argc, char **argv)
{
	struct rng rng = { test_seed(argc, argv) };

	fixed();
	random_numbers(&rng);
	cut();
	reports();
	return 0;
}

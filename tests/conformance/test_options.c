/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * DRYSTONE_CONF: a bad option is one warning line and the default is kept; abort:0 turns a
 * report of corruption into a warning, after which everything still works. The program
 * starts itself again, because options are read once, at the start.
 */
/* DRY_TEST_NOT_TINY: DRYSTONE_CONF is read by the malloc layer. */
#define _GNU_SOURCE 1
#include <stdlib.h>
#include <sys/wait.h>

#include "../support/capture.h"
#include "../support/exercise.h"

/* The modes: what runs in the child. */

static int run_plain(void)
{
	struct rng rng = { 1 };

	exercise_general(NULL, 16, 3000, &rng);
	return 0;
}

static int run_double_free(void)
{
	enum { N = 3000 };
	static void *objects[N];
	dry_heap *heap = dry_heap_create(NULL);
	dry_cache *cache = make_cache(heap, "twice", 64, 0, DRY_CACHE_NO_MERGE);
	struct rng rng = { 2 };

	CHECK_EQ(dry_cache_alloc_bulk(cache, N, objects), N);
	for (int i = 0; i < N; i += 2) /* the others keep the slabs alive */
		dry_cache_free(cache, objects[i]);
	dry_cache_shrink(cache);
	dry_cache_free(cache, objects[0]);
	dry_cache_shrink(cache); /* here at the latest it comes to light */
	CHECK_EQ(stats_of(cache).active_objects, N / 2);
	for (int i = 1; i < N; i += 2)
		dry_cache_free(cache, objects[i]);
	CHECK_EQ(dry_heap_check(heap), 0);
	exercise_cache(heap, cache, 5000, &rng);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	return 0;
}

static int run_wild(void)
{
	static char nobody[64];
	dry_heap *heap = dry_heap_create(NULL);
	char *block = dry_alloc(heap, 100000);
	struct rng rng = { 3 };

	dry_free(heap, nobody);
	CHECK(block);
	pattern_fill(block, 100000);
	dry_free(heap, block + 8192);
	CHECK(pattern_holds(block, 100000));
	dry_free(heap, block);
	exercise_general(heap, 16, 3000, &rng);
	CHECK_EQ(dry_heap_destroy(heap), 0);
	return 0;
}

static int run_trace(void)
{
	dry_cache *cache = make_cache(NULL, "traced", 64, 0, 0);
	void *object = dry_cache_alloc(cache);

	CHECK(object);
	dry_cache_free(cache, object);
	return 0;
}

/* Runs this program with a mode and an environment; standard error goes to text. */
static void start(const char *mode, const char *conf, char *text, size_t room)
{
	struct capture capture;
	int status;
	pid_t pid;

	capture_begin(&capture);
	pid = fork();
	if (!pid) {
		setenv("DRYSTONE_CONF", conf, 1);
		execl("/proc/self/exe", "test_options", "--mode", mode, (char *)NULL);
		_exit(9);
	}
	pid_t waited = waitpid(pid, &status, 0);
	capture_end(&capture, text, room);
	if (waited != pid || status)
		fprintf(stderr, "mode %s conf \"%s\" status %#x: %s", mode, conf, (unsigned)status, text);
	CHECK(waited == pid && status == 0);
}

/* Lines that begin a report or a warning; what follows them says who called. */
static size_t count_reports(const char *text)
{
	size_t count = 0;

	for (; text != NULL && *text != '\0'; text = strchr(text, '\n'), text += text != NULL)
		count += !strncmp(text, "drystone: ", 10);
	return count;
}

static void expect_lines(const char *mode, const char *conf, size_t lines, const char *word)
{
	char text[8192];

	start(mode, conf, text, sizeof(text));
	if (count_reports(text) != lines || (lines && !strstr(text, word)))
		fprintf(stderr, "mode %s conf \"%s\" wrote: %s", mode, conf, text);
	CHECK_EQ(count_reports(text), lines);
	if (!lines)
		return;
	CHECK(!strncmp(text, "drystone: ", 10));
	CHECK(strstr(text, word));
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--mode")) {
		if (!strcmp(argv[2], "plain"))
			return run_plain();
		if (!strcmp(argv[2], "double"))
			return run_double_free();
		if (!strcmp(argv[2], "trace"))
			return run_trace();
		return run_wild();
	}
	test_seed(argc, argv);
	unsetenv("DRYSTONE_CONF");
	expect_lines("plain", "", 0, "");
	expect_lines("plain", "abort:1", 0, "");
	expect_lines("plain", "abort:0", 0, "");
	expect_lines("plain", "nonsense:1", 1, "nonsense");
	expect_lines("plain", "nonsense", 1, "nonsense");
	expect_lines("plain", "abort:maybe", 1, "abort");
	expect_lines("plain", "abort:1,nonsense:7,abort:1", 1, "nonsense");
	expect_lines("plain", "debug:X", 1, "debug:X");
	expect_lines("plain", "debug:FZ/", 1, "debug:FZ/");
	expect_lines("plain", "debug:FZPU/nobody", 0, "");
	expect_lines("plain", "debug:FZPU/nobody,leaks:1", 1, "leaks: there was no cache of the name");
	expect_lines("plain", "debug:U/nobody,debug:FZPU/kmalloc-64,leaks:1", 0, "");
	expect_lines("plain", "debug:FZPU/trace*,leaks:1", 1, "leaks: there was no cache of the name");
	expect_lines("trace", "debug:FZPU/trace*,leaks:1", 0, "");
	expect_lines("trace", "debug:T/traced", 2, "trace: traced freed 0x");
	expect_lines("trace", "debug:T/trace", 0, "");
	expect_lines("double", "abort:0", 1, "drystone: double free: 0x");
	expect_lines("wild", "abort:0", 2, "drystone: ");
	return 0;
}

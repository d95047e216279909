/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Runs a fuzz target without libFuzzer: every file of a corpus as it is, then inputs made
 * from them by random changes. It takes libFuzzer's names for what both have:
 *
 *   PROGRAM [-runs=N] [-max_total_time=SECONDS] [-seed=N] [-max_len=BYTES] [FILE | FOLDER]...
 *
 * A seed gives the same inputs again. The input that a process dies of is kept in crash-SEED-RUN
 * in the current folder; with that file as the argument and -runs=0, it alone is repeated.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "../support/check.h"
#include "../support/random.h"
#include "input.h"

#define MAX_FILES 4096
#define MAX_BYTES 65536

struct sample {
	uint8_t *bytes;
	size_t size;
};

static struct sample corpus[MAX_FILES];
static size_t samples;
static uint8_t current[MAX_BYTES];
static size_t current_size;
static unsigned long long seed, run;

static void keep_input(int signal_number)
{
	char name[64];
	int file;

	snprintf(name, sizeof(name), "crash-%llu-%llu", seed, run);
	file = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (file >= 0 && write(file, current, current_size) == (ssize_t)current_size)
		fprintf(stderr, "fuzz: signal %d in seed %llu, run %llu; input kept in %s\n", signal_number, seed, run, name);
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static void add_file(const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	CHECK(file >= 0);
	got = read(file, current, sizeof(current));
	CHECK(got >= 0);
	close(file);
	if (samples == MAX_FILES)
		return;
	corpus[samples].size = (size_t)got;
	CHECK(corpus[samples].bytes = malloc((size_t)got + 1));
	memcpy(corpus[samples++].bytes, current, (size_t)got);
}

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void add(const char *path)
{
	struct dirent **names;
	struct stat info;
	int count;

	CHECK(stat(path, &info) == 0);
	if (!S_ISDIR(info.st_mode)) {
		add_file(path);
		return;
	}
	count = scandir(path, &names, visible, alphasort); /* sorted: a seed means the same everywhere */
	CHECK(count >= 0);
	for (int i = 0; i < count; i++) {
		char full[4096];

		snprintf(full, sizeof(full), "%s/%s", path, names[i]->d_name);
		add(full);
		free(names[i]);
	}
	free(names);
}

static void insert(struct rng *rng, const uint8_t *from, size_t count, size_t max)
{
	size_t at = rng_below(rng, current_size + 1);

	if (current_size + count > max)
		return;
	memmove(current + at + count, current + at, current_size - at);
	for (size_t i = 0; i < count; i++)
		current[at + i] = from ? from[i] : (uint8_t)rng_next(rng);
	current_size += count;
}

static void change(struct rng *rng, size_t max)
{
	size_t at = current_size ? rng_below(rng, current_size) : 0;
	size_t count = current_size ? 1 + rng_below(rng, current_size - at < 32 ? current_size - at : 32) : 0;
	const struct sample *other = samples ? &corpus[rng_below(rng, samples)] : NULL;
	size_t from;

	switch (current_size ? rng_below(rng, 7) : 6) {
	case 0:
		current[at] ^= (uint8_t)(1u << rng_below(rng, 8));
		break;
	case 1:
		current[at] = (uint8_t)rng_next(rng);
		break;
	case 2:
		current[at] = (uint8_t)(current[at] + rng_below(rng, 9) - 4);
		break;
	case 3: /* drop */
		memmove(current + at, current + at + count, current_size - at - count);
		current_size -= count;
		break;
	case 4: { /* again elsewhere */
		uint8_t piece[32];

		memcpy(piece, current + at, count);
		insert(rng, piece, count, max);
		break;
	}
	case 5: /* a piece of another one */
		if (!other || !other->size)
			break;
		from = rng_below(rng, other->size);
		insert(rng, other->bytes + from, 1 + rng_below(rng, other->size - from < 64 ? other->size - from : 64), max);
		break;
	default:
		insert(rng, NULL, 1 + rng_below(rng, 64), max);
	}
}

static void make_input(size_t max)
{
	/* Each run has a stream of its own, so that one can be repeated alone. */
	struct rng rng = { (uint64_t)seed * 1000003u + run };

	current_size = 0;
	if (samples != 0) {
		const struct sample *sample = &corpus[rng_below(&rng, samples)];

		current_size = sample->size < max ? sample->size : max;
		memcpy(current, sample->bytes, current_size);
	}
	for (size_t n = 1 + rng_below(&rng, 12); n != 0; n--)
		change(&rng, max);
}

static void one(void)
{
	/* In a block of its exact size, so that a checker sees reads past its end. */
	uint8_t *copy = malloc(current_size ? current_size : 1);

	CHECK(copy);
	memcpy(copy, current, current_size);
	LLVMFuzzerTestOneInput(copy, current_size);
	free(copy);
}

static bool option(const char *argument, const char *name, unsigned long long *value)
{
	size_t length = strlen(name);

	if (strncmp(argument, name, length) != 0)
		return false;
	*value = strtoull(argument + length, NULL, 10);
	return true;
}

int main(int argc, char **argv)
{
	static const int deadly[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL };
	unsigned long long runs = 10000, seconds = 0, max = 4096;
	bool seeded = false;
	time_t start = time(NULL);

	for (int i = 1; i < argc; i++)
		if (option(argv[i], "-seed=", &seed))
			seeded = true;
		else if (!option(argv[i], "-runs=", &runs) && !option(argv[i], "-max_total_time=", &seconds) &&
			 !option(argv[i], "-max_len=", &max))
			add(argv[i]);
	CHECK(max <= MAX_BYTES);
	if (!seeded)
		seed = test_seed(1, argv);
	else
		printf("seed %llu\n", seed);
	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
		signal(deadly[i], keep_input);
	for (size_t i = 0; i < samples; i++) {
		current_size = corpus[i].size;
		memcpy(current, corpus[i].bytes, current_size);
		one();
	}
	for (run = 1; run <= runs && (seconds == 0 || time(NULL) - start < (time_t)seconds); run++) {
		make_input(max);
		one();
	}
	printf("%zu files and %llu inputs made from them\n", samples, run - 1);
	return 0;
}

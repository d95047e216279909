/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * In memory cgroups, whose kernel kills who goes beyond the limit:
 *
 *   phases   192 MiB: phases of 112 MiB each, every one of another block size, so that what is kept of one phase must
 *            serve the next or go back
 *   endless  64 MiB, DRYSTONE_CONF=limit:85%: threads allocate until NULL, with ENOMEM; what they have works on
 *   secure   the same under secure:1, which takes more for itself
 *   payload  64 MiB, secure:1 and no limit: 45 MB of blocks of each size live, as in the default profile, and every fourth
 *            block has been freed beside them
 *   follow   192 MiB, limit:50%; while the process runs 128 MiB, then 256: what it gets is half of that, with one thread
 *            and with two
 *   filtered the same where the system has filters on the process, as containers have
 *   shrink   1 GiB, secure:1; while it runs 64 MiB: seven eighths of the payload live there
 *
 * Needs the right to make a cgroup; skipped without. DRY_TEST_NO_POSIX: that port does not know groups.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/seccomp.h"

#define PHASE ((size_t)112 << 20)

static const char *own_group; /* the running mode's */

static bool put(const char *folder, const char *file, const char *text)
{
	char path[256];
	int fd;
	bool good;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	good = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return good;
}

/* A new cgroup with the limit; false: not permitted, or no memory controller. */
static bool make_cgroup(char *folder, size_t room, size_t bytes)
{
	static const char *const roots[] = { "/sys/fs/cgroup/memory", "/sys/fs/cgroup" };
	static const char *const files[] = { "memory.limit_in_bytes", "memory.max" };
	char limit[32];

	snprintf(limit, sizeof(limit), "%zu", bytes);
	for (int i = 0; i < 2; i++) {
		snprintf(folder, room, "%s/drystone-test-%d", roots[i], (int)getpid());
		if (mkdir(folder, 0755) != 0)
			continue;
		if (put(folder, files[i], limit))
			return true;
		rmdir(folder);
	}
	return false;
}

static void phase(size_t size)
{
	size_t count = PHASE / size;
	char **blocks = malloc(count * sizeof(char *));

	CHECK(blocks != NULL);
	for (size_t i = 0; i < count; i++) {
		blocks[i] = malloc(size);
		CHECK(blocks[i] != NULL);
		memset(blocks[i], (int)i | 1, size);
	}
	for (size_t i = 0; i < count; i++) {
		CHECK(blocks[i][size - 1] == (char)((int)i | 1));
		free(blocks[i]);
	}
	free(blocks);
}

static void run_phases(void)
{
	static const size_t sizes[] = { 100, 4000, 1 << 20, 64, 30000, 5 << 20, 300, 300000, 1000 };

	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			phase(sizes[i]);
}

/* Blocks in a chain until there is no memory, twice; all of it is written. */
static void *fill(void *arg)
{
	static const size_t sizes[] = { 48, 300, 5000, 70000, 1500000 };
	size_t which = (size_t)arg, *total = malloc(sizeof(size_t));

	CHECK(total != NULL);
	*total = 0;
	for (int round = 0; round < 2; round++) {
		size_t size = sizes[(which + (size_t)round) % 5];
		void **first = NULL, **block;

		errno = 0;
		while ((block = malloc(size)) != NULL) {
			memset(block, 0x5a, size);
			*block = first;
			first = block;
			*total += size;
		}
		CHECK(errno == ENOMEM);
		for (; first != NULL; first = block) {
			CHECK(((char *)first)[size - 1] == 0x5a);
			block = *first;
			free(first);
		}
	}
	return total;
}

static void run_endless(void)
{
	pthread_t threads[4];
	size_t sum = 0;
	void *total;

	for (size_t i = 0; i < 4; i++)
		CHECK(pthread_create(&threads[i], NULL, fill, (void *)i) == 0);
	for (size_t i = 0; i < 4; i++) {
		CHECK(pthread_join(threads[i], &total) == 0);
		sum += *(size_t *)total;
		free(total);
	}
	CHECK(sum >= (size_t)30 << 20);
	free(fill((void *)1)); /* alone */
}

/* MiB of blocks of a size. Those of 8 and of 24 bytes, aligned to 16, live with 31 and 46 in the default profile. */
static const struct {
	size_t size, mib;
} payloads[] = { { 16, 45 }, { 100, 45 }, { 30000, 45 }, { 4000, 45 }, { 500, 45 }, { 64, 45 }, { 8, 28 }, { 24, 42 } };

static void live_with(size_t eighths)
{
	for (size_t i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
		size_t size = payloads[i].size;
		char **first = NULL, **block;

		for (size_t n = 0; n < (payloads[i].mib << 20) / 8 * eighths / size; n++) {
			block = malloc(size);
			CHECK(block != NULL);
			memset(block, 0x5a, size);
			*block = (char *)first;
			first = block;
			if (n % 4 == 0)
				free(calloc(1, size));
		}
		for (; first != NULL; first = block) {
			CHECK(size <= sizeof(char *) || ((char *)first)[size - 1] == 0x5a);
			block = (char **)*first;
			free(first);
		}
	}
}

static void run_payload(void)
{
	live_with(8);
}

static void resize(size_t mib)
{
	char bytes[32];

	snprintf(bytes, sizeof(bytes), "%zu", mib << 20);
	CHECK(put(own_group, "memory.limit_in_bytes", bytes) || put(own_group, "memory.max", bytes));
}

/* Bytes of blocks that there are, in MiB; at most so many. */
static size_t room(size_t most)
{
	const size_t size = 5000;
	void **first = NULL, **block;
	size_t total = 0;

	while (total < most << 20 && (block = malloc(size)) != NULL) {
		memset(block, 0x5a, size);
		*block = first;
		first = block;
		total += size;
	}
	for (; first != NULL; first = block) {
		CHECK(((char *)first)[size - 1] == 0x5a);
		block = *first;
		free(first);
	}
	return total >> 20;
}

static void lower_to(size_t mib)
{
	size_t got;

	resize(mib);
	for (int patience = 100; (got = room(110)) > mib / 2; patience--) {
		CHECK(patience > 0);
		usleep(50000);
	}
	CHECK(got >= mib / 5 * 2);
}

static void follow_down_and_up(void)
{
	lower_to(192);
	lower_to(128);
	resize(256);
	usleep(200000); /* between two looks for a limit that is in the way */
	CHECK(room(110) >= 110);
}

static void *park(void *arg)
{
	pthread_mutex_t *parking = arg;

	CHECK(pthread_mutex_lock(parking) == 0);
	CHECK(pthread_mutex_unlock(parking) == 0);
	return NULL;
}

static void run_follow(void)
{
	static pthread_mutex_t parking = PTHREAD_MUTEX_INITIALIZER;
	pthread_t thread;

	follow_down_and_up();
	CHECK(pthread_mutex_lock(&parking) == 0);
	CHECK(pthread_create(&thread, NULL, park, &parking) == 0);
	follow_down_and_up();
	CHECK(pthread_mutex_unlock(&parking) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
}

static void run_shrink(void)
{
	void **first = NULL, **block;

	for (int i = 0; i < 20000; i++) { /* enough for somebody to look after it */
		block = malloc(1000);
		CHECK(block != NULL);
		*block = first;
		first = block;
	}
	resize(64);
	for (int i = 0; i < 300; i++) {
		for (int n = 0; n < 100; n++)
			free(calloc(1, 300));
		usleep(5000);
	}
	for (; first != NULL; first = block) {
		block = *first;
		free(first);
	}
	live_with(7);
}

static const struct mode {
	const char *name, *conf;
	size_t limit;
	void (*run)(void);
	int forbidden; /* system call; 0: none */
} modes[] = {
	{ "phases", "", (size_t)192 << 20, run_phases, 0 },
	{ "endless", "limit:85%", (size_t)64 << 20, run_endless, 0 },
	{ "secure", "secure:1,limit:85%", (size_t)64 << 20, run_endless, 0 },
	{ "payload", "secure:1", (size_t)64 << 20, run_payload, 0 },
	{ "follow", "limit:50%", (size_t)192 << 20, run_follow, 0 },
	{ "filtered", "limit:50%", (size_t)192 << 20, run_follow, RARE },
	{ "shrink", "secure:1", (size_t)1024 << 20, run_shrink, 0 },
};

/* false: no cgroup can be made. */
static bool try_mode(const struct mode *mode)
{
	char folder[128];
	int status;
	pid_t child;

	if (!make_cgroup(folder, sizeof(folder), mode->limit))
		return false;
	child = fork();
	CHECK(child >= 0);
	if (child == 0) { /* started anew: the limit is read, and options are set, at start */
		CHECK(put(folder, "cgroup.procs", "0"));
		if (mode->conf[0] != '\0')
			setenv("DRYSTONE_CONF", mode->conf, 1);
		if (mode->forbidden != 0)
			seccomp_forbid(mode->forbidden);
		execl("/proc/self/exe", "cgroup", mode->name, folder, (char *)NULL);
		_exit(127);
	}
	CHECK(waitpid(child, &status, 0) == child);
	for (int patience = 100; rmdir(folder) != 0 && errno == EBUSY && patience > 0; patience--)
		usleep(10000);
	if (WIFSIGNALED(status))
		fprintf(stderr, "%s: killed by signal %d\n", mode->name, WTERMSIG(status));
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return true;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (argc > 1 && strcmp(argv[1], modes[i].name) == 0) {
			own_group = argc > 2 ? argv[2] : NULL;
			modes[i].run();
			return 0;
		}
		if (argc == 1 && !try_mode(&modes[i])) {
			printf("no cgroup can be made here: skipped\n");
			return 77;
		}
	}
	return argc > 1;
}

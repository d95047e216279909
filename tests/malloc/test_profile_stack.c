/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A heap profile that a signal asks for is written in the next call of whichever thread: it takes no more of that one's stack than
 * any other call, 1.5 KiB. Each is a whole file. While one is being written, which takes as long as nobody reads the pipe that
 * it goes to, others can be, by a child that was forked meanwhile, too.
 * DRY_TEST_NO_SANITIZER: frames are bigger.
 */
#define _GNU_SOURCE 1
#include <drystone/drystone.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/profiles.h"

#define STACK ((size_t)256 << 10)
#define DEPTH ((size_t)32 << 10) /* painted */
#ifdef DRY_DEBUG
#define MOST 2048
#else
#define MOST 1536
#endif
#define AROUND 128 /* the frame that measures */
#define BITS   8
#define PAINT  UINT64_C(0x5bd1e995a7c3f00d)

extern __typeof__(dry_profile_write) dry_profile_write __attribute__((weak));

static char stack[STACK] __attribute__((aligned(4096)));
static char folder[64], name[128], other[128];
static void *volatile kept[64];

/* As pprof has it, from its first line to the table of what is mapped. */
static void check_whole(const char *path)
{
	static char text[1 << 20];
	int fd = open(path, O_RDONLY);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

	CHECK(n > 0 && text[n - 1] == '\n');
	text[n] = '\0';
	CHECK(strncmp(text, "heap profile: ", 14) == 0 && strstr(text, "\nMAPPED_LIBRARIES:\n") != NULL);
	CHECK(strstr(text, "profile_stack") != NULL || strstr(text, "[stack]") != NULL);
	CHECK(strstr(strstr(text, "\nMAPPED_LIBRARIES:\n"), "r-xp") != NULL);
	close(fd);
	CHECK(unlink(path) == 0);
}

/* Bytes below this frame that an allocation wrote to. */
static __attribute__((noinline)) size_t measure(size_t i)
{
	char *here = __builtin_frame_address(0);
	volatile uint64_t *from = (volatile uint64_t *)(void *)(here - DEPTH);
	volatile uint64_t *end = (volatile uint64_t *)(void *)(here - 256), *at;

	for (at = from; at < end; at++)
		*at = PAINT;
	kept[i] = malloc(1000 + i);
	for (at = from; at < end && *at == PAINT; at++)
		;
	return (size_t)(here - (char *)(uintptr_t)at);
}

/* Of as many places as there are bits: what is written is of many buffers' length. */
static __attribute__((noinline)) void deep(unsigned bits, unsigned left)
{
	void *block = left == 0 ? malloc(2000000) : NULL;

	OPAQUE(block);
	if (left != 0 && bits % 2 == 0) {
		deep(bits / 2, left - 1);
		OPAQUE(block); /* another place than the next one */
	} else if (left != 0) {
		deep(bits / 2, left - 1);
	}
	OPAQUE(block);
	free(block);
}

static void *painted(void *arg)
{
	for (size_t i = 1; i < 10; i++) {
		deep((unsigned)i, BITS + (unsigned)i);
		raise(SIGUSR1);
		size_t used = measure(i);
		if (used > MOST + AROUND)
			fprintf(stderr, "profile %zu: %zu bytes of stack\n", i, used);
		CHECK(used <= MOST + AROUND);
		check_whole(name);
	}
	return arg;
}

static void on_painted(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	for (unsigned i = 0; i < 1 << BITS; i++)
		deep(i, BITS);
	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setstack(&attr, stack, STACK), 0);
	CHECK_EQ(pthread_create(&thread, &attr, painted, NULL), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void *to_pipe(void *arg)
{
	raise(SIGUSR1);
	free(malloc(10));
	return arg;
}

static void while_one_is_written(void)
{
	char bytes[4096] = "";
	int fd, status;
	pthread_t thread;

	CHECK(unlink(name) == 0); /* the one of the first program's end */
	CHECK(mkfifo(name, 0600) == 0);
	fd = open(name, O_RDWR | O_NONBLOCK);
	while (write(fd, bytes, sizeof(bytes)) > 0)
		;
	CHECK_EQ(pthread_create(&thread, NULL, to_pipe, NULL), 0);
	usleep(300000); /* it waits for 2 s */
	CHECK_EQ(dry_profile_write(other), 0);
	check_whole(other);
	pid_t pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 2; i++) {
			CHECK_EQ(dry_profile_write(other), 0);
			check_whole(other);
		}
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(dry_profile_write(other), 0);
	check_whole(other);
	close(fd);
	CHECK(unlink(name) == 0);
}

int main(int argc, char **argv)
{
	char conf[256];
	const char *tmp = getenv("TMPDIR");
	int status = 0;

	if (argc > 1) {
		snprintf(name, sizeof(name), "%s/profile", argv[1]);
		snprintf(other, sizeof(other), "%s/other", argv[1]);
		(argc > 2 ? while_one_is_written : on_painted)();
		return 0;
	}
	setenv("LD_BIND_NOW", "1", 1); /* the dynamic linker's looking for calls takes stack, too */
	snprintf(folder, sizeof(folder), "%.40s/profile-XXXXXX", tmp != NULL ? tmp : "/tmp");
	CHECK(mkdtemp(folder) != NULL);
	snprintf(conf, sizeof(conf), "profile:524288,profile_signal:%d,profile_file:%s/profile", SIGUSR1, folder);
	status |= test_again(conf, folder, NULL);
	status |= test_again(conf, folder, "pipe");
	CHECK_EQ(status, 0);
	snprintf(conf, sizeof(conf), "%s/profile", folder); /* of the first program's end */
	(void)unlink(conf);
	CHECK_EQ(rmdir(folder), 0);
	return 0;
}

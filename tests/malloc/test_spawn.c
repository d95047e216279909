/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* vfork + exec, posix_spawn, popen and system, from several threads that allocate meanwhile. */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "../support/check.h"
#include "../support/pattern.h"
#include "../support/random.h"

extern char **environ;

static volatile int stop;

static void *allocate(void *arg)
{
	struct rng rng = { (uint64_t)(uintptr_t)arg };

	while (!stop) {
		size_t size = rng_size(&rng, 14);
		void *block = malloc(size);

		CHECK(block);
		pattern_fill(block, size);
		CHECK(pattern_holds(block, size));
		free(block);
	}
	return NULL;
}

static void expect(pid_t pid, int code)
{
	int status;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), code);
}

static void by_vfork(const char *program, char **args, int code)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execve(program, args, environ);
		_exit(77);
	}
	expect(pid, code);
}

static void by_spawn(char **args, int code)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;

	CHECK(!posix_spawn_file_actions_init(&actions));
	CHECK(!posix_spawn_file_actions_addopen(&actions, 5, "/dev/null", 0, 0));
	CHECK(!posix_spawnp(&pid, args[0], &actions, NULL, args, environ));
	CHECK(!posix_spawn_file_actions_destroy(&actions));
	expect(pid, code);
}

static pthread_mutex_t pipes = PTHREAD_MUTEX_INITIALIZER;

static void *start(void *arg)
{
	char *ok[] = { (char *)"sh", (char *)"-c", (char *)"exit 5", NULL };
	size_t rounds = test_scaled(60);
	char text[16];
	FILE *pipe;

	(void)arg;
	for (size_t i = 0; i < rounds; i++) {
		by_vfork("/bin/sh", ok, 5);
		by_vfork("/nonexistent", ok, 77);
		by_spawn(ok, 5);
		/* musl's children close what other pipes of popen() had, under whose numbers may be others by then */
		CHECK(!pthread_mutex_lock(&pipes));
		CHECK(pipe = popen("echo hello", "r"));
		CHECK(fgets(text, sizeof(text), pipe) && !strcmp(text, "hello\n"));
		CHECK_EQ(pclose(pipe), 0);
		CHECK(!pthread_mutex_unlock(&pipes));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t seed = test_seed(argc, argv);
	pthread_t busy[2], starters[3];

	for (uintptr_t i = 0; i < 2; i++)
		CHECK(!pthread_create(&busy[i], NULL, allocate, (void *)(uintptr_t)(seed + i)));
	for (int i = 0; i < 3; i++)
		CHECK(!pthread_create(&starters[i], NULL, start, NULL));
	for (int i = 0; i < 3; i++)
		CHECK(!pthread_join(starters[i], NULL));
	CHECK_EQ(system("exit 3") >> 8, 3);
	stop = 1;
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_join(busy[i], NULL));
	return 0;
}

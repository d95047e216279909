/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Short processes.
 *
 *   processes  starts this program again and again as `child` and waits for it. An operation is one process.
 *   child      allocates 300 blocks by a power law, frees half of them and ends
 */
#define _GNU_SOURCE
#include "patterns.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

static void processes(struct suite_worker *w)
{
	char *argv[] = { "patterns", "child", "1", "1", NULL };

	w->ops = suite_share(w->suite, 240);
	for (size_t i = 0; i < w->ops; i++) {
		posix_spawn_file_actions_t actions;
		pid_t child;
		int status;

		posix_spawn_file_actions_init(&actions);
		posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", 1, 0);
		if (posix_spawn(&child, "/proc/self/exe", &actions, NULL, argv, environ) != 0)
			bench_die("cannot start a process");
		posix_spawn_file_actions_destroy(&actions);
		if (waitpid(child, &status, 0) != child || status != 0)
			bench_die("a short process failed");
	}
}

void pattern_processes(struct suite *suite)
{
	suite_threads(suite, processes);
}

#define CHILD_BLOCKS 300

static void child(struct suite_worker *w)
{
	struct suite_block *block[CHILD_BLOCKS];

	w->ops = CHILD_BLOCKS;
	for (size_t i = 0; i < CHILD_BLOCKS; i++) {
		block[i] = suite_alloc(suite_power_law(&w->random));
		w->check += block[i]->size;
	}
	for (size_t i = 0; i < CHILD_BLOCKS; i += 2)
		suite_free(block[i]);
}

void pattern_child(struct suite *suite)
{
	suite_threads(suite, child);
}

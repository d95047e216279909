/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Under debug: freed objects wait in a quarantine. Who writes below a live block, into what is known of a neighbour that waits, is
 * told so: the allocator follows no word of what was written, neither to a block that somebody has nor to nowhere.
 * The program starts itself again with the option. DRY_TEST_NO_POSIX, DRY_TEST_NO_NORSEQ: nothing of it depends on them.
 */
#define _GNU_SOURCE 1
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/profiles.h"

#define COUNT 400
#define CHURN 3000 /* frees: more than wait */
#define SLOT  400  /* of a block of the sizes below, at most */
#define DEEP  120  /* bytes below a block: its zone, and all that is known of its neighbour */

static char *block[COUNT];
static size_t size;

/* A block that was freed and lies right before a live one, which is returned; NULL: there is none. */
static char *neighbour(void)
{
	for (size_t i = 0; i < COUNT; i++) {
		for (size_t j = 0; j < COUNT; j++) {
			if (block[i] == NULL || block[j] <= block[i] || block[j] - block[i] > SLOT)
				continue;
			free(block[i]);
			block[i] = NULL;
			return block[j];
		}
	}
	return NULL;
}

static void churn(const char *live)
{
	for (size_t i = 0; i < CHURN; i++) {
		char *got = malloc(size);

		CHECK(got > live || live - got >= (ptrdiff_t)size);
		free(got);
	}
}

/* Ends by a report. */
static void underflow(size_t depth)
{
	char *live, *above;

	for (size_t i = 0; i < COUNT; i++)
		CHECK(block[i] = malloc(size));
	live = block[COUNT / 2];
	block[COUNT / 2] = NULL;
	above = neighbour();
	CHECK(above != NULL);
	free(malloc(size));
	memset(live, 0x6b, size - 1); /* as what is free is filled */
	live[size - 1] = (char)0xa5;
	for (size_t at = 8; at <= depth; at += 8)
		memcpy(above - at, &live, sizeof(live));
	churn(live);
	free(above);
	_exit(0);
}

static int status_of(size_t depth)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		close(2);
		underflow(depth);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	return status;
}

static void look(void)
{
	static const size_t sizes[] = { 32, 112, 192 }; /* all of a class */

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size = sizes[i];
		for (size_t depth = 8; depth <= DEEP; depth += 8) {
			int status = status_of(depth);

			printf("%zu bytes, %zu below: status %x\n", size, depth, (unsigned)status);
			fflush(stdout);
			CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
		}
	}
}

int main(int argc, char **argv)
{
	static const char *const confs[] = { "debug:FZPUQ", "debug:ZQ" };

	(void)argv;
	if (argc > 1) {
		look();
		return 0;
	}
	for (size_t i = 0; i < sizeof(confs) / sizeof(confs[0]); i++)
		CHECK_EQ(test_again(confs[i], "look", NULL), 0);
	return 0;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What lies at a constant distance from a block, run after run, can be written to by who has a wrong index alone: of what is
 * mapped where heaps lie, but for the pages around the block, nothing does. In each profile.
 * DRY_TEST_NO_POSIX: there the system chooses the places. DRY_TEST_NO_NORSEQ: nothing of it depends on sequences.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"

#define RUNS  5
#define MOST  400
#define NEAR  ((intptr_t)1 << 30) /* the heap's own blocks, and what lies between them */

static intptr_t found[RUNS][MOST];
static size_t count[RUNS];

/* The places of what may be written to, less the block's. */
static int report(void)
{
	char line[512];
	/* an eighth of the address space; heaps lie below the last one */
	uintptr_t part = (uintptr_t)1 << (61 - __builtin_clzl((uintptr_t)line));
	void *block = NULL;
	FILE *maps;

	for (int i = 0; i < 3000; i++)
		CHECK(block = malloc(64));
	CHECK(malloc(100000) && malloc(1 << 20) && malloc(0));
	CHECK(maps = fopen("/proc/self/maps", "r"));
	while (fgets(line, sizeof(line), maps) != NULL) {
		uintptr_t start, end;
		char access[5];
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &start, &end, access) == 3 && access[1] == 'w' &&
		    start >= 6 * part && start < 7 * part)
			printf("%" PRIdPTR "\n", (intptr_t)(start - ((uintptr_t)block & ~(uintptr_t)0xffff)));
	}
	return 0;
}

static void read_run(size_t run, const char *conf)
{
	intptr_t distance;
	int ends[2], status;
	FILE *child;
	pid_t pid;

	setenv("DRYSTONE_CONF", conf, 1);
	CHECK(pipe(ends) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		dup2(ends[1], 1);
		execl("/proc/self/exe", "distance", "report", (char *)NULL);
		_exit(1);
	}
	close(ends[1]);
	CHECK(child = fdopen(ends[0], "r"));
	for (count[run] = 0; fscanf(child, "%" SCNdPTR, &distance) == 1;) {
		if (distance > NEAR || distance < -NEAR) {
			CHECK(count[run] < MOST);
			found[run][count[run]++] = distance;
		}
	}
	fclose(child);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static bool has(size_t run, intptr_t distance)
{
	for (size_t i = 0; i < count[run]; i++)
		if (found[run][i] == distance)
			return true;
	return false;
}

int main(int argc, char **argv)
{
	static const char *const profiles[] = { "", "check:1", "guard:1", "secure:1", "debug:FZPU" };
	size_t constant = 0;

	(void)argv;
	if (argc > 1)
		return report();
	for (size_t p = 0; p < sizeof(profiles) / sizeof(profiles[0]); p++) {
		for (size_t run = 0; run < RUNS; run++)
			read_run(run, profiles[p]);
		CHECK(count[0] >= 2);
		for (size_t i = 0; i < count[0]; i++) {
			bool same = true;
			for (size_t run = 1; run < RUNS; run++)
				same = same && has(run, found[0][i]);
			if (same)
				printf("%s: %" PRIdPTR " in each run\n", profiles[p], found[0][i]);
			constant += same;
		}
	}
	fflush(stdout);
	CHECK_EQ(constant, 0);
	return 0;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Threads are moved from CPU to CPU all the time, by themselves and by others. */
#include <sched.h>
#include <sys/syscall.h>
#include <dirent.h>
#include <stdlib.h>

#include "../support/mix.h"

static cpu_set_t allowed;
static int cpus[CPU_SETSIZE], cpu_count;

/* Every thread of the process goes to a CPU of its own luck. */
static void move_all(struct rng *rng)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;

	CHECK(tasks);
	while ((task = readdir(tasks))) {
		int tid = atoi(task->d_name);
		cpu_set_t one;

		if (tid <= 0 || tid == getpid())
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpus[rng_below(rng, (size_t)cpu_count)], &one);
		if (rng_below(rng, 4) == 0)
			one = allowed;
		if (sched_setaffinity(tid, sizeof(one), &one))
			CHECK_EQ(errno, ESRCH); /* it ended meanwhile */
	}
	closedir(tasks);
}

int main(int argc, char **argv)
{
	static struct mix mix;
	uint64_t seed = test_seed(argc, argv);
	struct rng rng = { seed };

	CHECK(!sched_getaffinity(0, sizeof(allowed), &allowed));
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			cpus[cpu_count++] = cpu;
	if (cpu_count == 1)
		printf("one CPU only: threads are interrupted, but not moved\n");
	for (unsigned threads = 2; threads <= 8; threads += 3) {
		struct dry_heap_attr attr = { .name = "migration", .nodes = threads / 2 };
		size_t moves = test_scaled(1500);

		mix_start(&mix, &attr, threads, seed + threads);
		for (size_t i = 0; mix_goes_on(&mix, i, moves); i++) {
			move_all(&rng);
			usleep(100);
		}
		mix_finish(&mix);
	}
	return 0;
}

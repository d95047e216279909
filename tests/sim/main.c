/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sim [--steps N] [--seed S] [...]: runs episode after episode, each of another seed, until N steps
 * are done. A failure prints its seed, then a shortened trace.
 *
 * The episodes run in a child process, because what fails may have damaged anything.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "world.h"

struct shared {
	uint64_t seed, steps, big_steps, episodes;
	char text[512];
};
static struct shared *shared;

struct options {
	uint64_t seed, steps;
	unsigned progress, shrink;
	bool one, trace;
	struct world_wish wish;
};

static void failed(const char *text)
{
	snprintf(shared->text, sizeof(shared->text), "%s", text);
	fflush(stdout);
	_exit(1);
}

static void say_progress(void)
{
	printf("simulation: %llu steps, %llu of them with 64 CPUs and 4 nodes or more; %llu episodes, seed %llu\n",
	       (unsigned long long)shared->steps, (unsigned long long)shared->big_steps,
	       (unsigned long long)shared->episodes, (unsigned long long)shared->seed);
	fflush(stdout);
}

static void run_episodes(const struct options *options)
{
	static struct episode episode;
	time_t last = time(NULL);

	for (uint64_t seed = options->seed; shared->steps < options->steps; seed++) {
		uint64_t steps;

		shared->seed = seed;
		episode = (struct episode){
			.seed = seed, .wish = options->wish, .trace = options->trace, .failed = failed
		};
		steps = episode_run(&episode);
		shared->steps += steps;
		shared->episodes++;
		if (world.plan.setup.cpus >= 64 && world.plan.setup.nodes >= 4)
			shared->big_steps += steps;
		if (options->one)
			return;
		if (options->progress != 0 && time(NULL) - last >= (time_t)options->progress) {
			last = time(NULL);
			say_progress();
		}
	}
}

static void usage(void)
{
	puts("sim [OPTION...]: simulated machines under load, until something does not hold\n"
	     "  --steps=N     until N steps are done (1000000)\n"
	     "  --seed=S      the first seed (1); each episode has the next one\n"
	     "  --replay=S    this one seed, once\n"
	     "  --trace       print every step\n"
	     "  --plant       with a bug in the tasks, to see it found\n"
	     "  --shrink=T    seconds to spend on making a failure short (60); 0: do not\n"
	     "  --progress=T  a line each T seconds\n"
	     "  --cpus=N --nodes=N --tasks=N --episode=STEPS   instead of what the seed has");
}

static bool number(const char *arg, const char *name, uint64_t *value)
{
	size_t length = strlen(name);

	if (strncmp(arg, name, length) != 0 || arg[length] != '=')
		return false;
	*value = strtoull(arg + length + 1, NULL, 0);
	return true;
}

static bool parse(struct options *options, const char *arg)
{
	uint64_t value;

	if (number(arg, "--steps", &options->steps) || number(arg, "--seed", &options->seed) ||
	    number(arg, "--episode", &options->wish.steps))
		return true;
	if (strcmp(arg, "--trace") == 0)
		options->trace = true;
	else if (strcmp(arg, "--plant") == 0)
		options->wish.plant = true;
	else if (number(arg, "--replay", &options->seed))
		options->one = true;
	else if (number(arg, "--shrink", &value))
		options->shrink = (unsigned)value;
	else if (number(arg, "--progress", &value))
		options->progress = (unsigned)value;
	else if (number(arg, "--cpus", &value) && value >= 1 && value <= DRY_SIM_CPUS)
		options->wish.cpus = (unsigned)value;
	else if (number(arg, "--nodes", &value) && value >= 1 && value <= DRY_MAX_NODES)
		options->wish.nodes = (unsigned)value;
	else if (number(arg, "--tasks", &value) && value >= 1 && value <= DRY_SIM_TASKS)
		options->wish.tasks = (unsigned)value;
	else
		return false;
	return true;
}

static int report(const struct options *options, int status)
{
	struct world_plan plan;
	char text[256];

	if (shared->text[0] == '\0')
		snprintf(shared->text, sizeof(shared->text), "signal %d", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	world_plan(&plan, shared->seed, &options->wish);
	world_plan_print(&plan, text, sizeof(text));
	say_progress();
	printf("simulation: FAILED: %s\nsimulation: seed %llu: %s; to repeat: --replay=%llu\n", shared->text,
	       (unsigned long long)shared->seed, text, (unsigned long long)shared->seed);
	fflush(stdout);
	if (options->shrink != 0)
		shrink_and_print(shared->seed, &options->wish, options->shrink);
	return 1;
}

int main(int argc, char **argv)
{
	struct options options = { .seed = 1, .steps = 1000000, .shrink = 60 };
	int status = 0;
	pid_t child;

	for (int i = 1; i < argc; i++) {
		if (parse(&options, argv[i]))
			continue;
		usage();
		return strcmp(argv[i], "--help") == 0 ? 0 : 2;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 2;
	fflush(stdout);
	child = fork();
	if (child == 0) {
		run_episodes(&options);
		fflush(stdout);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return 2;
	if (status != 0)
		return report(&options, status);
	say_progress();
	return 0;
}

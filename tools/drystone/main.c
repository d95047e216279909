/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "cli.h"

#include <drystone/drystone.h>

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)
#define VERSION    TEXT(DRY_VERSION_MAJOR) "." TEXT(DRY_VERSION_MINOR) "." TEXT(DRY_VERSION_PATCH)

static const struct cli_command *const commands[] = { &cli_run, &cli_info, &cli_top, &cli_profile, &cli_map, &cli_diff, &cli_doctor,
							 &cli_symbolize, &cli_experiment };
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

void cli_error(const char *format, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("drystone: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
}

bool cli_output_is_whole(void)
{
	static bool said;

	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return true;
	if (!said)
		cli_error("standard output: %s", errno != 0 ? strerror(errno) : "not all of it could be written");
	said = true;
	return false;
}

/* Who has shut the pipe wants no more, and no message. */
static bool nobody_reads(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO };

	return poll(&out, 1, 0) == 1 && (out.revents & (POLLERR | POLLHUP)) != 0;
}

static int lost_status = CLI_FAILED;

/* However the command ends: output that is lost is no success. */
static void check_output(void)
{
	if (!nobody_reads() && !cli_output_is_whole())
		_exit(lost_status);
}

void *cli_realloc(void *memory, size_t count, size_t size)
{
	void *result = reallocarray(memory, count, size);

	if (result == NULL) {
		cli_error("out of memory");
		exit(CLI_FAILED);
	}
	return result;
}

double cli_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

void cli_wait(double seconds, const volatile sig_atomic_t *enough)
{
	struct timespec time = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };

	while ((enough == NULL || !*enough) && nanosleep(&time, &time) != 0 && errno == EINTR)
		;
}

bool cli_own_folder(char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 1);
	char *slash;

	if (n <= 0)
		return false;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (slash == NULL)
		return false;
	*slash = '\0';
	return true;
}

static void print_usage(FILE *out)
{
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(out, "%s drystone %s %.*s\n", i == 0 ? "Usage:" : "      ", commands[i]->name,
			(int)strcspn(commands[i]->synopsis, "\n"), commands[i]->synopsis);
	fputs("       drystone help [COMMAND] | --help | --version\n\n", out);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-12s%s\n", commands[i]->name, commands[i]->summary);
	fputs("  help        what a command does, and its options\n\n"
	      "`drystone help COMMAND` or `man drystone-COMMAND` says more.\n", out);
}

static const struct cli_command *find(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(name, commands[i]->name) == 0)
			return commands[i];
	cli_error("no command \"%s\"; try `drystone --help`", name);
	return NULL;
}

/* As `drystone NAME --help`. */
static int help(char *name)
{
	static char option[] = "--help";
	char *argv[] = { name, option, NULL };
	const struct cli_command *command;

	if (name == NULL || strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
		print_usage(stdout);
		return 0;
	}
	command = find(name);
	return command != NULL ? command->main(2, argv) : CLI_USAGE;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	const struct cli_command *command;

	atexit(check_output);
	if (name == NULL) {
		print_usage(stderr);
		return CLI_USAGE;
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)
		return help(argc > 2 ? argv[2] : NULL);
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
		puts("drystone " VERSION);
		return 0;
	}
	command = find(name);
	if (command == &cli_run)
		lost_status = CLI_RUN_FAILED;
	return command != NULL ? command->main(argc - 1, argv + 1) : CLI_USAGE;
}

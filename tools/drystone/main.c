/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "cli.h"

#include <drystone/drystone.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)
#define VERSION    TEXT(DRY_VERSION_MAJOR) "." TEXT(DRY_VERSION_MINOR) "." TEXT(DRY_VERSION_PATCH)

static const char help[] =
	"Usage: drystone run [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
	"       drystone info [OPTION]... PID\n"
	"       drystone experiment NAME... [OPTION]...\n"
	"       drystone --help | --version\n"
	"\n"
	"  run         run a program with drystone as its malloc\n"
	"  info        print the slab listing of a running process\n"
	"  experiment  measure again what the documents behind drystone measured\n"
	"\n"
	"`drystone COMMAND --help` lists the options of a command.\n";

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

void *cli_realloc(void *memory, size_t count, size_t size)
{
	void *result = reallocarray(memory, count, size);

	if (result == NULL) {
		cli_error("out of memory");
		exit(CLI_FAILED);
	}
	return result;
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : NULL;

	if (command == NULL) {
		fputs(help, stderr);
		return CLI_USAGE;
	}
	if (strcmp(command, "run") == 0)
		return cli_run(argc - 1, argv + 1);
	if (strcmp(command, "info") == 0)
		return cli_info(argc - 1, argv + 1);
	if (strcmp(command, "experiment") == 0)
		return cli_experiment(argc - 1, argv + 1);
	if (strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0 || strcmp(command, "help") == 0) {
		fputs(help, stdout);
		return 0;
	}
	if (strcmp(command, "--version") == 0 || strcmp(command, "-V") == 0) {
		puts("drystone " VERSION);
		return 0;
	}
	cli_error("no command \"%s\"; try `drystone --help`", command);
	return CLI_USAGE;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The parts of the `drystone` command. Each command gets its own argv; the result is the exit status. */
#ifndef DRYSTONE_CLI_H
#define DRYSTONE_CLI_H

#include <stdbool.h>
#include <stddef.h>

/* Exit status of `run` when it fails itself; 126 and 127 are about PROG, as in env(1). */
enum { CLI_RUN_FAILED = 125, CLI_NOT_EXECUTABLE = 126, CLI_NOT_FOUND = 127 };
/* Of all other commands. */
enum { CLI_FAILED = 1, CLI_USAGE = 2 };

int cli_run(int argc, char **argv);
int cli_info(int argc, char **argv);
int cli_experiment(int argc, char **argv);

/* One line "drystone: ..." on standard error. */
void cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A line if the dynamic linker will not load a library into the program: linked statically, setuid. */
void cli_warn_if_not_loaded(const char *program);

/* Folder of this executable, without a final slash. */
bool cli_own_folder(char *path, size_t size);

/* Allocation that ends the command with a message when there is no memory. */
void *cli_realloc(void *memory, size_t count, size_t size);

#endif

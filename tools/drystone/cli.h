/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The parts of the `drystone` command. Each command is described by one struct cli_command, from which its options are parsed and
 * its help is printed; the shells' completions read that help. A command gets its own argv; its result is the exit status.
 */
#ifndef DRYSTONE_CLI_H
#define DRYSTONE_CLI_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* Exit status of `run` when it fails itself; 126 and 127 are about PROG, as in env(1). */
enum { CLI_RUN_FAILED = 125, CLI_NOT_EXECUTABLE = 126, CLI_NOT_FOUND = 127 };
/* Of all other commands. */
enum { CLI_FAILED = 1, CLI_USAGE = 2 };

struct cli_option {
	char letter; /* 0: the end of the list */
	const char *name;
	const char *argument; /* NULL: it takes none; in brackets: it may */
	const char *help;     /* lines */
};

struct cli_command {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *synopsis; /* what follows the name; lines */
	const char *summary;  /* a line */
	const char *about;    /* lines */
	const struct cli_option *options;
	const char *notes;    /* lines */
	bool program_follows; /* options end at the first word that is none */
};

extern const struct cli_command cli_run, cli_info, cli_top, cli_profile, cli_map, cli_diff, cli_doctor, cli_symbolize,
	cli_experiment;

/*
 * help.c. The next option's letter, as getopt_long(): -1: there is no more; '?': it is wrong, and a line said so.
 * Option -h need not be listed: it prints the help and ends the command.
 */
int cli_next_option(const struct cli_command *command, int argc, char **argv);

/* One line "drystone: ..." on standard error. */
void cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether all that was printed got out; if not, one line says so, the first time. */
bool cli_output_is_whole(void);

/* Seconds of a clock that never goes back. */
double cli_now(void);

/* For so many seconds, whatever signals come, unless one of them sets *enough (may be NULL). */
void cli_wait(double seconds, const volatile sig_atomic_t *enough);

/* signals.c: of these signals, up to a 0, those that have the handler `from` get `to`; what is ignored (nohup(1)) stays so. */
void cli_on_signals(const int *signals, void (*from)(int), void (*to)(int));
/* Such as would end the command do no more from now on than to set this. */
void cli_catch_signals(const int *signals);
extern volatile sig_atomic_t cli_interrupted;

/* Folder of this executable, without a final slash. */
bool cli_own_folder(char *path, size_t size);

/* Allocation that ends the command with a message when there is no memory. */
void *cli_realloc(void *memory, size_t count, size_t size);

struct cli_raised {
	const char *key; /* one word; NULL: nothing */
	const char *by;
};
/* program.c: what gives a program file more rights than who starts it has, for which the dynamic linker ignores LD_PRELOAD. */
struct cli_raised cli_raised(const char *path);
/* program.c: a line if the dynamic linker will not load a library into the program: linked statically, raised rights. */
void cli_warn_if_not_loaded(const char *program);
/* program.c: where execvp() finds it; false if nowhere. */
bool cli_find_program(const char *name, char *path, size_t size);

/* run.c: path of the library beside this command, or by `wanted` (may be NULL); false after a message. PATH_MAX bytes. */
bool cli_find_library(const char *wanted, const char *name, char *path);

#endif

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * drystone run where the program is a child: it and its children leave files in a folder of their own, which are shown when it
 * has ended.
 */
#ifndef DRYSTONE_RUN_H
#define DRYSTONE_RUN_H

#include <dirent.h>
#include <stdbool.h>
#include <sys/types.h>

#include "suppress.h"

struct run_files {
	char folder[200], conf[256];
};

/*
 * run_child.c: a folder, and options of the library: `options`, the last of them with a file there that has the number of the
 * process for a name. false after a message.
 */
bool run_files_begin(struct run_files *files, const char *options);
/* Those of the processes, by their numbers, for the caller to free; how many, or -1. */
int run_files_list(const struct run_files *files, struct dirent ***file);
void run_files_end(const struct run_files *files);
/* Run the program to its end. The exit status. */
int run_child(char **argv, pid_t *child);
/* With that status; one that could not be run has told so. */
bool run_has_begun(int status);
/*
 * Whether an option of the program's library leaves no room for a search or a profile, which the library says itself: the last of
 * its name counts.
 */
bool run_is_refused(void);

/* run_fail.c: whether the library takes such a value of option fail; false after a message. */
bool run_fail_is_good(const char *which);

struct run_profile {
	const char *output; /* NULL: no profile is wanted; with %p in it each process has one */
	struct run_files files;
};
bool run_profile_begin(struct run_profile *profile);
/* Run the program, then show its profile. The exit status. */
int run_profile_program(const struct run_profile *profile, char **argv);

struct run_leaks {
	bool wanted;
	int status; /* that says that there are some; 0: the program's */
	struct suppressions suppressions;
	struct run_files files;
};
bool run_leaks_begin(struct run_leaks *leaks);
/* Run the program, then list what it lost. The exit status. */
int run_leaks_program(const struct run_leaks *leaks, char **argv);

struct run_whole {
	pid_t reader;
	int to; /* standard error as it was */
};
/* symbolize.c: from now on what goes to standard error passes through another process, which makes reports whole. */
bool run_whole_begin(struct run_whole *whole, const char *program);
void run_whole_end(const struct run_whole *whole);

#endif

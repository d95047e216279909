/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * drystone run --profile: the program's is shown, or that of a process which it started, where it has none itself, as a script;
 * or, in a file each, those of all.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "profile.h"
#include "run.h"
#include "text.h"

#define NUMBER "%p"

bool run_profile_begin(struct run_profile *profile)
{
	return profile_can_write(profile->output) && run_files_begin(&profile->files, "profile:524288,profile_file");
}

/* One that a process left. */
struct left {
	char process[32], program[64];
	double bytes; /* that it has noted; 0: it is empty, or cannot be read */
};

static struct left read_left(const struct run_profile *profile, const char *process)
{
	struct left left = { .program = "?" };
	struct profile content = { 0 };
	char path[PATH_MAX];
	FILE *file;

	snprintf(left.process, sizeof(left.process), "%s", process);
	snprintf(path, sizeof(path), "%s/%s", profile->files.folder, process);
	file = fopen(path, "r");
	if (file != NULL && profile_read_file(&content, file) == NULL) {
		for (size_t i = 0; i < content.count; i++)
			left.bytes += content.site[i].value[ALL_BYTES];
		if (content.map_count != 0)
			snprintf(left.program, sizeof(left.program), "%s", text_base_name(content.map[0].path));
	}
	if (file != NULL)
		fclose(file);
	profile_free(&content);
	return left;
}

/* Where that of a process goes. */
static void name_output(char *to, size_t size, const char *output, const char *process)
{
	size_t n = 0;

	for (const char *at = output; *at != '\0' && n + 32 < size;) {
		bool number = strncmp(at, NUMBER, strlen(NUMBER)) == 0;
		n += (size_t)snprintf(to + n, size - n, "%.*s", number ? 32 : 1, number ? process : at);
		at += number ? strlen(NUMBER) : 1;
	}
}

/* false: it cannot be written, and stays where it is. */
static bool show(const struct run_profile *profile, const char *process)
{
	char path[PATH_MAX], output[PATH_MAX] = "";

	snprintf(path, sizeof(path), "%s/%s", profile->files.folder, process);
	name_output(output, sizeof(output), profile->output, process);
	if (profile_show_file(path, output) == 0)
		return true;
	cli_error("run: what was measured stays in %s, which `drystone profile` reads", path);
	return false;
}

/* Whether that one is rather what was asked for: the first process's, unless it is empty; else the one with most. */
static bool is_rather(const struct left *left, const struct left *than, const char *first)
{
	bool is_first = strcmp(left->process, first) == 0, was_first = strcmp(than->process, first) == 0;

	if (is_first || was_first)
		return is_first ? left->bytes > 0 || than->bytes <= 0 : than->bytes <= 0 && left->bytes > 0;
	return left->bytes > than->bytes;
}

/* All that were left, the one that was asked for first. */
static size_t read_all(const struct run_profile *profile, const char *first, struct left **all)
{
	struct dirent **file = NULL;
	int count = run_files_list(&profile->files, &file);
	struct left *left = cli_realloc(NULL, count > 0 ? (size_t)count : 1, sizeof(*left)), other;

	for (int i = 0; i < count; i++) {
		left[i] = read_left(profile, file[i]->d_name);
		if (is_rather(&left[i], &left[0], first)) {
			other = left[0];
			left[0] = left[i];
			left[i] = other;
		}
		free(file[i]);
	}
	free(file);
	*all = left;
	return count > 0 ? (size_t)count : 0;
}

static bool has_left(const struct left *all, size_t count, const char *process)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(all[i].process, process) == 0)
			return true;
	return false;
}

static bool show_all(const struct run_profile *profile, const char *first, const struct left *all, size_t count)
{
	bool each = strstr(profile->output, NUMBER) != NULL, done = show(profile, all[0].process);
	size_t others = 0;

	for (size_t i = 1; i < count; i++) {
		others += all[i].bytes > 0;
		done = (!each || all[i].bytes <= 0 || show(profile, all[i].process)) && done;
	}
	if (each || (others == 0 && strcmp(all[0].process, first) == 0))
		return done;
	cli_error("run: %s is of process %s (%s)", profile->output, all[0].process, all[0].program);
	if (others != 0)
		cli_error("run: %zu more allocated much: with %s in the file's name there is one of each", others, NUMBER);
	return done;
}

int run_profile_program(const struct run_profile *profile, char **argv)
{
	struct left *all = NULL;
	char first[32];
	bool left, done = true;
	pid_t child;
	int status = run_child(argv, &child);
	size_t count;

	snprintf(first, sizeof(first), "%d", (int)child);
	count = child > 0 ? read_all(profile, first, &all) : 0;
	left = has_left(all, count, first);
	if (count != 0 && !left && all[0].bytes <= 0)
		count = 0; /* nothing to show of the others */
	if (child > 0 && !left && run_has_begun(status) && !run_is_refused() &&
	    (count == 0 || strstr(profile->output, NUMBER) == NULL))
		cli_error("run: %s left no profile: it was killed, or ended by _exit(), or has a malloc of its own", argv[0]);
	if (child > 0)
		done = count != 0 && show_all(profile, first, all, count);
	free(all);
	if (count == 0 || done)
		run_files_end(&profile->files);
	return done || status != 0 ? status : CLI_RUN_FAILED;
}

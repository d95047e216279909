/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* drystone run --leaks: each process leaves the sites of what it lost (src/stats/leaks.h), as a profile. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "profile.h"
#include "run.h"
#include "text.h"

/* What the figures of a site mean here. */
enum { LOST = LIVE_OBJECTS, LOST_BYTES = LIVE_BYTES, BEHIND = ALL_OBJECTS, BEHIND_BYTES = ALL_BYTES };

struct findings {
	struct profile profile;
	double sum[PROFILE_VALUES];
	unsigned long long alive, alive_bytes;
};

bool run_leaks_begin(struct run_leaks *leaks)
{
	return run_files_begin(&leaks->files, "leaks_file");
}

/* ---- input --------------------------------------------------------------------------------------- */

static bool is_suppressed(const struct profile *profile, const struct profile_site *site, const struct suppressions *by)
{
	for (size_t i = 0; i < site->count; i++) {
		const struct profile_address *address = profile_find(profile, site->frame[i]);
		if (address->map != SIZE_MAX && suppress_has(by, profile->map[address->map].path))
			return true;
		for (size_t k = 0; k < address->count; k++)
			if (suppress_has(by, address->function[k].name) || suppress_has(by, address->function[k].file))
				return true;
	}
	return false;
}

static int compare(const void *a, const void *b)
{
	const struct profile_site *x = a, *y = b;
	double left = x->value[LOST_BYTES] + x->value[BEHIND_BYTES], right = y->value[LOST_BYTES] + y->value[BEHIND_BYTES];

	return left != right ? (left < right ? 1 : -1) : x->frame[0] < y->frame[0] ? -1 : x->frame[0] > y->frame[0];
}

/* What is suppressed is gone, and so is what is behind it. */
static void select_sites(struct findings *findings, const struct suppressions *by)
{
	struct profile *profile = &findings->profile;
	size_t kept = 0;

	for (size_t i = 0; i < profile->count; i++) {
		if (is_suppressed(profile, &profile->site[i], by)) {
			free(profile->site[i].frame);
			continue;
		}
		profile->site[kept++] = profile->site[i];
		for (int v = 0; v < PROFILE_VALUES; v++)
			findings->sum[v] += profile->site[i].value[v];
	}
	profile->count = kept;
	qsort(profile->site, kept, sizeof(profile->site[0]), compare);
}

static void read_alive(struct findings *findings, FILE *file)
{
	char *line = NULL;
	size_t room = 0;

	rewind(file);
	while (getline(&line, &room, file) > 0)
		if (sscanf(line, "# alive %llu %llu", &findings->alive, &findings->alive_bytes) == 2)
			break;
	free(line);
}

/* What is in the file; false after a message. */
static bool read_findings(struct findings *findings, const char *path, const struct suppressions *by)
{
	FILE *file = fopen(path, "r");
	const char *wrong = file != NULL ? profile_read_file(&findings->profile, file) : strerror(errno);

	if (file != NULL) {
		read_alive(findings, file);
		fclose(file);
	}
	if (wrong != NULL) {
		cli_error("run: %s: %s", path, wrong);
	} else if (findings->profile.count != 0) {
		profile_symbolise(&findings->profile);
		select_sites(findings, by);
	}
	return wrong == NULL;
}

/* ---- output -------------------------------------------------------------------------------------- */

static void print_count(double bytes, double blocks)
{
	fprintf(stderr, "%.0f bytes in %.0f block%s", bytes, blocks, blocks == 1 ? "" : "s");
}

static void print_frame(const struct profile *profile, uint64_t frame)
{
	const struct profile_address *address = profile_find(profile, frame);

	for (size_t k = 0; k < address->count; k++) {
		const struct profile_function *function = &address->function[k];
		fprintf(stderr, "    %s", function->name);
		if (function->file != NULL && function->line > 0)
			fprintf(stderr, " %s:%d", function->file, function->line);
		else if (address->map != SIZE_MAX && strchr(function->name, '+') == NULL)
			fprintf(stderr, " (%s)", text_base_name(profile->map[address->map].path));
		fputc('\n', stderr);
	}
}

static void print_findings(const struct findings *findings, const char *process)
{
	const struct profile *profile = &findings->profile;

	fputs("drystone: leaks: ", stderr);
	print_count(findings->sum[LOST_BYTES], findings->sum[LOST]);
	fprintf(stderr, " lost by process %s (%s)", process, profile->map_count != 0 ? text_base_name(profile->map[0].path) : "?");
	if (findings->sum[BEHIND] > 0) {
		fputs(", and ", stderr);
		print_count(findings->sum[BEHIND_BYTES], findings->sum[BEHIND]);
		fputs(" behind them", stderr);
	}
	fputs("; ", stderr);
	print_count((double)findings->alive_bytes, (double)findings->alive);
	fputs(" can be reached\n", stderr);
	for (size_t i = 0; i < profile->count; i++) {
		const struct profile_site *site = &profile->site[i];
		print_count(site->value[LOST_BYTES], site->value[LOST]);
		if (site->name[0] != '\0')
			fprintf(stderr, " of cache %s", site->name);
		if (site->value[BEHIND] > 0) {
			fputs(", and behind them ", stderr);
			print_count(site->value[BEHIND_BYTES], site->value[BEHIND]);
		}
		fputs(", allocated by\n", stderr);
		for (size_t f = 0; f < site->count; f++)
			print_frame(profile, site->frame[f]);
	}
}

/* Of one process. Whether something was lost. */
static bool show(const struct run_leaks *leaks, const char *process)
{
	struct findings findings = { .alive = 0 };
	char path[PATH_MAX];
	bool lost = false;

	snprintf(path, sizeof(path), "%s/%s", leaks->files.folder, process);
	if (read_findings(&findings, path, &leaks->suppressions)) {
		lost = findings.profile.count != 0;
		if (lost)
			print_findings(&findings, process);
	}
	profile_free(&findings.profile);
	return lost;
}

int run_leaks_program(const struct run_leaks *leaks, char **argv)
{
	struct dirent **file = NULL;
	char name[32];
	pid_t child;
	int status = run_child(argv, &child), count = run_files_list(&leaks->files, &file);
	bool searched = false, lost = false;

	snprintf(name, sizeof(name), "%d", (int)child);
	for (int i = 0; i < count; i++) {
		searched |= strcmp(file[i]->d_name, name) == 0;
		lost |= show(leaks, file[i]->d_name);
		free(file[i]);
	}
	free(file);
	run_files_end(&leaks->files);
	if (lost && leaks->status != 0)
		return leaks->status;
	if (child > 0 && !searched) {
		if (run_has_begun(status) && !run_is_refused())
			cli_error("run: %s was not searched for leaks: it did not end by exit(), or has a malloc of its own",
				  argv[0]);
		return status != 0 ? status : CLI_RUN_FAILED;
	}
	return status;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* drystone diff: what grew between two snapshots of `drystone info --json`, or two heap profiles. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "diff.h"
#include "input.h"
#include "profile.h"

void diff_add(struct diff *diff, int side, char *what, double bytes, double objects)
{
	if ((diff->count & (diff->count - 1)) == 0)
		diff->item = cli_realloc(diff->item, diff->count == 0 ? 1 : 2 * diff->count, sizeof(diff->item[0]));
	struct diff_item *item = &diff->item[diff->count++];
	*item = (struct diff_item){ .what = what };
	item->bytes[side] = bytes;
	item->objects[side] = objects;
}

/* ---- input --------------------------------------------------------------------------------------- */

/* "page < work < main [kmalloc-4096]" */
static char *site_name(const struct profile *profile, const struct profile_site *site)
{
	char *text = NULL, cache[64];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (out == NULL)
		return NULL;
	for (size_t i = 0; i < site->count; i++) {
		const struct profile_address *address = profile_find(profile, site->frame[i]);
		for (size_t k = 0; address != NULL && k < address->count; k++)
			fprintf(out, "%s%s", i + k == 0 ? "" : " < ", address->function[k].name);
	}
	if (site->class_size != 0)
		fprintf(out, " [%s]", profile_cache(site, cache, sizeof(cache)));
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

static const char *add_profile(struct diff *diff, int side, const struct profile *profile, bool all)
{
	enum profile_value value = all ? ALL_BYTES : LIVE_BYTES;

	for (size_t i = 0; i < profile->count; i++) {
		char *name = site_name(profile, &profile->site[i]);
		if (name == NULL)
			return strerror(errno);
		diff_add(diff, side, name, profile->site[i].value[value], profile->site[i].value[value - 1]);
	}
	return NULL;
}

static const char *read_json(struct diff *diff, int side, FILE *file, bool all)
{
	char *text = NULL;
	size_t room = 0;
	const char *wrong = "it is empty";

	if (getdelim(&text, &room, '\0', file) > 0)
		wrong = diff_read_json(diff, side, text, all);
	free(text);
	return wrong;
}

/* is_snapshot: what both have to be; the first one says. */
static const char *read_file(struct diff *diff, int side, const char *path, bool all, bool *is_snapshot)
{
	struct profile profile = { 0 };
	FILE *file = input_open(path);
	int first = file != NULL ? getc(file) : EOF;
	const char *wrong;

	if (file == NULL)
		return strerror(errno);
	rewind(file);
	if (side == 0)
		*is_snapshot = first == '{';
	else if (*is_snapshot != (first == '{') && first != EOF) {
		fclose(file);
		return *is_snapshot ? "it is no snapshot, as the other is" : "it is a snapshot, and the other a heap profile";
	}
	wrong = first == '{' ? read_json(diff, side, file, all) : profile_load(&profile, file);
	fclose(file);
	if (wrong == NULL && first != '{')
		wrong = add_profile(diff, side, &profile, all);
	profile_free(&profile);
	return wrong;
}

/* ---- output --------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct diff_item *)a)->what, ((const struct diff_item *)b)->what);
}

static double growth(const struct diff_item *item)
{
	return item->bytes[1] - item->bytes[0];
}

static int by_growth(const void *a, const void *b)
{
	double x = growth(a), y = growth(b);

	return x != y ? (x < y ? 1 : -1) : by_name(a, b);
}

/* Those of one name become one. */
static void join(struct diff *diff)
{
	size_t kept = 0;

	qsort(diff->item, diff->count, sizeof(diff->item[0]), by_name);
	for (size_t i = 0; i < diff->count; i++) {
		struct diff_item *item = &diff->item[i];
		if (kept == 0 || strcmp(diff->item[kept - 1].what, item->what) != 0) {
			diff->item[kept++] = *item;
			continue;
		}
		for (int side = 0; side < 2; side++) {
			diff->item[kept - 1].bytes[side] += item->bytes[side];
			diff->item[kept - 1].objects[side] += item->objects[side];
		}
		free(item->what);
	}
	diff->count = kept;
}

static void print_item(const struct diff_item *item)
{
	printf("%+14.0f %14.0f %14.0f %+10.0f  %s\n", growth(item), item->bytes[0], item->bytes[1],
	       item->objects[1] - item->objects[0], item->what);
}

static void print(const struct diff *diff)
{
	static char all[] = "all";
	struct diff_item sum = { .what = all };

	printf("%14s %14s %14s %10s  %s\n", "growth", "before", "after", "objects", "of");
	for (size_t i = 0; i < diff->count; i++)
		for (int side = 0; side < 2; side++) {
			sum.bytes[side] += diff->item[i].bytes[side];
			sum.objects[side] += diff->item[i].objects[side];
		}
	print_item(&sum);
	for (size_t i = 0; i < diff->count; i++)
		if (fabs(growth(&diff->item[i])) >= 0.5)
			print_item(&diff->item[i]);
}

static int main_diff(int argc, char **argv)
{
	struct diff diff = { 0 };
	const char *wrong = NULL;
	bool all = false, is_snapshot = false;
	int c;

	while ((c = cli_next_option(&cli_diff, argc, argv)) != -1) {
		if (c != 'a')
			return CLI_USAGE;
		all = true;
	}
	if (argc - optind != 2) {
		cli_error("diff: which two files? Try `drystone diff --help`");
		return CLI_USAGE;
	}
	for (int side = 0; side < 2 && wrong == NULL; side++) {
		wrong = read_file(&diff, side, argv[optind + side], all, &is_snapshot);
		if (wrong != NULL)
			cli_error("diff: %s: %s", argv[optind + side], wrong);
	}
	if (wrong == NULL && diff.count != 0) {
		join(&diff);
		qsort(diff.item, diff.count, sizeof(diff.item[0]), by_growth);
	}
	if (wrong == NULL)
		print(&diff);
	for (size_t i = 0; i < diff.count; i++)
		free(diff.item[i].what);
	free(diff.item);
	return wrong == NULL ? 0 : CLI_FAILED;
}

static const struct cli_option options[] = {
	{ 'a', "all", NULL, "of profiles what was allocated in all, of snapshots the memory of\n"
			    "caches with what is free in it; else what is in use" },
	{ 0, NULL, NULL, NULL },
};

const struct cli_command cli_diff = {
	.name = "diff",
	.main = main_diff,
	.synopsis = "[OPTION]... BEFORE AFTER",
	.summary = "what grew between two snapshots or profiles",
	.about = "Compare two files that `drystone info --json` wrote, by cache; or two heap profiles\n"
		 "(.pb.gz of `drystone profile`, or of DRYSTONE_CONF=profile_file:FILE), by call site.\n",
	.options = options,
	.notes = "What grew most comes first, what shrank most last; what stays as it is, is left out.\n",
};

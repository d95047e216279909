/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A heap profile as a table of functions, as folded stacks, and as a page with a flame graph. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "page.h"
#include "profile.h"
#include "text.h"

#define TOP 30

/* ---- stacks ------------------------------------------------------------------------------------- */

/* Visit the functions of a site, innermost first; outermost first with `down`. */
static void each_function(const struct profile *profile, const struct profile_site *site, bool down,
			  void (*visit)(void *arg, const struct profile_function *function), void *arg)
{
	for (size_t i = 0; i < site->count; i++) {
		const struct profile_address *address = profile_find(profile, site->frame[down ? site->count - 1 - i : i]);
		for (size_t k = 0; address != NULL && k < address->count; k++)
			visit(arg, &address->function[down ? address->count - 1 - k : k]);
	}
}

/* What separates frames, or would end a line, cannot be in a name. */
static void put_name(FILE *out, const char *name)
{
	for (; *name != '\0'; name++)
		putc(*name == ';' ? ':' : (unsigned char)*name < ' ' ? '?' : *name, out);
}

static void put_frame(void *out, const struct profile_function *function)
{
	put_name(out, function->name);
	putc(';', out);
}

void profile_print_folded(const struct profile *profile, enum profile_value value, FILE *out)
{
	char name[64];

	for (size_t i = 0; i < profile->count; i++) {
		const struct profile_site *site = &profile->site[i];
		if (llround(site->value[value]) == 0)
			continue;
		each_function(profile, site, true, put_frame, out);
		fprintf(out, "[%s] %lld\n", profile_cache(site, name, sizeof(name)), llround(site->value[value]));
	}
}

/* ---- the table ------------------------------------------------------------------------------------ */

struct row {
	const char *name;
	double own, all; /* bytes allocated by the function itself; by what it called, too */
	size_t site;     /* the last one that counted in `all`, + 1: recursion counts once */
};

struct rows {
	struct row *row;
	size_t count;
	size_t site;
	double bytes;
	bool innermost;
};

static void count_function(void *arg, const struct profile_function *function)
{
	struct rows *rows = arg;
	size_t i = 0;

	while (i < rows->count && strcmp(rows->row[i].name, function->name) != 0)
		i++;
	if (i == rows->count) {
		if ((i & (i - 1)) == 0)
			rows->row = cli_realloc(rows->row, i == 0 ? 1 : 2 * i, sizeof(rows->row[0]));
		rows->row[rows->count++] = (struct row){ .name = function->name };
	}
	if (rows->innermost)
		rows->row[i].own += rows->bytes;
	if (rows->row[i].site != rows->site)
		rows->row[i].all += rows->bytes;
	rows->row[i].site = rows->site;
	rows->innermost = false;
}

static int more_bytes(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->own != y->own)
		return x->own < y->own ? 1 : -1;
	return x->all < y->all ? 1 : x->all > y->all ? -1 : 0;
}

void profile_print(const struct profile *profile, enum profile_value value, FILE *out)
{
	struct rows rows = { 0 };
	double total = 0, objects = 0;

	for (size_t i = 0; i < profile->count; i++) {
		rows.bytes = profile->site[i].value[value];
		total += rows.bytes;
		objects += profile->site[i].value[value - 1];
		rows.site = i + 1;
		rows.innermost = true;
		if (rows.bytes > 0)
			each_function(profile, &profile->site[i], false, count_function, &rows);
	}
	fprintf(out, "%.0f bytes in %.0f objects %s", total, objects, value == LIVE_BYTES ? "in use" : "allocated in all");
	if (profile->mean > 0)
		fprintf(out, ", by a sample every %.0f bytes", profile->mean);
	putc('\n', out);
	if (rows.count == 0)
		return;
	qsort(rows.row, rows.count, sizeof(rows.row[0]), more_bytes);
	fprintf(out, "%14s %6s %14s %6s  %s\n", "own", "%", "with callees", "%", "function");
	for (size_t i = 0; i < rows.count && i < TOP; i++)
		fprintf(out, "%14.0f %6.2f %14.0f %6.2f  %s\n", rows.row[i].own, rows.row[i].own / total * 100, rows.row[i].all,
			rows.row[i].all / total * 100, rows.row[i].name);
	free(rows.row);
}

/* ---- the page --------------------------------------------------------------------------------------- */

static void put_json_frame(void *out, const struct profile_function *function)
{
	char place[256] = "";

	if (function->file != NULL)
		snprintf(place, sizeof(place), "%.200s:%d", text_base_name(function->file), function->line);
	page_text(out, function->name);
	putc(',', out);
	page_text(out, place);
	putc(',', out);
}

void profile_print_page(const struct profile *profile, enum profile_value value, const char *title, FILE *out)
{
	const char *rest = page_begin(page_flame, out);
	char name[64];

	fputs("const title = ", out);
	page_text(out, title);
	fprintf(out, ";\nconst what = \"%s\";\nconst stacks = [\n", value == LIVE_BYTES ? "in use" : "allocated in all");
	for (size_t i = 0; i < profile->count; i++) {
		const struct profile_site *site = &profile->site[i];
		if (llround(site->value[value]) == 0)
			continue;
		fprintf(out, "[%lld,%lld,", llround(site->value[value]), llround(site->value[value - 1]));
		each_function(profile, site, true, put_json_frame, out);
		page_text(out, profile_cache(site, name, sizeof(name)));
		fputs(",\"\"],\n", out);
	}
	fputs("];\n", out);
	fputs(rest, out);
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A snapshot in the OpenMetrics 1.0 text format: families with TYPE, UNIT and HELP, the samples of a family together, units in
 * the names, counters with _total, and an end. The number of samples is bounded: what is beyond the bound is one sample.
 *
 * In Prometheus' older format a family of counters has _total in its name, too, and there are neither UNIT nor end.
 */
#include "show.h"
#include "cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OTHERS "(others)"

static bool grows(enum unit unit)
{
	return unit == UNIT_COUNTER || unit == UNIT_BYTES_COUNTER;
}

static bool older_format;

static void print_family(const char *prefix, const char *key, enum unit unit, const char *help)
{
	const char *end = older_format && grows(unit) ? "_total" : "";

	printf("# TYPE drystone_%s%s%s %s\n", prefix, key, end, grows(unit) ? "counter" : "gauge");
	if ((unit == UNIT_BYTES || unit == UNIT_BYTES_COUNTER) && !older_format)
		printf("# UNIT drystone_%s%s bytes\n", prefix, key);
	else if (unit == UNIT_SHARE && !older_format)
		printf("# UNIT drystone_%s%s ratio\n", prefix, key);
	printf("# HELP drystone_%s%s%s %c%s.\n", prefix, key, end, help[0] >= 'a' && help[0] <= 'z' ? help[0] - 32 : help[0],
	       help + 1);
}

static void print_label(const char *text)
{
	for (; *text != '\0'; text++)
		printf(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
}

static void print_value(enum unit unit, uint64_t value)
{
	if (unit == UNIT_SHARE)
		printf(" %" PRIu64 ".%03" PRIu64 "\n", value / 1000, value % 1000);
	else
		printf(" %" PRIu64 "\n", value);
}

/* Rows of these kinds, one for each pair of heap and name; those beyond `most` summed up in the last. Returns how many. */
static size_t merge(const struct snapshot *s, unsigned kinds, size_t most, struct row *merged)
{
	size_t count = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct row *row = &s->rows[i];
		size_t at = 0;

		if (!(ON(row->kind) & kinds) || row->alias_of[0] != '\0')
			continue;
		while (at < count && (strcmp(merged[at].name, row->name) != 0 || strcmp(merged[at].heap, row->heap) != 0))
			at++;
		if (at > most)
			at = most;
		if (at == count) {
			merged[count] = (struct row){ 0 };
			strcpy(merged[count].heap, at < most ? row->heap : OTHERS);
			strcpy(merged[count++].name, at < most ? row->name : OTHERS);
		}
		for (int f = 0; f < FIGURE_COUNT; f++)
			merged[at].v[f] += row->v[f];
	}
	return count;
}

static void print_rows(const struct snapshot *s, const char *prefix, const char *label, unsigned kinds, size_t most)
{
	struct row *rows = cli_realloc(NULL, most + 1, sizeof(*rows));
	size_t count = merge(s, kinds, most, rows);

	for (int f = 0; f < FIGURE_COUNT && count != 0; f++) {
		const struct figure_info *info = &figure_info[f];

		if (!info->metric || !(info->kinds & kinds) || (f == FIG_RESIDENT && !s->has_resident))
			continue;
		print_family(prefix, info->key, info->unit, info->help);
		for (size_t i = 0; i < count; i++) {
			printf("drystone_%s%s%s{heap=\"", prefix, info->key, grows(info->unit) ? "_total" : "");
			print_label(rows[i].heap);
			printf("\",%s=\"", label);
			print_label(rows[i].name);
			printf("\"}");
			print_value(info->unit, rows[i].v[f]);
		}
	}
	free(rows);
}

void show_metrics(const struct snapshot *s, size_t most, bool older)
{
	older_format = older;
	for (int i = 0; i < TOTAL_COUNT; i++) {
		const struct total_info *info = &total_info[i];

		if (!s->has[i])
			continue;
		print_family("", info->key, info->unit, info->help);
		printf("drystone_%s%s", info->key, grows(info->unit) ? "_total" : "");
		print_value(info->unit, s->sum[i]);
	}
	print_rows(s, "cache_", "cache", ON_CACHES, most);
	print_rows(s, "block_", "class", ON_BIG, most);
	if (!older)
		puts("# EOF");
}

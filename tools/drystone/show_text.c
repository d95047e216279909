/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The summary, the table of caches and big blocks, and the format of /proc/slabinfo. */
#include "show.h"
#include "cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_WIDTH 20

void columns_default(struct columns *columns, bool parts, bool compared)
{
	static const enum figure whole[] = { FIG_BYTES, FIG_SHARE, FIG_LIVE, FIG_IN_SLABS, FIG_CACHED, FIG_ACTIVE, FIG_SIZE },
				 part[] = { FIG_BYTES, FIG_CACHED, FIG_IN_SLABS, FIG_SLABS, FIG_ALLOCS },
				 moving[] = { FIG_BYTES, FIG_SHARE, FIG_LIVE, FIG_WASTE, FIG_ACTIVE, FIG_GROWTH, FIG_RATE };
	const enum figure *list = parts ? part : compared ? moving : whole;
	size_t count = parts ? sizeof(part) / sizeof(*part) : compared ? sizeof(moving) / sizeof(*moving)
								   : sizeof(whole) / sizeof(*whole);

	columns->count = count;
	memcpy(columns->figure, list, count * sizeof(*list));
}

bool columns_parse(struct columns *columns, const char *list)
{
	char key[64];
	int which;

	columns->count = 0;
	for (const char *at = list; at != NULL; at = strchr(at, ',')) {
		at += *at == ',';
		snprintf(key, sizeof(key), "%.*s", (int)strcspn(at, ","), at);
		if (!figure_by_key(key, &which)) {
			cli_error("info: no column \"%s\"; `drystone info --keys` lists them", key);
			return false;
		}
		if (columns->count == MAX_COLUMNS) {
			cli_error("info: more than %d columns", MAX_COLUMNS);
			return false;
		}
		if (which == SORT_NAME) /* is the first one in any case */
			continue;
		columns->figure[columns->count++] = (enum figure)which;
	}
	return true;
}

void format_bytes(char *text, size_t size, uint64_t bytes)
{
	static const char units[] = "KMGTPE";
	double value = (double)bytes;
	int unit = -1;

	while (value >= 1000 && (unit >= 0 || bytes >= 10000)) {
		value /= 1024;
		unit++;
	}
	if (unit < 0)
		snprintf(text, size, "%" PRIu64, bytes);
	else
		snprintf(text, size, "%.*f%c", value < 99.95 ? 1 : 0, value, units[unit]);
}

void format_figure(char *text, size_t size, enum figure figure, uint64_t value)
{
	int64_t change = (int64_t)value;

	switch (figure_info[figure].unit) {
	case UNIT_BYTES:
	case UNIT_BYTES_COUNTER:
		format_bytes(text, size, value);
		break;
	case UNIT_CHANGE:
		text[0] = change < 0 ? '-' : '+';
		format_bytes(text + 1, size - 1, change < 0 ? 0 - value : value);
		break;
	case UNIT_SHARE:
		snprintf(text, size, "%" PRIu64 ".%" PRIu64 "%%", value / 10, value % 10);
		break;
	case UNIT_COUNT:
	case UNIT_COUNTER:
	case UNIT_RATE:
		snprintf(text, size, "%" PRIu64, value);
		break;
	}
}

int figure_width(enum figure figure)
{
	static const int widths[] = { [UNIT_BYTES] = 7, [UNIT_COUNT] = 9, [UNIT_COUNTER] = 11, [UNIT_BYTES_COUNTER] = 7,
				      [UNIT_SHARE] = 6, [UNIT_CHANGE] = 8, [UNIT_RATE] = 9 };
	int title = (int)strlen(figure_info[figure].title), width = widths[figure_info[figure].unit];

	return title > width ? title : width;
}

static void show_head(const struct snapshot *s)
{
	static const enum total sizes[] = { SUM_RSS, SUM_PEAK, SUM_ANONYMOUS, SUM_SWAPPED };
	const char *before = "";
	char text[32];

	if (s->pid != 0)
		printf("%s, %s %d: ", s->program, s->of_core ? "core file of process" : "process", s->pid);
	else
		printf("%s: ", s->program);
	printf("%" PRIu64 " objects of %" PRIu64 " caches", s->sum[SUM_OBJECTS], s->sum[SUM_CACHES]);
	if (s->has[SUM_GUARDED])
		printf(", %" PRIu64 " big blocks", s->sum[SUM_BIG_BLOCKS]);
	if (s->sum[SUM_GUARDED_BLOCKS] != 0)
		printf(", %" PRIu64 " guarded blocks", s->sum[SUM_GUARDED_BLOCKS]);
	if (s->sum[SUM_HEAPS] > 1)
		printf(", in %" PRIu64 " heaps", s->sum[SUM_HEAPS]);
	putchar('\n');
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (!s->has[sizes[i]] || (sizes[i] == SUM_SWAPPED && s->sum[SUM_SWAPPED] == 0))
			continue;
		format_bytes(text, sizeof(text), s->sum[sizes[i]]);
		printf("%s%s %s", before, total_info[sizes[i]].text, text);
		before = ", ";
	}
	puts(*before != '\0' ? "\n" : "");
}

void show_summary(const struct snapshot *s)
{
	uint64_t all = s->sum[SUM_ALLOCATED] + s->sum[SUM_WASTE] + s->sum[SUM_RETAINED] + s->sum[SUM_METADATA];
	char text[32];

	show_head(s);
	if (s->note[0] != '\0')
		printf("%s\n\n", s->note);
	for (int i = 0; i < TOTAL_COUNT; i++) {
		const struct total_info *info = &total_info[i];

		if (info->depth == 0 || !s->has[i] || (info->depth > 1 && s->sum[i] == 0))
			continue;
		format_bytes(text, sizeof(text), s->sum[i]);
		printf("%*s%-*s %8s", (int)(2 * info->depth - 2), "", (int)(28 - 2 * info->depth), info->text, text);
		if (all != 0 && i < SUM_UNTOUCHED)
			printf(" %5.1f%%", (double)s->sum[i] * 100 / (double)all);
		putchar('\n');
	}
	if (s->has[SUM_TRIM]) {
		format_bytes(text, sizeof(text), s->sum[SUM_TRIM]);
		printf("\nmalloc_trim() would return at least %s\n", text);
	}
	putchar('\n');
}

void format_titles(char *text, size_t size, const char *first, const struct columns *columns)
{
	size_t n = (size_t)snprintf(text, size, "%-*s", NAME_WIDTH, first);

	for (size_t c = 0; c < columns->count && n < size; c++)
		n += (size_t)snprintf(text + n, size - n, " %*s", figure_width(columns->figure[c]),
				      figure_info[columns->figure[c]].title);
}

void format_row(char *text, size_t size, const struct row *row, const struct columns *columns)
{
	char value[64];
	int over;
	size_t n;

	row_full_name(row, text, size);
	n = strlen(text);
	if (row->alias_of[0] != '\0')
		n += (size_t)snprintf(text + n, size - n, "=%s", row->alias_of);
	over = (int)n - NAME_WIDTH; /* a long name takes from the columns beside it */
	if (over < 0)
		n += (size_t)snprintf(text + n, size - n, "%*s", -over, "");
	for (size_t c = 0; c < columns->count && n < size; c++) {
		enum figure figure = columns->figure[c];
		int width = figure_width(figure), room;

		if (figure_info[figure].kinds & ON(row->kind))
			format_figure(value, sizeof(value), figure, row->v[figure]);
		else
			strcpy(value, "-");
		room = over < width - (int)strlen(value) ? over : width - (int)strlen(value);
		room = room > 0 ? room : 0;
		over -= room;
		n += (size_t)snprintf(text + n, size - n, " %*s", width - room, value);
	}
}

void show_table(const struct snapshot *s, const struct columns *columns)
{
	char line[MAX_LINE];

	format_titles(line, sizeof(line), "CACHE", columns);
	puts(line);
	for (size_t i = 0; i < s->count; i++) {
		format_row(line, sizeof(line), &s->rows[i], columns);
		puts(line);
	}
	if (s->left_out != 0)
		printf("\n%zu without memory are left out (--all)\n", s->left_out);
}

void show_slabinfo(const struct snapshot *s)
{
	char name[2 * ROW_NAME + 32];

	puts("slabinfo - version: 2.1");
	puts("# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab>"
	     " : tunables <limit> <batchcount> <sharedfactor>"
	     " : slabdata <active_slabs> <num_slabs> <sharedavail>");
	for (size_t i = 0; i < s->count; i++) {
		const struct row *row = &s->rows[i];
		const uint64_t *v = row->v;

		if (row->kind != ROW_CACHE)
			continue;
		row_full_name(row, name, sizeof(name));
		printf("%-17s %6" PRIu64 " %6" PRIu64 " %6" PRIu64 " %4" PRIu64 " %4" PRIu64 " : tunables %4" PRIu64
		       " %4" PRIu64 " %4" PRIu64 " : slabdata %6" PRIu64 " %6" PRIu64 " %6" PRIu64 "\n",
		       name, v[FIG_ACTIVE], v[FIG_TOTAL], v[FIG_SIZE], v[FIG_PER_SLAB], v[FIG_PAGES], v[FIG_LIMIT],
		       v[FIG_BATCH], v[FIG_FACTOR], v[FIG_ACTIVE_SLABS], v[FIG_SLABS], v[FIG_SHARED]);
	}
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The lines of drystone top; at most 80 columns, where names are not long. */
#include "top.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *const top_keys[] = {
	"Keys of drystone top",
	"",
	"  q            quit",
	"  h, ?         this text",
	"  Space        look now",
	"  d, s         seconds between two looks",
	"",
	"  b  l  w      sort by bytes, live bytes, waste",
	"  g  a  n      sort by growth, allocations a second, name",
	"  <  >         sort by the column to the left or right",
	"  R            the other way round",
	"  o, /         show only what has such a name (* ? []); = all",
	"",
	"  Up, Down     choose a line",
	"  PgUp, PgDn   a screen up or down; Home: the first line",
	"  Enter        the caches of the chosen process",
	"  Esc, Left    back to the processes",
	"",
	"Press any key.",
	NULL,
};

void top_columns(const struct top *top, struct columns *columns)
{
	static const struct columns of_processes = {
		{ FIG_RESIDENT, FIG_BYTES, FIG_LIVE, FIG_WASTE, FIG_GROWTH, FIG_RATE }, 6
	};
	static const struct columns of_caches = { { FIG_BYTES, FIG_SHARE, FIG_LIVE, FIG_WASTE, FIG_ACTIVE, FIG_GROWTH, FIG_RATE },
						  7 };

	*columns = top->source.pid == 0 ? of_processes : of_caches;
}

static void add_sums(char *text, size_t size, const struct snapshot *s, const enum total *totals)
{
	char value[32];
	size_t n = 0;

	text[0] = '\0';
	for (; *totals != TOTAL_COUNT && n < size; totals++) {
		if (!s->has[*totals])
			continue;
		format_bytes(value, sizeof(value), s->sum[*totals]);
		n += (size_t)snprintf(text + n, size - n, "%s%s %s", n != 0 ? ", " : "", total_info[*totals].text, value);
	}
}

/* Growth and allocations of all rows, and how they are sorted. */
static void add_rates(const struct top *top, char *text, size_t size)
{
	const struct snapshot *s = &top->now;
	uint64_t growth = 0, rate = 0;
	char value[32];
	const char *key = top->selection.sort == SORT_NAME ? "name" : figure_info[top->selection.sort].key;

	for (size_t i = 0; i < s->count; i++) {
		growth += s->rows[i].v[FIG_GROWTH];
		rate += s->rows[i].v[FIG_RATE];
	}
	format_figure(value, sizeof(value), FIG_GROWTH, growth);
	snprintf(text, size, "%s/s, %" PRIu64 " allocations/s; %zu of %zu lines by %s%s%s%s", s->compared ? value : "-",
		 s->compared ? rate : 0, top->rows.count, s->count, key, top->selection.reverse ? ", reversed" : "",
		 top->filter[0] != '\0' ? ", only " : "", top->filter);
}

static void add_title(const struct top *top, char *text, size_t size)
{
	time_t now = time(NULL);
	struct tm parts;
	char clock[16];
	const struct snapshot *s = &top->now;

	localtime_r(&now, &parts);
	strftime(clock, sizeof(clock), "%H:%M:%S", &parts);
	if (top->source.pid == 0) {
		size_t n = (size_t)snprintf(text, size, "drystone top - %s, %zu processes", clock, s->count);
		if (top->refused != 0 && n < size)
			snprintf(text + n, size - n, ", %u more may not be read", top->refused);
		return;
	}
	snprintf(text, size, "drystone top - %s, %s %d: %" PRIu64 " objects, %" PRIu64 " big blocks%s", clock, s->program, s->pid,
		 s->sum[SUM_OBJECTS], s->sum[SUM_BIG_BLOCKS], s->damage != NULL ? " (not read to the end)" : "");
}

void top_head(const struct top *top, unsigned n, char *text, size_t size)
{
	static const enum total first[] = { SUM_RSS, SUM_ANONYMOUS, SUM_SWAPPED, SUM_TRIM, TOTAL_COUNT },
				second[] = { SUM_ALLOCATED, SUM_WASTE, SUM_RETAINED, SUM_METADATA, SUM_OTHERS, TOTAL_COUNT };
	struct columns columns;

	text[0] = '\0';
	switch (n) {
	case 0:
		add_title(top, text, size);
		break;
	case 1:
		add_sums(text, size, &top->now, first);
		break;
	case 2:
		if (top->now.note[0] != '\0')
			snprintf(text, size, "%s", top->now.note);
		else
			add_sums(text, size, &top->now, second);
		break;
	case 3:
		add_rates(top, text, size);
		break;
	default:
		top_columns(top, &columns);
		format_titles(text, size, top->source.pid == 0 ? "    PID PROGRAM" : "CACHE", &columns);
	}
}

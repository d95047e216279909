/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#define _GNU_SOURCE
#include "figures.h"
#include "cli.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct figure_info figure_info[FIGURE_COUNT] = {
#define X(name, key, title, unit, kinds, metric, help) { key, title, unit, kinds, metric, help },
	FIGURES(X)
#undef X
};

const struct total_info total_info[TOTAL_COUNT] = {
#define X(name, key, text, depth, unit, help) { key, text, depth, unit, help },
	TOTALS(X)
#undef X
};

struct row *snapshot_add(struct snapshot *snapshot, enum row_kind kind)
{
	if (snapshot->count == snapshot->room) {
		snapshot->room = snapshot->room != 0 ? snapshot->room * 2 : 128;
		snapshot->rows = cli_realloc(snapshot->rows, snapshot->room, sizeof(*snapshot->rows));
	}
	struct row *row = &snapshot->rows[snapshot->count++];
	memset(row, 0, sizeof(*row));
	row->kind = kind;
	return row;
}

void snapshot_free(struct snapshot *snapshot)
{
	free(snapshot->rows);
	free(snapshot->map.region);
	free(snapshot->map.piece);
	memset(snapshot, 0, sizeof(*snapshot));
}

struct snapshot snapshot_copy(const struct snapshot *snapshot)
{
	struct snapshot copy = *snapshot;

	copy.room = copy.count;
	copy.map = (struct map){ 0 }; /* nobody draws a copy */
	copy.rows = cli_realloc(NULL, copy.count + 1, sizeof(*copy.rows));
	if (copy.count != 0)
		memcpy(copy.rows, snapshot->rows, copy.count * sizeof(*copy.rows));
	return copy;
}

void sum_add(struct snapshot *snapshot, enum total total, uint64_t value)
{
	snapshot->sum[total] += value;
	snapshot->has[total] = true;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Sum of the totals from `first` to `last`. */
static void sum_range(struct snapshot *s, enum total sum, enum total first, enum total last)
{
	for (int i = (int)first; i <= (int)last; i++)
		if (s->has[i])
			sum_add(s, sum, s->sum[i]);
}

static bool counts(const struct row *row)
{
	return (ON(row->kind) & ON_WHOLES) && row->alias_of[0] == '\0';
}

void snapshot_sum(struct snapshot *s)
{
	uint64_t all = 0, accounted;

	for (size_t i = 0; i < s->count; i++)
		if (counts(&s->rows[i]))
			all += s->rows[i].v[FIG_BYTES];
	for (size_t i = 0; i < s->count && all != 0; i++)
		s->rows[i].v[FIG_SHARE] = (uint64_t)((double)s->rows[i].v[FIG_BYTES] * 1000 / (double)all + 0.5);
	sum_range(s, SUM_ALLOCATED, SUM_LIVE_OBJECTS, SUM_GUARDED);
	sum_range(s, SUM_WASTE, SUM_SLOTS, SUM_SLAB_ENDS);
	sum_range(s, SUM_RETAINED, SUM_FREE_DIRTY, SUM_EXTENTS_KEPT);
	accounted = s->sum[SUM_ALLOCATED] + s->sum[SUM_WASTE] + s->sum[SUM_RETAINED] + s->sum[SUM_METADATA];
	sum_range(s, SUM_ACTIVE, SUM_ALLOCATED, SUM_ALLOCATED);
	sum_range(s, SUM_ACTIVE, SUM_WASTE, SUM_WASTE);
	if (s->sum[SUM_ACTIVE] != 0)
		sum_add(s, SUM_FRAGMENTATION, (uint64_t)((double)s->sum[SUM_WASTE] * 1000 / (double)s->sum[SUM_ACTIVE] + 0.5));
	if (s->has[SUM_RESIDENT_OURS]) {
		sum_add(s, SUM_UNTOUCHED, less(accounted, s->sum[SUM_RESIDENT_OURS]));
		if (s->has[SUM_ANONYMOUS])
			sum_add(s, SUM_OTHERS, less(s->sum[SUM_ANONYMOUS], s->sum[SUM_RESIDENT_OURS]));
	}
}

/* ---- growth and rates ------------------------------------------------------------------------------ */

static int by_identity(const void *a, const void *b)
{
	const struct row *x = *(const struct row *const *)a, *y = *(const struct row *const *)b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return strcmp(x->name, y->name);
}

void snapshot_compare(struct snapshot *snapshot, const struct snapshot *older)
{
	const struct row **sorted = cli_realloc(NULL, older->count + 1, sizeof(const struct row *));
	double seconds = snapshot->when - older->when;

	for (size_t i = 0; i < older->count; i++)
		sorted[i] = &older->rows[i];
	qsort(sorted, older->count, sizeof(*sorted), by_identity);
	for (size_t i = 0; i < snapshot->count && seconds > 0; i++) {
		struct row *row = &snapshot->rows[i];
		const struct row *key = row, **found;

		if (!(ON(row->kind) & ON_WHOLES))
			continue;
		found = bsearch(&key, sorted, older->count, sizeof(*sorted), by_identity);
		double bytes = (double)row->v[FIG_BYTES] - (found != NULL ? (double)(*found)->v[FIG_BYTES] : 0);
		uint64_t allocs = less(row->v[FIG_ALLOCS], found != NULL ? (*found)->v[FIG_ALLOCS] : 0);
		row->v[FIG_GROWTH] = (uint64_t)(int64_t)(bytes / seconds);
		row->v[FIG_RATE] = (uint64_t)((double)allocs / seconds + 0.5);
	}
	snapshot->compared = seconds > 0;
	free(sorted);
}

/* ---- selection --------------------------------------------------------------------------------------- */

bool figure_by_key(const char *key, int *which)
{
	*which = SORT_NAME;
	if (strcmp(key, "name") == 0)
		return true;
	for (int i = 0; i < FIGURE_COUNT; i++) {
		*which = i;
		if (strcmp(key, figure_info[i].key) == 0)
			return true;
	}
	return false;
}

const char *row_kind_name(enum row_kind kind)
{
	static const char *const names[ROW_KINDS] = { "cache", "runs", "extents", "guarded", "node", "slot", "process" };

	return names[kind];
}

void row_full_name(const struct row *row, char *text, size_t size)
{
	int n;

	if (row->kind == ROW_PROCESS) {
		snprintf(text, size, "%7u %s", row->index, row->name);
		return;
	}
	n = snprintf(text, size, "%s%s%s", row->default_heap ? "" : row->heap, row->default_heap ? "" : "/", row->name);

	if ((ON(row->kind) & ON_PARTS) && n >= 0 && (size_t)n < size)
		snprintf(text + n, size - (size_t)n, "@%s%u", row_kind_name(row->kind), row->index);
}

static const struct selection *order; /* of the qsort under way */

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int result = 0;

	if (order->sort == SORT_NAME) {
		char first[2 * ROW_NAME + 32], second[2 * ROW_NAME + 32];
		row_full_name(x, first, sizeof(first));
		row_full_name(y, second, sizeof(second));
		result = strverscmp(first, second);
	} else if (figure_info[order->sort].unit == UNIT_CHANGE) {
		int64_t p = (int64_t)x->v[order->sort], q = (int64_t)y->v[order->sort];
		result = p > q ? -1 : p < q;
	} else {
		uint64_t p = x->v[order->sort], q = y->v[order->sort];
		result = p > q ? -1 : p < q;
	}
	if (order->reverse)
		result = -result;
	/* equal ones in an order that does not jump about while it is watched */
	if (result == 0)
		result = (x->alias_of[0] != '\0') - (y->alias_of[0] != '\0');
	if (result == 0)
		result = x->kind != y->kind ? (x->kind < y->kind ? -1 : 1) : strverscmp(x->name, y->name);
	return result != 0 ? result : x->id < y->id ? -1 : x->id > y->id;
}

void snapshot_select(struct snapshot *snapshot, const struct selection *selection)
{
	size_t kept = 0;
	char name[2 * ROW_NAME + 32];

	for (size_t i = 0; i < snapshot->count; i++) {
		const struct row *row = &snapshot->rows[i];
		bool part = ON(row->kind) & ON_PARTS;

		row_full_name(row, name, sizeof(name));
		if (part != selection->parts || (row->alias_of[0] != '\0' && !selection->aliases) ||
		    (selection->filter != NULL && fnmatch(selection->filter, name, 0) != 0 &&
		     fnmatch(selection->filter, row->name, 0) != 0))
			continue;
		if (selection->no_empty && row->v[FIG_BYTES] == 0) {
			snapshot->left_out++;
			continue;
		}
		snapshot->rows[kept++] = *row;
	}
	snapshot->count = kept;
	order = selection;
	if (selection->sort != SORT_LISTED)
		qsort(snapshot->rows, kept, sizeof(*snapshot->rows), compare_rows);
}

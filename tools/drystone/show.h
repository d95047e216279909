/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Snapshots as text, JSON and OpenMetrics, to standard output. All of them derive from the lists in figures.h. */
#ifndef DRYSTONE_SHOW_H
#define DRYSTONE_SHOW_H

#include "figures.h"

#define MAX_COLUMNS 16
#define MAX_LINE    512 /* bytes of a line of a table, with its end */

/* The columns of a table, after the name. */
struct columns {
	enum figure figure[MAX_COLUMNS];
	size_t count;
};

/* The columns that are shown when nothing was asked for. parts: of rows of nodes and slots. */
void columns_default(struct columns *columns, bool parts, bool compared);
/* "key,key,..."; false after a message. */
bool columns_parse(struct columns *columns, const char *list);

/* 1234, 12.3K, 1.5G: at most 6 characters below 10^6 T. */
void format_bytes(char *text, size_t size, uint64_t bytes);
/* A figure as it stands in a table. */
void format_figure(char *text, size_t size, enum figure figure, uint64_t value);
/* Lines of a table, without an end. `first` stands above the names. */
void format_titles(char *text, size_t size, const char *first, const struct columns *columns);
void format_row(char *text, size_t size, const struct row *row, const struct columns *columns);
/* Columns that a figure takes. */
int figure_width(enum figure figure);

void show_summary(const struct snapshot *snapshot);
void show_table(const struct snapshot *snapshot, const struct columns *columns);
/* /proc/slabinfo 2.1 */
void show_slabinfo(const struct snapshot *snapshot);
/* "key": "text" */
void json_text(const char *key, const char *text);
void show_json(const struct snapshot *snapshot);
/* Caches beyond `most` are summed up as one. */
void show_metrics(const struct snapshot *snapshot, size_t most, bool older);

#endif

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A snapshot as JSON (RFC 8259). */
#include "show.h"

#include <inttypes.h>
#include <stdio.h>

#include "text.h"

void json_text(const char *key, const char *text)
{
	printf("\"%s\": ", key);
	text_put_json(stdout, text, "");
}

static void print_value(const char *comma, const char *key, enum unit unit, uint64_t value)
{
	if (unit == UNIT_SHARE)
		printf("%s\"%s\": %" PRIu64 ".%03" PRIu64, comma, key, value / 1000, value % 1000);
	else if (unit == UNIT_CHANGE)
		printf("%s\"%s\": %" PRId64, comma, key, (int64_t)value);
	else
		printf("%s\"%s\": %" PRIu64, comma, key, value);
}

static void print_row(const struct snapshot *s, const struct row *row)
{
	printf("\n    {");
	json_text("name", row->name);
	printf(", ");
	json_text("kind", row_kind_name(row->kind));
	printf(", ");
	json_text("heap", row->heap);
	printf(", \"default_heap\": %s", row->default_heap ? "true" : "false");
	if (row->alias_of[0] != '\0') {
		printf(", ");
		json_text("alias_of", row->alias_of);
	}
	if (ON(row->kind) & ON_PARTS)
		printf(", \"index\": %u", row->index);
	for (int i = 0; i < FIGURE_COUNT; i++) {
		const struct figure_info *info = &figure_info[i];

		if (!(info->kinds & ON(row->kind)) || (i == FIG_RESIDENT && !s->has_resident) ||
		    ((info->unit == UNIT_CHANGE || info->unit == UNIT_RATE) && !s->compared))
			continue;
		print_value(", ", info->key, info->unit, row->v[i]);
	}
	putchar('}');
}

static void print_rows(const struct snapshot *s, const char *key, unsigned kinds)
{
	const char *comma = "";

	printf(",\n  \"%s\": [", key);
	for (size_t i = 0; i < s->count; i++) {
		if (!(ON(s->rows[i].kind) & kinds))
			continue;
		fputs(comma, stdout);
		comma = ",";
		print_row(s, &s->rows[i]);
	}
	printf("\n  ]");
}

void show_json(const struct snapshot *s)
{
	const char *comma = "";

	printf("{\"pid\": %d, ", s->pid);
	json_text("program", s->program);
	printf(", \"core\": %s, \"whole\": %s", s->of_core ? "true" : "false", s->damage == NULL ? "true" : "false");
	if (s->note[0] != '\0') {
		printf(", ");
		json_text("note", s->note);
	}
	printf(",\n  \"summary\": {");
	for (int i = 0; i < TOTAL_COUNT; i++)
		if (s->has[i]) {
			print_value(comma, total_info[i].key, total_info[i].unit, s->sum[i]);
			comma = ", ";
		}
	printf("}");
	print_rows(s, "caches", ON_CACHES);
	print_rows(s, "big_blocks", ON_BIG);
	print_rows(s, "parts", ON_PARTS);
	puts("\n}");
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A snapshot as show_json.c writes it. Reads any JSON, and of it the rows of caches and big blocks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "diff.h"

#define DEPTH 64 /* of what is skipped */
#define NAME  128

struct json {
	const char *at;
	bool bad;
};

static char next(struct json *json)
{
	json->at += strspn(json->at, " \t\r\n");
	return *json->at;
}

static bool take(struct json *json, char c)
{
	if (next(json) != c)
		return false;
	json->at++;
	return true;
}

/* As much as there is room for. What is escaped by \u is a ? in it, for no name of a cache has that. */
static void read_text(struct json *json, char *to, size_t room)
{
	size_t n = 0;

	json->bad |= !take(json, '"');
	while (!json->bad && *json->at != '"') {
		char c = *json->at++;
		bool escaped = c == '\\';
		if (escaped)
			c = *json->at++;
		if (c == '\0') { /* where the file ends; nothing is behind it */
			json->at--;
			json->bad = true;
			break;
		}
		if (escaped && c == 'u') {
			json->bad |= strspn(json->at, "0123456789abcdefABCDEF") < 4;
			json->at += json->bad ? 0 : 4;
			c = '?';
		}
		if (n + 1 < room)
			to[n++] = c;
	}
	if (!json->bad)
		json->at++;
	if (room != 0)
		to[n] = '\0';
}

/* The next key of an object, or next value of a list, whose begin was taken; false: it is over. */
static bool go_on(struct json *json, char end, bool *first)
{
	if (json->bad || take(json, end))
		return false;
	json->bad |= !*first && !take(json, ',');
	*first = false;
	return !json->bad;
}

static bool next_key(struct json *json, bool *first, char *key)
{
	if (!go_on(json, '}', first))
		return false;
	read_text(json, key, NAME);
	json->bad |= !take(json, ':');
	return !json->bad;
}

static void skip(struct json *json, unsigned depth)
{
	char key[NAME], c = next(json);
	bool first = true;

	if (depth == 0) {
		json->bad = true;
	} else if (take(json, '{')) {
		while (next_key(json, &first, key))
			skip(json, depth - 1);
	} else if (take(json, '[')) {
		while (go_on(json, ']', &first))
			skip(json, depth - 1);
	} else if (c == '"') {
		read_text(json, key, sizeof(key));
	} else { /* a number, or a word */
		size_t n = strcspn(json->at, ",}] \t\r\n");
		json->bad |= n == 0;
		json->at += n;
	}
}

static double read_number(struct json *json)
{
	char *end;
	double value = strtod(json->at, &end);

	json->bad |= end == json->at;
	json->at = end;
	return value;
}

static void read_row(struct json *json, struct diff *diff, int side, bool all)
{
	char key[NAME], name[NAME] = "", heap[NAME] = "main", kind[NAME] = "", alias[NAME] = "", what[3 * NAME];
	const char *bytes_key = all ? "bytes" : "live_bytes", *objects_key = all ? "num_objs" : "active_objs";
	double bytes = 0, objects = 0;
	bool first = true;

	json->bad |= !take(json, '{');
	while (next_key(json, &first, key)) {
		if (strcmp(key, "name") == 0)
			read_text(json, name, sizeof(name));
		else if (strcmp(key, "heap") == 0)
			read_text(json, heap, sizeof(heap));
		else if (strcmp(key, "kind") == 0)
			read_text(json, kind, sizeof(kind));
		else if (strcmp(key, "alias_of") == 0)
			read_text(json, alias, sizeof(alias));
		else if (strcmp(key, bytes_key) == 0)
			bytes = read_number(json);
		else if (strcmp(key, objects_key) == 0)
			objects = read_number(json);
		else
			skip(json, DEPTH);
	}
	json->bad |= name[0] == '\0';
	snprintf(what, sizeof(what), strcmp(heap, "main") == 0 ? "%s (%s)" : "%s (%s of heap %s)", name, kind, heap);
	if (!json->bad && alias[0] == '\0') /* the figures of a further name are those of its cache */
		diff_add(diff, side, strdup(what), bytes, objects);
}

const char *diff_read_json(struct diff *diff, int side, const char *text, bool all)
{
	struct json json = { .at = text };
	char key[NAME];
	bool first = true, known = false;

	json.bad = !take(&json, '{');
	while (next_key(&json, &first, key)) {
		bool rows = strcmp(key, "caches") == 0 || strcmp(key, "big_blocks") == 0, first_row = true;
		if (!rows) {
			skip(&json, DEPTH);
			continue;
		}
		known = true;
		json.bad |= !take(&json, '[');
		while (go_on(&json, ']', &first_row))
			read_row(&json, diff, side, all);
	}
	if (json.bad)
		return "it is no JSON, or cut short";
	return known ? NULL : "it is no snapshot of drystone info --json";
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Reading pprof's format: https://github.com/google/pprof/blob/main/proto/profile.proto. The numbers of locations take the place of
 * addresses. Messages refer to others by numbers and come in any order; so they are found first, and read then.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "profile.h"
#include "text.h"

struct span {
	const unsigned char *at, *end;
};

struct field {
	unsigned number;
	bool single;       /* a number that stands alone and was not taken by next_of() */
	uint64_t value;    /* of a number */
	struct span bytes; /* of a message, text, or packed numbers; else empty */
};

struct message {
	uint64_t id; /* field 1, of functions and locations */
	struct span bytes;
};

struct messages {
	struct message *at;
	size_t count;
};

enum { TYPE = 1, SAMPLE = 2, LOCATION = 4, FUNCTION = 5, STRING = 6, MESSAGES, PERIOD = 12 };

struct reader {
	struct messages of[MESSAGES];
	int value[8]; /* which of a sample's values it is; -1: none that is known */
	uint64_t period; /* bytes between two samples; 0: it does not say */
	bool bad;
};

/* ---- the wire ------------------------------------------------------------------------------------ */

static bool next_number(struct span *in, uint64_t *value)
{
	*value = 0;
	for (unsigned shift = 0; in->at < in->end && shift < 64; shift += 7) {
		unsigned char byte = *in->at++;
		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

/* false: there is no more, or what there is makes no sense; then the span is not at its end. */
static bool next_field(struct span *in, struct field *field)
{
	struct span rest = *in;
	uint64_t key, size = 0;

	*field = (struct field){ .number = 0 };
	if (!next_number(&rest, &key))
		return false;
	field->number = (unsigned)(key >> 3);
	if ((key & 7) == 0 && !next_number(&rest, &field->value))
		return false;
	if ((key & 7) == 2 && !next_number(&rest, &size))
		return false;
	if ((key & 7) == 1 || (key & 7) == 5)
		size = (key & 7) == 1 ? 8 : 4;
	if ((key & 7) == 3 || (key & 7) == 4 || (key & 7) > 5 || size > (uint64_t)(rest.end - rest.at))
		return false;
	field->single = (key & 7) == 0;
	field->bytes = (struct span){ rest.at, rest.at + size };
	in->at = rest.at + size;
	in->end = rest.end;
	return true;
}

/* Numbers of a field that may be packed: call until false. */
static bool next_of(struct field *field, uint64_t *value)
{
	if (!field->single)
		return next_number(&field->bytes, value);
	field->single = false;
	*value = field->value;
	return true;
}

/* ---- messages ------------------------------------------------------------------------------------- */

static void add_message(struct messages *to, struct span bytes)
{
	struct span in = bytes;
	struct field field;

	if ((to->count & (to->count - 1)) == 0)
		to->at = cli_realloc(to->at, to->count == 0 ? 1 : 2 * to->count, sizeof(to->at[0]));
	to->at[to->count] = (struct message){ .bytes = bytes };
	while (next_field(&in, &field))
		if (field.number == 1)
			to->at[to->count].id = field.value;
	to->count++;
}

static int by_id(const void *a, const void *b)
{
	const struct message *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static void find_messages(struct reader *reader, struct span in)
{
	struct field field;

	while (next_field(&in, &field)) {
		if (field.number == TYPE || field.number == SAMPLE || (field.number >= LOCATION && field.number <= STRING))
			add_message(&reader->of[field.number], field.bytes);
		else if (field.number == PERIOD)
			reader->period = field.value;
	}
	reader->bad |= in.at != in.end;
	for (int i = LOCATION; i <= FUNCTION; i++)
		if (reader->of[i].count != 0)
			qsort(reader->of[i].at, reader->of[i].count, sizeof(struct message), by_id);
}

static struct span text_of(struct reader *reader, uint64_t number)
{
	if (number < reader->of[STRING].count)
		return reader->of[STRING].at[number].bytes;
	reader->bad = true;
	return (struct span){ (const unsigned char *)"", (const unsigned char *)"" };
}

static bool is_text(struct span span, const char *text)
{
	return (size_t)(span.end - span.at) == strlen(text) && memcmp(span.at, text, strlen(text)) == 0;
}

static char *copy_of(struct span span)
{
	char *copy = strndup((const char *)span.at, (size_t)(span.end - span.at));

	if (copy != NULL)
		text_make_line(copy);
	return copy;
}

/* ---- the profile ---------------------------------------------------------------------------------- */

static bool read_types(struct reader *reader)
{
	static const char *const types[PROFILE_VALUES] = { "inuse_objects", "inuse_space", "alloc_objects", "alloc_space" };
	bool found = false;

	for (size_t i = 0; i < sizeof(reader->value) / sizeof(reader->value[0]); i++) {
		reader->value[i] = -1;
		for (int v = 0; i < reader->of[TYPE].count && v < PROFILE_VALUES; v++)
			if (is_text(text_of(reader, reader->of[TYPE].at[i].id), types[v]))
				reader->value[i] = v;
		found |= reader->value[i] == LIVE_BYTES;
	}
	return found;
}

static void read_line(struct reader *reader, struct span in, struct profile_address *to)
{
	struct message key = { 0 }, *function;
	struct field field;
	struct span name = { NULL, NULL }, file = { NULL, NULL };
	int line = 0;

	while (next_field(&in, &field)) {
		key.id = field.number == 1 ? field.value : key.id;
		line = field.number == 2 ? (int)field.value : line;
	}
	function = reader->of[FUNCTION].count == 0 ? NULL : bsearch(&key, reader->of[FUNCTION].at, reader->of[FUNCTION].count,
								     sizeof(key), by_id);
	if (function == NULL)
		return;
	for (in = function->bytes; next_field(&in, &field);) {
		name = field.number == 2 ? text_of(reader, field.value) : name;
		file = field.number == 4 && field.value != 0 ? text_of(reader, field.value) : file;
	}
	if (name.at == NULL)
		return;
	to->function = cli_realloc(to->function, to->count + 1, sizeof(to->function[0]));
	to->function[to->count++] = (struct profile_function){
		.name = copy_of(name), .file = file.at != NULL ? copy_of(file) : NULL, .line = line,
	};
}

static void read_location(struct reader *reader, const struct message *location, struct profile_address *to)
{
	struct span in = location->bytes;
	uint64_t address = 0;
	struct field field;

	*to = (struct profile_address){ .address = location->id, .map = SIZE_MAX };
	while (next_field(&in, &field)) {
		if (field.number == 3)
			address = field.value;
		if (field.number == 4)
			read_line(reader, field.bytes, to);
	}
	if (to->count == 0) {
		char text[32];
		snprintf(text, sizeof(text), "0x%" PRIx64, address);
		to->function = cli_realloc(NULL, 1, sizeof(to->function[0]));
		to->function[to->count++] = (struct profile_function){ .name = strdup(text) };
	}
}

static void read_label(struct reader *reader, struct span in, struct profile_site *site)
{
	uint64_t key = 0, text = 0, number = 0;
	struct field field;

	while (next_field(&in, &field)) {
		key = field.number == 1 ? field.value : key;
		text = field.number == 2 ? field.value : text;
		number = field.number == 3 ? field.value : number;
	}
	if (is_text(text_of(reader, key), "bytes"))
		site->class_size = number;
	if (is_text(text_of(reader, key), "cache")) {
		struct span name = text_of(reader, text);
		size_t length = (size_t)(name.end - name.at);
		memcpy(site->name, name.at, length < sizeof(site->name) ? length : sizeof(site->name) - 1);
		text_make_column(site->name);
	}
}

static void read_sample(struct reader *reader, struct span in, struct profile_site *site)
{
	size_t room = (size_t)(in.end - in.at), values = 0; /* a number has a byte at least */
	struct field field;
	uint64_t value;

	*site = (struct profile_site){ .frame = cli_realloc(NULL, room + 1, sizeof(uint64_t)) };
	while (next_field(&in, &field)) {
		if (field.number == 3)
			read_label(reader, field.bytes, site);
		while (field.number == 1 && site->count < room && next_of(&field, &value))
			site->frame[site->count++] = value;
		while (field.number == 2 && next_of(&field, &value)) {
			if (values < sizeof(reader->value) / sizeof(reader->value[0]) && reader->value[values] >= 0)
				site->value[reader->value[values]] = (double)(int64_t)value;
			values++;
		}
	}
	reader->bad |= in.at != in.end;
}

static void read_profile(struct reader *reader, struct profile *profile)
{
	const struct messages *samples = &reader->of[SAMPLE], *locations = &reader->of[LOCATION];

	profile->site = cli_realloc(NULL, samples->count + 1, sizeof(profile->site[0]));
	for (; profile->count < samples->count; profile->count++)
		read_sample(reader, samples->at[profile->count].bytes, &profile->site[profile->count]);
	profile->address = cli_realloc(NULL, locations->count + 1, sizeof(profile->address[0]));
	for (; profile->address_count < locations->count; profile->address_count++)
		read_location(reader, &locations->at[profile->address_count], &profile->address[profile->address_count]);
}

const char *profile_read_pb(struct profile *profile, FILE *file)
{
	struct reader reader = { .bad = false };
	size_t size = 0;
	unsigned char *bytes = profile_load_pb(file, &size);
	const char *wrong = NULL;

	*profile = (struct profile){ 0 };
	if (bytes == NULL)
		return errno == ENOTSUP ? "this command was built without zlib" : "it is neither a snapshot nor a heap profile";
	find_messages(&reader, (struct span){ bytes, bytes + size });
	if (!reader.bad && read_types(&reader))
		read_profile(&reader, profile);
	else
		wrong = "it is neither a snapshot nor a heap profile";
	profile->mean = (double)reader.period;
	if (wrong == NULL && reader.bad)
		wrong = "a part of the profile makes no sense";
	for (int i = 0; i < MESSAGES; i++)
		free(reader.of[i].at);
	free(bytes);
	return wrong;
}

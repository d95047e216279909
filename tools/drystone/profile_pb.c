/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* pprof's format: https://github.com/google/pprof/blob/main/proto/profile.proto, gzipped. Numbers of fields are from there. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "cli.h"
#include "profile.h"
#include "text.h"

#define GZIP 16 /* in deflateInit2(): with gzip's head and end */
#define MOST ((size_t)1 << 30) /* bytes of a profile that is read */

struct bytes {
	unsigned char *at;
	size_t used, room;
};

static void put(struct bytes *to, const void *from, size_t size)
{
	if (to->used + size > to->room) {
		to->room = 2 * (to->used + size) + 256;
		to->at = cli_realloc(to->at, to->room, 1);
	}
	memcpy(to->at + to->used, from, size);
	to->used += size;
}

static void put_varint(struct bytes *to, uint64_t value)
{
	unsigned char text[10];
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		text[n++] = (unsigned char)(value | 0x80);
	text[n++] = (unsigned char)value;
	put(to, text, n);
}

static void put_number(struct bytes *to, unsigned field, uint64_t value)
{
	put_varint(to, field << 3);
	put_varint(to, value);
}

static void put_block(struct bytes *to, unsigned field, const void *from, size_t size)
{
	put_varint(to, field << 3 | 2);
	put_varint(to, size);
	put(to, from, size);
}

/* A message in a field; it is empty then. */
static void put_message(struct bytes *to, unsigned field, struct bytes *message)
{
	put_block(to, field, message->at, message->used);
	message->used = 0;
}

/* ---- tables of strings and functions: an entry's number is its place -------------------------- */

struct table {
	struct bytes *out; /* of the whole profile */
	char **key;        /* [slots]; NULL: unused */
	uint64_t *number;
	size_t slots, count;
};

static size_t hash_of(const char *key)
{
	uint64_t hash = 14695981039346656037u; /* FNV-1a */

	for (; *key != '\0'; key++)
		hash = (hash ^ (unsigned char)*key) * 1099511628211u;
	return (size_t)(hash ^ hash >> 29);
}

static size_t place_of(const struct table *table, const char *key)
{
	size_t at = hash_of(key) & (table->slots - 1);

	while (table->key[at] != NULL && strcmp(table->key[at], key) != 0)
		at = (at + 1) & (table->slots - 1);
	return at;
}

static void grow(struct table *table)
{
	struct table bigger = { .out = table->out, .slots = table->slots != 0 ? 2 * table->slots : 64, .count = table->count };

	bigger.key = cli_realloc(NULL, bigger.slots, sizeof(char *));
	bigger.number = cli_realloc(NULL, bigger.slots, sizeof(uint64_t));
	memset(bigger.key, 0, bigger.slots * sizeof(char *));
	for (size_t i = 0; i < table->slots; i++) {
		if (table->key[i] == NULL)
			continue;
		size_t at = place_of(&bigger, table->key[i]);
		bigger.key[at] = table->key[i];
		bigger.number[at] = table->number[i];
	}
	free(table->key);
	free(table->number);
	*table = bigger;
}

/* *number: that of the key. true: it is new, and its number is the count before it. */
static bool add(struct table *table, const char *key, uint64_t *number)
{
	if (2 * table->count >= table->slots)
		grow(table);
	size_t at = place_of(table, key);
	bool fresh = table->key[at] == NULL;
	if (fresh) {
		table->key[at] = strdup(key);
		table->number[at] = table->count++;
	}
	*number = table->number[at];
	return fresh;
}

static void free_table(struct table *table)
{
	for (size_t i = 0; i < table->slots; i++)
		free(table->key[i]);
	free(table->key);
	free(table->number);
}

static uint64_t string(struct table *strings, const char *text)
{
	uint64_t number;

	if (add(strings, text, &number)) {
		char *copy = cli_realloc(NULL, strlen(text) + 1, 1);
		text_make_utf8(strcpy(copy, text)); /* a string of another kind makes readers refuse all of it */
		put_block(strings->out, 6, copy, strlen(copy));
		free(copy);
	}
	return number;
}

static uint64_t function(struct table *functions, struct table *strings, const struct profile_function *of)
{
	const char *file = of->file != NULL ? of->file : "";
	char *key = cli_realloc(NULL, strlen(of->name) + strlen(file) + 2, 1);
	struct bytes message = { 0 };
	uint64_t number;

	strcpy(stpcpy(stpcpy(key, of->name), "\n"), file);
	if (add(functions, key, &number)) {
		put_number(&message, 1, number + 1);
		put_number(&message, 2, string(strings, of->name));
		put_number(&message, 3, string(strings, of->name));
		put_number(&message, 4, string(strings, file));
		put_message(functions->out, 5, &message);
	}
	free(message.at);
	free(key);
	return number + 1;
}

/* ---- the profile ---------------------------------------------------------------------------------- */

static void put_type(struct bytes *out, unsigned field, struct table *strings, const char *type, const char *unit)
{
	struct bytes message = { 0 };

	put_number(&message, 1, string(strings, type));
	put_number(&message, 2, string(strings, unit));
	put_message(out, field, &message);
	free(message.at);
}

static void put_samples(struct bytes *out, const struct profile *profile, struct table *strings)
{
	struct bytes sample = { 0 }, part = { 0 };
	char name[64];

	for (size_t i = 0; i < profile->count; i++) {
		const struct profile_site *site = &profile->site[i];
		for (size_t k = 0; k < site->count; k++)
			put_varint(&part, (uint64_t)(profile_find(profile, site->frame[k]) - profile->address) + 1);
		put_message(&sample, 1, &part);
		for (int v = 0; v < PROFILE_VALUES; v++)
			put_varint(&part, (uint64_t)llround(site->value[v]));
		put_message(&sample, 2, &part);
		put_number(&part, 1, string(strings, "cache"));
		put_number(&part, 2, string(strings, profile_cache(site, name, sizeof(name))));
		put_message(&sample, 3, &part);
		put_number(&part, 1, string(strings, "bytes"));
		put_number(&part, 3, site->class_size);
		put_number(&part, 4, string(strings, "bytes"));
		put_message(&sample, 3, &part);
		put_message(out, 2, &sample);
	}
	free(sample.at);
	free(part.at);
}

static void put_places(struct bytes *out, const struct profile *profile, struct table *strings)
{
	struct table functions = { .out = out };
	struct bytes message = { 0 }, part = { 0 };

	for (size_t i = 0; i < profile->map_count; i++) {
		const struct target_map *map = &profile->map[i];
		put_number(&message, 1, i + 1);
		put_number(&message, 2, map->start);
		put_number(&message, 3, map->end);
		put_number(&message, 4, map->offset);
		put_number(&message, 5, string(strings, map->path));
		put_number(&message, 7, 1); /* it has functions */
		put_message(out, 3, &message);
	}
	for (size_t i = 0; i < profile->address_count; i++) {
		const struct profile_address *address = &profile->address[i];
		put_number(&message, 1, i + 1);
		put_number(&message, 2, address->map != SIZE_MAX ? address->map + 1 : 0);
		put_number(&message, 3, address->address - 1);
		for (size_t k = 0; k < address->count; k++) {
			put_number(&part, 1, function(&functions, strings, &address->function[k]));
			put_number(&part, 2, (uint64_t)address->function[k].line);
			put_message(&message, 4, &part);
		}
		put_message(out, 4, &message);
	}
	free_table(&functions);
	free(message.at);
	free(part.at);
}

static void put_profile(struct bytes *out, const struct profile *profile, enum profile_value value)
{
	static const char *const types[PROFILE_VALUES] = { "inuse_objects", "inuse_space", "alloc_objects", "alloc_space" };
	struct table strings = { .out = out };

	string(&strings, "");
	for (int v = 0; v < PROFILE_VALUES; v++)
		put_type(out, 1, &strings, types[v], v % 2 == 0 ? "count" : "bytes");
	put_samples(out, profile, &strings);
	put_places(out, profile, &strings);
	put_type(out, 11, &strings, "space", "bytes");
	put_number(out, 12, (uint64_t)llround(profile->mean));
	put_number(out, 10, (uint64_t)llround(profile->seconds * 1e9));
	put_number(out, 14, string(&strings, types[value]));
	free_table(&strings);
}

bool profile_has_pb(void)
{
	return true;
}

void profile_print_pb(const struct profile *profile, enum profile_value value, FILE *out)
{
	z_stream stream = { .zalloc = Z_NULL };
	unsigned char part[16384];
	struct bytes bytes = { 0 };
	int result = deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP, 8, Z_DEFAULT_STRATEGY);

	if (result != Z_OK) {
		cli_error("out of memory");
		exit(CLI_FAILED);
	}
	put_profile(&bytes, profile, value);
	stream.next_in = bytes.at;
	stream.avail_in = (unsigned)bytes.used;
	while (result == Z_OK) {
		stream.next_out = part;
		stream.avail_out = sizeof(part);
		result = deflate(&stream, Z_FINISH);
		fwrite(part, 1, sizeof(part) - stream.avail_out, out);
	}
	deflateEnd(&stream);
	free(bytes.at);
}

unsigned char *profile_load_pb(FILE *from, size_t *size)
{
	struct bytes bytes = { 0 };
	char part[16384];
	int fd = dup(fileno(from)), got = 0;
	gzFile file = fd >= 0 && lseek(fd, 0, SEEK_SET) == 0 ? gzdopen(fd, "rb") : NULL;

	if (file == NULL && fd >= 0)
		close(fd);
	while (file != NULL && bytes.used < MOST && (got = gzread(file, part, sizeof(part))) > 0)
		put(&bytes, part, (size_t)got);
	if (file != NULL && gzclose(file) == Z_OK && got == 0 && bytes.used != 0) {
		*size = bytes.used;
		return bytes.at;
	}
	free(bytes.at);
	errno = file != NULL ? EINVAL : errno;
	return NULL;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Which functions the addresses of a profile lie in, each address once. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "profile.h"
#include "symbols.h"
#include "text.h"

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int compare_address(const void *key, const void *entry)
{
	return compare(key, &((const struct profile_address *)entry)->address);
}

const struct profile_address *profile_find(const struct profile *profile, uint64_t address)
{
	return bsearch(&address, profile->address, profile->address_count, sizeof(profile->address[0]), compare_address);
}

static uint64_t *all_addresses(const struct profile *profile, size_t *count)
{
	size_t n = 0, kept = 0;
	uint64_t *all;

	for (size_t i = 0; i < profile->count; i++)
		n += profile->site[i].count;
	all = cli_realloc(NULL, n + 1, sizeof(*all));
	n = 0;
	for (size_t i = 0; i < profile->count; i++)
		for (size_t k = 0; k < profile->site[i].count; k++)
			all[n++] = profile->site[i].frame[k];
	qsort(all, n, sizeof(*all), compare);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || all[i] != all[kept - 1])
			all[kept++] = all[i];
	*count = kept;
	return all;
}

static size_t map_of(const struct profile *profile, uint64_t address)
{
	for (size_t i = 0; i < profile->map_count; i++)
		if (address >= profile->map[i].start && address < profile->map[i].end)
			return i;
	return SIZE_MAX;
}

static void add_function(void *arg, const char *name, const char *file, int line)
{
	struct profile_address *to = arg;
	char *own_name = strdup(name), *own_file = file != NULL ? strdup(file) : NULL;

	if (own_name != NULL)
		text_make_line(own_name);
	if (own_file != NULL)
		text_make_line(own_file);
	to->function = cli_realloc(to->function, to->count + 1, sizeof(to->function[0]));
	to->function[to->count++] = (struct profile_function){ .name = own_name, .file = own_file, .line = line };
}

/* What can always be said: where in which file it is. */
static void add_place(const struct profile *profile, struct profile_address *to)
{
	const struct target_map *map = to->map != SIZE_MAX ? &profile->map[to->map] : NULL;
	char text[256];

	if (map == NULL || map->path[0] == '\0')
		snprintf(text, sizeof(text), "0x%" PRIx64, to->address);
	else
		snprintf(text, sizeof(text), "%.200s+0x%" PRIx64, text_base_name(map->path),
			 to->address - map->start + map->offset);
	add_function(to, text, NULL, 0);
}

void profile_symbolise(struct profile *profile)
{
	struct symbols *symbols = symbols_open(profile->map, profile->map_count, profile->root);
	size_t count;
	uint64_t *all = all_addresses(profile, &count);

	profile->address = cli_realloc(NULL, count + 1, sizeof(profile->address[0]));
	profile->address_count = count;
	for (size_t i = 0; i < count; i++) {
		struct profile_address *to = &profile->address[i];
		*to = (struct profile_address){ .address = all[i], .map = map_of(profile, all[i] - 1) };
		/* A return address may be the first byte of another function. */
		symbols_find(symbols, all[i] - 1, add_function, to);
		if (to->count == 0)
			add_place(profile, to);
	}
	free(all);
	symbols_close(symbols);
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A heap profile from where it is; <drystone/inspect.h> has the layout in memory, src/stats/sites.c writes the file. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "profile.h"
#include "text.h"

#define MAX_BYTES  ((uint64_t)1 << 30) /* of sites */
#define MAX_FRAMES 256

static struct profile_site *add_site(struct profile *profile, uint32_t frames)
{
	struct profile_site *site;

	if ((profile->count & (profile->count - 1)) == 0)
		profile->site = cli_realloc(profile->site, profile->count == 0 ? 1 : 2 * profile->count, sizeof(*site));
	site = &profile->site[profile->count++];
	*site = (struct profile_site){ .count = frames };
	site->frame = cli_realloc(NULL, frames + 1, sizeof(uint64_t));
	return site;
}

static struct target_map *add_map(struct profile *profile)
{
	if ((profile->map_count & (profile->map_count - 1)) == 0)
		profile->map = cli_realloc(profile->map, profile->map_count == 0 ? 1 : 2 * profile->map_count,
					   sizeof(profile->map[0]));
	return memset(&profile->map[profile->map_count++], 0, sizeof(profile->map[0]));
}

/* ---- memory ------------------------------------------------------------------------------------ */

/* The bytes are of a process that goes on, or damaged: what does not fit ends the reading. */
static const char *read_sites(struct profile *profile, const unsigned char *bytes, uint64_t used)
{
	for (uint64_t at = 0; at < used;) {
		struct dry_inspect_site site;
		if (used - at < sizeof(site))
			return "a site is cut short";
		memcpy(&site, bytes + at, sizeof(site));
		if (site.bytes > used - at || site.bytes % 8 != 0 || site.frames > MAX_FRAMES ||
		    site.bytes < sizeof(site) + site.frames * sizeof(uint64_t))
			return "a site makes no sense";
		struct profile_site *to = add_site(profile, site.frames);
		to->class_size = site.class_size;
		to->big = site.big != 0;
		to->value[LIVE_OBJECTS] = (double)site.live_objects;
		to->value[LIVE_BYTES] = (double)site.live_bytes;
		to->value[ALL_OBJECTS] = (double)site.all_objects;
		to->value[ALL_BYTES] = (double)site.all_bytes;
		memcpy(to->frame, bytes + at + sizeof(site), site.frames * sizeof(uint64_t));
		if (site.name < sizeof(to->name) && site.name <= site.bytes - sizeof(site) - site.frames * sizeof(uint64_t))
			memcpy(to->name, bytes + at + sizeof(site) + site.frames * sizeof(uint64_t), site.name);
		text_make_column(to->name);
		at += site.bytes;
	}
	return NULL;
}

const char *profile_read(struct profile *profile, const struct target *target, const struct dry_inspect *layout)
{
	struct dry_inspect_profile head;
	const char *wrong;
	unsigned char *bytes;

	*profile = (struct profile){ 0 };
	if (!target_read(target, (uint64_t)(uintptr_t)layout->profile, &head, sizeof(head)))
		return "its profile cannot be read";
	profile->mean = (double)head.mean;
	profile->on = head.on != 0;
	if (target->core == NULL)
		snprintf(profile->root, sizeof(profile->root), "/proc/%d/root", (int)target->thread);
	for (size_t i = 0; i < target->map_count; i++) {
		struct target_map *map = add_map(profile);
		*map = target->maps[i];
		map->path = strdup(map->path);
	}
	if (head.sites == 0 || head.used == 0)
		return NULL;
	if (head.used > MAX_BYTES)
		return "its profile makes no sense";
	bytes = cli_realloc(NULL, 1, head.used);
	wrong = "its sites cannot be read";
	if (target_read(target, head.sites, bytes, head.used))
		wrong = read_sites(profile, bytes, head.used);
	free(bytes);
	return wrong;
}

/* ---- files --------------------------------------------------------------------------------------- */

static bool read_frames(struct profile_site *site, const char *text)
{
	char *end;

	for (; site->count < MAX_FRAMES; site->count++) {
		site->frame[site->count] = strtoull(text, &end, 16);
		if (end == text)
			break;
		text = end;
	}
	return *(text + strspn(text, " \n")) == '\0';
}

static bool read_site(struct profile *profile, const char *line, const struct profile_site *cache)
{
	uint64_t value[PROFILE_VALUES];
	int end = 0;

	if (sscanf(line, "%" SCNu64 ": %" SCNu64 " [%" SCNu64 ": %" SCNu64 "] @%n", &value[0], &value[1], &value[2],
		   &value[3], &end) != 4 || end == 0)
		return false;
	struct profile_site *site = add_site(profile, MAX_FRAMES);
	site->count = 0;
	site->class_size = cache->class_size;
	site->big = cache->big;
	memcpy(site->name, cache->name, sizeof(site->name));
	for (int i = 0; i < PROFILE_VALUES; i++)
		site->value[i] = (double)value[i];
	return read_frames(site, line + end);
}

/* "# cache 64", "# cache 48 name" or "# big 65536" */
static void read_cache(struct profile_site *cache, const char *line)
{
	uint64_t class_size;
	char name[sizeof(cache->name)] = "";

	cache->big = strncmp(line, "# big ", 6) == 0;
	if (sscanf(line, "# cache %" SCNu64 " %63[^\n]", &class_size, name) < 1 && sscanf(line, "# big %" SCNu64, &class_size) != 1)
		return;
	cache->class_size = class_size;
	text_make_column(name);
	memcpy(cache->name, name, sizeof(name));
}

static void read_map(struct profile *profile, char *line)
{
	char rights[8] = "";
	uint64_t start, end, offset, inode;
	int path = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %" SCNu64 " %n", &start, &end, rights, &offset, &inode,
		   &path) < 5 || path == 0 || end <= start)
		return;
	struct target_map *map = add_map(profile);
	*map = (struct target_map){ .start = start, .end = end, .offset = offset, .inode = inode, .readable = rights[0] == 'r',
				    .writable = rights[1] == 'w', .path = strdup(line + path) };
}

const char *profile_read_file(struct profile *profile, FILE *file)
{
	const char *wrong = "it is no heap profile";
	struct profile_site cache = { 0 }; /* of the next one */
	char *line = NULL;
	size_t room = 0;
	bool maps = false;

	*profile = (struct profile){ 0 };
	if (getline(&line, &room, file) > 0 && strncmp(line, "heap profile: ", 14) == 0 && strstr(line, " @ heap_v2/") != NULL) {
		profile->mean = strtod(strstr(line, " @ heap_v2/") + 11, NULL);
		wrong = NULL;
	}
	while (wrong == NULL && getline(&line, &room, file) > 0) {
		if (strcmp(line, "MAPPED_LIBRARIES:\n") == 0)
			maps = true;
		else if (maps)
			read_map(profile, line);
		else if (strncmp(line, "# ", 2) == 0)
			read_cache(&cache, line);
		else if (line[0] != '#' && line[strspn(line, " \n")] != '\0' && !read_site(profile, line, &cache))
			wrong = "a line of it makes no sense";
	}
	free(line);
	return wrong != NULL || profile->count == 0 || profile->mean > 0 ? wrong : "its mean is missing";
}

/* ---- figures --------------------------------------------------------------------------------------- */

void profile_since(struct profile *profile, const struct profile *before)
{
	/* Sites stay where they are, and new ones come behind them. */
	for (size_t i = 0; i < profile->count && i < before->count; i++) {
		profile->site[i].value[ALL_OBJECTS] -= before->site[i].value[ALL_OBJECTS];
		profile->site[i].value[ALL_BYTES] -= before->site[i].value[ALL_BYTES];
	}
}

void profile_scale(struct profile *profile)
{
	for (size_t i = 0; i < profile->count; i++) {
		struct profile_site *site = &profile->site[i];
		for (int v = 0; v < PROFILE_VALUES; v += 2) {
			double size = site->value[v] > 0 ? site->value[v + 1] / site->value[v] : 0;
			double weight = size > 0 ? 1 / -expm1(-size / profile->mean) : 0;
			site->value[v] *= weight;
			site->value[v + 1] *= weight;
		}
	}
}

void profile_free(struct profile *profile)
{
	for (size_t i = 0; i < profile->count; i++)
		free(profile->site[i].frame);
	for (size_t i = 0; i < profile->map_count; i++)
		free(profile->map[i].path);
	for (size_t i = 0; i < profile->address_count; i++) {
		for (size_t k = 0; k < profile->address[i].count; k++) {
			free(profile->address[i].function[k].name);
			free(profile->address[i].function[k].file);
		}
		free(profile->address[i].function);
	}
	free(profile->site);
	free(profile->map);
	free(profile->address);
}

const char *profile_cache(const struct profile_site *site, char *text, size_t size)
{
	if (site->name[0] != '\0')
		snprintf(text, size, "%s", site->name);
	else
		snprintf(text, size, site->big ? "big" : "kmalloc-%" PRIu64, site->class_size);
	return text;
}

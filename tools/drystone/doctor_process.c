/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Whether drystone serves a running process, and which of its libraries go past it. */
#include "doctor.h"
#include "cli.h"
#include "source.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AREA "process"

static const struct target_map *map_of(const struct target *target, uint64_t address)
{
	for (size_t i = 0; i < target->map_count; i++)
		if (address >= target->maps[i].start && address < target->maps[i].end)
			return &target->maps[i];
	return NULL;
}

/* A variable of the environment that the process was started with; "" if it has none. */
static void read_environment(const struct target *target, const char *name, char *value, size_t size)
{
	char path[64], *line = NULL;
	size_t room = 0, length = strlen(name);
	FILE *file;

	value[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)target->thread);
	file = fopen(path, "re");
	while (file != NULL && getdelim(&line, &room, '\0', file) > 0)
		if (strncmp(line, name, length) == 0 && line[length] == '=')
			snprintf(value, size, "%s", line + length + 1);
	free(line);
	if (file != NULL)
		fclose(file);
}

/* Objects whose calls of malloc go to another than the library: opened by dlmopen(), or (deepbind:1) with RTLD_DEEPBIND. */
static void judge_calls(const struct target *target, const char *library)
{
	for (size_t i = 0; i < target->map_count; i++) {
		const struct target_map *map = &target->maps[i], *to;

		if (!map->readable || map->offset != 0 || map->inode == 0 || strcmp(map->path, library) == 0)
			continue;
		to = map_of(target, elf_find_bound(target, map->start, "malloc"));
		/* one that was not called yet leads back into the object itself */
		if (to == NULL || to->inode == 0 || strcmp(to->path, map->path) == 0 || strcmp(to->path, library) == 0 ||
		    strncmp(text_base_name(map->path), "ld-", 3) == 0)
			continue;
		doctor_say(AREA, LEVEL_NOTE, "passed-by", "%s calls malloc in %s: it was opened with RTLD_DEEPBIND or dlmopen()",
			   text_base_name(map->path), text_base_name(to->path));
	}
}

/* What its file says; the link works in other mount namespaces, too. */
static void judge_program(const struct target *target)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)target->thread);
	doctor_program(path);
}

static void judge_service(struct source *source, const struct target *target, const char *library)
{
	const struct walk_options options = { .blocks = true };
	const struct target_map *owner = target_malloc_owner(target);
	struct snapshot s;

	if (!source_read(source, &options, &s)) {
		doctor_say(AREA, LEVEL_NO, "unreadable", "%s", source->error);
		return;
	}
	if (walk_served(&s)) {
		doctor_say(AREA, LEVEL_OK, "serves", "it holds %" PRIu64 " objects and %" PRIu64 " big blocks, after %" PRIu64
			   " allocations", s.sum[SUM_OBJECTS], s.sum[SUM_BIG_BLOCKS], s.sum[SUM_ALLOCS]);
	} else if (owner != NULL) {
		doctor_say(AREA, LEVEL_NO, "serves-nothing", "nothing was allocated from drystone: a malloc of its own has %s",
			   text_base_name(owner->path));
	} else {
		doctor_say(AREA, LEVEL_NOTE, "serves-nothing", "nothing was allocated from drystone so far");
		judge_program(target);
	}
	if (walk_served(&s))
		judge_calls(target, library);
	snapshot_free(&s);
}

static const char *find_library(const struct target *target, const struct dry_inspect *layout)
{
	const struct target_map *map = map_of(target, (uintptr_t)layout->heaps);

	/* the variable may lie in the part of the data that no file has: it follows one that has */
	while (map != NULL && map > target->maps && map->inode == 0)
		map--;
	return map != NULL ? map->path : "";
}

bool doctor_process(pid_t pid)
{
	struct source source = { .pid = pid };
	struct dry_inspect layout = { 0 };
	struct target target;
	char preload[4096];
	enum target_result result = target_open(&target, pid);

	if (result == TARGET_OK)
		result = target_find_layout(&target, true, &layout);
	if (result == TARGET_NO_PROCESS || result == TARGET_ENDED || result == TARGET_NO_PERMISSION) {
		source_explain(&source, result, &layout);
		cli_error("%s", source.error);
		target_close(&target);
		return false;
	}
	read_environment(&target, "LD_PRELOAD", preload, sizeof(preload));
	if (result == TARGET_OK) {
		const char *library = find_library(&target, &layout);
		doctor_say(AREA, LEVEL_OK, "loaded", "%s runs with %s", target.program, library);
		judge_service(&source, &target, library);
	} else if (result == TARGET_OTHER_VERSION) {
		source_explain(&source, result, &layout);
		doctor_say(AREA, LEVEL_NOTE, "version", "%s", source.error);
	} else {
		doctor_say(AREA, LEVEL_NO, "not-loaded", "%s runs without drystone; LD_PRELOAD was %s%s", target.program,
			   preload[0] != '\0' ? "" : "not set", preload);
		judge_program(&target);
	}
	target_close(&target);
	return true;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* drystone info: the slab listing of a running process, from outside. */
#include "cli.h"
#include "walk.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static const char help[] =
	"Usage: drystone info [OPTION]... PID\n"
	"Print the slab listing of a running process in the format of /proc/slabinfo 2.1,\n"
	"without stopping the process or running code in it.\n"
	"\n"
	"  -a, --all   also the further names of caches that share their slabs\n"
	"  -j, --json  as JSON, with counts of allocations\n"
	"  -h, --help  this text\n"
	"\n"
	"Caches of other heaps than malloc's are named HEAP/CACHE. Needs the permission to\n"
	"trace the process. Exit status: 0; 1 if it could not be read; 2 for a wrong call.\n";

struct info {
	bool all, json;
	pid_t pid;
};

static void print_name(const struct walk_cache *cache, char *name, size_t size)
{
	if (cache->default_heap)
		snprintf(name, size, "%s", cache->name);
	else
		snprintf(name, size, "%s/%s", cache->heap, cache->name);
}

static void print_text(const struct walk *walk, bool all)
{
	char name[2 * WALK_NAME];

	puts("slabinfo - version: 2.1");
	puts("# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab>"
	     " : tunables <limit> <batchcount> <sharedfactor>"
	     " : slabdata <active_slabs> <num_slabs> <sharedavail>");
	for (size_t i = 0; i < walk->count; i++) {
		const struct walk_cache *c = &walk->caches[i];

		if (c->alias_of[0] != '\0' && !all)
			continue;
		print_name(c, name, sizeof(name));
		printf("%-17s %6" PRIu64 " %6" PRIu64 " %6" PRIu64 " %4" PRIu64 " %4" PRIu64 " : tunables %4" PRIu64
		       " %4" PRIu64 " %4" PRIu64 " : slabdata %6" PRIu64 " %6" PRIu64 " %6" PRIu64 "\n",
		       name, c->active_objs, c->num_objs, c->size, c->num, c->pages, c->limit, c->batchcount,
		       c->shared_factor, c->active_slabs, c->num_slabs, c->shared_avail);
	}
}

/* Only printable ASCII comes here; quote and backslash are what is left to escape. */
static void print_json_text(const char *key, const char *text)
{
	printf("\"%s\": \"", key);
	for (; *text != '\0'; text++)
		printf(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
	printf("\", ");
}

static void print_json(const struct walk *walk, const struct info *info)
{
	const char *comma = "";

	printf("{\"pid\": %d, \"caches\": [", (int)info->pid);
	for (size_t i = 0; i < walk->count; i++) {
		const struct walk_cache *c = &walk->caches[i];

		if (c->alias_of[0] != '\0' && !info->all)
			continue;
		printf("%s\n  {", comma);
		comma = ",";
		print_json_text("name", c->name);
		print_json_text("heap", c->heap);
		if (c->alias_of[0] != '\0')
			print_json_text("alias_of", c->alias_of);
		printf("\"default_heap\": %s, \"object_size\": %" PRIu64, c->default_heap ? "true" : "false",
		       c->object_size);
		printf(", \"active_objs\": %" PRIu64 ", \"num_objs\": %" PRIu64 ", \"objsize\": %" PRIu64,
		       c->active_objs, c->num_objs, c->size);
		printf(", \"objperslab\": %" PRIu64 ", \"pagesperslab\": %" PRIu64, c->num, c->pages);
		printf(", \"limit\": %" PRIu64 ", \"batchcount\": %" PRIu64 ", \"sharedfactor\": %" PRIu64, c->limit,
		       c->batchcount, c->shared_factor);
		printf(", \"active_slabs\": %" PRIu64 ", \"num_slabs\": %" PRIu64 ", \"sharedavail\": %" PRIu64,
		       c->active_slabs, c->num_slabs, c->shared_avail);
		printf(", \"allocs\": %" PRIu64 ", \"slow_allocs\": %" PRIu64 ", \"slow_frees\": %" PRIu64 "}",
		       c->allocs, c->slow_allocs, c->slow_frees);
	}
	puts("\n]}");
}

/* -1: go on; else the exit status. */
static int parse(struct info *info, int argc, char **argv)
{
	static const struct option options[] = {
		{ "all", no_argument, NULL, 'a' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	char *end;
	long pid;
	int c;

	while ((c = getopt_long(argc, argv, "ajh", options, NULL)) != -1) {
		switch (c) {
		case 'a':
			info->all = true;
			break;
		case 'j':
			info->json = true;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			fputs("Try `drystone info --help`.\n", stderr);
			return CLI_USAGE;
		}
	}
	if (argc - optind != 1) {
		cli_error("info: one PID is expected. Try `drystone info --help`");
		return CLI_USAGE;
	}
	errno = 0;
	pid = strtol(argv[optind], &end, 10);
	if (errno != 0 || end == argv[optind] || *end != '\0' || pid <= 0 || pid > INT_MAX) {
		cli_error("info: \"%s\" is no process id", argv[optind]);
		return CLI_USAGE;
	}
	info->pid = (pid_t)pid;
	return -1;
}

/* The message for a result other than OK. */
static void explain(enum target_result result, int pid, const struct dry_inspect *layout)
{
	switch (result) {
	case TARGET_NO_PROCESS:
		cli_error("no process %d", pid);
		break;
	case TARGET_NO_PERMISSION:
		cli_error("no permission to read process %d: be its owner with /proc/sys/kernel/yama/ptrace_scope at 0, "
			  "or root", pid);
		break;
	case TARGET_NOT_DRYSTONE:
		cli_error("process %d does not run on drystone", pid);
		break;
	case TARGET_OTHER_VERSION:
		cli_error("process %d runs on another drystone (layout version %u, %u bytes, %u-bit); this command reads "
			  "version %u, %u bytes, %u-bit",
			  pid, layout->version, layout->size, layout->pointer_size * 8, DRY_INSPECT_VERSION,
			  (unsigned)sizeof(*layout), (unsigned)sizeof(void *) * 8);
		break;
	case TARGET_OK:
		break;
	}
}

static int report(const struct info *info, const struct target *target, const struct dry_inspect *layout)
{
	struct walk walk;
	int status = 0;

	walk_process(target, layout, &walk);
	if (info->json)
		print_json(&walk, info);
	else
		print_text(&walk, info->all);
	if (walk.damage != NULL) {
		cli_error("process %d could not be read to the end (%s)", (int)info->pid, walk.damage);
		status = CLI_FAILED;
	}
	if (fflush(stdout) != 0 || ferror(stdout)) {
		cli_error("cannot write the listing");
		status = CLI_FAILED;
	}
	walk_free(&walk);
	return status;
}

int cli_info(int argc, char **argv)
{
	static char name[] = "drystone info"; /* for getopt's messages */
	struct info info = { 0 };
	struct dry_inspect layout = { 0 };
	struct target target;
	enum target_result result;
	int status;

	argv[0] = name;
	status = parse(&info, argc, argv);
	if (status >= 0)
		return status;
	result = target_open(&target, info.pid);
	if (result == TARGET_OK)
		result = target_find_layout(&target, &layout);
	if (result == TARGET_OK)
		status = report(&info, &target, &layout);
	else
		explain(result, (int)info.pid, &layout);
	target_close(&target);
	return result == TARGET_OK ? status : CLI_FAILED;
}

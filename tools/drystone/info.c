/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* drystone info: where the memory of a process is, from outside; of a core file; of the running kernel. */
#include "cli.h"
#include "kernel.h"
#include "show.h"
#include "source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_METRICS 200 /* caches in OpenMetrics; the others are one */

enum format { FORMAT_TEXT, FORMAT_SLABINFO, FORMAT_JSON, FORMAT_METRICS };

struct info {
	enum format format;
	struct selection selection;
	enum row_kind part;    /* ROW_CACHE: no parts */
	struct columns columns; /* none: the default ones */
	double interval;       /* seconds; 0: once */
	bool kernel, keys;
	bool older;            /* metrics, in Prometheus' own format */
	struct source source;
};

static bool set_format(struct info *info, enum format format)
{
	if (info->format != FORMAT_TEXT && info->format != format) {
		cli_error("info: one of --slabinfo, --json, --openmetrics and --prometheus at most");
		return false;
	}
	info->format = format;
	return true;
}

static bool set_sort(struct info *info, const char *key)
{
	if (figure_by_key(key, &info->selection.sort))
		return true;
	cli_error("info: no key \"%s\" to sort by; `drystone info --keys` lists them", key);
	return false;
}

static bool set_interval(struct info *info, const char *text)
{
	char *end;

	info->interval = 1;
	if (text == NULL)
		return true;
	info->interval = strtod(text, &end);
	if (end != text && *end == '\0' && info->interval >= 0.05 && info->interval <= 86400)
		return true;
	cli_error("info: \"%s\" is no number of seconds from 0.05 to 86400", text);
	return false;
}

static bool set_option(struct info *info, int letter, char *argument)
{
	switch (letter) {
	case 'a':
		info->selection.aliases = true;
		return true;
	case 'j':
		return set_format(info, FORMAT_JSON);
	case 'm':
	case 'p':
		info->older = letter == 'p';
		return set_format(info, FORMAT_METRICS);
	case 'l':
		return set_format(info, FORMAT_SLABINFO);
	case 's':
		return set_sort(info, argument);
	case 'r':
		info->selection.reverse = true;
		return true;
	case 'f':
		info->selection.filter = argument;
		return true;
	case 'o':
		return columns_parse(&info->columns, argument);
	case 'w':
		return set_interval(info, argument);
	case 'c':
		info->part = ROW_SLOT;
		return true;
	case 'n':
		info->part = ROW_NODE;
		return true;
	case 'k':
		info->kernel = true;
		return true;
	case 'K':
		info->keys = true;
		return true;
	default:
		return false;
	}
}

/* What cannot go together; false after a message. */
static bool is_sensible(const struct info *info)
{
	const char *why = NULL;

	if (info->format == FORMAT_METRICS && info->interval != 0)
		why = "--openmetrics and --prometheus are of one moment: they do not go with --watch";
	else if (info->part != ROW_CACHE && (info->format == FORMAT_METRICS || info->format == FORMAT_SLABINFO || info->kernel))
		why = "--cpu and --node go with the table and --json, and not with --kernel";
	else if (info->columns.count != 0 && info->format != FORMAT_TEXT)
		why = "--columns are those of the table";
	if (why != NULL)
		cli_error("info: %s", why);
	return why == NULL;
}

static int print_keys(void)
{
	printf("%-16s %s\n", "name", "what it is called");
	for (int i = 0; i < FIGURE_COUNT; i++)
		printf("%-16s %s\n", figure_info[i].key, figure_info[i].help);
	return 0;
}

/* -1: go on; else the exit status. */
static int parse(struct info *info, int argc, char **argv)
{
	int letter;

	while ((letter = cli_next_option(&cli_info, argc, argv)) != -1)
		if (!set_option(info, letter, optarg))
			return CLI_USAGE;
	if (!is_sensible(info))
		return CLI_USAGE;
	if (info->keys)
		return print_keys();
	if (info->kernel ? argc != optind : argc - optind != 1) {
		cli_error(info->kernel ? "info: --kernel takes no PID. Try `drystone info --help`" :
					 "info: one PID or core file is expected. Try `drystone info --help`");
		return CLI_USAGE;
	}
	if (!info->kernel && !source_parse(&info->source, argv[optind]))
		return source_refuse("info", argv[optind]);
	if (info->selection.sort == SORT_LISTED && info->format != FORMAT_SLABINFO && info->format != FORMAT_METRICS)
		info->selection.sort = FIG_BYTES;
	info->selection.parts = info->part != ROW_CACHE;
	info->selection.no_empty = info->format == FORMAT_TEXT && !info->selection.aliases && !info->selection.parts;
	return -1;
}

/* Rows of the other kind of parts are not wanted. */
static void drop_other_parts(struct snapshot *s, enum row_kind part)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->count; i++)
		if (!(ON(s->rows[i].kind) & ON_PARTS) || s->rows[i].kind == part)
			s->rows[kept++] = s->rows[i];
	s->count = kept;
}

static bool show(const struct info *info, const struct snapshot *full)
{
	struct snapshot s = snapshot_copy(full);
	struct columns columns;

	drop_other_parts(&s, info->part);
	snapshot_select(&s, &info->selection);
	if (info->format == FORMAT_SLABINFO) {
		show_slabinfo(&s);
	} else if (info->format == FORMAT_JSON) {
		show_json(&s);
	} else if (info->format == FORMAT_METRICS) {
		show_metrics(&s, MOST_METRICS, info->older);
	} else {
		columns_default(&columns, info->selection.parts, s.compared);
		show_summary(&s);
		show_table(&s, info->columns.count != 0 ? &info->columns : &columns);
	}
	snapshot_free(&s);
	return cli_output_is_whole();
}

/* One more snapshot; false: there is none, after a message. */
static bool take(struct info *info, struct snapshot *s)
{
	const struct walk_options options = { .blocks = info->format != FORMAT_SLABINFO,
					      .parts = info->part != ROW_CACHE };
	const char *error;

	if (info->kernel)
		error = kernel_read(s);
	else
		error = source_read(&info->source, &options, s) ? NULL : info->source.error;
	if (error != NULL) {
		cli_error("%s", error);
		snapshot_free(s);
	}
	return error == NULL;
}

static int report(const struct info *info, const struct snapshot *s)
{
	int status = show(info, s) ? 0 : CLI_FAILED;

	if (s->damage != NULL) {
		if (info->source.path != NULL)
			cli_error("core file %s could not be read to the end (%s)", info->source.path, s->damage);
		else
			cli_error("process %d could not be read to the end (%s)", s->pid, s->damage);
		status = CLI_FAILED;
	}
	return status;
}

/* Until the process ends or the output does; a kernel is always there. */
static int watch(struct info *info)
{
	struct snapshot s, older = { 0 };
	bool screen = isatty(STDOUT_FILENO);
	int status = CLI_FAILED;

	for (unsigned n = 0; n == 0 || info->kernel || source_is_there(&info->source); n++) {
		if (!take(info, &s)) {
			status = n == 0 || info->kernel || source_is_there(&info->source) ? CLI_FAILED : 0;
			break;
		}
		if (n != 0 && s.damage != NULL && source_is_ending(&info->source)) {
			snapshot_free(&s);
			status = 0;
			break;
		}
		if (n != 0)
			snapshot_compare(&s, &older);
		snapshot_free(&older);
		older = s;
		if (screen)
			fputs("\033[H\033[J", stdout);
		else if (n != 0 && info->format != FORMAT_JSON)
			putchar('\n');
		status = report(info, &s);
		if (ferror(stdout))
			break;
		cli_wait(info->interval, NULL);
	}
	snapshot_free(&older);
	return status;
}

static int main_info(int argc, char **argv)
{
	struct info info = { .selection.sort = SORT_LISTED };
	struct snapshot s;
	int status = parse(&info, argc, argv);

	if (status >= 0)
		return status;
	if (info.interval != 0 && info.source.path == NULL) /* a core file stays as it is */
		return watch(&info);
	if (!take(&info, &s))
		return CLI_FAILED;
	status = report(&info, &s);
	snapshot_free(&s);
	return status;
}

static const struct cli_option options[] = {
	{ 's', "sort", "KEY", "by which figure, the biggest first, or by name; default: bytes" },
	{ 'r', "reverse", NULL, "the other way round" },
	{ 'f', "filter", "GLOB", "only what has such a name; * ? [] as in the shell" },
	{ 'o', "columns", "KEY,...", "which figures the table has" },
	{ 'w', "watch", "[SECONDS]", "again and again (default: each second), with growth and\nallocations a second" },
	{ 'c', "cpu", NULL, "array caches of each CPU's slot" },
	{ 'n', "node", NULL, "slabs, shared and alien arrays of each memory node" },
	{ 'a', "all", NULL, "also caches without memory, and the further names of caches\nthat share their slabs" },
	{ 'j', "json", NULL, "everything, as JSON" },
	{ 'm', "openmetrics", NULL, "as OpenMetrics, which Prometheus reads" },
	{ 'p', "prometheus", NULL, "the same in Prometheus' older text format, for promtool and\nfiles of node_exporter" },
	{ 'l', "slabinfo", NULL, "the caches in the format of /proc/slabinfo 2.1" },
	{ 'K', "keys", NULL, "list the keys of --sort and --columns" },
	{ 'k', "kernel", NULL, "the running kernel's caches, from /proc/slabinfo" },
	{ 0, NULL, NULL, NULL },
};

const struct cli_command cli_info = {
	.name = "info",
	.main = main_info,
	.synopsis = "[OPTION]... PID\n[OPTION]... CORE\n[OPTION]... --kernel\n--keys",
	.summary = "where the memory of a process is",
	.about = "Print where the memory of a running process is: a summary, then its caches and big blocks by\n"
		 "size. The process is not stopped, and no code runs in it. CORE is a core file.\n",
	.options = options,
	.notes = "Caches of other heaps than malloc's are named HEAP/CACHE. It needs the permission to trace the\n"
		 "process. Exit status: 0; 1 if it could not be read, or not to the end; 2 for a wrong call.\n",
};

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* drystone map: each slab, big block and free page of a process or core file, as a page to look at. */
#include "map.h"
#include "cli.h"
#include "output.h"
#include "source.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_SNAPSHOTS 1000

struct request {
	const char *path;
	unsigned long snapshots; /* of each source */
	double interval;         /* seconds */
	FILE *out;
	struct map_page page;
	int status;
};

static bool set_option(struct request *request, int letter, const char *argument)
{
	char *end = NULL;

	if (letter == 'o') {
		request->path = argument;
		return true;
	}
	if (letter == 'n') {
		request->snapshots = strtoul(argument, &end, 10);
		if (*end == '\0' && argument[0] != '-' && request->snapshots >= 1 && request->snapshots <= MOST_SNAPSHOTS)
			return true;
		cli_error("map: \"%s\" is no number of snapshots from 1 to %d", argument, MOST_SNAPSHOTS);
	} else if (letter == 'i') {
		request->interval = strtod(argument, &end);
		if (end != argument && *end == '\0' && request->interval >= 0.01 && request->interval <= 86400)
			return true;
		cli_error("map: \"%s\" is no number of seconds from 0.01 to 86400", argument);
	}
	return false;
}

static void put(struct request *request, const struct source *source, const struct snapshot *s)
{
	if (request->out == NULL && (request->out = output_open(request->path)) == NULL) {
		cli_error("cannot write %s: %s", request->path, strerror(errno));
		exit(CLI_FAILED);
	}
	if (request->page.snapshots == 0)
		map_page_begin(&request->page, request->out, s);
	map_page_add(&request->page, s);
	if (s->note[0] != '\0')
		cli_error("%s", s->note);
	if (s->damage != NULL) {
		cli_error("%s %d could not be read to the end (%s)",
			  source->path != NULL ? "core file of process" : "process", s->pid, s->damage);
		request->status = CLI_FAILED;
	}
}

/* One more snapshot in the page, after `taken` of this source; false: there is none, after a message. */
static bool add(struct request *request, struct source *source, unsigned long taken)
{
	const struct walk_options options = { .blocks = true, .map = true };
	struct snapshot s;
	bool good = source_read(source, &options, &s), ended = false;

	if (taken != 0) /* what was read of one that ends meanwhile is not whole */
		ended = good ? s.damage != NULL && source_is_ending(source) : !source_is_there(source);
	if (ended) {
		cli_error("process %d ended after %lu of %lu snapshots", (int)source->pid, taken, request->snapshots);
	} else if (good) {
		put(request, source, &s);
	} else {
		cli_error("%s", source->error);
		request->status = CLI_FAILED;
	}
	snapshot_free(&s);
	return good && !ended;
}

static void add_all(struct request *request, struct source *source)
{
	unsigned long wanted = source->path != NULL ? 1 : request->snapshots;

	for (unsigned long n = 0; n < wanted; n++) {
		if (n != 0)
			cli_wait(request->interval, &cli_interrupted);
		if (n != 0 && cli_interrupted) {
			cli_error("map: interrupted after %lu of %lu snapshots", n, wanted);
			return;
		}
		if (!add(request, source, n))
			return;
	}
}

static int main_map(int argc, char **argv)
{
	struct request request = { .snapshots = 1, .interval = 1 };
	struct source source;
	int letter;

	while ((letter = cli_next_option(&cli_map, argc, argv)) != -1)
		if (!set_option(&request, letter, optarg))
			return CLI_USAGE;
	if (request.path == NULL || optind == argc) {
		cli_error("map: --html FILE and a PID or core file are expected. Try `drystone map --help`");
		return CLI_USAGE;
	}
	for (int i = optind; i < argc; i++)
		if (!source_parse(&source, argv[i]))
			return source_refuse("map", argv[i]);
	if (request.snapshots > 1) /* minutes of them are not to be lost */
		cli_catch_signals((const int[]){ SIGINT, 0 });
	for (int i = optind; i < argc && request.status == 0 && !cli_interrupted; i++) {
		source_parse(&source, argv[i]);
		add_all(&request, &source);
	}
	if (request.out == NULL)
		return request.status;
	map_page_end(&request.page);
	if (!output_close(request.out)) {
		cli_error("cannot write %s: %s", request.path, strerror(errno));
		return CLI_FAILED;
	}
	return request.status;
}

static const struct cli_option options[] = {
	{ 'o', "html", "FILE", "where to write the page" },
	{ 'n', "snapshots", "NUMBER", "so many, one after the other, or until ^C; the page has a slider for them" },
	{ 'i', "interval", "SECONDS", "time between two of them; default: 1" },
	{ 0, NULL, NULL, NULL },
};

const struct cli_command cli_map = {
	.name = "map",
	.main = main_map,
	.synopsis = "--html FILE [OPTION]... PID|CORE...",
	.summary = "a picture of a heap: slabs, big blocks, free pages",
	.about = "Write a page that shows the memory of a running process, to scale: each slab is a cell, its colour\n"
		 "is its cache, and it is filled as far as it is used; big blocks, free pages. The process is not\n"
		 "stopped, and no code runs in it. CORE is a core file; several are several snapshots.\n",
	.options = options,
	.notes = "The page needs nothing but a browser, and no network. It needs the permission to trace the process.\n"
		 "Exit status: 0; 1 if it could not be read, or not to the end; 2 for a wrong call.\n",
};

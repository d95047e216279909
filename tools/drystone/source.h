/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What a user names to look at: a process or a core file; kept open between snapshots. */
#ifndef DRYSTONE_SOURCE_H
#define DRYSTONE_SOURCE_H

#include "walk.h"

struct source {
	pid_t pid;
	const char *path; /* of a core file; NULL: a process */
	char error[512];  /* why the last reading failed */
};

/* false: it is neither the id of a process nor the name of a file. */
bool source_parse(struct source *source, const char *text);
/* Say why not, of such a text; what has a slash was meant to be a file. The exit status. */
int source_refuse(const char *command, const char *text);
/* Whether the process still exists; a core file always does. */
bool source_is_there(const struct source *source);
/* A process that could not be read to the end may be ending: its memory goes before it counts as ended, a moment later. */
bool source_is_ending(const struct source *source);
/* Set source->error for a result other than OK. */
void source_explain(struct source *source, enum target_result result, const struct dry_inspect *layout);
/* false: see source->error. */
bool source_read(struct source *source, const struct walk_options *options, struct snapshot *snapshot);

#endif

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "source.h"
#include "cli.h"
#include "text.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENDING_TRIES 50
#define ENDING_WAIT  0.01 /* seconds */

bool source_parse(struct source *source, const char *text)
{
	char *end;
	long pid;

	errno = 0;
	pid = strtol(text, &end, 10);
	if (errno == 0 && end != text && *end == '\0') {
		*source = (struct source){ .pid = (pid_t)pid };
		return pid > 0 && pid <= INT_MAX;
	}
	*source = (struct source){ .path = text };
	return access(text, F_OK) == 0;
}

int source_refuse(const char *command, const char *text)
{
	if (strchr(text, '/') != NULL && access(text, F_OK) != 0) {
		cli_error("%s: %s: %s", command, text, strerror(errno));
		return CLI_FAILED;
	}
	cli_error("%s: \"%s\" is neither a process id nor a core file", command, text);
	return CLI_USAGE;
}

bool source_is_there(const struct source *source)
{
	return source->path != NULL || ((kill(source->pid, 0) == 0 || errno != ESRCH) && !target_has_ended(source->pid));
}

bool source_is_ending(const struct source *source)
{
	for (unsigned tries = 0; tries < ENDING_TRIES && source_is_there(source); tries++)
		cli_wait(ENDING_WAIT, NULL);
	return !source_is_there(source);
}

static void name_source(const struct source *source, char *what, size_t size)
{
	if (source->path != NULL)
		snprintf(what, size, "core file %s", source->path);
	else
		snprintf(what, size, "process %d", (int)source->pid);
}

void source_explain(struct source *source, enum target_result result, const struct dry_inspect *layout)
{
	size_t size = sizeof(source->error);
	char what[256];

	name_source(source, what, sizeof(what));

	if (result == TARGET_NO_PROCESS)
		snprintf(source->error, size, "no %s", what);
	else if (result == TARGET_ENDED)
		snprintf(source->error, size, "%s has ended", what);
	else if (result == TARGET_NO_PERMISSION)
		snprintf(source->error, size,
			 "no permission to read %s: be its owner with /proc/sys/kernel/yama/ptrace_scope at 0, or root "
			 "with CAP_SYS_PTRACE (containers: --cap-add SYS_PTRACE)", what);
	else if (result == TARGET_NOT_DRYSTONE)
		snprintf(source->error, size, "%s does not run on drystone", what);
	else if (result == TARGET_CUT)
		snprintf(source->error, size, "%s is cut short, and drystone is not in what is left of it", what);
	else
		snprintf(source->error, size,
			 "%s runs on another drystone (layout version %u, %u bytes, %u-bit); this command reads version %u, "
			 "%u bytes, %u-bit",
			 what, layout->version, layout->size, layout->pointer_size * 8, DRY_INSPECT_VERSION,
			 (unsigned)sizeof(*layout), (unsigned)sizeof(void *) * 8);
}

/* Said when the library is there and nothing came from it. */
static void note_owner(const struct target *target, struct snapshot *snapshot)
{
	const struct target_map *owner;

	if (target->core != NULL && core_is_cut(target->core)) {
		snprintf(snapshot->note, sizeof(snapshot->note), "The core file is cut short.");
		if (snapshot->damage != NULL)
			snapshot->damage = "it is cut short";
	}
	if (snapshot->damage != NULL || walk_served(snapshot))
		return;
	owner = target_malloc_owner(target);
	if (owner != NULL) {
		snprintf(snapshot->note, sizeof(snapshot->note),
			 "%s brings its own malloc: drystone is loaded, and serves nothing.", text_base_name(owner->path));
		text_make_line(snapshot->note);
	} else {
		snprintf(snapshot->note, sizeof(snapshot->note),
			 "Nothing was allocated from drystone: the program may have an allocator of its own.");
	}
}

bool source_read(struct source *source, const struct walk_options *options, struct snapshot *snapshot)
{
	struct dry_inspect layout = { 0 };
	struct target target;
	enum target_result result;
	const char *error = NULL;
	char what[256];

	memset(snapshot, 0, sizeof(*snapshot));
	if (source->path != NULL) {
		error = target_open_core(&target, source->path);
		result = TARGET_OK;
	} else {
		result = target_open(&target, source->pid);
	}
	if (error == NULL && result == TARGET_OK)
		result = target_find_layout(&target, true, &layout);
	if (error != NULL) {
		name_source(source, what, sizeof(what));
		snprintf(source->error, sizeof(source->error), "%s cannot be read: %s", what, error);
	} else if (result == TARGET_OK) {
		walk_target(&target, &layout, options, snapshot);
		note_owner(&target, snapshot);
	} else {
		source_explain(source, result, &layout);
	}
	target_close(&target);
	return error == NULL && result == TARGET_OK;
}

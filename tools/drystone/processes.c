/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "processes.h"
#include "cli.h"
#include "walk.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a snapshot of a process says of it in one row. */
static void add_process(struct snapshot *list, const struct snapshot *s)
{
	struct row *row = snapshot_add(list, ROW_PROCESS);

	row->id = row->index = (unsigned)s->pid;
	row->default_heap = true;
	memcpy(row->name, s->program, sizeof(row->name));
	row->name[sizeof(row->name) - 1] = '\0';
	row->v[FIG_BYTES] = s->sum[SUM_ACTIVE] + s->sum[SUM_RETAINED] + s->sum[SUM_METADATA];
	row->v[FIG_LIVE] = s->sum[SUM_ALLOCATED];
	row->v[FIG_WASTE] = s->sum[SUM_WASTE];
	row->v[FIG_RESIDENT] = s->sum[SUM_RSS];
	row->v[FIG_ACTIVE] = s->sum[SUM_OBJECTS] + s->sum[SUM_BIG_BLOCKS];
	row->v[FIG_ALLOCS] = s->sum[SUM_ALLOCS];
}

static enum target_result read_process(struct snapshot *list, pid_t pid)
{
	const struct walk_options options = { .blocks = true };
	struct dry_inspect layout;
	struct target target;
	struct snapshot s;
	enum target_result result = target_open(&target, pid);

	if (result == TARGET_OK)
		result = target_find_layout(&target, false, &layout);
	if (result == TARGET_OK) {
		walk_target(&target, &layout, &options, &s);
		add_process(list, &s);
		snapshot_free(&s);
	}
	target_close(&target);
	return result;
}

unsigned processes_read(struct snapshot *snapshot)
{
	unsigned refused = 0;
	struct dirent *entry;
	DIR *folder = opendir("/proc");

	memset(snapshot, 0, sizeof(*snapshot));
	snapshot->when = cli_now();
	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0 && pid != getpid() && read_process(snapshot, pid) == TARGET_NO_PERMISSION)
			refused++;
	}
	if (folder != NULL)
		closedir(folder);
	snapshot_sum(snapshot);
	return refused;
}

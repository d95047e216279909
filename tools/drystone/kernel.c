/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The caches of the running kernel, from /proc/slabinfo 2.1, as a snapshot like that of a process. */
#include "kernel.h"
#include "cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool add_line(struct snapshot *s, const char *line, uint64_t page)
{
	char name[ROW_NAME];
	uint64_t v[11];

	if (sscanf(line,
		   "%63s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " : tunables %" SCNu64 " %" SCNu64 " %" SCNu64
		   " : slabdata %" SCNu64 " %" SCNu64 " %" SCNu64,
		   name, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7], &v[8], &v[9], &v[10]) != 12)
		return false;
	static const enum figure order[] = { FIG_ACTIVE, FIG_TOTAL, FIG_SIZE, FIG_PER_SLAB, FIG_PAGES, FIG_LIMIT, FIG_BATCH,
					     FIG_FACTOR, FIG_ACTIVE_SLABS, FIG_SLABS, FIG_SHARED };
	struct row *row = snapshot_add(s, ROW_CACHE);
	memcpy(row->name, name, sizeof(name));
	strcpy(row->heap, "kernel");
	row->default_heap = true;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		row->v[order[i]] = v[i];
	row->v[FIG_ASKED] = row->v[FIG_SIZE];
	row->v[FIG_BYTES] = row->v[FIG_SLABS] * row->v[FIG_PAGES] * page;
	row->v[FIG_LIVE] = row->v[FIG_ACTIVE] * row->v[FIG_SIZE];
	row->v[FIG_WASTE] = row->v[FIG_BYTES] > row->v[FIG_LIVE] ? row->v[FIG_BYTES] - row->v[FIG_LIVE] : 0;
	row->v[FIG_FREE_OBJS] = row->v[FIG_TOTAL] > row->v[FIG_ACTIVE] ? row->v[FIG_TOTAL] - row->v[FIG_ACTIVE] : 0;
	row->v[FIG_IN_SLABS] = row->v[FIG_FREE_OBJS] * row->v[FIG_SIZE];
	row->v[FIG_CACHED] = row->v[FIG_SHARED] * row->v[FIG_SIZE];
	uint64_t full = row->v[FIG_LIVE] + row->v[FIG_IN_SLABS];
	sum_add(s, SUM_CACHES, 1);
	sum_add(s, SUM_OBJECTS, row->v[FIG_ACTIVE]);
	sum_add(s, SUM_LIVE_OBJECTS, row->v[FIG_LIVE]);
	sum_add(s, SUM_IN_SLABS, row->v[FIG_IN_SLABS]);
	sum_add(s, SUM_SLAB_ENDS, row->v[FIG_BYTES] > full ? row->v[FIG_BYTES] - full : 0);
	return true;
}

const char *kernel_read(struct snapshot *s)
{
	const char *error = NULL;
	char line[1024];
	FILE *file = fopen("/proc/slabinfo", "re");

	memset(s, 0, sizeof(*s));
	if (file == NULL)
		return errno == ENOENT ? "this kernel has no /proc/slabinfo" :
		       errno == EACCES ? "only root may read /proc/slabinfo" : strerror(errno);
	s->when = cli_now();
	strcpy(s->program, "kernel");
	while (error == NULL && fgets(line, sizeof(line), file) != NULL) {
		if (strncmp(line, "slabinfo - version: ", 20) == 0) {
			if (strncmp(line + 20, "2.1", 3) != 0)
				error = "/proc/slabinfo is of another version than 2.1";
		} else if (line[0] != '#' && !add_line(s, line, (uint64_t)sysconf(_SC_PAGESIZE))) {
			error = "a line of /proc/slabinfo makes no sense";
		}
	}
	fclose(file);
	snapshot_sum(s);
	return error;
}

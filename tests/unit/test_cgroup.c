/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Memory limits of control groups, read from trees of files as Linux has them: one kind, the other, both; the least of all
 * groups on the way up; groups that are not seen in a container; no limit.
 * DRY_TEST_NO_POSIX: that port does not read them. DRY_TEST_NO_NORSEQ: files.
 */
#define _GNU_SOURCE 1
#include "port/linux/cgroup.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/check.h"

static char root[64], list[80];
static struct dry_cgroup_room room;

static void put(const char *path, const char *text)
{
	char name[256];
	FILE *file;

	snprintf(name, sizeof(name), "%s%s", root, path);
	for (char *slash = strchr(name + strlen(root) + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(name, 0755);
		*slash = '/';
	}
	file = fopen(name, "w");
	CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static size_t limit(const char *groups)
{
	put("/list", groups);
	return dry_linux_cgroup_limit(list, root, &room);
}

/* As in a container of the first kind: paths of the host's, and what counts is in the last lines. */
static void long_lists(void)
{
	static char text[16384];
	size_t length = 0;

	for (int line = 13; line > 1; line--)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%d:kind%d:/%0200d\n", line, line, line);
	snprintf(text + length, sizeof(text) - length, "1:memory:/x\n0::/z\n");
	CHECK_EQ(limit(text), 300000);
	snprintf(text + length, sizeof(text) - length, "1:memory:/x\n0::/z");
	CHECK_EQ(limit(text), 400000);
	for (size_t more = 0; more < 2100; more += 13) { /* lines that end near the end of what is read at once, and longer ones */
		snprintf(text + length, sizeof(text) - length, "1:memory:/%0*d\n0::/z\n", (int)more, 1);
		CHECK_EQ(limit(text), 300000);
		snprintf(text, sizeof(text), "2:memory:/x\n3:cpu:/%0*d\n", (int)(3 * more), 1);
		CHECK_EQ(limit(text), 400000);
		snprintf(text, sizeof(text), "3:cpu:/%0*d\n2:memory:/x\n", (int)(3 * more), 1);
		CHECK_EQ(limit(text), 400000);
		snprintf(text, sizeof(text), "3:cpu:/%0*d2:memory:/x\n", (int)(3 * more), 1);
		CHECK_EQ(limit(text), SIZE_MAX);
		length = 0;
	}
	/* of which no path is known; its mount is seen */
	snprintf(text, sizeof(text), "2:memory:/%05000d\n", 1);
	CHECK_EQ(limit(text), (size_t)9223372036854771712u);
}

int main(void)
{
	const char *folder = getenv("TMPDIR");
	char command[96];

	snprintf(root, sizeof(root), "%.40s/groups-XXXXXX", folder != NULL ? folder : "/tmp");
	CHECK(mkdtemp(root) != NULL);
	snprintf(list, sizeof(list), "%s/list", root);
	CHECK_EQ(dry_linux_cgroup_limit(list, root, &room), SIZE_MAX); /* no file */
	put("/a/b/memory.max", "max\n");
	put("/a/memory.max", "3000000\n");
	CHECK_EQ(limit("0::/a/b\n"), 3000000);
	CHECK_EQ(limit("0::/a/b/not/seen\n"), 3000000);
	CHECK_EQ(limit("0::/elsewhere\n"), SIZE_MAX);
	put("/a/b/memory.max", "2000000\n");
	CHECK_EQ(limit("0::/a/b\n"), 2000000);
	CHECK_EQ(limit("0::/a\n"), 3000000);
	put("/memory.max", "1000000\n"); /* as in a container */
	CHECK_EQ(limit("0::/\n"), 1000000);
	CHECK_EQ(limit("0::/docker/0123456789\n"), 1000000);
	CHECK_EQ(limit("0::/a/b"), SIZE_MAX); /* not a whole line */
	put("/memory.max", "99999999999999999999999\n");
	CHECK_EQ(limit("0::/\n"), SIZE_MAX);
	put("/memory/x/memory.limit_in_bytes", "400000\n");
	put("/memory/memory.limit_in_bytes", "9223372036854771712\n");
	CHECK_EQ(limit("5:cpu,cpuacct:/a\n4:hugetlb,memory:/x\n0::/\n"), 400000);
	CHECK_EQ(limit("4:memory:/x\n0::/a\n"), 400000);
	CHECK_EQ(limit("4:memory:/y\n"), (size_t)9223372036854771712u);
	CHECK_EQ(limit("4:memoryless,nomemory:/x\n"), SIZE_MAX);
	put("/unified/z/memory.max", "300000\n");
	CHECK_EQ(limit("4:memory:/x\n0::/z\n"), 300000);
	CHECK_EQ(limit("\n:\n::\n4:memory\n"), SIZE_MAX);
	long_lists();
	snprintf(command, sizeof(command), "rm -r '%s'", root);
	CHECK_EQ(system(command), 0);
	return 0;
}

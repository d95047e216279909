/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the kernel, the C library and the limits give. */
#define _GNU_SOURCE
#include "doctor.h"
#include "show.h"

#include <inttypes.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define AREA "machine"
#ifndef AT_RSEQ_FEATURE_SIZE
#define AT_RSEQ_FEATURE_SIZE 27
#endif
#define NODE_ID_END 24 /* bytes of struct rseq up to the end of node_id, of mm_cid */
#define MM_CID_END  28

extern const unsigned int __rseq_size __attribute__((weak));

/* The first line of a file, without its end; "" if it cannot be read. */
static const char *first_line(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "re");

	if (file == NULL || fgets(text, (int)size, file) == NULL)
		text[0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (file != NULL)
		fclose(file);
	return text;
}

static void judge_kernel(void)
{
	struct utsname name;
	char nodes[64];

	uname(&name);
	first_line("/sys/devices/system/node/online", nodes, sizeof(nodes));
	doctor_say(AREA, LEVEL_OK, "kernel", "%s %s, %s: %ld processors, memory nodes %s, pages of %ld KiB",
		   name.sysname, name.release,
		   name.machine, sysconf(_SC_NPROCESSORS_ONLN), nodes[0] != '\0' ? nodes : "0", sysconf(_SC_PAGESIZE) / 1024);
}

static void judge_sequences(void)
{
	unsigned long features = getauxval(AT_RSEQ_FEATURE_SIZE);
	long barriers = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
	bool registered = &__rseq_size != NULL && __rseq_size != 0;
	bool fenced = barriers >= 0 && (barriers & MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ) != 0;
	/* as the library judges: a kernel that tells features can fence, and a filter may forbid to ask */
	bool used = registered && (features != 0 || fenced || prctl(PR_GET_SECCOMP) != 0);

	if (used)
		doctor_say(AREA, LEVEL_OK, "rseq", "restartable sequences: one set of arrays per CPU, without locks");
	else if (!registered)
		doctor_say(AREA, LEVEL_NOTE, "rseq",
			   "no restartable sequences (kernel before 4.18, C library before 2.35, or switched "
						     "off by GLIBC_TUNABLES): one set of arrays per thread");
	else
		doctor_say(AREA, LEVEL_NOTE, "rseq", "restartable sequences, but no fence for them: one set of arrays per thread");
	if (used && features >= MM_CID_END)
		doctor_say(AREA, LEVEL_OK, "mm_cid", "compact CPU ids (mm_cid): only as many arrays as threads run at once");
	else if (used)
		doctor_say(AREA, LEVEL_NOTE, "mm_cid",
			   "no compact CPU ids (mm_cid, kernel 6.3): arrays of every CPU fill with time");
	if (used && features < NODE_ID_END)
		doctor_say(AREA, LEVEL_NOTE, "node_id",
			   "no memory node beside the CPU number (kernel 6.3): it is asked for by getcpu()");
	if (fenced)
		doctor_say(AREA, LEVEL_OK, "membarrier", "membarrier for sequences: other CPUs' arrays can be emptied");
	else
		doctor_say(AREA, LEVEL_NOTE, "membarrier", "no membarrier for sequences (kernel before 5.10, or forbidden): %s",
			   used ? "arrays of other CPUs cannot be emptied" : "one set of arrays per thread");
}

static void judge_memory(void)
{
	char text[128];
	const char *chosen = strchr(first_line("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof(text)), '[');

	if (chosen != NULL) {
		bool always = strncmp(chosen, "[always]", 8) == 0;
		doctor_say(AREA, always ? LEVEL_NOTE : LEVEL_OK, "thp", "transparent huge pages: %.*s%s",
			   (int)strcspn(chosen + 1, "]"), chosen + 1,
			   always ? "; a resident size may count memory that was never touched" : "");
	}
	first_line("/proc/sys/vm/overcommit_memory", text, sizeof(text));
	if (strcmp(text, "2") == 0)
		doctor_say(AREA, LEVEL_NOTE, "overcommit",
			   "overcommit_memory is 2: memory is refused when all that was promised is counted");
	else
		doctor_say(AREA, LEVEL_OK, "overcommit", "overcommit_memory is %s", text[0] != '\0' ? text : "not known");
	first_line("/proc/sys/vm/max_map_count", text, sizeof(text));
	if (text[0] != '\0' && strtoull(text, NULL, 10) < 65530)
		doctor_say(AREA, LEVEL_NOTE, "max_map_count",
			   "only %s mappings in a process: extents and guarded blocks take some each", text);
}

static void judge_limit(pid_t pid, int resource, const char *key, const char *name)
{
	struct rlimit limit;
	char text[32];

	if (prlimit(pid, resource, NULL, &limit) != 0)
		return;
	if (limit.rlim_cur == RLIM_INFINITY)
		doctor_say(AREA, LEVEL_OK, key, "no limit of %s", name);
	else {
		format_bytes(text, sizeof(text), limit.rlim_cur);
		doctor_say(AREA, LEVEL_NOTE, key, "%s is limited to %s", name, text);
	}
}

/* The lowest limit of the group and those that hold it, the root among them: a container sees its own group as that. */
static uint64_t least_limit(uint64_t least, const char *tree, const char *group, const char *file)
{
	char path[1200], text[64];

	for (size_t n = strlen(group) + 1; n-- > 0;) {
		if (group[n] != '/' && group[n] != '\0')
			continue;
		snprintf(path, sizeof(path), "/sys/fs/cgroup%s%.*s/%s", tree, (int)n, group, file);
		first_line(path, text, sizeof(text));
		if (text[0] >= '0' && text[0] <= '9' && strtoull(text, NULL, 10) < least)
			least = strtoull(text, NULL, 10);
	}
	return least;
}

/* A line is "NUMBER:KINDS:GROUP"; without kinds it is of version 2. */
static uint64_t limit_by(char *line, uint64_t least)
{
	char *rest = line, *kind, *group;
	bool limits = false;

	line[strcspn(line, "\n")] = '\0';
	(void)strsep(&rest, ":");
	kind = strsep(&rest, ":");
	group = rest;
	if (group == NULL)
		return least;
	if (kind[0] == '\0') {
		least = least_limit(least, "", group, "memory.max");
		return least_limit(least, "/unified", group, "memory.max");
	}
	while ((rest = strsep(&kind, ",")) != NULL)
		limits |= strcmp(rest, "memory") == 0;
	return limits ? least_limit(least, "/memory", group, "memory.limit_in_bytes") : least;
}

static void judge_group(pid_t pid)
{
	char path[64], line[1024], text[64];
	uint64_t least = UINT64_MAX;
	FILE *file;

	snprintf(path, sizeof(path), pid != 0 ? "/proc/%d/cgroup" : "/proc/self/cgroup", (int)pid);
	file = fopen(path, "re");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		least = limit_by(line, least);
	if (file != NULL)
		fclose(file);
	if (least > INT64_MAX / 2) { /* no limit is in version 1 what is left of INT64_MAX in whole pages */
		doctor_say(AREA, LEVEL_OK, "cgroup", "no limit of memory by a control group");
		return;
	}
	format_bytes(text, sizeof(text), least);
	doctor_say(AREA, LEVEL_NOTE, "cgroup", "its control group is limited to %s of memory", text);
}

static void judge_tracing(void)
{
	char text[32];

	first_line("/proc/sys/kernel/yama/ptrace_scope", text, sizeof(text));
	if (text[0] == '\0' || strcmp(text, "0") == 0)
		doctor_say(AREA, LEVEL_OK, "tracing", "drystone info and top may read your own processes");
	else
		doctor_say(AREA, LEVEL_NOTE, "tracing",
			   "ptrace_scope is %s: drystone info and top need root for most processes", text);
}

void doctor_machine(pid_t pid)
{
	judge_kernel();
	judge_sequences();
	judge_memory();
	judge_limit(pid, RLIMIT_AS, "ulimit-v", "address space (ulimit -v)");
	judge_limit(pid, RLIMIT_DATA, "ulimit-d", "data (ulimit -d)");
	judge_group(pid);
	judge_tracing();
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * secure:1: behind slabs are pages that fault, in the process, in what it forks, and after it asked for a filter on system calls;
 * slabs come and go meanwhile. Where the system can have such pages without a mapping for each, there are few mappings; where it
 * only says that it can, there are some all the same.
 * DRY_TEST_NO_POSIX: there each fence is a mapping. DRY_TEST_NO_NORSEQ: nothing of it depends on sequences.
 */
#define _GNU_SOURCE 1
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/check.h"
#include "../support/seccomp.h"

#define BLOCKS 20000
#define BYTES  1000 /* 32 in a slab */
#define SLAB   ((size_t)32 << 10)
#define FEW    200 /* mappings of all but fences, and of guarded blocks */

#define GUARD_INSTALL 102 /* MADV_GUARD_INSTALL: headers of 6.13 */

static char *block[BLOCKS];
static int ends[2];

/* Whether the kernel can read the page: it says so, where we would fault. */
static bool faults(const void *page)
{
	char byte;
	bool bad = write(ends[1], page, 1) != 1;

	CHECK(bad || read(ends[0], &byte, 1) == 1);
	return bad;
}

static bool has_guards(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool has = at != MAP_FAILED && madvise(at, page, GUARD_INSTALL) == 0 && faults(at);

	munmap(at, page);
	return has;
}

static unsigned mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned count = 0;
	int c;

	CHECK(maps);
	while ((c = getc(maps)) != EOF)
		count += c == '\n';
	fclose(maps);
	return count;
}

static void fill(void)
{
	for (size_t i = 0; i < BLOCKS; i++) {
		CHECK(block[i] = malloc(BYTES));
		memset(block[i], (int)i, BYTES);
	}
}

/* Slabs go, wait, and are made anew. */
static void turn_over(void)
{
	for (size_t i = 0; i < BLOCKS; i++) {
		CHECK(block[i][0] == (char)i && block[i][BYTES - 1] == (char)i);
		free(block[i]);
	}
	fill();
}

/* Of all blocks some have a page that faults within the next slab. */
static void check_fences(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), found = 0, asked = 0;

	for (size_t i = 0; i < BLOCKS; i += 100, asked++) {
		uintptr_t at = (uintptr_t)block[i] / page * page, end = at + 2 * SLAB;
		while (at < end && !faults((void *)at))
			at += page;
		found += at < end;
	}
	CHECK(found > asked / 10);
}

static void secure(bool guards)
{
	/* a program's own filter, which knows the calls that libc makes */
	static const int calls[] = { LEAST, SYS_read };
	int status;
	pid_t pid;

	fill();
	for (int i = 0; i < 4; i++)
		turn_over();
	check_fences();
	CHECK(!guards || mappings() < FEW);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		check_fences();
		turn_over();
		check_fences();
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	seccomp_install(calls, sizeof(calls) / sizeof(calls[0]), 1, 0);
	for (int i = 0; i < 4; i++)
		turn_over();
	check_fences();
}

/* As an emulator that knows of no such advice: it is told that all is well, and nothing is done. */
static void ignore_guards(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, GUARD_INSTALL, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0));
}

static void run(char *name, bool guards, bool ignored)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		if (ignored)
			ignore_guards();
		execl("/proc/self/exe", name, guards ? "1" : "0", (char *)NULL);
		_exit(127);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

int main(int argc, char **argv)
{
	CHECK(pipe(ends) == 0);
	if (argc > 1) {
		secure(argv[1][0] == '1');
		return 0;
	}
	bool guards = has_guards();
	setenv("DRYSTONE_CONF", "secure:1", 1);
	run(argv[0], guards, false);
	run(argv[0], false, true);
	printf("fences: %s\n", guards ? "no mappings" : "mappings");
	return 0;
}

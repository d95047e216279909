/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A process that can open no file, /proc among them, and whose limit of memory is of interest (thp:auto): it goes on, and the locks
 * of looks are taken in order (debug builds see to that).
 * DRY_TEST_NO_POSIX: that port reads no files.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../support/check.h"

#define BLOCKS 20000
#define BYTES  2000

/* By number: the library does not know of it. */
static void close_files(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOENT),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	CHECK(!syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1ul, 0ul, 0ul, 0ul));
	CHECK(!syscall(SYS_prctl, PR_SET_SECCOMP, (unsigned long)SECCOMP_MODE_FILTER, &program, 0ul, 0ul));
}

static void *work(void *arg)
{
	char **block = malloc(BLOCKS * sizeof(*block));

	CHECK(block);
	for (size_t i = 0; i < BLOCKS; i++) {
		CHECK(block[i] = malloc(BYTES));
		memset(block[i], 1, BYTES);
	}
	for (size_t i = 0; i < BLOCKS; i++)
		free(block[i]);
	free(block);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t ids[2];

	if (argc == 1) {
		setenv("DRYSTONE_CONF", "thp:auto", 1);
		execl("/proc/self/exe", argv[0], "closed", (char *)NULL);
		return 9;
	}
	close_files();
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_create(&ids[i], NULL, work, NULL));
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_join(ids[i], NULL));
	return 0;
}

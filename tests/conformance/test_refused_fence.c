/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Where the kernel refuses to interrupt other threads (membarrier under a filter), sampling that begins while there are some is
 * refused as drystone.h says, and nothing else changes: blocks come and go as before.
 * DRY_TEST_NO_POSIX: that port knows no filters. DRY_TEST_NOT_TINY, DRY_TEST_NO_SANITIZER: nothing is sampled there.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "../support/check.h"
#include "drystone/drystone.h"

static atomic_int stop, rounds;

static void refuse_membarrier(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0));
}

static void churn(unsigned seed)
{
	unsigned char *live[64] = { 0 };

	for (unsigned i = 0, x = seed; i < 20000; i++) {
		unsigned char **place = &live[(x = x * 1103515245 + 12345) >> 16 & 63];
		CHECK(*place == NULL || **place == (unsigned char)(place - live));
		free(*place);
		CHECK(*place = malloc(16 + (x >> 8) % 500));
		**place = (unsigned char)(place - live);
	}
	for (unsigned i = 0; i < 64; i++)
		free(live[i]);
}

static void *other(void *arg)
{
	(void)arg;
	while (!atomic_load(&stop)) {
		churn(2);
		atomic_fetch_add(&rounds, 1);
	}
	return NULL;
}

static void count_bytes(void *arg, const char *text, size_t bytes)
{
	(void)text;
	*(size_t *)arg += bytes;
}

int main(void)
{
	pthread_t thread;
	size_t bytes = 0;

	refuse_membarrier();
	churn(1);
	CHECK(!pthread_create(&thread, NULL, other, NULL));
	while (atomic_load(&rounds) < 3)
		churn(3);
	CHECK(dry_profile_heap(4096) == -EAGAIN && dry_guard(1000) == -EAGAIN);
	for (int before = atomic_load(&rounds); atomic_load(&rounds) < before + 3;)
		churn(4);
	CHECK(!dry_profile_heap(0) && !dry_guard(0));
	atomic_store(&stop, 1);
	CHECK(!pthread_join(thread, NULL));
	churn(5);
	dry_heap_slabinfo(NULL, count_bytes, &bytes);
	CHECK(bytes > 100);
	return 0;
}

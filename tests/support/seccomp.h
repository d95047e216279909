/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Filters on system calls, as lists of what they allow. */
#ifndef DRY_TEST_SECCOMP_H
#define DRY_TEST_SECCOMP_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "glibc.h"

/* What glibc's malloc, stdio and the end of a process and of a thread need. */
#define LEAST                                                                                         \
	SYS_brk, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise, SYS_futex, SYS_getrandom, \
		SYS_write, SYS_exit, SYS_exit_group, SYS_rt_sigreturn
#ifdef __GLIBC__
#define FIRST_THREAD SYS_clone
#define OTHERS       SYS_execve
#define RARE         SYS_membarrier /* what libc does not ask for */
#else /* musl's ways */
#define FIRST_THREAD SYS_membarrier
#define RARE         SYS_getcpu
#ifdef SYS_open
#define OTHERS SYS_open, SYS_stat, SYS_fcntl, SYS_writev, SYS_ioctl, SYS_lseek
#else
#define OTHERS SYS_fcntl, SYS_writev, SYS_ioctl, SYS_lseek
#endif
#endif
#define THREADS \
	FIRST_THREAD, SYS_clone, SYS_clone3, SYS_rt_sigprocmask, SYS_rt_sigaction, SYS_set_robust_list, SYS_rseq
#define LOADER                                                                                     \
	OTHERS, SYS_execve, SYS_read, SYS_pread64, SYS_openat, SYS_close, SYS_fstat, SYS_newfstatat, \
		SYS_set_tid_address, SYS_prlimit64, SYS_readlinkat, SYS_faccessat

/* Whether the library may read at an offset of a file under a filter of before, as the dynamic linker has done. */
#ifdef __GLIBC__
#define KNOWS_FILES (getauxval(AT_BASE) != 0)
#else
#define KNOWS_FILES false
#endif

/* Only these calls from here on: for the caller, or for all threads. What else is called kills, or is refused. */
static inline void seccomp_install(const int *calls, size_t count, int kills, int all)
{
	struct sock_filter code[256];
	unsigned short n = 0;
	unsigned deny = kills ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < count; i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	/* What a thread that has just begun asks for, ours or another: libc ends the process if it is refused. */
	static const int beginning[] = { SYS_set_robust_list, SYS_rseq };
	for (size_t i = 0; all && i < sizeof(beginning) / sizeof(beginning[0]); i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)beginning[i], 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
#ifdef SYS_arch_prctl
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 1);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
#endif
#ifdef SYS_access
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_access, 0, 1);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOENT);
#endif
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, deny);
	struct sock_fprog program = { n, code };

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	if (all)
		CHECK(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program));
	else
		CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0));
}

/* From here on this call kills; all others are allowed. */
static inline void seccomp_forbid(int call)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0));
}

#endif

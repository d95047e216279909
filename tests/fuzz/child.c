/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "child.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "input.h"

/* There with libFuzzer, and with a build that counts lines. */
extern unsigned char __start___sancov_cntrs[] __attribute__((weak)), __stop___sancov_cntrs[] __attribute__((weak));
int __llvm_profile_write_file(void) __attribute__((weak));
void __llvm_profile_reset_counters(void) __attribute__((weak));

static unsigned char *shared; /* the child's counters, when it ends */

static size_t counters(void)
{
	return (size_t)(__stop___sancov_cntrs - __start___sancov_cntrs);
}

void end_child(void)
{
	if (shared)
		memcpy(shared, __start___sancov_cntrs, counters());
	if (__llvm_profile_write_file)
		__llvm_profile_write_file();
	_exit(0);
}

bool in_child(void (*fn)(void))
{
	int status = -1;
	pid_t child;

	if (!shared && counters() != 0) {
		shared = mmap(NULL, counters(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		EXPECT(shared != MAP_FAILED);
	}
	if (__llvm_profile_write_file && __llvm_profile_reset_counters) {
		/* Else the child adds what the parent did once more. */
		__llvm_profile_write_file();
		__llvm_profile_reset_counters();
	}
	child = fork();
	if (child == 0) {
		fn();
		end_child();
	}
	while (child > 0 && waitpid(child, &status, 0) != child)
		EXPECT(errno == EINTR); /* libFuzzer has an alarm clock */
	if (child > 0 && status != 0) {
		fprintf(stderr, "fuzz: status 0x%x of a child\n", (unsigned)status);
		return false;
	}
	for (size_t i = 0; i < counters(); i++)
		if (shared[i] > __start___sancov_cntrs[i])
			__start___sancov_cntrs[i] = shared[i];
	return true;
}

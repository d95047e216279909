/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Death tests. A program is a table of cases; each case must die by SIGABRT and
 * the first line on standard error must match the case's extended regular
 * expression.
 *
 *   --list           the names of the cases
 *   --expect CASE    the regular expression
 *   CASE             run it (dies)
 *   (none)           run all in children and verify signal, line and address
 *
 * A case calls death_at(ptr) with the address that the line must name. That
 * address travels to the parent through a shared page.
 */
#ifndef DRY_TESTS_DEATH_H
#define DRY_TESTS_DEATH_H

#include <fcntl.h>
#include <regex.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "check.h"

struct death_case {
	const char *name;
	const char *expect;
	void (*run)(void);
};

static volatile uintptr_t *death_address; /* in a page that parent and child share */

static inline void death_at(const void *address)
{
	if (death_address)
		*death_address = (uintptr_t)address;
}

/* What fits, to the end: who writes more is not to die of that. */
static inline size_t death_read(int fd, char *text, size_t room)
{
	char rest[512];
	size_t used = 0;
	ssize_t got;

	while (used < room - 1 && (got = read(fd, text + used, room - 1 - used)) > 0)
		used += (size_t)got;
	while (used == room - 1 && read(fd, rest, sizeof(rest)) > 0)
		;
	text[used] = 0;
	return used;
}

/* The child's side: never returns. */
static inline void death_run_child(const struct death_case *test, int fd)
{
	struct rlimit no_core = { 0, 0 };

	setrlimit(RLIMIT_CORE, &no_core);
	dup2(fd, 2);
	alarm(120);
	test->run();
	_exit(42); /* survived */
}

static inline int death_verify(const struct death_case *test)
{
	char text[4096], address[32];
	int out[2], status;
	regex_t regex;
	pid_t pid;

	CHECK(!pipe2(out, O_CLOEXEC));
	*death_address = 0;
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		death_run_child(test, out[1]);
	close(out[1]);
	death_read(out[0], text, sizeof(text));
	close(out[0]);
	CHECK(waitpid(pid, &status, 0) == pid);
	text[strcspn(text, "\n")] = 0;
	CHECK(!regcomp(&regex, test->expect, REG_EXTENDED | REG_NOSUB));
	snprintf(address, sizeof(address), "0x%llx", (unsigned long long)*death_address);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && !regexec(&regex, text, 0, NULL, 0) &&
	    (!*death_address || strstr(text, address))) {
		printf("ok   %s\n", test->name);
		regfree(&regex);
		return 0;
	}
	printf("FAIL %s: status 0x%x, line \"%s\", expected \"%s\" with address %s\n", test->name, (unsigned)status,
	       text, test->expect, *death_address ? address : "(any)");
	regfree(&regex);
	return 1;
}

/* In a sanitizer build malloc is the sanitizer's: cases of malloc are not ours to die. */
static inline bool death_applies(const struct death_case *test)
{
#if defined(DRY_TEST_TINY) /* nor is it there, or any choice of management and debugging */
	static const char *const others[] = { "malloc", "bitmap", "chain", "objfreelist", "normal", "off-slab", "poison" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strstr(test->name, others[i]))
			return false;
	return !strstr(test->name, "realloc");
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return !strstr(test->name, "malloc") && !strstr(test->name, "realloc");
#else
	(void)test;
	return true;
#endif
}

static inline int death_main(const struct death_case *tests, size_t n, int argc, char **argv)
{
	const char *name = argc > 1 ? argv[argc - 1] : NULL;
	int failed = 0;

	if (!name) {
		death_address = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		CHECK(death_address != MAP_FAILED);
		for (size_t i = 0; i < n; i++) {
			failed += death_applies(&tests[i]) ? death_verify(&tests[i]) : 0;
			fflush(stdout);
		}
		return failed != 0;
	}
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(name, "--list")) {
			if (death_applies(&tests[i]))
				puts(tests[i].name);
		} else if (!strcmp(name, tests[i].name)) {
			if (argc > 2 && !strcmp(argv[1], "--expect"))
				return puts(tests[i].expect) < 0;
			tests[i].run();
			return 42;
		}
	}
	return strcmp(name, "--list") != 0;
}

#endif

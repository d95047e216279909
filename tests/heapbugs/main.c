/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * heapbugs --list | [--warm] CASE | --warm-each FOLDER CASE...
 * --warm: the program has made 58,000 allocations of all sizes before the error. --warm-each: so has the parent, once, and
 * forks for each case, whose output is in FOLDER/CASE.out and .err; a line "CASE STATUS" for each, -N for signal N.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"

void *opaque(void *ptr)
{
	__asm__ volatile("" : "+r"(ptr) : : "memory");
	return ptr;
}

void *block(size_t size)
{
	void *ptr = opaque(malloc(size));

	if (ptr == NULL)
		_exit(99);
	memset(ptr, SECRET, size);
	return opaque(ptr);
}

void traffic(size_t size, int n)
{
	void *ptr[64];

	for (int i = 0; i < n; i += 64) {
		for (int k = 0; k < 64; k++)
			ptr[k] = block(size);
		for (int k = 0; k < 64; k++)
			free(ptr[k]);
	}
}

int leaks(const void *ptr, size_t n)
{
	const volatile unsigned char *bytes = opaque((void *)(size_t)ptr);

	for (size_t i = 0; i < n; i++)
		if (bytes[i] == SECRET)
			return 1;
	return 0;
}

static const struct heapbug *find(const struct heapbug *cases, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (name == NULL)
			puts(cases[i].name);
		else if (strcmp(cases[i].name, name) == 0)
			return &cases[i];
	}
	return NULL;
}

static const struct heapbug *find_any(const char *name)
{
	const struct heapbug *tables[] = { frees, accesses, others, sizes, classics, attacks };
	const size_t counts[] = { frees_count, accesses_count, others_count, sizes_count, classics_count, attacks_count };
	const struct heapbug *bug = NULL;

	for (int i = 0; i < 6 && bug == NULL; i++)
		bug = find(tables[i], counts[i], name);
	return bug;
}

static void warm_up(void)
{
	for (size_t size = 8; size <= 40000; size += size / 8)
		traffic(size, size <= 2048 ? 1088 : 64);
	for (int i = 0; i < 40; i++) {
		free(opaque(malloc(LARGE)));
		free(opaque(malloc(HUGE)));
	}
}

/* The case as the whole of a process would run it: who returns from main gets to atexit(), too. */
static int run_case(const struct heapbug *bug)
{
	int result;

	alarm(20);
	result = bug->run != NULL ? bug->run() : bug->sized(bug->size, bug->n);
	write(STDOUT_FILENO, "went on\n", 8);
	return result;
}

static void write_to(const char *folder, const char *name, const char *kind, int as)
{
	char path[512];
	int fd;

	snprintf(path, sizeof path, "%s/%s.%s", folder, name, kind);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || dup2(fd, as) < 0)
		_exit(97);
	close(fd);
}

/* Each case in a child, which returns its result; the parent, whose heap stays as it is, ends with -1. */
static int run_each(const char *folder, int n, char **name)
{
	for (int i = 0; i < n; i++) {
		const struct heapbug *bug = find_any(name[i]);
		int status = -1;
		pid_t child = bug != NULL ? fork() : -1;

		if (child == 0) {
			write_to(folder, name[i], "out", STDOUT_FILENO);
			write_to(folder, name[i], "err", STDERR_FILENO);
			return run_case(bug);
		}
		if (child < 0 || waitpid(child, &status, 0) != child)
			_exit(96);
		dprintf(STDOUT_FILENO, "%s %d\n", name[i], WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
	}
	return -1;
}

int main(int argc, char **argv)
{
	struct rlimit none = { 0, 0 };
	const struct heapbug *bug;
	int result;

	if (argc == 2 && strcmp(argv[1], "--list") == 0) {
		find_any(NULL);
		return 0;
	}
	setrlimit(RLIMIT_CORE, &none);
	if (argc > 3 && strcmp(argv[1], "--warm-each") == 0) {
		warm_up();
		result = run_each(argv[2], argc - 3, argv + 3);
		return result < 0 ? 0 : result;
	}
	bug = argc > 1 ? find_any(argv[argc - 1]) : NULL;
	if (bug == NULL)
		return 98;
	if (argc > 2 && strcmp(argv[1], "--warm") == 0)
		warm_up();
	return run_case(bug);
}

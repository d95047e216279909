/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Allocations whose failures show, and errors with a stack of three functions: for test_fail.sh and test_guard.sh. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define APART __attribute__((noinline))

static void *volatile hold;

APART void *parse(size_t size)
{
	hold = malloc(size);
	return hold;
}

/* A letter per allocation: '.', or 'x' if it failed with ENOMEM. */
static int allocate(void)
{
	char text[32];
	size_t n = 0;

	for (int i = 0; i < 20; i++) {
		errno = 0;
		hold = i % 4 == 3 ? parse(60) : malloc(i % 2 ? 60 : 200);
		text[n++] = hold != NULL ? '.' : errno == ENOMEM ? 'x' : '?';
	}
	text[n++] = parse(1 << 20) != NULL ? '.' : 'x';
	text[n++] = '\n';
	return write(1, text, n) != (ssize_t)n;
}

APART char *make(size_t size)
{
	char *p = parse(size);

	memset(p, 1, size);
	return p;
}

APART void drop(char *p)
{
	free(p);
	hold = NULL;
}

APART int touch(volatile char *p, long at)
{
	p[at] = 1;
	hold = NULL;
	return 0;
}

static void handler(int signal)
{
	(void)signal;
	_exit(7);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	char *p;

	if (strcmp(what, "allocate") == 0)
		return allocate();
	if (strcmp(what, "handled") == 0)
		signal(SIGSEGV, handler);
	if (strcmp(what, "busy") == 0) {
		for (int i = 0; i < 3000000; i++)
			drop(parse((size_t)i % 500 + 1));
		return 0;
	}
	p = make(4096);
	if (strcmp(what, "beyond") == 0)
		return touch(p, 4096);
	drop(p);
	if (strcmp(what, "twice") == 0)
		drop(p);
	return touch(p, 5);
}

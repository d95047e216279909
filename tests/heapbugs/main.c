/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * heapbugs --list | [--warm] CASE. --warm: the program has made 58,000 allocations of all sizes before the error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
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

int main(int argc, char **argv)
{
	const char *name = argc > 1 && strcmp(argv[argc - 1], "--list") != 0 ? argv[argc - 1] : NULL;
	const struct heapbug *bug = find_any(name);
	struct rlimit none = { 0, 0 };
	int result;

	if (name == NULL)
		return 0;
	if (bug == NULL)
		return 98;
	setrlimit(RLIMIT_CORE, &none);
	alarm(20);
	if (argc > 2 && strcmp(argv[1], "--warm") == 0)
		warm_up();
	result = bug->run != NULL ? bug->run() : bug->sized(bug->size, bug->n);
	write(STDOUT_FILENO, "went on\n", 8);
	return result;
}

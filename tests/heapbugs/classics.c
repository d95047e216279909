/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Errors as programs make them: with strings, lists, files, threads and sums that overflow. */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cases.h"

/* ---- strings -------------------------------------------------------------------- */

static int copied_string(void)
{
	char *p = opaque(malloc(16));

	strcpy(p, opaque("sixteen letters."));
	free(p);
	return SILENT;
}

static int appended_string(void)
{
	char *p = opaque(strdup("one"));

	strcat(p, opaque(" and another"));
	free(p);
	return SILENT;
}

static int printed_string(void)
{
	char *p = opaque(calloc(1, 24));

	sprintf(p, "%s", (char *)opaque("this text has more letters than there is room for"));
	free(p);
	return SILENT;
}

/* No terminator: the string goes on with whatever comes behind. */
static int unterminated(void)
{
	char *before = block(64), *p = block(64), *after = block(64);

	memset(p, 'x', 64);
	return leaks(p + 64, strlen(opaque(p)) - 64) && before != NULL && after != NULL ? SILENT : CONTAINED;
}

static int freed_string(void)
{
	char *p = opaque(strdup("a text that is long enough to be worth a copy"));

	free(p);
	return strlen(opaque(p)) != 0 ? SILENT : CONTAINED;
}

static int received(void)
{
	char data[256], *p = block(64);
	int ends[2];

	if (pipe(ends) != 0 || write(ends[1], memset(data, 'x', sizeof(data)), sizeof(data)) < 0)
		return CONTAINED;
	if (read(ends[0], opaque(p), sizeof(data)) < 0)
		return CONTAINED;
	free(p);
	return SILENT;
}

static int moved_end(void)
{
	char *p = opaque(strdup("key=value"));

	free(opaque(strchr(p, '=') + 1));
	return SILENT;
}

/* ---- structures --------------------------------------------------------------------- */

struct node {
	struct node *next;
	int (*call)(void);
	long value[4];
};

static int nothing(void)
{
	return 0;
}

static struct node *list(int n)
{
	struct node *head = NULL;

	while (n-- > 0) {
		struct node *node = opaque(malloc(sizeof(*node)));
		*node = (struct node){ head, nothing, { n } };
		head = node;
	}
	return head;
}

/* The next pointer is read from the node that was freed just now. */
static int list_freed_in_loop(void)
{
	int n = 0;

	for (struct node *node = list(4); node != NULL; node = ((struct node *)opaque(node))->next, n++)
		free(node);
	return n == 4 ? SILENT : CONTAINED;
}

static int list_freed_twice(void)
{
	struct node *head = list(3), *next;

	for (int i = 0; i < 2; i++)
		for (struct node *node = head; node != NULL; node = next) {
			next = ((struct node *)opaque(node))->next;
			free(node);
		}
	return SILENT;
}

static int called_after_free(void)
{
	struct node *node = list(1);

	free(node);
	return ((struct node *)opaque(node))->call() == 0 ? SILENT : CONTAINED;
}

/* Another object came to the place of the freed one. */
static int confused(void)
{
	struct node *node = list(1);
	uintptr_t *other;

	free(node);
	other = opaque(malloc(sizeof(*node)));
	memset(other, 0, sizeof(*node));
	((struct node *)opaque(node))->value[0] = 4711;
	return other[2] == 4711 ? SILENT : CONTAINED;
}

static int array_index(size_t count, long index)
{
	long *p = opaque(calloc(count, sizeof(*p))), *q = opaque(calloc(count, sizeof(*p)));

	p[*(volatile long *)&index] = 4711;
	free(q);
	free(p);
	return SILENT;
}

static int array_index_read(size_t count, long index)
{
	long *p = opaque(calloc(count, sizeof(*p)));

	memset(opaque(malloc(count * sizeof(*p))), SECRET, count * sizeof(*p));
	return leaks(&p[*(volatile long *)&index], sizeof(*p)) ? SILENT : CONTAINED;
}

/* ---- sums that overflow ------------------------------------------------------------------ */

static int product_wraps(void)
{
	volatile uint32_t count = 0x10000001, bytes = 16;
	char *p = opaque(malloc((uint32_t)(count * bytes)));

	memset(p, 0x41, 64);
	free(p);
	return SILENT;
}

static int length_minus_one(void)
{
	volatile size_t length = (size_t)-1;
	char *p = opaque(malloc(length + 1));

	memset(p, 0x41, 32);
	free(p);
	return SILENT;
}

static int negative_length(void)
{
	volatile int length = -1;
	char *p = block(64);

	memset(opaque(p), 0x41, (size_t)length);
	return SILENT;
}

static int pointer_size(void)
{
	struct node *p = opaque(malloc(sizeof(p)));

	memset(opaque(p), 0x41, sizeof(*p));
	free(p);
	return SILENT;
}

static int realloc_lost(void)
{
	char *p = opaque(realloc(block(200), 20));

	p[*(volatile int *)&(int){ 150 }] = 0x41;
	free(p);
	return SILENT;
}

/* ---- other makers ------------------------------------------------------------------------ */

static int made_by(void *(*make)(size_t size), size_t size, long over)
{
	char *p = opaque(make(size));

	memset(opaque(p + size), 0x41, (size_t)over);
	free(p);
	return SILENT;
}

static void *by_aligned_alloc(size_t size)
{
	return aligned_alloc(4096, size);
}

static void *by_memalign(size_t size)
{
	return memalign(256, size);
}

static void *by_reallocarray(size_t size)
{
	return reallocarray(NULL, size / 10, 10);
}

static int from_aligned_alloc(size_t size, long over)
{
	return made_by(by_aligned_alloc, size, over);
}

static int from_memalign(size_t size, long over)
{
	return made_by(by_memalign, size, over);
}

static int from_valloc(size_t size, long over)
{
	return made_by(valloc, size, over);
}

static int from_reallocarray(size_t size, long over)
{
	return made_by(by_reallocarray, size, over);
}

static int aligned_twice(size_t size, long align)
{
	char *p = opaque(memalign((size_t)align, size));

	free(p);
	free(opaque(p));
	return SILENT;
}

static int aligned_inside(size_t size, long align)
{
	char *p = opaque(memalign((size_t)align, size));

	free(opaque(p - 16));
	return SILENT;
}

static int closed_twice(void)
{
	FILE *file = fopen("/dev/null", "r");

	fclose(file);
	fclose(opaque(file));
	return SILENT;
}

/* ---- threads ------------------------------------------------------------------------------ */

static pthread_barrier_t barrier;

static void *free_together(void *p)
{
	pthread_barrier_wait(&barrier);
	free(p);
	return NULL;
}

static int freed_together(size_t size, long n)
{
	void *p = block(size);
	pthread_t thread[2];

	(void)n;
	pthread_barrier_init(&barrier, NULL, 2);
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, free_together, p);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	return SILENT;
}

static void *free_alone(void *p)
{
	free(p);
	return NULL;
}

static int used_after_thread(size_t size, long n)
{
	char *p = block(size);
	pthread_t thread;

	pthread_create(&thread, NULL, free_alone, p);
	pthread_join(thread, NULL);
	memset(opaque(p), 0x41, (size_t)n);
	return SILENT;
}

static void *stack_of_thread(void *arg)
{
	char buffer[64] __attribute__((aligned(16)));

	free(opaque(buffer));
	return arg;
}

static int freed_stack_of_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, stack_of_thread, NULL);
	pthread_join(thread, NULL);
	return SILENT;
}

static _Thread_local char local[64] __attribute__((aligned(16)));

static int freed_local(void)
{
	free(opaque(local));
	return SILENT;
}

static void *late;

static void free_late(void)
{
	free(late);
}

static int freed_at_exit(void)
{
	late = block(SMALL);
	atexit(free_late);
	free(late);
	return SILENT;
}

/* ---- what is none of ours -------------------------------------------------------------------- */

static int freed_environment(void)
{
	extern char **environ;

	free(opaque(environ[0]));
	return SILENT;
}

static int freed_break(void)
{
	char *p = sbrk(4096);

	free(opaque(p + 16));
	return SILENT;
}

static int freed_stdout(void)
{
	free(opaque(stdout));
	return SILENT;
}

static int freed_unmapped(void)
{
	char *p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(p, 65536);
	free(opaque(p));
	return SILENT;
}

static int usable_unmapped(void)
{
	return malloc_usable_size(opaque((void *)(size_t)0x10)) == 0 ? CONTAINED : SILENT;
}

static int usable_end(void)
{
	return malloc_usable_size(opaque((char *)block(EXACT) + EXACT)) == 0 ? CONTAINED : SILENT;
}

static int realloc_wild(void)
{
	return opaque(realloc(opaque((void *)(size_t)0x4141414141414140), 100)) == NULL ? CONTAINED : SILENT;
}

/* ---- nothing was asked for -------------------------------------------------------------------- */

static int zero_of(void *p)
{
	*(volatile char *)opaque(p) = 0x41;
	free(p);
	return SILENT;
}

static int zero_malloc(void)
{
	return zero_of(malloc(0));
}

static int zero_calloc(void)
{
	return zero_of(calloc(0, 16));
}

static int zero_aligned(void)
{
	return zero_of(memalign(64, 0));
}

static int zero_read_first(void)
{
	char *p = opaque(malloc(0));

	memset(opaque(malloc(16)), SECRET, 16);
	return leaks(p, 1) ? SILENT : CONTAINED;
}

static int zero_realloc_old(void)
{
	char *p = opaque(malloc(0)), *q = opaque(realloc(p, 100));

	free(opaque(p));
	return q == p ? CONTAINED : SILENT;
}

#define ONE(name, fn)        { name, fn, NULL, 0, 0 }
#define WITH(name, fn, s, n) { name, NULL, fn, s, n }

const struct heapbug classics[] = {
	ONE("string-copied", copied_string),
	ONE("string-appended", appended_string),
	ONE("string-printed", printed_string),
	ONE("string-unterminated", unterminated),
	ONE("string-freed", freed_string),
	ONE("string-end-freed", moved_end),
	ONE("received-too-much", received),
	ONE("list-freed-in-loop", list_freed_in_loop),
	ONE("list-freed-twice", list_freed_twice),
	ONE("called-after-free", called_after_free),
	ONE("confused-types", confused),
	WITH("index-count", array_index, 10, 10),
	WITH("index-minus-1", array_index, 10, -1),
	WITH("index-minus-2", array_index, 10, -2),
	WITH("index-1000", array_index, 10, 1000),
	WITH("index-count-big", array_index, 100000, 100000),
	WITH("index-read-count", array_index_read, 10, 10),
	WITH("index-read-minus-1", array_index_read, 10, -1),
	WITH("index-read-1000", array_index_read, 10, 1000),
	WITH("index-read-minus-1000", array_index_read, 10, -1000),
	WITH("index-read-count-big", array_index_read, 100000, 100000),
	ONE("product-wraps", product_wraps),
	ONE("length-minus-one", length_minus_one),
	ONE("negative-length", negative_length),
	ONE("size-of-pointer", pointer_size),
	ONE("realloc-shrunk-index", realloc_lost),
	WITH("aligned-alloc-over", from_aligned_alloc, 100, 1),
	WITH("memalign-over", from_memalign, 300, 8),
	WITH("valloc-over", from_valloc, 5000, 1),
	WITH("valloc-over-page", from_valloc, 8192, 1),
	WITH("reallocarray-over", from_reallocarray, 100, 1),
	WITH("aligned-twice-64", aligned_twice, 100, 64),
	WITH("aligned-twice-4096", aligned_twice, 100, 4096),
	WITH("aligned-twice-65536", aligned_twice, 100000, 65536),
	WITH("aligned-inside-64", aligned_inside, 100, 64),
	WITH("aligned-inside-4096", aligned_inside, 100, 4096),
	ONE("closed-twice", closed_twice),
	WITH("freed-together-small", freed_together, SMALL, 0),
	WITH("freed-together-large", freed_together, LARGE, 0),
	WITH("used-after-thread-small", used_after_thread, SMALL, 8),
	WITH("used-after-thread-large", used_after_thread, LARGE, 8),
	ONE("free-stack-of-thread", freed_stack_of_thread),
	ONE("free-thread-local", freed_local),
	ONE("free-again-at-exit", freed_at_exit),
	ONE("free-environment", freed_environment),
	ONE("free-break", freed_break),
	ONE("free-stdout", freed_stdout),
	ONE("free-unmapped", freed_unmapped),
	ONE("usable-unmapped", usable_unmapped),
	ONE("usable-end", usable_end),
	ONE("realloc-wild", realloc_wild),
	ONE("zero-malloc-byte", zero_malloc),
	ONE("zero-calloc-byte", zero_calloc),
	ONE("zero-aligned-byte", zero_aligned),
	ONE("zero-read-byte", zero_read_first),
	ONE("zero-old-after-realloc", zero_realloc_old),
};
const size_t classics_count = sizeof(classics) / sizeof(classics[0]);

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Reads tables of caches, and looks at pools. */
#include "workload.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "machine.h"

#define PATTERN 0x5a
#define PAGE	4096

bool pool_make(struct pool *pool, size_t size)
{
	pool->size = size;
	pool->memory = machine_memory(size);
	if (!pool->memory)
		return false;
	memset(pool->memory, PATTERN, size);
	return true;
}

size_t pool_touched(const struct pool *pool)
{
	static unsigned char page[PAGE];
	size_t touched = 0;

	memset(page, PATTERN, sizeof(page));
	for (size_t at = 0; at < pool->size; at += PAGE) {
		size_t bytes = pool->size - at < PAGE ? pool->size - at : PAGE;

		if (memcmp(pool->memory + at, page, bytes))
			touched += bytes;
	}
	return touched;
}

static void construct(void *object, void *arg)
{
	(void)arg;
	*(char *)object = 1;
}

/* A size that is served by the general cache of `size` and by no smaller one. */
static uint32_t draw_size(uint32_t size, struct dice *dice)
{
	uint32_t below = size == 192 ? 128 : size == 96 ? 64 : size == 256 ? 192 : size == 128 ? 96 : size / 2;

	return below + 1 + dice_below(dice, size - below);
}

static bool add_objects(struct population *p, uint16_t kind, uint32_t size, unsigned long count, struct dice *dice)
{
	if (count > sizeof(p->objects) / sizeof(p->objects[0]) - p->count)
		return false;
	for (unsigned long i = 0; i < count; i++) {
		struct resident object = { NULL, size, kind };

		if (kind == POPULATION_BLOCK && p->drawn)
			object.size = draw_size(size, dice);
		p->bytes += object.size;
		p->objects[p->count++] = object;
	}
	return true;
}

static void shuffle(struct population *p, struct dice *dice)
{
	for (size_t i = p->count; i > 1; i--) {
		size_t j = dice_below(dice, (uint32_t)i);
		struct resident swap = p->objects[i - 1];

		p->objects[i - 1] = p->objects[j];
		p->objects[j] = swap;
	}
}

/* name,object_size,size,align,num,gfporder,ctor,typesafe,type,colour,colour_off,freelist_size,flags,refcount,active... */
static bool read_row(struct population *p, const char *row, unsigned percent, struct dice *dice)
{
	char name[48], ctor[4];
	struct kind *kind = &p->kinds[p->kind_count];
	unsigned long size, align, active;

	if (sscanf(row, "%47[^,],%lu,%*[^,],%lu,%*[^,],%*[^,],%3[^,],%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%lu",
		   name, &size, &align, ctor, &active) != 5)
		return false;
	active = (active * percent + 99) / 100;
	if (!strncmp(name, "kmalloc-", 8))
		return add_objects(p, POPULATION_BLOCK, (uint32_t)size, active, dice);
	if (p->kind_count == sizeof(p->kinds) / sizeof(p->kinds[0]))
		return false;
	*kind = (struct kind){ .size = size, .align = align, .ctor = !strcmp(ctor, "yes") ? construct : NULL };
	kind->name = strcpy(p->names[p->kind_count], name);
	return add_objects(p, (uint16_t)p->kind_count++, (uint32_t)size, active, dice);
}

/* The whole file, terminated; by POSIX calls, because stdio may allocate from the allocator that is measured. */
static char *read_table(const char *path)
{
	static char text[65536];
	int fd = open(path, O_RDONLY);
	size_t used = 0;
	ssize_t got = 0;

	while (fd >= 0 && used < sizeof(text) - 1 && (got = read(fd, text + used, sizeof(text) - 1 - used)) > 0)
		used += (size_t)got;
	if (fd >= 0)
		close(fd);
	text[used] = 0;
	return used && !got ? text : NULL;
}

bool population_read(struct population *population, const char *path, unsigned percent, bool drawn, struct dice *dice)
{
	char *row = read_table(path), *end;
	bool good = row != NULL;

	memset(population, 0, sizeof(*population));
	population->drawn = drawn;
	row = good ? strchr(row, '\n') : NULL; /* behind the heading */
	while (row && good && (end = strchr(++row, '\n'))) {
		*end = 0;
		good = read_row(population, row, percent, dice);
		row = end;
	}
	if (!good || !population->count) {
		fprintf(stderr, "%s: not a table of caches\n", path);
		return false;
	}
	shuffle(population, dice);
	return true;
}

bool population_open(struct population *population)
{
	for (size_t i = 0; i < population->kind_count; i++)
		if (!subject_kind(&population->kinds[i]))
			return false;
	return true;
}

bool population_get(struct population *population, struct resident *object)
{
	if (object->kind == POPULATION_BLOCK)
		object->at = subject_alloc(object->size);
	else
		object->at = subject_get(&population->kinds[object->kind]);
	if (object->at)
		memset(object->at, (int)object->size, object->size);
	return object->at != NULL;
}

void population_put(struct population *population, struct resident *object)
{
	if (object->kind == POPULATION_BLOCK)
		subject_free(object->at, object->size);
	else
		subject_put(&population->kinds[object->kind], object->at);
	object->at = NULL;
}

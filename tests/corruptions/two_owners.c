/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Errors by which two parts of a program would come to own the same memory; and what a program did that has run for long. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bugs.h"

static char *objects[N];

/* Whoever allocates now gets memory of its own: status 44 if that is somebody else's, too. */
static void own(size_t size, char *live)
{
	for (int i = 0; i < N; i++) {
		objects[i] = get(size);
		for (int k = 0; k < i; k++)
			if (objects[k] < objects[i] + size && objects[i] < objects[k] + size)
				_exit(44);
		if (live != NULL && live < objects[i] + size && objects[i] < live + size)
			_exit(44);
	}
	settle(size);
}

void two_owners_at_once(void)
{
	char *block = get(64);

	give(block);
	give(block);
	own(64, NULL);
}

void two_owners_full_array(void)
{
	for (int i = 0; i < N; i++)
		objects[i] = get(64);
	for (int i = 0; i < N; i++) {
		give(objects[i]);
		give(objects[i]);
	}
	own(64, NULL);
}

void two_owners_other_between(void)
{
	char *block = get(64), *other = get(64);

	give(block);
	give(other);
	give(block);
	own(64, NULL);
}

void two_owners_threads(void)
{
	char *block = get(64);
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, free_it, block));
	CHECK(!pthread_join(thread, NULL));
	give(block);
	own(64, NULL);
}

void two_owners_overlap(void)
{
	char *block = get(128);

	give(block + 64);
	own(128, block);
}

void warm_up(void)
{
	char *blocks[32];

	for (int round = 0; round < 20; round++) {
		for (size_t size = 1; size < 40000; size += size / 8 + 1) {
			int n = size <= 2048 ? 32 : 3;
			for (int i = 0; i < n; i++)
				memset(blocks[i] = get(size), 0x31, size);
			for (int i = 0; i < n; i++)
				give(blocks[i]);
		}
	}
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A library to preload, as caches of files and fakers of time are: it replaces calls on files, each of which takes a lock and
 * allocates, and its constructor allocates while it has the lock. malloc() that calls one of these waits for good.
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *next(const char *name)
{
	void *symbol;

	pthread_mutex_lock(&lock);
	symbol = dlsym(RTLD_NEXT, name);
	free(malloc(100));
	pthread_mutex_unlock(&lock);
	return symbol;
}

#define REPLACE(result, name, types, values)              \
	result name types                                 \
	{                                                 \
		result(*real) types;                      \
		void *symbol = next(#name);               \
                                                          \
		memcpy(&real, &symbol, sizeof(real));     \
		return real values;                       \
	}

REPLACE(int, close, (int fd), (fd))
REPLACE(ssize_t, read, (int fd, void *to, size_t bytes), (fd, to, bytes))
REPLACE(ssize_t, pread, (int fd, void *to, size_t bytes, off_t from), (fd, to, bytes, from))
REPLACE(int, getentropy, (void *to, size_t bytes), (to, bytes))
REPLACE(int, stat, (const char *path, struct stat *file), (path, file))

int open(const char *path, int flags, ...)
{
	int (*real)(const char *, int, ...);
	void *symbol = next("open");
	va_list list;
	mode_t mode;

	memcpy(&real, &symbol, sizeof(real));
	va_start(list, flags);
	mode = va_arg(list, mode_t);
	va_end(list);
	return real(path, flags, mode);
}

__attribute__((constructor)) static void begin(void)
{
	static void *volatile block[4000];

	pthread_mutex_lock(&lock);
	for (int i = 0; i < 4000; i++) /* of all sizes, and more than a first look at limits waits for */
		block[i] = malloc((size_t)i * 2 + 1);
	for (int i = 0; i < 4000; i++)
		free(block[i]);
	pthread_mutex_unlock(&lock);
}

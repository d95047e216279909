/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The part of POSIX's <pthread.h> that the tests use: a "thread" runs to its end when it is created. */
#ifndef DRY_TARGETS_PTHREAD_H
#define DRY_TARGETS_PTHREAD_H

typedef void *pthread_t; /* what the thread returned */
typedef int pthread_attr_t;

static inline int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	(void)attr;
	*thread = fn(arg);
	return 0;
}

static inline int pthread_join(pthread_t thread, void **result)
{
	if (result)
		*result = thread;
	return 0;
}

#endif

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Around fork(), for the linux and the posix port: when locks are taken, and after which of libc's
 * (docs/design/fork.md).
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/fatal.h"
#include "port/contract.h"
#include "port/guard.h"
#include "port/unix/lock_count.h"
#include "port/unix/musl_fork.h"

/* glibc's: whether the process has one thread (2.32), and the lock of the list of streams. */
extern char __libc_single_threaded DRY_WEAK;
#ifdef __GLIBC__
extern void _IO_list_lock(void) DRY_WEAK;
extern void _IO_list_unlock(void) DRY_WEAK;
#endif

static void (*on_prepare)(void), (*on_parent)(void), (*on_child)(bool prepared);
/*
 * Forks of the calling thread that are under way, a bit each, the latest the lowest: whether it took the locks. A signal handler
 * that interrupts one may fork.
 */
static _Thread_local uint32_t forks;
static _Atomic uint64_t begun;

bool dry_port_alone(void)
{
	return &__libc_single_threaded != NULL && __libc_single_threaded;
}

#ifdef __GLIBC__

/* fork() takes it after us. Who holds it may wait for a stream, whose user may wait for memory. */
static void hold_streams(void)
{
	if (_IO_list_lock != NULL)
		_IO_list_lock();
}

static void let_streams_go(void)
{
	if (_IO_list_unlock != NULL)
		_IO_list_unlock();
}

/* libc has made the lock of the list new. */
static void forget_streams(void)
{
}

static bool waits_for_call(bool takes)
{
	(void)takes;
	return false;
}

#else

/* A thread that is inside of fflush(NULL) and forks holds it: fork() waits for ever for the lock of the list then, if for any. */
static pthread_mutex_t flushing = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local unsigned flushes;
/* The latest fork of the thread is one that takes the locks when libc calls. */
static _Thread_local bool waits;

void dry_unix_flush_begin(void)
{
	if (flushes++ == 0)
		pthread_mutex_lock(&flushing);
}

void dry_unix_flush_end(void)
{
	if (--flushes == 0)
		pthread_mutex_unlock(&flushing);
}

static bool libc_calls(void)
{
	return dry_unix_fork_calls != NULL && dry_unix_fork_calls();
}

static void hold_streams(void)
{
	if (flushes == 0)
		pthread_mutex_lock(&flushing);
}

static void let_streams_go(void)
{
	if (flushes == 0 && !libc_calls())
		pthread_mutex_unlock(&flushing);
}

/* Whoever held it: the child has this thread only. */
static void forget_streams(void)
{
	if (flushes == 0)
		flushing = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static bool waits_for_call(bool takes)
{
	waits = takes && libc_calls();
	return waits;
}

void dry_unix_fork_called(void)
{
	if (!waits)
		return;
	waits = false;
	forks |= 1;
	on_prepare();
}

#endif

/*
 * A thread that is alone has nobody to wait for. One that is in the middle of a call (it forks in a signal handler)
 * would wait for itself; its child goes on in the middle of the same call.
 */
static void prepare(void)
{
	bool takes = !dry_port_alone() && dry_locks_held == 0;

	if (takes)
		dry_port_rest_end();
	if (waits_for_call(takes))
		takes = false;
	forks = forks << 1 | takes;
	if (takes) {
		hold_streams();
		on_prepare();
	}
	/* relaxed: under the locks, of two threads' forks one is after the other */
	atomic_fetch_add_explicit(&begun, 1, memory_order_relaxed);
}

uint64_t dry_port_forks(void)
{
	return atomic_load_explicit(&begun, memory_order_relaxed);
}

/* Of the fork that ends here. */
static bool pop(void)
{
	bool took = forks & 1;

	forks >>= 1;
	return took;
}

static void parent(void)
{
	if (!pop())
		return;
	on_parent();
	let_streams_go();
}

static void child(void)
{
	bool took = pop();

	on_child(took);
	forget_streams();
#ifdef DRY_DEBUG
	if (took && dry_locks_held != 0) { /* then no fork of the child would take the locks */
		dry_warn("after a fork the child counts %d locks held", (int)dry_locks_held);
		abort();
	}
#endif
}

void dry_port_at_fork(void (*before)(void), void (*after)(void), void (*in_child)(bool prepared))
{
	int saved = errno;

	on_prepare = before;
	on_parent = after;
	on_child = in_child;
	pthread_atfork(prepare, parent, child);
	errno = saved;
}

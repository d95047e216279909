/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Threads and text, for the linux and the posix port. Keeps errno. */
#include "base/compiler.h"
#include "port/contract.h"
#include "port/unix/file.h"
#include "port/unix/kept.h"
#include "port/unix/path.h"
#include "port/unix/thread_slots.h"
#include "port/unix/threads.h"
#include "port/unix/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HELPER_STACK     ((size_t)64 << 10)
#define HELPER_STACK_MAX ((size_t)1 << 20)
#define MAIN_STACK_LEAST ((size_t)64 << 10)

/* Threads of the library's own; relaxed: a hint. */
static _Atomic unsigned helpers;

void dry_unix_threads_forked(void)
{
	atomic_store_explicit(&helpers, 0, memory_order_relaxed);
	dry_unix_stack_forked();
	dry_unix_symbol_forked();
}

static void *helper(void *arg)
{
	void (*fn)(void);

	*(void **)&fn = arg;
	fn();
	atomic_fetch_sub_explicit(&helpers, 1, memory_order_relaxed);
	return NULL;
}

/* What starting a thread needs would be too much for a stack that may be small. One starts at a time. */
static struct {
	pthread_attr_t attr;
	sigset_t all, before;
} starting;

/* glibc's */
int pthread_attr_setsigmask_np(pthread_attr_t *attr, const sigset_t *mask) DRY_WEAK;
extern void *__libc_stack_end DRY_WEAK;

/* Near the beginning of the process's own stack, whose end is farther away than that. */
static bool has_room(void)
{
	return &__libc_stack_end != NULL &&
	       (uintptr_t)__libc_stack_end - (uintptr_t)__builtin_frame_address(0) < MAIN_STACK_LEAST;
}

static int create_with(size_t stack, bool masked, void (*fn)(void))
{
	pthread_t thread;
	int error = pthread_attr_init(&starting.attr);

	if (error != 0)
		return error;
	pthread_attr_setdetachstate(&starting.attr, PTHREAD_CREATE_DETACHED);
	if (masked)
		error = pthread_attr_setsigmask_np(&starting.attr, &starting.all);
	if (error == 0 && stack != 0)
		error = pthread_attr_setstacksize(&starting.attr, stack);
	if (error == 0)
		error = pthread_create(&thread, &starting.attr, helper, *(void **)&fn);
	pthread_attr_destroy(&starting.attr);
	return error;
}

/*
 * The stack also holds the program's static thread-local storage, whose size nobody tells: pthread_create() then says EINVAL,
 * and a bigger one is tried, the default at last.
 */
static int create(bool masked, void (*fn)(void))
{
	int error = EINVAL;

	for (size_t stack = HELPER_STACK; error == EINVAL && stack <= HELPER_STACK_MAX; stack *= 2)
		error = create_with(stack, masked, fn);
	return error == EINVAL ? create_with(0, masked, fn) : error;
}

/*
 * Those that were not blocked before. Not the mask as it was: libc leaves its own signals out of a mask that it is told to set, and
 * its thread for timers has the one blocked that they come by.
 */
static void unblock(void)
{
	for (int signal = 1; signal < NSIG; signal++)
		if (sigismember(&starting.before, signal) == 1)
			sigdelset(&starting.all, signal);
	pthread_sigmask(SIG_UNBLOCK, &starting.all, NULL);
}

int dry_port_thread_start(void (*fn)(void))
{
	int saved = errno, error;

	if (dry_port_confined())
		return -EPERM;
	/* libc allocates for it: if this thread is ending, and frees, that would be its first allocation */
	uint32_t state = dry_thread_slot_refuse(DRY_SLOT_REFUSED);
	atomic_fetch_add_explicit(&helpers, 1, memory_order_relaxed);
	sigfillset(&starting.all);
	/*
	 * The thread begins with a mask of its own (glibc 2.32), which takes 3 KiB of stack: libc allocates for it, and
	 * looks up by what name. Without one it inherits its creator's, who blocks signals meanwhile: a program that stops its
	 * threads by signals waits for it then.
	 */
	if (&pthread_attr_setsigmask_np != NULL && has_room()) {
		error = create(true, fn);
	} else {
		pthread_sigmask(SIG_BLOCK, &starting.all, &starting.before);
		error = create(false, fn);
		unblock();
	}
	dry_thread_slot_refuse(state);
	if (error != 0)
		atomic_fetch_sub_explicit(&helpers, 1, memory_order_relaxed);
	errno = saved;
	return -error;
}

/*
 * What the kernel says of the process: behind the name, which may have any bytes, the state of its first thread, and as the
 * seventeenth number after that how many there are. The first is one of them when it has ended.
 */
static unsigned count_threads(char *first)
{
	char stat[512];
	unsigned threads = 0;

	stat[dry_file_look("/proc/self/stat", stat, sizeof(stat) - 1)] = '\0';
	char *at = strrchr(stat, ')');
	if (at == NULL || at[1] != ' ')
		return 0;
	at += 2;
	*first = *at;
	for (int i = 0; i < 17 && at != NULL; i++)
		at = strchr(at + 1, ' ');
	for (at = at != NULL ? at + 1 : stat; *at >= '0' && *at <= '9'; at++)
		threads = threads * 10 + (unsigned)(*at - '0');
	return threads;
}

unsigned dry_unix_helpers(void)
{
	return atomic_load_explicit(&helpers, memory_order_relaxed);
}

unsigned dry_unix_threads(void)
{
	int saved = errno;
	char first;
	unsigned threads = count_threads(&first);

	errno = saved;
	return threads;
}

static void *leave(void *arg)
{
	sigset_t none;

	(void)arg;
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	exit(0);
}

void dry_port_thread_leave(void)
{
	static atomic_flag leaving = ATOMIC_FLAG_INIT;
	char first = '\0';
	pthread_t thread;

	if (count_threads(&first) != dry_unix_helpers() + 1 || first != 'Z' ||
	    atomic_flag_test_and_set_explicit(&leaving, memory_order_relaxed))
		return;
	/* What runs at the end may need more than a helper's stack, and signals. */
	if (pthread_create(&thread, NULL, leave, NULL) != 0)
		leave(NULL);
}

uintptr_t dry_port_self(void)
{
	static _Thread_local char own;

	return (uintptr_t)&own;
}

void dry_port_set_errno(int value)
{
	errno = value;
}

int dry_port_get_errno(void)
{
	return errno;
}

static struct dry_unix_kept report = { .fd = -1 }; /* -1: file descriptor 2 as it is */

void dry_port_keep_stderr(void)
{
	int saved = errno;

	dry_unix_keep(&report, fcntl(2, F_DUPFD_CLOEXEC, DRY_UNIX_KEPT_LEAST));
	errno = saved;
}

static char log_path[256]; /* immutable after dry_port_log_to() */
static struct dry_unix_kept log_file = { .fd = -1 };
static _Atomic pid_t log_owner; /* whose number is in its name */

void dry_port_log_to(const char *path, size_t length)
{
	length = length < sizeof(log_path) ? length : sizeof(log_path) - 1;
	memcpy(log_path, path, length);
	log_path[length] = '\0';
}

/* Two threads that open the log at once append to the same file. */
static void open_log(pid_t pid)
{
	char name[DRY_UNIX_PATH];

	dry_unix_path(name, sizeof(name), log_path, (unsigned long)pid);
	atomic_store_explicit(&log_file.fd, -1, memory_order_relaxed);
	dry_unix_keep(&log_file, dry_unix_fd_high(open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)));
	log_owner = pid;
}

static int stderr_fd(void)
{
	int fd = dry_unix_kept_fd(&report);

	return fd >= 0 ? fd : 2;
}

/* -1: there is none, or it cannot be opened. */
static int log_fd(void)
{
	int fd = -1;
	pid_t pid;

	if (log_path[0] != '\0') {
		pid = getpid();
		fd = log_owner == pid ? dry_unix_kept_fd(&log_file) : -1;
		if (fd < 0) {
			open_log(pid);
			fd = atomic_load_explicit(&log_file.fd, memory_order_relaxed);
		}
	}
	return fd;
}

static void write_to(int fd, struct dry_unix_text *text)
{
	if (!dry_port_confined())
		dry_unix_write_quietly(fd, text);
	else
		dry_unix_write(fd, text);
}

void dry_port_write(const char *from, size_t bytes)
{
	struct dry_unix_text text = { from, bytes };
	int saved = errno, cancel, fd;

	/* free() may report, and must not become a cancellation point by it. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	fd = log_fd();
	if (fd >= 0)
		write_to(fd, &text);
	if (text.bytes > 0) /* there is no log, or no room for it */
		write_to(stderr_fd(), &text);
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
}

/* All locks that the thread holds. */
static void release_locks(void)
{
	while (dry_locks_held != 0 && dry_locks_held <= DRY_LOCKS_NOTED)
		dry_lock_release(dry_locks_noted[dry_locks_held - 1]);
}

_Noreturn void dry_port_abort(void)
{
	struct sigaction action;

	/* A handler may allocate, fork, or leave by a jump. What was done under a lock before is whole, but for some objects. */
	if (sigaction(SIGABRT, NULL, &action) == 0 &&
	    ((action.sa_flags & SA_SIGINFO) || (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN)))
		release_locks();
	abort();
}

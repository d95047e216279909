/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Roots of a search for lost blocks. Threads are stopped by a signal: what was in a thread's registers then lies in the frame that
 * the kernel puts on its stack for the handler. Who blocks the signal goes on, and so do those beyond THREADS; of them it is
 * not known where their stacks end, and all of these are roots.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall */
#endif
#include "port/roots.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "port/contract.h"
#include "port/unix/file.h"
#include "port/unix/maps.h"
#include "port/unix/resend.h"

#define STOP     SIGURG /* by default it is ignored: one that comes too late does no harm */
#define THREADS  1024
#define PATIENCE 200 /* ms until a thread that did not stop is left to itself */
#define BATCH    512 /* pages asked for at once */
#define PRESENT  ((uint64_t)1 << 63)
#define SWAPPED  ((uint64_t)1 << 62) /* or a guard (MADV_GUARD_INSTALL), which has a bit of its own since Linux 6.15 */

/* Of one search at a time. */
static struct {
	_Atomic bool stop;
	_Atomic unsigned entered, stopped;    /* handlers */
	_Atomic uintptr_t stack[THREADS];     /* where stacks end: entered handlers', then the caller's */
	unsigned told, stacks;                /* threads; entries of stack[] that are set */
	int32_t thread[THREADS];              /* told to stop */
	int pages;                            /* /proc/self/pagemap; -1: not to be had */
	uintptr_t known_from, known_to;       /* what entry[] is of */
	uint64_t entry[BATCH];                /* of pages; not on the stack: nothing of ours is to lie there */
	void (*visit)(uintptr_t from, uintptr_t to);
} search;

/* ---- threads ------------------------------------------------------------------------------- */

static void park(int signal)
{
	int saved = errno;
	unsigned number;

	(void)signal;
	if (atomic_load_explicit(&search.stop, memory_order_acquire)) {
		number = atomic_fetch_add_explicit(&search.entered, 1, memory_order_relaxed);
		if (number < THREADS)
			atomic_store_explicit(&search.stack[number], (uintptr_t)__builtin_frame_address(0), memory_order_relaxed);
		/* release: who counts the thread sees where its stack ends */
		atomic_fetch_add_explicit(&search.stopped, 1, memory_order_release);
	}
	while (atomic_load_explicit(&search.stop, memory_order_acquire))
		dry_port_sleep_ms(1);
	errno = saved;
}

/* Tell it if it has not been told. */
static bool tell(int32_t thread)
{
	if (thread <= 0 || thread == (int32_t)syscall(SYS_gettid) || search.told == THREADS)
		return false;
	for (unsigned i = 0; i < search.told; i++)
		if (search.thread[i] == thread)
			return false;
	if (syscall(SYS_tgkill, getpid(), thread, STOP) != 0)
		return false;
	search.thread[search.told++] = thread;
	return true;
}

static int32_t number_of(const char *name)
{
	int32_t number = 0;

	for (; *name >= '0' && *name <= '9'; name++)
		number = number * 10 + (*name - '0');
	return *name == '\0' ? number : 0;
}

/* Whether there was one that had not been told. */
static bool tell_all(void)
{
	struct entry { /* as the kernel has it */
		uint64_t inode;
		int64_t offset;
		uint16_t bytes;
		uint8_t type;
		char name[];
	};
	_Alignas(struct entry) char text[1024];
	int folder = open("/proc/self/task", O_RDONLY | O_CLOEXEC | O_DIRECTORY);
	bool any = false;
	long got;

	while (folder >= 0 && (got = syscall(SYS_getdents64, folder, text, sizeof(text))) > 0)
		for (long at = 0; at < got; at += ((struct entry *)(void *)(text + at))->bytes)
			any |= tell(number_of(((struct entry *)(void *)(text + at))->name));
	if (folder >= 0)
		close(folder);
	return any;
}

static void stop_all(struct sigaction *old)
{
	struct sigaction action = { .sa_handler = park, .sa_flags = SA_RESTART | SA_ONSTACK };
	unsigned waited = 0;

	search.told = search.stacks = 0;
	atomic_store_explicit(&search.entered, 0, memory_order_relaxed);
	atomic_store_explicit(&search.stopped, 0, memory_order_relaxed);
	atomic_store_explicit(&search.stop, true, memory_order_release);
	sigfillset(&action.sa_mask);
	if (dry_unix_real_sigaction(STOP, &action, old) != 0)
		return;
	/* A thread that has not stopped yet may make another one. acquire: pairs with the release in park() */
	while (tell_all())
		for (; atomic_load_explicit(&search.stopped, memory_order_acquire) < search.told && waited < PATIENCE; waited++)
			dry_port_sleep_ms(1);
	search.stacks = atomic_load_explicit(&search.stopped, memory_order_acquire);
	if (search.stacks > THREADS - 1)
		search.stacks = THREADS - 1;
}

/* ---- memory -------------------------------------------------------------------------------- */

bool dry_port_root_readable(uintptr_t page)
{
	int saved = errno;
	bool readable = dry_file_can_read((const void *)page);

	errno = saved;
	return readable;
}

/* Whether what the kernel says of a page is in entry[]; of as many before `to` as there is room for. */
static bool know(uintptr_t at, uintptr_t to)
{
	size_t page = dry_port_page_size(), want = (to - at + page - 1) / page;
	ssize_t got = -1;

	if (at - search.known_from < search.known_to - search.known_from)
		return true;
	if (search.pages >= 0)
		got = pread(search.pages, search.entry, (want < BATCH ? want : BATCH) * sizeof(search.entry[0]),
			    (off_t)(at / page * sizeof(search.entry[0])));
	search.known_from = at;
	search.known_to = got > 0 ? at + (size_t)got / sizeof(search.entry[0]) * page : at;
	return search.known_to > at;
}

/* What there is in a page: one that was never touched would get memory by a look. Those up to `to` will be asked of next. */
static enum there { NOTHING, MEMORY, GUARD } there_is(uintptr_t at, uintptr_t to)
{
	uint64_t entry = SWAPPED;

	if (know(at, to))
		entry = search.entry[(at - search.known_from) / dry_port_page_size()];
	if ((entry & PRESENT) != 0)
		return MEMORY;
	if ((entry & SWAPPED) == 0)
		return NOTHING;
	return dry_port_root_readable(at) ? MEMORY : GUARD;
}

static bool has_guard(uintptr_t from, uintptr_t to)
{
	size_t page = dry_port_page_size();

	for (uintptr_t at = from - from % page; at < to; at += page)
		if (there_is(at, to) == GUARD)
			return true;
	return false;
}

/* The lowest end of a stack in a range; `to`: there is none. */
static uintptr_t stack_in(uintptr_t from, uintptr_t to)
{
	for (unsigned i = 0; i <= search.stacks; i++) {
		uintptr_t at = atomic_load_explicit(&search.stack[i], memory_order_relaxed);
		if (at >= from && at < to)
			to = at;
	}
	return to;
}

/* Where the part in use of a range begins that a stack begins in, if it is one's alone up to the next guard. */
static uintptr_t used_from(uintptr_t from, uintptr_t to)
{
	uintptr_t end = stack_in(from, to), next = end < to ? stack_in(end + 1, to) : to;

	if (end == to || has_guard(from, end) || (next < to && !has_guard(end, next)))
		return from;
	return end - end % sizeof(uintptr_t);
}

/* The parts of it that have memory. guarded: below it is a guard, as below a stack. */
static void visit_present(uintptr_t from, uintptr_t to, bool guarded)
{
	size_t page = dry_port_page_size();
	uintptr_t start = 0, used = guarded ? used_from(from, to) : from, at = used - used % page;

	for (; at < to; at += page) {
		enum there there = there_is(at, to);
		if (there == MEMORY && start == 0)
			start = at > used ? at : used;
		if (there == MEMORY)
			continue;
		if (start != 0)
			search.visit(start, at);
		start = 0;
		if (there == GUARD) {
			used = used_from(at + page, to);
			at = used - used % page - page;
		}
	}
	if (start != 0)
		search.visit(start, to);
}

/* What others write, too, is left out: it may be gone when it is read, and holds no pointers of one process. */
static void visit_all(struct dry_unix_maps *maps)
{
	uintptr_t guard = 0; /* end of a range that nobody can access */
	int c = 0;

	while (c >= 0) {
		uintptr_t from = dry_unix_maps_number(maps, &c), to = c == '-' ? dry_unix_maps_number(maps, &c) : 0;
		char rights[4] = "", name = 0;
		for (unsigned i = 0; i < sizeof(rights) && c >= 0; i++)
			rights[i] = (char)(c = dry_unix_maps_char(maps));
		while (c >= 0 && c != '\n') {
			c = dry_unix_maps_char(maps);
			name = name == 0 || name == '[' ? (char)(c == '[' || name == '[' ? c : 0) : name;
		}
		if (from < to && rights[0] == 'r' && rights[1] == 'w' && rights[3] == 'p')
			visit_present(from, to, guard == from || name == 's'); /* [stack] */
		if (rights[0] == '-' && rights[1] == '-')
			guard = to;
	}
}

/* Registers have been saved in the caller's frame. */
static DRY_NOINLINE bool visit_from_here(void)
{
	static struct dry_unix_maps maps;

	atomic_store_explicit(&search.stack[search.stacks], (uintptr_t)__builtin_frame_address(0), memory_order_relaxed);
	maps.at = maps.end = 0;
	maps.fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (maps.fd < 0)
		return false;
	search.pages = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	search.known_from = search.known_to = 0;
	visit_all(&maps);
	if (search.pages >= 0)
		close(search.pages);
	close(maps.fd);
	return true;
}

bool dry_port_roots(void (*visit)(uintptr_t from, uintptr_t to))
{
	struct sigaction old;
	int saved = errno, cancel;
	bool done;

	if (dry_port_confined())
		return false;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	search.visit = visit;
	stop_all(&old);
	__builtin_unwind_init();
	done = visit_from_here();
	atomic_store_explicit(&search.stop, false, memory_order_release);
	dry_unix_real_sigaction(STOP, &old, NULL);
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
	return done;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "faults.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>

#include "base/error.h"
#include "heap/heap.h"
#include "input.h"
#include "port/unix/lock_count.h"

struct faults faults;

void *__real_dry_port_reserve(size_t size, size_t align, bool readable);
int __real_dry_port_reserve_at(void *addr, size_t size, enum dry_access access);
int __real_dry_port_commit(void *addr, size_t size);
void *__real_dry_port_resize(void *addr, size_t old_size, size_t new_size, size_t align);
unsigned __real_dry_port_nodes(void);
unsigned __real_dry_port_node(void);
void __real_dry_port_write(const char *text, size_t bytes);
void __real_dry_port_purge(void *addr, size_t size);
void __real_dry_port_yield(void);
bool __real_dry_port_slot_attach(bool frees);
bool __real_dry_port_slot_fence(void);
size_t __real_dry_port_address_room(void);
int __real_dry_port_thread_start(void (*fn)(void));
void __wrap_dry_port_purge(void *addr, size_t size);
void __wrap_dry_port_yield(void);
bool __wrap_dry_port_slot_attach(bool frees);
bool __wrap_dry_port_slot_fence(void);
size_t __wrap_dry_port_address_room(void);
int __wrap_dry_port_thread_start(void (*fn)(void));
void *__wrap_dry_port_reserve(size_t size, size_t align, bool readable);
int __wrap_dry_port_reserve_at(void *addr, size_t size, enum dry_access access);
int __wrap_dry_port_commit(void *addr, size_t size);
void *__wrap_dry_port_resize(void *addr, size_t old_size, size_t new_size, size_t align);
unsigned __wrap_dry_port_nodes(void);
unsigned __wrap_dry_port_node(void);
void __wrap_dry_port_write(const char *text, size_t bytes);

/* ---- another thread ---------------------------------------------------------------------- */

static struct {
	void (*fn)(void);       /* NULL: nothing is to be done */
	struct dry_heap *heap;
	unsigned skip;          /* places before it */
	bool runs;
	int cpu;
	pthread_t thread;
	sem_t go;
	sem_t pause;            /* posted when fn has returned, and when it waits for the caller */
} meanwhile;
static _Thread_local bool is_caller; /* has asked for it; the heap's helper thread comes by the places, too */
static _Thread_local bool is_other;

static void wait_for(sem_t *semaphore)
{
	while (sem_wait(semaphore) != 0)
		EXPECT(errno == EINTR);
}

static void *start(void *arg)
{
	cpu_set_t one;

	/* On the same CPU it has the same arrays. */
	CPU_ZERO(&one);
	CPU_SET((unsigned)meanwhile.cpu, &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
	is_other = true;
	wait_for(&meanwhile.go);
	meanwhile.fn();
	sem_post(&meanwhile.pause);
	return arg;
}

void faults_meanwhile(struct dry_heap *heap, unsigned n, void (*fn)(void))
{
	meanwhile.fn = fn;
	meanwhile.heap = heap;
	meanwhile.skip = n;
	is_caller = true;
}

bool faults_meanwhile_join(void)
{
	if (!meanwhile.runs)
		return false;
	EXPECT(pthread_join(meanwhile.thread, NULL) == 0);
	sem_destroy(&meanwhile.pause);
	sem_destroy(&meanwhile.go);
	meanwhile.runs = false;
	meanwhile.fn = NULL;
	return true;
}

void faults_place(void)
{
	uint64_t fail = faults.fail;
	int error = errno;

	/* A thread needs memory: not where a lock is held. */
	if (!is_caller || !meanwhile.fn || meanwhile.runs || dry_locks_held != 0)
		return;
	if (!dry_heap_is_quiet(meanwhile.heap) || meanwhile.skip-- != 0)
		return;
	meanwhile.runs = true;
	meanwhile.cpu = sched_getcpu();
	EXPECT(sem_init(&meanwhile.pause, 0, 0) == 0 && sem_init(&meanwhile.go, 0, 0) == 0);
	faults.fail = 0; /* a thread needs memory, too */
	meanwhile.runs = pthread_create(&meanwhile.thread, NULL, start, NULL) == 0;
	faults.fail = fail;
	if (meanwhile.runs) {
		sem_post(&meanwhile.go);
		wait_for(&meanwhile.pause);
	}
	errno = error;
}

/* ---- the world below ------------------------------------------------------------------------ */

static bool fails(void)
{
	bool refused = faults.fail & 1;

	faults.fail >>= 1;
	faults.refused += refused;
	return refused;
}

void *__wrap_dry_port_reserve(size_t size, size_t align, bool readable)
{
	faults_place();
	return fails() ? NULL : __real_dry_port_reserve(size, align, readable);
}

int __wrap_dry_port_reserve_at(void *addr, size_t size, enum dry_access access)
{
	faults_place();
	return fails() ? -DRY_ENOMEM : __real_dry_port_reserve_at(addr, size, access);
}

int __wrap_dry_port_commit(void *addr, size_t size)
{
	faults_place();
	return fails() ? -DRY_ENOMEM : __real_dry_port_commit(addr, size);
}

void *__wrap_dry_port_resize(void *addr, size_t old_size, size_t new_size, size_t align)
{
	faults_place();
	return fails() ? NULL : __real_dry_port_resize(addr, old_size, new_size, align);
}

void __wrap_dry_port_purge(void *addr, size_t size)
{
	faults_place();
	__real_dry_port_purge(addr, size);
}

/* Who waits for another thread must let it run. */
void __wrap_dry_port_yield(void)
{
	if (is_other)
		sem_post(&meanwhile.pause);
	__real_dry_port_yield();
}

bool __wrap_dry_port_slot_attach(bool frees)
{
	faults_place();
	return __real_dry_port_slot_attach(frees);
}

bool __wrap_dry_port_slot_fence(void)
{
	if (faults.no_fence == 0)
		return __real_dry_port_slot_fence();
	faults.no_fence--;
	return false;
}

size_t __wrap_dry_port_address_room(void)
{
	return faults.room ? faults.room : __real_dry_port_address_room();
}

int __wrap_dry_port_thread_start(void (*fn)(void))
{
	return faults.no_thread ? -DRY_ENOMEM : __real_dry_port_thread_start(fn);
}

unsigned __wrap_dry_port_nodes(void)
{
	faults_place();
	return faults.nodes ? faults.nodes : __real_dry_port_nodes();
}

unsigned __wrap_dry_port_node(void)
{
	return faults.nodes ? faults.node : __real_dry_port_node();
}

void __wrap_dry_port_write(const char *text, size_t bytes)
{
	size_t kept = bytes < sizeof(faults.line) ? bytes : sizeof(faults.line) - 1;

	if (!faults.catch_lines) {
		__real_dry_port_write(text, bytes);
		return;
	}
	if (strncmp(text, "drystone: ", 10) != 0)
		return; /* more of a report, or a listing */
	for (unsigned i = 0; i < 2; i++)
		if (faults.ignored[i] && strstr(text, faults.ignored[i]))
			return;
	faults.reports++;
	memcpy(faults.line, text, kept);
	faults.line[kept] = '\0';
}

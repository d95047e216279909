/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The port contract: everything that drystone asks of the world below it.
 *
 * A port is a set of files chosen by the build: port_impl.h (found through the
 * include path; defines struct dry_lock with its inline calls) and sources
 * that define every function below. An architecture adds percpu.h, likewise
 * found through the include path (arch/generic is the plain one). contract_check.c
 * refers to each call with its exact type, so that a port that lacks one does not
 * link and one that differs does not compile. Nothing here allocates from a drystone
 * heap, and nothing changes errno except dry_port_set_errno().
 */
#ifndef DRY_PORT_CONTRACT_H
#define DRY_PORT_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "port/slots.h"
#include "port_impl.h" /* struct dry_lock, DRY_LOCK_INIT, dry_lock_init/acquire/acquire_contended/try/release */

/* ---- memory ----------------------------------------------------------
 * Addresses and sizes are multiples of dry_port_page_size().
 */

/* Smallest unit of commit and purge: 4096, 16384 or 65536. */
size_t dry_port_page_size(void);

/* Bytes of address space that the process may still take; SIZE_MAX: no limit known. */
size_t dry_port_address_room(void);

/* What is reserved or committed and not used may be missed elsewhere: a limit counts it, as far as is known. No system call. */
bool dry_port_is_scarce(void);
/* Scarce, and such a limit leaves less than twice what is used: what is idle may be missed at once. No system call. */
bool dry_port_is_tight(void);
/* Whether it is scarce, looked at anew, as when memory was refused. Keeps errno. */
bool dry_port_find_scarce(void);

/*
 * Address space without memory behind it, aligned to `align` (a power of two
 * >= page size). readable: reads give zero before commit; else any access faults.
 * NULL when there is no room.
 */
void *dry_port_reserve(size_t size, size_t align, bool readable);

/*
 * Where address space is reserved bit by bit: a place, aligned to `align`, from which on `size` bytes are likely to be free and to
 * stay so, away from where others map memory; of each call another. NULL: the port knows of none.
 */
void *dry_port_window(size_t size, size_t align);

/*
 * The same for what is mapped in it here and there, page by page: no other window comes to lie between. There is room for two
 * in a process. NULL: not for so much.
 */
void *dry_port_sparse_window(size_t size, size_t align);

enum dry_access { DRY_ACCESS_NONE, DRY_ACCESS_READ, DRY_ACCESS_WRITE };

/*
 * As dry_port_reserve(), just there; what borders on another reservation is one with it. DRY_ACCESS_WRITE: and committed.
 * 0, -EBUSY: something is there, -EAGAIN: what is mapped is locked, and so much may not be (mlockall); -ENOMEM.
 */
int dry_port_reserve_at(void *addr, size_t size, enum dry_access access);

/* Make [addr, addr+size) of a reservation readable and writable. First contents are zero. 0 or -ENOMEM. */
int dry_port_commit(void *addr, size_t size);

/* Memory of a committed range that is not there yet shall come from a node (< dry_port_nodes()), if that can be had. */
void dry_port_place(void *addr, size_t size, unsigned node);

/* Give the memory behind a committed range back; it stays committed and reads as zero. */
void dry_port_purge(void *addr, size_t size);

/* Give a range of a reservation back for good, or one that covers parts of several; committed or not. */
void dry_port_release(void *addr, size_t size);

/*
 * Change the size of a committed range. align: a power of two, the content may move to a new address that is aligned like that
 * if it can be had, and to a page. NULL if it cannot be done, for example because it covers parts of several reservations; then
 * nothing changed.
 */
void *dry_port_resize(void *addr, size_t old_size, size_t new_size, size_t align);

/*
 * Bytes of memory that the process may have as far as that is known: what its control groups leave it, else the machine's.
 * SIZE_MAX: not known. Reads files.
 */
size_t dry_port_memory_limit(void);
/* The same later, from whatever call the program makes: little stack, nothing where filters may be in force. 0: not told. */
size_t dry_port_memory_limit_again(void);

/*
 * Of ranges of 2 MiB and more that are committed from now on: huge pages as the system has it, none, or wherever they fit; or as
 * the system has it, and else by dry_port_collapse() only.
 */
enum dry_huge { DRY_HUGE_SYSTEM, DRY_HUGE_NEVER, DRY_HUGE_ALWAYS, DRY_HUGE_COLLAPSE };
void dry_port_set_huge(enum dry_huge huge);
/* The same for a range that is committed already. */
void dry_port_advise_huge(void *addr, size_t size, enum dry_huge huge);
/* Put huge pages in place of the memory of a committed range, now, wherever they fit; it stays as it is. false: cannot be had. */
bool dry_port_collapse(void *addr, size_t size);

/* Memory that is placed from now on: on the node that is asked for, over all nodes in turn, or wherever the system likes. */
enum dry_placing { DRY_PLACE_LOCAL, DRY_PLACE_INTERLEAVE, DRY_PLACE_OFF };
void dry_port_set_placing(enum dry_placing placing);

/*
 * Of a hundred pages of a range, so many have memory, about; *first: they are the first ones, or none. -1: not known, or it is no
 * committed range any more.
 */
int dry_port_density(const void *addr, size_t size, bool *first);

/* A hint, for as the system has it: who uses this committed range will fill it, so that its memory may come in huge pages. */
void dry_port_dense(void *addr, size_t size);

/*
 * A hint, for as the system has it: this committed range is given back in pieces of so many bytes or less. A bigger huge page would
 * bring all of itself back for one byte that is touched.
 */
void dry_port_piecemeal(void *addr, size_t size, size_t piece);

/* Memory for all of a committed range at once, as if each page was touched. false: cannot be had like that, here or ever. */
bool dry_port_populate(void *addr, size_t size);
/*
 * The same for 2 MiB, aligned to as much, by one huge page if the system has one; it brings back none where memory is purged
 * later. false: cannot be had, or is not wanted (dry_port_set_huge()).
 */
bool dry_port_populate_huge(void *addr, size_t size);

/* ---- CPUs, nodes; slots: port/slots.h ---- */

/* Called once, before anything else; again is harmless. Decides the kind of slots. */
void dry_port_init(void);

/*
 * Memory nodes, those that have memory, 1 to 8 and constant after dry_port_init(); and the caller's (below that number; a
 * hint, it may change at once). Cheap enough for each slow path.
 */
unsigned dry_port_nodes(void);
unsigned dry_port_node(void);

/* ---- threads, time, text ---------------------------------------------- */

/* Milliseconds of a clock that never goes back. */
uint64_t dry_port_clock_ms(void);
/* Processor time of the process so far, or of the calling thread, us. A system call: not where filters may be in force. */
uint64_t dry_port_processor_us(bool process);

/* Sleep about ms milliseconds. */
void dry_port_sleep_ms(unsigned ms);

/*
 * The helper thread's sleep between its rounds, about ms milliseconds; one thread's. What it has to do then: another round; to
 * park, for a filter has come: to wait for the end of the process without another call; to end. It says when it ends.
 */
enum dry_rest { DRY_REST_ROUND, DRY_REST_PARK, DRY_REST_END };
enum dry_rest dry_port_rest_ms(unsigned ms);
_Noreturn void dry_port_park(void);
void dry_port_rest_over(void);
/*
 * If the process has no other threads than the caller and the library's, the helper ends: for what depends on there being one
 * thread. Waits for that, some 100 ms at most.
 */
void dry_port_rest_end(void);

/*
 * Only what libc's own malloc asks of the system may be asked for: another call may end the process, because the program
 * has filters on them: then it stays true. Or the caller is the child of a vfork(), which shares its parent's memory.
 */
bool dry_port_restricted(void);
/* The program itself has asked for a filter: not even what it called when it began may be asked for. Restricted, too. */
bool dry_port_confined(void);
/* The process ends: what it has not asked for by now is not worth a call that may end it too soon. */
void dry_port_ending(void);

/* Start a detached helper thread with all signals blocked and a small stack. 0 or -errno. Not thread-safe. */
int dry_port_thread_start(void (*fn)(void));
/*
 * Asked by helper threads now and then: once all threads of the program's own have ended, the first one by pthread_exit(), the
 * process exits, as it would have done without helpers.
 */
void dry_port_thread_leave(void);
/* Whether filters allow of one that nobody asked for: of one of before the program that is known if it has threads. */
bool dry_port_thread_allowed(void);

/* The process is known to have one thread. */
bool dry_port_alone(void);

/* Let another thread run. */
void dry_port_yield(void);

/* A number of the calling thread, not 0, which no other one has that lives; the same in the child of a fork. */
uintptr_t dry_port_self(void);

/*
 * Handlers around fork; called once. prepare is to take every lock; it runs after all handlers that are registered
 * later. It and parent are left out where the forking thread is alone or holds a lock already, and in
 * the child then everything is as this thread left it.
 */
void dry_port_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(bool prepared));

/* Where a fork is over: lets a lock go that it took (dry_lock_acquire_unranked()); in the child nobody waits for it. */
static inline void dry_lock_forked(struct dry_lock *lock, bool in_child)
{
	if (in_child)
		dry_lock_reinit(lock);
	else
		dry_lock_release(lock);
}

/* First thing in the child of a fork: the port puts its own state in order. */
void dry_port_forked(void);

/* errno of the calling thread. */
void dry_port_set_errno(int value);
int dry_port_get_errno(void);

/* The value of an environment variable; NULL if unset, or if the process runs with raised privileges. */
const char *dry_port_getenv(const char *name);

/*
 * Whether there is an environment to ask: libc has begun. Never in a static program, which has one before libc is ready for much:
 * that waits for the constructors.
 */
bool dry_port_has_environment(void);

/* Keep a copy of file descriptor 2 for reports to come: programs close it before they end. */
void dry_port_keep_stderr(void);

/*
 * From now on text goes to the end of this file, which is opened when there is some; %p in the path is the number of the
 * process. At most 255 characters.
 */
void dry_port_log_to(const char *path, size_t length);

/* Write text to that file, else (or where it cannot be had) to file descriptor 2, or its copy; all of it if possible. */
void dry_port_write(const char *text, size_t bytes);

/* End the process abnormally, leaving a core where configured. Does not return. */
_Noreturn void dry_port_abort(void);

#endif

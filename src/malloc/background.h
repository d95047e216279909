/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Memory goes back while the program is idle. In a program with threads a helper thread reaps the default
 * heap. It starts when the heap has grown (START_BYTES) and ends when it has been
 * small for a while, so small programs never have it. A program with one thread has none before its heap is big: there the
 * calls themselves do it (docs/design/memory-return.md).
 *
 * The thread is started by allocations only: libc frees memory under locks that pthread_create() takes, but does
 * not allocate under them.
 *
 * States: OFF -> RUNNING (poke) -> OFF (thread ends; fork child). One atomic.
 */
#ifndef DRY_MALLOC_BACKGROUND_H
#define DRY_MALLOC_BACKGROUND_H

/* Before a slow allocation: start the thread if the heap is big, or do its work if that is due. Cheap. Not where a lock is held. */
void dry_background_poke(void);
/* After a slow free: with one thread, give back what is much. Cheap. */
void dry_background_freed(void);

/* These two for who is told of them (heap/heap.h). */
extern const struct dry_keeper dry_background;

/* In the child of a fork the thread is gone. */
void dry_background_forked(void);

#endif

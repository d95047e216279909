/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What a target does to the world below the library: requests for memory that fail, memory
 * nodes that change, a fence that does not come to an end, and lines on standard error that are counted and not
 * written. And what another thread does in the middle of a call: at a request to the world below that is made without
 * a lock. Linked with --wrap for the calls of the port that it stands in for.
 */
#ifndef DRY_TESTS_FUZZ_FAULTS_H
#define DRY_TESTS_FUZZ_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct faults {
	uint64_t fail;     /* bit k: the k-th of the next 64 requests is refused */
	unsigned refused;  /* requests refused so far */
	unsigned nodes;    /* how many the port says there are; 0: what there are */
	unsigned node;     /* the caller's; used where nodes is not 0 */
	size_t room;       /* address space that the port says there is left; 0: what there is */
	bool no_thread;    /* no helper thread can be started */
	unsigned no_fence; /* so many of the next fences do not come to an end */
	bool catch_lines;  /* count reports instead of writing them */
	const char *ignored[2]; /* but not lines with one of these in them */
	unsigned reports;  /* their first lines so far */
	char line[512];    /* the last one */
};
extern struct faults faults;

/*
 * Another thread runs fn at the n-th of the next places (0: the first) where the port is asked for something with no lock of
 * `heap` held; the calling thread goes on when fn has returned, or waits for the caller. NULL: nothing, from now on.
 */
struct dry_heap;
void faults_meanwhile(struct dry_heap *heap, unsigned n, void (*fn)(void));
/* If it has begun: wait for its end. Whether it had. */
bool faults_meanwhile_join(void);
/* Such a place within the target itself. */
void faults_place(void);

#endif

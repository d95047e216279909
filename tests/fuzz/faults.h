/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What a target does to the world below the library: requests for memory that fail, memory
 * nodes that change, and lines on standard error that are counted and not written. Linked with
 * --wrap for the port's reserve, commit, resize, nodes, node and write.
 */
#ifndef DRY_TESTS_FUZZ_FAULTS_H
#define DRY_TESTS_FUZZ_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

struct faults {
	uint64_t fail;     /* bit k: the k-th of the next 64 requests is refused */
	unsigned refused;  /* requests refused so far */
	unsigned nodes;    /* how many the port says there are; 0: what there are */
	unsigned node;     /* the caller's; used where nodes is not 0 */
	bool catch_lines;  /* count reports instead of writing them */
	unsigned reports;  /* their first lines so far */
	char line[512];    /* the last one */
};
extern struct faults faults;

#endif

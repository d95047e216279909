/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A part of a target in a process of its own. What libFuzzer counts there comes back to the parent, so that it sees
 * which inputs reach new code; lines that are counted (scripts/fuzz --coverage) are written down by each process.
 */
#ifndef DRY_TESTS_FUZZ_CHILD_H
#define DRY_TESTS_FUZZ_CHILD_H

#include <stdbool.h>

/* Run fn in the child of a fork; whether it came to its end in order. Without a process to be had: true. */
bool in_child(void (*fn)(void));

/* The end of such a child, without what driver, sanitizers and library do when a process ends. */
void end_child(void) __attribute__((noreturn));

#endif

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Stacks by number: each different stack is kept once, for ever, in runs of pages of the default heap.
 *
 *   bucket[hash] -> record -> record -> 0      newest first; a number is a place in the pieces, in units
 *   piece[0..)   -> 64 KiB of records each     made as they are needed
 *
 * Concurrency: no lock. A record is written, then published (release) as the head of its bucket; it never
 * changes but for the counts, which one listing at a time uses. Two threads may publish the same stack twice.
 */
#ifndef DRY_DEBUG_STACKS_H
#define DRY_DEBUG_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DRY_STACK_FRAMES 64

/* The caller's stack; 0: none is to be had, or no room is left. Takes no lock but the arena's. */
uint32_t dry_stack_save(void);

/* The frames of a saved stack, innermost first; their number, 0 for what is no stack. */
unsigned dry_stack_frames(uint32_t stack, const uintptr_t **frames);

/* For listings: add an object to a stack's counts. */
void dry_stack_count(uint32_t stack, size_t bytes);
/* The stack with most bytes counted, and its counts, which go back to 0. false: all are 0. */
bool dry_stack_next(uint32_t *stack, size_t *objects, size_t *bytes);
/* All counts are 0 again, wherever in the above another thread was that there is no more. */
void dry_stack_forget_counts(void);

#endif

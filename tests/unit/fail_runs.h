/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Failing runs of pages, as fail_port.h: link fail_runs.c and wrap dry_arena_alloc and dry_arena_alloc_slab. */
#ifndef DRY_TESTS_FAIL_RUNS_H
#define DRY_TESTS_FAIL_RUNS_H

#include <stdatomic.h>

extern atomic_long run_calls;      /* calls of the two so far */
extern atomic_long run_fail_at;    /* the call with this number fails (the first is 1); 0: none */
extern atomic_bool run_fail_after; /* and so does every later one */

#endif

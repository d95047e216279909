/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The patterns in C, by file. Each file says what its patterns do. */
#ifndef DRY_BENCH_PATTERNS_H
#define DRY_BENCH_PATTERNS_H

#include "suite.h"

/* replace.c */
void pattern_powerlaw(struct suite *suite);
void pattern_powerlaw_few(struct suite *suite);
void pattern_small256(struct suite *suite);
void pattern_wide(struct suite *suite);
/* threads.c */
void pattern_server(struct suite *suite);
void pattern_churn(struct suite *suite);
void pattern_phases(struct suite *suite);
/* handover.c */
void pattern_oneway(struct suite *suite);
void pattern_alltoall(struct suite *suite);
void pattern_batches(struct suite *suite);
/* sharing.c */
void pattern_sharing_active(struct suite *suite);
void pattern_sharing_passive(struct suite *suite);
/* symbols.c, minimise.c, trees.c */
void pattern_symbols(struct suite *suite);
void pattern_minimise(struct suite *suite);
void pattern_trees(struct suite *suite);
/* turnover.c */
void pattern_turnover(struct suite *suite);
/* big.c */
void pattern_grow(struct suite *suite);
void pattern_big(struct suite *suite);
void pattern_big_sparse(struct suite *suite);
/* runs.c, drift.c, processes.c */
void pattern_runs(struct suite *suite);
void pattern_drift(struct suite *suite);
void pattern_drift_hard(struct suite *suite);
void pattern_processes(struct suite *suite);
void pattern_child(struct suite *suite);

#endif

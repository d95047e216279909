/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Metrics of the process (stats/metrics.h) in a file that is written anew now and then, or at a socket: option metrics. */
#ifndef DRY_MALLOC_METRICS_H
#define DRY_MALLOC_METRICS_H

#include <stdbool.h>

/* At start: a helper thread, if metrics are asked for. A forked child has none. */
void dry_metrics_start(void);
/* In the child of a fork: what the parent writes, and who connects to its socket, is the parent's. */
void dry_metrics_forked(void);
/* At the end: the file once more, if locks may be waited for. */
void dry_metrics_finish(bool may_wait);

#endif

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The figures of all heaps in the OpenMetrics 1.0 text format. Names, units and meanings are those of
 * `drystone info --openmetrics` (tools/drystone/figures.h), of which it has what the library keeps itself.
 *
 * Concurrency: one caller at a time; it holds no lock.
 */
#ifndef DRY_STATS_METRICS_H
#define DRY_STATS_METRICS_H

#include "port/save.h"

void dry_metrics_write(dry_port_writer *write, void *arg);

#endif

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The figures of all heaps in the OpenMetrics 1.0 text format. Names, units and meanings are those of
 * `drystone info --openmetrics` (tools/drystone/figures.h), of which it has what the library keeps itself. In Prometheus' older
 * format a family of counters has _total in its name, too, and there are neither UNIT nor end.
 *
 * Concurrency: one caller at a time; it holds no lock.
 */
#ifndef DRY_STATS_METRICS_H
#define DRY_STATS_METRICS_H

#include "port/save.h"

/* From now on each series has the number of the process as a label: collectors merge the files of several. */
void dry_metrics_tell_apart(void);
void dry_metrics_write(dry_port_writer *write, void *arg);
void dry_metrics_write_older(dry_port_writer *write, void *arg);

#endif

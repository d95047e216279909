/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "patterns.h"

int main(int argc, char **argv)
{
	static const struct suite_pattern patterns[] = {
		{ "powerlaw", pattern_powerlaw },
		{ "powerlaw_few", pattern_powerlaw_few },
		{ "small256", pattern_small256 },
		{ "wide", pattern_wide },
		{ "server", pattern_server },
		{ "churn", pattern_churn },
		{ "phases", pattern_phases },
		{ "oneway", pattern_oneway },
		{ "alltoall", pattern_alltoall },
		{ "batches", pattern_batches },
		{ "sharing_active", pattern_sharing_active },
		{ "sharing_passive", pattern_sharing_passive },
		{ "symbols", pattern_symbols },
		{ "minimise", pattern_minimise },
		{ "trees", pattern_trees },
		{ "turnover", pattern_turnover },
		{ "grow", pattern_grow },
		{ "big", pattern_big },
		{ "big_sparse", pattern_big_sparse },
		{ "runs", pattern_runs },
		{ "drift", pattern_drift },
		{ "drift_hard", pattern_drift_hard },
		{ "processes", pattern_processes },
		{ "child", pattern_child },
		{ NULL, NULL },
	};

	return suite_main(argc, argv, patterns);
}

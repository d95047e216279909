/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * drystone experiment: become the runner of the experiments, a Python program, which lies in the
 * build folder beside this command or in the installed tree.
 */
#include "cli.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Seen from the command's folder: of a build, as configured, and by custom. */
static const char *const places[] = { "experiments/run", DRY_BIN_TO_LIBEXEC "/drystone/experiments/run",
				      "../libexec/drystone/experiments/run" };

static int main_experiment(int argc, char **argv)
{
	char folder[PATH_MAX], runner[PATH_MAX * 2];

	(void)argc; /* the runner says what is wrong with the call */
	if (cli_own_folder(folder, sizeof(folder))) {
		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
			snprintf(runner, sizeof(runner), "%s/%s", folder, places[i]);
			if (access(runner, X_OK) != 0)
				continue;
			argv[0] = runner;
			execv(runner, argv);
			cli_error("cannot run %s: %s", runner, strerror(errno));
			return CLI_FAILED;
		}
	}
	cli_error("the experiments are neither beside this command nor in %s/drystone/experiments from there",
		  DRY_BIN_TO_LIBEXEC);
	return CLI_FAILED;
}

const struct cli_command cli_experiment = {
	.name = "experiment",
	.main = main_experiment,
	.synopsis = "NAME... [OPTION]...",
	.summary = "measure again what the documents behind drystone measured",
	.about = "NAME is one of those that `drystone experiment --help` lists. See drystone-experiment(1).\n",
	.program_follows = true,
};

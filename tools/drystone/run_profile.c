/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* drystone run --profile: of the program and its children, the program's is shown. */
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "cli.h"
#include "profile.h"
#include "run.h"

bool run_profile_begin(struct run_profile *profile)
{
	return profile_can_write(profile->output) && run_files_begin(&profile->files, "profile:524288,profile_file");
}

int run_profile_program(const struct run_profile *profile, char **argv)
{
	char path[PATH_MAX];
	pid_t child;
	int status = run_child(argv, &child);

	snprintf(path, sizeof(path), "%s/%d", profile->files.folder, (int)child);
	if (child > 0 && access(path, R_OK) != 0) {
		if (run_has_begun(status) && !run_is_refused())
			cli_error("run: %s left no profile: it was killed, or ended by _exit(), or has a malloc of its own",
				  argv[0]);
		status = status != 0 ? status : CLI_RUN_FAILED;
	} else if (child > 0 && profile_show_file(path, profile->output) != 0) {
		cli_error("run: what was measured stays in %s, which `drystone profile` reads", path);
		return status != 0 ? status : CLI_RUN_FAILED;
	}
	run_files_end(&profile->files);
	return status;
}

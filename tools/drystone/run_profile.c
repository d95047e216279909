/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * drystone run --profile: the program is a child, whose exit status is this command's. It and its children leave their
 * profiles in a folder of their own; the child's is shown.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "profile.h"
#include "run.h"

bool run_profile_begin(struct run_profile *profile)
{
	const char *folder = getenv("TMPDIR");

	if (folder == NULL || folder[0] != '/')
		folder = "/tmp";
	snprintf(profile->folder, sizeof(profile->folder), "%.150s/drystone-XXXXXX", folder);
	if (mkdtemp(profile->folder) != NULL) {
		snprintf(profile->conf, sizeof(profile->conf), "profile:524288,profile_file:%s/%%p", profile->folder);
		if (strpbrk(profile->folder, ",%") == NULL)
			return true;
		rmdir(profile->folder);
	}
	cli_error("run: no folder for the profile can be made: %s", profile->folder);
	return false;
}

static void remove_folder(const char *folder)
{
	DIR *files = opendir(folder);
	char path[PATH_MAX];

	for (struct dirent *file; files != NULL && (file = readdir(files)) != NULL;) {
		snprintf(path, sizeof(path), "%s/%s", folder, file->d_name);
		if (file->d_name[0] != '.')
			unlink(path);
	}
	if (files != NULL)
		closedir(files);
	rmdir(folder);
}

static int wait_for(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return CLI_RUN_FAILED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static _Noreturn void become(char **argv)
{
	int error;

	execvp(argv[0], argv);
	error = errno;
	cli_error("cannot run %s: %s", argv[0], strerror(error));
	_exit(error == ENOENT ? CLI_NOT_FOUND : CLI_NOT_EXECUTABLE);
}

int run_profile_program(const struct run_profile *profile, char **argv)
{
	char path[PATH_MAX];
	pid_t child = fork();
	int status;

	if (child == 0)
		become(argv);
	if (child < 0) {
		cli_error("run: %s", strerror(errno));
		return CLI_RUN_FAILED;
	}
	/* What the terminal sends is the program's to judge. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	status = wait_for(child);
	snprintf(path, sizeof(path), "%s/%d", profile->folder, (int)child);
	if (access(path, R_OK) != 0)
		cli_error("run: %s left no profile: it was killed, or has a malloc of its own", argv[0]);
	else if (profile_show_file(path, profile->output) != 0 && status == 0)
		status = CLI_RUN_FAILED;
	remove_folder(profile->folder);
	return status;
}

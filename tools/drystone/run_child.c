/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
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
#include "run.h"

bool run_files_begin(struct run_files *files, const char *options)
{
	const char *folder = getenv("TMPDIR");

	if (folder == NULL || folder[0] != '/')
		folder = "/tmp";
	snprintf(files->folder, sizeof(files->folder), "%.150s/drystone-XXXXXX", folder);
	if (mkdtemp(files->folder) != NULL) {
		snprintf(files->conf, sizeof(files->conf), "%s:%s/%%p", options, files->folder);
		if (strpbrk(files->folder, ",%") == NULL)
			return true;
		rmdir(files->folder);
	}
	cli_error("run: no folder for the program's files can be made: %s", files->folder);
	return false;
}

static int is_process(const struct dirent *file)
{
	return strspn(file->d_name, "0123456789") == strlen(file->d_name);
}

int run_files_list(const struct run_files *files, struct dirent ***file)
{
	return scandir(files->folder, file, is_process, alphasort);
}

void run_files_end(const struct run_files *files)
{
	DIR *all = opendir(files->folder);
	char path[PATH_MAX];

	for (struct dirent *file; all != NULL && (file = readdir(all)) != NULL;) {
		snprintf(path, sizeof(path), "%s/%s", files->folder, file->d_name);
		if (file->d_name[0] != '.')
			unlink(path);
	}
	if (all != NULL)
		closedir(all);
	rmdir(files->folder);
}

static volatile sig_atomic_t program; /* who is passed what was sent to this command */

static void pass_on(int signal)
{
	int error = errno;

	kill(program, signal);
	errno = error;
}

/* What would end this command is passed on to the program, whose end is that of the command. */
static const int passed[] = { SIGTERM, SIGHUP, 0 };

static int wait_for(pid_t child)
{
	siginfo_t info;
	int status;

	/* Nothing is sent to another process that has got its number. */
	while (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	cli_on_signals(passed, pass_on, SIG_DFL);
	if (waitpid(child, &status, 0) < 0)
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

int run_child(char **argv, pid_t *child)
{
	void (*of_children)(int) = signal(SIGCHLD, SIG_DFL); /* where it is ignored, their statuses are lost */
	sigset_t all, before;
	int status;

	/* None comes between the fork and what is done about it. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	*child = fork();
	if (*child == 0) {
		signal(SIGCHLD, of_children);
		sigprocmask(SIG_SETMASK, &before, NULL);
		become(argv);
	}
	if (*child < 0) {
		cli_error("run: %s", strerror(errno));
	} else {
		/* What the terminal sends is the program's to judge. */
		signal(SIGINT, SIG_IGN);
		signal(SIGQUIT, SIG_IGN);
		program = *child;
		cli_on_signals(passed, SIG_DFL, pass_on);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (*child < 0)
		return CLI_RUN_FAILED;
	status = wait_for(*child);
	/* What is shown now may have no reader any more: the status stays, and what is to be removed. */
	signal(SIGPIPE, SIG_IGN);
	return status;
}

bool run_has_begun(int status)
{
	return status != CLI_NOT_FOUND && status != CLI_NOT_EXECUTABLE;
}

bool run_is_refused(void)
{
	static const char *const others[] = { "debug:", "fail:", "secure:" };
	bool set[] = { false, false, false };

	for (const char *at = getenv("DRYSTONE_CONF"); at != NULL; at = strchr(at, ',')) {
		at += *at == ',';
		for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
			size_t name = strlen(others[i]);
			if (strncmp(at, others[i], name) == 0)
				set[i] = strcspn(at + name, ",") != 0 && at[name] != '0';
		}
	}
	return set[0] || set[1] || set[2];
}

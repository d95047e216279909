/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "output.h"
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char fresh[PATH_MAX]; /* the file that is written meanwhile; "": the one that was named itself */
static char place[PATH_MAX]; /* where it goes */

bool output_is_possible(const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX] = ".";
	struct stat status;

	if (stat(path, &status) == 0) {
		errno = EISDIR;
		return !S_ISDIR(status.st_mode) && access(path, W_OK) == 0;
	}
	if (errno != ENOENT || path[0] == '\0')
		return false;
	if (slash != NULL)
		snprintf(folder, sizeof(folder), "%.*s/", (int)(slash - path), path);
	return access(folder, W_OK | X_OK) == 0;
}

static void drop(void)
{
	if (fresh[0] != '\0')
		unlink(fresh);
	fresh[0] = '\0';
}

static void drop_and_end(int signal)
{
	if (fresh[0] != '\0')
		unlink(fresh);
	cli_on_signals((const int[]){ signal, 0 }, drop_and_end, SIG_DFL);
	raise(signal); /* it comes when this one returns */
}

static void drop_at_the_end(void)
{
	static bool done;

	if (!done)
		atexit(drop);
	done = true;
	cli_on_signals((const int[]){ SIGINT, SIGTERM, SIGHUP, 0 }, SIG_DFL, drop_and_end);
}

/* Those of the file that it replaces, but for what its group may where it cannot have the same group. */
static void take_rights(int fd, const struct stat *old)
{
	mode_t rights = old->st_mode & 0777;
	struct stat own;

	if (fstat(fd, &own) != 0 || (own.st_gid != old->st_gid && fchown(fd, (uid_t)-1, old->st_gid) != 0))
		rights &= (mode_t)~070;
	fchmod(fd, rights);
}

/* A new file, with the rights of the one that it replaces; -1: as it is, it is to be written to in its own place. */
static int open_beside(const char *path)
{
	struct stat old;
	bool is_there = lstat(path, &old) == 0;
	int fd;

	if (is_there ? !S_ISREG(old.st_mode) || old.st_uid != geteuid() || old.st_nlink != 1 || access(path, W_OK) != 0 :
		       errno != ENOENT)
		return -1;
	if (snprintf(place, sizeof(place), "%s", path) >= (int)sizeof(place) ||
	    snprintf(fresh, sizeof(fresh), "%s.new-%d", path, (int)getpid()) >= (int)sizeof(fresh)) {
		fresh[0] = '\0';
		return -1;
	}
	drop_at_the_end();
	fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, is_there ? 0600 : 0666);
	if (fd < 0)
		fresh[0] = '\0';
	else if (is_there)
		take_rights(fd, &old);
	return fd;
}

FILE *output_open(const char *path)
{
	int fd = open_beside(path);
	FILE *file = fd >= 0 ? fdopen(fd, "w") : fopen(path, "w");

	if (file == NULL) {
		int error = errno;
		if (fd >= 0)
			close(fd);
		drop();
		errno = error;
	}
	return file;
}

bool output_close(FILE *file)
{
	bool bad = ferror(file);
	int error;

	errno = 0;
	if (bad && fflush(file) == 0) /* why an earlier write failed, the next one says */
		(void)!write(fileno(file), "", 1);
	if (!(bad | fclose(file)) && (fresh[0] == '\0' || rename(fresh, place) == 0)) {
		fresh[0] = '\0';
		return true;
	}
	error = errno != 0 ? errno : EIO;
	drop();
	errno = error;
	return false;
}

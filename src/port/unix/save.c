/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Files for the linux and the posix port: written beside the old one, then put in its place; devices and pipes as they are. */
#include "port/save.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "port/contract.h"
#include "port/unix/path.h"
#include "port/unix/writer.h"

#define ROOM (DRY_UNIX_PATH + 64)

static bool save(const char *path, void (*fill)(dry_port_writer *write, void *arg))
{
	char name[ROOM], fresh[ROOM];
	struct dry_unix_writer file = { .fd = -1 };
	struct rlimit most;
	struct stat old;

	dry_unix_path(name, DRY_UNIX_PATH, path, (unsigned long)getpid());
	if (stat(name, &old) == 0 && !S_ISREG(old.st_mode)) {
		file.fd = open(name, O_WRONLY | O_CLOEXEC);
		if (file.fd < 0)
			return false;
		fill(dry_unix_put, &file);
		dry_unix_flush(&file);
		close(file.fd);
		return !file.failed;
	}
	/* Others may write the same file. */
	memcpy(fresh, name, strlen(name));
	dry_unix_path(fresh + strlen(name), sizeof(fresh) - DRY_UNIX_PATH, ".new-%p", (unsigned long)getpid());
	file.fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (file.fd < 0)
		return false;
	if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY) {
		file.limited = true;
		file.room = most.rlim_cur;
	}
	fill(dry_unix_put, &file);
	dry_unix_flush(&file);
	close(file.fd);
	if (!file.failed && rename(fresh, name) == 0)
		return true;
	unlink(fresh);
	return false;
}

bool dry_port_save(const char *path, void (*fill)(dry_port_writer *write, void *arg))
{
	int saved = errno, cancel;
	bool done;

	if (dry_port_confined())
		return false;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* malloc() must not become a cancellation point */
	done = save(path, fill);
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
	return done;
}

void dry_port_mapped(dry_port_writer *writer, void *arg)
{
	int saved = errno, fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char text[1024];

	for (ssize_t n; fd >= 0 && (n = read(fd, text, sizeof(text))) > 0;)
		writer(arg, text, (size_t)n);
	if (fd >= 0)
		close(fd);
	errno = saved;
}

size_t dry_port_resident(void)
{
	int saved = errno, fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	char text[64] = "";
	size_t pages = 0;

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
		for (const char *at = strchr(text, ' '); at != NULL && at[1] >= '0' && at[1] <= '9'; at++)
			pages = pages * 10 + (size_t)(at[1] - '0');
	if (fd >= 0)
		close(fd);
	errno = saved;
	return pages * dry_port_page_size();
}

static void (*on_signal)(void); /* immutable once a handler is there */

static void handle(int signal)
{
	(void)signal;
	on_signal();
}

bool dry_port_on_signal(int signal, void (*fn)(void))
{
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };
	int saved = errno;
	bool done;

	on_signal = fn;
	done = sigaction(signal, &action, NULL) == 0;
	errno = saved;
	return done;
}

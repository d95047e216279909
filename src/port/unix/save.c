/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Files for the linux and the posix port: written beside the old one, then put in its place; devices and pipes as they are. */
#include "port/save.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h> /* rename */
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "port/contract.h"
#include "port/unix/map.h"
#include "port/unix/path.h"
#include "port/unix/writer.h"

#define ROOM (DRY_UNIX_PATH + 64)

/* A file has the rights of the one that it replaces, but for what its group may where it cannot have the same group. */
static void take_rights(int fd, const struct stat *old)
{
	mode_t rights = old->st_mode & 0777;
	struct stat own;

	if (fstat(fd, &own) != 0 || (own.st_gid != old->st_gid && fchown(fd, (uid_t)-1, old->st_gid) != 0))
		rights &= (mode_t)~070;
	fchmod(fd, rights);
}

/* To write to; -1. Beside the old one. No other call, and no other thread, writes to the same. Not part of its caller's frame. */
static DRY_NOINLINE int open_beside(const char *name, char *fresh, const struct stat *old, unsigned rights)
{
	static _Atomic unsigned calls; /* relaxed: a number */
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	size_t length = strlen(name);
	int fd;

	memcpy(fresh, name, length);
	dry_unix_path(fresh + length, ROOM - length, ".new-%p", (unsigned long)getpid());
	length = strlen(fresh);
	dry_unix_path(fresh + length, ROOM - length, "-%p", atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed));
	fd = open(fresh, flags, old != NULL ? 0600 : rights);
	if (fd < 0 && errno == EEXIST && unlink(fresh) == 0) /* of a process that had the same number, and ended */
		fd = open(fresh, flags, old != NULL ? 0600 : rights);
	if (fd >= 0 && old != NULL)
		take_rights(fd, old);
	return fd;
}

/* Of what the process has open under a name of the system's; -1: it is no such name. */
static int number_of(const char *name)
{
	static const char *const streams[] = { "/dev/stdin", "/dev/stdout", "/dev/stderr" };
	static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };
	int number = 0;

	for (int i = 0; i < 3; i++)
		if (memcmp(name, streams[i], strlen(streams[i]) + 1) == 0)
			return i;
	for (int i = 0; i < 2; i++) {
		const char *at = name + strlen(folders[i]);
		if (memcmp(name, folders[i], strlen(folders[i])) != 0)
			continue;
		for (; *at >= '0' && *at <= '9' && number < 1 << 20; at++)
			number = number * 10 + (*at - '0');
		return *at == '\0' && at[-1] != '/' ? number : -1;
	}
	return -1;
}

/*
 * As it is: a device, a pipe, a file behind a link, of another user's, or with a second name. What the process has open is written
 * to where that goes on. A pipe without a reader is not waited for.
 */
static DRY_NOINLINE int open_in_place(const char *name, unsigned rights)
{
	int fd = number_of(name);
	struct stat file;

	if (fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode))
		return fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, rights);
}

unsigned long dry_port_process(void)
{
	return (unsigned long)getpid();
}

/* Too much for a small stack (docs/design/stack.md). */
struct room {
	struct dry_unix_writer file;
	struct stat old;
	char name[DRY_UNIX_PATH], fresh[ROOM];
};

static struct room own_room;
static _Atomic bool taken; /* in a child that was forked meanwhile for good; acquire, release: guards it */

/* NULL: there is no memory for another one. */
static struct room *get_room(void)
{
	if (!atomic_exchange_explicit(&taken, true, memory_order_acquire))
		return &own_room;
	return dry_unix_map(sizeof(struct room), PROT_READ | PROT_WRITE, 0);
}

static void put_room(struct room *room)
{
	if (room == &own_room)
		atomic_store_explicit(&taken, false, memory_order_release);
	else
		munmap(room, sizeof(*room));
}

static bool save(struct room *room, const char *path, unsigned rights, void (*fill)(dry_port_writer *write, void *arg))
{
	struct dry_unix_writer *file = &room->file;
	struct stat *old = &room->old;
	bool is_there, beside;

	file->socket = file->failed = false;
	file->used = 0;
	if (!dry_unix_path(room->name, sizeof(room->name), path, dry_port_process()))
		return false;
	is_there = lstat(room->name, old) == 0;
	beside = is_there ? S_ISREG(old->st_mode) && old->st_uid == geteuid() && old->st_nlink == 1 : errno == ENOENT;
	file->fd = beside ? open_beside(room->name, room->fresh, is_there ? old : NULL, rights) : open_in_place(room->name, rights);
	if (file->fd < 0)
		return false;
	fill(dry_unix_put, file);
	dry_unix_flush(file);
	close(file->fd);
	if (!beside || (!file->failed && rename(room->fresh, room->name) == 0))
		return !file->failed;
	unlink(room->fresh);
	return false;
}

bool dry_port_save(const char *path, unsigned rights, void (*fill)(dry_port_writer *write, void *arg))
{
	int saved = errno, cancel;
	struct room *room;
	bool done;

	if (dry_port_confined())
		return false;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* malloc() must not become a cancellation point */
	room = get_room();
	done = room != NULL && save(room, path, rights, fill);
	if (room != NULL)
		put_room(room);
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
	return done;
}

void dry_port_mapped(dry_port_writer *writer, void *arg)
{
	int saved = errno, fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char text[128]; /* below all else (docs/design/stack.md) */

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

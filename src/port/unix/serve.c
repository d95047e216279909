/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A text for whoever connects to a socket in the file system; to who speaks HTTP, with a header. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "port/contract.h"
#include "port/save.h"
#include "port/unix/kept.h"
#include "port/unix/path.h"
#include "port/unix/writer.h"

#define PATIENCE 200 /* ms that who connects has to ask */

static struct dry_unix_kept door = { .fd = -1 }; /* written before the thread that serves it begins */
static struct sockaddr_un place; /* likewise */
static pid_t owner;              /* a child of a fork may not remove its name */

static bool bind_at(int fd)
{
	struct stat there;
	int other;
	bool stale;

	if (bind(fd, (struct sockaddr *)&place, sizeof(place)) == 0)
		return true;
	/* A file, too, refuses connections, and is not ours to remove. */
	if (errno != EADDRINUSE || lstat(place.sun_path, &there) != 0 || !S_ISSOCK(there.st_mode))
		return false;
	/* Whoever left it there does not answer. */
	other = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); /* not waited for while others do */
	stale = other >= 0 && connect(other, (struct sockaddr *)&place, sizeof(place)) != 0 && errno == ECONNREFUSED;
	if (other >= 0)
		close(other);
	return stale && unlink(place.sun_path) == 0 && bind(fd, (struct sockaddr *)&place, sizeof(place)) == 0;
}

bool dry_port_listen(const char *path)
{
	char name[DRY_UNIX_PATH];
	int saved = errno, fd = -1;

	dry_unix_path(name, sizeof(name), path, (unsigned long)getpid());
	/* without a name the system chooses one that nobody knows */
	if (name[0] != '\0' && strlen(name) < sizeof(place.sun_path) && !dry_port_confined())
		fd = dry_unix_fd_high(socket(AF_UNIX, SOCK_STREAM, 0));
	if (fd >= 0) {
		place.sun_family = AF_UNIX;
		memcpy(place.sun_path, name, strlen(name) + 1);
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		if (bind_at(fd) && listen(fd, 8) == 0) {
			owner = getpid();
			dry_unix_keep(&door, fd);
		} else {
			close(fd);
		}
	}
	errno = saved;
	return door.fd >= 0;
}

static void answer(int fd, void (*fill)(dry_port_writer *write, void *arg))
{
	static const char header[] = "HTTP/1.0 200 OK\r\nConnection: close\r\n"
				     "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n\r\n";
	struct pollfd asks = { .fd = fd, .events = POLLIN };
	struct timeval patience = { .tv_sec = 2 };
	struct dry_unix_writer guest = { .fd = fd, .socket = true };
	bool head = false; /* what it says of the figures is all that is asked for */

	/* Who does not read what it asked for has its door shut. */
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (poll(&asks, 1, PATIENCE) == 1 && recv(fd, guest.text, sizeof(guest.text), MSG_DONTWAIT) >= 5) {
		head = memcmp(guest.text, "HEAD ", 5) == 0;
		if (head || memcmp(guest.text, "GET ", 4) == 0)
			dry_unix_put(&guest, header, sizeof(header) - 1);
	}
	if (!head)
		fill(dry_unix_put, &guest);
	dry_unix_flush(&guest);
	shutdown(fd, SHUT_WR);
}

void dry_port_serve(void (*fill)(dry_port_writer *write, void *arg), unsigned ms)
{
	struct pollfd knocks = { .fd = dry_unix_kept_fd(&door), .events = POLLIN };
	int fd, found;

	if (dry_port_confined()) /* the filter may not have thought of what follows */
		dry_port_stay();
	found = poll(&knocks, 1, (int)ms); /* of none: the time alone */
	if (found == 0 || (found < 0 && errno == EINTR) || dry_port_confined() || dry_unix_kept_fd(&door) < 0)
		return;
	fd = accept(knocks.fd, NULL, NULL);
	if (fd < 0 && errno != EINTR && errno != ECONNABORTED)
		dry_port_sleep_ms(ms); /* no file descriptors, perhaps */
	if (fd < 0)
		return;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	answer(fd, fill);
	close(fd);
}

_Noreturn void dry_port_stay(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

	pthread_mutex_lock(&mutex);
	for (;;)
		pthread_cond_wait(&never, &mutex);
}

void dry_port_unlisten(void)
{
	if (door.fd >= 0 && !dry_port_confined() && owner == getpid())
		unlink(place.sun_path);
}

void dry_port_listen_forked(void)
{
	int saved = errno, fd = dry_unix_kept_fd(&door);

	/* Else who connects when the parent has ended waits for good. */
	if (fd >= 0 && !dry_port_confined())
		close(fd);
	door.fd = -1;
	errno = saved;
}

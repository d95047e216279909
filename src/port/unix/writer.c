/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "port/unix/writer.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

void dry_unix_flush(struct dry_unix_writer *writer)
{
	if (writer->limited && writer->used > writer->room)
		writer->failed = true;
	writer->room -= writer->failed ? 0 : writer->used;
	for (size_t done = 0; done < writer->used && !writer->failed;) {
		const char *from = writer->text + done;
		size_t left = writer->used - done;
		ssize_t n = writer->socket ? send(writer->fd, from, left, MSG_NOSIGNAL) : write(writer->fd, from, left);
		if (n > 0)
			done += (size_t)n;
		else if (n == 0 || errno != EINTR)
			writer->failed = true;
	}
	writer->used = 0;
}

void dry_unix_put(void *arg, const char *text, size_t bytes)
{
	struct dry_unix_writer *writer = arg;

	for (size_t i = 0; i < bytes; i++) {
		if (writer->used == sizeof(writer->text))
			dry_unix_flush(writer);
		writer->text[writer->used++] = text[i];
	}
}

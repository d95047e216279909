/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Text into a file or a socket, in pieces. One thread's. */
#ifndef DRY_PORT_UNIX_WRITER_H
#define DRY_PORT_UNIX_WRITER_H

#include <stdbool.h>
#include <stddef.h>

struct dry_unix_writer {
	int fd;
	bool socket; /* whose other end may be gone: no signal then */
	bool failed; /* set once, then nothing more is written */
	bool limited; /* `room` bytes more are allowed (RLIMIT_FSIZE): a write beyond would end the process by a signal */
	size_t room;
	size_t used;
	char text[4096];
};

/* A dry_port_writer; arg: the struct. */
void dry_unix_put(void *arg, const char *text, size_t bytes);
void dry_unix_flush(struct dry_unix_writer *writer);

#endif

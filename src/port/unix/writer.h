/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Text into a file or a socket, in pieces. One thread's. */
#ifndef DRY_PORT_UNIX_WRITER_H
#define DRY_PORT_UNIX_WRITER_H

#include <stdbool.h>
#include <stddef.h>

struct dry_unix_text {
	const char *from;
	size_t bytes; /* that are not written yet */
};

/*
 * Writes a text. 0, or why not all of it is written. Quietly: a pipe without a reader and a limit on files do not end the program;
 * under a filter on system calls, which may not expect that signals are blocked, only the first will do. No lock is taken.
 */
int dry_unix_write(int fd, struct dry_unix_text *text);
int dry_unix_write_quietly(int fd, struct dry_unix_text *text);

struct dry_unix_writer {
	int fd;
	bool socket; /* whose other end may be gone: no signal then */
	bool failed; /* set once, then nothing more is written */
	size_t used;
	char text[4096];
};

/* A dry_port_writer; arg: the struct. */
void dry_unix_put(void *arg, const char *text, size_t bytes);
void dry_unix_flush(struct dry_unix_writer *writer);

#endif

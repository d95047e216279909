/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What statistics ask of a port beyond contract.h: files. Nothing here allocates or changes errno. */
#ifndef DRY_PORT_SAVE_H
#define DRY_PORT_SAVE_H

#include <stdbool.h>
#include <stddef.h>

typedef void dry_port_writer(void *arg, const char *text, size_t bytes);

/*
 * What fill(write, arg) writes becomes the content of a file, at once and whole: until then there is the old one, whose rights
 * it has; a new one has `rights` without the umask. %p in the path is the number of the process. A device, a pipe, or a file
 * behind a link, of another user's or with a second name, is written to as it is. false: it cannot be written; of a file beside
 * which another can be made nothing has changed then.
 */
bool dry_port_save(const char *path, unsigned rights, void (*fill)(dry_port_writer *write, void *arg));

/* The number of the process, as %p has it. */
unsigned long dry_port_process(void);

/*
 * A relative path becomes the one from the root, in place, where so much room is enough for that: the program may go to another
 * directory. Else it stays as it is.
 */
void dry_port_from_root(char *path, size_t room);

/* What is mapped where, as the lines of /proc/self/maps; nothing where that is not to be had. */
void dry_port_mapped(dry_port_writer *write, void *arg);

/* Bytes of the process that are resident; 0: not to be had. */
size_t dry_port_resident(void);

/*
 * Whoever connects to the socket at `path` (%p as above) gets what fill(write, arg) writes, after an HTTP header if it asks by
 * HTTP. listen: false: the socket cannot be made. serve, in a thread of its own, again and again: waits for one, `ms` at most; once
 * the program has asked for a filter on system calls, nobody is answered. unlisten: its name goes. listen_forked: in the child of
 * a fork, which has no such thread.
 */
bool dry_port_listen(const char *path);
void dry_port_serve(void (*fill)(dry_port_writer *write, void *arg), unsigned ms);
void dry_port_unlisten(void);
void dry_port_listen_forked(void);

/*
 * The calling thread, one of ours, waits for good: the program has asked for a filter. Without a time, for a wait with one goes on
 * by another call when the process is stopped and continued.
 */
_Noreturn void dry_port_stay(void);

/* Call fn(), which may do no more than a handler may, whenever the process gets the signal. false: it cannot be had. */
bool dry_port_on_signal(int signal, void (*fn)(void));

#endif

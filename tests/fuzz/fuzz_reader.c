/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The reader behind `drystone info` on damaged memory. The process that it reads is the image of process_image.h, which is
 * whole until the input damages it. The input is a list of damages (where, how many bytes, which), and then the text of
 * /proc/PID/maps. It must end in bounded work, keep to the addresses that are there, and give printable names.
 *
 * Linked with tools/drystone, and with --wrap for process_vm_readv, fopen, open and readlink.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "process_image.h"

static char maps[2048];
static size_t reads; /* pieces that were asked for */

/* ---- the world of the reader --------------------------------------------------------------------- */

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long locals, const struct iovec *remote,
				unsigned long remotes, unsigned long flags);
FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
ssize_t __real_readlink(const char *path, char *text, size_t size);
ssize_t __wrap_readlink(const char *path, char *text, size_t size);

/* As the call does: whole pieces up to the first that is not all there. One local piece, as the reader has. */
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long locals, const struct iovec *remote,
				unsigned long remotes, unsigned long flags)
{
	size_t done = 0;

	(void)pid;
	EXPECT(locals == 1 && flags == 0 && remotes >= 1 && remotes <= 1024);
	for (unsigned long i = 0; i < remotes; i++) {
		uint64_t at = (uintptr_t)remote[i].iov_base;
		size_t size = remote[i].iov_len;

		reads++;
		EXPECT(done + size <= local->iov_len);
		if (at < BASE || at - BASE > IMAGE || size > IMAGE - (at - BASE))
			break;
		memcpy((char *)local->iov_base + done, process_memory.bytes + (at - BASE), size);
		done += size;
	}
	if (done == 0) {
		errno = EFAULT;
		return -1;
	}
	return (ssize_t)done;
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
	if (strncmp(path, "/proc/", 6) == 0 && strstr(path, "/maps"))
		return fmemopen(maps, strlen(maps), "r");
	return __real_fopen(path, mode);
}

int __wrap_open(const char *path, int flags, ...)
{
	if (strncmp(path, "/proc/", 6) != 0)
		return __real_open(path, flags, 0644);
	errno = EACCES;
	return -1;
}

ssize_t __wrap_readlink(const char *path, char *text, size_t size)
{
	if (strncmp(path, "/proc/", 6) != 0)
		return __real_readlink(path, text, size);
	EXPECT(size > 8);
	memcpy(text, "/program", 8);
	return 8;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char whole[] = "10000-14000 r--p 00000000 08:01 1234 /program\n";
	struct input in = { data, data + size };
	struct target target;
	size_t rows = 0;
	size_t n = 0;

	_Static_assert(sizeof(struct image) <= IMAGE, "the image fits");
	process_image_make();
	process_image_damage(&in);
	while (input_more(&in) && n < sizeof(maps) - 1)
		maps[n++] = (char)input_8(&in);
	maps[n] = '\0';
	if (n < 2)
		memcpy(maps, whole, sizeof(whole));
	reads = 0;
	if (target_open(&target, getpid()) == TARGET_OK)
		rows = process_image_look(&target);
	target_close(&target);
	EXPECT(size > 0 || rows == WHOLE_ROWS);
	EXPECT(reads < 60u << 20);
	return 0;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Built without zlib: there is no such file. */
#include <errno.h>

#include "profile.h"

bool profile_write_pb(const struct profile *profile, enum profile_value value, const char *path)
{
	(void)profile;
	(void)value;
	(void)path;
	errno = ENOTSUP;
	return false;
}

unsigned char *profile_load_pb(const char *path, size_t *size)
{
	(void)path;
	(void)size;
	errno = ENOTSUP;
	return NULL;
}

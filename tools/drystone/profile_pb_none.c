/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Built without zlib: there is no such file. */
#include <errno.h>

#include "profile.h"

bool profile_has_pb(void)
{
	return false;
}

void profile_print_pb(const struct profile *profile, enum profile_value value, FILE *out)
{
	(void)profile;
	(void)value;
	(void)out;
}

unsigned char *profile_load_pb(FILE *from, size_t *size)
{
	(void)from;
	(void)size;
	errno = ENOTSUP;
	return NULL;
}

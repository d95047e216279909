/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "port/contract.h"

#include <stdlib.h>
#include <unistd.h>

const char *dry_port_getenv(const char *name)
{
	if (getuid() != geteuid() || getgid() != getegid())
		return NULL;
	return getenv(name);
}

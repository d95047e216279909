/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* secure_getenv */
#endif
#include "port/contract.h"

#include <stdlib.h>

const char *dry_port_getenv(const char *name)
{
	return secure_getenv(name);
}

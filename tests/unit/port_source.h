/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A source of pages that has them from the port, as there is without one, and counts what is released. */
#ifndef DRY_TESTS_PORT_SOURCE_H
#define DRY_TESTS_PORT_SOURCE_H

#include <drystone/page_source.h>
#include <stddef.h>

#include "port/contract.h"

static void *port_source_reserve(void *releases, size_t size, size_t align)
{
	(void)releases;
	return dry_port_reserve(size, align, false);
}

static int port_source_commit(void *releases, void *addr, size_t size, unsigned node)
{
	(void)releases;
	(void)node;
	return dry_port_commit(addr, size);
}

static void port_source_purge(void *releases, void *addr, size_t size)
{
	(void)releases;
	dry_port_purge(addr, size);
}

static void port_source_release(void *releases, void *addr, size_t size)
{
	++*(size_t *)releases;
	dry_port_release(addr, size);
}

static inline struct dry_page_source port_source(size_t *releases)
{
	return (struct dry_page_source){ .reserve = port_source_reserve, .commit = port_source_commit, .purge = port_source_purge,
					 .release = port_source_release, .arg = releases };
}

#endif

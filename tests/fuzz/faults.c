/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "faults.h"

#include <string.h>

#include "base/error.h"
#include "port/contract.h"

struct faults faults;

void *__real_dry_port_reserve(size_t size, size_t align, bool readable);
int __real_dry_port_commit(void *addr, size_t size);
void *__real_dry_port_resize(void *addr, size_t old_size, size_t new_size, bool may_move);
unsigned __real_dry_port_nodes(void);
unsigned __real_dry_port_node(void);
void __real_dry_port_write(const char *text, size_t bytes);
void *__wrap_dry_port_reserve(size_t size, size_t align, bool readable);
int __wrap_dry_port_commit(void *addr, size_t size);
void *__wrap_dry_port_resize(void *addr, size_t old_size, size_t new_size, bool may_move);
unsigned __wrap_dry_port_nodes(void);
unsigned __wrap_dry_port_node(void);
void __wrap_dry_port_write(const char *text, size_t bytes);

static bool fails(void)
{
	bool refused = faults.fail & 1;

	faults.fail >>= 1;
	faults.refused += refused;
	return refused;
}

void *__wrap_dry_port_reserve(size_t size, size_t align, bool readable)
{
	return fails() ? NULL : __real_dry_port_reserve(size, align, readable);
}

int __wrap_dry_port_commit(void *addr, size_t size)
{
	return fails() ? -DRY_ENOMEM : __real_dry_port_commit(addr, size);
}

void *__wrap_dry_port_resize(void *addr, size_t old_size, size_t new_size, bool may_move)
{
	return fails() ? NULL : __real_dry_port_resize(addr, old_size, new_size, may_move);
}

unsigned __wrap_dry_port_nodes(void)
{
	return faults.nodes ? faults.nodes : __real_dry_port_nodes();
}

unsigned __wrap_dry_port_node(void)
{
	return faults.nodes ? faults.node : __real_dry_port_node();
}

void __wrap_dry_port_write(const char *text, size_t bytes)
{
	size_t kept = bytes < sizeof(faults.line) ? bytes : sizeof(faults.line) - 1;

	if (!faults.catch_lines) {
		__real_dry_port_write(text, bytes);
		return;
	}
	if (strncmp(text, "drystone: ", 10) != 0)
		return; /* more of a report, or a listing */
	faults.reports++;
	memcpy(faults.line, text, kept);
	faults.line[kept] = '\0';
}

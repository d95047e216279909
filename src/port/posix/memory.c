/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Memory of the POSIX port: mmap and mprotect, nothing else. Keeps errno. */
#include "base/error.h"
#include "port/contract.h"
#include "port/guard.h"
#include "port/unix/map.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* SIZE_MAX: there is none. */
static size_t limit_of(int resource)
{
	struct rlimit limit;
	int saved = errno;
	size_t most = getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : SIZE_MAX;

	errno = saved;
	return most;
}

size_t dry_port_address_room(void)
{
	/* What is in use already, POSIX does not tell: an arena's half of this is then too much at worst. */
	return limit_of(RLIMIT_AS);
}

/* relaxed: a hint. What there will be of address space is reserved at the start, of data it is taken as the heap grows. */
static _Atomic bool limited;

bool dry_port_is_scarce(void)
{
	return atomic_load_explicit(&limited, memory_order_relaxed);
}

bool dry_port_is_tight(void)
{
	return dry_port_is_scarce();
}

bool dry_port_find_scarce(void)
{
	bool found = limit_of(RLIMIT_AS) != SIZE_MAX || limit_of(RLIMIT_DATA) != SIZE_MAX;

	atomic_store_explicit(&limited, found, memory_order_relaxed);
	return found;
}

void *dry_port_reserve(size_t size, size_t align, bool readable)
{
	return dry_unix_map_aligned(size, align, readable ? PROT_READ : PROT_NONE, 0, dry_unix_map);
}

int dry_port_commit(void *addr, size_t size)
{
	return dry_unix_commit(addr, size);
}

int dry_port_decommit(void *addr, size_t size)
{
	return dry_unix_decommit(addr, size, 0);
}

/* POSIX cannot say that something is to be mapped there or not at all. */
void *dry_port_window(size_t size, size_t align)
{
	(void)size;
	(void)align;
	return NULL;
}

int dry_port_reserve_at(void *addr, size_t size, enum dry_access access)
{
	(void)addr;
	(void)size;
	(void)access;
	return -DRY_ENOMEM;
}

void dry_port_place(void *addr, size_t size, unsigned node)
{
	(void)addr;
	(void)size;
	(void)node;
}

void dry_port_purge(void *addr, size_t size)
{
	/* posix_madvise() promises nothing about what is read afterwards */
	dry_unix_replace(addr, size, 0);
}

void dry_port_release(void *addr, size_t size)
{
	dry_unix_release(addr, size, dry_port_purge);
}

/* Without a call that moves pages, a block can only become smaller. */
void *dry_port_resize(void *addr, size_t old_size, size_t new_size, size_t align)
{
	(void)align;
	if (new_size > old_size)
		return NULL;
	if (new_size < old_size)
		dry_port_release((char *)addr + new_size, old_size - new_size);
	return addr;
}

/* POSIX has no such question. */
int dry_port_density(const void *addr, size_t size, bool *first)
{
	*first = false;
	(void)addr;
	(void)size;
	return -1;
}

void dry_port_dense(void *addr, size_t size)
{
	(void)addr;
	(void)size;
}

bool dry_port_populate_huge(void *addr, size_t size)
{
	(void)addr;
	(void)size;
	return false;
}

bool dry_port_populate(void *addr, size_t size)
{
	(void)addr;
	(void)size;
	return false;
}

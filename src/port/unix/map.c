/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "port/unix/map.h"

#include "base/error.h"
#include "port/contract.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert(DRY_EIO == EIO && DRY_ENOMEM == ENOMEM && DRY_EFAULT == EFAULT && DRY_EBUSY == EBUSY && DRY_EINVAL == EINVAL &&
	       DRY_EOPNOTSUPP == EOPNOTSUPP,
	       "base/error.h has the values of this libc");

_Atomic int dry_unix_access = PROT_READ | PROT_WRITE;

size_t dry_port_page_size(void)
{
	static size_t size; /* every thread writes the same value */

	if (__atomic_load_n(&size, __ATOMIC_RELAXED) == 0)
		__atomic_store_n(&size, (size_t)sysconf(_SC_PAGESIZE), __ATOMIC_RELAXED);
	return __atomic_load_n(&size, __ATOMIC_RELAXED);
}

static int access_now(void)
{
	return atomic_load_explicit(&dry_unix_access, memory_order_relaxed);
}

void *dry_unix_map(size_t size, int prot, int flags)
{
	void *addr = mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	return addr == MAP_FAILED ? NULL : addr;
}

static void *map_aligned(size_t size, size_t align, int prot, int flags, dry_unix_mapper *map)
{
	size_t page = dry_port_page_size(), front, total;
	char *addr = map(size, prot, flags);

	if (addr == NULL || ((uintptr_t)addr & (align - 1)) == 0)
		return addr;
	munmap(addr, size);
	/* No luck: take enough that an aligned range lies inside, and cut off the rest. */
	if (__builtin_add_overflow(size, align - page, &total))
		return NULL;
	addr = map(total, prot, flags);
	if (addr == NULL)
		return NULL;
	front = -(uintptr_t)addr & (align - 1);
	if (front != 0)
		munmap(addr, front);
	if (total - front != size)
		munmap(addr + front + size, total - front - size);
	return addr + front;
}

void *dry_unix_map_aligned(size_t size, size_t align, int prot, int flags, dry_unix_mapper *map)
{
	int saved = errno;
	void *addr = map_aligned(size, align, prot, flags, map);

	errno = saved;
	return addr;
}

void dry_unix_replace(void *addr, size_t size, int flags)
{
	int saved = errno;

	if (mmap(addr, size, access_now(), MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | flags, -1, 0) ==
	    MAP_FAILED)
		memset(addr, 0, size);
	errno = saved;
}

int dry_unix_decommit(void *addr, size_t size, int flags)
{
	int saved = errno;
	void *fresh = mmap(addr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | flags, -1, 0);

	errno = saved;
	return fresh == addr ? 0 : -DRY_ENOMEM;
}

int dry_unix_commit(void *addr, size_t size)
{
	int saved = errno;
	int result = mprotect(addr, size, access_now());

	errno = saved;
	return result == 0 ? 0 : -ENOMEM;
}

void dry_unix_release(void *addr, size_t size, void (*purge)(void *addr, size_t size))
{
	int saved = errno;

	/* It fails only where it would have to split a mapping beyond the system's count of them. */
	if (munmap(addr, size) != 0 && mprotect(addr, size, access_now()) == 0)
		purge(addr, size);
	errno = saved;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "fail_port.h"

#include "base/error.h"
#include "port/contract.h"

atomic_long dry_fail_calls;
atomic_long dry_fail_at;
atomic_bool dry_fail_after;

void *__real_dry_port_reserve(size_t size, size_t align, bool readable);
int __real_dry_port_reserve_at(void *addr, size_t size, enum dry_access access);
int __real_dry_port_commit(void *addr, size_t size);
void *__real_dry_port_resize(void *addr, size_t old_size, size_t new_size, size_t align);
void *__wrap_dry_port_reserve(size_t size, size_t align, bool readable);
int __wrap_dry_port_reserve_at(void *addr, size_t size, enum dry_access access);
int __wrap_dry_port_commit(void *addr, size_t size);
void *__wrap_dry_port_resize(void *addr, size_t old_size, size_t new_size, size_t align);

static bool fails(void)
{
	long call = atomic_fetch_add(&dry_fail_calls, 1) + 1, at = atomic_load(&dry_fail_at);

	return at != 0 && (call == at || (call > at && atomic_load(&dry_fail_after)));
}

void *__wrap_dry_port_reserve(size_t size, size_t align, bool readable)
{
	return fails() ? NULL : __real_dry_port_reserve(size, align, readable);
}

int __wrap_dry_port_reserve_at(void *addr, size_t size, enum dry_access access)
{
	return fails() ? -DRY_ENOMEM : __real_dry_port_reserve_at(addr, size, access);
}

int __wrap_dry_port_commit(void *addr, size_t size)
{
	return fails() ? -DRY_ENOMEM : __real_dry_port_commit(addr, size);
}

void *__wrap_dry_port_resize(void *addr, size_t old_size, size_t new_size, size_t align)
{
	return fails() ? NULL : __real_dry_port_resize(addr, old_size, new_size, align);
}

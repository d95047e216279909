/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The fine machine: every plain access to memory is a step, too. The compiler's instrumentation for the thread
 * sanitizer calls a function before each access; here these are ours, and the sanitizer's library stays out. For
 * objects compiled with -fsanitize=thread and DRY_SIM_FINE; nothing refers to this file otherwise.
 *
 * Atomic accesses become calls as well. Their point was before them (stdatomic.h), so these just do them.
 */
#include "port/sim/point.h"

#ifdef DRY_SIM_FINE

#define ACCESS(name)                                                                                                   \
	void name(void *addr);                                                                                         \
	void name(void *addr)                                                                                          \
	{                                                                                                              \
		(void)addr;                                                                                            \
		dry_sim_point("plain access", "core", 0);                                                              \
	}

#define ACCESSES(size)                                                                                                 \
	ACCESS(__tsan_read##size)                                                                                      \
	ACCESS(__tsan_write##size)                                                                                     \
	ACCESS(__tsan_unaligned_read##size)                                                                            \
	ACCESS(__tsan_unaligned_write##size)                                                                           \
	ACCESS(__tsan_volatile_read##size)                                                                             \
	ACCESS(__tsan_volatile_write##size)

ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

void __tsan_read_range(void *addr, unsigned long size);
void __tsan_write_range(void *addr, unsigned long size);
void __tsan_read_range(void *addr, unsigned long size)
{
	(void)size;
	__tsan_read8(addr);
}
void __tsan_write_range(void *addr, unsigned long size)
{
	(void)size;
	__tsan_write8(addr);
}

void __tsan_init(void);
void __tsan_init(void)
{
}
void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller)
{
	(void)caller;
}
void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}
void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
	(void)order;
}

#define EXCHANGE(bits, type, name)                                                                                     \
	type __tsan_atomic##bits##_##name(volatile type *at, type value, int order);                                   \
	type __tsan_atomic##bits##_##name(volatile type *at, type value, int order)                                    \
	{                                                                                                              \
		(void)order;                                                                                           \
		return NAME_##name(at, value);                                                                         \
	}
#define NAME_exchange(at, value)  __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST)
#define NAME_fetch_add(at, value) __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST)
#define NAME_fetch_sub(at, value) __atomic_fetch_sub(at, value, __ATOMIC_SEQ_CST)
#define NAME_fetch_and(at, value) __atomic_fetch_and(at, value, __ATOMIC_SEQ_CST)
#define NAME_fetch_or(at, value)  __atomic_fetch_or(at, value, __ATOMIC_SEQ_CST)

#define COMPARE(bits, type, name)                                                                                      \
	int __tsan_atomic##bits##_##name(volatile type *at, type *expected, type value, int good, int bad);            \
	int __tsan_atomic##bits##_##name(volatile type *at, type *expected, type value, int good, int bad)             \
	{                                                                                                              \
		(void)good;                                                                                            \
		(void)bad;                                                                                             \
		return __atomic_compare_exchange_n(at, expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);        \
	}

#define ATOMICS(bits, type)                                                                                            \
	type __tsan_atomic##bits##_load(const volatile type *at, int order);                                           \
	type __tsan_atomic##bits##_load(const volatile type *at, int order)                                            \
	{                                                                                                              \
		(void)order;                                                                                           \
		return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                          \
	}                                                                                                              \
	void __tsan_atomic##bits##_store(volatile type *at, type value, int order);                                    \
	void __tsan_atomic##bits##_store(volatile type *at, type value, int order)                                     \
	{                                                                                                              \
		(void)order;                                                                                           \
		__atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                         \
	}                                                                                                              \
	EXCHANGE(bits, type, exchange)                                                                                 \
	EXCHANGE(bits, type, fetch_add)                                                                                \
	EXCHANGE(bits, type, fetch_sub)                                                                                \
	EXCHANGE(bits, type, fetch_and)                                                                                \
	EXCHANGE(bits, type, fetch_or)                                                                                 \
	COMPARE(bits, type, compare_exchange_strong)                                                                   \
	COMPARE(bits, type, compare_exchange_weak)

ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)

#endif

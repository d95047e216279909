/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The part of C11's atomics that core uses: by the compiler's builtins, which is what the compiler's header does; sums by the
 * kernel's own, which on one processor do not lock its bus. What is atomic is so by these calls alone, its type is a plain one:
 * of others Clang's builtins know nothing.
 */
#ifndef DRY_KERNEL_STDATOMIC_H
#define DRY_KERNEL_STDATOMIC_H

#include <linux/atomic.h>

#define _Atomic

#define memory_order_relaxed __ATOMIC_RELAXED
#define memory_order_acquire __ATOMIC_ACQUIRE
#define memory_order_release __ATOMIC_RELEASE
#define memory_order_seq_cst __ATOMIC_SEQ_CST

#define atomic_load_explicit(at, order)            __atomic_load_n(at, order)
#define atomic_store_explicit(at, value, order)    __atomic_store_n(at, value, order)
#define atomic_exchange_explicit(at, value, order) __atomic_exchange_n(at, value, order)
#define atomic_fetch_add_explicit(at, by, order) \
	({ (__typeof__(*(at)))dry_fetch_add((void *)(at), sizeof(*(at)), (long)(by)); })
#define atomic_fetch_sub_explicit(at, by, order)   atomic_fetch_add_explicit(at, -(long)(by), order)
#define atomic_compare_exchange_strong_explicit(at, expected, value, order, otherwise) \
	__atomic_compare_exchange_n(at, expected, value, false, order, otherwise)
#define atomic_compare_exchange_weak_explicit(at, expected, value, order, otherwise) \
	__atomic_compare_exchange_n(at, expected, value, true, order, otherwise)

static __always_inline unsigned long dry_fetch_add(void *at, size_t bytes, long by)
{
	BUILD_BUG_ON(bytes != sizeof(int) && bytes != sizeof(long));
	if (bytes == sizeof(int))
		return (unsigned int)atomic_fetch_add((int)by, (atomic_t *)at);
	return (unsigned long)atomic_long_fetch_add(by, (atomic_long_t *)at);
}

#endif

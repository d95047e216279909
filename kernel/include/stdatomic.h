/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The part of C11's atomics that core uses, by the compiler's builtins, which is what the compiler's header does. */
#ifndef DRY_KERNEL_STDATOMIC_H
#define DRY_KERNEL_STDATOMIC_H

#define memory_order_relaxed __ATOMIC_RELAXED
#define memory_order_acquire __ATOMIC_ACQUIRE
#define memory_order_release __ATOMIC_RELEASE
#define memory_order_seq_cst __ATOMIC_SEQ_CST

#define atomic_load_explicit(at, order)            __atomic_load_n(at, order)
#define atomic_store_explicit(at, value, order)    __atomic_store_n(at, value, order)
#define atomic_exchange_explicit(at, value, order) __atomic_exchange_n(at, value, order)
#define atomic_fetch_add_explicit(at, by, order)   __atomic_fetch_add(at, by, order)
#define atomic_fetch_sub_explicit(at, by, order)   __atomic_fetch_sub(at, by, order)
#define atomic_compare_exchange_weak_explicit(at, expected, value, order, otherwise) \
	__atomic_compare_exchange_n(at, expected, value, true, order, otherwise)

#endif

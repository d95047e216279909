/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Stands before the compiler's <stdatomic.h> on the simulation's include path: every atomic
 * access is a point, then the access. Everything runs in one thread, so the orderings
 * are as strong as they can be; what a weaker machine would reorder is not simulated.
 */
#ifndef DRY_PORT_SIM_STDATOMIC_H
#define DRY_PORT_SIM_STDATOMIC_H

#include_next <stdatomic.h>

#include "port/sim/point.h"

#undef atomic_load_explicit
#undef atomic_store_explicit
#undef atomic_exchange_explicit
#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub_explicit
#undef atomic_fetch_or_explicit
#undef atomic_fetch_and_explicit
#undef atomic_compare_exchange_strong_explicit
#undef atomic_compare_exchange_weak_explicit
#undef atomic_thread_fence

/* The value comes before the point: what is stored may be made of what was loaded in the same expression. */
#define DRY_SIM_STORE(store, p, v, o)                                                                                  \
	__extension__({                                                                                                \
		__auto_type dry_sim_value = (v);                                                                       \
		DRY_SIM_POINT("store " #p);                                                                            \
		store(p, dry_sim_value, o);                                                                            \
	})

/* A name inside of its own macro is left alone: these reach the compiler's. */
#define __atomic_load_n(p, o)     (DRY_SIM_POINT("load " #p), __atomic_load_n(p, o))
#define __atomic_store_n(p, v, o) DRY_SIM_STORE(__atomic_store_n, p, v, o)

#define atomic_thread_fence(o)    DRY_SIM_POINT("fence")

#ifdef __clang__
#define atomic_load_explicit(p, o)         (DRY_SIM_POINT("load " #p), __c11_atomic_load(p, o))
#define atomic_store_explicit(p, v, o)     DRY_SIM_STORE(__c11_atomic_store, p, v, o)
#define atomic_exchange_explicit(p, v, o)  (DRY_SIM_POINT("exchange " #p), __c11_atomic_exchange(p, v, o))
#define atomic_fetch_add_explicit(p, v, o) (DRY_SIM_POINT("add to " #p), __c11_atomic_fetch_add(p, v, o))
#define atomic_fetch_sub_explicit(p, v, o) (DRY_SIM_POINT("sub from " #p), __c11_atomic_fetch_sub(p, v, o))
#define atomic_fetch_or_explicit(p, v, o)  (DRY_SIM_POINT("or " #p), __c11_atomic_fetch_or(p, v, o))
#define atomic_fetch_and_explicit(p, v, o) (DRY_SIM_POINT("and " #p), __c11_atomic_fetch_and(p, v, o))
#define atomic_compare_exchange_strong_explicit(p, e, v, s, f)                                                         \
	(DRY_SIM_POINT("compare and exchange " #p), __c11_atomic_compare_exchange_strong(p, e, v, s, f))
#define atomic_compare_exchange_weak_explicit(p, e, v, s, f)                                                           \
	(DRY_SIM_POINT("compare and exchange " #p), __c11_atomic_compare_exchange_strong(p, e, v, s, f))
#else
#define atomic_load_explicit(p, o)         (DRY_SIM_POINT("load " #p), (__atomic_load_n)(p, o))
#define atomic_store_explicit(p, v, o)     DRY_SIM_STORE((__atomic_store_n), p, v, o)
#define atomic_exchange_explicit(p, v, o)  (DRY_SIM_POINT("exchange " #p), __atomic_exchange_n(p, v, o))
#define atomic_fetch_add_explicit(p, v, o) (DRY_SIM_POINT("add to " #p), __atomic_fetch_add(p, v, o))
#define atomic_fetch_sub_explicit(p, v, o) (DRY_SIM_POINT("sub from " #p), __atomic_fetch_sub(p, v, o))
#define atomic_fetch_or_explicit(p, v, o)  (DRY_SIM_POINT("or " #p), __atomic_fetch_or(p, v, o))
#define atomic_fetch_and_explicit(p, v, o) (DRY_SIM_POINT("and " #p), __atomic_fetch_and(p, v, o))
#define atomic_compare_exchange_strong_explicit(p, e, v, s, f)                                                         \
	(DRY_SIM_POINT("compare and exchange " #p), __atomic_compare_exchange_n(p, e, v, 0, s, f))
#define atomic_compare_exchange_weak_explicit(p, e, v, s, f)                                                           \
	(DRY_SIM_POINT("compare and exchange " #p), __atomic_compare_exchange_n(p, e, v, 0, s, f))
#endif

#endif

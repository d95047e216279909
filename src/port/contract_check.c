/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Proof that a port fulfils the contract: one table with every call, each with
 * its exact type. A call that the port lacks does not link; a lock call that
 * differs (they are the port's own, inline) does not compile.
 *
 * The contract's own prototypes already make a function of another type an
 * error where it is defined, if that file includes contract.h. The types are
 * written out once more here, so that a change of the contract is made on purpose.
 */
#include "port/contract.h"

struct dry_port_calls {
	size_t (*page_size)(void);
	size_t (*address_room)(void);
	bool (*is_scarce)(void);
	bool (*is_tight)(void);
	bool (*find_scarce)(void);
	void *(*reserve)(size_t size, size_t align, bool readable);
	void *(*window)(size_t size, size_t align);
	void *(*sparse_window)(size_t size, size_t align);
	int (*reserve_at)(void *addr, size_t size, enum dry_access access);
	int (*commit)(void *addr, size_t size);
	void (*place)(void *addr, size_t size, unsigned node);
	void (*purge)(void *addr, size_t size);
	void (*release)(void *addr, size_t size);
	void *(*resize)(void *addr, size_t old_size, size_t new_size, size_t align);
	size_t (*memory_limit)(void);
	size_t (*memory_limit_again)(void);
	void (*set_huge)(enum dry_huge huge);
	void (*advise_huge)(void *addr, size_t size, enum dry_huge huge);
	bool (*collapse)(void *addr, size_t size);
	void (*set_placing)(enum dry_placing placing);
	int (*density)(const void *addr, size_t size, bool *first);
	void (*dense)(void *addr, size_t size);
	void (*piecemeal)(void *addr, size_t size, size_t piece);
	bool (*populate)(void *addr, size_t size);
	bool (*populate_huge)(void *addr, size_t size);
	void (*init)(void);
	unsigned (*slots)(void);
	bool (*slot_attach)(bool);
	bool (*slot_fence)(void);
	bool (*slot_fence_ready)(void);
	unsigned (*nodes)(void);
	unsigned (*node)(void);
	uint64_t (*clock_ms)(void);
	uint64_t (*processor_us)(bool process);
	void (*sleep_ms)(unsigned ms);
	uintptr_t (*self)(void);
	enum dry_rest (*rest_ms)(unsigned ms);
	void (*park)(void);
	void (*rest_over)(void);
	void (*rest_end)(void);
	bool (*restricted)(void);
	bool (*confined)(void);
	void (*ending)(void);
	int (*thread_start)(void (*fn)(void));
	void (*thread_leave)(void);
	bool (*thread_allowed)(void);
	bool (*alone)(void);
	void (*yield)(void);
	void (*at_fork)(void (*prepare)(void), void (*parent)(void), void (*child)(bool prepared));
	void (*forked)(void);
	void (*set_errno)(int value);
	int (*get_errno)(void);
	const char *(*getenv)(const char *name);
	bool (*has_environment)(void);
	void (*keep_stderr)(void);
	void (*log_to)(const char *path, size_t length);
	void (*write)(const char *text, size_t bytes);
	void (*abort)(void);
	void (*lock_init)(struct dry_lock *lock, enum dry_rank rank);
	void (*lock_acquire)(struct dry_lock *lock);
	void (*lock_acquire_unranked)(struct dry_lock *lock);
	bool (*lock_try)(struct dry_lock *lock);
	void (*lock_release)(struct dry_lock *lock);
	void (*lock_reinit)(struct dry_lock *lock);
};

extern const struct dry_port_calls dry_port_calls;
extern struct dry_lock dry_port_static_lock;

const struct dry_port_calls dry_port_calls = {
	.page_size = dry_port_page_size,
	.address_room = dry_port_address_room,
	.is_scarce = dry_port_is_scarce,
	.is_tight = dry_port_is_tight,
	.find_scarce = dry_port_find_scarce,
	.reserve = dry_port_reserve,
	.window = dry_port_window,
	.sparse_window = dry_port_sparse_window,
	.reserve_at = dry_port_reserve_at,
	.commit = dry_port_commit,
	.place = dry_port_place,
	.purge = dry_port_purge,
	.release = dry_port_release,
	.resize = dry_port_resize,
	.memory_limit = dry_port_memory_limit,
	.memory_limit_again = dry_port_memory_limit_again,
	.set_huge = dry_port_set_huge,
	.advise_huge = dry_port_advise_huge,
	.collapse = dry_port_collapse,
	.set_placing = dry_port_set_placing,
	.density = dry_port_density,
	.dense = dry_port_dense,
	.piecemeal = dry_port_piecemeal,
	.populate = dry_port_populate,
	.populate_huge = dry_port_populate_huge,
	.init = dry_port_init,
	.slots = dry_port_slots,
	.slot_attach = dry_port_slot_attach,
	.slot_fence = dry_port_slot_fence,
	.slot_fence_ready = dry_port_slot_fence_ready,
	.nodes = dry_port_nodes,
	.node = dry_port_node,
	.clock_ms = dry_port_clock_ms,
	.processor_us = dry_port_processor_us,
	.sleep_ms = dry_port_sleep_ms,
	.self = dry_port_self,
	.rest_ms = dry_port_rest_ms,
	.park = dry_port_park,
	.rest_over = dry_port_rest_over,
	.rest_end = dry_port_rest_end,
	.restricted = dry_port_restricted,
	.confined = dry_port_confined,
	.ending = dry_port_ending,
	.thread_start = dry_port_thread_start,
	.thread_leave = dry_port_thread_leave,
	.thread_allowed = dry_port_thread_allowed,
	.alone = dry_port_alone,
	.yield = dry_port_yield,
	.at_fork = dry_port_at_fork,
	.forked = dry_port_forked,
	.set_errno = dry_port_set_errno,
	.get_errno = dry_port_get_errno,
	.getenv = dry_port_getenv,
	.has_environment = dry_port_has_environment,
	.keep_stderr = dry_port_keep_stderr,
	.log_to = dry_port_log_to,
	.write = dry_port_write,
	.abort = dry_port_abort,
	.lock_init = dry_lock_init,
	.lock_acquire = dry_lock_acquire,
	.lock_acquire_unranked = dry_lock_acquire_unranked,
	.lock_try = dry_lock_try,
	.lock_release = dry_lock_release,
	.lock_reinit = dry_lock_reinit,
};

/* A lock can be made without a call. */
struct dry_lock dry_port_static_lock = DRY_LOCK_INIT(DRY_RANK_PORT);

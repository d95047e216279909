/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Slots on Linux: by restartable sequences where we have them for the processor and glibc
 * has registered an area for them, else one slot per thread.
 *
 * glibc owns the registration; its area is found through __rseq_offset. The slot
 * id is the compact concurrency id (mm_cid, kernel 6.3) if the kernel says that
 * it writes it, else the CPU number. Both are below the number of possible CPUs.
 *
 * Without rseq a thread claims a slot at its first slow path and gives it back
 * when it exits (a thread-specific-data destructor). The arrays of a slot keep
 * their objects; the next owner finds them (port/unix/thread_slots.c).
 */
#include <linux/membarrier.h>
#include <linux/rseq.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "percpu.h"
#include "port/contract.h"
#include "port/linux/filter.h"
#include "port/linux/rest.h"
#include "port/linux/node.h"
#include "port/linux/room.h"
#include "port/linux/thread.h"
#include "port/unix/thread_slots.h"
#include "port/unix/threads.h"

#ifndef AT_RSEQ_FEATURE_SIZE
#define AT_RSEQ_FEATURE_SIZE 27
#endif
#define NODE_OFFSET   20 /* in the kernel's struct rseq */
#define MM_CID_OFFSET 24 /* likewise */
#define MAX_CPUS      4096

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));
extern char __libc_single_threaded __attribute__((weak)); /* glibc's */

static bool use_rseq;      /* immutable after dry_port_init() */
static unsigned slot_count; /* likewise */
static bool registered;     /* for fences; written with filters kept off */
static _Atomic bool ending; /* what is not registered by now will not be */

/* A fence of the kind that the slots need, asked for at its first use; or no more than to ask. false: without. */
static bool membarrier(bool fence)
{
	int command = use_rseq ? MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ : MEMBARRIER_CMD_PRIVATE_EXPEDITED;
	int ask = use_rseq ? MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ : MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
	int saved = dry_port_get_errno();
	bool done;

	if ((!registered && atomic_load_explicit(&ending, memory_order_relaxed)) || !dry_linux_free_begin())
		return false;
	if (!registered)
		registered = syscall(SYS_membarrier, ask, 0, 0) == 0;
	done = registered && (!fence || syscall(SYS_membarrier, command, 0, 0) == 0);
	dry_linux_free_end();
	dry_port_set_errno(saved);
	return done;
}

/* Highest possible CPU number + 1; not known: as many as there is room for. */
static unsigned possible_cpus(void)
{
	uint64_t set;
	unsigned cpus = dry_linux_list("/sys/devices/system/cpu/possible", &set);

	return cpus != 0 ? cpus : MAX_CPUS;
}

/* glibc has registered an area for the thread. */
static bool rseq_registered(void)
{
	if (&__rseq_size == NULL || &__rseq_offset == NULL || __rseq_size == 0)
		return false;
	struct rseq *area = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
	return (int32_t)area->cpu_id >= 0;
}

/* Linux 5.10 has fences for sequences, and what tells features since 6.3 needs not be asked. */
static bool rseq_usable(size_t features, unsigned cpus)
{
	if (!DRY_PERCPU_RESTARTS || !rseq_registered() || cpus > MAX_CPUS)
		return false;
	use_rseq = true;
	if (features == 0)
		use_rseq = membarrier(true) || dry_port_restricted();
	return use_rseq;
}

void dry_port_init(void)
{
	size_t features = getauxval(AT_RSEQ_FEATURE_SIZE);

	if (slot_count != 0)
		return;
	dry_linux_node_init(features >= NODE_OFFSET + sizeof(uint32_t) && rseq_registered() ? __rseq_offset + NODE_OFFSET : 0);
	unsigned cpus = possible_cpus();
	if (rseq_usable(features, cpus)) {
		bool cid = features >= MM_CID_OFFSET + sizeof(uint32_t);

		slot_count = cpus;
		dry_percpu_use_rseq(__rseq_offset,
				    __rseq_offset + (cid ? MM_CID_OFFSET : (ptrdiff_t)offsetof(struct rseq, cpu_id)));
		return;
	}
	dry_percpu_use_owned();
	slot_count = DRY_THREAD_SLOTS;
}

unsigned dry_port_slots(void)
{
	return slot_count;
}

bool dry_port_slot_attach(bool frees)
{
	return use_rseq || dry_thread_slot_attach(frees);
}

bool dry_port_slot_fence(void)
{
	/*
	 * A thread that is alone is in no sequence: it is here, and a signal has ended the one that it interrupted. (Under
	 * thread slots a handler does not allocate.)
	 */
	if (dry_port_alone())
		return true;
	if (membarrier(true))
		return use_rseq || dry_thread_slots_quiet();
	return dry_linux_is_counted_alone();
}

bool dry_port_slot_fence_ready(void)
{
	/*
	 * While there is one thread it costs a call; with more the kernel waits for all CPUs to switch, 6 to 10 ms. musl does not
	 * tell of threads, but has asked for the same before it begins the first one: then it is no more than a call, too.
	 */
	if (!registered && &__libc_single_threaded != NULL && !dry_port_alone())
		return false;
	if (!registered)
		(void)membarrier(false);
	return true;
}

void dry_port_ending(void)
{
	atomic_store_explicit(&ending, true, memory_order_relaxed);
	if (!registered)
		dry_linux_filter_unsure();
}

void dry_port_forked(void)
{
	dry_unix_threads_forked();
	dry_linux_thread = 0;
	dry_linux_vforks = 0;
	registered = false;
	dry_linux_filter_forked();
	dry_linux_rest_forked();
	dry_linux_room_forked();
	dry_thread_slots_forked();
}

// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* What core and base ask of Linux besides pages: locks and the fence. */
#include <linux/cpumask.h>
#include <linux/percpu.h>
#include <linux/smp.h>

#include "port_impl.h"
#include "slab/caches.h"

struct mutex dry_port_mutexes[DRY_RANK_ALIEN];
static struct lock_class_key classes[DRY_RANK_COUNT];

/* ---- locks ---- */

void dry_lock_init(struct dry_lock *lock, enum dry_rank rank)
{
	lock->rank = rank;
	if (rank < DRY_RANK_ALIEN) {
		__mutex_init(&dry_port_mutexes[rank], "drystone, rare", &classes[rank]);
		return;
	}
	spin_lock_init(&lock->spin);
	lockdep_set_class(&lock->spin, &classes[rank]);
}

void dry_lock_acquire(struct dry_lock *lock)
{
	unsigned long flags;

	if (lock->rank < DRY_RANK_ALIEN) {
		mutex_lock(&dry_port_mutexes[lock->rank]);
		return;
	}
	spin_lock_irqsave(&lock->spin, flags);
	lock->flags = flags;
}

/* Not by a try: lockdep is to see each of them. */
bool dry_lock_acquire_contended(struct dry_lock *lock)
{
	bool waits = lock->rank >= DRY_RANK_ALIEN && spin_is_locked(&lock->spin);

	dry_lock_acquire(lock);
	return waits;
}

/* Of a rare lock: from any context, where a mutex cannot be tried in all of them, nor released where it would wake somebody. */
bool dry_lock_try(struct dry_lock *lock)
{
	unsigned long flags;

	if (lock->rank < DRY_RANK_ALIEN)
		return !in_interrupt() && !irqs_disabled() && mutex_trylock(&dry_port_mutexes[lock->rank]);
	if (!spin_trylock_irqsave(&lock->spin, flags))
		return false;
	lock->flags = flags;
	return true;
}

void dry_lock_release(struct dry_lock *lock)
{
	if (lock->rank < DRY_RANK_ALIEN)
		mutex_unlock(&dry_port_mutexes[lock->rank]);
	else
		spin_unlock_irqrestore(&lock->spin, lock->flags);
}

/* ---- slots ---- */

/* A processor has its area before it runs (slab_prepare_cpu()), so there is nothing to do but to look. */
bool dry_port_slot_attach(bool frees)
{
	return READ_ONCE(dry_kernel_caches->slots[raw_smp_processor_id()]) != dry_stopped_area;
}

DEFINE_PER_CPU(u8, dry_percpu_busy);
DEFINE_PER_CPU(char *, dry_percpu_area);

static cpumask_t asked; /* which may be in a sequence that began before the fence; guarded by the caches' lock */

static void look(void *unused)
{
	if (!__this_cpu_read(dry_percpu_busy))
		cpumask_clear_cpu(smp_processor_id(), &asked);
}

/*
 * Each processor that an interrupt finds without a mark reads its slot anew from then on, and is not asked again; a sequence that
 * it came into goes on to its end meanwhile. On one processor none is under way: who waits for a fence may be moved.
 */
bool dry_port_slot_fence(void)
{
	smp_mb(); /* the slots, then who is online: who comes online later finds them stopped */
	if (num_online_cpus() == 1)
		return true;
	cpumask_copy(&asked, cpu_online_mask);
	do {
		on_each_cpu_mask(&asked, look, NULL, true);
		cpumask_and(&asked, &asked, cpu_online_mask);
	} while (!cpumask_empty(&asked));
	return true;
}

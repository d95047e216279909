/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "port/sim/machine.h"

struct dry_sim_lock_stats dry_sim_lock_stats[DRY_RANK_COUNT];

static const char *name(const struct dry_lock *lock)
{
	static const char *const names[DRY_RANK_COUNT] = {
		[DRY_RANK_HEAPS] = "heaps",
		[DRY_RANK_REAP] = "reap",
		[DRY_RANK_CACHES] = "caches",
		[DRY_RANK_MAIN_REAP] = "main reap",
		[DRY_RANK_MAIN_CACHES] = "main caches",
		[DRY_RANK_ALIEN] = "alien",
		[DRY_RANK_SHARED] = "shared",
		[DRY_RANK_NODE] = "node",
		[DRY_RANK_EXTENT] = "extent",
		[DRY_RANK_PAGE] = "page",
		[DRY_RANK_PORT] = "port",
		[DRY_RANK_LIMIT] = "limit",
	};

	return lock->rank < DRY_RANK_COUNT && names[lock->rank] != NULL ? names[lock->rank] : "unknown";
}

/* The driver's own are nobody's concern. */
static void say(const struct dry_lock *lock, const char *what)
{
	/* Addresses outside of the page source differ from run to run. */
	if (dry_sim.current != dry_sim.driver)
		dry_sim_say("%s lock %p: %s", name(lock), dry_sim_owns_address(lock) ? (const void *)lock : NULL, what);
}

void dry_lock_init(struct dry_lock *lock, enum dry_rank rank)
{
	*lock = (struct dry_lock){ .rank = (uint16_t)rank };
}

static void check_rank(const struct dry_lock *lock)
{
	const struct dry_sim_one *task = dry_sim.current;

	for (unsigned other = DRY_RANK_COUNT - 1; other >= lock->rank && other > 0; other--)
		if (task->rank[other] != 0)
			dry_sim_fail("lock order: rank %u acquired while rank %u is held", lock->rank, other);
}

static void take(struct dry_lock *lock)
{
	lock->owner = (uint16_t)(dry_sim.current->id + 1);
	lock->since = dry_sim_own_steps();
	lock->ranked = 0;
	dry_sim.current->held++;
	dry_sim_lock_stats[lock->rank].acquired++;
}

static void count_rank(struct dry_lock *lock)
{
	lock->ranked = 1;
	dry_sim.current->rank[lock->rank]++;
}

void dry_lock_acquire_unranked(struct dry_lock *lock)
{
	struct dry_sim_one *task = dry_sim.current;
	uint64_t asked;

	DRY_SIM_POINT("acquire");
	if (lock->rank == 0 || lock->rank >= DRY_RANK_COUNT)
		dry_sim_fail("a lock of rank %u: not one that was made", lock->rank);
	if (lock->owner == task->id + 1)
		dry_sim_fail("lock of rank %u acquired twice", lock->rank);
	if (lock->owner != 0) {
		dry_sim_lock_stats[lock->rank].waits++;
		asked = dry_sim_steps();
		while (lock->owner != 0) {
			if (task == dry_sim.driver)
				dry_sim_fail("a lock of rank %u is held at rest", lock->rank);
			say(lock, "waits");
			task->waits = lock;
			lock->waiters++;
			dry_sim_leave_cpu(task, DRY_SIM_BLOCKED);
			dry_sim_hand_over();
		}
		dry_sim_lock_stats[lock->rank].wait_steps += dry_sim_steps() - asked;
	}
	take(lock);
	say(lock, "held");
}

void dry_lock_acquire(struct dry_lock *lock)
{
	check_rank(lock);
	dry_lock_acquire_unranked(lock);
	count_rank(lock);
}

bool dry_lock_acquire_contended(struct dry_lock *lock)
{
	uint64_t waits = dry_sim_lock_stats[lock->rank].waits;

	dry_lock_acquire(lock);
	return dry_sim_lock_stats[lock->rank].waits != waits;
}

bool dry_lock_none_held(void)
{
	return dry_sim_locks_held() == 0;
}

bool dry_lock_try(struct dry_lock *lock)
{
	DRY_SIM_POINT("try");
	if (lock->owner != 0) {
		dry_sim_lock_stats[lock->rank].tried++;
		return false;
	}
	take(lock);
	count_rank(lock);
	say(lock, "held");
	return true;
}

static void let_go(struct dry_lock *lock)
{
	struct dry_sim_one *task = dry_sim.current;

	if (lock->owner != task->id + 1)
		dry_sim_fail("lock of rank %u released by who does not hold it", lock->rank);
	dry_sim_lock_stats[lock->rank].hold_steps += dry_sim_own_steps() - lock->since;
	if (lock->ranked)
		task->rank[lock->rank]--;
	task->held--;
	lock->owner = 0;
	lock->ranked = 0;
	for (unsigned i = 0; lock->waiters != 0 && i < DRY_SIM_ALL; i++) {
		struct dry_sim_one *waiter = &dry_sim.task[i];
		if (waiter->state == DRY_SIM_BLOCKED && waiter->waits == lock) {
			waiter->waits = NULL;
			lock->waiters--;
			dry_sim_make_ready(waiter);
		}
	}
}

void dry_lock_release(struct dry_lock *lock)
{
	DRY_SIM_POINT("release");
	let_go(lock);
	say(lock, "released");
}

void dry_lock_reinit(struct dry_lock *lock)
{
	if (lock->owner == dry_sim.current->id + 1)
		let_go(lock);
	lock->owner = 0;
}

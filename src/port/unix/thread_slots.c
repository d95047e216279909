/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "port/unix/thread_slots.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/rank.h"
#include "port/contract.h"

/*
 * dry_slot_tls.state of a thread without a slot: how many frees it has asked for one for, or that it gets none any more, as the
 * destructor has run its last round.
 *
 * A thread that never had one has no destructor. Behind where destructors run, libc frees what it kept for other threads that have
 * ended, some dozens of blocks. A slot would stay its own for ever then, and be looked at when its memory is gone. So a thread has
 * none for its first frees, if it does not allocate.
 */
#define FIRST_FREES 4096u

/* used: by sequences, of which an optimiser of whole programs sees nothing */
_Thread_local struct dry_slot_tls dry_slot_tls DRY_SLOT_TLS_MODEL __attribute__((used)) = DRY_SLOT_TLS_INIT;

static struct dry_lock lock = DRY_LOCK_INIT(DRY_RANK_PORT);
static struct dry_slot_tls *owner[DRY_THREAD_SLOTS]; /* guarded by lock */
static _Atomic unsigned owned;                       /* how many are somebody's; likewise, and a hint without it */
static pthread_key_t key;                            /* immutable after the first attach */
static enum { KEY_NONE, KEY_READY, KEY_FAILED } key_state; /* guarded by lock */

static void count_locked(int by)
{
	atomic_store_explicit(&owned, atomic_load_explicit(&owned, memory_order_relaxed) + (unsigned)by, memory_order_relaxed);
}

/*
 * At thread exit. Destructors that run later may allocate again; then the
 * thread attaches anew and this runs once more, until the C library stops
 * calling. Two rounds are enough for all but the odd; after that the thread
 * goes without arrays, so that no slot is lost.
 */
static void detach(void *value)
{
	struct dry_slot_tls *tls = &dry_slot_tls;
	uint32_t id = tls->own;

	tls->id = tls->own = 0;
	if ((uintptr_t)value >= 2)
		tls->state = DRY_SLOT_REFUSED;
	else
		pthread_setspecific(key, (void *)((uintptr_t)value + 1));
	if (id == 0)
		return;
	dry_lock_acquire(&lock);
	owner[id] = NULL;
	count_locked(-1);
	dry_lock_release(&lock);
}

static uint32_t claim(void)
{
	uint32_t id = 0;

	/* relaxed: a thread that goes without asks again at each slow call, and most find here that nothing has changed */
	if (atomic_load_explicit(&owned, memory_order_relaxed) == DRY_THREAD_SLOTS - 1)
		return 0;
	dry_lock_acquire(&lock);
	if (key_state == KEY_NONE)
		key_state = pthread_key_create(&key, detach) == 0 ? KEY_READY : KEY_FAILED;
	if (key_state == KEY_READY) {
		for (id = DRY_THREAD_SLOTS - 1; id > 0; id--) {
			uint32_t low = DRY_THREAD_SLOTS - id;
			if (owner[low] == NULL) {
				owner[low] = &dry_slot_tls;
				id = low;
				count_locked(1);
				break;
			}
		}
	}
	dry_lock_release(&lock);
	return id;
}

uint32_t dry_thread_slot_refuse(uint32_t state)
{
	uint32_t before = dry_slot_tls.state;

	dry_slot_tls.state = state;
	return before;
}

bool dry_thread_slot_attach(bool frees)
{
	struct dry_slot_tls *tls = &dry_slot_tls;

	if (tls->own != 0) {
		tls->id = tls->own; /* it was parked, maybe */
		return true;
	}
	if (tls->state == DRY_SLOT_REFUSED || (frees && tls->state++ < FIRST_FREES))
		return false;
	uint32_t id = claim();
	if (id == 0)
		return false;
	tls->id = tls->own = id;
	/* May allocate (keys beyond the first block); the slot is already there for it. */
	if (pthread_getspecific(key) == NULL)
		pthread_setspecific(key, (void *)(uintptr_t)1);
	return true;
}

/* The first from `id` on whose owner is inside of a sequence; DRY_THREAD_SLOTS: none. */
static unsigned next_inside(unsigned id)
{
	dry_lock_acquire(&lock);
	while (id < DRY_THREAD_SLOTS && (owner[id] == NULL || owner[id] == &dry_slot_tls || !dry_percpu_inside(owner[id])))
		id++;
	dry_lock_release(&lock);
	return id;
}

/* Once an owner was seen outside, its next sequence sees what the fence's caller wrote. */
bool dry_thread_slots_quiet(void)
{
	unsigned patience = 100; /* of a busy machine, where one that was interrupted inside waits for its turn */

	for (unsigned id = next_inside(1); id < DRY_THREAD_SLOTS; id = next_inside(id)) {
		if (patience-- == 0)
			return false;
		dry_port_sleep_ms(1);
	}
	return true;
}

void dry_thread_slots_forked(void)
{
	unsigned own = 0;

	dry_lock_forget(&lock);
	for (unsigned id = 1; id < DRY_THREAD_SLOTS; id++)
		if (owner[id] == &dry_slot_tls)
			own++;
		else
			owner[id] = NULL;
	atomic_store_explicit(&owned, own, memory_order_relaxed);
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Grace periods as a provider has them: a call made at time t runs once no reader that began
 * before t is left. Times are numbers drawn from one counter.
 */
#include "port/contract.h"
#include "world.h"

static uint64_t now;
static uint64_t reading[DRY_SIM_ALL]; /* when the task's section began; 0: none */
static struct dry_grace_head *first, *last;
static unsigned running; /* calls that run right now */

void grace_clear(void)
{
	now = 1;
	memset(reading, 0, sizeof(reading));
	first = last = NULL;
	running = 0;
}

void grace_enter(void)
{
	reading[dry_sim_task()] = ++now;
}

void grace_leave(void)
{
	reading[dry_sim_task()] = 0;
}

/* opaque[0]: the next one; opaque[1]: its time. */
static void defer(void *arg, struct dry_grace_head *head, void (*func)(struct dry_grace_head *head))
{
	(void)arg;
	head->func = func;
	head->opaque[0] = NULL;
	head->opaque[1] = (void *)(uintptr_t)++now;
	if (first == NULL)
		first = head;
	else
		last->opaque[0] = head;
	last = head;
}

static bool kept_back(const struct dry_grace_head *head)
{
	for (unsigned i = 0; i < DRY_SIM_ALL; i++)
		if (reading[i] != 0 && reading[i] < (uintptr_t)head->opaque[1])
			return true;
	return false;
}

void grace_poll(void)
{
	while (first != NULL && !kept_back(first)) {
		struct dry_grace_head *head = first;

		first = head->opaque[0];
		running++;
		head->func(head);
		running--;
	}
}

void grace_barrier(void *arg)
{
	(void)arg;
	for (grace_poll(); first != NULL || running != 0; grace_poll())
		dry_port_yield();
}

void grace_init(struct dry_grace *grace)
{
	grace->call = defer;
	grace->barrier = grace_barrier;
	grace->arg = NULL;
}

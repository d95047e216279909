/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Memory nodes on Linux: those with memory, numbered from 0 in the order of the system's ids, which may be sparse. There are
 * at most eight; of more, several share a number, and nothing is placed. A thread's node is what the kernel keeps in its area
 * of restartable sequences (kernel 6.3), else what the kernel said a while ago.
 */
#include "port/linux/node.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "port/contract.h"
#include "port/unix/file.h"

#define MOST      8
#define IDS       64
#define REFRESH   64 /* answers from one question */
#define PREFERRED 1  /* MPOL_PREFERRED and MPOL_INTERLEAVE of linux/mempolicy.h */
#define INTERLEAVE 3

/* immutable after dry_port_init() */
static unsigned nodes = 1;
static bool shared;
static uint8_t number_of[IDS], id_of[MOST];
static ptrdiff_t node_at;

static _Atomic int placing; /* enum dry_placing; relaxed: it need not hold at once */

unsigned dry_linux_list(const char *path, uint64_t *set)
{
	char text[256];
	unsigned first = 0, value = 0, end = 0;
	int saved = errno;
	size_t n = dry_file_beginning(path, text, sizeof(text));
	bool range = false;

	errno = saved;
	*set = 0;
	for (size_t i = 0; i < n; i++) {
		if (text[i] >= '0' && text[i] <= '9') {
			value = value * 10 + (unsigned)(text[i] - '0');
		} else if (text[i] == '-') {
			first = value;
			value = 0;
			range = true;
		} else if (i != 0) { /* a comma or the end of the line */
			for (unsigned id = range ? first : value; id <= value && id < IDS; id++)
				*set |= UINT64_C(1) << id;
			end = value + 1 > end ? value + 1 : end;
			value = 0;
			range = false;
		}
	}
	return n < sizeof(text) ? end : 0;
}

/* One call for most machines: the folder's links are itself, its name, one of the kernel's own and the nodes. */
static bool may_be_several(void)
{
	int saved = errno;
	unsigned long links = dry_linux_links("/sys/devices/system/node");

	errno = saved;
	return links <= 2 || links > 4;
}

void dry_linux_node_init(ptrdiff_t at)
{
	unsigned count = 0;
	uint64_t set;

	node_at = at;
	if (!may_be_several())
		return;
	if (dry_linux_list("/sys/devices/system/node/has_memory", &set) == 0 &&
	    dry_linux_list("/sys/devices/system/node/online", &set) == 0)
		return;
	for (unsigned id = 0; id < IDS; id++)
		if ((set >> id & 1) != 0) {
			number_of[id] = (uint8_t)(count % MOST);
			id_of[count++ % MOST] = (uint8_t)id;
		}
	nodes = count < MOST ? count + (count == 0) : MOST;
	shared = count > MOST;
	/* The processors of a node without memory are dealt out. */
	for (unsigned id = 0; id < IDS; id++)
		if ((set >> id & 1) == 0)
			number_of[id] = (uint8_t)(id % nodes);
}

unsigned dry_port_nodes(void)
{
	return nodes;
}

static unsigned ask(void)
{
	static _Thread_local struct {
		uint8_t id, left;
	} known;
	unsigned cpu, node;

	if (known.left == 0) {
		known.left = REFRESH;
		if (!dry_port_restricted() && syscall(SYS_getcpu, &cpu, &node, NULL) == 0)
			known.id = (uint8_t)node;
	}
	known.left--;
	return known.id;
}

void dry_port_set_placing(enum dry_placing how)
{
	atomic_store_explicit(&placing, (int)how, memory_order_relaxed);
}

static enum dry_placing how_to_place(void)
{
	return (enum dry_placing)atomic_load_explicit(&placing, memory_order_relaxed);
}

unsigned dry_port_node(void)
{
	if (nodes == 1 || how_to_place() != DRY_PLACE_LOCAL)
		return 0;
	/* written by the kernel at any time, for this thread only */
	return number_of[(node_at != 0 ? *(volatile uint32_t *)((char *)__builtin_thread_pointer() + node_at) : ask()) % IDS];
}

void dry_port_place(void *addr, size_t size, unsigned node)
{
	enum dry_placing how = how_to_place();
	unsigned long mask = node < nodes ? 1UL << id_of[node] : 0;
	int saved = errno;

	for (unsigned i = 0; i < nodes && how == DRY_PLACE_INTERLEAVE; i++)
		mask |= 1UL << id_of[i];
	/* Refused in some containers; then memory lies where it is touched first. */
	if (nodes > 1 && !shared && mask != 0 && how != DRY_PLACE_OFF && !dry_port_restricted())
		syscall(SYS_mbind, addr, size, how == DRY_PLACE_INTERLEAVE ? INTERLEAVE : PREFERRED, &mask, IDS + 1, 0);
	errno = saved;
}

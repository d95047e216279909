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
 * their objects; the next owner finds them. The registry below names the owner's
 * dry_slot_tls, so that a fence can look whether it is inside a sequence.
 */
#include <fcntl.h>
#include <linux/membarrier.h>
#include <linux/rseq.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "percpu.h"
#include "port/contract.h"
#include "port/linux/thread.h"
#include "port/unix/thread_slots.h"

#ifndef AT_RSEQ_FEATURE_SIZE
#define AT_RSEQ_FEATURE_SIZE 27
#endif
#define MM_CID_OFFSET 24 /* in the kernel's struct rseq */
#define MAX_CPUS      4096

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

_Thread_local struct dry_slot_tls dry_slot_tls DRY_SLOT_TLS_MODEL;

static bool use_rseq;      /* immutable after dry_port_init() */
static unsigned slot_count; /* likewise */

static long membarrier(int command)
{
	int saved = dry_port_get_errno();
	long rc = syscall(SYS_membarrier, command, 0, 0);

	dry_port_set_errno(saved);
	return rc;
}

/* Highest possible CPU number + 1, from text like "0-3,8-11". */
static unsigned possible_cpus(void)
{
	char text[256];
	unsigned last = 0, value = 0;
	int saved = dry_port_get_errno();
	int fd = open("/sys/devices/system/cpu/possible", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text));

	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0; i < n; i++) {
		if (text[i] >= '0' && text[i] <= '9')
			value = value * 10 + (unsigned)(text[i] - '0');
		else
			value = 0;
		if (value > last)
			last = value;
	}
	if (n <= 0 || (size_t)n == sizeof(text))
		last = MAX_CPUS - 1; /* not known: then as many as there is room for */
	dry_port_set_errno(saved);
	return last + 1;
}

static bool rseq_usable(void)
{
	if (!DRY_PERCPU_RESTARTS || &__rseq_size == NULL || &__rseq_offset == NULL || __rseq_size == 0)
		return false;
	struct rseq *area = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
	if ((int32_t)area->cpu_id < 0)
		return false;
	if (possible_cpus() > MAX_CPUS)
		return false;
	return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ) == 0;
}

void dry_port_init(void)
{
	if (slot_count != 0)
		return;
	if (rseq_usable()) {
		bool cid = getauxval(AT_RSEQ_FEATURE_SIZE) >= MM_CID_OFFSET + sizeof(uint32_t);

		use_rseq = true;
		slot_count = possible_cpus();
		dry_percpu_use_rseq(__rseq_offset,
				    __rseq_offset + (cid ? MM_CID_OFFSET : (ptrdiff_t)offsetof(struct rseq, cpu_id)));
		return;
	}
	membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
	dry_percpu_use_owned();
	slot_count = DRY_THREAD_SLOTS;
}

unsigned dry_port_slots(void)
{
	return slot_count;
}

bool dry_port_slot_attach(void)
{
	return use_rseq || dry_thread_slot_attach();
}

bool dry_port_slot_fence(void)
{
	if (use_rseq)
		return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ) == 0;
	if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0)
		return false;
	return dry_thread_slots_quiet();
}

void dry_port_forked(void)
{
	dry_linux_thread = 0;
	dry_thread_slots_forked();
	membarrier(use_rseq ? MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ
			    : MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

/* Nodes: those that have memory would be better, but a possible one without it is only unused. */
unsigned dry_port_nodes(void)
{
	unsigned nodes = 1;
	char path[] = "/sys/devices/system/node/node0";
	int saved = dry_port_get_errno();

	while (nodes < 8) {
		path[sizeof(path) - 2] = (char)('0' + nodes);
		if (access(path, F_OK) != 0)
			break;
		nodes++;
	}
	dry_port_set_errno(saved);
	return nodes;
}

unsigned dry_port_node(void)
{
	unsigned cpu = 0, node = 0;

	syscall(SYS_getcpu, &cpu, &node, NULL);
	return node < 8 ? node : 0;
}

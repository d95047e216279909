/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The page source: one region of the host's address space, always at the same place, so that
 * a seed gives the same addresses each time. What a page is (not reserved, reserved, committed)
 * stands in a table, by which every call is checked against the contract.
 *
 * strict: the host's protection follows the table, so that a touch of what is not
 * committed faults. Else all of the region stays accessible, which saves the system calls.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "base/error.h"
#include "port/sim/machine.h"

#define BASE   ((uintptr_t)0x200000000000)
#define REGION ((size_t)4 << 30)
#define PAGE   ((size_t)4096)
#define PAGES  (REGION / PAGE)
#define RANGES 4096

enum { FREE, RESERVED, COMMITTED };

static unsigned char state[PAGES], placed[PAGES]; /* placed: node + 1; 0: where it is touched first */
static struct range {
	uint32_t first, count;
} range[RANGES]; /* reservations, by address */
static unsigned ranges;
static size_t room, reserved, committed;
static size_t windows; /* where the next one begins, in pages */
static bool strict, mapped, refuse_all;

static void map_region(void)
{
	void *at = (void *)BASE;

	if (mapped)
		return;
	if (mmap(at, REGION, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) !=
	    at) {
		perror("simulation: address space");
		exit(2);
	}
	mapped = true;
}

static void *address(size_t page)
{
	return (void *)(BASE + page * PAGE);
}

static void protect(size_t first, size_t count, int access)
{
	if (mprotect(address(first), count * PAGE, access) != 0) {
		perror("simulation: mprotect");
		exit(2);
	}
}

void dry_sim_memory_begin(size_t bytes, bool strictly)
{
	map_region();
	/* What the run before has left. */
	madvise((void *)BASE, REGION, MADV_DONTNEED);
	for (unsigned i = 0; i < ranges; i++)
		memset(state + range[i].first, FREE, range[i].count);
	refuse_all = false;
	ranges = 0;
	reserved = committed = 0;
	windows = PAGES / 2;
	room = bytes != 0 && bytes < REGION ? bytes : REGION;
	strict = strictly;
	protect(0, PAGES, strict ? PROT_NONE : PROT_READ | PROT_WRITE);
}

void dry_sim_refuse(bool all)
{
	refuse_all = all;
}

static bool refused(void)
{
	return refuse_all || dry_sim_decide_failure();
}

size_t dry_sim_reserved(void)
{
	return reserved;
}

size_t dry_sim_committed(void)
{
	return committed;
}

bool dry_sim_owns_address(const void *at)
{
	return (uintptr_t)at - BASE < REGION;
}

size_t dry_port_page_size(void)
{
	return PAGE;
}

size_t dry_port_address_room(void)
{
	DRY_SIM_POINT("address room");
	return room - reserved;
}

bool dry_port_is_scarce(void)
{
	return false;
}

bool dry_port_is_tight(void)
{
	return false;
}

bool dry_port_find_scarce(void)
{
	return dry_port_address_room() != SIZE_MAX;
}

/* The pages of a range that must all be in one reservation, with the reservation's number. */
static unsigned reservation(const void *addr, size_t size, size_t *first, const char *call)
{
	uintptr_t offset = (uintptr_t)addr - BASE;

	*first = offset / PAGE;
	if (offset % PAGE != 0 || size % PAGE != 0 || size == 0 || offset >= REGION)
		dry_sim_fail("%s: %p, %zu bytes: not pages of the source", call, addr, size);
	for (unsigned i = 0; i < ranges; i++)
		if (*first >= range[i].first && *first + size / PAGE <= (size_t)range[i].first + range[i].count)
			return i;
	dry_sim_fail("%s: %p, %zu bytes: not reserved", call, addr, size);
}

/* The first gap that is large enough; PAGES: none. */
static size_t gap(size_t count, size_t align, unsigned *before)
{
	size_t at = 0;

	for (*before = 0; *before < ranges; ++*before) {
		if (at + count <= range[*before].first)
			return at;
		at = dry_round_up((size_t)range[*before].first + range[*before].count, align);
	}
	return at + count <= PAGES ? at : PAGES;
}

/* The reservation that ends where the new one begins, and the one that begins where it ends. */
static void join(unsigned which)
{
	if (which + 1 < ranges && range[which].first + range[which].count == range[which + 1].first) {
		range[which].count += range[which + 1].count;
		memmove(&range[which + 1], &range[which + 2], (--ranges - which - 1) * sizeof(range[0]));
	}
}

/* Free pages become a reservation, the one with the number `before`. */
static void take(unsigned before, size_t first, size_t count, bool readable)
{
	memmove(&range[before + 1], &range[before], (ranges++ - before) * sizeof(range[0]));
	range[before] = (struct range){ (uint32_t)first, (uint32_t)count };
	memset(state + first, RESERVED, count);
	memset(placed + first, 0, count);
	reserved += count * PAGE;
	if (strict)
		protect(first, count, readable ? PROT_READ : PROT_NONE);
	join(before); /* a range may cover several reservations */
	if (before > 0)
		join(before - 1);
}

static void *reserve(size_t size, size_t align, bool readable)
{
	size_t count = size / PAGE, at;
	unsigned before;

	if (count == 0 || reserved + size > room || ranges == RANGES)
		return NULL;
	at = gap(count, align / PAGE, &before);
	if (at == PAGES)
		return NULL;
	take(before, at, count, readable);
	return address(at);
}

void *dry_port_reserve(size_t size, size_t align, bool readable)
{
	DRY_SIM_POINT("reserve");
	if (size % PAGE != 0 || align < PAGE || !dry_is_pow2(align))
		dry_sim_fail("reserve: %zu bytes aligned to %zu: not pages", size, align);
	return refused() ? NULL : reserve(size, align, readable);
}

/*
 * In the upper half, windows side by side: what does not find room below is in their way, as in the world. Where all of
 * this address space is small, they have to be.
 */
void *dry_port_window(size_t size, size_t align)
{
	size_t pages = dry_round_up(size, align) / PAGE, at;

	DRY_SIM_POINT("window");
	if (pages > PAGES / 8)
		return NULL;
	at = windows + pages <= PAGES ? windows : PAGES / 2;
	windows = at + pages;
	return address(at);
}

int dry_port_reserve_at(void *addr, size_t size, enum dry_access access)
{
	size_t first = ((uintptr_t)addr - BASE) / PAGE, count = size / PAGE;
	unsigned before = 0;

	DRY_SIM_POINT("reserve at");
	if (size % PAGE != 0 || (uintptr_t)addr % PAGE != 0 || first + count > PAGES)
		dry_sim_fail("reserve at %p, %zu bytes: not pages", addr, size);
	if (refused() || reserved + size > room || ranges == RANGES)
		return -DRY_ENOMEM;
	for (size_t i = first; i < first + count; i++)
		if (state[i] != FREE)
			return -DRY_EBUSY;
	while (before < ranges && range[before].first < first)
		before++;
	take(before, first, count, access == DRY_ACCESS_READ);
	if (access == DRY_ACCESS_WRITE && dry_port_commit(addr, size) != 0) {
		dry_port_release(addr, size);
		return -DRY_ENOMEM;
	}
	return 0;
}

static void commit(size_t first, size_t count)
{
	for (size_t i = first; i < first + count; i++)
		committed += state[i] == COMMITTED ? 0 : PAGE;
	memset(state + first, COMMITTED, count);
	if (strict)
		protect(first, count, PROT_READ | PROT_WRITE);
}

int dry_port_commit(void *addr, size_t size)
{
	size_t first;

	DRY_SIM_POINT("commit");
	reservation(addr, size, &first, "commit");
	if (refused())
		return -DRY_ENOMEM;
	commit(first, size / PAGE);
	return 0;
}

/* Pages that must all be committed. */
static void committed_range(const void *addr, size_t size, size_t *first, const char *call)
{
	reservation(addr, size, first, call);
	for (size_t i = *first; i < *first + size / PAGE; i++)
		if (state[i] != COMMITTED)
			dry_sim_fail("%s: %p, %zu bytes: not committed", call, addr, size);
}

void dry_port_place(void *addr, size_t size, unsigned node)
{
	size_t first;

	DRY_SIM_POINT("place");
	committed_range(addr, size, &first, "place");
	memset(placed + first, node < dry_sim.setup.nodes ? (int)node + 1 : 0, size / PAGE);
}

unsigned dry_sim_node_of(const void *at)
{
	return placed[((uintptr_t)at - BASE) / PAGE];
}

static void clear(size_t first, size_t count)
{
	madvise(address(first), count * PAGE, MADV_DONTNEED);
}

void dry_port_purge(void *addr, size_t size)
{
	size_t first;

	DRY_SIM_POINT("purge");
	committed_range(addr, size, &first, "purge");
	clear(first, size / PAGE);
}

/* The part of a reservation is nobody's again. */
static void release(unsigned which, size_t first, size_t count)
{
	struct range old = range[which];
	size_t end = first + count, old_end = (size_t)old.first + old.count;
	struct range low = { old.first, (uint32_t)(first - old.first) },
		     high = { (uint32_t)end, (uint32_t)(old_end - end) };

	for (size_t i = first; i < end; i++)
		committed -= state[i] == COMMITTED ? PAGE : 0;
	memset(state + first, FREE, count);
	reserved -= count * PAGE;
	clear(first, count);
	if (strict)
		protect(first, count, PROT_NONE);
	memmove(&range[which], &range[which + 1], (--ranges - which) * sizeof(range[0]));
	for (unsigned part = 0; part < 2; part++) {
		struct range keep = part == 0 ? high : low;
		if (keep.count == 0 || ranges == RANGES)
			continue;
		memmove(&range[which + 1], &range[which], (ranges++ - which) * sizeof(range[0]));
		range[which] = keep;
	}
}

void dry_port_release(void *addr, size_t size)
{
	size_t first;
	unsigned which;

	DRY_SIM_POINT("release memory");
	which = reservation(addr, size, &first, "release");
	release(which, first, size / PAGE);
}

void *dry_port_resize(void *addr, size_t old_size, size_t new_size, size_t align)
{
	size_t first, count = new_size / PAGE;
	unsigned which;
	void *to;

	DRY_SIM_POINT("resize");
	committed_range(addr, old_size, &first, "resize");
	which = reservation(addr, old_size, &first, "resize");
	if (new_size % PAGE != 0 || count == 0)
		dry_sim_fail("resize: %p, %zu to %zu bytes: not pages", addr, old_size, new_size);
	if (new_size <= old_size) {
		if (new_size < old_size)
			release(which, first + count, old_size / PAGE - count);
		return addr;
	}
	if (refused())
		return NULL;
	to = reserve(new_size, align > PAGE ? align : PAGE, false);
	if (to == NULL)
		return NULL;
	commit(((uintptr_t)to - BASE) / PAGE, count);
	memcpy(to, addr, old_size);
	memset(placed + ((uintptr_t)to - BASE) / PAGE, placed[first], count);
	which = reservation(addr, old_size, &first, "resize");
	release(which, first, old_size / PAGE);
	return to;
}

/* As far as a range has pages, all of them have memory. */
int dry_port_density(const void *addr, size_t size, bool *first)
{
	*first = true;
	DRY_SIM_POINT("density");
	return state[((uintptr_t)addr - BASE) / PAGE] == COMMITTED && size != 0 ? 100 : -1;
}

void dry_port_dense(void *addr, size_t size)
{
	size_t first;

	DRY_SIM_POINT("dense");
	committed_range(addr, size, &first, "dense");
}

bool dry_port_populate(void *addr, size_t size)
{
	size_t first;

	DRY_SIM_POINT("populate");
	committed_range(addr, size, &first, "populate");
	return !refused();
}

bool dry_port_populate_huge(void *addr, size_t size)
{
	return dry_port_populate(addr, size);
}

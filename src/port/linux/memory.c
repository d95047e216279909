/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Memory of the Linux port, where it differs from plain POSIX. Keeps errno. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mremap, mincore */
#endif
#include "base/compiler.h"
#include "port/contract.h"
#include "port/guard.h"
#include "port/linux/filter.h"
#include "port/linux/room.h"
#include "port/unix/file.h"
#include "port/unix/map.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#define CHECKED ((size_t)32 << 10) /* reservations from that size on are given back where address space is nearly full */

#define SAMPLE  128 /* pages looked at in one place */
#define SAMPLES 4   /* places */

#define ENTRY   8            /* bytes for each page in /proc/self/pagemap, whose high bits say that there is, or was, memory */
#define ENTRIES (SAMPLE / 4) /* of them at a time: stacks are small */

/* Errno, as mmap() leaves it. */
static void *map(size_t size, int prot, int flags)
{
	enum dry_linux_room room = dry_linux_map_begin(size);
	void *got;

	if (room == DRY_LINUX_NO_ROOM)
		return NULL;
	got = dry_unix_map(size, prot, flags);
	dry_linux_room_end(room, got == NULL ? errno : 0);
	return got;
}

void *dry_port_reserve(size_t size, size_t align, bool readable)
{
	/* Counted once it is committed, so that the kernel refuses what is more than the machine has, as it does to libc. */
	void *got = dry_unix_map_aligned(size, align, readable ? PROT_READ : PROT_NONE, 0, map);

	if (got != NULL && size >= CHECKED && dry_linux_is_nearly_full(size, true)) {
		dry_port_release(got, size);
		got = NULL;
	}
	dry_linux_reserves(size);
	return got;
}

/* ---- huge pages ---- */

#define HUGE ((size_t)2 << 20)
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

static _Atomic int huge_pages; /* enum dry_huge; relaxed: it need not hold at once */

void dry_port_set_huge(enum dry_huge huge)
{
	atomic_store_explicit(&huge_pages, (int)huge, memory_order_relaxed);
}

void dry_port_advise_huge(void *addr, size_t size, enum dry_huge huge)
{
	int saved = errno;

	if (huge == DRY_HUGE_ALWAYS || huge == DRY_HUGE_NEVER) /* refused by kernels without: they have none */
		madvise(addr, size, huge == DRY_HUGE_ALWAYS ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	errno = saved;
}

bool dry_port_collapse(void *addr, size_t size)
{
	int saved = errno, done;

	if (dry_port_confined())
		return false;
	done = madvise(addr, size, MADV_COLLAPSE);
	errno = saved;
	return done == 0;
}

static DRY_SLOW int commit_otherwise(void *addr, size_t size, enum dry_huge huge)
{
	enum dry_linux_room room = DRY_LINUX_ROOM;
	int done;

	if (atomic_load_explicit(&dry_linux_strict, memory_order_relaxed))
		room = dry_linux_commit_begin(size);
	if (room == DRY_LINUX_NO_ROOM)
		return -ENOMEM;
	done = dry_unix_commit(addr, size);
	dry_linux_room_end(room, 0);
	if (done == 0 && size >= HUGE)
		dry_port_advise_huge(addr, size, huge);
	return done;
}

bool dry_linux_commit_is_plain(size_t size)
{
	return (size < HUGE || atomic_load_explicit(&huge_pages, memory_order_relaxed) == DRY_HUGE_SYSTEM) &&
	       !atomic_load_explicit(&dry_linux_strict, memory_order_relaxed);
}

/* No frame of its own where nothing was said (docs/design/stack.md). */
int dry_port_commit(void *addr, size_t size)
{
	if (DRY_UNLIKELY(!dry_linux_commit_is_plain(size)))
		return commit_otherwise(addr, size, (enum dry_huge)atomic_load_explicit(&huge_pages, memory_order_relaxed));
	return dry_unix_commit(addr, size);
}

int dry_port_decommit(void *addr, size_t size)
{
	return dry_unix_decommit(addr, size, MAP_NORESERVE);
}

void dry_port_purge(void *addr, size_t size)
{
	int saved = errno;

	/* refused for locked memory (mlockall) */
	if (madvise(addr, size, MADV_DONTNEED) != 0) {
		enum dry_linux_room room = dry_linux_replace_begin();

		dry_unix_replace(addr, size, MAP_NORESERVE);
		dry_linux_room_end(room, 0);
	}
	errno = saved;
}

void dry_port_release(void *addr, size_t size)
{
	dry_unix_release(addr, size, dry_port_purge);
}

/* Pages of a sample that have memory; SIZE_MAX: they were unmapped meanwhile. */
static size_t count_there(char *addr, size_t page)
{
	unsigned char there[SAMPLE];
	size_t count = 0;

	if (mincore(addr, SAMPLE * page, there) != 0)
		return SIZE_MAX;
	for (size_t i = 0; i < SAMPLE; i++)
		count += there[i] & 1;
	return count;
}

/* Under a filter of before the program: whether the dynamic linker has made that call itself, as glibc's for libc's headers. */
static bool may_read_at(void)
{
#ifdef __GLIBC__
	return getauxval(AT_BASE) != 0; /* not a static program */
#else
	return false;
#endif
}

/* The same as above in /proc; SIZE_MAX: not this one. */
static size_t count_mapped(int pagemap, uintptr_t addr, size_t page)
{
	uint64_t entry[ENTRIES], at = addr / page;
	size_t count = 0;

	for (uint64_t end = at + SAMPLE; at < end; at += ENTRIES) {
		if (dry_file_read_at(pagemap, entry, sizeof(entry), at * ENTRY) != (ptrdiff_t)sizeof(entry))
			return SIZE_MAX;
		for (size_t i = 0; i < ENTRIES; i++)
			count += entry[i] >> 62 != 0;
	}
	return count;
}

int dry_port_density(const void *addr, size_t size, bool *first)
{
	size_t page = dry_port_page_size(), pages = size / page, step = pages / SAMPLES, seen = 0, found = 0, before = SAMPLE;
	bool restricted = dry_port_restricted();
	int saved = errno, pagemap = -1;

	*first = true;
	/* the program has asked for no filter so far, and none comes before the last of these calls */
	if (step < SAMPLE || dry_port_confined() || (restricted && !may_read_at()) || !dry_linux_look_begin())
		return -1;
	if (restricted)
		pagemap = dry_file_open("/proc/self/pagemap");
	for (size_t at = 0; at + SAMPLE <= pages; at += step) {
		char *from = (char *)addr + at * page;
		size_t here = restricted ? count_mapped(pagemap, (uintptr_t)from, page) : count_there(from, page);
		if (here == SIZE_MAX)
			break;
		*first = *first && (here == 0 || before == SAMPLE);
		before = here;
		found += here;
		seen += SAMPLE;
	}
	if (pagemap >= 0)
		dry_file_close(pagemap);
	dry_linux_look_end();
	errno = saved;
	return seen >= SAMPLES * SAMPLE ? (int)(found * 100 / seen) : -1;
}

void dry_port_dense(void *addr, size_t size)
{
	int huge = atomic_load_explicit(&huge_pages, memory_order_relaxed);

	/* what the user said of huge pages goes before what is guessed */
	if (huge != DRY_HUGE_NEVER && huge != DRY_HUGE_COLLAPSE && !dry_port_confined())
		dry_port_advise_huge(addr, size, DRY_HUGE_ALWAYS);
}

/* Linux has a table of entries of 8 bytes in a page, and the system's huge page is what one such table is of. */
void dry_port_piecemeal(void *addr, size_t size, size_t piece)
{
	size_t page = dry_port_page_size();

	if (page / 8 * page > piece && atomic_load_explicit(&huge_pages, memory_order_relaxed) == DRY_HUGE_SYSTEM &&
	    !dry_port_confined())
		dry_port_advise_huge(addr, size, DRY_HUGE_NEVER);
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

bool dry_port_populate(void *addr, size_t size)
{
	int saved = errno;
	bool done = !dry_port_confined() && madvise(addr, size, MADV_POPULATE_WRITE) == 0;

	errno = saved;
	return done;
}

/*
 * What is advised to have huge pages, khugepaged makes of them again, however little of it has memory by then: so the advice
 * is taken back. There is no call that only forgets it. It is given as well before there is memory: so the range is one mapping
 * with what lies before it. Whatever has got memory by itself stays a mapping by itself, of which a process has 65,530.
 */
bool dry_port_populate_huge(void *addr, size_t size)
{
	int huge = atomic_load_explicit(&huge_pages, memory_order_relaxed), saved = errno;

	if (huge == DRY_HUGE_NEVER || huge == DRY_HUGE_COLLAPSE || dry_port_confined())
		return false;
	if (huge == DRY_HUGE_SYSTEM)
		madvise(addr, size, MADV_NOHUGEPAGE);
	if (madvise(addr, size, MADV_HUGEPAGE) != 0) {
		errno = saved;
		return false;
	}
	bool done = dry_port_populate(addr, size);
	if (huge == DRY_HUGE_SYSTEM)
		madvise(addr, size, MADV_NOHUGEPAGE);
	errno = saved;
	return done;
}

/*
 * To a place of that alignment, where huge pages stay what they are. Refused, the place is left alone: the kernel may have
 * cleared it first, and somebody else may have mapped something there. What it refuses for, but want of memory, is known before.
 */
static void *move_aligned(void *addr, size_t old_size, size_t new_size, size_t align)
{
	void *to = dry_unix_map_aligned(new_size, align, PROT_NONE, MAP_NORESERVE, dry_unix_map);

	return to != NULL ? mremap(addr, old_size, new_size, MREMAP_MAYMOVE | MREMAP_FIXED, to) : MAP_FAILED;
}

void *dry_port_resize(void *addr, size_t old_size, size_t new_size, size_t align)
{
	size_t more = new_size > old_size ? new_size - old_size : 0;
	enum dry_linux_room room = more == 0 || dry_linux_may_grow(more) ? dry_linux_map_begin(more) : DRY_LINUX_NO_ROOM;
	int saved = errno;
	void *result;

	if (room == DRY_LINUX_ROOM && more != 0 && atomic_load_explicit(&dry_linux_strict, memory_order_relaxed))
		room = dry_linux_commit_begin(more);
	if (room == DRY_LINUX_NO_ROOM)
		return NULL;
	result = mremap(addr, old_size, new_size, 0);
	if (result == MAP_FAILED && errno == ENOMEM && align > dry_port_page_size() && !dry_port_is_scarce())
		result = move_aligned(addr, old_size, new_size, align);
	if (result == MAP_FAILED)
		result = mremap(addr, old_size, new_size, MREMAP_MAYMOVE);
	dry_linux_room_end(room, 0); /* it may have been refused because the program locked the block itself */
	errno = saved;
	return result == MAP_FAILED ? NULL : result;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "stats/sites.h"

#include <string.h>

#include "base/bits.h"
#include "base/fmt.h"
#include "port/contract.h"

#define RESERVE   ((size_t)256 << 20) /* address space for sites; less where that is short */
#define STEP      ((size_t)64 << 10)  /* of it that is committed at once */
#define BUCKETS   16384u
#define FIRST     4096u               /* entries of the first table */
#define NO_SITE   UINT32_MAX
#define GRANULE   64u                 /* sites begin at multiples of it: a number of 32 bits reaches them all */

struct live {
	uintptr_t address; /* 0: unused */
	size_t size;       /* asked for */
	size_t served;
	uint32_t site;     /* in units of GRANULE */
	void *instead;     /* as in struct dry_site_block */
};

struct dry_inspect_profile dry_profile;

/* Guarded by lock: live <= 3/4 of entries, a power of two. dry_profile.used <= committed <= reserved. */
static struct {
	struct dry_lock lock;
	struct live *table;
	size_t entries, live;
	bool closed; /* figures stay as they are */
	char *sites;
	size_t committed, reserved;
	uint32_t *bucket; /* BUCKETS, in front of sites: 1 + number of its newest site */
} all = { .lock = DRY_LOCK_INIT(DRY_RANK_SITES) };

/* ---- sites ------------------------------------------------------------------------------------ */

static struct dry_inspect_site *site_at(uint32_t number)
{
	return (struct dry_inspect_site *)(void *)(all.sites + (size_t)number * GRANULE);
}

static uintptr_t *frames_of(struct dry_inspect_site *site)
{
	return (uintptr_t *)(site + 1);
}

bool dry_sites_init(void)
{
	size_t page = dry_port_page_size(), bytes = RESERVE, room = dry_port_address_room();
	size_t buckets = dry_round_up(BUCKETS * sizeof(all.bucket[0]), page), size;
	char *start;

	while (room != SIZE_MAX && bytes > room / 16 && bytes > STEP)
		bytes /= 2;
	if (__atomic_load_n(&dry_profile.sites, __ATOMIC_ACQUIRE) != 0)
		return true;
	dry_lock_acquire(&all.lock);
	size = bytes + buckets + 2 * page;
	start = all.sites == NULL ? dry_port_reserve(size, page, false) : NULL;
	if (start != NULL && dry_port_commit(start + page, buckets) != 0) {
		dry_port_release(start, size);
		start = NULL;
	}
	if (start != NULL) {
		all.bucket = (uint32_t *)(void *)(start + page);
		all.sites = start + page + buckets;
		all.reserved = bytes;
		__atomic_store_n(&dry_profile.sites, (uintptr_t)all.sites, __ATOMIC_RELEASE);
	}
	dry_lock_release(&all.lock);
	return all.sites != NULL;
}

static char *name_of(struct dry_inspect_site *site)
{
	return (char *)(frames_of(site) + site->frames);
}

static uint32_t name_bytes(const struct dry_site_block *as)
{
	return as->name != NULL ? (uint32_t)strlen(as->name) : 0;
}

static uint32_t hash_of(const struct dry_site_block *as, const uintptr_t *frames, unsigned count)
{
	uint64_t hash = dry_mix64(as->class + count);

	for (uint32_t i = name_bytes(as); i > 0; i--)
		hash = dry_mix64(hash ^ (unsigned char)as->name[i - 1]);
	for (unsigned i = 0; i < count; i++)
		hash = dry_mix64(hash ^ frames[i]);
	return (uint32_t)(hash >> 32);
}

static bool commit_locked(size_t bytes)
{
	size_t to = dry_round_up(bytes, STEP);

	if (bytes <= all.committed)
		return true;
	if (to > all.reserved || dry_port_commit(all.sites + all.committed, to - all.committed) != 0)
		return false;
	all.committed = to;
	return true;
}

static uint32_t make_site_locked(uint32_t hash, const struct dry_site_block *as, const uintptr_t *frames, unsigned count)
{
	uint32_t name = name_bytes(as);
	size_t bytes = dry_round_up(sizeof(struct dry_inspect_site) + count * sizeof(uintptr_t) + name, GRANULE);
	size_t used = dry_profile.used;
	struct dry_inspect_site *site;

	if (!commit_locked(used + bytes))
		return NO_SITE;
	site = site_at((uint32_t)(used / GRANULE));
	*site = (struct dry_inspect_site){ .bytes = (uint32_t)bytes, .frames = count, .hash = hash, .class_size = as->class,
					  .name = name, .big = as->big };
	memcpy(frames_of(site), frames, count * sizeof(uintptr_t));
	if (name != 0)
		memcpy(name_of(site), as->name, name);
	site->next = all.bucket[hash % BUCKETS];
	all.bucket[hash % BUCKETS] = (uint32_t)(used / GRANULE) + 1;
	/* release: a reader of `used` finds the site */
	__atomic_store_n(&dry_profile.used, used + bytes, __ATOMIC_RELEASE);
	return (uint32_t)(used / GRANULE);
}

static bool is_of(struct dry_inspect_site *site, const struct dry_site_block *as, const uintptr_t *frames, unsigned count)
{
	return site->class_size == as->class && site->frames == count && site->name == name_bytes(as) &&
	       memcmp(frames_of(site), frames, count * sizeof(uintptr_t)) == 0 &&
	       (site->name == 0 || memcmp(name_of(site), as->name, site->name) == 0);
}

static uint32_t find_site_locked(const struct dry_site_block *as, const uintptr_t *frames, unsigned count)
{
	uint32_t hash = hash_of(as, frames, count);

	if (all.bucket == NULL)
		return NO_SITE;
	for (uint32_t at = all.bucket[hash % BUCKETS]; at != 0; at = site_at(at - 1)->next) {
		struct dry_inspect_site *site = site_at(at - 1);
		if (site->hash == hash && is_of(site, as, frames, count))
			return at - 1;
	}
	return make_site_locked(hash, as, frames, count);
}

/* ---- live blocks --------------------------------------------------------------------------------- */

/* Where the address is in the table, or the free entry for it. */
static struct live *place_of(struct live *table, size_t entries, uintptr_t address)
{
	size_t at = dry_mix64(address) & (entries - 1);

	while (table[at].address != 0 && table[at].address != address)
		at = (at + 1) & (entries - 1);
	return &table[at];
}

static size_t table_bytes(size_t entries)
{
	return dry_round_up(entries * sizeof(struct live), dry_port_page_size());
}

static bool make_room_locked(void)
{
	size_t entries = all.entries == 0 ? FIRST : all.entries * 2;
	struct live *table;

	if (all.live + 1 <= all.entries / 4 * 3)
		return true;
	table = dry_port_reserve(table_bytes(entries), dry_port_page_size(), false);
	if (table == NULL)
		return false;
	if (dry_port_commit(table, table_bytes(entries)) != 0) {
		dry_port_release(table, table_bytes(entries));
		return false;
	}
	for (size_t i = 0; i < all.entries; i++)
		if (all.table[i].address != 0)
			*place_of(table, entries, all.table[i].address) = all.table[i];
	if (all.table != NULL)
		dry_port_release(all.table, table_bytes(all.entries));
	all.table = table;
	all.entries = entries;
	return true;
}

/* Take it out; those behind it that would not be found any more move up (Knuth, volume 3, 6.4, algorithm R). */
static void take_out_locked(struct live *entry)
{
	size_t mask = all.entries - 1, hole = (size_t)(entry - all.table);

	for (size_t at = (hole + 1) & mask; all.table[at].address != 0; at = (at + 1) & mask) {
		size_t home = dry_mix64(all.table[at].address) & mask;
		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		all.table[hole] = all.table[at];
		hole = at;
	}
	all.table[hole].address = 0;
	all.live--;
}

static struct live *find_locked(const void *block)
{
	struct live *entry = all.entries != 0 ? place_of(all.table, all.entries, (uintptr_t)block) : NULL;

	return entry != NULL && entry->address != 0 ? entry : NULL;
}

bool dry_sites_add(const void *block, const struct dry_site_block *as, const uintptr_t *frames, unsigned count)
{
	uint32_t number = NO_SITE;

	dry_lock_acquire(&all.lock);
	if (make_room_locked())
		number = find_site_locked(as, frames, count);
	if (number != NO_SITE) {
		struct dry_inspect_site *site = site_at(number);
		*place_of(all.table, all.entries, (uintptr_t)block) =
			(struct live){ .address = (uintptr_t)block, .size = as->size, .served = as->served,
				       .site = number, .instead = as->instead };
		all.live++;
		if (!all.closed) {
			site->live_objects++;
			site->live_bytes += as->served;
			site->all_objects++;
			site->all_bytes += as->served;
		}
	} else {
		dry_profile.lost++;
	}
	dry_lock_release(&all.lock);
	return number != NO_SITE;
}

static void end_locked(struct live *entry)
{
	struct dry_inspect_site *site = site_at(entry->site);

	if (!all.closed) {
		site->live_objects--;
		site->live_bytes -= entry->served;
	}
	take_out_locked(entry);
}

static struct dry_site_block block_of(const struct live *entry)
{
	return (struct dry_site_block){ .size = entry->size, .served = entry->served, .instead = entry->instead };
}

bool dry_sites_remove(const void *block, struct dry_site_block *as)
{
	dry_lock_acquire(&all.lock);
	struct live *entry = find_locked(block);
	if (entry != NULL) {
		*as = block_of(entry);
		end_locked(entry);
	}
	dry_lock_release(&all.lock);
	return entry != NULL;
}

void dry_sites_remove_range(uintptr_t from, uintptr_t to)
{
	dry_lock_acquire(&all.lock);
	for (size_t i = 0; i < all.entries; i++)
		while (all.table[i].address != 0 && all.table[i].address >= from && all.table[i].address < to)
			end_locked(&all.table[i]); /* another one may come to its place */
	dry_lock_release(&all.lock);
}

bool dry_sites_find(const void *block, struct dry_site_block *as)
{
	dry_lock_acquire(&all.lock);
	const struct live *entry = find_locked(block);
	if (entry != NULL)
		*as = block_of(entry);
	dry_lock_release(&all.lock);
	return entry != NULL;
}

/* ---- all of it ------------------------------------------------------------------------------------ */

size_t dry_sites_blocks_locked(dry_sites_visitor *visit)
{
	for (size_t i = 0; visit != NULL && i < all.entries; i++)
		if (all.table[i].address != 0)
			visit(all.table[i].address, all.table[i].size, all.table[i].site);
	return all.live;
}

void dry_sites_table_locked(uintptr_t *from, uintptr_t *to)
{
	*from = (uintptr_t)all.table;
	*to = *from + table_bytes(all.entries);
}

void dry_sites_close_locked(void)
{
	all.closed = true;
	for (size_t at = 0; at < dry_profile.used; at += site_at((uint32_t)(at / GRANULE))->bytes) {
		struct dry_inspect_site *site = site_at((uint32_t)(at / GRANULE));
		site->live_objects = site->live_bytes = site->all_objects = site->all_bytes = 0;
	}
}

void dry_sites_set_lost_locked(uint32_t number, size_t bytes, size_t behind, size_t behind_bytes)
{
	struct dry_inspect_site *site = site_at(number);

	site->live_objects++;
	site->live_bytes += bytes;
	site->all_objects += behind;
	site->all_bytes += behind_bytes;
}

/* ---- text --------------------------------------------------------------------------------------- */

/* Lines are not part of the frame of a caller below which more is written (docs/design/stack.md). */
static DRY_NOINLINE void write_counts(const struct dry_inspect_site *site, dry_port_writer *write, void *arg)
{
	char line[96];
	size_t n = dry_format(line, sizeof(line), "%llu: %llu [%llu: %llu] @", (unsigned long long)site->live_objects,
			      (unsigned long long)site->live_bytes, (unsigned long long)site->all_objects,
			      (unsigned long long)site->all_bytes);

	write(arg, line, n);
}

static DRY_NOINLINE void write_site(struct dry_inspect_site *site, dry_port_writer *write, void *arg)
{
	char line[64];

	write(arg, line, dry_format(line, sizeof(line), "# %s %llu", site->big ? "big" : "cache",
				    (unsigned long long)site->class_size));
	for (uint32_t i = 0; i < site->name; i++) {
		line[0] = ' ';
		line[1] = dry_visible(name_of(site)[i]);
		write(arg, i == 0 ? line : line + 1, i == 0 ? 2 : 1);
	}
	write(arg, "\n", 1);
	write_counts(site, write, arg);
	for (uint32_t i = 0; i < site->frames; i++)
		write(arg, line, dry_format(line, sizeof(line), " 0x%lx", (unsigned long)frames_of(site)[i]));
	write(arg, "\n", 1);
}

static struct dry_inspect_site *next_of(struct dry_inspect_site *site)
{
	return (struct dry_inspect_site *)(void *)((char *)site + site->bytes);
}

/* pprof's own format: https://github.com/google/pprof, profile/legacy_profile.go. Lines with # are comments there. */
void dry_sites_write(dry_port_writer *write, void *arg, uint64_t mean)
{
	/* acquire: pairs with the release in make_site_locked() */
	char *end = all.sites + __atomic_load_n(&dry_profile.used, __ATOMIC_ACQUIRE);
	struct dry_inspect_site *first = (struct dry_inspect_site *)(void *)all.sites, sum = { 0 };
	char line[64];

	for (struct dry_inspect_site *site = first; (char *)site < end; site = next_of(site)) {
		sum.live_objects += site->live_objects;
		sum.live_bytes += site->live_bytes;
		sum.all_objects += site->all_objects;
		sum.all_bytes += site->all_bytes;
	}
	write(arg, "heap profile: ", 14);
	write_counts(&sum, write, arg);
	write(arg, line, dry_format(line, sizeof(line), " heap_v2/%llu\n", (unsigned long long)mean));
	for (struct dry_inspect_site *site = first; (char *)site < end; site = next_of(site))
		if (site->all_objects + site->live_objects != 0)
			write_site(site, write, arg);
	write(arg, "\nMAPPED_LIBRARIES:\n", 19);
	dry_port_mapped(write, arg);
}

void dry_sites_lock(void)
{
	dry_lock_acquire_unranked(&all.lock);
}

void dry_sites_unlock(bool in_child)
{
	dry_lock_forked(&all.lock, in_child);
}

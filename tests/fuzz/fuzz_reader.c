/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The reader behind `drystone info` on damaged memory. The process that it reads is an image of
 * IMAGE bytes at address BASE: an ELF object with its dynamic symbols, the layout that it publishes,
 * and two heaps with caches, nodes and arrays; the image is whole until the input damages it. The
 * input is a list of damages (where, how many bytes, which), and then the text of /proc/PID/maps.
 * It must end in bounded work, keep to the addresses that are there, and give printable names.
 *
 * Linked with tools/drystone, and with --wrap for process_vm_readv, fopen, open and readlink.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../../tools/drystone/cli.h"
#include "../../tools/drystone/walk.h"
#include "input.h"

#define BASE  ((uint64_t)0x10000)
#define IMAGE 16384

struct array {
	uint16_t limit;
	uint64_t word;
};
struct depot {
	uint32_t pad, avail;
};
struct node {
	uint64_t slabs;
	uint32_t free_objects;
	uint16_t free_slabs;
	uint8_t shared;
	uint64_t alien, slow_allocs, slow_frees, bulk_allocs;
};
struct cache {
	char name[24];
	uint64_t next, root, object_size;
	uint32_t size;
	uint16_t num;
	uint8_t order;
	uint32_t limit, batchcount, flags, alloc_at, free_at;
	struct node node[2];
};
struct heap {
	char name[16];
	uint64_t next, caches, slots;
	uint32_t slot_count;
	uint8_t nodes;
};

/* What lies at BASE. Pointers are addresses in the image. */
struct image {
	ElfW(Ehdr) header;
	ElfW(Phdr) segment[2];
	ElfW(Dyn) dynamic[5];
	ElfW(Sym) symbol[2];
	struct {
		uint32_t buckets, first, words, shift;
		uint64_t filter;
		uint32_t bucket, chain[1];
	} hash;
	char strings[64];
	struct dry_inspect layout;
	struct heap heap[2];
	struct cache cache[4];
	struct depot depot[2];
	uint64_t slots[3];
	struct array area[2][4];
	uint64_t heaps;
	char stopped[64];
};

static union {
	struct image image;
	unsigned char bytes[IMAGE];
} memory;
static char maps[2048];
static size_t reads; /* pieces that were asked for */

/* ---- the world of the reader --------------------------------------------------------------------- */

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long locals, const struct iovec *remote,
				unsigned long remotes, unsigned long flags);
FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
ssize_t __real_readlink(const char *path, char *text, size_t size);
ssize_t __wrap_readlink(const char *path, char *text, size_t size);

/* As the call does: whole pieces up to the first that is not all there. One local piece, as the reader has. */
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long locals, const struct iovec *remote,
				unsigned long remotes, unsigned long flags)
{
	size_t done = 0;

	(void)pid;
	EXPECT(locals == 1 && flags == 0 && remotes >= 1 && remotes <= 1024);
	for (unsigned long i = 0; i < remotes; i++) {
		uint64_t at = (uintptr_t)remote[i].iov_base;
		size_t size = remote[i].iov_len;

		reads++;
		EXPECT(done + size <= local->iov_len);
		if (at < BASE || at - BASE > IMAGE || size > IMAGE - (at - BASE))
			break;
		memcpy((char *)local->iov_base + done, memory.bytes + (at - BASE), size);
		done += size;
	}
	if (done == 0) {
		errno = EFAULT;
		return -1;
	}
	return (ssize_t)done;
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
	if (strncmp(path, "/proc/", 6) == 0 && strstr(path, "/maps"))
		return fmemopen(maps, strlen(maps), "r");
	return __real_fopen(path, mode);
}

int __wrap_open(const char *path, int flags, ...)
{
	if (strncmp(path, "/proc/", 6) != 0)
		return __real_open(path, flags, 0644);
	errno = EACCES;
	return -1;
}

ssize_t __wrap_readlink(const char *path, char *text, size_t size)
{
	if (strncmp(path, "/proc/", 6) != 0)
		return __real_readlink(path, text, size);
	EXPECT(size > 8);
	memcpy(text, "/program", 8);
	return 8;
}

void cli_error(const char *format, ...)
{
	(void)format;
}

void *cli_realloc(void *block, size_t count, size_t size)
{
	void *result;

	EXPECT(size && count < ((size_t)64 << 20) / size); /* no value from outside makes it big */
	result = realloc(block, count ? count * size : 1);
	EXPECT(result);
	return result;
}

/* ---- the image ------------------------------------------------------------------------------------- */

#define AT(member) (BASE + offsetof(struct image, member))
#define F(type, member) DRY_INSPECT_FIELD(struct type, member)

static const struct dry_inspect published = {
	.magic = DRY_INSPECT_MAGIC, .version = DRY_INSPECT_VERSION, .size = sizeof(struct dry_inspect),
	.pointer_size = sizeof(void *), .node_size = sizeof(struct node), .avail_bits = 16, .packed_bits = 16,
	.array_unit = sizeof(struct array), .depot_size = sizeof(struct depot),
	.heap_next = F(heap, next), .heap_name = F(heap, name), .heap_caches = F(heap, caches),
	.heap_slot_table = F(heap, slots), .heap_slots = F(heap, slot_count), .heap_nodes = F(heap, nodes),
	.cache_next = F(cache, next), .cache_name = F(cache, name), .cache_root = F(cache, root),
	.cache_object_size = F(cache, object_size), .cache_size = F(cache, size), .cache_num = F(cache, num),
	.cache_order = F(cache, order), .cache_limit = F(cache, limit), .cache_batchcount = F(cache, batchcount),
	.cache_flags = F(cache, flags), .cache_alloc_array = F(cache, alloc_at), .cache_free_array = F(cache, free_at),
	.cache_nodes = F(cache, node),
	.node_slabs = F(node, slabs), .node_free_objects = F(node, free_objects), .node_free_slabs = F(node, free_slabs),
	.node_shared_avail = F(node, shared), .node_slow_allocs = F(node, slow_allocs),
	.node_slow_frees = F(node, slow_frees), .node_bulk_allocs = F(node, bulk_allocs), .node_alien = F(node, alien),
	.depot_avail = F(depot, avail), .array_word = F(array, word), .array_limit = F(array, limit),
	.shared_factor = 8,
};

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

static void make_elf(struct image *m)
{
	memcpy(m->header.e_ident, ELFMAG, SELFMAG);
	m->header.e_ident[EI_CLASS] = ELFCLASS64;
	m->header.e_phoff = offsetof(struct image, segment);
	m->header.e_phentsize = sizeof(m->segment[0]);
	m->header.e_phnum = 2;
	m->segment[0] = (ElfW(Phdr)){ .p_type = PT_LOAD, .p_memsz = IMAGE };
	m->segment[1] = (ElfW(Phdr)){ .p_type = PT_DYNAMIC, .p_vaddr = offsetof(struct image, dynamic),
				      .p_memsz = sizeof(m->dynamic) };
	m->dynamic[0] = (ElfW(Dyn)){ DT_SYMTAB, { offsetof(struct image, symbol) } };
	m->dynamic[1] = (ElfW(Dyn)){ DT_STRTAB, { AT(strings) } };
	m->dynamic[2] = (ElfW(Dyn)){ DT_GNU_HASH, { AT(hash) } };
	memcpy(m->strings + 1, DRY_INSPECT_SYMBOL, sizeof(DRY_INSPECT_SYMBOL));
	m->symbol[1] = (ElfW(Sym)){ .st_name = 1, .st_shndx = 1, .st_value = offsetof(struct image, layout) };
	m->hash.buckets = m->hash.first = m->hash.words = m->hash.bucket = 1;
	m->hash.chain[0] = hash_of(DRY_INSPECT_SYMBOL) | 1;
}

static void make_image(void)
{
	struct image *m = &memory.image;

	memset(&memory, 0, sizeof(memory));
	make_elf(m);
	m->layout = published;
	m->layout.heaps = (void *)(uintptr_t)AT(heaps);
	m->layout.default_heap = (void *)(uintptr_t)AT(heap[0]);
	m->layout.stopped_area = (void *)(uintptr_t)AT(stopped);
	m->heaps = AT(heap[0]);
	m->heap[0] = (struct heap){ "main", AT(heap[1]), AT(cache[0]), AT(slots), 3, 2 };
	m->heap[1] = (struct heap){ "second", 0, AT(cache[3]), 0, 0, 1 };
	m->slots[0] = AT(area[0]);
	m->slots[1] = AT(stopped);
	m->slots[2] = AT(area[1]);
	for (unsigned i = 0; i < 4; i++) {
		struct cache *cache = &m->cache[i];

		*cache = (struct cache){ .name = "cache-", .next = i < 2 ? AT(cache[1]) + i * sizeof(*cache) : 0,
					 .root = i == 2 ? AT(cache[0]) : AT(cache[0]) + i * sizeof(*cache),
					 .object_size = 30, .size = 32, .num = 100, .order = 2, .limit = 20, .batchcount = 10,
					 .alloc_at = 1, .free_at = i == 1 ? 2 : 1 };
		cache->name[6] = (char)('a' + i);
		cache->node[0] = (struct node){ 15, 150, 1, 30, i == 0 ? AT(depot) : 0, 7, 8, 9 };
		m->area[i / 2][i].word = i | i << 16;
	}
	m->depot[1].avail = 9;
}

/* Damages up to one of length 0. */
static void damage(struct input *in)
{
	for (unsigned n = 0; n < 64; n++) {
		size_t at = input_16(in) % IMAGE, bytes = input_8(in) % 17;

		if (bytes == 0)
			return;
		while (bytes-- && at < sizeof(struct image))
			memory.bytes[at++] = (unsigned char)input_8(in);
	}
}

static void texts_are_clean(const char *text)
{
	EXPECT(strnlen(text, WALK_NAME) < WALK_NAME);
	for (; *text; text++)
		EXPECT(*text > ' ' && *text <= '~');
}

static void look(struct target *target)
{
	struct dry_inspect layout;
	struct walk walk;

	if (target_find_layout(target, &layout) != TARGET_OK)
		return;
	walk_process(target, &layout, &walk);
	EXPECT(walk.count <= 5u * 65536);
	for (size_t i = 0; i < walk.count; i++) {
		texts_are_clean(walk.caches[i].heap);
		texts_are_clean(walk.caches[i].name);
		texts_are_clean(walk.caches[i].alias_of);
		EXPECT(walk.caches[i].active_objs <= walk.caches[i].num_objs);
		EXPECT(walk.caches[i].active_slabs <= walk.caches[i].num_slabs);
	}
	walk_free(&walk);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char whole[] = "10000-14000 r--p 00000000 08:01 1234 /program\n";
	struct input in = { data, data + size };
	struct target target;
	size_t n = 0;

	_Static_assert(sizeof(struct image) <= IMAGE, "the image fits");
	make_image();
	damage(&in);
	while (input_more(&in) && n < sizeof(maps) - 1)
		maps[n++] = (char)input_8(&in);
	maps[n] = '\0';
	if (n < 2)
		memcpy(maps, whole, sizeof(whole));
	reads = 0;
	if (target_open(&target, getpid()) == TARGET_OK)
		look(&target);
	target_close(&target);
	EXPECT(reads < 60u << 20);
	return 0;
}

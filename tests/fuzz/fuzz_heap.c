/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The public header as a stream of calls on one heap: caches of every kind, objects singly and in bulk,
 * general blocks, housekeeping, requests for memory that are refused, and wrong calls of the
 * kinds that are always found out. Every block carries a pattern from its hand-out to its free;
 * counts are compared with the target's own, the heap's equations are verified, and a line
 * of report comes exactly where something was wrong.
 */
#include <sys/mman.h>

#include "base/fatal.h"
#include "heap_state.h"
#include "port/annotate.h"

#define GIVEN ((size_t)4 << 20)
#define MARK  0x9e /* what a constructor writes */

struct heap_state s;

static void construct(void *object, void *arg)
{
	(void)arg;
	faults_place();
	*(unsigned char *)object = MARK; /* no object is smaller */
}

/* ---- grace periods -------------------------------------------------------------------- */

static void wait_grace(void *arg, struct dry_grace_head *head, void (*func)(struct dry_grace_head *head))
{
	struct heap_state *state = arg;

	head->func = func;
	head->opaque[0] = state->waiting;
	state->waiting = head;
}

static void pass_grace(void *arg)
{
	struct heap_state *state = arg;

	while (state->waiting) {
		struct dry_grace_head *head = state->waiting;

		state->waiting = head->opaque[0];
		head->func(head);
	}
}

static const struct dry_grace grace = { wait_grace, pass_grace, &s };

/* ---- counts ---------------------------------------------------------------------------- */

size_t held_of(const dry_cache *root)
{
	size_t held = 0;

	for (unsigned i = 0; i < OBJECTS; i++)
		held += s.object[i].at && s.cache[s.object[i].cache]->root == root;
	return held;
}

static void check_all(void)
{
	struct dry_cache_stats stats;
	struct dry_heap_stats heap;

	EXPECT(dry_heap_check(s.heap) == 0);
	EXPECT(dry_extents_check(&s.heap->extents) == NULL);
	EXPECT(dry_heap_stats(s.heap, &heap) == 0);
	for (int i = 0; i < CACHES; i++) {
		if (!s.cache[i])
			continue;
		EXPECT(dry_cache_stats(s.cache[i], &stats) == 0);
		EXPECT(stats.active_objects == held_of(s.cache[i]->root));
		EXPECT(stats.objects == stats.slabs * stats.objects_per_slab);
		EXPECT(stats.object_size == s.attr[i].size);
		EXPECT(stats.slow_allocs <= stats.allocs);
	}
	quiet();
}

/* ---- caches ---------------------------------------------------------------------------- */

int pick_cache(void)
{
	int first = (int)(input_8(&s.in) % CACHES);

	for (int i = 0; i < CACHES; i++)
		if (s.cache[(first + i) % CACHES])
			return (first + i) % CACHES;
	return -1;
}

static void op_create(void)
{
	char name[8] = "cache-";
	unsigned which = input_8(&s.in), i = which % CACHES, shape = input_8(&s.in), align = input_8(&s.in);
	struct dry_cache_attr attr = { .name = name, .size = input_size(&s.in, 17) };

	name[6] = (char)('a' + i);
	if (s.cache[i])
		return;
	attr.flags = (shape & 7) << 8 | (shape & 8 ? DRY_CACHE_HWALIGN : 0) | (shape & 16 ? DRY_CACHE_NO_MERGE : 0) |
		     (shape & 32 ? DRY_CACHE_TYPESAFE_BY_RCU : 0) | (shape & 64 ? DRY_CACHE_POISON : 0);
	/* rarely: variants to measure against, and flags that there are not */
	if (which >= 192)
		attr.flags |= (which & 15) << 12;
	attr.ctor = shape & 128 ? construct : NULL;
	attr.align = align & 15 ? (size_t)1 << (align & 15) : 0;
	attr.limit = align >> 4 ? 1u << (align >> 4 & 7) : 0;
	if ((align & 0x8f) == 0x8f) /* also such that may not be */
		attr.align += 1;
	s.cache[i] = dry_cache_create(s.heap, align == 0x7f ? NULL : &attr);
	if (!s.cache[i])
		EXPECT(errno == EINVAL || errno == ENOMEM);
	s.attr[i] = attr;
	quiet();
}

static void got_object(unsigned i, int cache, void *at)
{
	const struct dry_cache_attr *attr = &s.attr[cache];

	s.object[i] = (struct object){ at, cache };
	EXPECT((uintptr_t)at % (attr->align ? attr->align : 8) == 0);
	EXPECT(!attr->ctor || s.object[i].at[0] == MARK);
	paint(at, attr->size);
}

/* Ready to be freed: what is in it is what was written to it. */
void *give_object(unsigned i)
{
	struct object *object = &s.object[i];
	unsigned char *at = object->at;

	painted(at, s.attr[object->cache].size);
	if (s.attr[object->cache].ctor)
		*at = MARK;
	object->at = NULL;
	return at;
}

static void op_alloc(void)
{
	int cache = pick_cache();
	unsigned i = input_16(&s.in), count = i >> 10;
	void *at;

	if (cache >= 0 && s.cache[cache]->root->ctor) {
		errno = 0;
		EXPECT(!dry_cache_zalloc(s.cache[cache]) && errno == EINVAL);
	}
	for (i %= OBJECTS; cache >= 0 && i < OBJECTS && count-- + 1; i++) {
		if (s.object[i].at)
			continue;
		errno = 0;
		at = i & 1 && !s.cache[cache]->root->ctor ? dry_cache_zalloc(s.cache[cache]) : dry_cache_alloc(s.cache[cache]);
		no_memory(at);
		for (size_t b = 0; at && i & 1 && !s.cache[cache]->root->ctor && b < s.attr[cache].size; b++)
			EXPECT(((unsigned char *)at)[b] == 0);
		if (at)
			got_object(i, cache, at);
	}
	quiet();
}

static void op_free(void)
{
	unsigned i = input_16(&s.in), count = i >> 10;

	for (i %= OBJECTS; i < OBJECTS && count-- + 1; i++) {
		if (!s.object[i].at)
			continue;
		errno = 77;
		dry_cache_free(s.cache[s.object[i].cache], give_object(i));
		EXPECT(errno == 77);
	}
	quiet();
}

static void op_bulk(void)
{
	void *objects[OBJECTS];
	int cache = pick_cache();
	size_t want = input_16(&s.in) % OBJECTS, n = 0, got, next = 0;

	for (unsigned i = 0; i < OBJECTS; i++)
		n += !s.object[i].at;
	if (cache < 0 || (want = want < n ? want : n) == 0)
		return;
	errno = 0;
	got = dry_cache_alloc_bulk(s.cache[cache], want, objects);
	EXPECT(got == want || (got == 0 && errno == ENOMEM));
	for (unsigned i = 0; next < got; i++)
		if (!s.object[i].at)
			got_object(i, cache, objects[next++]);
	quiet();
}

static void op_free_bulk(void)
{
	void *objects[OBJECTS];
	int cache = pick_cache();
	size_t want = input_16(&s.in) % OBJECTS, n = 0;

	for (unsigned i = 0; cache >= 0 && i < OBJECTS && n < want; i++)
		if (s.object[i].at && s.object[i].cache == cache)
			objects[n++] = give_object(i);
	if (cache >= 0)
		dry_cache_free_bulk(s.cache[cache], n, objects);
	quiet();
}

/* Its struct is free, but was not reused yet: what is done with it is found out. */
static void use_after_destroy(dry_cache *cache)
{
	if (dry_annotate)
		return; /* for a memory checker it is no memory any more */
	EXPECT(!dry_cache_alloc(cache));
	due("cache already destroyed");
	dry_cache_free(cache, &s);
	due("cache already destroyed");
	EXPECT(dry_cache_destroy(cache) == -EINVAL);
	due("cache already destroyed");
}

static void op_destroy(void)
{
	int cache = pick_cache();
	const dry_cache *root;
	unsigned other = 0;
	int result;

	if (cache < 0)
		return;
	root = s.cache[cache]->root;
	for (int i = 0; i < CACHES; i++)
		other += s.cache[i] && i != cache && s.cache[i]->root == root;
	/* An alias can go while objects are out; they then belong to those that are left. */
	for (unsigned i = 0; i < OBJECTS; i++)
		if (s.object[i].at && s.object[i].cache == cache && other)
			dry_cache_free(s.cache[cache], give_object(i));
	result = dry_cache_destroy(s.cache[cache]);
	if (!other && held_of(root)) {
		EXPECT(result == -EBUSY);
		due("objects still allocated at destroy");
		return;
	}
	EXPECT(result == 0);
	if (!other && root == s.cache[cache])
		use_after_destroy(s.cache[cache]);
	s.cache[cache] = NULL;
	quiet();
}

static void op_prefill(void)
{
	int cache = pick_cache();
	size_t n = input_size(&s.in, 10);

	if (cache < 0)
		return;
	if (dry_cache_prefill(s.cache[cache], n) == 0) {
		uint64_t armed = faults.fail;

		/* Of what was promised: as many as there is room to keep. */
		faults.fail = UINT64_MAX;
		for (unsigned i = 0; i < OBJECTS && n; i++) {
			void *at = s.object[i].at ? NULL : dry_cache_alloc(s.cache[cache]);

			EXPECT(at || s.object[i].at);
			n -= at != NULL;
			if (at)
				got_object(i, cache, at);
		}
		faults.fail = armed;
	}
	quiet();
}

/* ---- housekeeping -------------------------------------------------------------------------- */

static size_t listed;

static void count_text(void *arg, const char *text, size_t bytes)
{
	(void)arg;
	for (size_t i = 0; i < bytes; i++)
		EXPECT((text[i] >= ' ' && text[i] <= '~') || text[i] == '\n');
	listed += bytes;
}

static int visit(dry_cache *cache, void *arg)
{
	EXPECT(arg == &s && dry_heap_of(cache->caches) == s.heap);
	faults_place();
	return 0;
}

static void op_keep(void)
{
	unsigned how = input_8(&s.in);
	int cache = pick_cache();

	if (how >= 0xf0) {
		op_rare(how);
		return;
	}
	switch (how % 8) {
	case 0:
		dry_heap_reap(s.heap);
		break;
	case 1:
		dry_heap_trim(s.heap);
		break;
	case 2:
		pass_grace(&s);
		break;
	case 3:
		if (cache >= 0)
			dry_cache_shrink(s.cache[cache]);
		break;
	case 4:
		listed = 0;
		dry_heap_slabinfo(s.heap, count_text, NULL);
		EXPECT(listed > 100);
		break;
	case 5:
		s.walks = true;
		EXPECT(dry_heap_for_each_cache(s.heap, visit, &s) == 0);
		s.walks = false;
		break;
	default:
		check_all();
	}
	quiet();
}

static void op_world(void)
{
	unsigned how = input_8(&s.in);

	if (how & 1)
		faults.node = how >> 1 & 7;
	else if (how & 2)
		faults.fail = input_64(&s.in);
	else
		faults.fail = 0;
}

/* ---- a memory checker: AddressSanitizer where there is one; else one that counts ------------------- */

static size_t watched; /* blocks that the program has of the heap at hand */

/* The other is the process's own, for what libc makes for a thread. */
static bool is_ours(const void *heap)
{
	EXPECT(heap == &s.heap->caches || heap == &dry_main_heap.caches);
	return heap == &s.heap->caches;
}

static void on_given(const void *heap, void *object, size_t size, bool defined)
{
	(void)defined;
	EXPECT(object && size);
	watched += is_ours(heap);
}

static void on_taken(const void *heap, void *object, size_t size)
{
	bool ours = is_ours(heap);

	EXPECT(object && size && (!ours || watched));
	watched -= ours;
}

static void on_cut(const void *heap, void *object, size_t old, size_t size)
{
	is_ours(heap);
	EXPECT(object && size <= old);
}

/* It knows no better. */
static size_t on_size(const void *object, size_t room)
{
	(void)object;
	return room;
}

static void on_range(void *memory, size_t bytes)
{
	EXPECT(memory || !bytes);
}

static void on_heap(const void *heap, bool begins)
{
	EXPECT(heap);
	watched = begins ? 0 : watched;
}

static void on_space(void *memory, size_t bytes, bool begins)
{
	(void)begins;
	on_range(memory, bytes);
}

static void annotate(bool wanted)
{
	static const struct dry_annotations counting = { on_given, on_taken, on_cut, on_size, on_range, on_range, on_heap,
							 on_space };
	const struct dry_annotations *there = dry_port_annotations();

	dry_annotate = !wanted ? NULL : there ? there : &counting;
	watched = 0;
}

/* ---- the whole --------------------------------------------------------------------------------- */

static void *given;

static bool make_heap(void)
{
	unsigned kind = input_8(&s.in), nodes = input_8(&s.in);
	static const size_t pages[] = { 0, 4096, 16384, 65536 };
	struct dry_heap_attr attr = { .name = "fuzz", .page_size = pages[kind & 3], .grace = kind & 4 ? &grace : NULL };

	attr.nodes = nodes & 7;
	faults.nodes = nodes >> 3 & 7;
	faults.node = 0;
	if ((kind & 0x18) == 0x18) {
		/* a fixed piece of memory, whatever lies in it; any start and end */
		memset(given, 0xee, 65536);
		attr.memory = (char *)given + (kind >> 5);
		attr.memory_size = GIVEN - (size_t)(kind >> 5) * 300000;
	} else if ((kind & 0x18) == 0x10) {
		attr.limit = (size_t)1 << (18 + (kind >> 5));
	}
	if (nodes == 0xfe)
		attr.nodes = 9;
	else if (nodes == 0xfd)
		attr.memory_size = 100000;
	else if (nodes == 0xfc)
		attr.page_size = 8192;
	else if (nodes == 0xfa) /* with little address space */
		faults.room = (size_t)1 << (20 + (kind >> 5) * 2);
	else if (nodes >= 0xf0) /* without all the memory that it asks for */
		faults.fail = UINT64_C(1) << (nodes & 7);
	annotate(kind == 0xff || (nodes & 0xc0) == 0x80);
	errno = 0;
	s.heap = dry_heap_create(nodes == 0xfb ? NULL : &attr);
	faults.fail = faults.room = 0;
	if (!s.heap)
		EXPECT(errno == ENOMEM || errno == EINVAL);
	quiet();
	return s.heap != NULL;
}

static void end_heap(bool in_order)
{
	faults.fail = 0;
	EXPECT(dry_heap_destroy(NULL) == -EINVAL && dry_heap_destroy(dry_heap_default()) == -EINVAL);
	dry_free(s.heap, NULL);
	EXPECT(dry_usable_size(s.heap, NULL) == 0 && dry_cache_destroy(NULL) == 0);
	if (!in_order) { /* everything still there goes with the heap */
		EXPECT(dry_heap_destroy(s.heap) == 0);
		return;
	}
	for (unsigned i = 0; i < OBJECTS; i++)
		if (s.object[i].at)
			dry_cache_free(s.cache[s.object[i].cache], give_object(i));
	for (unsigned i = 0; i < BLOCKS; i++) {
		if (s.block[i].at)
			painted(s.block[i].at, s.block[i].size);
		dry_free(s.heap, s.block[i].at);
	}
	check_all();
	for (int i = 0; i < CACHES; i++)
		EXPECT(dry_cache_destroy(s.cache[i]) == 0);
	EXPECT(dry_heap_check(s.heap) == 0);
	EXPECT(dry_heap_destroy(s.heap) == 0);
	EXPECT(!s.waiting);
}

static void set_up(void)
{
	if (given)
		return;
	given = mmap(NULL, GIVEN + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(given != MAP_FAILED);
	dry_fatal_aborts = false;
	dry_heap_default();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const ops[])(void) = { op_create, op_alloc,      op_alloc,  op_free,   op_free, op_bulk,
					     op_block,  op_block_free, op_resize, op_wrong,  op_keep, op_keep,
					     op_world,  op_destroy,    op_prefill, op_free_bulk };
	unsigned steps = 0, last;

	set_up();
	memset(&s, 0, sizeof(s));
	memset(&faults, 0, sizeof(faults));
	faults.catch_lines = true;
	s.in = (struct input){ data, data + size };
	last = input_8(&s.in);
	if (make_heap()) {
		while (input_more(&s.in) && steps++ < 2000) {
			ops[input_8(&s.in) % 16]();
			end_of_rare();
		}
		faults_meanwhile(NULL, 0, NULL);
		end_heap(last & 1);
	}
	quiet();
	dry_annotate = NULL;
	memset(&faults, 0, sizeof(faults));
	return 0;
}

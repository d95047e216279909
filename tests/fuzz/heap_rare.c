/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The target `heap`: crowds of big blocks, errors that only the slabs see, and what another thread does in the middle of a call. */
#include "child.h"
#include "heap_state.h"
#include "malloc/print.h"

/* ---- big blocks ------------------------------------------------------------------------- */

/* So many at once that their registry grows; freed in another order. */
static void crowd(void)
{
	unsigned count = 1 + input_8(&s.in), stride = 1 + input_8(&s.in), n = 0;
	unsigned char *at[256];

	for (; n < count; n++) {
		at[n] = dry_alloc(s.heap, ((size_t)1 << 20) + 1 + (size_t)(n % 7) * 5000);
		if (!at[n])
			break;
		*at[n] = (unsigned char)n;
	}
	EXPECT(dry_extents_check(&s.heap->extents) == NULL);
	while (n % stride == 0 && stride > 1)
		stride--;
	for (unsigned step = 0, i = 0; step < n; step++, i = (i + stride) % n) {
		while (!at[i])
			i = (i + 1) % n;
		EXPECT(*at[i] == (unsigned char)i && dry_usable_size(s.heap, at[i]) > (size_t)1 << 20);
		dry_free(s.heap, at[i]);
		at[i] = NULL;
	}
	EXPECT(dry_extents_check(&s.heap->extents) == NULL);
}

/* Bigger, alone or together, than all that is kept for reuse. */
static void huge(void)
{
	size_t size = ((size_t)33 + input_8(&s.in) % 64) << 20;
	unsigned char *one = dry_alloc(s.heap, size), *two = dry_alloc(s.heap, size);

	if (two)
		two[size - 1] = 2;
	if (one)
		one[size - 1] = 1;
	one = one ? dry_realloc(s.heap, one, size) : NULL;
	EXPECT(!one || one[size - 1] == 1);
	dry_free(s.heap, one);
	EXPECT(!two || two[size - 1] == 2);
	dry_free(s.heap, two);
	EXPECT(dry_extents_check(&s.heap->extents) == NULL);
}

/* ---- errors that pass into an array, and are found on the way to the slab ----------------- */

static void late_error(void)
{
	unsigned how = input_8(&s.in), i = input_16(&s.in) % OBJECTS;
	unsigned char *at = s.object[i].at;
	dry_cache *cache = at ? s.cache[s.object[i].cache] : NULL;

	if (!at || cache->root->debug)
		return;
	faults.no_fence = 0;
	if (how & 1) {
		dry_cache_free(cache, give_object(i));
		dry_cache_free(cache, at);
	} else {
		if (s.attr[s.object[i].cache].size < 2)
			return;
		dry_cache_free(cache, at + 1);
	}
	dry_cache_shrink(cache);
	s.expected++;
	quiet();
	EXPECT(strstr(faults.line, how & 1 ? "double free" : "middle") || (how & 1 && strstr(faults.line, "freed twice")));
}

/* ---- a process that has no memory for its default heap ------------------------------------------ */

static void without_default(void)
{
	static struct dry_heap kept;
	struct dry_cache_attr attr = { .name = "none", .size = 8 };
	struct dry_heap_stats stats;

	faults_meanwhile(NULL, 0, NULL); /* a fork would wait for this heap to be made */
	kept = dry_main_heap;
	dry_main_heap.ready = false;
	struct dry_meta *meta = &dry_main_heap.caches.backing.meta;
	for (unsigned class = 0; class < DRY_META_CLASSES; class ++)
		meta->partial[class] = DRY_PAGE_NIL; /* no memory for metadata, either */
	meta->own.limit_pages = meta->own.used;
	faults.fail = UINT64_MAX;
	errno = 0;
	EXPECT(!dry_alloc(NULL, 100) && errno == ENOMEM);
	errno = 0;
	EXPECT(!dry_cache_create(NULL, &attr) && errno == ENOMEM);
	EXPECT(dry_heap_trim(NULL) == 0 && dry_heap_check(NULL) == 0);
	EXPECT(dry_heap_for_each_cache(NULL, NULL, NULL) == 0 && dry_heap_stats(NULL, &stats) != 0);
	dry_heap_reap(NULL);
	dry_print_stats();
	faults.fail = 0;
	dry_main_heap = kept;
	quiet();
}

/* ---- another thread ------------------------------------------------------------------------- */

static struct {
	unsigned how;
	void *block;
	bool bad;
} other;

static void other_alloc(void)
{
	other.block = dry_alloc(s.heap, (size_t)1 << (other.how & 31) % 23);
}

static void other_trim(void)
{
	dry_heap_trim(s.heap);
}

static void other_reap(void)
{
	dry_heap_reap(s.heap);
}

/* All that the target knows is done before the first call: in one the caller may be let go. */
static void other_free(void)
{
	void *objects[64];
	int of = (int)(other.how % CACHES);
	dry_cache *cache = s.cache[of];
	unsigned n = 0;

	for (unsigned i = 0; i < OBJECTS && n < 64; i++)
		if (s.object[i].at && s.object[i].cache == of)
			objects[n++] = give_object(i);
	for (unsigned i = 0; i < n; i++)
		dry_cache_free(cache, objects[i]);
}

static void other_destroy(void)
{
	int of = (int)(other.how % CACHES);

	/* Nobody else may be using it. */
	if (!s.walks || !s.cache[of] || held_of(s.cache[of]->root))
		return;
	other.bad = dry_cache_destroy(s.cache[of]) != 0;
	s.cache[of] = NULL;
}

static void check_copy(void)
{
	void *block;

	faults.fail = 0;
	EXPECT(dry_heap_check(s.heap) == 0);
	block = dry_alloc(s.heap, 5000);
	dry_free(s.heap, block);
	dry_heap_trim(s.heap);
	EXPECT(dry_heap_check(s.heap) == 0);
}

/* With all that the first thread is in the middle of. */
static void other_fork(void)
{
	other.bad = !in_child(check_copy);
}

static void other_thread(void)
{
	static void (*const bugs[])(void) = { other_alloc, other_trim, other_free,    other_free,
					       other_fork,  other_reap, other_destroy, other_alloc };
	unsigned how = input_8(&s.in), after = input_8(&s.in) % 16;

	end_of_rare();
	other.how = how >> 3;
	faults_meanwhile(s.heap, after, bugs[how & 7]);
}

/* After each operation. */
void end_of_rare(void)
{
	if (!faults_meanwhile_join())
		return;
	EXPECT(!other.bad);
	dry_free(s.heap, other.block);
	other.block = NULL;
}

void op_rare(unsigned what)
{
	switch (what % 8) {
	case 1:
		crowd();
		break;
	case 2:
		huge();
		break;
	case 3:
		other_thread();
		break;
	case 4:
		faults.no_fence = input_8(&s.in) % 16;
		break;
	case 5:
		late_error();
		break;
	case 7: /* rarer still: it takes a process */
		if (input_8(&s.in) < 8)
			EXPECT(in_child(without_default));
		break;
	default:
		op_damage();
	}
	quiet();
}

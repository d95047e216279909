/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * wcet SEQUENCE POOL_BYTES [ROUNDS [SEED]]: instructions of each call over one adversarial sequence.
 *
 * Lines: MACHINE,ALLOCATOR,POOL,SEQUENCE,CALL,COUNT,P50,P99,P99.9,MAX. Calls: get, put (typed objects), alloc, free,
 * resize (of blocks up to 512 bytes: it copies), aligned; typed_pair and block_pair are what an object
 * cost in all: its allocation and its free. pair: a typed object is allocated and freed at once. Calls that
 * fail for want of memory count, too.
 *
 * steady    typed objects at random, half of the pool full, and a pair after each call: what programs do most of the time
 * random    every call at random, at a fill that makes some fail
 * boundary  to and fro around every count of live objects: slabs come and go, runs split and join
 * exhaust   all of the pool as one size, freed in four orders, then as another size
 * runs      blocks of pages: every second one freed, larger ones asked for, all joined
 * search    climbs: a list of calls after which one call was dear is kept and varied
 */
#include <string.h>

#include "counter.h"
#include "workload.h"

enum { GET, PUT, ALLOC, FREE, RESIZE, ALIGNED, TYPED_PAIR, BLOCK_PAIR, PAIR, CALLS };

static const char *const call_names[CALLS] = { "get",	  "put",	"alloc",      "free", "resize",
					       "aligned", "typed_pair", "block_pair", "pair" };

/* Exact below 2048, then 64 buckets a doubling. */
enum { EXACT = 2048, DOUBLINGS = 21, BUCKETS = EXACT + 64 * DOUBLINGS };

static struct histogram {
	uint32_t bucket[BUCKETS], count, most;
} histograms[CALLS];

/* A live object. size of an aligned block: its alignment. */
struct slot {
	void *at;
	uint32_t size, cost;
	unsigned kind; /* below KINDS, or one of the next two */
};

enum { KINDS = 4, BLOCK = KINDS, ALIGNED_BLOCK, SLOTS = 16384, SEARCH_CALLS = 48 };

static struct kind kinds[KINDS] = {
	{ .name = "wcet-16", .size = 16, .align = 8 },
	{ .name = "wcet-24", .size = 24, .align = 8 },
	{ .name = "wcet-100", .size = 100, .align = 4 },
	{ .name = "wcet-384", .size = 384, .align = 8 },
};
static struct slot slots[SLOTS];
static size_t pool_size;
static uint32_t dearest; /* call of the current trial of the search */

static unsigned bucket_of(uint32_t n)
{
	unsigned doubling = 0;

	if (n < EXACT)
		return n;
	while (n >> doubling >= 2 * EXACT)
		doubling++;
	return EXACT + 64 * doubling + ((n >> doubling) - EXACT) / (EXACT / 64);
}

static uint32_t value_of(unsigned bucket)
{
	unsigned doubling = (bucket - EXACT) / 64;

	return bucket < EXACT ? bucket : (EXACT + (bucket - EXACT) % 64 * (EXACT / 64)) << doubling;
}

static void note(unsigned call, uint32_t n)
{
	struct histogram *h = &histograms[call];

	h->bucket[bucket_of(n)]++;
	h->count++;
	if (n > h->most)
		h->most = n;
	if (call < TYPED_PAIR && n > dearest)
		dearest = n;
}

/* Per mille of 1000: 500 is the median. */
static uint32_t percentile(const struct histogram *h, unsigned permille)
{
	uint64_t rank = ((uint64_t)h->count * permille + 999) / 1000, seen = 0;

	for (unsigned i = 0; i < BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen >= rank && seen)
			return value_of(i) < h->most ? value_of(i) : h->most;
	}
	return h->most;
}

/*
 * The calls, each in a function of its own, in which nothing but the call and its arguments lies between the two looks at
 * the counter.
 */
#define TIMED static __attribute__((noinline)) uint32_t

TIMED timed_get(struct kind *kind, void **object)
{
	uint32_t start = counter_begin();

	*object = subject_get(kind);
	return counter_end(start);
}

TIMED timed_put(struct kind *kind, void *object)
{
	uint32_t start = counter_begin();

	subject_put(kind, object);
	return counter_end(start);
}

TIMED timed_alloc(size_t size, void **block)
{
	uint32_t start = counter_begin();

	*block = subject_alloc(size);
	return counter_end(start);
}

TIMED timed_free(void *block, size_t size)
{
	uint32_t start = counter_begin();

	subject_free(block, size);
	return counter_end(start);
}

TIMED timed_resize(void **block, size_t old_size, size_t size)
{
	uint32_t start = counter_begin();
	void *moved = subject_resize(*block, old_size, size);
	uint32_t cost = counter_end(start);

	*block = moved;
	return cost;
}

TIMED timed_aligned(size_t align, size_t size, void **block)
{
	uint32_t start = counter_begin();

	*block = subject_aligned(align, size);
	return counter_end(start);
}

TIMED timed_free_aligned(void *block, size_t align)
{
	uint32_t start = counter_begin();

	subject_free_aligned(block, align);
	return counter_end(start);
}

static bool take(struct slot *slot, unsigned kind, uint32_t size)
{
	void *object;
	uint32_t cost;

	if (kind < KINDS) {
		cost = timed_get(&kinds[kind], &object);
		size = (uint32_t)kinds[kind].size;
	} else {
		cost = timed_alloc(size, &object);
	}
	note(kind < KINDS ? GET : ALLOC, cost);
	*slot = (struct slot){ object, size, cost, kind };
	return object != NULL;
}

static void drop(struct slot *slot)
{
	uint32_t cost;

	if (!slot->at)
		return;
	if (slot->kind < KINDS)
		cost = timed_put(&kinds[slot->kind], slot->at);
	else if (slot->kind == BLOCK)
		cost = timed_free(slot->at, slot->size);
	else
		cost = timed_free_aligned(slot->at, slot->size);
	note(slot->kind < KINDS ? PUT : FREE, cost);
	if (slot->cost)
		note(slot->kind < KINDS ? TYPED_PAIR : BLOCK_PAIR, cost + slot->cost);
	slot->at = NULL;
}

static void resize(struct slot *slot, uint32_t size)
{
	void *object = slot->at;

	note(RESIZE, timed_resize(&object, slot->size, size));
	if (object)
		*slot = (struct slot){ object, size, 0, BLOCK };
}

static bool take_aligned(struct slot *slot, size_t align, uint32_t size)
{
	void *object;

	note(ALIGNED, timed_aligned(align, size, &object));
	*slot = (struct slot){ object, (uint32_t)align, 0, ALIGNED_BLOCK };
	return object != NULL;
}

static void pair(unsigned kind)
{
	void *object;
	uint32_t cost = timed_get(&kinds[kind], &object);

	if (object)
		note(PAIR, cost + timed_put(&kinds[kind], object));
}

static void drop_all(void)
{
	for (size_t i = 0; i < SLOTS; i++)
		drop(&slots[i]);
}

static uint32_t any_size(struct dice *dice)
{
	unsigned kind = dice_below(dice, 16);

	if (kind == 0)
		return 1 + dice_below(dice, (uint32_t)pool_size / 16);
	return 1 + dice_below(dice, kind < 4 ? 2048 : 256);
}

/* One call at random, on one of the first n slots. */
static void any_call(struct dice *dice, uint32_t n)
{
	struct slot *slot = &slots[dice_below(dice, n)];
	uint32_t choice = dice_below(dice, 100);

	if (slot->at && slot->kind == BLOCK && slot->size <= 512 && choice < 10)
		resize(slot, 1 + dice_below(dice, 512));
	else if (slot->at)
		drop(slot);
	else if (choice < 4)
		take_aligned(slot, (size_t)8 << dice_below(dice, 6), 1 + dice_below(dice, 300));
	else if (choice < 50)
		take(slot, BLOCK, any_size(dice));
	else
		take(slot, choice % KINDS, 0);
}

static uint32_t slots_for_pool(void)
{
	uint32_t n = (uint32_t)(pool_size / 128);

	return n > SLOTS ? SLOTS : n;
}

static void run_random(unsigned rounds, struct dice *dice)
{
	for (unsigned i = 0; i < rounds * 1000; i++)
		any_call(dice, slots_for_pool());
	drop_all();
}

static void run_steady(unsigned rounds, struct dice *dice)
{
	uint32_t n = (uint32_t)(pool_size / 131); /* half of them are live, and the mean of the kinds is 131 bytes */

	for (unsigned i = 0; i < rounds * 1000; i++) {
		struct slot *slot = &slots[dice_below(dice, n > SLOTS ? SLOTS : n)];

		if (slot->at)
			drop(slot);
		else
			take(slot, dice_below(dice, KINDS), 0);
		pair(dice_below(dice, KINDS));
	}
	drop_all();
}

static void run_boundary(unsigned rounds, struct dice *dice)
{
	for (unsigned kind = 0; kind <= KINDS; kind++) {
		uint32_t size = kind < KINDS ? 0 : 1 + dice_below(dice, 512), live = 0;
		uint32_t most = rounds * 40 < SLOTS - 4 ? rounds * 40 : SLOTS - 4;

		while (live < most && take(&slots[live], kind, size)) {
			for (unsigned i = 0; i < 3; i++) {
				drop(&slots[live]);
				take(&slots[live], kind, size);
			}
			live++;
		}
		while (live > 0) {
			drop(&slots[--live]);
			take(&slots[live], kind, size);
			drop(&slots[live]);
		}
	}
}

/* Frees the first n slots in one of four orders. */
static void drop_in_order(unsigned order, size_t n, struct dice *dice)
{
	for (size_t i = 0; i < n; i++) {
		size_t pick = i;

		if (order == 1)
			pick = n - 1 - i;
		else if (order == 2)
			pick = i < (n + 1) / 2 ? 2 * i : 2 * (i - (n + 1) / 2) + 1;
		else if (order == 3)
			pick = dice_below(dice, (uint32_t)n); /* the rest below */
		drop(&slots[pick]);
	}
	for (size_t i = 0; i < n; i++)
		drop(&slots[i]);
}

static void run_exhaust(unsigned rounds, struct dice *dice)
{
	for (unsigned round = 0; round < rounds / 4 + 1; round++) {
		unsigned kind = round % (KINDS + 1);
		uint32_t size = kind < KINDS ? 0 : 1 + dice_below(dice, 1024);
		size_t n = 0;

		while (n < SLOTS && take(&slots[n], kind, size))
			n++;
		if (n == SLOTS) /* no room to note more: this pool is not exhausted, but well filled */
			n--;
		for (int i = 0; i < 8; i++) /* exhausted: each call fails or takes the last bit */
			if (take(&slots[n], BLOCK, any_size(dice)))
				drop(&slots[n]);
		drop_in_order(round / (KINDS + 1) % 4, n, dice);
	}
	drop_all();
}

static void run_runs(unsigned rounds, struct dice *dice)
{
	for (unsigned round = 0; round < rounds; round++) {
		uint32_t unit = 512u << dice_below(dice, 4);
		size_t n = 0, more;

		while (n < SLOTS / 2 && n < 400 && take(&slots[n], BLOCK, unit + dice_below(dice, unit)))
			n++;
		for (size_t i = 0; i < n; i += 2)
			drop(&slots[i]);
		for (more = n; more < n + 40; more++)
			take(&slots[more], BLOCK, 2 * unit + dice_below(dice, 4 * unit));
		for (size_t i = 0; i < n / 2; i += 2)
			take(&slots[i], dice_below(dice, KINDS + 1), 1 + dice_below(dice, unit));
		drop_in_order(round % 4, more, dice);
	}
}

/* Each trial: the same random start, then a list of calls by seed; the list with the dearest call lives on. */
static void run_search(unsigned rounds, struct dice *dice)
{
	static uint64_t best[SEARCH_CALLS], trial[SEARCH_CALLS];
	uint32_t record = 0;

	for (int i = 0; i < SEARCH_CALLS; i++)
		best[i] = dice_next(dice) | 1;
	for (unsigned round = 0; round < rounds * 10; round++) {
		struct dice start = { 12345 };
		uint32_t n = slots_for_pool() / 4 + 1;

		memcpy(trial, best, sizeof(best));
		for (unsigned i = dice_below(dice, 4); round && i < 5; i++)
			trial[dice_below(dice, SEARCH_CALLS)] = dice_next(dice) | 1;
		for (int i = 0; i < 40; i++)
			any_call(&start, n);
		dearest = 0;
		for (int i = 0; i < SEARCH_CALLS; i++) {
			struct dice one = { trial[i] };

			any_call(&one, n);
		}
		if (dearest >= record) {
			record = dearest;
			memcpy(best, trial, sizeof(best));
		}
		drop_all();
	}
}

static const struct {
	const char *name;
	void (*run)(unsigned rounds, struct dice *dice);
} sequences[] = { { "steady", run_steady },
		  { "random", run_random },
		  { "boundary", run_boundary },
		  { "exhaust", run_exhaust },
		  { "runs", run_runs },
		  { "search", run_search } };

static int print(const char *sequence)
{
	for (unsigned call = 0; call < CALLS; call++) {
		const struct histogram *h = &histograms[call];

		if (h->count)
			printf("%s,%s,%lu,%s,%s,%lu,%lu,%lu,%lu,%lu\n", COUNTER_MACHINE, subject_name(),
			       (unsigned long)pool_size, sequence, call_names[call], (unsigned long)h->count,
			       (unsigned long)percentile(h, 500), (unsigned long)percentile(h, 990),
			       (unsigned long)percentile(h, 999), (unsigned long)h->most);
	}
	return 0;
}

#define POOL_MOST (8u << 20)
static unsigned char pool[POOL_MOST] __attribute__((aligned(65536)));

int main(int argc, char **argv)
{
	unsigned rounds = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 0) : 20;
	struct dice dice = { argc > 4 ? strtoull(argv[4], NULL, 0) : 1 };
	const size_t n = sizeof(sequences) / sizeof(sequences[0]);

	pool_size = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	if (pool_size < 2048 || pool_size > POOL_MOST || !dice.state) {
		fprintf(stderr, "use: wcet steady|random|boundary|exhaust|runs|search POOL_BYTES [ROUNDS [SEED]]\n");
		return 2;
	}
	counter_init();
	if (!subject_open(pool, pool_size)) {
		fprintf(stderr, "wcet: %s does not work in %lu bytes\n", subject_name(), (unsigned long)pool_size);
		return 1;
	}
	for (int kind = 0; kind < KINDS; kind++) {
		if (!subject_kind(&kinds[kind])) {
			fprintf(stderr, "wcet: %s: no kind %s\n", subject_name(), kinds[kind].name);
			return 1;
		}
	}
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(argv[1], sequences[i].name)) {
			sequences[i].run(rounds, &dice);
			return print(sequences[i].name);
		}
	}
	fprintf(stderr, "wcet: no sequence \"%s\"\n", argv[1]);
	return 2;
}

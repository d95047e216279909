/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Freelist as a stack, descriptor in the page: as it was before, as it became, and drystone's default.
 *
 *   freelist layout                        objects per slab by kmalloc size
 *   freelist lines N                       lines of index arrays and descriptors that batches touch
 *   freelist time LOOPS ROUNDS             messaging, ticks a message
 *   freelist messaging LOOPS VARIANT       messaging once, for callgrind, inside of messaging_run()
 *
 * Messaging is the pattern of `perf bench sched messaging -g 50`: in each of 50 groups every one of 20 senders sends
 * LOOPS messages to every one of 20 receivers, through sockets that hold so many. A message is what a Unix
 * socket takes for 100 bytes: a header of 256 bytes and data of 512. Who runs, and how long, comes from a
 * generator with a fixed seed.
 */
#include "freelist/slab_2013.h"
#include "worker.h"

#include <string.h>

#define VARIANTS 4
#define GROUPS   50u
#define MEMBERS  20u
#define QUEUE    16u /* messages a socket holds; the kernel's 278 would be 200 MB of messages */
#define BURST    40u
#define BYTES    100u
#define HEADER   256u
#define DATA     512u
#define PIECE    2000u /* messages timed at once */
#define PAGES    ((size_t)1 << 16)

static const struct variant {
	const char *name;
	bool drystone;
	enum s13_layout layout;
	uint32_t entry;
} variants[VARIANTS] = {
	{ "threaded", false, S13_THREADED, 4 },
	{ "stack", false, S13_STACK, 4 },
	{ "stack_bytes", false, S13_STACK, 1 },
	{ "default", true, S13_STACK, 0 },
};

/* ---- a cache of either kind ----------------------------------------------------------- */

struct pool {
	struct s13_cache cache;
	dry_cache *drystone; /* NULL: the other */
};

static void *pool_alloc(struct pool *pool)
{
	void *object = pool->drystone ? dry_cache_alloc(pool->drystone) : s13_alloc(&pool->cache);

	if (object == NULL)
		worker_die("out of memory");
	return object;
}

static void pool_free(struct pool *pool, void *object)
{
	if (pool->drystone)
		dry_cache_free(pool->drystone, object);
	else
		s13_free(&pool->cache, object);
}

static void pool_init(struct pool *pool, dry_heap *heap, struct s13_memory *memory, const struct variant *v, uint32_t size)
{
	memset(pool, 0, sizeof(*pool));
	if (v->drystone)
		pool->drystone = worker_cache(heap, v->name, size, 0, worker_kernel_limit(size));
	else if (!s13_cache_init(&pool->cache, memory, v->layout, size, v->entry, worker_kernel_limit(size)))
		worker_die("out of memory");
}

/* ---- objects per slab, lines ------------------------------------------------------------- */

static const uint32_t sizes[] = { 32, 64, 128, 192, 256, 512, 1024 };

static void layout(void)
{
	dry_heap *heap = worker_heap("layout");
	struct s13_memory memory;
	struct dry_cache_stats s;
	struct pool pool;

	if (!s13_memory_init(&memory, 16))
		worker_die("out of memory");
	printf("size\tvariant\tobjects\tpages\n");
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (unsigned v = 0; v < VARIANTS; v++) {
			pool_init(&pool, heap, &memory, &variants[v], sizes[i]);
			if (pool.drystone)
				dry_cache_stats(pool.drystone, &s);
			printf("%u\t%s\t%u\t%u\n", sizes[i], variants[v].name,
			       pool.drystone ? s.objects_per_slab : pool.cache.num, pool.drystone ? s.pages_per_slab : 1);
		}
}

/* A random three quarters of the objects. */
static size_t choose(unsigned *chosen, size_t n, uint64_t *state)
{
	size_t count = n / 4 * 3;

	for (unsigned i = 0; i < n; i++)
		chosen[i] = i;
	for (size_t i = 0; i < count; i++) {
		size_t j = i + worker_below(state, (uint32_t)(n - i));
		unsigned swap = chosen[i];
		chosen[i] = chosen[j];
		chosen[j] = swap;
	}
	return count;
}

/*
 * n objects, of which a random three quarters are freed and allocated again, so that what is free in a slab is in
 * disorder; then once more, counting.
 */
static void lines_of(const struct variant *v, uint32_t size, size_t n)
{
	struct s13_counts counts[S13_BATCHES] = { { 0, 0, 0 } };
	struct s13_memory memory;
	uint64_t state = 88172645463325252u;
	void **object = calloc(n, sizeof(*object));
	unsigned *chosen = calloc(n, sizeof(*chosen));
	struct pool pool;

	if (object == NULL || chosen == NULL || !s13_memory_init(&memory, PAGES))
		worker_die("out of memory");
	pool_init(&pool, NULL, &memory, v, size);
	for (size_t i = 0; i < n; i++)
		object[i] = pool_alloc(&pool);
	for (int turn = 0; turn < 2; turn++) {
		size_t count = choose(chosen, n, &state);
		pool.cache.counts = turn == 1 ? counts : NULL;
		for (size_t i = 0; i < count; i++)
			pool_free(&pool, object[chosen[i]]);
		for (size_t i = 0; i < count; i++)
			object[chosen[i]] = pool_alloc(&pool);
	}
	printf("%u\t%s", size, v->name);
	for (int batch = 0; batch < S13_BATCHES; batch++) {
		if (counts[batch].objects == 0)
			worker_die("too few objects to count with");
		double thousands = (double)counts[batch].objects / 1000;
		printf("\t%.1f\t%.1f", (double)counts[batch].index_lines / thousands,
		       (double)counts[batch].descriptor_lines / thousands);
	}
	putchar('\n');
	free(object);
	free(chosen);
}

/* ---- messaging ------------------------------------------------------------------------------ */

struct message {
	struct message *next;
	unsigned char *data;
	uint64_t length;
};

struct receiver {
	struct message *head, **tail;
	unsigned queued;
	uint64_t left;
};

struct sender {
	uint64_t left;
	unsigned next;
};

static struct group {
	struct sender sender[MEMBERS];
	struct receiver receiver[MEMBERS];
} groups[GROUPS];

struct side {
	struct s13_memory memory;
	struct pool header, data;
};

static void side_init(struct side *side, dry_heap *heap, const struct variant *v)
{
	if (!v->drystone && !s13_memory_init(&side->memory, PAGES))
		worker_die("out of memory");
	pool_init(&side->header, heap, &side->memory, v, HEADER);
	pool_init(&side->data, heap, &side->memory, v, DATA);
}

static void send_one(struct side *side, struct sender *sender, struct receiver *receiver)
{
	struct message *message = pool_alloc(&side->header);
	unsigned char *data = pool_alloc(&side->data);

	memset(data, (int)sender->next, BYTES);
	*message = (struct message){ NULL, data, BYTES };
	*receiver->tail = message;
	receiver->tail = &message->next;
	receiver->queued++;
	sender->left--;
	sender->next = (sender->next + 1) % MEMBERS;
}

static uint64_t receive_one(struct side *side, struct receiver *receiver)
{
	struct message *message = receiver->head;
	uint64_t sum = 0;

	for (unsigned i = 0; i < message->length; i += 4)
		sum += message->data[i];
	receiver->head = message->next;
	if (receiver->head == NULL)
		receiver->tail = &receiver->head;
	receiver->queued--;
	receiver->left--;
	pool_free(&side->data, message->data);
	pool_free(&side->header, message);
	return sum;
}

/* All messages sent and received; watch, if there is one, gets the time of a message, piece by piece. */
__attribute__((noinline)) void messaging_run(struct side *side, uint64_t loops, struct worker_watch *watch)
{
	uint64_t left = (uint64_t)GROUPS * MEMBERS * MEMBERS * loops, lap = left, state = 2463534242u, sum = 0;

	if (watch != NULL)
		worker_watch_start(watch);
	for (unsigned g = 0; g < GROUPS; g++)
		for (unsigned m = 0; m < MEMBERS; m++) {
			groups[g].sender[m] = (struct sender){ .left = MEMBERS * loops };
			groups[g].receiver[m] = (struct receiver){ .tail = &groups[g].receiver[m].head, .left = MEMBERS * loops };
		}
	while (left != 0) {
		struct group *group = &groups[worker_below(&state, GROUPS)];
		unsigned task = worker_below(&state, 2 * MEMBERS), burst = 1 + worker_below(&state, BURST);
		if (task < MEMBERS) {
			struct sender *sender = &group->sender[task];
			for (; burst && sender->left && group->receiver[sender->next].queued < QUEUE; burst--)
				send_one(side, sender, &group->receiver[sender->next]);
		} else {
			struct receiver *receiver = &group->receiver[task - MEMBERS];
			for (; burst && receiver->head; burst--, left--)
				sum += receive_one(side, receiver);
			if (watch != NULL && lap - left >= PIECE) {
				worker_watch_lap(watch, lap - left);
				lap = left;
			}
		}
	}
	if (sum == 0)
		worker_die("messages were lost");
}

static void time_all(uint64_t loops, size_t rounds)
{
	static struct side side[VARIANTS];
	static struct worker_watch watch;
	dry_heap *heap = worker_heap("messaging");

	printf("# unit %s\nvariant\tround\tmessage\n", worker_unit());
	for (unsigned v = 0; v < VARIANTS; v++)
		side_init(&side[v], heap, &variants[v]);
	for (size_t round = 0; round <= rounds; round++)
		for (unsigned i = 0; i < VARIANTS; i++) {
			unsigned v = (unsigned)(i + round) % VARIANTS;
			messaging_run(&side[v], loops, &watch);
			if (round > 0)
				printf("%s\t%zu\t%.2f\n", variants[v].name, round, worker_watch_median(&watch));
		}
}

static void once(uint64_t loops, const char *name)
{
	static struct side side;

	for (unsigned v = 0; v < VARIANTS; v++)
		if (strcmp(variants[v].name, name) == 0) {
			side_init(&side, worker_heap("messaging"), &variants[v]);
			messaging_run(&side, loops, NULL);
			return;
		}
	worker_die("no such variant");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	worker_pin(0);
	if (strcmp(what, "layout") == 0) {
		layout();
	} else if (strcmp(what, "lines") == 0) {
		printf("size\tvariant\trefill_index\trefill_descriptors\tflush_index\tflush_descriptors\n");
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			for (unsigned v = 0; v < VARIANTS; v++)
				if (!variants[v].drystone)
					lines_of(&variants[v], sizes[i], worker_number(argc, argv, 2, 20000));
	} else if (strcmp(what, "time") == 0) {
		time_all(worker_number(argc, argv, 2, 20), worker_number(argc, argv, 3, 11));
	} else if (strcmp(what, "messaging") == 0 && argc == 4) {
		once(worker_number(argc, argv, 2, 2), argv[3]);
	} else {
		worker_die("which part?");
	}
	return 0;
}

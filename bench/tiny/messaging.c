/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * messaging TABLE [LOOPS [HOLES [DRAWN [POOL_KIB [SEED]]]]]: the allocations of `hackbench -g 4 -l 10000`, in one process.
 *
 * First the resident objects: the population of TABLE, in random order, and HOLES (0) per cent more, which are freed again at
 * random; general blocks are of the sizes of the table's caches or (DRAWN 1) of sizes drawn from what those serve. Then
 * 4 groups of 20 senders and 20 receivers; every sender sends LOOPS messages to every receiver of its group. A
 * message is a block of 100 bytes and a list node; the receiver reads and frees both. A queue holds
 * at most 278 messages (what a socket buffer of 212,992 bytes admits of this size), then its senders wait.
 * Who runs next, and for how many messages, is drawn from a seeded generator, so
 * that every allocator sees the same sequence of calls.
 *
 * Prints: seconds (CPU time of the messaging), touched_kb (pages of the pool ever written to), in_use_kb (most
 * in use, by the allocator's own figures, looked at every 1024 turns), resident_kb (bytes of the resident objects),
 * queued_kb (most bytes of messages that waited, looked at likewise).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "workload.h"

enum { GROUPS = 4, MEMBERS = 20, QUEUE = 278, BURST = 200, BYTES = 100 };

struct node {
	struct node *next;
	unsigned char *data;
	uint32_t sender, length;
};

struct receiver {
	struct node *head, **tail;
	unsigned queued;
	unsigned long left; /* messages still to come */
};

struct sender {
	unsigned long left; /* messages still to send */
	unsigned next;	    /* receiver of the next one */
};

struct group {
	struct sender senders[MEMBERS];
	struct receiver receivers[MEMBERS];
};

static struct kind nodes = { .name = "message", .size = sizeof(struct node) };
static struct group groups[GROUPS];
static size_t most_in_use, most_queued; /* bytes */

static bool send_one(struct sender *sender, struct receiver *receiver)
{
	struct node *node = subject_get(&nodes);
	unsigned char *data = node ? subject_alloc(BYTES) : NULL;

	if (!data)
		return false;
	memset(data, (int)sender->next, BYTES);
	*node = (struct node){ NULL, data, sender->next, BYTES };
	*receiver->tail = node;
	receiver->tail = &node->next;
	receiver->queued++;
	sender->left--;
	sender->next = (sender->next + 1) % MEMBERS;
	return true;
}

static bool receive_one(struct receiver *receiver)
{
	struct node *node = receiver->head;
	bool intact = node->data[0] == node->sender && node->data[BYTES - 1] == node->sender;

	receiver->head = node->next;
	if (!receiver->head)
		receiver->tail = &receiver->head;
	receiver->queued--;
	receiver->left--;
	subject_free(node->data, node->length);
	subject_put(&nodes, node);
	return intact;
}

/* One task's turn. false: no memory, or a message is not what was sent. */
static bool turn(struct group *group, unsigned task, unsigned burst)
{
	if (task < MEMBERS) {
		struct sender *sender = &group->senders[task];

		for (; burst && sender->left && group->receivers[sender->next].queued < QUEUE; burst--)
			if (!send_one(sender, &group->receivers[sender->next]))
				return false;
		return true;
	}
	for (struct receiver *receiver = &group->receivers[task - MEMBERS]; burst && receiver->head; burst--)
		if (!receive_one(receiver))
			return false;
	return true;
}

static void look(void)
{
	size_t in_use = subject_in_use(), queued = 0;

	for (int g = 0; g < GROUPS; g++)
		for (int m = 0; m < MEMBERS; m++)
			queued += groups[g].receivers[m].queued * (BYTES + sizeof(struct node));
	if (in_use > most_in_use)
		most_in_use = in_use;
	if (queued > most_queued)
		most_queued = queued;
}

static bool run(unsigned long loops, struct dice *dice)
{
	unsigned long left = GROUPS * MEMBERS * MEMBERS * loops, turns = 0;

	for (int g = 0; g < GROUPS; g++)
		for (int m = 0; m < MEMBERS; m++) {
			struct receiver *receiver = &groups[g].receivers[m];

			groups[g].senders[m] = (struct sender){ .left = MEMBERS * loops };
			*receiver = (struct receiver){ .tail = &receiver->head, .left = MEMBERS * loops };
		}
	while (left) {
		struct group *group = &groups[dice_below(dice, GROUPS)];
		unsigned task = dice_below(dice, 2 * MEMBERS);
		struct receiver *receiver = task < MEMBERS ? NULL : &group->receivers[task - MEMBERS];
		unsigned long before = receiver ? receiver->left : 0;

		if (!turn(group, task, 1 + dice_below(dice, BURST)))
			return false;
		if (receiver)
			left -= before - receiver->left;
		if (++turns % 1024 == 0)
			look();
	}
	return true;
}

/* The population of the table and `holes` per cent more, which are freed again. */
static bool make_resident(const char *table, unsigned holes, bool drawn, struct dice *dice, struct population *population)
{
	size_t extra;

	if (!population_read(population, table, 100 + holes, drawn, dice) || !population_open(population))
		return false;
	for (size_t i = 0; i < population->count; i++)
		if (!population_get(population, &population->objects[i]))
			return false;
	extra = population->count * holes / (100 + holes);
	for (size_t i = 0; i < extra; i++) { /* the order is random already, and not that of addresses */
		struct resident *object = &population->objects[dice_below(dice, (uint32_t)population->count--)];

		population_put(population, object);
		population->bytes -= object->size;
		*object = population->objects[population->count];
	}
	return true;
}

static unsigned long argument(int argc, char **argv, int index, unsigned long standard)
{
	return argc > index ? strtoul(argv[index], NULL, 0) : standard;
}

int main(int argc, char **argv)
{
	unsigned long loops = argument(argc, argv, 2, 10000), holes = argument(argc, argv, 3, 0);
	size_t kib = argument(argc, argv, 5, 32768);
	struct dice dice = { argument(argc, argv, 6, 1) };
	static struct population population;
	struct pool pool;
	double start;

	if (argc < 2 || !loops || !dice.state) {
		fprintf(stderr, "use: messaging TABLE [LOOPS [HOLES [DRAWN [POOL_KIB [SEED]]]]]\n");
		return 2;
	}
	if (!pool_make(&pool, kib << 10) || !subject_open(pool.memory, pool.size) || !subject_kind(&nodes) ||
	    !make_resident(argv[1], (unsigned)holes, argument(argc, argv, 4, 0), &dice, &population)) {
		fprintf(stderr, "messaging: %s: no room for the resident objects\n", subject_name());
		return 1;
	}
	start = machine_seconds();
	if (!run(loops, &dice)) {
		fprintf(stderr, "messaging: %s: out of memory, or a message was damaged\n", subject_name());
		return 1;
	}
	printf("seconds %.6f\n", machine_seconds() - start);
	printf("touched_kb %zu\nin_use_kb %zu\n", pool_touched(&pool) >> 10, most_in_use >> 10);
	printf("resident_kb %zu\nqueued_kb %zu\n", population.bytes >> 10, most_queued >> 10);
	return 0;
}

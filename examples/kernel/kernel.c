/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A kernel of the smallest kind on a machine with 1 MB: it boots, gives all memory behind itself to a
 * heap of drystone-tiny, and lives from it. Tasks are objects of a cache with a constructor,
 * messages objects of another, their text is general allocation. Producers send, consumers
 * verify and free; then memory is exhausted on purpose, and given back.
 *
 * Build and run: see Makefile. The last line is "kernel: passed" or "kernel: FAILED: ...".
 */
#include <drystone/drystone.h>

#include "board.h"

enum { TASKS = 24, MESSAGES = 4000 };

struct message {
	struct message *next;
	char *text;
	size_t length;
	unsigned from;
};

struct task {
	struct message *inbox, **inbox_end; /* as constructed: empty */
	void (*step)(struct task *task);
	struct task *peer;
	unsigned number, sent, received;
};

extern char free_start[], free_end[];

static dry_heap *heap;
static dry_cache *task_cache, *message_cache;
static struct task *tasks[TASKS];

static void say(const char *text)
{
	board_write(text, strlen(text));
}

static void say_number(const char *before, size_t number, const char *after)
{
	char digits[24];
	size_t at = sizeof(digits);

	digits[--at] = 0;
	do
		digits[--at] = (char)('0' + number % 10);
	while (number /= 10);
	say(before);
	say(digits + at);
	say(after);
}

static _Noreturn void fail(const char *why)
{
	say("kernel: FAILED: ");
	say(why);
	say("\n");
	board_off(false);
}

static void expect(bool good, const char *what)
{
	if (!good)
		fail(what);
}

_Noreturn void kernel_trap(uintptr_t at);
_Noreturn void kernel_trap(uintptr_t at)
{
	say_number("trap near ", at, "\n");
	fail("trap");
}

static void task_construct(void *object, void *arg)
{
	(void)arg;
	struct task *task = object;

	memset(task, 0, sizeof(*task));
	task->inbox_end = &task->inbox;
}

/* The n-th text of a producer: its length and letters follow from both. */
static size_t text_length(unsigned from, unsigned n)
{
	return 1 + (from * 37 + n * 101) % 700;
}

static char text_letter(unsigned from, unsigned n)
{
	return (char)('a' + (from + n) % 26);
}

static void produce(struct task *task)
{
	struct message *message;
	struct task *to = task->peer;

	if (task->sent == MESSAGES)
		return;
	message = dry_cache_alloc(message_cache);
	expect(message != NULL, "no memory for a message");
	message->next = NULL;
	message->from = task->number;
	message->length = text_length(task->number, task->sent);
	message->text = dry_alloc(heap, message->length);
	expect(message->text != NULL, "no memory for a text");
	memset(message->text, text_letter(task->number, task->sent), message->length);
	*to->inbox_end = message;
	to->inbox_end = &message->next;
	task->sent++;
}

static void consume(struct task *task)
{
	/* sometimes late, so that messages pile up */
	for (unsigned n = task->received % 50 == 0 ? 40 : 1; n && task->inbox; n--) {
		struct message *message = task->inbox;
		char letter = text_letter(message->from, task->received);

		expect(message->length == text_length(message->from, task->received), "a message was lost");
		for (size_t i = 0; i < message->length; i++)
			expect(message->text[i] == letter, "a text was overwritten");
		task->inbox = message->next;
		if (!task->inbox)
			task->inbox_end = &task->inbox;
		dry_free(heap, message->text);
		dry_cache_free(message_cache, message);
		task->received++;
	}
}

static void run_tasks(void)
{
	for (unsigned i = 0; i < TASKS; i++) {
		struct task *task = tasks[i] = dry_cache_alloc(task_cache);

		expect(task && !task->inbox && task->inbox_end == &task->inbox, "a task is not as constructed");
		task->number = i;
		task->step = i % 2 ? consume : produce;
	}
	for (unsigned i = 0; i < TASKS; i++)
		tasks[i]->peer = tasks[i ^ 1];
	for (unsigned round = 0; round < MESSAGES + 100; round++)
		for (unsigned i = 0; i < TASKS; i++)
			if (i % 2 == 0 || round % 64 > 40) /* producers run ahead */
				tasks[i]->step(tasks[i]);
	for (unsigned i = 1; i < TASKS; i += 2) {
		while (tasks[i]->inbox)
			consume(tasks[i]);
		expect(tasks[i]->received == MESSAGES, "not all messages came");
	}
}

static void end_tasks(void)
{
	for (unsigned i = 0; i < TASKS; i++) {
		task_construct(tasks[i], NULL); /* objects go back in constructed state */
		dry_cache_free(task_cache, tasks[i]);
	}
}

/* Everything that is left, as list of blocks of one size; all given back. How many there were. */
static size_t exhaust(size_t size)
{
	struct block {
		struct block *next;
	} *list = NULL, *block;
	size_t n = 0;

	dry_heap_trim(heap);
	while ((block = dry_alloc(heap, size))) {
		block->next = list;
		list = block;
		n++;
	}
	for (; list; list = block) {
		block = list->next;
		dry_free(heap, list);
	}
	return n;
}

static void print(void *arg, const char *text, size_t bytes)
{
	(void)arg;
	board_write(text, bytes);
}

void kernel_main(void);
void kernel_main(void)
{
	const struct dry_heap_attr memory = {
		.name = "kernel", .memory = free_start, .memory_size = (size_t)(free_end - free_start)
	};
	const struct dry_cache_attr task_attr = { .name = "task", .size = sizeof(struct task), .ctor = task_construct };
	const struct dry_cache_attr message_attr = { .name = "message", .size = sizeof(struct message) };
	size_t first, second;

	say_number("kernel: drystone on a machine of 1 MB, ", memory.memory_size >> 10, " KiB of them for the heap\n");
	heap = dry_heap_create(&memory);
	expect(heap != NULL, "no heap");
	task_cache = dry_cache_create(heap, &task_attr);
	message_cache = dry_cache_create(heap, &message_attr);
	expect(task_cache && message_cache, "no caches");

	run_tasks();
	say_number("kernel: ", TASKS / 2 * MESSAGES, " messages sent, received and verified\n");
	dry_heap_slabinfo(heap, print, NULL);
	end_tasks();
	first = exhaust(24);
	exhaust(3000);
	second = exhaust(24);
	say_number("kernel: memory holds ", first, " blocks of 24 bytes, ");
	say_number("and later ", second, "\n");
	expect(first * 24 > memory.memory_size / 10 * 8, "little of the memory can be used");
	expect(first == second, "memory was lost");
	expect(dry_cache_destroy(task_cache) == 0 && dry_cache_destroy(message_cache) == 0, "objects were leaked");
	expect(dry_heap_check(heap) == 0, "the heap is not consistent");
	say("kernel: passed\n");
	board_off(true);
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Stacks, and going from one to another. On x86-64 that is a dozen instructions; elsewhere
 * the C library's swapcontext(), which asks the system each time.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "port/sim/machine.h"

#ifdef __SANITIZE_ADDRESS__
#define STACK_SIZE ((size_t)512 << 10)
void __sanitizer_start_switch_fiber(void **fake, const void *bottom, size_t size);
void __sanitizer_finish_switch_fiber(void *fake, const void **bottom, size_t *size);
#else
#define STACK_SIZE ((size_t)128 << 10)
#endif
#define GUARD ((size_t)64 << 10)

static struct dry_sim_context *came_from;

static void prepare(struct dry_sim_context *from, struct dry_sim_context *to)
{
	came_from = from;
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_start_switch_fiber(&from->fake, to->stack, to->size);
#else
	(void)to;
#endif
}

static void arrived(void *fake)
{
#ifdef __SANITIZE_ADDRESS__
	const void *bottom;
	size_t size;

	__sanitizer_finish_switch_fiber(fake, &bottom, &size);
	if (came_from->stack == NULL) { /* the host's own stack is only known now */
		came_from->stack = (char *)(uintptr_t)bottom;
		came_from->size = size;
	}
#else
	(void)fake;
#endif
}

void dry_sim_context_enter(void)
{
	arrived(NULL);
}

static void map_stack(struct dry_sim_context *context)
{
	char *memory;

	if (context->stack != NULL)
		return;
	memory = mmap(NULL, GUARD + STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		      0);
	if (memory == MAP_FAILED || mprotect(memory, GUARD, PROT_NONE) != 0)
		abort();
	context->stack = memory + GUARD;
	context->size = STACK_SIZE;
}

#ifdef __x86_64__

void dry_sim_context_jump(void **save, void *load) __attribute__((visibility("hidden")));
__asm__(".text\n"
	".p2align 4\n"
	".globl dry_sim_context_jump\n"
	".hidden dry_sim_context_jump\n"
	".type dry_sim_context_jump, @function\n"
	"dry_sim_context_jump:\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"
	".size dry_sim_context_jump, . - dry_sim_context_jump\n");

void dry_sim_context_make(struct dry_sim_context *context, void (*entry)(void))
{
	void **top;

	map_stack(context);
	/* As the jump leaves it: six registers, the address to go to, and a return address of nobody. */
	top = (void **)(void *)(context->stack + context->size) - 8;
	for (int i = 0; i < 8; i++)
		top[i] = NULL;
	*(void (**)(void)) & top[6] = entry;
	context->stack_pointer = top;
}

void dry_sim_context_switch(struct dry_sim_context *from, struct dry_sim_context *to)
{
	prepare(from, to);
	dry_sim_context_jump(&from->stack_pointer, to->stack_pointer);
	arrived(from->fake);
}

#else

#include <ucontext.h>

void dry_sim_context_make(struct dry_sim_context *context, void (*entry)(void))
{
	ucontext_t *host = context->stack_pointer;

	map_stack(context);
	if (host == NULL)
		host = malloc(sizeof(*host));
	if (host == NULL || getcontext(host) != 0)
		abort();
	host->uc_stack.ss_sp = context->stack;
	host->uc_stack.ss_size = context->size;
	host->uc_link = NULL;
	makecontext(host, entry, 0);
	context->stack_pointer = host;
}

void dry_sim_context_switch(struct dry_sim_context *from, struct dry_sim_context *to)
{
	if (from->stack_pointer == NULL)
		from->stack_pointer = malloc(sizeof(ucontext_t));
	if (from->stack_pointer == NULL)
		abort();
	prepare(from, to);
	swapcontext(from->stack_pointer, to->stack_pointer);
	arrived(from->fake);
}

#endif

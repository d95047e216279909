/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The allocator's hooks on a board: reports go to standard error, and each heap that is given no memory gets a pool. */
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include "tiny_config.h"

/* The address is odd as far as it may be, and nothing in the pool is zero. */
void *dry_tiny_map(size_t *size)
{
	size_t bytes = *size && *size < DRY_TEST_POOL ? *size : DRY_TEST_POOL;
	char *memory = memalign(16, bytes);

	if (!memory)
		return NULL;
	for (size_t i = 0; i < bytes; i++)
		memory[i] = 0x6b;
	*size = bytes;
	return memory;
}

void dry_tiny_unmap(void *memory)
{
	free(memory);
}

/* A board's may hand its arguments on to what copies. */
void dry_port_write(const char *text, size_t bytes)
{
	if (text == NULL)
		_exit(133);
	(void)!write(2, text, bytes);
}

_Noreturn void dry_port_abort(void)
{
	_exit(134);
}

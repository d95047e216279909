/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Frees a block twice; REFERS is a call of libdrystone-tiny-check that a program may have. */
#include <drystone/tiny.h>
#include <stdlib.h>
#include <unistd.h>

void dry_port_write(const char *text, size_t bytes);
_Noreturn void dry_port_abort(void);
void (*volatile refers)(void);

void dry_port_write(const char *text, size_t bytes)
{
	if (write(1, text, bytes) < 0)
		_exit(1);
}

void dry_port_abort(void)
{
	_exit(3);
}

int main(void)
{
	static _Alignas(16) char memory[8192];
	dry_heap *heap = dry_heap_create(&(struct dry_heap_attr){ .memory = memory, .memory_size = sizeof(memory) });
	void *block = dry_alloc(heap, 100), *other = dry_alloc(heap, 100);

#ifdef REFERS
	refers = (void (*)(void))REFERS;
#endif
	dry_free(heap, block);
	dry_free(heap, block);
	dry_free(heap, other);
	return 0;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* rooms BYTES TIMES: a block of so many bytes, of which the first is written, allocated and freed again and again. */
#include <stdlib.h>

int main(int argc, char **argv)
{
	size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 40000000, times = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;

	while (times-- > 0) {
		char *block = malloc(bytes);
		if (block == NULL)
			return 1;
		*(volatile char *)block = 1;
		free(block);
	}
	return 0;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* runs COUNT ROUNDS: so many blocks of 64 bytes, then freed in the order in which they came, again and again. */
#include <stdlib.h>

int main(int argc, char **argv)
{
	size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000, rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	char **block = malloc(count * sizeof(*block));

	if (block == NULL)
		return 1;
	while (rounds-- > 0) {
		for (size_t i = 0; i < count; i++) {
			block[i] = malloc(64);
			if (block[i] == NULL)
				return 1;
			block[i][0] = 1;
		}
		for (size_t i = 0; i < count; i++)
			free(block[i]);
	}
	free(block);
	return 0;
}

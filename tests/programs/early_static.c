/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A static program: allocates and frees, a block twice if it is told to. */
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	char *volatile block = malloc(100);

	if (block == NULL)
		return 2;
	memset(block, 1, 100);
	free(block);
	if (argc > 1 && strcmp(argv[1], "twice") == 0)
		free(block);
	return 0;
}

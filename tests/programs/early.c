/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* As a library (-DLIBRARY): allocates in its constructor. As a program that links it: does something with block number argv[1]. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 24 /* by malloc(), by calloc(), aligned */

extern char *early[BLOCKS];
extern const size_t early_size[8];

#ifdef LIBRARY

char *early[BLOCKS];
const size_t early_size[8] = { 16, 64, 100, 500, 4000, 20000, 40000, 200000 };

static void handle(int signal)
{
	static const char text[] = "handled\n";

	(void)signal;
	(void)!write(2, text, sizeof(text) - 1);
	_exit(150);
}

__attribute__((constructor)) static void allocate(void)
{
	int from = getenv("FROM") != NULL ? atoi(getenv("FROM")) : 0;

	signal(SIGSEGV, handle);
	for (int n = 0; n < BLOCKS; n++) {
		int i = (n + from) % BLOCKS;
		size_t size = early_size[i % 8];
		void *aligned = NULL;
		if (i >= 16 && posix_memalign(&aligned, 64, size) != 0)
			abort();
		early[i] = i < 8 ? malloc(size) : i < 16 ? calloc(1, size) : aligned;
		if (early[i] == NULL)
			abort();
		memset(early[i], 1, early_size[i % 8]);
	}
}

#else

int main(int argc, char **argv)
{
	int number = argc > 2 ? atoi(argv[1]) : 0;
	char *volatile block = early[number];

	if (argc > 2 && strcmp(argv[2], "beyond") == 0)
		block[early_size[number % 8]] = 'x';
	free(block);
	if (argc > 2 && strcmp(argv[2], "freed") == 0)
		block[5] = 'x';
	if (argc > 2 && strcmp(argv[2], "twice") == 0)
		free(block);
	return 0;
}

#endif

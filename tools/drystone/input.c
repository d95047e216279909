/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "input.h"

#include <errno.h>
#include <stdbool.h>

/* All of it into another file, which is at its begin then; false: errno says why. */
static bool keep(FILE *from, FILE *to)
{
	char part[16384];
	size_t n;

	while ((n = fread(part, 1, sizeof(part), from)) > 0)
		if (fwrite(part, 1, n, to) != n)
			return false;
	return !ferror(from) && fseek(to, 0, SEEK_SET) == 0;
}

FILE *input_open(const char *path)
{
	FILE *file = fopen(path, "re"), *kept;
	int error;

	if (file == NULL || fseek(file, 0, SEEK_SET) == 0)
		return file;
	kept = tmpfile();
	if (kept != NULL && keep(file, kept)) {
		fclose(file);
		return kept;
	}
	error = errno;
	fclose(file);
	if (kept != NULL)
		fclose(kept);
	errno = error;
	return NULL;
}

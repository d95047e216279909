// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* A program whose own objects name nothing in drystone, and which has its malloc all the same. */
#include <stdio.h>
#include <string.h>

int main(int n, char **words)
{
	return puts(strdup(words[n - 1])) < 0;
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "page.h"

#include <string.h>

#include "text.h"

const char *page_begin(const char *page, FILE *out)
{
	const char *hole = strstr(page, "/*DATA*/");

	fwrite(page, 1, (size_t)(hole - page), out);
	return hole;
}

void page_text(FILE *out, const char *text)
{
	putc('"', out);
	for (size_t size; *text != '\0'; text += size != 0 ? size : 1) {
		size = text_character(text);
		if (*text == '"' || *text == '\\')
			putc('\\', out);
		if ((unsigned char)*text < ' ' || *text == '<' || *text == '>')
			fprintf(out, "\\u%04x", (unsigned char)*text);
		else if (size != 0)
			fwrite(text, 1, size, out);
		else
			putc('?', out);
	}
	putc('"', out);
}

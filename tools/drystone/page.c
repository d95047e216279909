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
	text_put_json(out, text, "<>");
}

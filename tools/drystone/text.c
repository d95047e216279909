/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "text.h"

#include <stdint.h>
#include <string.h>

/* Bytes of the character of UTF-8 that begins there; 0: there is none, or the text ends. */
static size_t character(const char *text)
{
	static const uint32_t least[] = { 0, 1, 0x80, 0x800, 0x10000 }; /* of so many bytes */
	const unsigned char *byte = (const unsigned char *)text;
	size_t size = byte[0] == 0 ? 0 : byte[0] < 0x80 ? 1 : byte[0] < 0xc0 ? 0 : byte[0] < 0xe0 ? 2 : byte[0] < 0xf0 ? 3 :
		      byte[0] < 0xf8 ? 4 : 0;
	uint32_t code = size > 1 ? byte[0] & (0x7fu >> size) : byte[0];

	for (size_t i = 1; i < size; i++) { /* the 0 at the end is none of these */
		if ((byte[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (byte[i] & 0x3f);
	}
	return code < least[size] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : size;
}

const char *text_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

void text_put_json(FILE *out, const char *text, const char *more)
{
	putc('"', out);
	for (size_t size; *text != '\0'; text += size != 0 ? size : 1) {
		size = character(text);
		if (*text == '"' || *text == '\\')
			putc('\\', out);
		if ((unsigned char)*text < ' ' || strchr(more, *text) != NULL)
			fprintf(out, "\\u%04x", (unsigned char)*text);
		else if (size != 0)
			fwrite(text, 1, size, out);
		else
			putc('?', out);
	}
	putc('"', out);
}

void text_make_utf8(char *text)
{
	while (*text != '\0') {
		size_t size = character(text);
		if (size == 0)
			*text = '?';
		text += size != 0 ? size : 1;
	}
}

void text_make_line(char *text)
{
	text_make_utf8(text);
	for (; *text != '\0'; text++) {
		unsigned char byte = (unsigned char)*text, next = (unsigned char)text[1];
		if (byte < ' ' || byte == 127)
			*text = '?';
		else if (byte == 0xc2 && next < 0xa0) /* U+0080 to U+009F */
			text[0] = text[1] = '?';
	}
}

void text_make_column(char *text)
{
	for (; *text != '\0'; text++)
		*text = *text == ' ' ? '_' : *text > ' ' && *text <= '~' ? *text : '?';
}

/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Names that programs and file systems give, as bytes, for what has to be text: JSON, pages, profile.proto, columns. */
#ifndef DRYSTONE_TEXT_H
#define DRYSTONE_TEXT_H

#include <stddef.h>

/* Bytes of the character of UTF-8 that begins there; 0: there is none, or the text ends. */
size_t text_character(const char *text);
/* Each byte that is of no character becomes '?'. */
void text_make_utf8(char *text);
/* As listings have names of caches: '_' for blanks, '?' for all but visible ASCII. */
void text_make_column(char *text);

#endif

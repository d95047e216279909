/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Names that programs and file systems give, as bytes, for what has to be text: JSON, pages, profile.proto, columns. */
#ifndef DRYSTONE_TEXT_H
#define DRYSTONE_TEXT_H

#include <stdio.h>

/* What is behind the last slash. */
const char *text_base_name(const char *path);
/* A string of JSON, with its quotation marks; characters of `more` are escaped, too. Each byte that is of no character is '?'. */
void text_put_json(FILE *out, const char *text, const char *more);
/* Each byte that is of no character becomes '?'. */
void text_make_utf8(char *text);
/* Each byte that is of no character, or of one that a terminal obeys (line ends, too), becomes '?'. */
void text_make_line(char *text);
/* As listings have names of caches: '_' for blanks, '?' for all but visible ASCII. */
void text_make_column(char *text);

#endif

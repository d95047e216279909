/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "base/fmt.h"

#include <stdbool.h>
#include <stdint.h>

/* 0 <= length < size */
struct out {
	char *buf;
	size_t size, length;
};

struct spec {
	bool left, zero;
	unsigned width;
	unsigned longs; /* number of l; z counts as the length of size_t */
};

static void put(struct out *out, char c)
{
	if (out->length + 1 < out->size)
		out->buf[out->length++] = c;
}

static void pad(struct out *out, char c, size_t used, size_t width)
{
	for (; used < width; used++)
		put(out, c);
}

static void put_text(struct out *out, const struct spec *spec, const char *text, size_t length)
{
	size_t i;

	if (!spec->left)
		pad(out, ' ', length, spec->width);
	for (i = 0; i < length; i++)
		put(out, text[i]);
	if (spec->left)
		pad(out, ' ', length, spec->width);
}

/*
 * The last digit, which it takes off. By 16 bits at a time: for a division of 64 a kernel of 32 bits has no code, and a small
 * machine little room.
 */
static unsigned last_digit(uint64_t *value, unsigned base)
{
	uint64_t quotient = 0;
	uint32_t rest = 0;
	int shift;

	for (shift = 48; shift >= 0; shift -= 16) {
		uint32_t part = rest << 16 | (uint32_t)(*value >> shift & 0xffff);

		quotient |= (uint64_t)(part / base) << shift;
		rest = part % base;
	}
	*value = quotient;
	return rest;
}

/* prefix: sign or 0x, before the zeros of a '0' flag. */
static void put_number(struct out *out, const struct spec *spec, uint64_t value, unsigned base, const char *prefix)
{
	char digits[20], text[24];
	size_t count = 0, length = 0;

	do {
		digits[count++] = "0123456789abcdef"[last_digit(&value, base)];
	} while (value != 0);
	while (*prefix != '\0')
		text[length++] = *prefix++;
	if (spec->zero && !spec->left) {
		size_t i;

		for (i = 0; i < length; i++)
			put(out, text[i]);
		pad(out, '0', length + count, spec->width);
		while (count > 0)
			put(out, digits[--count]);
		return;
	}
	while (count > 0)
		text[length++] = digits[--count];
	put_text(out, spec, text, length);
}

static const char *parse_spec(const char *fmt, struct spec *spec)
{
	*spec = (struct spec){ 0 };
	for (;; fmt++) {
		if (*fmt == '-')
			spec->left = true;
		else if (*fmt == '0')
			spec->zero = true;
		else
			break;
	}
	for (; *fmt >= '0' && *fmt <= '9'; fmt++)
		spec->width = spec->width * 10 + (unsigned)(*fmt - '0');
	for (; *fmt == 'l' || *fmt == 'z'; fmt++)
		spec->longs += *fmt == 'z' && sizeof(size_t) > sizeof(long) ? 2 : 1;
	return fmt;
}

/* A macro, because a va_list cannot portably be passed on and used again. */
#define NEXT(ap, spec, type)                                                                                           \
	((spec).longs == 0 ? va_arg(ap, type) : (spec).longs == 1 ? va_arg(ap, long type) : va_arg(ap, long long type))

size_t dry_vformat(char *buf, size_t size, const char *fmt, va_list ap)
{
	struct out out = { buf, size, 0 };
	struct spec spec;
	const char *text;
	int64_t value;
	size_t length;
	char c;

	for (; *fmt != '\0'; fmt++) {
		if (*fmt != '%') {
			put(&out, *fmt);
			continue;
		}
		fmt = parse_spec(fmt + 1, &spec);
		switch (*fmt) {
		case 's':
			text = va_arg(ap, const char *);
			if (text == NULL)
				text = "(null)";
			for (length = 0; text[length] != '\0'; length++)
				;
			put_text(&out, &spec, text, length);
			break;
		case 'c':
			c = (char)va_arg(ap, int);
			put_text(&out, &spec, &c, 1);
			break;
		case 'd':
			value = NEXT(ap, spec, int);
			put_number(&out, &spec, value < 0 ? -(uint64_t)value : (uint64_t)value, 10,
				   value < 0 ? "-" : "");
			break;
		case 'u':
			put_number(&out, &spec, NEXT(ap, spec, unsigned), 10, "");
			break;
		case 'x':
			put_number(&out, &spec, NEXT(ap, spec, unsigned), 16, "");
			break;
		case 'p':
			put_number(&out, &spec, (uintptr_t)va_arg(ap, void *), 16, "0x");
			break;
		case '\0':
			fmt--; /* a lone % at the end */
			break;
		default:
			put(&out, *fmt); /* %%, and what is no conversion */
		}
	}
	buf[out.length] = '\0';
	return out.length;
}

size_t dry_format(char *buf, size_t size, const char *fmt, ...)
{
	va_list ap;
	size_t length;

	va_start(ap, fmt);
	length = dry_vformat(buf, size, fmt, ap);
	va_end(ap);
	return length;
}

void dry_format_name(char *buf, size_t size, const char *name)
{
	size_t length = 0;

	for (; length < size - 1 && name[length] != '\0'; length++)
		buf[length] = dry_visible(name[length]);
	buf[length] = '\0';
	if (buf[0] == '#')
		buf[0] = '?';
}

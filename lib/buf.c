/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A byte buffer that doubles when full; outgrown copies stay in the arena until its
 * reset.
 */
#include "lib/buf.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
	FIRST = 64,
	LINE = 256, /* room reserved before formatting */
};
#define WHOLE_MOST 1e15 /* up to here "%f" of a whole number is exact */

struct buf buf_new(struct arena *a)
{
	return buf_sized(a, FIRST - 1);
}

struct buf buf_sized(struct arena *a, size_t n)
{
	return (struct buf){ .a = a, .p = arena_alloc(a, n + 1), .cap = n + 1 };
}

/* Ensures room for n more bytes and the NUL. */
static void buf_room(struct buf *b, size_t n)
{
	size_t cap = b->cap;
	char *p;

	if (n < b->cap - b->n)
		return;
	while (cap - b->n <= n)
		cap = mul_or_die(cap, 2);
	p = arena_alloc(b->a, cap);
	memcpy(p, b->p, b->n);
	b->p = p;
	b->cap = cap;
}

void buf_put(struct buf *b, const void *p, size_t n)
{
	buf_room(b, n);
	if (n > 0)
		memcpy(b->p + b->n, p, n);
	b->n += n;
	b->p[b->n] = '\0';
}

void buf_puts(struct buf *b, const char *s)
{
	buf_put(b, s, strlen(s));
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	buf_room(b, LINE); /* else most texts would be formatted twice */
	va_start(ap, fmt);
	n = vsnprintf(b->p + b->n, b->cap - b->n, fmt, ap);
	va_end(ap);
	assert(n >= 0);
	if ((size_t)n >= b->cap - b->n) {
		buf_room(b, (size_t)n);
		va_start(ap, fmt);
		vsnprintf(b->p + b->n, b->cap - b->n, fmt, ap);
		va_end(ap);
	}
	b->n += (size_t)n;
}

void buf_i64(struct buf *b, int64_t v)
{
	uint64_t left = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
	char text[20]; /* digits and sign of the longest number */
	size_t i = sizeof(text);

	do
		text[--i] = (char)('0' + left % 10);
	while ((left /= 10) != 0);
	if (v < 0)
		text[--i] = '-';
	buf_put(b, text + i, sizeof(text) - i);
}

bool buf_whole(struct buf *b, double v)
{
	bool whole = v > -WHOLE_MOST && v < WHOLE_MOST && v == (double)(int64_t)v &&
	             !(v == 0 && signbit(v));

	if (whole)
		buf_i64(b, (int64_t)v);
	return whole;
}

void buf_fixed(struct buf *b, double v)
{
	/* printf() takes a thousand instructions for either case. */
	if (buf_whole(b, v))
		buf_puts(b, ".000000");
	else
		buf_printf(b, "%f", v);
}

/* Returns the replacement of a byte: "" drops it, NULL keeps it as it is. */
static const char *xml_escape_byte(unsigned char c, char tmp[8])
{
	if (c == '<')
		return "&lt;";
	if (c == '&')
		return "&amp;";
	if (c == '\t' || c == '\n' || c == '\r' || c >= 128) {
		snprintf(tmp, 8, "&#%u;", (unsigned)c);
		return tmp;
	}
	return c < 32 ? "" : NULL;
}

void buf_xml(struct buf *b, const char *s)
{
	const char *plain = s, *as;
	char tmp[8];

	for (const char *begin = s; *s != '\0'; s++) {
		as = xml_escape_byte((unsigned char)*s, tmp);
		/* "]]>" is not allowed in text. */
		if (*s == '>' && s - begin >= 2 && s[-1] == ']' && s[-2] == ']')
			as = "&gt;";
		if (as == NULL)
			continue;
		buf_put(b, plain, (size_t)(s - plain));
		buf_puts(b, as);
		plain = s + 1;
	}
	buf_put(b, plain, (size_t)(s - plain));
}

static void buf_put_tag(
    struct buf *b, const char *before, const char *tag, const char *after)
{
	buf_puts(b, before);
	buf_puts(b, tag);
	buf_puts(b, after);
}

void buf_xml_plain(struct buf *b, const char *s)
{
	for (size_t n; *s != '\0'; s += n) {
		n = strcspn(s, "<>&");
		buf_put(b, s, n);
		if (s[n] == '\0')
			return;
		buf_puts(b, s[n] == '<' ? "&lt;" : s[n] == '>' ? "&gt;" : "&amp;");
		n++;
	}
}

void buf_tag(struct buf *b, const char *tag, const char *text)
{
	buf_put_tag(b, "<", tag, ">");
	buf_xml(b, text);
	buf_put_tag(b, "</", tag, ">\n");
}

void buf_tag_i64(struct buf *b, const char *tag, int64_t v)
{
	buf_put_tag(b, "<", tag, ">");
	buf_i64(b, v);
	buf_put_tag(b, "</", tag, ">\n");
}

void buf_tag_fixed(struct buf *b, const char *tag, double v)
{
	buf_put_tag(b, "<", tag, ">");
	buf_fixed(b, v);
	buf_put_tag(b, "</", tag, ">\n");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Regions that the normaliser cut out, and decoding of text. */
#include <stdbool.h>
#include <string.h>
#include "lib/text.h"
#include "proto/normalise.h"
#include "lib/banned.h"

size_t text_reference(const char *p, const char *end, unsigned char *byte)
{
	static const struct {
		const char *text;
		unsigned char byte;
	} known[] = {
		{ "&lt;", '<' },
		{ "&gt;", '>' },
		{ "&amp;", '&' },
		{ "&quot;", '"' },
		{ "&apos;", '\'' },
		{ "&#xD;", '\r' },
		{ "&#xd;", '\r' },
		{ "&#xA;", '\n' },
		{ "&#xa;", '\n' },
	};
	unsigned v = 0;
	size_t i = 2;

	for (size_t k = 0; k < N(known); k++) {
		if (end - p > 1 && p[1] == known[k].text[1] && /* quick check */
		    text_begins(p, end, known[k].text)) {
			*byte = known[k].byte;
			return strlen(known[k].text);
		}
	}
	if (!text_begins(p, end, "&#"))
		return 0;
	for (; p + i < end && p[i] >= '0' && p[i] <= '9' && i < 8; i++)
		v = v * 10 + (unsigned)(p[i] - '0');
	if (i == 2 || p + i == end || p[i] != ';' || v > 255)
		return 0;
	*byte = (unsigned char)v;
	return i + 1;
}

const struct raw *raw_at(const struct normal *nm, int32_t i)
{
	return i < 1 || (size_t)i > nm->nraws ? NULL : &nm->raws[i - 1];
}

char *raw_copy(struct arena *a, const struct raw *r, size_t max)
{
	char *copy = arena_memdup(a, r->p, r->n < max ? r->n : max);

	for (char *p = copy, *end = copy + (r->n < max ? r->n : max); p < end; p++)
		if (*p == '\0')
			*p = ' '; /* the text after it must not be lost */
	return copy;
}

char *raw_trimmed(struct arena *a, const struct raw *r)
{
	const char *p = r->p, *end = r->p + r->n;

	while (p < end && text_white(*p))
		p++;
	while (end > p && text_white(end[-1]))
		end--;
	return raw_copy(a, &(struct raw){ .p = p, .n = (size_t)(end - p) }, r->n);
}

char *raw_text(struct arena *a, const struct raw *r)
{
	return text_decode(a, r->p, r->n);
}

char *text_decode(struct arena *a, const char *p, size_t n)
{
	const char *end = p + n;
	struct buf b = buf_new(a);
	unsigned char c;
	size_t len;

	while (p < end && text_white(*p))
		p++;
	while (end > p && text_white(end[-1]))
		end--;
	if (end - p >= 12 && text_begins(p, end, "<![CDATA[") &&
	    memcmp(end - 3, "]]>", 3) == 0)
		return raw_copy(
		    a, &(struct raw){ .p = p + 9, .n = (size_t)(end - p) - 12 }, n);
	for (; p < end; p += len) {
		len = *p == '&' ? text_reference(p, end, &c) : 0;
		if (len == 0) {
			c = (unsigned char)*p;
			len = 1;
		}
		if (c >= ' ' || c == '\t' || c == '\n' || c == '\r')
			buf_put(&b, &c, 1);
	}
	return b.p;
}

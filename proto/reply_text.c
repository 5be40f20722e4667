/* SPDX-License-Identifier: Apache-2.0 */
/* Escaping and cutting; UTF-8 is a guess that costs nothing when it is wrong. */
#include "proto/reply_text.h"

#include "lib/banned.h"

/* Bytes of the UTF-8 character at s; 1 for what is none. */
static size_t
char_len(const char *s)
{
	unsigned char c = (unsigned char)*s;
	size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 1;

	for (size_t i = 1; i < n; i++)
		if (((unsigned char)s[i] & 0xc0) != 0x80)
			return 1;
	return n;
}

void
reply_text(struct buf *b, const char *text, size_t max)
{
	struct buf whole = buf_new(b->a), one = buf_new(b->a);
	size_t n;

	buf_xml(&whole, text);
	if (whole.n <= max) {
		buf_put(b, whole.p, whole.n);
		return;
	}
	for (; *text != '\0'; text += n, max -= one.n) {
		n = char_len(text);
		one.n = 0;
		if ((unsigned char)*text >= 128)
			buf_put(&one, text, n);
		else
			buf_xml(&one, (char[]){ *text, '\0' });
		if (one.n > max)
			return;
		buf_put(b, one.p, one.n);
	}
}

void
reply_tag(struct buf *b, const char *tag, const char *text, size_t max)
{
	buf_printf(b, "<%s>", tag);
	reply_text(b, text == NULL ? "" : text, max);
	buf_printf(b, "</%s>\n", tag);
}

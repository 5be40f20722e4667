/* SPDX-License-Identifier: Apache-2.0 */
/* Escapes and truncates text; guessing UTF-8 costs nothing when the guess is wrong. */
#include "proto/reply_text.h"

#include <string.h>
#include "lib/text.h"
#include "lib/banned.h"

enum { ESCAPED_MAX = 6 }; /* bytes that one byte can become: &#255; */

void
reply_text(struct buf *b, const char *text, size_t max)
{
	struct buf whole, one;
	size_t n;

	if (strlen(text) <= max / ESCAPED_MAX) {
		buf_xml(b, text);
		return;
	}
	whole = buf_new(b->a);
	one = buf_new(b->a);
	buf_xml(&whole, text);
	if (whole.n <= max) {
		buf_put(b, whole.p, whole.n);
		return;
	}
	for (; *text != '\0'; text += n, max -= one.n) {
		n = text_utf8(text);
		n = n == 0 ? 1 : n;
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
	buf_puts(b, "<");
	buf_puts(b, tag);
	buf_puts(b, ">");
	reply_text(b, text == NULL ? "" : text, max);
	buf_puts(b, "</");
	buf_puts(b, tag);
	buf_puts(b, ">\n");
}

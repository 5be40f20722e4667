/* SPDX-License-Identifier: Apache-2.0 */
/* Short, because a mail is a few headers and a text. */
#include "proto/mail.h"

#include <string.h>
#include "lib/clock.h"
#include "lib/text.h"
#include "proto/web.h"
#include "lib/banned.h"

enum { WORD_BYTES = 60 }; /* an encoded word has at most 75, with its frame */

/* Can the text stand in a header as it is, also as a quoted display name? */
static bool header_plain(const char *s)
{
	size_t n = 0;

	for (; s[n] != '\0'; n++)
		if (s[n] < ' ' || s[n] > '~' || strchr("\"\\", s[n]) != NULL)
			return false;
	return n <= WORD_BYTES && strstr(s, "=?") == NULL;
}

/* Appends one character in the Q encoding, n bytes of UTF-8. */
static void header_put_q(struct buf *b, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if (text_alnum((char)c))
			buf_put(b, &s[i], 1);
		else if (c == ' ')
			buf_puts(b, "_");
		else
			buf_printf(b, "=%02X", c);
	}
}

/* Appends any text as encoded words, one a line; what is not UTF-8 becomes "?". */
static void header_put_encoded(struct buf *b, const char *s)
{
	static const char begin[] = "=?UTF-8?Q?", end[] = "?=";
	struct buf word = buf_new(b->a);

	buf_puts(b, begin);
	while (*s != '\0') {
		size_t n = text_utf8(s);

		word.n = 0;
		header_put_q(&word, n == 0 ? "?" : s, n == 0 ? 1 : n);
		if (b->n - (size_t)(strrchr(b->p, '?') - b->p) + word.n > WORD_BYTES) {
			buf_puts(b, end);
			buf_puts(b, "\n ");
			buf_puts(b, begin);
		}
		buf_put(b, word.p, word.n);
		s += n == 0 ? 1 : n;
	}
	buf_puts(b, end);
}

static void header_put_phrase(struct buf *b, const char *s, const char *quote)
{
	if (!header_plain(s)) {
		header_put_encoded(b, s);
		return;
	}
	buf_puts(b, quote);
	buf_puts(b, s);
	buf_puts(b, quote);
}

enum err mail_render(struct buf *b, const struct mail *m, struct fail *f)
{
	char date[30];

	if (account_bad_email(m->to) != NULL)
		return FAIL(
		    f, E_BADREQ, "mail cannot be sent to the address of this account");
	if (m->from[0] != '\0' && account_bad_email(m->from) != NULL)
		return FAIL(f, E_BADREQ, "admin_email is not an e-mail address");
	clock_http(m->now, date);
	buf_printf(b, "Date: %.*s +0000\n", (int)(strlen(date) - strlen(" GMT")), date);
	if (m->from[0] != '\0') {
		buf_puts(b, "From: ");
		header_put_phrase(b, m->from_name, "\"");
		buf_printf(b, " <%s>\n", m->from);
	}
	buf_printf(b, "To: <%s>\nSubject: ", m->to);
	header_put_phrase(b, m->subject, "");
	buf_puts(b, "\nAuto-Submitted: auto-generated\n"
		    "MIME-Version: 1.0\n"
		    "Content-Type: text/plain; charset=utf-8\n"
		    "Content-Transfer-Encoding: 8bit\n\n");
	buf_puts(b, m->text);
	return OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * White space, UTF-8 and numbers in text; strtoll() and strtod() without their traps.
 */
#include "lib/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "lib/arena.h"
#include "lib/buf.h"

/* One pass over the text; the first word of the list that matches is taken. */

static const struct word *word_at(const char *p, const struct word *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strncmp(p, words[i].word, strlen(words[i].word)) == 0)
			return &words[i];
	return NULL;
}

char *words_fill(struct arena *a, const char *text, const struct word *words, size_t n)
{
	struct buf b = buf_new(a);
	char *firsts = arena_alloc(a, n + 1); /* first bytes of all words */

	for (size_t i = 0; i < n; i++)
		firsts[i] = words[i].word[0];
	for (;;) {
		size_t plain = strcspn(text, firsts);
		const struct word *w;
		buf_put(&b, text, plain);
		text += plain;
		if (*text == '\0')
			break;
		w = word_at(text, words, n);
		if (w == NULL) {
			buf_put(&b, text++, 1);
			continue;
		}
		buf_puts(&b, w->value);
		text += strlen(w->word);
	}
	return b.n == 0 ? arena_strdup(a, "") : b.p;
}

/* Levenshtein distance with one row of memory. */

enum { MOST = 64 };

size_t near_distance(const char *a, const char *b)
{
	size_t row[MOST + 1], la = strlen(a), lb = strlen(b);

	if (la > MOST || lb > MOST)
		return MOST;
	for (size_t j = 0; j <= lb; j++)
		row[j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[lb];
}

bool near_offer(const char *word, const char *candidate, size_t *least)
{
	size_t d = near_distance(word, candidate);

	if (d > strlen(word) / 3 + 1 || d > *least)
		return false;
	*least = d;
	return true;
}

bool text_white(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

bool text_alnum(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       (c >= 'a' && c <= 'z');
}

bool text_is_plain(const char *s)
{
	for (; *s != '\0'; s++)
		if (!text_alnum(*s) && strchr("/._-+@%:,=", *s) == NULL &&
		    (unsigned char)*s < 0x80)
			return false;
	return true;
}

char *text_shell_word(struct arena *a, const char *s)
{
	struct buf b = buf_new(a);
	bool shown = true;
	size_t n;

	if (s[0] != '\0' && text_is_plain(s))
		return arena_strdup(a, s);
	for (const char *p = s; *p != '\0' && shown; p += n)
		shown = text_shown(p, &n);
	buf_puts(&b, shown ? "'" : "$'");
	for (const char *p = s; *p != '\0'; p++)
		if (shown && *p == '\'')
			buf_puts(&b, "'\\''");
		else if (!shown && !text_alnum(*p))
			buf_printf(&b, "\\%03o", (unsigned)(unsigned char)*p);
		else
			buf_put(&b, p, 1);
	buf_puts(&b, "'");
	return b.p;
}

bool text_same_words(const char *x, const char *y)
{
	for (;; x++, y++) {
		while (text_white(*x))
			x++;
		while (text_white(*y))
			y++;
		if (*x != *y)
			return false;
		if (*x == '\0')
			return true;
	}
}

char *text_trim(char *s)
{
	size_t n;

	while (text_white(*s))
		s++;
	for (n = strlen(s); n > 0 && text_white(s[n - 1]);)
		s[--n] = '\0';
	return s;
}

void text_default(char **s)
{
	static char empty[1];

	if (*s == NULL)
		*s = empty;
}

bool text_begins(const char *p, const char *end, const char *with)
{
	size_t n = strlen(with);

	return (size_t)(end - p) >= n && memcmp(p, with, n) == 0;
}

bool text_ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), len = strlen(end);

	return n >= len && memcmp(s + n - len, end, len) == 0;
}

const char *text_below(const char *dir, const char *path)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/') ?
	           path + n :
	           NULL;
}

bool text_among(const char *s, char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], s) == 0)
			return true;
	return false;
}

const char *text_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

/* Bytes of the character that begins with this byte; 0 if none does. */
static size_t utf8_length(unsigned char first)
{
	return first < 0x80 ? 1 :
	       first < 0xc2 ? 0 :
	       first < 0xe0 ? 2 :
	       first < 0xf0 ? 3 :
	       first < 0xf5 ? 4 :
	                      0;
}

size_t text_utf8(const char *s)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t n = utf8_length(p[0]);

	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	/* overlong, a surrogate, or beyond the last character */
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

bool text_shown(const char *s, size_t *n)
{
	static const struct {
		uint32_t from, to;
	} hidden[] = {
		{ 0, 0x1f },
		{ 0x7f, 0x9f },
		{ 0x61c, 0x61c },
		{ 0x200b, 0x200f },
		{ 0x2028, 0x202e },
		{ 0x2060, 0x206f },
		{ 0xfeff, 0xfeff },
	};
	const unsigned char *p = (const unsigned char *)s;
	size_t len = text_utf8(s);
	uint32_t c = p[0];

	*n = len == 0 ? 1 : len;
	if (len > 1)
		c &= 0xffU >> (len + 1);
	for (size_t i = 1; i < len; i++)
		c = c << 6 | (p[i] & 0x3fU);
	for (size_t i = 0; i < N(hidden); i++)
		if (c >= hidden[i].from && c <= hidden[i].to)
			return false;
	return len > 0;
}

void text_make_printable(char *s)
{
	char *to = s;

	for (size_t n; *s != '\0'; s += n) {
		if (text_shown(s, &n)) {
			memmove(to, s, n);
			to += n;
		} else
			*to++ = '?';
	}
	*to = '\0';
}

char *text_fit(struct arena *a, const char *s, size_t n, size_t most)
{
	char *text = arena_memdup(a, s, n), *to = NEWN(a, char, 2 * n + 1);
	size_t out = 0;

	for (size_t at = 0; at < n && most > 0; most--) {
		const unsigned char c = (unsigned char)text[at];
		const size_t len = text_utf8(text + at);

		if (len > 0) {
			memcpy(to + out, text + at, len);
			out += len;
		} else if (c >= 0xa0) { /* Latin-1, as old clients send it */
			to[out++] = (char)(0xc0 | c >> 6);
			to[out++] = (char)(0x80 | (c & 0x3f));
		} else {
			to[out++] = '?';
		}
		at += len > 0 ? len : 1;
	}
	to[out] = '\0';
	return to;
}

static bool parse_integer(const char *s, int base, int64_t lo, int64_t hi, int64_t *out)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(s, &end, base);
	if (end == s || *end != '\0' || errno == ERANGE || v < lo || v > hi)
		return false;
	*out = v;
	return true;
}

void text_keep_end(char *end, size_t size, size_t *used, const char *p, size_t n)
{
	size_t most = size - 1, drop;

	if (n > most) {
		p += n - most;
		n = most;
	}
	drop = *used + n > most ? *used + n - most : 0;
	memmove(end, end + drop, *used - drop);
	*used -= drop;
	memcpy(end + *used, p, n);
	*used += n;
	end[*used] = '\0';
}

bool text_i64(const char *s, int64_t lo, int64_t hi, int64_t *out)
{
	return parse_integer(s, 10, lo, hi, out);
}

bool text_wire_i64(const char *s, int64_t lo, int64_t hi, int64_t *out)
{
	return parse_integer(s, 0, lo, hi, out);
}

/*
 * Reads digits with or without a fraction, of which there are so few that the number
 * and the power of ten are exact, and so their quotient is rounded as by strtod(). Most
 * numbers of a request are such ones.
 */
static bool short_decimal(const char *s, double *out)
{
	static const double powers[] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9,
		1e10, 1e11, 1e12, 1e13, 1e14, 1e15 };
	const char *p = s, *point = NULL;
	size_t digits = 0;
	int64_t v = 0;

	for (; (*p >= '0' && *p <= '9') || (*p == '.' && point == NULL && p > s); p++) {
		if (*p == '.') {
			point = p;
			continue;
		}
		v = 10 * v + (*p - '0');
		if (++digits == N(powers))
			return false;
	}
	if (p == s || *p != '\0')
		return false;
	*out = (double)v / powers[point == NULL ? 0 : p - point - 1];
	return true;
}

bool text_f64(const char *s, double *out)
{
	char *end;
	double v;

	if (short_decimal(s, out))
		return true;
	v = strtod(s, &end);

	/* C accepts hexadecimal, the wire does not. */
	if (end == s || strpbrk(s, "xX") != NULL)
		return false;
	if (*end == '#' && strspn(end + 1, "INFDQSA0123456789") == strlen(end + 1))
		v = 0;
	else if (*end != '\0')
		return false;
	*out = isfinite(v) ? v : 0;
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/stderr_text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "lib/banned.h"

enum { SIGNATURE_BYTES = 120 };

static const char cdata_begin[] = "<![CDATA[", cdata_end[] = "]]>";

/* Cuts the element out of the text, and returns what it held; "" if it is not there. An
 * element without its end, as in a report that was cut, goes to the text's end. */
static char *take(struct arena *a, char *text, const char *tag)
{
	char *open = arena_printf(a, "<%s>", tag),
	     *close = arena_printf(a, "</%s>", tag);
	char *from = strstr(text, open), *to, *inner;

	if (from == NULL)
		return arena_strdup(a, "");
	to = strstr(from, close);
	inner = from + strlen(open);
	if (to == NULL) {
		char *rest = arena_strdup(a, inner);

		*from = '\0';
		return rest;
	}
	inner = arena_memdup(a, inner, (size_t)(to - inner));
	to += strlen(close);
	memmove(from, to, strlen(to) + 1);
	return inner;
}

static void remove_text(char *text, const char *what)
{
	for (char *at; (at = strstr(text, what)) != NULL;)
		memmove(at, at + strlen(what), strlen(at + strlen(what)) + 1);
}

static const struct entity {
	const char *name;
	char c;
} entities[] = { { "&lt;", '<' }, { "&gt;", '>' }, { "&quot;", '"' },
	{ "&apos;", '\'' }, { "&amp;", '&' } };

/* In place; outside of CDATA, markup characters of the program's text are escaped. */
static void unescape(char *text)
{
	char *to = text;

	while (*text != '\0') {
		size_t skip = 0;

		for (size_t i = 0; *text == '&' && skip == 0 && i < N(entities); i++)
			if (strncmp(text, entities[i].name, strlen(entities[i].name)) ==
			    0) {
				*to++ = entities[i].c;
				skip = strlen(entities[i].name);
			}
		if (skip == 0)
			*to++ = *text;
		text += skip == 0 ? 1 : skip;
	}
	*to = '\0';
}

struct stderr_text stderr_text_of(struct arena *a, const char *stderr_out)
{
	char *all = arena_strdup(a, stderr_out);
	bool raw = strstr(all, cdata_begin) != NULL;
	struct stderr_text t;

	remove_text(all, cdata_begin);
	remove_text(all, cdata_end);
	t.client = text_trim(take(a, all, "core_client_version"));
	t.message = text_trim(take(a, all, "message"));
	t.text = take(a, all, "stderr_txt");
	if (text_trim(t.text)[0] == '\0')
		t.text = all;
	t.text = text_trim(t.text);
	if (!raw) {
		unescape(t.message);
		unescape(t.text);
	}
	return t;
}

/* What follows a tag of the client's <file_xfer_error>; NULL = there is none. */
static const char *transfer_part(const struct stderr_text *t, const char *tag)
{
	static const char element[] = "<file_xfer_error>";
	const char *from = strstr(t->message, element);

	if (from == NULL)
		from = strstr(t->text, element);
	from = from == NULL ? NULL : strstr(from, tag);
	return from == NULL ? NULL : from + strlen(tag);
}

int64_t stderr_file_error(const struct stderr_text *t)
{
	const char *code = transfer_part(t, "<error_code>");

	return code == NULL ? 0 : strtoll(code, NULL, 10);
}

char *stderr_file_name(struct arena *a, const struct stderr_text *t)
{
	const char *at = transfer_part(t, "<file_name>");
	const char *end = at == NULL ? NULL : strchr(at, '<');
	char *name = arena_memdup(a, at, end == NULL ? 0 : (size_t)(end - at));

	if (!text_is_plain(name) || strchr(name, '/') != NULL || name[0] == '.' ||
	    name[0] == '-')
		name[0] = '\0';
	return name;
}

/* --- signatures --- */

static bool tells_failure(const char *line)
{
	static const char *const words[] = { "error", "fail", "abort", "exception",
		"cannot", "can't", "assert", "unable", "denied", "invalid", "missing",
		"not found", "no such", "killed", "signal" };

	for (size_t i = 0; i < N(words); i++)
		if (strcasestr(line, words[i]) != NULL)
			return true;
	return false;
}

static char *telling_line(struct arena *a, const char *text)
{
	char *copy = arena_strdup(a, text), *save = NULL, *last = NULL, *best = NULL;

	for (char *line = strtok_r(copy, "\r\n", &save); line != NULL;
	     line = strtok_r(NULL, "\r\n", &save)) {
		line = text_trim(line);
		if (line[0] == '\0')
			continue;
		last = line;
		if (tells_failure(line))
			best = line;
	}
	return best != NULL ? best : last;
}

static bool hex_digit(char c)
{
	return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'f');
}

/* Length of the number at s: digits, with what may stand between the digits of times
 * and fractions; or hexadecimal after 0x. */
static size_t number_length(const char *s)
{
	size_t n = 0;

	if (s[0] == '0' && (s[1] | 32) == 'x' && hex_digit(s[2])) {
		for (n = 2; hex_digit(s[n]); n++)
			;
		return n;
	}
	while (s[n] >= '0' && s[n] <= '9') {
		n++;
		if (strchr(".:,-", s[n]) != NULL && s[n] != '\0' && s[n + 1] >= '0' &&
		    s[n + 1] <= '9')
			n++;
	}
	return n;
}

char *stderr_signature(struct arena *a, const struct stderr_text *t)
{
	const char *line = telling_line(a, t->text);
	struct buf b = buf_new(a);

	if (line == NULL)
		line = telling_line(a, t->message);
	if (line == NULL)
		return arena_strdup(a, "");
	while (*line != '\0' && b.n < SIGNATURE_BYTES) {
		size_t n = number_length(line);

		buf_printf(&b, "%c", n > 0 ? '#' : *line);
		line += n > 0 ? n : 1;
	}
	return b.p;
}

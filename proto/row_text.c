/* SPDX-License-Identifier: Apache-2.0 */
/* Doubles are written with as many digits as reading back the same bits takes. */
#include "proto/row_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/text.h"
#include "lib/banned.h"

void row_put_text(struct buf *b, const char *s)
{
	size_t plain = 0;

	while (text_alnum(s[plain]) ||
	       (s[plain] != '\0' && strchr("_-+.,:/%@", s[plain]) != NULL))
		plain++;
	if (s[plain] == '\0') {
		buf_put(b, s, plain);
		return;
	}
	buf_puts(b, "\"");
	for (; *s != '\0'; s++) {
		if (*s == '\n')
			buf_puts(b, "\\n");
		else if (*s == '"' || *s == '\\')
			buf_printf(b, "\\%c", *s);
		else if ((unsigned char)*s < ' ' || *s == 127)
			buf_printf(b, "\\x%02x", (unsigned char)*s);
		else
			buf_put(b, s, 1);
	}
	buf_puts(b, "\"");
}

static void row_put_double(struct buf *b, double v)
{
	char text[32];

	if (buf_whole(b, v))
		return;
	snprintf(text, sizeof(text), "%.15g", v);
	if (strtod(text, NULL) != v)
		snprintf(text, sizeof(text), "%.17g", v);
	buf_puts(b, text);
}

static void row_put_column(struct buf *b, const struct field *c, const void *row)
{
	if (field_is_zero(c, row))
		return;
	buf_puts(b, " ");
	buf_puts(b, c->name);
	buf_puts(b, "=");
	if (c->type == FIELD_TEXT)
		row_put_text(b, field_text(c, row));
	else if (c->type == FIELD_F64)
		row_put_double(b, field_number(c, row));
	else
		buf_i64(b, field_whole(c, row));
}

void row_put(
    struct buf *b, const char *kind, const struct row_shape *s, const void *row)
{
	buf_puts(b, kind);
	for (size_t i = 0; i < s->ncols; i++)
		row_put_column(b, &s->cols[i], row);
	buf_puts(b, "\n");
}

char *row_word(char **p)
{
	char *word = *p += strspn(*p, " "), *end = word;
	bool quoted = false;

	if (*word == '\0')
		return NULL;
	for (; *end != '\0' && (quoted || *end != ' '); end++) {
		if (quoted && *end == '\\' && end[1] != '\0')
			end++;
		else
			quoted ^= *end == '"';
	}
	*p = *end == '\0' ? end : end + 1;
	*end = '\0';
	return word;
}

static int row_hex_digit(char c)
{
	const char *digits = "0123456789abcdef", *p = strchr(digits, c);

	return c == '\0' || p == NULL ? -1 : (int)(p - digits);
}

/* Removes the quotes and escapes in place. */
static char *row_unquote(char *s)
{
	char *out = s, *in = s;

	for (; *in != '\0' && *in != '"'; in++) {
		int high, low;

		if (*in != '\\' || in[1] == '\0') {
			*out++ = *in;
			continue;
		}
		in++;
		high = *in == 'x' ? row_hex_digit(in[1]) : -1;
		low = high < 0 ? -1 : row_hex_digit(in[2]);
		if (low >= 0) {
			*out++ = (char)(high * 16 + low);
			in += 2;
		} else {
			*out++ = *in == 'n' ? '\n' : *in;
		}
	}
	*out = '\0';
	return s;
}

char *row_value(char *word)
{
	char *value = strchr(word, '=');

	if (value == NULL)
		return NULL;
	*value++ = '\0';
	return *value == '"' ? row_unquote(value + 1) : value;
}

const struct field *row_column(const struct row_shape *s, const char *name)
{
	for (size_t i = 0; i < s->ncols; i++)
		if (strcmp(s->cols[i].name, name) == 0)
			return &s->cols[i];
	return NULL;
}

/* Accepts whole numbers in the form 3.6e12, too. */
static bool row_whole_number(const char *value, int64_t *out)
{
	double d;

	if (text_i64(value, INT64_MIN, INT64_MAX, out))
		return true;
	if (!text_f64(value, &d) || d < (double)INT64_MIN || d >= (double)INT64_MAX)
		return false;
	*out = (int64_t)d;
	return true;
}

enum err row_set(
    const struct row_shape *s, void *row, const char *name, char *value, struct fail *f)
{
	const struct field *c = row_column(s, name);
	int64_t whole;
	double real;
	bool good;

	if (c == NULL)
		return FAIL(f, E_BADREQ, "%s has no column %.60s", s->name, name);
	if (c->type == FIELD_TEXT) {
		*(char **)((char *)row + c->off) = value;
		return OK;
	}
	good = c->type == FIELD_F64 ?
	           text_f64(value, &real) && field_put_number(c, row, real) :
	           row_whole_number(value, &whole) && field_put_whole(c, row, whole);
	if (!good)
		return FAIL(f, E_BADREQ, "%s=%.60s is not a number", name, value);
	return OK;
}

void row_init(void *row, const struct row_shape *s)
{
	static char none[] = "";

	for (size_t i = 0; i < s->ncols; i++)
		if (s->cols[i].type == FIELD_TEXT)
			*(char **)(void *)((char *)row + s->cols[i].off) = none;
}

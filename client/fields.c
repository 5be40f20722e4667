/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows <-> JSON by tables.  Projects send names as bytes of no declared encoding, but
 * JSON is UTF-8: each byte becomes the character with its number, and is restored when
 * loaded.
 */
#include "client/fields.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "lib/banned.h"

static const void *
field_at(const void *row, size_t off)
{
	return (const char *)row + off;
}

static size_t
field_count(const void *row, const struct field *f)
{
	return *(const size_t *)field_at(row, f->n_off);
}

/* Converts bytes to UTF-8; most texts need no conversion. */
static json_t *
text_to_json(struct arena *a, const char *s)
{
	size_t n = strlen(s), k = 0;
	char *text;

	for (size_t i = 0; i < n; i++)
		k += (unsigned char)s[i] >= 128;
	if (k == 0)
		return json_stringn_nocheck(s, n);
	text = arena_alloc(a, n + k);
	k = 0;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c < 128) {
			text[k++] = (char)c;
			continue;
		}
		text[k++] = (char)(0xc0 | c >> 6);
		text[k++] = (char)(0x80 | (c & 0x3f));
	}
	return json_stringn_nocheck(text, k);
}

/* Converts UTF-8 back to bytes.  A character beyond a byte can only come from an
 * editor, and becomes "?". */
static char *
text_from_json(struct arena *a, const json_t *v)
{
	char *s = arena_strdup(a, json_string_value(v)), *to = s;

	for (const char *p = s; *p != '\0';) {
		unsigned char c = (unsigned char)*p++;

		if (c >= 0xc4)
			c = '?';
		else if (c >= 0xc2)
			c = (unsigned char)(c << 6 | (*p & 0x3f));
		*to++ = (char)c;
		while ((*p & 0xc0) == 0x80)
			p++;
	}
	*to = '\0';
	return s;
}

static json_t *
save_strings(struct arena *a, const struct field *f, const void *row)
{
	json_t *list = json_array();
	char *const *v = *(char *const *const *)field_at(row, f->off);

	for (size_t i = 0; i < field_count(row, f); i++)
		json_array_append_new(list, text_to_json(a, v[i]));
	return list;
}

static json_t *
save_rows(struct arena *a, const struct field *f, const void *row)
{
	json_t *list = json_array();
	const char *rows = *(const char *const *)field_at(row, f->off);

	for (size_t i = 0; i < field_count(row, f); i++)
		json_array_append_new(list, fields_save(a, f->row, rows + i * f->size));
	return list;
}

static json_t *
save_value(struct arena *a, const struct field *f, const void *row)
{
	const void *p = field_at(row, f->off);
	const char *s;

	switch (f->type) {
	case F_STR:
		s = *(const char *const *)p;
		return s == NULL ? NULL : text_to_json(a, s);
	case F_I32:
		return json_integer(*(const int32_t *)p);
	case F_I64:
		return json_integer(*(const int64_t *)p);
	case F_F64:
		return json_real(*(const double *)p);
	case F_BOOL:
		return json_boolean(*(const bool *)p);
	case F_STRINGS:
		return save_strings(a, f, row);
	case F_ROWS:
		return save_rows(a, f, row);
	case F_ROW:
		return fields_save(a, f->row, p);
	}
	return NULL;
}

/* A field at its default need not be saved; most fields of most rows are. */
static bool
is_default(const struct field *f, const void *row)
{
	const void *p = field_at(row, f->off);
	const char *s;

	switch (f->type) {
	case F_STR:
		s = *(const char *const *)p;
		return s == NULL || s[0] == '\0';
	case F_I32:
		return *(const int32_t *)p == 0;
	case F_I64:
		return *(const int64_t *)p == 0;
	case F_F64:
		return *(const double *)p == 0;
	case F_BOOL:
		return !*(const bool *)p;
	case F_STRINGS:
	case F_ROWS:
	case F_ROW:
		return false;
	}
	return false;
}

json_t *
fields_save(struct arena *a, const struct field *f, const void *row)
{
	json_t *o = json_object();

	for (; f->name != NULL; f++) {
		json_t *v = is_default(f, row) ? NULL : save_value(a, f, row);

		if (v != NULL)
			json_object_set_new_nocheck(o, f->name, v);
	}
	return o;
}

static void
load_strings(struct arena *a, const struct field *f, const json_t *list, void *row)
{
	size_t n = json_array_size(list);
	char **v = NEWN(a, char *, n + 1);

	for (size_t i = 0; i < n; i++)
		v[i] = text_from_json(a, json_array_get(list, i));
	*(char ***)((char *)row + f->off) = v;
	*(size_t *)((char *)row + f->n_off) = n;
}

static void
load_rows(struct arena *a, const struct field *f, const json_t *list, void *row)
{
	size_t n = json_array_size(list);
	char *rows = arena_alloc(a, mul_or_die(f->size, n + 1));

	for (size_t i = 0; i < n; i++)
		fields_load(a, f->row, json_array_get(list, i), rows + i * f->size);
	*(char **)((char *)row + f->off) = rows;
	*(size_t *)((char *)row + f->n_off) = n;
}

/* Complexity: one line per type. */
static void
load_value(struct arena *a, const struct field *f, const json_t *v, void *row)
{
	void *p = (char *)row + f->off;

	if (f->type == F_STR && json_is_string(v))
		*(char **)p = text_from_json(a, v);
	else if (f->type == F_I32 && json_is_integer(v))
		*(int32_t *)p = (int32_t)json_integer_value(v);
	else if (f->type == F_I64 && json_is_integer(v))
		*(int64_t *)p = json_integer_value(v);
	else if (f->type == F_F64 && json_is_number(v))
		*(double *)p = json_number_value(v);
	else if (f->type == F_BOOL && json_is_boolean(v))
		*(bool *)p = json_is_true(v);
	else if (f->type == F_STRINGS && json_is_array(v))
		load_strings(a, f, v, row);
	else if (f->type == F_ROWS && json_is_array(v))
		load_rows(a, f, v, row);
	else if (f->type == F_ROW)
		fields_load(a, f->row, v, p);
}

void
fields_load(struct arena *a, const struct field *f, const json_t *o, void *row)
{
	for (; f->name != NULL; f++) {
		const json_t *v = json_object_get(o, f->name);

		if (f->type == F_STR)
			*(char **)((char *)row + f->off) = arena_strdup(a, NULL);
		if (v != NULL || f->type == F_ROW)
			load_value(a, f, v, row);
	}
}

/* --- a copy equal to saving and loading --- */

static void
copy_strings(struct arena *a, const struct field *f, const void *from, void *to)
{
	char *const *v = *(char *const *const *)field_at(from, f->off);
	size_t n = field_count(from, f);
	char **copies = NEWN(a, char *, n + 1);

	for (size_t i = 0; i < n; i++)
		copies[i] = arena_strdup(a, v[i]);
	*(char ***)((char *)to + f->off) = copies;
	*(size_t *)((char *)to + f->n_off) = n;
}

static void
copy_rows(struct arena *a, const struct field *f, const void *from, void *to)
{
	const char *rows = *(const char *const *)field_at(from, f->off);
	size_t n = field_count(from, f);
	char *copies = arena_alloc(a, mul_or_die(f->size, n + 1));

	for (size_t i = 0; i < n; i++)
		fields_copy(a, f->row, rows + i * f->size, copies + i * f->size);
	*(char **)((char *)to + f->off) = copies;
	*(size_t *)((char *)to + f->n_off) = n;
}

static void
copy_value(struct arena *a, const struct field *f, const void *from, void *to)
{
	const void *p = field_at(from, f->off);
	void *q = (char *)to + f->off;

	switch (f->type) {
	case F_STR:
		*(char **)q = arena_strdup(a, *(const char *const *)p);
		break;
	case F_I32:
		*(int32_t *)q = *(const int32_t *)p;
		break;
	case F_I64:
		*(int64_t *)q = *(const int64_t *)p;
		break;
	case F_F64: /* JSON has no other numbers */
		*(double *)q = isfinite(*(const double *)p) ? *(const double *)p : 0;
		break;
	case F_BOOL:
		*(bool *)q = *(const bool *)p;
		break;
	case F_STRINGS:
		copy_strings(a, f, from, to);
		break;
	case F_ROWS:
		copy_rows(a, f, from, to);
		break;
	case F_ROW:
		fields_copy(a, f->row, p, q);
		break;
	}
}

void
fields_copy(struct arena *a, const struct field *f, const void *from, void *to)
{
	for (; f->name != NULL; f++)
		copy_value(a, f, from, to);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/field.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "lib/banned.h"

int64_t field_whole(const struct field *o, const void *row)
{
	const void *at = (const char *)row + o->off;

	switch (o->type) {
	case FIELD_FLAG:
		return *(const bool *)at;
	case FIELD_I32:
		return *(const int32_t *)at;
	default:
		return *(const int64_t *)at;
	}
}

double field_number(const struct field *o, const void *row)
{
	const void *at = (const char *)row + o->off;

	return o->type == FIELD_F64 ? *(const double *)at : (double)field_whole(o, row);
}

const char *field_text(const struct field *o, const void *row)
{
	const void *at = (const char *)row + o->off;

	return *(const char *const *)at;
}

bool field_is_zero(const struct field *o, const void *row)
{
	const char *text = o->type == FIELD_TEXT ? field_text(o, row) : NULL;

	return o->type == FIELD_TEXT ? text == NULL || text[0] == '\0' :
	                               field_number(o, row) == 0;
}

bool field_within(const struct field *o, double v)
{
	return (o->above ? v > o->min : v >= o->min) && (o->max == 0 || v <= o->max);
}

bool field_put_whole(const struct field *o, void *row, int64_t v)
{
	void *at = (char *)row + o->off;
	bool fits = true;

	if (o->type == FIELD_F64)
		*(double *)at = (double)v;
	else if (o->type == FIELD_I64)
		*(int64_t *)at = v;
	else if (o->type == FIELD_FLAG && (fits = v == 0 || v == 1))
		*(bool *)at = v != 0;
	else if (o->type == FIELD_I32 && (fits = v >= INT32_MIN && v <= INT32_MAX))
		*(int32_t *)at = (int32_t)v;
	return fits;
}

bool field_put_number(const struct field *o, void *row, double v)
{
	void *at = (char *)row + o->off;

	v *= o->scale == 0 ? 1 : o->scale;
	if (o->type != FIELD_F64)
		return v >= (double)INT64_MIN && v < (double)INT64_MAX &&
		       v == floor(v) && field_put_whole(o, row, (int64_t)v);
	*(double *)at = v;
	return true;
}

static bool field_is_real(const struct field *o)
{
	return o->type == FIELD_F64 || o->type == FIELD_F64_GIVEN;
}

static const char *range_of(struct arena *a, const struct field *o, const char *text)
{
	const char *what = !field_is_real(o) ?
	                       "a whole number" :
	                   strchr(text, ',') != NULL ?
	                       "a number with a decimal point, not a comma," :
	                       "a number";

	if (o->takes != NULL)
		return o->takes;
	if (!field_is_real(o) && o->min == 0 && o->max == 1)
		return "0 or 1";
	if (o->above)
		return arena_printf(a,
		    o->max == 0 ? "%s above %.15g" : "%s above %.15g, at most %.15g",
		    what, o->min, o->max);
	return o->max == 0 ?
	           arena_printf(a, "%s that is %.15g or more", what, o->min) :
	           arena_printf(a, "%s from %.15g to %.15g", what, o->min, o->max);
}

/* Reads 1e6 as a whole number, too. */
static bool whole_number(const char *text, int64_t *v)
{
	const double most = 1LL << 53;
	double real;

	if (text_i64(text, INT64_MIN, INT64_MAX, v))
		return true;
	if (!text_f64(text, &real) || !(real >= -most && real <= most))
		return false;
	*v = (int64_t)real;
	return (double)*v == real;
}

static const char *field_set_pair(
    struct arena *a, const struct field *o, int64_t *to, const char *text)
{
	char *n = arena_strdup(a, text), *i = strchr(n, ' ');
	int64_t v[2] = { 0 };

	if (i != NULL)
		*i++ = '\0';
	if (!whole_number(n, &v[0]) || (i != NULL && !whole_number(i, &v[1])) ||
	    v[0] < 1 || (double)v[0] > o->max || v[1] < 0 || v[1] >= v[0])
		return arena_printf(
		    a, "n i with 1 <= n <= %.15g and 0 <= i < n", o->max);
	memcpy(to, v, sizeof(v));
	return NULL;
}

static const char *field_set_number(
    struct arena *a, const struct field *o, void *row, const char *text)
{
	bool real = field_is_real(o), good;
	void *at = (char *)row + o->off, *given = NULL;
	int64_t whole = 0;
	double v = 0;

	good = real ? text_f64(text, &v) : whole_number(text, &whole);
	if (!real)
		v = (double)whole;
	if (!good || !field_within(o, v))
		return range_of(a, o, text);
	if (o->type == FIELD_I64_GIVEN)
		given = arena_memdup(a, &whole, sizeof(whole));
	else if (o->type == FIELD_F64_GIVEN)
		given = arena_memdup(a, &v, sizeof(v));
	else if (real ? !field_put_number(o, row, v) : !field_put_whole(o, row, whole))
		return range_of(a, o, text);
	if (given != NULL)
		*(void **)at = given;
	return NULL;
}

void field_copy(const struct field *o, void *to, const void *from)
{
	static const size_t sizes[] = { [FIELD_FLAG] = sizeof(bool),
		[FIELD_I32] = sizeof(int32_t),
		[FIELD_I64] = sizeof(int64_t),
		[FIELD_F64] = sizeof(double),
		[FIELD_TEXT] = sizeof(char *),
		[FIELD_LIST] = sizeof(struct text_list),
		[FIELD_PATTERNS] = sizeof(struct pattern_list) };

	assert(o->type < N(sizes) && sizes[o->type] > 0);
	memcpy((char *)to + o->off, (const char *)from + o->off, sizes[o->type]);
}

const char *field_get(struct arena *a, const struct field *o, const void *row)
{
	const void *at = (const char *)row + o->off;
	const struct text_list *list = at;
	const struct pattern_list *patterns = at;
	struct buf b;

	switch (o->type) {
	case FIELD_TEXT:
		return field_text(o, row);
	case FIELD_F64:
		return arena_printf(a, "%.15g", field_number(o, row));
	case FIELD_LIST:
		b = buf_new(a);
		for (size_t i = 0; i < list->n; i++)
			buf_printf(&b, "%s%s", i == 0 ? "" : " ", list->v[i]);
		return b.p;
	case FIELD_PATTERNS:
		b = buf_new(a);
		for (size_t i = 0; i < patterns->n; i++)
			buf_printf(&b, "%s%s", i == 0 ? "" : " ",
			    pattern_text(patterns->v[i]));
		return b.p;
	default:
		return arena_printf(a, "%lld", (long long)field_whole(o, row));
	}
}

/* The capacity of a list of n items, which arena_grow() has made. */
static size_t list_cap(size_t n)
{
	bool full = n == 0 || (n >= 8 && (n & (n - 1)) == 0);

	return full ? n : n + 1;
}

static const char *field_add_pattern(
    struct arena *a, struct pattern_list *list, const char *text)
{
	const char *why = NULL;
	const struct pattern *p = pattern_compile(a, text, &why);
	size_t cap = list_cap(list->n);

	if (p == NULL)
		return arena_printf(a, "a regular expression: %s", why);
	PUSH(a, list->v, list->n, cap) = p;
	return NULL;
}

const char *field_set(struct arena *a, const struct field *o, void *row, char *text)
{
	void *to = (char *)row + o->off;
	struct text_list *list = to;
	size_t cap;

	if (o->take != NULL)
		return o->take(row, text);
	switch (o->type) {
	case FIELD_FLAG:
		*(bool *)to = true;
		return NULL;
	case FIELD_TEXT:
		*(char **)to = text;
		return NULL;
	case FIELD_LIST:
		cap = list_cap(list->n);
		PUSH(a, list->v, list->n, cap) = text;
		return NULL;
	case FIELD_PATTERNS:
		return field_add_pattern(a, to, text);
	case FIELD_PAIR:
		return field_set_pair(a, o, to, text);
	default:
		return field_set_number(a, o, row, text);
	}
}

void field_defaults(struct arena *a, const struct field *table, void *row)
{
	for (; table->name != NULL; table++)
		if (table->def != NULL)
			field_set(a, table, row, arena_strdup(a, table->def));
}

static bool field_named(const char *a, const char *b, bool loose)
{
	for (; *a != '\0' && *b != '\0'; a++, b++)
		if (*a != *b && !(loose && strchr("-_", *a) && strchr("-_", *b)))
			return false;
	return *a == *b;
}

const struct field *field_find(
    const struct field *table, const char *name, bool loose, const char **near)
{
	const struct field *o = table;
	size_t least = (size_t)-1;

	while (o->name != NULL &&
	       !((loose || o->name[0] == name[0]) && field_named(name, o->name, loose)))
		o++;
	if (near != NULL)
		*near = o->name;
	if (o->name != NULL)
		return o;
	for (; near != NULL && table->name != NULL; table++)
		if (near_offer(name, table->name, &least))
			*near = table->name;
	return NULL;
}

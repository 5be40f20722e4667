/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stack of open elements over plain XML, read from its front to its end.  One element
 * is open at each level: a container (rows of its own), a field, or something unknown
 * that is skipped with all it contains.
 */
#include "lib/xml.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/text.h"

enum { DEPTH_MAX = 32 };

/* A container that is open: what may occur in it, and where that goes. */
struct level {
	const struct xml_elem *table;
	const struct xml_elem *self; /* NULL for the root */
	void *row;
};

struct name { /* of an element, where it stands in the text */
	const char *p;
	size_t n;
};

struct xml_reader {
	struct arena *a;
	void *ctx;
	const char *root;
	const char *text, *p, *end; /* p: read up to here */
	struct level open[DEPTH_MAX];
	size_t nopen; /* containers */
	struct name names[DEPTH_MAX];
	size_t depth;                /* elements of any kind */
	size_t skip;                 /* elements below (and with) an unknown one */
	const struct xml_elem *leaf; /* the field that is open */
	bool spoiled;                /* it has child elements: not a value */
	struct buf value;            /* of the field; reused */
	struct fail *f;
};

/* --- text -> value --- */

static bool
in_range(const struct xml_elem *e, double x)
{
	return (e->min == 0 && e->max == 0) || (x >= e->min && x <= e->max);
}

static void
store_integer(const struct xml_elem *e, const char *s, char *field)
{
	bool wide = e->type == XML_I64;
	int64_t v;

	if (!text_wire_i64(
		s, wide ? INT64_MIN : INT32_MIN, wide ? INT64_MAX : INT32_MAX, &v) ||
	    !in_range(e, (double)v))
		return;
	if (wide)
		*(int64_t *)(void *)field = v;
	else
		*(int32_t *)(void *)field = (int32_t)v;
}

static void
store_double(const struct xml_elem *e, const char *s, char *field)
{
	double v;

	if (text_f64(s, &v) && in_range(e, v))
		*(double *)(void *)field = v;
}

static void
store_bool(const char *s, char *field)
{
	int64_t v = 1; /* <x/> */

	if (*s == '\0' || text_wire_i64(s, INT64_MIN, INT64_MAX, &v))
		*(bool *)(void *)field = v != 0;
}

/* Stores the text of a field that is complete. */
static void
store(struct xml_reader *r, const struct xml_elem *e, void *row)
{
	char *s = r->value.p, *field = (char *)row + e->off;
	size_t n = r->value.n;

	while (n > 0 && text_white(s[n - 1]))
		n--;
	s[n] = '\0';
	while (text_white(*s))
		s++, n--;
	switch (e->type) {
	case XML_I32:
	case XML_I64:
		store_integer(e, s, field);
		break;
	case XML_F64:
		store_double(e, s, field);
		break;
	case XML_BOOL:
		store_bool(s, field);
		break;
	case XML_STR:
		if (e->max == 0 || (double)n <= e->max)
			*(char **)(void *)field = arena_memdup(r->a, s, n);
		break;
	case XML_GROUP:
	case XML_LIST:
		assert(!"a container has no text");
	}
}

/* --- elements --- */

/* E_BADREQ, with the line. */
__attribute__((format(printf, 2, 3))) static enum err
refuse(struct xml_reader *r, const char *fmt, ...)
{
	char why[200];
	int line = 1;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	for (const char *p = r->text; p < r->p; p++)
		line += *p == '\n';
	return FAIL(r->f, E_BADREQ, "line %d: %s", line, why);
}

static bool
is(const struct name *name, const char *s)
{
	return name->p[0] == s[0] && strlen(s) == name->n &&
	       memcmp(name->p, s, name->n) == 0;
}

static const struct xml_elem *
find(const struct xml_elem *table, const struct name *name)
{
	for (; table->name != NULL; table++)
		if (is(name, table->name))
			return table;
	return NULL;
}

static void
push(struct xml_reader *r, const struct xml_elem *e, const struct xml_elem *table,
    void *row)
{
	assert(r->nopen < DEPTH_MAX);
	r->open[r->nopen++] = (struct level){ .table = table, .self = e, .row = row };
}

/* The row of a new list item; NULL if the list is full. */
static void *
new_row(struct xml_reader *r, const struct xml_elem *e, struct xml_list *l)
{
	if (e->max > 0 && (double)l->n >= e->max)
		return NULL;
	l->rows = arena_grow(r->a, l->rows, l->n, &l->cap, e->size);
	return (char *)l->rows + e->size * l->n++;
}

static void
enter(struct xml_reader *r, const struct xml_elem *e)
{
	char *row = r->open[r->nopen - 1].row;

	if (e->seen_off != 0 && e->seen_off != XML_UNSEEN)
		*(bool *)(void *)(row + e->seen_off) = true;
	if (e->type == XML_GROUP) {
		push(r, e, e->child, row + e->off);
		return;
	}
	if (e->type == XML_LIST) {
		void *item = new_row(r, e, (struct xml_list *)(void *)(row + e->off));
		if (item == NULL)
			r->skip = 1;
		else
			push(r, e, e->child, item);
		return;
	}
	r->leaf = e;
	r->spoiled = false;
	r->value.n = 0;
	r->value.p[0] = '\0';
}

static enum err
start(struct xml_reader *r, const struct name *name)
{
	const struct xml_elem *e;

	if (r->depth == DEPTH_MAX)
		return refuse(r, "elements nested deeper than %d", DEPTH_MAX);
	r->names[r->depth++] = *name;
	if (r->depth == 1)
		return is(name, r->root) ?
		           OK :
		           refuse(r, "the root element is <%.*s>, not <%s>",
			       (int)(name->n < 60 ? name->n : 60), name->p, r->root);
	if (r->skip > 0) {
		r->skip++;
		return OK;
	}
	e = r->leaf == NULL ? find(r->open[r->nopen - 1].table, name) : NULL;
	if (e != NULL) {
		enter(r, e);
		return OK;
	}
	r->spoiled = true;
	r->skip = 1;
	return OK;
}

/* The innermost element is complete. */
static void
finish(struct xml_reader *r)
{
	struct level *top = &r->open[r->nopen - 1];

	r->depth--;
	if (r->skip > 0) {
		r->skip--;
		return;
	}
	if (r->leaf != NULL) {
		if (!r->spoiled)
			store(r, r->leaf, top->row);
		r->leaf = NULL;
		return;
	}
	r->nopen--;
	if (top->self != NULL && top->self->done != NULL)
		top->self->done(top->row, r->ctx);
}

/* --- documents --- */

/* The reference at r->p; 0 if it is none that is known. */
static char
reference(struct xml_reader *r)
{
	static const struct {
		const char *text;
		char c;
	} known[] = {
		{ "&lt;", '<' },
		{ "&gt;", '>' },
		{ "&amp;", '&' },
		{ "&#13;", '\r' },
	};

	for (size_t i = 0; i < N(known); i++)
		if (text_begins(r->p, r->end, known[i].text)) {
			r->p += strlen(known[i].text);
			return known[i].c;
		}
	return '\0';
}

/* Up to the next tag; what is not of a field is passed over. */
static enum err
text(struct xml_reader *r)
{
	const char *to = memchr(r->p, '<', (size_t)(r->end - r->p)), *amp;
	char c;

	if (r->depth == 0)
		return refuse(r, "text outside of the root element");
	if (to == NULL)
		to = r->end;
	if (r->leaf == NULL || r->skip > 0)
		r->p = to;
	while (r->p < to) {
		amp = memchr(r->p, '&', (size_t)(to - r->p));
		if (amp == NULL)
			amp = to;
		buf_put(&r->value, r->p, (size_t)(amp - r->p));
		r->p = amp;
		if (amp == to)
			break;
		c = reference(r);
		if (c == '\0')
			return refuse(r, "an unknown reference");
		buf_put(&r->value, &c, 1);
	}
	return OK;
}

/* r->p is at a <. */
static enum err
tag(struct xml_reader *r)
{
	const char *from = r->p + 1, *to = memchr(from, '>', (size_t)(r->end - from));
	bool closing = from < r->end && *from == '/', empty;
	struct name name = { from + closing, 0 };
	const struct name *open;
	enum err e = OK;

	empty = to != NULL && !closing && to > from && to[-1] == '/';
	if (to == NULL || to - name.p <= empty || (r->depth == 0 && r->nopen == 0))
		return refuse(r, "not well-formed");
	name.n = (size_t)(to - name.p) - empty;
	if (closing) {
		open = r->depth == 0 ? NULL : &r->names[r->depth - 1];
		if (open == NULL || open->n != name.n ||
		    memcmp(open->p, name.p, name.n) != 0)
			return refuse(r, "the end tag of another element");
	} else {
		e = start(r, &name);
	}
	r->p = to + 1;
	if (e == OK && (closing || empty))
		finish(r);
	return e;
}

enum err
xml_parse(struct arena *a, const char *in, size_t n, const char *root,
    const struct xml_elem *table, void *row, void *ctx, struct fail *f)
{
	struct xml_reader r = { .a = a,
		.ctx = ctx,
		.root = root,
		.text = in,
		.p = in,
		.end = in + n,
		.value = buf_new(a),
		.f = f };
	enum err e = OK;

	push(&r, NULL, table, row);
	while (r.p < r.end && e == OK)
		e = *r.p == '<' ? tag(&r) : text(&r);
	if (e == OK && r.nopen > 0)
		e = refuse(&r, "it ends too early");
	return e;
}

char *
xml_between(struct arena *a, const char *text, const char *tag)
{
	const char *start = arena_printf(a, "<%s>", tag), *end;
	const char *from = strstr(text, start), *to;

	if (from == NULL)
		return NULL;
	from += strlen(start);
	end = arena_printf(a, "</%s>", tag);
	to = strstr(from, end);
	return to == NULL ? NULL : arena_memdup(a, from, (size_t)(to - from));
}

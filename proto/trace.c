/* SPDX-License-Identifier: Apache-2.0 */
/* Writer and reader of traces. All they know about a trace's content is in
 * trace.def. */
#include "proto/trace.h"

#include <stdio.h>
#include <string.h>
#include "proto/row_text.h"
#include "lib/banned.h"

static const char family[] = "locus trace ", end_line[] = "end\n";

#define ROW(kind)                                                                      \
	typedef struct trace_##kind row_##kind;                                        \
	static const struct col kind##_cols[] = {
#define VIEW(kind, type)                                                               \
	typedef type row_##kind;                                                       \
	static const struct col kind##_cols[] = {
#define COL(kind, name, type)   { #name, COL_##type, offsetof(row_##kind, name) },
#define FIELD(kind, name, type) { #name, COL_##type, offsetof(row_##kind, name) },
#define ROW_END(kind)                                                                  \
	}                                                                              \
	;                                                                              \
	static const struct row_shape line_##kind = { #kind, kind##_cols,              \
		N(kind##_cols), sizeof(row_##kind) };
#define VIEW_END(kind) ROW_END(kind)
#include "proto/trace.def"

#define ONE(kind, sections, shape, member)                                             \
	{ #kind, &shape, sections, offsetof(struct trace, member), 0, false, false },
#define LIST(kind, sections, shape, members, n)                                        \
	{ #kind, &shape, sections, offsetof(struct trace, members),                    \
		offsetof(struct trace, n), true, false },
#define CHILD(kind, shape, parent, members, n)                                         \
	{ #kind, &shape, 0, offsetof(parent, members), offsetof(parent, n), true,      \
		true },
#define MADE(kind, sections, members)                                                  \
	LIST(kind, sections, line_##kind, members, n##members)
const struct trace_kind trace_kinds[] = {
#include "proto/trace.def"
};
enum { KINDS = N(trace_kinds) };
const size_t ntrace_kinds = KINDS;

static void **
rows_of(const struct trace_kind *k, const void *parent)
{
	return (void **)(uintptr_t)((const char *)parent + k->rows);
}

static size_t *
count_of_rows(const struct trace_kind *k, const void *parent)
{
	return (size_t *)(uintptr_t)((const char *)parent + k->n);
}

/* --- writing --- */

static void
put_kind(struct buf *b, const struct trace_kind *k, const void *parent)
{
	const char *row = k->list ? *rows_of(k, parent) :
	                            (const void *)rows_of(k, parent);
	size_t n = k->list ? *count_of_rows(k, parent) : 1;
	bool has_child = k + 1 < trace_kinds + KINDS && k[1].child;

	for (; n-- > 0; row += k->shape->size) {
		const struct trace_text *text = (const void *)row;

		row_put(b, k->name, k->shape, row);
		if (has_child)
			put_kind(b, k + 1, row);
		if (k->shape == &line_text) {
			buf_put(b, text->p, (size_t)text->bytes);
			buf_puts(b, "\n");
		}
	}
}

void
trace_put(struct buf *b, const struct trace *t, unsigned sections)
{
	if (b->n == 0)
		buf_printf(b, "%s%d\n", family, TRACE_VERSION);
	for (size_t k = 0; k < KINDS; k++)
		if (trace_kinds[k].sections & sections)
			put_kind(b, &trace_kinds[k], t);
}

void
trace_end(struct buf *b)
{
	buf_puts(b, end_line);
}

/* --- reading --- */

struct reader {
	struct arena *a;
	struct trace *t;
	struct fail *f;
	/* capacity of the arrays; for a child, of the array in the newest parent */
	size_t caps[KINDS];
	char *p, *end; /* the rest of the text */
};

/* Cuts off the next line; NULL if the text ends before the line does. */
static char *
next_line(struct reader *r)
{
	char *line = r->p, *eol = memchr(line, '\n', (size_t)(r->end - line));

	if (eol == NULL)
		return NULL;
	*eol = '\0';
	r->p = eol + 1;
	return line;
}

/* Appends a row. */
static void *
add_row(struct reader *r, size_t k, void *parent)
{
	const struct trace_kind *kind = &trace_kinds[k];
	void **rows = rows_of(kind, parent);
	size_t *n = count_of_rows(kind, parent);
	char *row;

	*rows = arena_grow(r->a, *rows, *n, &r->caps[k], kind->shape->size);
	row = (char *)*rows + kind->shape->size * (*n)++;
	row_init(row, kind->shape);
	if (k + 1 < KINDS && trace_kinds[k + 1].child)
		r->caps[k + 1] = 0;
	return row;
}

/* The last row of a list, to which children belong; NULL if the list is empty. */
static void *
last_row(struct reader *r, const struct trace_kind *k)
{
	size_t n = *count_of_rows(k, r->t);

	return n == 0 ? NULL : (char *)*rows_of(k, r->t) + k->shape->size * (n - 1);
}

static enum err
read_payload(struct reader *r, struct trace_text *text)
{
	size_t left = (size_t)(r->end - r->p);

	if (text->bytes < 0 || (uint64_t)text->bytes >= left ||
	    r->p[text->bytes] != '\n')
		return FAIL(r->f, E_BADREQ, "the trace is cut in a text");
	text->p = r->p;
	r->p += text->bytes;
	*r->p++ = '\0';
	return OK;
}

static enum err
read_row(struct reader *r, size_t k, char *p)
{
	const struct trace_kind *kind = &trace_kinds[k];
	void *parent = kind->child ? last_row(r, kind - 1) : r->t, *row;

	if (parent == NULL)
		return FAIL(
		    r->f, E_BADREQ, "%s before its %s", kind->name, kind[-1].name);
	row = kind->list ? add_row(r, k, parent) : (void *)rows_of(kind, parent);
	for (char *word; (word = row_word(&p)) != NULL;) {
		char *value = row_value(word);

		if (value == NULL)
			return FAIL(r->f, E_BADREQ, "no = in %.60s", word);
		TRY(row_set(kind->shape, row, word, value, r->f));
	}
	return kind->shape == &line_text ? read_payload(r, row) : OK;
}

static enum err
read_line(struct reader *r, char *line)
{
	const char *kind = row_word(&line);

	for (size_t k = 0; kind != NULL && k < KINDS; k++)
		if (strcmp(trace_kinds[k].name, kind) == 0)
			return read_row(r, k, line);
	return FAIL(
	    r->f, E_BADREQ, "a trace has no lines \"%.60s\"", kind == NULL ? "" : kind);
}

bool
trace_is(const char *p, size_t n)
{
	static const char *const begins[] = { family, "locus recording ",
		"decision version=" };

	for (size_t i = 0; i < N(begins); i++)
		if (n >= strlen(begins[i]) &&
		    memcmp(p, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

static enum err
read_version(struct reader *r)
{
	char head[32];
	size_t n = (size_t)(r->end - r->p);

	snprintf(head, sizeof(head), "%s%d\n", family, TRACE_VERSION);
	if (n >= strlen(head) && memcmp(r->p, head, strlen(head)) == 0) {
		r->p += strlen(head);
		return OK;
	}
	return FAIL(r->f, E_BADREQ,
	    trace_is(r->p, n) ? "it was written by another version of Locus" :
				"it is no trace of Locus");
}

enum err
trace_read(struct arena *a, char *in, size_t n, struct trace **out, struct fail *f)
{
	struct trace *t = *out = NEW(a, struct trace);
	struct reader r = { .a = a, .t = t, .f = f, .p = in, .end = in + n };
	char *line;

	TRY(read_version(&r));
	for (size_t k = 0; k < KINDS; k++)
		if (!trace_kinds[k].list)
			row_init(rows_of(&trace_kinds[k], t), trace_kinds[k].shape);
	while ((line = next_line(&r)) != NULL && strcmp(line, "end") != 0)
		TRY(read_line(&r, line));
	if (line == NULL || r.p != r.end)
		return FAIL(f, E_BADREQ,
		    line == NULL ? "the trace is cut" : "bytes behind the trace");
	t->snap.cat = &t->cat;
	return OK;
}

char *
trace_text(const struct trace *t, const char *name, size_t *n)
{
	for (size_t i = 0; i < t->ntexts; i++)
		if (strcmp(t->texts[i].name, name) == 0) {
			if (n != NULL)
				*n = (size_t)t->texts[i].bytes;
			return t->texts[i].p;
		}
	return NULL;
}

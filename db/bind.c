/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed values to parameters, and rows of an answer to typed structs.  Text is made
 * valid here, at the last moment, so that no statement can fail because of a byte
 * (db.h).
 */
#include "db/private.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include "lib/text.h"
#include "lib/banned.h"

enum { SHORT_TEXT = 64, TEXT_MAX = 65535, MEDIUMTEXT_MAX = 16777215 };

/*
 * Columns of whole rows that are not a VARCHAR, so neither made valid nor cut: blobs.
 * misc is TEXT: made valid, cut later.
 */
static const struct {
	const char *name;
	char letter;
} long_cols[] = {
	{ "xml_doc", 'b' },
	{ "global_prefs", 'b' },
	{ "project_prefs", 'b' },
	{ "misc", 't' },
};

const char *
text_valid(struct arena *a, const char *text, int text_bytes, size_t max)
{
	size_t n = strlen(text), out = 0;
	char *to = NULL;

	for (size_t i = 0; i < n;) {
		size_t len = text_utf8(text + i);
		bool fits = len > 0 && len <= (size_t)text_bytes;
		size_t put = fits ? len : 1;

		if (out + put > max || !fits) {
			/* the first place that differs: from here on a copy is needed
			 */
			to = to != NULL ? to : arena_memdup(a, text, n);
		}
		if (out + put > max) {
			to[out] = '\0';
			return to;
		}
		if (to != NULL && fits)
			memmove(to + out, text + i, len);
		else if (to != NULL)
			to[out] = '?';
		out += put;
		i += len > 0 ? len : 1;
	}
	if (to != NULL)
		to[out] = '\0';
	return to != NULL ? to : text;
}

static void
bind_null(MYSQL_BIND *b)
{
	b->buffer_type = MYSQL_TYPE_NULL;
}

static void
bind_i64(MYSQL_BIND *b, const int64_t *v)
{
	b->buffer_type = MYSQL_TYPE_LONGLONG;
	b->buffer = (void *)(uintptr_t)v;
}

static void
bind_f64(struct db *db, MYSQL_BIND *b, double v)
{
	double *copy = NEW(&db->scratch, double);

	*copy = isfinite(v) ? v : 0;
	b->buffer_type = MYSQL_TYPE_DOUBLE;
	b->buffer = copy;
}

/* Bytes that a column of the letter takes. */
static size_t
text_max(char letter)
{
	return letter == 's' ? DB_VARCHAR_MAX :
	       letter == 't' ? TEXT_MAX :
	                       MEDIUMTEXT_MAX;
}

/* letter: s, t, m or b as in db.h. */
static void
bind_text(struct db *db, MYSQL_BIND *b, char letter, const char *text)
{
	if (text == NULL) {
		bind_null(b);
		return;
	}
	if (letter != 'b')
		text = text_valid(&db->scratch, text, db->text_bytes, text_max(letter));
	b->buffer_type = letter == 'b' ? MYSQL_TYPE_BLOB : MYSQL_TYPE_STRING;
	b->buffer = (void *)(uintptr_t)text;
	b->buffer_length = strlen(text);
}

static char
col_letter(const struct col *c)
{
	for (size_t i = 0; i < N(long_cols); i++)
		if (strcmp(long_cols[i].name, c->name) == 0)
			return long_cols[i].letter;
	return 's';
}

static void
bind_row(struct db *db, MYSQL_BIND *b, const struct row_shape *shape, const char *row)
{
	for (size_t i = 0; i < shape->ncols; i++) {
		const struct col *c = &shape->cols[i];
		const char *p = row + c->off;

		switch (c->type) {
		case COL_i32:
			b[i].buffer_type = MYSQL_TYPE_LONG;
			b[i].buffer = (void *)(uintptr_t)p;
			break;
		case COL_i64:
			bind_i64(&b[i], (const int64_t *)(const void *)p);
			break;
		case COL_f64:
			bind_f64(db, &b[i], *(const double *)(const void *)p);
			break;
		case COL_bool:
			break;
		case COL_str: {
			const char *s = *(char *const *)(const void *)p;
			bind_text(db, &b[i], col_letter(c), s != NULL ? s : "");
			break;
		}
		}
	}
}

static void
bind_list(struct db *db, MYSQL_BIND *b, char letter, const struct db_arg *arg)
{
	size_t size = list_size(list_slot(arg->n));

	for (size_t i = 0; i < size; i++) {
		size_t k = i < arg->n ? i : arg->n - 1;
		if (letter == 'I' || letter == 'J')
			bind_i64(&b[i], (const int64_t *)arg->p + k);
		else
			bind_text(db, &b[i], 's', ((const char *const *)arg->p)[k]);
	}
}

static void
bind_pairs(MYSQL_BIND *b, const struct db_arg *arg)
{
	const struct row_pair *pairs = arg->p;
	size_t size = list_size(list_slot(arg->n));

	for (size_t i = 0; i < size; i++) {
		size_t k = i < arg->n ? i : arg->n - 1;

		bind_i64(&b[2 * i], &pairs[k].a);
		bind_i64(&b[2 * i + 1], &pairs[k].b);
	}
}

static size_t
param_count(enum stmt_id id, const struct db_arg *arg)
{
	const struct stmt_info *st = &stmt_infos[id];
	size_t n = 0;

	for (size_t k = 0; st->args[k] != '\0'; k++) {
		if (st->args[k] == 'R')
			n += st->shape->ncols;
		else if (st->args[k] == 'P')
			n += 2 * list_size(list_slot(arg[k].n));
		else if (strchr(LISTS, st->args[k]) != NULL)
			n += list_size(list_slot(arg[k].n));
		else
			n++;
	}
	return n;
}

MYSQL_BIND *
bind_args(struct db *db, enum stmt_id id, const struct db_arg *arg, size_t *n)
{
	const struct stmt_info *st = &stmt_infos[id];
	MYSQL_BIND *b, *next;

	*n = param_count(id, arg);
	b = next = NEWN(&db->scratch, MYSQL_BIND, *n + 1);
	for (size_t k = 0; st->args[k] != '\0'; k++) {
		switch (st->args[k]) {
		case 'i':
			bind_i64(next++, &arg[k].i);
			break;
		case 'f':
			bind_f64(db, next++, arg[k].f);
			break;
		case 'R':
			bind_row(db, next, st->shape, arg[k].p);
			next += st->shape->ncols;
			break;
		case 'P':
			bind_pairs(next, &arg[k]);
			next += 2 * list_size(list_slot(arg[k].n));
			break;
		case 'I':
		case 'J':
		case 'N':
		case 'S':
			bind_list(db, next, st->args[k], &arg[k]);
			next += list_size(list_slot(arg[k].n));
			break;
		default:
			bind_text(db, next++, st->args[k], arg[k].p);
		}
	}
	assert(next == b + *n);
	return b;
}

/* Where one row of an answer lands before it is copied. */
struct landing {
	MYSQL_BIND *bind;
	unsigned long *len;
	sql_bool *null;
	char *row; /* numbers: at their offsets in the shape */
};

static struct landing
landing_make(struct db *db, const struct row_shape *shape)
{
	struct arena *a = &db->scratch;
	struct landing l = { NEWN(a, MYSQL_BIND, shape->ncols),
		NEWN(a, unsigned long, shape->ncols), NEWN(a, sql_bool, shape->ncols),
		arena_alloc(a, shape->size) };
	static const enum enum_field_types types[] = {
		[COL_i32] = MYSQL_TYPE_LONG,
		[COL_i64] = MYSQL_TYPE_LONGLONG,
		[COL_f64] = MYSQL_TYPE_DOUBLE,
		[COL_str] = MYSQL_TYPE_STRING,
	};

	for (size_t i = 0; i < shape->ncols; i++) {
		MYSQL_BIND *b = &l.bind[i];
		bool text = shape->cols[i].type == COL_str;

		b->buffer_type = types[shape->cols[i].type];
		b->buffer = text ? arena_alloc(a, SHORT_TEXT) :
		                   (void *)(l.row + shape->cols[i].off);
		b->buffer_length = text ? SHORT_TEXT : 0;
		b->length = &l.len[i];
		b->is_null = &l.null[i];
	}
	return l;
}

/* Text longer than the landing place is fetched a second time, in full. */
static char *
take_text(MYSQL_STMT *st, const struct landing *l, size_t i, struct arena *a)
{
	MYSQL_BIND b = { .buffer_type = MYSQL_TYPE_STRING };
	unsigned long len = 0;
	sql_bool null = 0;

	if (l->null[i])
		return arena_strdup(a, "");
	if (l->len[i] <= SHORT_TEXT)
		return arena_memdup(a, l->bind[i].buffer, l->len[i]);
	b.buffer = arena_alloc(a, l->len[i] + 1);
	b.buffer_length = l->len[i];
	b.length = &len;
	b.is_null = &null;
	if (mysql_stmt_fetch_column(st, &b, (unsigned)i, 0) != 0)
		return NULL;
	return b.buffer;
}

static enum err
fetch_row(struct db *db, MYSQL_STMT *st, const struct row_shape *shape,
    const struct landing *l, struct arena *a, char *row, struct fail *f)
{
	memset(l->row, 0, shape->size);
	int got = mysql_stmt_fetch(st);
	if (got != 0 && got != MYSQL_DATA_TRUNCATED)
		return conn_fail(db, st, "fetch", f);
	memcpy(row, l->row, shape->size);
	for (size_t i = 0; i < shape->ncols; i++) {
		if (shape->cols[i].type != COL_str)
			continue;
		char *text = take_text(st, l, i, a);
		if (text == NULL)
			return conn_fail(db, st, "fetch", f);
		memcpy(row + shape->cols[i].off, &text, sizeof(text));
	}
	return OK;
}

enum err
fetch_rows(struct db *db, MYSQL_STMT *st, const struct row_shape *shape,
    struct arena *a, void **rows, size_t *n, struct fail *f)
{
	struct landing l = landing_make(db, shape);
	enum err e = OK;

	if (mysql_stmt_bind_result(st, l.bind) != 0 || mysql_stmt_store_result(st) != 0)
		return conn_fail(db, st, "fetch", f);
	size_t count = (size_t)mysql_stmt_num_rows(st);
	char *all = arena_alloc(a, mul_or_die(shape->size, count + 1));
	for (size_t i = 0; i < count && e == OK; i++)
		e = fetch_row(db, st, shape, &l, a, all + i * shape->size, f);
	if (e != OK)
		return e;
	mysql_stmt_free_result(st);
	*rows = all;
	*n = count;
	return OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binds typed values to parameters, and fetches result rows into typed structs. Text
 * is made valid here, at the last moment, so that no statement can fail because of an
 * invalid byte (db.h).
 */
#include "db/private.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include "lib/text.h"
#include "lib/banned.h"

enum { SHORT_TEXT = 64, TEXT_MAX = 65535, MEDIUMTEXT_MAX = 16777215 };

const char *text_valid(
    struct arena *a, const char *text, int text_bytes, size_t max, bool bytes)
{
	size_t n = strlen(text), out = 0, used = 0;
	char *to = NULL;

	for (size_t i = 0; i < n;) {
		size_t len = text_utf8(text + i);
		bool fits = len > 0 && len <= (size_t)text_bytes;
		size_t put = fits ? len : 1, more = bytes ? put : 1;

		if (used + more > max || !fits) {
			/* From the first difference on, a copy is needed. */
			to = to != NULL ? to : arena_memdup(a, text, n);
		}
		if (used + more > max) {
			to[out] = '\0';
			return to;
		}
		if (to != NULL && fits)
			memmove(to + out, text + i, len);
		else if (to != NULL)
			to[out] = '?';
		out += put;
		used += more;
		i += len > 0 ? len : 1;
	}
	if (to != NULL)
		to[out] = '\0';
	return to != NULL ? to : text;
}

static void bind_i64(MYSQL_BIND *b, const int64_t *v)
{
	b->buffer_type = MYSQL_TYPE_LONGLONG;
	b->buffer = (void *)(uintptr_t)v;
}

static void bind_f64(struct db *db, MYSQL_BIND *b, double v)
{
	double *copy = NEW(&db->scratch, double);

	*copy = isfinite(v) ? v : 0;
	b->buffer_type = MYSQL_TYPE_DOUBLE;
	b->buffer = copy;
}

/* Returns how many characters a VARCHAR holds, how many bytes another column. */
static size_t text_max(enum arg_type type)
{
	return type == ARG_STR  ? DB_VARCHAR_MAX :
	       type == ARG_TEXT ? TEXT_MAX :
	                          MEDIUMTEXT_MAX;
}

static void bind_text(
    struct db *db, MYSQL_BIND *b, enum arg_type type, const char *text)
{
	if (text == NULL) {
		b->buffer_type = MYSQL_TYPE_NULL;
		return;
	}
	if (type != ARG_BLOB)
		text = text_valid(&db->scratch, text, db->text_bytes, text_max(type),
		    type != ARG_STR);
	b->buffer_type = type == ARG_BLOB ? MYSQL_TYPE_BLOB : MYSQL_TYPE_STRING;
	b->buffer = (void *)(uintptr_t)text;
	b->buffer_length = strlen(text);
}

static size_t bind_ids(MYSQL_BIND *b, const struct db_ids *ids)
{
	size_t size = list_size(list_slot(ids->n));

	for (size_t i = 0; i < size; i++)
		bind_i64(&b[i], &ids->v[i < ids->n ? i : ids->n - 1]);
	return size;
}

static size_t bind_names(struct db *db, MYSQL_BIND *b, const struct db_names *names)
{
	size_t size = list_size(list_slot(names->n));

	for (size_t i = 0; i < size; i++)
		bind_text(
		    db, &b[i], ARG_STR, names->v[i < names->n ? i : names->n - 1]);
	return size;
}

static size_t bind_pairs(MYSQL_BIND *b, const struct db_pairs *pairs)
{
	size_t size = list_size(list_slot(pairs->n));

	for (size_t i = 0; i < size; i++) {
		size_t k = i < pairs->n ? i : pairs->n - 1;

		bind_i64(&b[2 * i], &pairs->v[k].a);
		bind_i64(&b[2 * i + 1], &pairs->v[k].b);
	}
	return 2 * size;
}

/* Binds one value or one list; returns the number of parameters. */
static size_t bind_value(
    struct db *db, MYSQL_BIND *b, const struct param *p, const void *at)
{
	const char *text;

	switch (p->type) {
	case ARG_I64:
		bind_i64(b, at);
		return 1;
	case ARG_I32:
		b->buffer_type = MYSQL_TYPE_LONG;
		b->buffer = (void *)(uintptr_t)at;
		return 1;
	case ARG_F64:
		bind_f64(db, b, *(const double *)at);
		return 1;
	case ARG_IDS:
	case ARG_LONG_IDS:
		return bind_ids(b, at);
	case ARG_NAMES:
	case ARG_LONG_NAMES:
		return bind_names(db, b, at);
	case ARG_PAIRS:
		return bind_pairs(b, at);
	default:
		memcpy(&text, at, sizeof(text));
		bind_text(db, b, p->type, text == NULL && p->of_row ? "" : text);
		return 1;
	}
}

/* Returns the address of the parameter's value. */
static const void *param_value_at(const struct param *p, const void *args)
{
	const char *at = (const char *)args + p->off, *row;

	if (!p->of_row)
		return at;
	memcpy(&row, at, sizeof(row));
	return row + p->row_off;
}

/*
 * Binds the parameters of EACH[...], head by head; all of the statement's are such. The
 * heads that fill up the list read nothing.
 */
static MYSQL_BIND *bind_heads(
    struct db *db, MYSQL_BIND *b, const struct params *ps, const void *args)
{
	const struct db_heads *heads = (const void *)((const char *)args +
						      ps->list->off);
	size_t size = list_size(list_slot(heads->n));
	struct row_head *none = NEW(&db->scratch, struct row_head);

	for (size_t i = 0; i < size; i++)
		for (size_t k = 0; k < ps->n; k++)
			bind_i64(b++,
			    (const void *)((const char *)(i < heads->n ? &heads->v[i] :
									 none) +
					   ps->v[k].row_off));
	return b;
}

MYSQL_BIND *bind_args(struct db *db, enum stmt_id id, const void *args, size_t *n)
{
	const struct params *ps = stmt_params(db, id);
	size_t items = list_size(list_slot(stmt_list_len(db, id, args)));
	MYSQL_BIND *b, *next;

	*n = ps->single + ps->per_item * items;
	b = next = NEWN(&db->scratch, MYSQL_BIND, *n + 1);
	if (ps->list != NULL && ps->list->type == ARG_HEADS)
		next = bind_heads(db, next, ps, args);
	else
		for (size_t i = 0; i < ps->n; i++)
			next += bind_value(
			    db, next, &ps->v[i], param_value_at(&ps->v[i], args));
	assert(next == b + *n);
	return b;
}

/* The buffers that receive one result row before it is copied. */
struct landing {
	MYSQL_BIND *bind;
	unsigned long *len;
	sql_bool *null;
	char *row; /* numbers, at their offsets in the shape */
};

static struct landing landing_make(struct db *db, const struct row_shape *shape)
{
	struct arena *a = &db->scratch;
	struct landing l = { NEWN(a, MYSQL_BIND, shape->ncols),
		NEWN(a, unsigned long, shape->ncols), NEWN(a, sql_bool, shape->ncols),
		arena_alloc(a, shape->size) };
	static const enum enum_field_types types[] = {
		[FIELD_I32] = MYSQL_TYPE_LONG,
		[FIELD_I64] = MYSQL_TYPE_LONGLONG,
		[FIELD_F64] = MYSQL_TYPE_DOUBLE,
		[FIELD_TEXT] = MYSQL_TYPE_STRING,
	};

	for (size_t i = 0; i < shape->ncols; i++) {
		MYSQL_BIND *b = &l.bind[i];
		bool text = shape->cols[i].type == FIELD_TEXT;

		b->buffer_type = types[shape->cols[i].type];
		b->buffer = text ? arena_alloc(a, SHORT_TEXT) :
		                   (void *)(l.row + shape->cols[i].off);
		b->buffer_length = text ? SHORT_TEXT : 0;
		b->length = &l.len[i];
		b->is_null = &l.null[i];
	}
	return l;
}

/*
 * Returns a text column; text longer than its buffer is fetched a second time, in full.
 */
static char *take_text(
    MYSQL_STMT *st, const struct landing *l, size_t i, struct arena *a)
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

static enum err fetch_row(struct db *db, MYSQL_STMT *st, const struct row_shape *shape,
    const struct landing *l, struct arena *a, char *row, struct fail *f)
{
	memset(l->row, 0, shape->size);
	int got = mysql_stmt_fetch(st);
	if (got != 0 && got != MYSQL_DATA_TRUNCATED)
		return conn_fail(db, st, "fetch", f);
	memcpy(row, l->row, shape->size);
	for (size_t i = 0; i < shape->ncols; i++) {
		if (shape->cols[i].type != FIELD_TEXT)
			continue;
		char *text = take_text(st, l, i, a);
		if (text == NULL)
			return conn_fail(db, st, "fetch", f);
		memcpy(row + shape->cols[i].off, &text, sizeof(text));
	}
	return OK;
}

enum err fetch_rows(struct db *db, MYSQL_STMT *st, const struct row_shape *shape,
    struct arena *a, void **rows, size_t *n, struct fail *f)
{
	struct landing l = landing_make(db, shape);

	if (mysql_stmt_bind_result(st, l.bind) != 0 || mysql_stmt_store_result(st) != 0)
		return conn_fail(db, st, "fetch", f);
	size_t count = (size_t)mysql_stmt_num_rows(st);
	char *all = arena_alloc(a, mul_or_die(shape->size, count + 1));
	for (size_t i = 0; i < count; i++)
		TRY(fetch_row(db, st, shape, &l, a, all + i * shape->size, f));
	mysql_stmt_free_result(st);
	*rows = all;
	*n = count;
	return OK;
}

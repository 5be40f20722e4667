/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one statement for many rows of arguments. MariaDB takes them in one message
 * (bulk binding: an array per parameter); other servers get them row by row.
 */
#include "db/private.h"

#include <assert.h>
#include <string.h>
#include "lib/banned.h"

/*
 * When to avoid bulks.
 *
 * A cluster node may end a transaction at any moment. It has been measured that single
 * statements report this (run.c), but not that bulks do, so a cluster gets the rows one
 * by one.
 *
 * MariaDB's count for a bulk is the sum over all rows, and (10.11.19) includes rows
 * that a project's own trigger writes with INSERT ... SELECT: a missing row and a row
 * from a trigger would cancel out. So bulks are not used where there are triggers.
 * These are looked up once per connection; a count that is too large reveals a trigger
 * created since, or one that an account without the TRIGGER privilege does not see.
 * What must never happen twice is not done in bulks unless its rows were locked and
 * checked before (db_batch_locked). After a count that is too small, the next DOUBTFUL
 * batches run row by row, so that a retry learns which row failed.
 */
enum { DOUBTFUL = 16 };

struct db_batch *db_batch(struct arena *a, enum stmt_id id)
{
	struct db_batch *b = NEW(a, struct db_batch);

	for (const struct stmt_arg *arg = stmt_args(id); arg->type != ARG_END; arg++)
		assert(list_max(arg->type) == 0);
	*b = (struct db_batch){ .a = a, .id = id };
	return b;
}

void db_batch_put(struct db_batch *b, enum stmt_id id, const void *args)
{
	assert(id == b->id);
	PUSH(b->a, b->rows, b->n, b->cap) = stmt_args_keep(b->a, id, args);
}

static enum err row_by_row(
    struct db *db, const struct db_batch *b, int64_t *affected, struct fail *f)
{
	enum err e = OK;

	*affected = 0;
	for (size_t i = 0; i < b->n && e == OK; i++) {
		int64_t one = 0;
		e = db_run(db, NULL, f, NULL, NULL, &one, b->id, b->rows[i]);
		*affected += one;
	}
	return e;
}

#ifdef MARIADB_PACKAGE_VERSION

/*
 * Binds parameter p of all rows as one array; the rows are already bound as for single
 * statements.
 */
static void bind_column(
    struct arena *a, MYSQL_BIND *to, MYSQL_BIND *const *rows, size_t n, size_t p)
{
	char *null = NEWN(a, char, n);
	char **text = NEWN(a, char *, n);
	int64_t *wide = NEWN(a, int64_t, n);
	int32_t *narrow = (int32_t *)wide;

	to->buffer_type = MYSQL_TYPE_NULL;
	to->length = NEWN(a, unsigned long, n);
	to->u.indicator = null;
	for (size_t i = 0; i < n; i++) {
		const MYSQL_BIND *from = &rows[i][p];
		if (from->buffer_type == MYSQL_TYPE_NULL) {
			null[i] = STMT_INDICATOR_NULL;
			continue;
		}
		assert(to->buffer_type == MYSQL_TYPE_NULL ||
		       to->buffer_type == from->buffer_type);
		to->buffer_type = from->buffer_type;
		text[i] = from->buffer;
		to->length[i] = from->buffer_length;
		if (from->buffer_type == MYSQL_TYPE_LONG)
			memcpy(&narrow[i], from->buffer, sizeof(*narrow));
		else if (from->buffer_type == MYSQL_TYPE_LONGLONG ||
			 from->buffer_type == MYSQL_TYPE_DOUBLE)
			memcpy(&wide[i], from->buffer, sizeof(*wide));
	}
	to->buffer = to->buffer_type == MYSQL_TYPE_STRING ||
	                     to->buffer_type == MYSQL_TYPE_BLOB ?
	                 (void *)text :
	                 (void *)wide;
}

static enum err all_at_once(
    struct db *db, const struct db_batch *b, int64_t *affected, struct fail *f)
{
	MYSQL_BIND **rows, *cols;
	MYSQL_STMT *st;
	unsigned n = (unsigned)b->n, one = 0;
	size_t nparams = 0;
	enum err e = OK;

	TRY(stmt_prepare(db, b->id, 0, &st, f));
	TRY(conn_in_time(db, stmt_infos[b->id].name, f));
	db->count++;
	arena_reset(&db->scratch);
	rows = NEWN(&db->scratch, MYSQL_BIND *, b->n);
	for (size_t i = 0; i < b->n; i++)
		rows[i] = bind_args(db, b->id, b->rows[i], &nparams);
	cols = NEWN(&db->scratch, MYSQL_BIND, nparams + 1);
	for (size_t p = 0; p < nparams; p++)
		bind_column(&db->scratch, &cols[p], rows, b->n, p);
	const bool bad = mysql_stmt_attr_set(st, STMT_ATTR_ARRAY_SIZE, &n) != 0 ||
	                 mysql_stmt_bind_param(st, cols) != 0 ||
	                 mysql_stmt_execute(st) != 0;

	conn_answered(db);
	if (bad)
		e = conn_fail(db, st, stmt_infos[b->id].name, f);
	else
		*affected = (int64_t)mysql_stmt_affected_rows(st);
	if (db->stmts[b->id][0] != NULL) /* still connected: back to single rows */
		mysql_stmt_attr_set(st, STMT_ATTR_ARRAY_SIZE, &one);
	return e;
}

#endif

/* Does the next batch, of n rows, go in one message? Called once per batch. */
static enum err at_once(struct db *db, size_t n, bool *yes, struct fail *f)
{
	int64_t triggers;
	enum err e = OK;

	*yes = n > 1 && db->bulk && !db->cluster && !db->tx_batch.on;
	if (!*yes)
		return OK;
	if (!db->bulk_known) {
		e = db_number(db, f, &triggers, SESSION_TRIGGERS);
		db->bulk_known = e == OK;
		db->bulk = e == OK && triggers == 0;
	}
	*yes = db->bulk && db->doubtful == 0;
	db->doubtful -= db->doubtful > 0;
	return e;
}

enum err db_batch_run(
    struct db *db, const struct db_batch *b, int64_t *affected, struct fail *f)
{
	int64_t unused = 0;
	bool bulk = false;
	enum err e = b->n == 0 ? OK : conn_need(db, f);

	affected = affected != NULL ? affected : &unused;
	*affected = 0;
	if (b->n > 0 && e == OK)
		e = at_once(db, b->n, &bulk, f);
	if (b->n == 0 || e != OK)
		return e;
#ifdef MARIADB_PACKAGE_VERSION
	if (bulk)
		return all_at_once(db, b, affected, f);
#endif
	return row_by_row(db, b, affected, f);
}

enum err db_batch_locked(struct db *db, const struct db_batch *b, struct fail *f)
{
	int64_t unused = 0;

	if (b->n == 0)
		return OK;
	TRY(conn_need(db, f));
#ifdef MARIADB_PACKAGE_VERSION
	if (b->n > 1 && db->mariadb && !db->cluster && !db->tx_batch.on)
		return all_at_once(db, b, &unused, f);
#endif
	return row_by_row(db, b, &unused, f);
}

enum err db_batch_all(struct db *db, const struct db_batch *b, struct fail *f)
{
	int64_t affected = 0;
	enum err e = db_batch_run(db, b, &affected, f);

	if (e != OK || affected == (int64_t)b->n)
		return e;
	db->bulk = db->bulk && affected < (int64_t)b->n;
	db->doubtful = DOUBTFUL;
	return FAIL(f, E_RACE,
	    "only %lld of %zu rows matched: others have changed since they were read",
	    (long long)affected, b->n);
}

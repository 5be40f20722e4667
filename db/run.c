/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one statement on an open connection. Statements are prepared when first
 * needed, once per size of their list, and again after a reconnect. Short, because
 * open.c needs it, which db.c needs.
 */
#include "db/private.h"

#include <assert.h>
#include <string.h>
#include "lib/banned.h"

/*
 * Another node's commit may end our transaction at any moment. Every command reports
 * this except one: if it happens during a preparation, a cluster node (measured on
 * MariaDB 10.11.19) answers OK, and everything that follows would be committed
 * statement by statement. So a preparation inside a transaction is followed by a check
 * that the transaction still exists.
 */
static enum err still_in_tx(struct db *db, struct fail *f)
{
	struct arena a = { 0 };
	void *row = NULL;
	size_t n = 0;

	if (!db->cluster || !db->in_tx)
		return OK;
	enum err e = stmt_run(
	    db, &a, f, &row, &n, NULL, SQL_SESSION_IN_TRANSACTION, NULL);
	if (e == OK && (n == 0 || ((const struct row_number *)row)->v == 0))
		e = FAIL(f, E_RETRY, "another node has ended the transaction");
	arena_free(&a);
	return e;
}

enum err stmt_prepare(
    struct db *db, enum stmt_id id, size_t slot, MYSQL_STMT **out, struct fail *f)
{
	MYSQL_STMT **st = &db->stmts[id][slot];

	if (*st == NULL) {
		char *sql = stmt_text(&db->scratch, id, slot);
		enum err late = conn_in_time(db, stmt_infos[id].name, f);
		if (late != OK)
			return late;
		*st = mysql_stmt_init(db->my);
		if (*st == NULL)
			return conn_fail(db, NULL, stmt_infos[id].name, f);
		const int unprepared = mysql_stmt_prepare(*st, sql, strlen(sql));
		conn_answered(db);
		if (unprepared != 0) {
			MYSQL_STMT *bad = *st;
			*st = NULL;
			enum err e = conn_fail(db, bad, stmt_infos[id].name, f);
			mysql_stmt_close(bad);
			return e;
		}
		if (id != SQL_SESSION_IN_TRANSACTION) {
			enum err e = still_in_tx(db, f);
			if (e != OK)
				return e;
		}
	}
	*out = *st;
	return OK;
}

enum err stmt_run(struct db *db, struct arena *a, struct fail *f, void **rows,
    size_t *n, int64_t *affected, enum stmt_id id, const void *args)
{
	const struct stmt_info *info = &stmt_infos[id];
	MYSQL_STMT *st;
	size_t nparams;
	size_t list = stmt_list_len(db, id, args);

	TRY(stmt_prepare(db, id, list_slot(list), &st, f));
	TRY(conn_in_time(db, info->name, f));
	db->count++;
	arena_reset(&db->scratch);
	MYSQL_BIND *bind = bind_args(db, id, args, &nparams);
	assert(nparams == mysql_stmt_param_count(st));
	const bool bad = mysql_stmt_bind_param(st, bind) != 0 ||
	                 mysql_stmt_execute(st) != 0;

	conn_answered(db);
	if (bad)
		return conn_fail(db, st, info->name, f);
	if (affected != NULL)
		*affected = (int64_t)mysql_stmt_affected_rows(st);
	if (rows == NULL)
		return OK;
	assert(mysql_stmt_field_count(st) == info->shape->ncols);
	return fetch_rows(db, st, info->shape, a, rows, n, f);
}

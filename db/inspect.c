/* SPDX-License-Identifier: Apache-2.0 */
/* Finds how the server runs our statements: EXPLAIN, and the counters of rows read. */
#include "db/private.h"

#include <stdlib.h>
#include <string.h>
#include "lib/banned.h"

enum { EXPLAIN_COLS_MAX = 16 };

enum err db_prepare(struct db *db, enum stmt_id id, size_t n, struct fail *f)
{
	MYSQL_STMT *st;
	enum err e = conn_need(db, f);

	if (e == OK)
		e = stmt_prepare(db, id, list_slot(n), &st, f);
	arena_reset(&db->scratch);
	return e;
}

/* Returns the position of a column; positions differ between servers, names do not. */
static size_t column_named(MYSQL_STMT *st, const char *name)
{
	MYSQL_RES *meta = mysql_stmt_result_metadata(st);
	unsigned n = meta == NULL ? 0 : mysql_num_fields(meta);
	size_t at = EXPLAIN_COLS_MAX;

	for (unsigned i = 0; i < n; i++)
		if (strcmp(mysql_fetch_field_direct(meta, i)->name, name) == 0)
			at = i;
	if (meta != NULL)
		mysql_free_result(meta);
	return at;
}

static enum err explain_fetch(struct db *db, struct arena *a, MYSQL_STMT *st,
    struct plan_row **out, size_t *n, struct fail *f)
{
	struct field cols[EXPLAIN_COLS_MAX] = { 0 };
	struct row_shape shape = { "plan", cols, mysql_stmt_field_count(st), 0 };
	size_t table = column_named(st, "table"), type = column_named(st, "type"),
	       key = column_named(st, "key"), select = column_named(st, "select_type");
	size_t kept = 0;
	void *rows;

	if (shape.ncols > EXPLAIN_COLS_MAX || table == EXPLAIN_COLS_MAX ||
	    type == EXPLAIN_COLS_MAX || key == EXPLAIN_COLS_MAX ||
	    select == EXPLAIN_COLS_MAX)
		return FAIL(f, E_DB, "EXPLAIN returned an unknown format");
	for (size_t i = 0; i < shape.ncols; i++)
		cols[i] = (struct field){
			.name = "", .type = FIELD_TEXT, .off = i * sizeof(char *)
		};
	shape.size = shape.ncols * sizeof(char *);
	enum err e = fetch_rows(db, st, &shape, a, &rows, n, f);
	if (e != OK)
		return e;
	*out = NEWN(a, struct plan_row, *n + 1);
	for (size_t i = 0; i < *n; i++) {
		char **text = (char **)rows + i * shape.ncols;

		/*
		 * MySQL lists the table that rows are inserted into as if it were read
		 * in full.
		 */
		if (strcmp(text[select], "INSERT") != 0)
			(*out)[kept++] = (struct plan_row){ text[table], text[type],
				text[key] };
	}
	*n = kept;
	return OK;
}

enum err db_explain(struct db *db, struct arena *a, struct fail *f,
    struct plan_row **rows, size_t *n, enum stmt_id id, const void *args)
{
	size_t nparams;
	enum err e = conn_need(db, f);

	if (e != OK)
		return e;
	MYSQL_STMT *st = mysql_stmt_init(db->my);
	char *sql = arena_printf(a, "EXPLAIN %s%s",
	    db->mariadb ? "" :
			  "FORMAT=TRADITIONAL ", /* MySQL's default format is a tree */
	    stmt_text(a, id, list_slot(stmt_list_len(db, id, args))));
	if (st == NULL)
		return conn_fail(db, NULL, "EXPLAIN", f);
	arena_reset(&db->scratch);
	MYSQL_BIND *bind = bind_args(db, id, args, &nparams);
	if (mysql_stmt_prepare(st, sql, strlen(sql)) != 0 ||
	    mysql_stmt_bind_param(st, bind) != 0 || mysql_stmt_execute(st) != 0)
		e = conn_fail(db, st, "EXPLAIN", f);
	else
		e = explain_fetch(db, a, st, rows, n, f);
	mysql_stmt_close(st);
	return e;
}

enum err db_rows_read(struct db *db, int64_t *sum, struct fail *f)
{
	struct arena a = { 0 };
	struct row_status *rows = NULL;
	size_t n;
	enum err e = db_query(db, &a, f, &rows, &n, READ_COUNTERS);

	*sum = 0;
	for (size_t i = 0; e == OK && i < n; i++)
		*sum += strtoll(rows[i].value, NULL, 10);
	arena_free(&a);
	return e;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "db/app_remove.h"

#include "db/stmts.h"
#include "lib/banned.h"

enum err
app_needs_read(struct db *db, int64_t appid, struct app_needs *n, struct fail *f)
{
	struct arena a = { 0 };
	struct row_pair *wus;
	enum err e = db_row(db, &a, f, &wus, APP_WORK, .appid = appid);

	if (e == OK)
		*n = (struct app_needs){ .workunits = wus->a, .unfinished = wus->b };
	arena_free(&a);
	TRY(e);
	return db_number(db, f, &n->filesets, APP_FILESETS, .appid = appid);
}

enum err
app_version_used(
    struct db *db, struct arena *a, int64_t version_id, bool *used, struct fail *f)
{
	struct row_number *rows = NULL;
	size_t n = 0;

	TRY(db_query(db, a, f, &rows, &n, VERSION_HOSTS, .from = version_id,
	    .to = version_id, .after = 0, .max = 1));
	*used = n > 0;
	return OK;
}

enum err
app_statistics_delete(struct db *db, struct arena *a, struct version_range *r,
    int64_t *left, struct fail *f)
{
	struct row_number *rows = NULL;
	size_t n = 0;

	TRY(db_query(db, a, f, &rows, &n, VERSION_HOSTS, .from = r->from, .to = r->to,
	    .after = r->after, .max = DB_LIST_MAX));
	*left = (int64_t)n;
	if (n == 0)
		return OK;
	r->after = rows[n - 1].v - 1; /* it may have more of them */
	return db_exec(db, f, NULL, VERSION_HOSTS_FORGET, .from = r->from, .to = r->to,
	    .host_ids = db_ids(row_numbers(a, rows, n), n));
}

enum err
app_delete(struct db *db, int64_t appid, struct fail *f)
{
	static const enum stmt_id rows[] = {
		SQL_APP_FORGET_VERSIONS,
		SQL_LIKE(APP_FORGET_BATCHES, APP_FORGET_VERSIONS),
		SQL_LIKE(APP_FORGET_SUBMIT, APP_FORGET_VERSIONS),
		SQL_LIKE(APP_DELETE, APP_FORGET_VERSIONS),
	};
	struct app_needs n;
	int64_t id;
	enum err e;

	e = db_number(db, f, &id, APP_LOCK, .appid = appid);
	if (e == E_NOTFOUND)
		return FAIL(f, e, "the app has just been removed by another command");
	if (e != OK)
		return e;
	TRY(app_needs_read(db, appid, &n, f));
	if (n.workunits > 0 || n.filesets > 0)
		return FAIL(f, E_RACE,
		    "work or files of the app were added meanwhile; run the command again");
	for (size_t i = 0; i < N(rows); i++)
		TRY(db_exec_like(
		    db, f, NULL, rows[i], APP_FORGET_VERSIONS, .appid = appid));
	return OK;
}

enum err
app_added_read(
    struct db *db, struct arena *a, int64_t appid, char **text, struct fail *f)
{
	struct row_text *row;

	TRY(db_row(db, a, f, &row, APP_ADDED, .appid = appid));
	*text = row->s;
	return OK;
}

enum err
app_added_note(struct db *db, int64_t appid, const char *text, struct fail *f)
{
	return db_exec(db, f, NULL, APP_SET_ADDED, .added = text, .appid = appid);
}

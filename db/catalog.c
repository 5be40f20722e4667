/* SPDX-License-Identifier: Apache-2.0 */
/* Apps, platforms and app versions: read as a whole, changed only by the admin. */
#include "db/catalog.h"

#include "db/entity.h"
#include "db/private.h"
#include "db/stmts.h"
#include "lib/banned.h"

enum { BENCHMARKS_READ = 1000 };

static enum err benchmarks_load(
    struct db *db, struct arena *a, struct catalog *c, struct fail *f)
{
	double v[BENCHMARKS_READ];
	struct row_speed *rows;
	size_t n;

	TRY(db_query(db, a, f, &rows, &n, HOST_BENCHMARKS, .max = BENCHMARKS_READ));
	for (size_t i = 0; i < n; i++)
		v[i] = rows[i].p_fpops;
	catalog_benchmarks(c, v, n);
	return OK;
}

enum err catalog_load(
    struct db *db, struct arena *a, struct catalog **out, struct fail *f)
{
	struct catalog *c = NEW(a, struct catalog);
	int64_t none = 0;

	TRY(db_query(db, a, f, &c->apps, &c->napps, APPS));
	TRY(db_query(db, a, f, &c->platforms, &c->nplatforms, PLATFORMS));
	TRY(db_query(db, a, f, &c->versions, &c->nversions, APP_VERSIONS));
	TRY(db_number(db, f, &none, FILESETS_NONE));
	c->no_filesets = none != 0;
	*out = c;
	no_work_forget_gaps(&db->trigger_cache); /* once a minute is enough */
	return benchmarks_load(db, a, c, f);
}

enum err app_by_id(
    struct db *db, struct arena *a, int64_t id, struct app **app, struct fail *f)
{
	return db_row(db, a, f, app, APP_BY_ID, .id = id);
}

enum err app_insert(struct db *db, struct app *app, struct fail *f)
{
	app->id = 0; /* assigned by the database, also on a retry */

	TRY(db_exec(db, f, NULL, APP_INSERT, .app = app));
	app->id = db_insert_id(db);
	return OK;
}

enum err app_update(struct db *db, const struct app *app, struct fail *f)
{
	return db_exec(db, f, NULL, APP_UPDATE, .app = app);
}

enum err app_version_insert(struct db *db, struct app_version *version, struct fail *f)
{
	version->id = 0; /* assigned by the database, also on a retry */

	TRY(db_exec(db, f, NULL, APP_VERSION_INSERT, .version = version));
	version->id = db_insert_id(db);
	return OK;
}

enum err platform_insert(struct db *db, struct platform *platform, struct fail *f)
{
	platform->id = 0; /* assigned by the database, also on a retry */

	TRY(db_exec(db, f, NULL, PLATFORM_INSERT, .platform = platform));
	platform->id = db_insert_id(db);
	return OK;
}

enum err platform_update(struct db *db, const struct platform *platform, struct fail *f)
{
	return db_exec(db, f, NULL, PLATFORM_UPDATE, .id = platform->id,
	    .text = platform->user_friendly_name);
}

enum err app_versions_of(struct db *db, struct arena *a, int64_t appid,
    struct app_version **v, size_t *n, struct fail *f)
{
	return db_query(db, a, f, v, n, APP_VERSIONS_OF, .appid = appid);
}

enum err app_version_set_deprecated(
    struct db *db, int64_t id, bool deprecated, struct fail *f)
{
	return db_exec(db, f, NULL, APP_VERSION_SET_DEPRECATED,
	    .deprecated = deprecated, .id = id);
}

enum err app_needs_read(
    struct db *db, int64_t appid, struct app_needs *n, struct fail *f)
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

enum err app_version_used(
    struct db *db, struct arena *a, int64_t version_id, bool *used, struct fail *f)
{
	struct row_number *rows = NULL;
	size_t n = 0;

	TRY(db_query(db, a, f, &rows, &n, VERSION_HOSTS, .from = version_id,
	    .to = version_id, .after = 0, .max = 1));
	*used = n > 0;
	return OK;
}

enum err app_statistics_delete(struct db *db, struct arena *a, struct version_range *r,
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

enum err app_delete(struct db *db, int64_t appid, struct fail *f)
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

enum err app_added_read(
    struct db *db, struct arena *a, int64_t appid, char **text, struct fail *f)
{
	struct row_text *row;

	TRY(db_row(db, a, f, &row, APP_ADDED, .appid = appid));
	*text = row->s;
	return OK;
}

enum err app_added_note(struct db *db, int64_t appid, const char *text, struct fail *f)
{
	return db_exec(db, f, NULL, APP_SET_ADDED, .added = text, .appid = appid);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Apps, platforms and app versions: read as a whole, changed only by the admin. */
#include "db/entity.h"

#include "db/private.h"
#include "db/stmts.h"
#include "lib/banned.h"

enum { BENCHMARKS_READ = 1000 };

static enum err
benchmarks_load(struct db *db, struct arena *a, struct catalog *c, struct fail *f)
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

enum err
catalog_load(struct db *db, struct arena *a, struct catalog **out, struct fail *f)
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

enum err
app_by_id(struct db *db, struct arena *a, int64_t id, struct app **app, struct fail *f)
{
	return db_row(db, a, f, app, APP_BY_ID, .id = id);
}

enum err
app_insert(struct db *db, struct app *app, struct fail *f)
{
	app->id = 0; /* assigned by the database, also on a retry */

	TRY(db_exec(db, f, NULL, APP_INSERT, .app = app));
	app->id = db_insert_id(db);
	return OK;
}

enum err
app_update(struct db *db, const struct app *app, struct fail *f)
{
	return db_exec(db, f, NULL, APP_UPDATE, .app = app);
}

enum err
app_version_insert(struct db *db, struct app_version *version, struct fail *f)
{
	version->id = 0; /* assigned by the database, also on a retry */

	TRY(db_exec(db, f, NULL, APP_VERSION_INSERT, .version = version));
	version->id = db_insert_id(db);
	return OK;
}

enum err
platform_insert(struct db *db, struct platform *platform, struct fail *f)
{
	platform->id = 0; /* assigned by the database, also on a retry */

	TRY(db_exec(db, f, NULL, PLATFORM_INSERT, .platform = platform));
	platform->id = db_insert_id(db);
	return OK;
}

enum err
platform_update(struct db *db, const struct platform *platform, struct fail *f)
{
	return db_exec(db, f, NULL, PLATFORM_UPDATE, .id = platform->id,
	    .text = platform->user_friendly_name);
}

enum err
app_versions_of(struct db *db, struct arena *a, int64_t appid, struct app_version **v,
    size_t *n, struct fail *f)
{
	return db_query(db, a, f, v, n, APP_VERSIONS_OF, .appid = appid);
}

enum err
app_version_set_deprecated(struct db *db, int64_t id, bool deprecated, struct fail *f)
{
	return db_exec(db, f, NULL, APP_VERSION_SET_DEPRECATED,
	    .deprecated = deprecated, .id = id);
}

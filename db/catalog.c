/* SPDX-License-Identifier: Apache-2.0 */
/* Applications, platforms and versions: read whole, changed only by the admin. */
#include "db/entity.h"

#include "db/no_work.h"
#include "lib/banned.h"

enum { BENCHMARKS_READ = 1000 };

static enum err
benchmarks_load(struct db *db, struct arena *a, struct catalog *c, struct fail *f)
{
	double v[BENCHMARKS_READ];
	struct row_speed *rows;
	void *p;
	size_t n;
	enum err e = db_query(
	    db, a, f, &p, &n, SQL_HOST_BENCHMARKS, (int64_t)BENCHMARKS_READ);

	if (e != OK)
		return e;
	rows = p;
	for (size_t i = 0; i < n; i++)
		v[i] = rows[i].p_fpops;
	catalog_benchmarks(c, v, n);
	return OK;
}

enum err
catalog_load(struct db *db, struct arena *a, struct catalog **out, struct fail *f)
{
	struct catalog *c = NEW(a, struct catalog);
	void *rows;
	enum err e = db_query(db, a, f, &rows, &c->napps, SQL_APPS);

	if (e != OK)
		return e;
	c->apps = rows;
	e = db_query(db, a, f, &rows, &c->nplatforms, SQL_PLATFORMS);
	if (e != OK)
		return e;
	c->platforms = rows;
	e = db_query(db, a, f, &rows, &c->nversions, SQL_APP_VERSIONS);
	if (e != OK)
		return e;
	c->versions = rows;
	*out = c;
	no_work_forget_gaps(db); /* once a minute is enough */
	return benchmarks_load(db, a, c, f);
}

enum err
app_by_id(struct db *db, struct arena *a, int64_t id, struct app **app, struct fail *f)
{
	void *row;
	enum err e = db_row(db, a, f, &row, SQL_APP_BY_ID, id);

	if (e == OK)
		*app = row;
	return e;
}

enum err
app_insert(struct db *db, struct app *app, struct fail *f)
{
	app->id = 0; /* assigned, also when tried again */
	enum err e = db_exec(db, f, NULL, SQL_APP_INSERT, app);

	if (e == OK)
		app->id = db_insert_id(db);
	return e;
}

enum err
app_update(struct db *db, const struct app *app, struct fail *f)
{
	return db_exec(db, f, NULL, SQL_APP_UPDATE, app->user_friendly_name,
	    (int64_t)app->deprecated, (int64_t)app->min_version, app->weight,
	    (int64_t)app->beta, (int64_t)app->target_nresults,
	    (int64_t)app->homogeneous_redundancy, (int64_t)app->homogeneous_app_version,
	    (int64_t)app->non_cpu_intensive, (int64_t)app->locality_scheduling,
	    (int64_t)app->fraction_done_exact, app->id);
}

enum err
app_version_insert(struct db *db, struct app_version *version, struct fail *f)
{
	version->id = 0; /* assigned, also when tried again */
	enum err e = db_exec(db, f, NULL, SQL_APP_VERSION_INSERT, version);

	if (e == OK)
		version->id = db_insert_id(db);
	return e;
}

enum err
platform_insert(struct db *db, struct platform *platform, struct fail *f)
{
	platform->id = 0; /* assigned, also when tried again */
	enum err e = db_exec(db, f, NULL, SQL_PLATFORM_INSERT, platform);

	if (e == OK)
		platform->id = db_insert_id(db);
	return e;
}

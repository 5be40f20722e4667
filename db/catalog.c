/* SPDX-License-Identifier: Apache-2.0 */
/* Applications, platforms and versions: read whole, changed only by the admin. */
#include "db/entity.h"

#include "lib/banned.h"

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
	return OK;
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

/* SPDX-License-Identifier: Apache-2.0 */
/* The schema's creation and version; schema_check and schema_upgrade are in adopt.c. */
#include "db/schema.h"

#include "db/private.h"
#include "lib/clock.h"
#include "lib/banned.h"

enum { NO_SUCH_TABLE = 1146 };

enum err
schema_create(struct db *db, struct fail *f)
{
	enum err e = conn_need(db, f);

	for (size_t i = 0; schema_sql[i] != NULL && e == OK; i++)
		e = conn_text(db, schema_sql[i], "schema.sql", f);
	if (e != OK)
		return e;
	return db_exec(
	    db, f, NULL, SQL_SCHEMA_SET_VERSION, (int64_t)SCHEMA_VERSION, clock_now());
}

enum err
schema_version(struct db *db, int64_t *version, struct fail *f)
{
	enum err e = db_number(db, f, version, SQL_SCHEMA_VERSION);

	if (e == E_NOTFOUND || (e == E_CONFIG && db->code == NO_SUCH_TABLE)) {
		*version = 0;
		return OK;
	}
	return e;
}

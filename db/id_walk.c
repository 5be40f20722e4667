/* SPDX-License-Identifier: Apache-2.0 */
/* Short, because every walk of a table needs it, and it needs only its statements. */
#include "db/id_walk.h"

#include "db/stmts.h"
#include "lib/banned.h"

enum err ids_ahead(struct db *db, enum id_table of, int64_t from, int64_t rows,
    int64_t *to, struct fail *f)
{
	static const enum stmt_id ahead[IDS__MAX] = {
		[IDS_RESULTS] = SQL_LIKE(RESULTS_AHEAD, WUS_AHEAD),
		[IDS_WORKUNITS] = SQL_WUS_AHEAD,
		[IDS_FILES] = SQL_LIKE(FILES_AHEAD, WUS_AHEAD),
		[IDS_FILESETS] = SQL_LIKE(FILESETS_AHEAD, WUS_AHEAD),
		[IDS_HOSTS] = SQL_LIKE(HOSTS_AHEAD, WUS_AHEAD),
		[IDS_USERS] = SQL_LIKE(USERS_AHEAD, WUS_AHEAD),
		[IDS_TEAMS] = SQL_LIKE(TEAMS_AHEAD, WUS_AHEAD),
		[IDS_APPS] = SQL_LIKE(APPS_AHEAD, WUS_AHEAD),
		[IDS_BATCHES] = SQL_LIKE(BATCHES_AHEAD, WUS_AHEAD),
	};

	return db_number_like(
	    db, f, to, ahead[of], WUS_AHEAD, .from = from, .skip = rows - 1);
}

enum err ids_behind(
    struct db *db, int64_t to, int64_t rows, int64_t *from, struct fail *f)
{
	return db_number(db, f, from, WUS_BEHIND, .to = to, .skip = rows);
}

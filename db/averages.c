/* SPDX-License-Identifier: Apache-2.0 */
/* The decay of recent average credit in the rows of hosts, accounts and teams. */
#include "db/averages.h"

#include "db/entity.h"
#include "db/stmts.h"
#include "lib/banned.h"

enum err
averages_due(struct db *db, struct arena *a, enum averages_of of, int64_t after,
    int64_t before, int64_t **ids, size_t *n, struct fail *f)
{
	static const enum stmt_id due[AVERAGES__MAX] = {
		[AVERAGES_HOST] = SQL_HOSTS_TO_DECAY,
		[AVERAGES_USER] = SQL_LIKE(USERS_TO_DECAY, HOSTS_TO_DECAY),
		[AVERAGES_TEAM] = SQL_LIKE(TEAMS_TO_DECAY, HOSTS_TO_DECAY),
	};
	struct row_number *rows = NULL;

	TRY(db_query_like(db, a, f, &rows, n, due[of], HOSTS_TO_DECAY, .after = after,
	    .before = (double)before, .max = AVERAGES_BATCH));
	*ids = row_numbers(a, rows, *n);
	return OK;
}

enum err
averages_decay(struct db *db, enum averages_of of, const int64_t *ids, size_t n,
    int64_t now, struct fail *f)
{
	static const enum stmt_id decay[AVERAGES__MAX] = {
		[AVERAGES_HOST] = SQL_HOSTS_DECAY,
		[AVERAGES_USER] = SQL_LIKE(USERS_DECAY, HOSTS_DECAY),
		[AVERAGES_TEAM] = SQL_LIKE(TEAMS_DECAY, HOSTS_DECAY),
	};

	return db_exec_like(
	    db, f, NULL, decay[of], HOSTS_DECAY, .ids = db_ids(ids, n), .now = now);
}

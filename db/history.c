/* SPDX-License-Identifier: Apache-2.0 */
#include "db/history.h"

#include "lib/banned.h"

enum err
ledger_days(struct db *db, struct arena *a, int64_t since_day, struct row_ledger **days,
    size_t *n, struct fail *f)
{
	return db_query(db, a, f, days, n, LEDGER_DAYS, .since_day = since_day);
}

enum err
results_times(struct db *db, struct arena *a, int64_t after,
    struct row_result_times **rows, size_t *n, struct fail *f)
{
	return db_query(
	    db, a, f, rows, n, RESULT_TIMES, .after = after, .max = RESULT_TIMES_MOST);
}

enum err
results_last_id(struct db *db, int64_t *id, struct fail *f)
{
	return db_number(db, f, id, RESULT_LAST_ID);
}

enum err
results_first_time(struct db *db, int64_t *time, struct fail *f)
{
	return db_number(db, f, time, RESULT_FIRST_TIME);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What the database knows of the past, for locus plot. */
#ifndef DB_HISTORY_H
#define DB_HISTORY_H

#include "db/entity.h"
#include "db/stmts.h"

enum { RESULT_TIMES_MOST = 20000 };

/* Returns the sums of each day of the ledger since a day (days since 1970), in order;
 * fileset_id and hostid are 0. */
enum err ledger_days(struct db *, struct arena *, int64_t since_day,
    struct row_ledger **, size_t *n, struct fail *);
/* Returns at most RESULT_TIMES_MOST results with ids above after, by id. */
enum err results_times(struct db *, struct arena *, int64_t after,
    struct row_result_times **, size_t *n, struct fail *);
enum err results_last_id(struct db *, int64_t *id, struct fail *); /* 0 = none */
/* When the result with the lowest id was made, s UTC; 0 = there is none. */
enum err results_first_time(struct db *, int64_t *time, struct fail *);

#endif

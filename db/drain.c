/* SPDX-License-Identifier: Apache-2.0 */
#include "db/drain.h"

#include "db/stmts.h"
#include "lib/banned.h"

enum err
project_drained_since(struct db *db, int64_t *since, struct fail *f)
{
	return db_number(db, f, since, PROJECT_DRAINED);
}

enum err
project_set_drained(struct db *db, int64_t since, struct fail *f)
{
	return db_exec(db, f, NULL, PROJECT_SET_DRAINED, .drain_time = since);
}

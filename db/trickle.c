/* SPDX-License-Identifier: Apache-2.0 */
/* Messages from running tasks (trickle-up). */
#include "db/entity.h"

#include "lib/banned.h"

enum err
trickle_insert(struct db *db, int64_t hostid, int64_t now, const struct rq_trickle *t,
    struct fail *f)
{
	return db_exec(
	    db, f, NULL, SQL_TRICKLE_INSERT, now, hostid, t->variety, t->xml);
}

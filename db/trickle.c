/* SPDX-License-Identifier: Apache-2.0 */
/* Messages from running tasks (trickle-up) and to them (trickle-down). */
#include "db/entity.h"

#include "db/private.h"
#include "lib/banned.h"

enum { BYTES_NOT_TEXT = 1366 }; /* ER_TRUNCATED_WRONG_VALUE_FOR_FIELD */

enum err
trickle_insert(struct db *db, int64_t hostid, int64_t now, const struct rq_trickle *t,
    struct fail *f)
{
	enum err e = db_exec(db, f, NULL, TRICKLE_INSERT, .now = now, .hostid = hostid,
	    .variety = t->variety, .xml = t->xml);

	if (e == OK || db->code != BYTES_NOT_TEXT)
		return e;
	return db_exec(db, f, NULL, TRICKLE_INSERT_TEXT, .now = now, .hostid = hostid,
	    .variety = t->variety, .xml = t->xml);
}

enum err
messages_down(struct db *db, struct arena *a, int64_t hostid, size_t max,
    struct snap_message **out, size_t *n, struct fail *f)
{
	struct row_message *row;
	struct row_message *rows = NULL;

	TRY(db_query(db, a, f, &rows, n, MESSAGES_DOWN, .hostid = hostid, .max = max));
	row = rows;
	*out = NEWN(a, struct snap_message, *n + 1);
	for (size_t i = 0; i < *n; i++)
		(*out)[i] = (struct snap_message){ row[i].id, row[i].xml };
	return OK;
}

enum err
message_handled(struct db *db, int64_t id, struct fail *f)
{
	int64_t affected;
	enum err e = db_exec(db, f, &affected, MESSAGE_HANDLED, .id = id);

	if (e != OK || affected == 1)
		return e;
	return FAIL(f, E_RACE, "message %lld was already delivered", (long long)id);
}

enum err
message_insert(struct db *db, int64_t hostid, int64_t now, const char *variety,
    const char *xml, struct fail *f)
{
	return db_exec(db, f, NULL, MESSAGE_INSERT, .now = now, .hostid = hostid,
	    .variety = variety, .xml = xml);
}

enum err
trickles_new(struct db *db, struct arena *a, int64_t after, size_t max,
    struct row_trickle **rows, size_t *n, struct fail *f)
{
	return db_query(db, a, f, rows, n, TRICKLES_NEW, .after = after, .max = max);
}

enum err
trickles_delete(struct db *db, const int64_t *ids, size_t n, struct fail *f)
{
	return db_exec(db, f, NULL, TRICKLES_DELETE, .ids = db_ids(ids, n));
}

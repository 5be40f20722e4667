/* SPDX-License-Identifier: Apache-2.0 */
/* What kept a daemon from handling a workunit (table workunit_trouble). */
#include "db/entity.h"

#include "db/private.h"
#include "lib/banned.h"

enum err
wu_trouble_note(struct db *db, int64_t workunitid, const char *stage, int64_t now,
    const char *reason, const char *detail, struct fail *f)
{
	return db_exec(db, f, NULL, WU_TROUBLE_NOTE, .workunitid = workunitid,
	    .stage = stage, .now = now, .reason = reason,
	    .detail = detail == NULL ? "" : detail);
}

enum err
wu_troubles_clear(struct db *db, const int64_t *workunitids, size_t n,
    const char *stage, struct fail *f)
{
	return db_exec(db, f, NULL, WU_TROUBLES_CLEAR,
	    .workunitids = db_ids(workunitids, n), .stage = stage);
}

enum err
wu_trouble_any(
    struct db *db, struct arena *a, const char *stage, bool *any, struct fail *f)
{
	struct row_number *rows = NULL;
	size_t n = 0;
	enum err e = db_query(db, a, f, &rows, &n, WU_TROUBLE_OF_STAGE, .stage = stage);

	*any = n > 0;
	return e;
}

enum err
wu_troubles(struct db *db, struct arena *a, int64_t workunitid,
    struct row_wu_trouble **rows, size_t *n, struct fail *f)
{
	return db_query(db, a, f, rows, n, WU_TROUBLES, .workunitid = workunitid);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workunits reserved for some hosts.  The transitioner makes their results like any
 * others, but the results have their own place in the index, where only their targets
 * look.  So a claim is the same conditional update as any other, and two schedulers can
 * never send one result twice.
 */
#include "db/entity.h"

#include "db/stmts.h"
#include "model/rows.h"
#include "lib/banned.h"

/*
 * Sets the workunit's flags and moves its unsent results to the matching place in the
 * index.
 */
static enum err
assignment_set_flags(struct db *db, struct arena *a, struct workunit wu, int32_t flags,
    int64_t now, struct fail *f)
{
	struct result *r;
	size_t n = 0;
	enum err e = db_exec(db, f, NULL, WU_SET_FLAGS, .transitioner_flags = flags,
	    .at = now, .id = wu.id);

	wu.transitioner_flags = flags;
	if (e == OK)
		e = results_of_workunit(db, a, wu.id, &r, &n, f);
	for (size_t i = 0; e == OK && i < n; i++)
		if (r[i].server_state == RESULT_UNSENT)
			e = db_exec(db, f, NULL, RESULT_SET_READY,
			    .ready = result_ready(&wu, r[i].priority), .id = r[i].id);
	return e;
}

enum err
assignment_add(struct db *db, struct arena *a, const struct workunit *wu,
    enum target target, int64_t target_id, bool multi, int64_t now, struct fail *f)
{
	TRY(assignment_set_flags(
	    db, a, *wu, multi ? WU_BROADCAST : WU_TARGETED, now, f));
	return assignment_row_add(db, wu->id, target, target_id, multi, now, f);
}

enum err
assignment_row_add(struct db *db, int64_t workunitid, enum target target,
    int64_t target_id, bool multi, int64_t now, struct fail *f)
{
	return db_exec(db, f, NULL, ASSIGNMENT_INSERT, .now = now,
	    .target_id = target_id, .target_type = target, .multi = multi,
	    .workunitid = workunitid);
}

enum err
assignments_drop(struct db *db, struct arena *a, const struct workunit *wu, int64_t now,
    struct fail *f)
{
	TRY(assignment_set_flags(db, a, *wu, 0, now, f));
	return db_exec(
	    db, f, NULL, PURGE_ASSIGNMENTS, .workunitids = db_ids(&wu->id, 1));
}

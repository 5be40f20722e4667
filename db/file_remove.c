/* SPDX-License-Identifier: Apache-2.0 */
#include "db/file_remove.h"

#include <stdlib.h>
#include "db/entity.h"
#include "db/stmts.h"
#include "lib/buf.h"
#include "model/tally.h"
#include "lib/order.h"
#include "lib/banned.h"

enum err
fileset_use(
    struct db *db, struct arena *a, int64_t id, struct fileset_use *u, struct fail *f)
{
	struct row_tally *results;
	struct row_wu_counts *wus;

	TRY(db_row(db, a, f, &results, FILE_TALLY, .fileset_id = id));
	TRY(db_row(db, a, f, &wus, FILE_WU_COUNTS, .fileset_id = id));
	*u = (struct fileset_use){ .unsent = results->unsent,
		.in_progress = results->in_progress,
		.unfinished = wus->total - wus->assimilated };
	return OK;
}

bool
fileset_is_needed(const struct fileset_use *u)
{
	return u->unsent > 0 || u->in_progress > 0 || u->unfinished > 0;
}

enum err
filesets_leaving(struct db *db, struct arena *a, int64_t ordered_before, int64_t max,
    struct row_named **rows, size_t *n, struct fail *f)
{
	*rows = NULL;
	return db_query(db, a, f, rows, n, FILESETS_LEAVING,
	    .ordered_before = ordered_before, .max = max);
}

enum err
fileset_leave(struct db *db, struct arena *a, struct fileset_leaving *l, struct fail *f)
{
	struct row_number *rows = NULL;
	struct workunit *wus;
	int64_t *ids, unfolded = 0;
	size_t n = 0, nwus;

	l->left = 0;
	TRY(db_query(db, a, f, &rows, &n, FILESET_WUS, .fileset_id = l->fileset_id,
	    .max = DB_LIST_MAX));
	if (n == 0)
		return OK;
	ids = row_numbers(a, rows, n);
	ids_sort(ids, n);
	TRY(workunits_lock(db, a, ids, n, &wus, &nwus, f));
	TRY(db_number(db, f, &unfolded, WUS_UNFOLDED, .workunitids = db_ids(ids, n)));
	if (unfolded > 0)
		return FAIL(f, E_RETRY,
		    "%lld jobs of the file are not in the ledger yet; is the transitioner running?",
		    (long long)unfolded);
	TRY(db_exec(db, f, NULL, WUS_LEAVE_FILESET, .ids = db_ids(ids, n)));
	TRY(db_exec(db, f, NULL, RESULTS_LEAVE_FILESET, .workunitids = db_ids(ids, n)));
	l->left = (int64_t)n;
	return OK;
}

enum err
file_is_shared(
    struct db *db, struct arena *a, int64_t file_id, bool *shared, struct fail *f)
{
	struct row_text *rows = NULL;
	size_t n = 0;

	TRY(db_query(db, a, f, &rows, &n, SETS_OF_FILE, .file_id = file_id));
	*shared = n > 1;
	return OK;
}

enum err
filesets_to_retire(struct db *db, struct arena *a, int64_t after, int64_t max,
    struct row_retire **rows, size_t *n, struct fail *f)
{
	*rows = NULL;
	return db_query(
	    db, a, f, rows, n, FILESETS_TO_RETIRE, .after = after, .max = max);
}

enum err
fileset_set_idle(struct db *db, int64_t id, int64_t since, struct fail *f)
{
	return db_exec(db, f, NULL, FILESET_SET_IDLE, .since = since, .id = id);
}

enum err
fileset_is_used(struct db *db, struct arena *a, int64_t id, bool *used, struct fail *f)
{
	int64_t most = 1;
	struct row_number *rows = NULL;
	size_t n = 0;

	TRY(db_query(db, a, f, &rows, &n, FILESET_WUS, .fileset_id = id, .max = most));
	*used = n > 0;
	return OK;
}

enum err
file_tell_holders(struct db *db, struct arena *a, const struct row_member *file,
    int64_t now, int64_t *told, struct fail *f)
{
	struct buf b = buf_new(a);
	int64_t n = 0;

	buf_tag(&b, "delete_file_info", file->name);
	TRY(db_exec(
	    db, f, &n, HOLDERS_TELL, .now = now, .xml = b.p, .file_id = file->file_id));
	*told += n;
	return OK;
}

enum err
fileset_remove(struct db *db, struct arena *a, int64_t id,
    const struct row_member *files, size_t n, struct fail *f)
{
	int64_t kind = TALLY_OF_FILESET;

	(void)a;
	TRY(db_exec(db, f, NULL, TALLY_DELETE, .kind = kind, .id = id));
	TRY(db_exec(db, f, NULL, FILESET_UNTRIGGER, .id = id));
	TRY(db_exec_like(db, f, NULL, SQL_LIKE(FILESET_UNLINK, FILESET_UNTRIGGER),
	    FILESET_UNTRIGGER, .id = id));
	TRY(db_exec_like(db, f, NULL, SQL_LIKE(FILESET_UNSOURCE, FILESET_UNTRIGGER),
	    FILESET_UNTRIGGER, .id = id));
	TRY(db_exec_like(db, f, NULL, SQL_LIKE(FILESET_DELETE, FILESET_UNTRIGGER),
	    FILESET_UNTRIGGER, .id = id));
	for (size_t i = 0; i < n; i++) {
		TRY(db_exec_like(db, f, NULL, SQL_LIKE(FILE_UNHELD, FILESET_UNTRIGGER),
		    FILESET_UNTRIGGER, .id = files[i].file_id));
		TRY(db_exec_like(db, f, NULL, SQL_LIKE(FILE_DELETE, FILESET_UNTRIGGER),
		    FILESET_UNTRIGGER, .id = files[i].file_id));
	}
	return OK;
}

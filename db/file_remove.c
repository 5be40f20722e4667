/* SPDX-License-Identifier: Apache-2.0 */
#include "db/file_remove.h"

#include <stdlib.h>
#include "db/entity.h"
#include "db/stmts.h"
#include "model/tally.h"
#include "lib/order.h"
#include "lib/banned.h"

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
	qsort(ids, n, sizeof(*ids), id_order);
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
fileset_remove(struct db *db, struct arena *a, int64_t id,
    const struct row_member *files, size_t n, struct fail *f)
{
	int64_t kind = TALLY_OF_FILESET;

	(void)a;
	TRY(db_exec(db, f, NULL, TALLY_DELETE, .kind = kind, .id = id));
	TRY(db_exec(db, f, NULL, FILESET_UNTRIGGER, .id = id));
	TRY(db_exec_like(db, f, NULL, SQL_LIKE(FILESET_UNLINK, FILESET_UNTRIGGER),
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

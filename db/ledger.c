/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the ledger: jobs are moved into it, never counted afresh. */
#include "db/ledger.h"

#include "db/id_walk.h"
#include "db/stmts.h"
#include "lib/banned.h"

enum err ledger_due(struct db *db, struct arena *a, struct id_share part, size_t max,
    int64_t **ids, size_t *n, struct fail *f)
{
	struct row_number *rows = NULL;

	TRY(db_query(db, a, f, &rows, n, LEDGER_DUE, .parts = part.n, .part = part.i,
	    .max = max));
	*ids = row_numbers(a, rows, *n);
	return OK;
}

enum err ledger_fold(struct db *db, const int64_t *ids, size_t n, struct fail *f)
{
	int64_t taken = 0;

	TRY(db_exec(db, f, &taken, LEDGER_TAKE, .ids = db_ids(ids, n)));
	if (taken != (int64_t)n)
		return FAIL(f, E_RACE,
		    "only %lld of %zu jobs were still due for the ledger",
		    (long long)taken, n);
	return db_exec(db, f, NULL, LEDGER_FOLD, .ids = db_ids(ids, n));
}

enum err ledger_old(struct db *db, struct arena *a, int64_t day, size_t max,
    struct row_ledger **old, size_t *n, struct fail *f)
{
	return db_query(db, a, f, old, n, LEDGER_OLD, .before = day, .max = max);
}

static enum err ledger_row_delete(
    struct db *db, const struct row_ledger *old, struct fail *f)
{
	int64_t affected = 0;

	TRY(db_exec(db, f, &affected, LEDGER_CLOSE, .old = old));
	return affected > 0 ? OK :
	                      FAIL(f, E_RACE, "day %lld of the ledger has changed",
				  (long long)old->day);
}

enum err ledger_close(struct db *db, const struct row_ledger *old, struct fail *f)
{
	struct row_ledger of_file = *old, of_host = *old;

	TRY(ledger_row_delete(db, old, f));
	of_file.day = of_file.hostid = 0;
	of_host.day = of_host.fileset_id = 0;
	TRY(db_exec(db, f, NULL, LEDGER_ADD, .ledger = &of_file));
	return db_exec(db, f, NULL, LEDGER_ADD, .ledger = &of_host);
}

enum err ledger_ended(struct db *db, struct arena *a, enum ledger_ended what,
    int64_t from, int64_t to, struct row_ledger **rows, size_t *n, struct fail *f)
{
	static const enum stmt_id of[] = {
		[LEDGER_SETS] = SQL_LEDGER_OF_ENDED_SETS,
		[LEDGER_HOSTS] = SQL_LIKE(LEDGER_OF_ENDED_HOSTS, LEDGER_OF_ENDED_SETS),
	};

	*rows = NULL;
	return db_query_like(
	    db, a, f, rows, n, of[what], LEDGER_OF_ENDED_SETS, .from = from, .to = to);
}

enum err ledger_ended_to(struct db *db, enum ledger_ended what, int64_t from,
    int64_t rows, int64_t *to, struct fail *f)
{
	TRY(ids_ahead(
	    db, what == LEDGER_SETS ? IDS_FILESETS : IDS_HOSTS, from, rows, to, f));
	if (*to == IDS_END)
		*to = LEDGER_ENDED_SET - 1;
	return OK;
}

/* The sums of all are those of the file sets: of a host nothing is left. */
enum err ledger_end(struct db *db, const struct row_ledger *old, struct fail *f)
{
	struct row_ledger sum = *old;

	TRY(ledger_row_delete(db, old, f));
	sum.fileset_id = LEDGER_ENDED_SET;
	return old->fileset_id == 0 ? OK :
	                              db_exec(db, f, NULL, LEDGER_ADD, .ledger = &sum);
}

enum err ledger_of_all(
    struct db *db, struct arena *a, int64_t day, struct row_ledger *sum, struct fail *f)
{
	struct row_ledger *row = NULL;

	TRY(db_row(db, a, f, &row, LEDGER_OF_ALL, .since_day = day));
	*sum = *row;
	return OK;
}

enum err ledger_of_file(struct db *db, struct arena *a, int64_t fileset_id,
    struct row_ledger *sum, struct fail *f)
{
	struct row_ledger *row = NULL;

	TRY(db_row(db, a, f, &row, LEDGER_OF_FILE, .fileset_id = fileset_id));
	*sum = *row;
	return OK;
}

enum err ledger_of_host(struct db *db, struct arena *a, int64_t hostid,
    struct row_ledger *sum, struct fail *f)
{
	struct row_ledger *row = NULL;

	TRY(db_row(db, a, f, &row, LEDGER_OF_HOST, .hostid = hostid));
	*sum = *row;
	return OK;
}

enum err ledger_of_files(
    struct db *db, struct arena *a, struct row_ledger **sums, size_t *n, struct fail *f)
{
	return db_query(db, a, f, sums, n, LEDGER_OF_FILES);
}

enum err files_left(struct db *db, struct arena *a, int64_t day,
    struct row_file_left **left, size_t *n, struct fail *f)
{
	return db_query(db, a, f, left, n, FILES_LEFT, .since_day = day);
}

enum err baseline_cost_add(struct db *db, int64_t shard, int64_t jobs,
    int64_t bytes_needed, int64_t bytes_without, struct fail *f)
{
	return db_exec(db, f, NULL, WITHOUT_ADD, .shard = shard, .jobs = jobs,
	    .bytes_needed = bytes_needed, .bytes_without = bytes_without);
}

enum err baseline_cost_sum(
    struct db *db, struct arena *a, struct row_without *sum, struct fail *f)
{
	struct row_without *row = NULL;

	TRY(db_row(db, a, f, &row, WITHOUT_SUM));
	*sum = *row;
	return OK;
}

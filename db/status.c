/* SPDX-License-Identifier: Apache-2.0 */
/* Counts rows by state. */
#include "db/status.h"

#include "db/entity.h"
#include "db/stmts.h"
#include "model/states.h"
#include "lib/banned.h"

enum { ACTIVE_S = 7 * 86400 };

static int64_t
count_of_state(const struct row_pair *rows, size_t n, int64_t state)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].a == state)
			return rows[i].b;
	return 0;
}

static enum err
count_results(struct db *db, struct arena *a, struct status *s, struct fail *f)
{
	struct row_pair *rows = NULL;
	size_t n;
	enum err e = db_query(db, a, f, &rows, &n, STATUS_RESULTS);

	if (e != OK)
		return e;
	s->results_unsent = count_of_state(rows, n, RESULT_UNSENT);
	s->results_in_progress = count_of_state(rows, n, RESULT_IN_PROGRESS);
	s->results_over = count_of_state(rows, n, RESULT_OVER);
	return OK;
}

static enum err
count_workunits(struct db *db, struct arena *a, struct status *s, struct fail *f)
{
	struct row_pair *rows = NULL;
	size_t n;
	enum err e = db_query(db, a, f, &rows, &n, STATUS_ASSIMILATE);

	if (e != OK)
		return e;
	s->workunits_to_assimilate = count_of_state(rows, n, ASSIMILATE_READY);
	s->workunits_done = count_of_state(rows, n, ASSIMILATE_DONE);
	return db_number(db, f, &s->workunits_to_validate, STATUS_VALIDATE);
}

enum err
status_count(
    struct db *db, struct arena *a, int64_t now, struct status *s, struct fail *f)
{
	const struct {
		enum stmt_id stmt;
		int64_t *to;
	} counts[] = {
		{ SQL_STATUS_FILES, &s->files },
		{ SQL_LIKE(STATUS_FILES_UNSENT, STATUS_FILES), &s->files_with_unsent },
		{ SQL_LIKE(STATUS_HOSTS, STATUS_FILES), &s->hosts },
		{ SQL_LIKE(STATUS_USERS, STATUS_FILES), &s->users },
	};
	enum err e;

	*s = (struct status){ 0 };
	e = count_results(db, a, s, f);
	if (e == OK)
		e = count_workunits(db, a, s, f);
	for (size_t i = 0; i < N(counts) && e == OK; i++)
		e = db_number_like(db, f, counts[i].to, counts[i].stmt, STATUS_FILES);
	return e == OK ? hosts_active(db, now - ACTIVE_S, &s->hosts_active, f) : e;
}

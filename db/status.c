/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of the rows in each state. */
#include "db/status.h"

#include "db/entity.h"
#include "model/states.h"
#include "lib/banned.h"

enum { ACTIVE_S = 7 * 86400 };

static int64_t
of_state(const struct row_pair *rows, size_t n, int64_t state)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].a == state)
			return rows[i].b;
	return 0;
}

static enum err
count_results(struct db *db, struct arena *a, struct status *s, struct fail *f)
{
	void *rows;
	size_t n;
	enum err e = db_query(db, a, f, &rows, &n, SQL_STATUS_RESULTS);

	if (e != OK)
		return e;
	s->results_unsent = of_state(rows, n, RESULT_UNSENT);
	s->results_in_progress = of_state(rows, n, RESULT_IN_PROGRESS);
	s->results_over = of_state(rows, n, RESULT_OVER);
	return OK;
}

static enum err
count_workunits(struct db *db, struct arena *a, struct status *s, struct fail *f)
{
	void *rows;
	size_t n;
	enum err e = db_query(db, a, f, &rows, &n, SQL_STATUS_ASSIMILATE);

	if (e != OK)
		return e;
	s->workunits_to_assimilate = of_state(rows, n, ASSIMILATE_READY);
	s->workunits_done = of_state(rows, n, ASSIMILATE_DONE);
	return db_number(db, f, &s->workunits_to_validate, SQL_STATUS_VALIDATE);
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
		{ SQL_STATUS_FILES_UNSENT, &s->files_with_unsent },
		{ SQL_STATUS_HOSTS, &s->hosts },
		{ SQL_STATUS_USERS, &s->users },
	};
	enum err e;

	*s = (struct status){ 0 };
	e = count_results(db, a, s, f);
	if (e == OK)
		e = count_workunits(db, a, s, f);
	for (size_t i = 0; i < N(counts) && e == OK; i++)
		e = db_number(db, f, counts[i].to, counts[i].stmt);
	return e == OK ? hosts_active(db, now - ACTIVE_S, &s->hosts_active, f) : e;
}

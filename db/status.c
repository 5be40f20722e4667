/* SPDX-License-Identifier: Apache-2.0 */
/* Counts rows by state. */
#include "db/status.h"

#include "db/entity.h"
#include "db/stmts.h"
#include "db/work_tally.h"
#include "lib/banned.h"

enum { ACTIVE_S = 7 * 86400 };

static enum err
count_work(
    struct db *db, struct arena *a, int64_t now, struct status *s, struct fail *f)
{
	struct work_counts c;

	TRY(work_counts_read(db, a, now, &c, f));
	s->results_unsent = c.results.unsent;
	s->results_in_progress = c.results.in_progress;
	s->results_over = c.results.over;
	s->workunits_to_assimilate = c.to_assimilate;
	s->workunits_done = c.wus.assimilated;
	s->workunits_to_validate = c.wus.to_validate;
	return OK;
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

	*s = (struct status){ 0 };
	TRY(count_work(db, a, now, s, f));
	for (size_t i = 0; i < N(counts); i++)
		TRY(db_number_like(db, f, counts[i].to, counts[i].stmt, STATUS_FILES));
	return hosts_active(db, now - ACTIVE_S, &s->hosts_active, f);
}

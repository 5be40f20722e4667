/* SPDX-License-Identifier: Apache-2.0 */
#include "db/project.h"

#include <string.h>
#include "db/entity.h"
#include "db/inspect.h"
#include "db/stmts.h"
#include "db/work_tally.h"
#include "lib/banned.h"

enum err project_drained_since(struct db *db, int64_t *since, struct fail *f)
{
	return db_number(db, f, since, PROJECT_DRAINED);
}

enum err project_set_drained(struct db *db, int64_t since, struct fail *f)
{
	return db_exec(db, f, NULL, PROJECT_SET_DRAINED, .drain_time = since);
}

enum err project_backed_up(struct db *db, int64_t *begun, struct fail *f)
{
	return db_number(db, f, begun, PROJECT_BACKUP);
}

enum err project_set_backed_up(struct db *db, int64_t begun, struct fail *f)
{
	return db_exec(db, f, NULL, PROJECT_SET_BACKUP, .backup_time = begun);
}

enum err project_first_app(struct db *db, int64_t *since, struct fail *f)
{
	return db_number(db, f, since, PROJECT_FIRST_APP);
}

bool replica_named(const struct conf *cf)
{
	return cf->replica_db_host[0] != '\0' || cf->replica_db_socket[0] != '\0';
}

static char *or_else(char *s, char *other)
{
	return s[0] != '\0' ? s : other;
}

/* What is not named is as for the primary, except the place. */
static struct conf *replica_conf(struct arena *a, const struct conf *cf)
{
	struct conf *r = NEW(a, struct conf);

	*r = *cf;
	r->db_host = cf->replica_db_host;
	r->db_port = cf->replica_db_port;
	r->db_socket = cf->replica_db_socket;
	r->db_name = or_else(cf->replica_db_name, cf->db_name);
	r->db_user = or_else(cf->replica_db_user, cf->db_user);
	r->db_passwd = or_else(cf->replica_db_passwd, cf->db_passwd);
	return r;
}

enum err replica_open(struct arena *a, const struct conf *cf, enum db_use use,
    struct db **db, int64_t *age_s, struct fail *f)
{
	enum err e;

	if (!replica_named(cf))
		return FAIL(f, E_NOTFOUND, "config.xml names no replica");
	TRY(db_open(replica_conf(a, cf), use, db, f));
	e = db_number(*db, f, age_s, DATA_AGE);
	if (e == OK && (*age_s < 0 || *age_s > cf->replica_max_age))
		e = FAIL(f, E_DB,
		    "the replica's data are %lld s old, more than replica_max_age (%lld s)",
		    (long long)*age_s, (long long)cf->replica_max_age);
	if (e != OK) {
		db_close(*db);
		*db = NULL;
	}
	return e;
}

enum err ledger_days(struct db *db, struct arena *a, int64_t since_day,
    struct row_ledger **days, size_t *n, struct fail *f)
{
	return db_query(db, a, f, days, n, LEDGER_DAYS, .since_day = since_day);
}

enum err results_times(struct db *db, struct arena *a, int64_t after,
    struct row_result_times **rows, size_t *n, struct fail *f)
{
	return db_query(
	    db, a, f, rows, n, RESULT_TIMES, .after = after, .max = RESULT_TIMES_MOST);
}

enum err results_last_id(struct db *db, int64_t *id, struct fail *f)
{
	return db_number(db, f, id, RESULT_LAST_ID);
}

enum err results_first_time(struct db *db, int64_t *time, struct fail *f)
{
	return db_number(db, f, time, RESULT_FIRST_TIME);
}

/* What is told to statistics sites. */

enum err stats_consent(
    struct db *db, struct arena *a, struct stats_consent *consent, struct fail *f)
{
	struct row_pair *row = NULL;
	enum err e = db_row(db, a, f, &row, STATS_CONSENT);

	*consent = (struct stats_consent){ 0 };
	if (e == OK)
		*consent = (struct stats_consent){ row->a, row->b != 0 };
	return e == E_NOTFOUND ? OK : e;
}

enum err stats_totals(
    struct db *db, struct arena *a, int64_t *earners, double *credit, struct fail *f)
{
	struct row_sum *sum = NULL;

	TRY(db_number(db, f, earners, STATS_EARNERS));
	TRY(db_row(db, a, f, &sum, STATS_CREDIT));
	*credit = sum->v;
	return OK;
}

enum err stats_page(struct db *db, struct arena *a, enum stats_table of,
    const struct stats_consent *c, int64_t after, struct stats_page *p, struct fail *f)
{
	static const enum stmt_id ids[STATS__MAX] = { SQL_STATS_USERS, SQL_STATS_TEAMS,
		SQL_STATS_HOSTS, SQL_STATS_USERS_DELETED, SQL_STATS_HOSTS_DELETED };
	struct row_stats_user *users = NULL;
	struct row_stats_team *teams = NULL;
	struct row_stats_host *hosts = NULL;
	struct row_stats_deleted *gone = NULL;
	enum err e;

	if (of == STATS_USER)
		e = db_query(db, a, f, &users, &p->n, STATS_USERS, .after = after,
		    .consent = c->type, .otherwise = !c->needed, .max = STATS_PAGE);
	else if (of == STATS_TEAM)
		e = db_query(db, a, f, &teams, &p->n, STATS_TEAMS, .after = after,
		    .consent = c->type, .otherwise = !c->needed, .max = STATS_PAGE);
	else if (of == STATS_HOST)
		e = db_query(db, a, f, &hosts, &p->n, STATS_HOSTS, .after = after,
		    .consent = c->type, .otherwise = !c->needed, .max = STATS_PAGE);
	else
		e = db_query_like(db, a, f, &gone, &p->n, ids[of], STATS_USERS_DELETED,
		    .after = after, .max = STATS_PAGE);
	if (e != OK)
		return e;
	p->shape = stmt_infos[ids[of]].shape;
	p->rows = of == STATS_USER ? (char *)users :
	          of == STATS_TEAM ? (char *)teams :
	          of == STATS_HOST ? (char *)hosts :
	                             (char *)gone;
	p->last = after;
	if (p->n > 0)
		memcpy(&p->last,
		    p->rows + (p->n - 1) * p->shape->size + p->shape->cols[0].off,
		    sizeof(p->last));
	return OK;
}

/* Counts rows by state. */

enum { ACTIVE_S = 7 * 86400 };

static enum err count_work(
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

enum err status_count(
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

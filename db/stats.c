/* SPDX-License-Identifier: Apache-2.0 */
/* What is told to statistics sites. */
#include "db/stats.h"

#include <string.h>
#include "db/inspect.h"
#include "db/stmts.h"
#include "lib/banned.h"

enum err
stats_consent(
    struct db *db, struct arena *a, struct stats_consent *consent, struct fail *f)
{
	struct row_pair *row = NULL;
	enum err e = db_row(db, a, f, &row, STATS_CONSENT);

	*consent = (struct stats_consent){ 0 };
	if (e == OK)
		*consent = (struct stats_consent){ row->a, row->b != 0 };
	return e == E_NOTFOUND ? OK : e;
}

enum err
stats_totals(
    struct db *db, struct arena *a, int64_t *earners, double *credit, struct fail *f)
{
	struct row_sum *sum = NULL;

	TRY(db_number(db, f, earners, STATS_EARNERS));
	TRY(db_row(db, a, f, &sum, STATS_CREDIT));
	*credit = sum->v;
	return OK;
}

enum err
stats_page(struct db *db, struct arena *a, enum stats_table of,
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

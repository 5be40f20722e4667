/* SPDX-License-Identifier: Apache-2.0 */
/* The active hosts, what work demands of them, and workunits that may lack results. */
#include "db/fleet.h"

#include "db/stmts.h"
#include "model/rows.h"
#include "lib/banned.h"

enum { DAY_S = 86400 };

static int64_t
since_day(const struct conf *cf, int64_t now)
{
	return (now - cf->locality_active_host_days * DAY_S) / DAY_S;
}

enum err
fleet_load(struct db *db, struct arena *a, const struct conf *cf, int64_t now,
    struct fleet *f, struct fail *fail)
{
	struct row_fleet *r = NULL;

	TRY(db_row(db, a, fail, &r, FLEET, .since_day = since_day(cf, now)));
	*f = (struct fleet){ .hosts = r->hosts,
		.users = r->users,
		.since_day = since_day(cf, now),
		.memory = r->memory,
		.disk = r->disk,
		.link = r->link,
		.flops = r->flops,
		.coprocs = r->coprocs };
	return OK;
}

enum err
fleet_load_kinds(struct db *db, struct arena *a, const struct conf *cf, int64_t now,
    struct fleet *f, struct fail *fail)
{
	struct row_kind *kinds = NULL;

	TRY(db_query(db, a, fail, &kinds, &f->nkinds, FLEET_KINDS,
	    .since_day = since_day(cf, now)));
	f->kinds = NEWN(a, struct host_kind, f->nkinds + 1);
	for (size_t i = 0; i < f->nkinds; i++)
		f->kinds[i] = (struct host_kind){ kinds[i].os_name, kinds[i].p_vendor,
			kinds[i].p_model };
	return OK;
}

static struct demand *
demands_of(struct arena *a, const struct row_demand_of_work *rows, size_t n)
{
	struct demand *d = NEWN(a, struct demand, n + 1);

	for (size_t i = 0; i < n; i++)
		d[i] = (struct demand){ .appid = rows[i].appid,
			.hr_class = rows[i].hr_class,
			.app_version_id = rows[i].app_version_id,
			.app_version_num = rows[i].app_version_num,
			.workunits = rows[i].workunits,
			.memory = rows[i].memory,
			.disk = rows[i].disk,
			.link = rows[i].link,
			.flops = rows[i].flops,
			.quorum = rows[i].quorum,
			.name = rows[i].name,
			.had_by_all = rows[i].had_by_all != 0 };
	return d;
}

enum err
demand_between(struct db *db, struct arena *a, const struct demand_ask *ask,
    struct demand **d, size_t *n, struct fail *f)
{
	struct row_demand_of_work *rows = NULL;

	TRY(db_query(db, a, f, &rows, n, DEMAND_BETWEEN, .takers = ask->takers,
	    .since_day = ask->since_day, .from = ask->from, .to = ask->to));
	*d = demands_of(a, rows, *n);
	return OK;
}

enum err
demand_queued(struct db *db, struct arena *a, const struct demand_ask *ask,
    struct demand **d, size_t *n, struct fail *f)
{
	int64_t plain = -(ask->appid * READY_SHARDS) - 1,
		urgent = READY_URGENT - ask->appid * READY_PRIORITIES;
	struct row_demand_of_work *rows = NULL;

	TRY(db_query(db, a, f, &rows, n, DEMAND_QUEUED, .takers = ask->takers,
	    .since_day = ask->since_day, .plain_first = plain - READY_SHARDS + 1,
	    .plain_last = plain, .urgent_first = urgent - READY_PRIORITIES + 1,
	    .urgent_last = urgent, .appid = ask->appid));
	*d = demands_of(a, rows, *n);
	return OK;
}

enum err
wus_short(struct db *db, struct arena *a, int64_t from, int64_t to,
    struct row_wu_short **wus, size_t *n, struct fail *f)
{
	return db_query(db, a, f, wus, n, WUS_SHORT, .from = from, .to = to);
}

enum err
wus_aimed_in_vain(struct db *db, struct arena *a, const struct conf *cf,
    struct row_aimed **wus, size_t *n, struct fail *f)
{
	return db_query(db, a, f, wus, n, AIMED_IN_VAIN,
	    .targeted = cf->enable_assignment,
	    .broadcasts = cf->enable_assignment_multi);
}

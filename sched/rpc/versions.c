/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the statistics of app versions on this host; an RPC changes only quotas and
 * counts.
 */
#include "sched/rpc/commit.h"

#include "db/entity.h"
#include "model/catalog.h"
#include "model/rows.h"
#include "rules/sched/limits.h"
#include "lib/banned.h"

static bool
version_differs(const struct host_app_version *a, const struct host_app_version *b)
{
	return a->max_jobs_per_day != b->max_jobs_per_day ||
	       a->n_jobs_today != b->n_jobs_today ||
	       a->consecutive_valid != b->consecutive_valid;
}

static struct host_app_version *
version_of(struct rpc *x, int64_t appid, int64_t app_version_id)
{
	struct snapshot *s = x->snap;
	int64_t id = resource_statistics_id(appid, app_version_id);

	for (size_t i = 0; i < s->nhavs; i++)
		if (s->havs[i].app_version_id == id)
			return &s->havs[i];
	return NULL;
}

static struct host_app_version *
version_of_send(struct rpc *x, const struct dec_send *d, size_t *cap)
{
	struct snapshot *s = x->snap;
	struct host_app_version *hav;

	if (d->expect_in_progress)
		return NULL;
	hav = version_of(x, d->app->id, d->app_version_id);
	if (hav != NULL)
		return hav;
	PUSH(x->a, s->havs, s->nhavs,
	    *cap) = (struct host_app_version){ .host_id = s->host.id,
		.app_version_id = resource_statistics_id(d->app->id, d->app_version_id),
		.max_jobs_per_day = quota_first(x->conf) };
	return &s->havs[s->nhavs - 1];
}

static void
count_report(struct rpc *x, const struct dec_report *d, const struct snap_report *r)
{
	struct host_app_version *hav = version_of(
	    x, r->result.appid, r->result.app_version_id);
	bool good = d->outcome == OUTCOME_SUCCESS;

	if (d->action != REPORT_STORE || hav == NULL ||
	    (!good && d->exit_status == EXIT_ABORTED_BY_PROJECT))
		return;
	hav->max_jobs_per_day = quota_after(
	    x->conf, hav->max_jobs_per_day, good ? QUOTA_SUCCESS : QUOTA_ERROR);
	if (!good)
		hav->consecutive_valid = 0;
}

/*
 * Returns the rows that change, each with the row as it was read; `was` is NULL for a
 * new one.  Without a quota only errors change anything.
 */
struct version_change *
commit_versions(struct rpc *x, const bool *send_lost, size_t *n)
{
	struct snapshot *s = x->snap;
	struct host_app_version *old = s->havs;
	size_t nold = s->nhavs, cap = nold;
	struct version_change *v;

	*n = 0;
	s->havs = arena_memdup(x->a, old, nold * sizeof(*old));
	for (size_t i = 0; i < x->req->nreports; i++)
		count_report(x, &x->dec->reports[i], &s->reports[i]);
	for (size_t i = 0; x->conf->daily_result_quota != 0 && i < x->dec->nsends;
	     i++) {
		struct host_app_version *hav = version_of_send(
		    x, &x->dec->sends[i], &cap);

		if (hav != NULL && !send_lost[i])
			hav->n_jobs_today++;
	}
	v = NEWN(x->a, struct version_change, s->nhavs + 1);
	for (size_t i = 0; i < s->nhavs; i++) {
		const struct host_app_version *was = i < nold ? &x->stored_havs[i] :
		                                                NULL;

		if (was == NULL || version_differs(was, &s->havs[i]))
			v[(*n)++] = (struct version_change){ was, s->havs[i] };
	}
	/* The counts belong to the snapshot: after a rollback they are read again. */
	s->havs = old;
	s->nhavs = nold;
	return v;
}

/*
 * Writes one row.  If the validator or another RPC has changed it meanwhile, the RPC
 * decides again instead of overwriting it.
 */
static enum err
write_version(struct rpc *x, const struct version_change *c)
{
	enum err e = c->was == NULL ?
	                 host_app_version_insert(x->db, &c->becomes, &x->fail) :
	                 host_app_version_move(x->db, c->was, &c->becomes, &x->fail);

	return e == E_RACE ?
	           FAIL(&x->fail, E_RETRY,
		       "the statistics of version %lld on this host changed during the decision",
		       (long long)c->becomes.app_version_id) :
	           e;
}

enum err
rpc_write_versions(struct rpc *x, const bool *send_lost)
{
	size_t n;
	const struct version_change *v = commit_versions(x, send_lost, &n);

	for (size_t i = 0; i < n; i++)
		TRY(write_version(x, &v[i]));
	return OK;
}

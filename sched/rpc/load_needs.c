/* SPDX-License-Identifier: Apache-2.0 */
/* Reads facts only if they can matter to a job: the statistics of versions on this
 * host, and the number of the account's hosts with work. */
#include "sched/rpc/rpc.h"

#include "db/ahead.h"
#include "rules/sched/limits.h"
#include "lib/banned.h"

/*
 * Loads the statistics of versions.  The day's counts restart at the host's own
 * midnight.
 */
static enum err
load_versions(struct rpc *x, struct snapshot *s)
{
	enum err e = OK;

	x->havs_read = true;
	if (ahead_is_of(x->ahead, s->host.id) && x->ahead->versions_read) {
		s->havs = x->ahead->versions;
		s->nhavs = x->ahead->nversions;
	} else if (!s->host_new)
		e = host_app_versions(
		    x->db, x->a, s->host.id, &s->havs, &s->nhavs, &x->fail);
	x->stored_havs = s->havs;
	if (e != OK || !quota_new_day(s->host.id, s->last_rpc_time, x->now))
		return e;
	s->havs = arena_memdup(x->a, s->havs, s->nhavs * sizeof(*s->havs));
	for (size_t i = 0; i < s->nhavs; i++)
		s->havs[i].n_jobs_today = 0;
	return OK;
}

/* Reads the statistics of versions only if there are jobs: most requests to a
 * project without work have, send and report none. */
enum err
rpc_need_versions(struct rpc *x, struct snapshot *s)
{
	size_t jobs = s->nin_progress + x->req->nreports + s->nnci + s->ndrawn;

	if (x->havs_read || (jobs == 0 && !snapshot_any_candidate(s) &&
				!quota_new_day(s->host.id, s->last_rpc_time, x->now)))
		return OK;
	return load_versions(x, s);
}

/*
 * Reads whether the account already has the allowed number of hosts with work. A
 * request that finds nothing to send needs no further query; one that may wait for work
 * does not take a place to wait in vain.
 */
enum err
rpc_need_hosts(struct rpc *x, struct snapshot *s)
{
	int64_t most = x->conf->max_hosts_with_work_per_account, id = 0;
	bool could = snapshot_any_candidate(s) || s->nnci > 0 ||
	             (s->wait_possible && s->nfiles > 0);
	enum err e;

	if (most == 0 || x->hosts_read || s->nin_progress > 0 || !could)
		return OK;
	x->hosts_read = true;
	e = host_with_work(x->db, x->user->id, s->host.id, most, &id, &x->fail);
	s->account_full = id != 0;
	return e;
}

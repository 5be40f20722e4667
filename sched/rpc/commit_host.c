/* SPDX-License-Identifier: Apache-2.0 */
/* The last part of the commit: the host, its files, messages and account. */
#include "sched/rpc/commit.h"

#include <stdlib.h>
#include <string.h>
#include "db/entity.h"
#include "lib/order.h"
#include "lib/banned.h"

enum err
rpc_write_new_host(struct rpc *x, int64_t token)
{
	struct snapshot *s = x->snap;

	if (!s->host_new)
		return OK;
	enum err e = rpc_still_no_host(x);
	if (e != OK || x->host_wait_s > 0)
		return e;
	e = rpc_count_new_hosts(x);
	if (e == OK && x->host_wait_s > 0)
		e = FAIL(&x->fail, E_RETRY,
		    "account %lld has just got its last new host",
		    (long long)x->user->id);
	if (e != OK)
		return e;
	s->host.rpc_token = token; /* the token also resolves an uncertain COMMIT */
	return host_insert(x->db, &s->host, &x->fail);
}

static enum err
write_trickles(struct rpc *x)
{
	for (size_t i = 0; i < x->req->ntrickles; i++)
		TRY(trickle_insert(
		    x->db, x->snap->host.id, x->now, &x->req->trickles[i], &x->fail));
	return OK;
}

/* Stores the logs that the project requests; others are not kept. */
static enum err
write_logs(struct rpc *x)
{
	const struct {
		bool wanted;
		enum host_log kind;
		const char *text;
	} logs[] = {
		{ x->conf->request_time_stats_log, LOG_TIME_STATS,
		    x->req->time_stats_log },
		{ x->conf->request_job_log, LOG_JOBS, x->req->job_log },
	};

	for (size_t i = 0; i < N(logs); i++)
		if (logs[i].wanted && logs[i].text != NULL)
			TRY(host_log_store(x->db, x->snap->host.id, logs[i].kind,
			    x->now, logs[i].text, &x->fail));
	return OK;
}

/*
 * Marks messages as delivered.  Each goes into one reply only; another RPC of the host
 * may have delivered it.
 */
static enum err
write_down(struct rpc *x)
{
	struct decision *d = x->dec;
	size_t kept = 0;
	enum err e;

	for (size_t i = 0; i < d->ndown; i++) {
		e = message_handled(x->db, d->down[i].id, &x->fail);
		if (e == OK)
			d->down[kept++] = d->down[i];
		else if (e != E_RACE)
			return e;
	}
	d->ndown = kept;
	return OK;
}

/*
 * Does the request change the preferences?  A weak key may not change the account
 * (protocol.md 3.1).
 */
static bool
new_prefs(const struct rpc *x)
{
	return !x->weak_auth && x->dec->store_global_prefs &&
	       x->req->global_prefs != NULL;
}

static bool
new_cpid(const struct rpc *x)
{
	const char *cpid = x->req->cross_project_id;

	return !x->weak_auth && cpid != NULL && cpid[0] != '\0' &&
	       strcmp(cpid, x->user->cross_project_id) != 0;
}

static enum err
write_account(struct rpc *x)
{
	const struct request *rq = x->req;

	if (new_prefs(x))
		TRY(user_set_prefs(x->db, x->user->id, rq->global_prefs, &x->fail));
	if (new_cpid(x))
		TRY(user_set_cpid(x->db, x->user->id, rq->cross_project_id, &x->fail));
	return OK;
}

static bool
is_to_go(const struct decision *d, int64_t file_id)
{
	bool any = false;

	for (size_t i = 0; i < d->ndeletes && !any; i++)
		any = d->deletes[i].file_id == file_id;
	return any;
}

/* Returns the ids of the files that the host held according to its row. */
static int64_t *
known_files(const struct rpc *x, size_t *n)
{
	const char *at = x->snap->glance.files;
	int64_t *ids = NEWN(x->a, int64_t, strlen(at) / 2 + 1); /* "1,2" */
	char *end;

	*n = 0;
	for (int64_t id = strtoll(at, &end, 10); end != at;
	     id = strtoll(at, &end, 10)) {
		ids[(*n)++] = id;
		at = *end == ',' ? end + 1 : end;
	}
	return ids;
}

/* Do the stored rows match the files that the host has now? */
static bool
files_are_known(const struct rpc *x)
{
	const struct snapshot *s = x->snap;
	int64_t *ids = NEWN(x->a, int64_t, s->nheld_files + 1), *known;
	struct ids held;
	bool same;
	size_t n;

	if (!s->glance.there)
		return false;
	for (size_t i = 0; i < s->nheld_files; i++)
		ids[i] = s->held_files[i].id;
	held = ids_unique(x->a, ids, s->nheld_files);
	known = known_files(x, &n);
	same = n == s->nheld_files;
	for (size_t i = 0; i < n && same; i++)
		same = ids_has(&held, known[i]);
	return same;
}

/*
 * Stores which large files the host has; the working set aims at a number of holders
 * for each.  A file that the host is just told to delete does not count, so that of two
 * holders not both are told.
 */
static enum err
write_files(struct rpc *x)
{
	const struct snapshot *s = x->snap;
	int64_t *ids = NEWN(x->a, int64_t, s->nheld_files + 1);
	struct held_change change = {
		.hostid = s->host.id, .held = ids, .now = x->now
	};
	size_t n = 0;

	if (!x->req->host.present)
		return OK;
	if (files_are_known(x) && x->dec->ndeletes == 0)
		return OK;
	for (size_t i = 0; i < s->nheld_files; i++)
		if (!is_to_go(x->dec, s->held_files[i].id))
			ids[n++] = s->held_files[i].id;
	if (!s->glance.there)
		return host_files_save(
		    x->db, x->a, s->host.id, ids, n, x->now, &x->fail);
	change.old = known_files(x, &change.nold);
	change.nheld = n;
	return host_files_change(x->db, x->a, &change, &x->fail);
}

bool
rpc_only_host(const struct rpc *x)
{
	const struct request *rq = x->req;
	bool files = rq->host.present && !(files_are_known(x) && x->dec->ndeletes == 0);

	return !files && !new_prefs(x) && !new_cpid(x) && rq->ntrickles == 0 &&
	       x->dec->ndown == 0 && rq->time_stats_log == NULL && rq->job_log == NULL;
}

const struct host *
commit_host(struct rpc *x)
{
	struct host *h = &x->snap->host;

	h->search_ready = x->dec->cursor.ready;
	h->search_id = x->dec->cursor.id;
	h->nci_ready = x->dec->nci_cursor.ready;
	h->nci_id = x->dec->nci_cursor.id;
	return h;
}

enum err
commit_host_others(struct rpc *x)
{
	TRY(write_files(x));
	TRY(write_trickles(x));
	TRY(write_logs(x));
	TRY(write_down(x));
	return write_account(x);
}

enum err
rpc_write_host(struct rpc *x, int64_t token)
{
	TRY(host_save_rpc(x->db, commit_host(x), token, &x->fail));
	return commit_host_others(x);
}

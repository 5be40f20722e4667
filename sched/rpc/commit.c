/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a decision in one transaction, taking locks in the order that all programs
 * use: workunits by id, results by id, host_app_version, host (architecture.md 3.2).
 * Every change of a result names the state it expects; jobs taken by others meanwhile
 * are left out, decided again, or rolled back.
 */
#include "sched/rpc/commit.h"
#include "sched/trace/recording.h"

#include "db/entity.h"
#include "db/ledger.h"
#include "db/trigger_rows.h"
#include "lib/log.h"
#include "model/rows.h"
#include "rules/sched/decide.h"
#include "lib/banned.h"

static enum err
commit_write_all(struct rpc *x, struct commit *w)
{

	TRY(rpc_write_new_host(x, w->token));
	if (x->host_wait_s > 0)
		return commit_write_rows(
		    x, w); /* its reports are stored for the hosts of its tasks */
	if (x->snap->detach_in_progress)
		TRY(results_detach(x->db, x->a, x->snap->host.id, x->now, &x->fail));
	TRY(commit_write_rows(x, w));
	TRY(rpc_write_versions(x, w->send_lost));
	return rpc_write_host(x, w->token);
}

/* Rolls back: nothing was written, so a new host has no id. */
static void
commit_roll_back(struct rpc *x)
{
	db_rollback(x->db);
	x->tx = TX_NONE;
	if (x->snap->host_new)
		x->snap->host.id = 0;
}

static void
drop_lost_sends(struct decision *d, const struct commit *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->nsends; i++)
		if (!w->send_lost[i])
			d->sends[kept++] = d->sends[i];
	d->nsends = kept;
}

/*
 * Handles jobs that others took.  The jobs that were won are committed; if none was
 * won, or a lost job had bound its workunit, everything is rolled back and decided
 * again without the lost jobs, in the last round without any new work.  If all jobs
 * were lost, the rows read were outdated, so they are read again.  Returns true if the
 * transaction was rolled back and the RPC goes on with load.
 */
static bool
retry_without_lost(struct rpc *x, const struct commit *w)
{
	struct decision *d = x->dec;

	for (size_t i = 0; i < d->nsends; i++) {
		const struct job *j = d->sends[i].job;

		if (!w->send_lost[i])
			continue;
		PUSH(x->a, x->lost, x->nlost, x->lost_cap) = j->id;
		if (x->contention != NULL)
			contention_lost(x->contention,
			    j->fileset_id > 0 ? j->fileset_id : -j->appid, x->now);
	}
	if (w->bound_for_nothing ||
	    (w->nsends_lost == d->nsends && x->rounds < RPC_ROUNDS)) {
		commit_roll_back(x);
		x->rounds++;
		x->ahead = NULL;
		return true;
	}
	drop_lost_sends(d, w);
	return false;
}

/*
 * Commits.  An uncertain COMMIT succeeded if and only if the host row carries the token
 * written with it.
 */
static enum err
commit_finish(struct rpc *x, const struct commit *w)
{
	enum err e = db_commit(x->db, &x->fail);
	struct fail f = { 0 };
	int64_t token = 0;

	if (e != E_RETRY || !db_commit_uncertain(x->db))
		return e;
	if (db_ready(x->db, &f) != OK) {
		x->fail = f;
		return E_DB;
	}
	if (host_token(x->db, x->snap->host.id, &token, &f) == OK && token == w->token)
		return OK;
	return e;
}

/*
 * Raises files_no_work, a hint to the working set manager: a failure is only logged,
 * and the next RPC tries again.
 */
static void
raise_files_no_work(struct rpc *x)
{
	const struct triggers t = triggers_of(x->conf, x->db, NULL);

	for (size_t i = 0; x->dec->files != NULL && i < x->snap->nfiles; i++) {
		const struct dec_file *f = &x->dec->files[i];
		struct fail bad = { 0 };

		if (f->mark_no_work &&
		    trigger_raise(&t, TRIGGER_FILES_NO_WORK, f->file->name, &bad) != OK)
			log_fail("files_no_work", &bad);
	}
}

/*
 * Begins the transaction.  A client forgets a report once it is acked.  So if a report
 * is acked without being stored, the rows behind that decision are read again, and they
 * must not be outdated on this cluster node either (architecture.md 3.2).
 */
static enum err
commit_begin(struct rpc *x, bool together)
{
	bool current = false;

	for (size_t i = 0; i < x->req->nreports; i++)
		current |= x->dec->reports[i].ack &&
		           x->dec->reports[i].action != REPORT_STORE;
	return current  ? db_begin_current(x->db, &x->fail) :
	       together ? db_begin_tx_batch(x->db, &x->fail) :
	                  db_begin(x->db, &x->fail);
}

/*
 * Does the request change only the host's row, as most requests without work do?  Then
 * one statement is its own transaction.  The reply promises nothing, so nothing is lost
 * with it.
 */
static bool
changes_nothing_else(const struct rpc *x, const struct commit *w)
{
	return w->nops == 0 && w->ntouches == 0 && x->tx == TX_NONE &&
	       !x->snap->host_new && !x->snap->detach_in_progress &&
	       x->snap->havs == x->stored_havs && rpc_only_host(x);
}

/* Stores a sample for statistics; losing one does no harm. */
static void
store_baseline_cost(struct rpc *x)
{
	const struct dec_baseline *w = &x->dec->baseline;
	int64_t needed, jobs = (int64_t)baseline_cost_jobs(x->dec, &needed);
	struct fail f = { 0 };

	if (w->fit > 0 && jobs > 0 &&
	    baseline_cost_add(x->db, x->snap->host.id % BASELINE_SHARDS, jobs, needed,
		jobs * w->mean_bytes, &f) != OK)
		log_fail("without_locality", &f);
}

/*
 * Runs the transaction. together: in one message, which works if all rows are as they
 * were read; otherwise db_tx_batch_refused() is true.  Lost jobs are sorted out
 * statement by statement.
 */
static enum err
commit_transaction(struct rpc *x, struct commit *w, bool together, enum rpc_step *next)
{
	enum err e = x->tx == TX_OPEN ? OK : commit_begin(x, together);

	if (e == OK)
		e = commit_write_all(x, w);
	if (e == OK && w->nsends_lost > 0 && retry_without_lost(x, w)) {
		*next = RPC_load;
		return OK;
	}
	if (e == OK)
		e = commit_finish(x, w);
	if (e == OK)
		*next = RPC_render;
	else
		commit_roll_back(x);
	return e;
}

/*
 * Are the host's trickles stored?  A host without a row keeps its messages until it has
 * one.
 */
static bool
takes_trickles(const struct rpc *x)
{
	return x->req->ntrickles > 0 && x->host_wait_s == 0;
}

void
rpc_ring(const struct rpc *x)
{
	const struct decision *d = x->dec;
	bool moved = false;

	if (d == NULL || x->doorbells == NULL)
		return;
	for (size_t i = 0; i < x->req->nreports && d->reports != NULL; i++)
		moved |= d->reports[i].action == REPORT_STORE;
	for (size_t i = 0; i < d->nsends; i++)
		moved |= d->sends[i].raise_to != 0 ||
		         (d->sends[i].job->transitioner_flags & WU_BROADCAST) != 0;
	if (moved || d->nexpire > 0)
		doorbell_ring(x->doorbells, x->conf, DOORBELL_TRANSITIONER);
	if (x->trickles_stored)
		doorbell_ring(x->doorbells, x->conf, DOORBELL_TRICKLE_HANDLER);
}

void
commit_done(struct rpc *x)
{
	x->tx = TX_NONE;
	x->trickles_stored = takes_trickles(x);
	raise_files_no_work(x);
	store_baseline_cost(x);
}

enum err
rpc_commit(struct rpc *x, enum rpc_step *next)
{
	struct commit w = { 0 };
	enum err e;

	recording_rows(x);
	if (x->dry) {
		x->trickles_stored = takes_trickles(x);
		*next = RPC_render;
		return OK;
	}
	if (rpc_sends_given_up(x))
		x->dec->nsends = 0;
	commit_collect_rows(x, &w);
	if (changes_nothing_else(x, &w)) {
		e = rpc_write_host(x, w.token);
		if (e == OK) {
			raise_files_no_work(x);
			*next = RPC_render;
		}
		return e;
	}
	e = commit_transaction(
	    x, &w, !x->snap->host_new && !x->snap->detach_in_progress, next);
	if (e != OK && db_tx_batch_refused(x->db))
		e = commit_transaction(x, &w, false, next);
	if (e == E_RETRY && x->snap->host_new && x->host != NULL)
		*next = RPC_authenticate; /* rpc_still_no_host() has found its row */
	if (e == OK && *next == RPC_render)
		commit_done(x);
	return e;
}

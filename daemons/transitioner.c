/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves workunits through their states: locks some that are due, asks transition()
 * about each, and saves all changes in one transaction.  Each write is conditional on
 * the transition_seq that was read; if any row has changed, the whole transaction
 * starts again from fresh rows.
 */
#include <stdlib.h>
#include "daemons/averages.h"
#include "daemons/ledger_writer.h"
#include "daemons/loop.h"
#include "daemons/recount.h"
#include "daemons/queue.h"
#include "daemons/work.h"
#include "db/work_tally.h"
#include "db/wu_updates.h"
#include "lib/log.h"
#include "model/rows.h"
#include "rules/daemon/daemon_rules.h"
#include "lib/banned.h"

enum { BATCH = 4 * DB_LIST_MAX };

struct transitioner {
	struct work_maker *work;
	struct daemon_queue queue;
	struct ledger_writer ledger;
	struct averages averages;
	struct recount recount;
};

static enum err
transitioner_start(struct daemon_ctx *x)
{
	struct transitioner *o = x->own;

	queue_start(x, &o->queue, "transitioner", ASIDE_TRANSITIONER);
	return work_open(x->life, x->conf, &o->work, &x->fail);
}

/* Returns the row after the change. */
static struct workunit
transitioned_workunit(const struct workunit *wu, const struct wu_change *c, int64_t now)
{
	struct workunit to = *wu;

	to.need_validate |= c->need_validate;
	to.error_mask = c->error_mask;
	if (c->uncommit)
		to.hr_class = 0, to.app_version_id = 0;
	if (c->assimilate)
		to.assimilate_state = ASSIMILATE_READY;
	if (c->delete_input)
		to.file_delete_state = FILE_DELETE_READY;
	/*
	 * At least one second ahead: a visit within this second would find nothing new
	 * and repeat until the second is over.
	 */
	to.transition_time = c->next_at > now ? c->next_at : now + 1;
	return to;
}

static struct result
transitioned_result(const struct result *r, const struct result_change *c)
{
	struct result to = *r;

	if (c->time_out)
		to.server_state = RESULT_OVER, to.outcome = OUTCOME_NO_REPLY;
	if (c->didnt_need)
		to.server_state = RESULT_OVER, to.outcome = OUTCOME_DIDNT_NEED;
	if (c->too_late)
		to.validate_state = VALIDATE_TOO_LATE;
	if (c->no_check)
		to.validate_state = VALIDATE_NO_CHECK;
	if (c->delete_files)
		to.file_delete_state = FILE_DELETE_READY;
	return to;
}

static bool
result_changes(const struct result_change *c)
{
	return c->time_out || c->too_late || c->didnt_need || c->no_check ||
	       c->delete_files;
}

static void
log_change(const struct workunit *wu, const struct wu_change *c)
{
	int timed_out = 0, dropped = 0;

	for (size_t i = 0; i < c->nresults; i++) {
		timed_out += c->results[i].time_out;
		dropped += c->results[i].didnt_need;
	}
	log_info(
	    "[WU#%lld] %s spawn=%d timed_out=%d didnt_need=%d validate=%d error_mask=%d assimilate=%d delete=%d next=%lld",
	    (long long)wu->id, wu->name, c->spawn, timed_out, dropped, c->need_validate,
	    c->error_mask, c->assimilate, c->delete_input, (long long)c->next_at);
}

/*
 * The workunits of one transaction, and those among them that are due, as of its last
 * try.
 */
struct chunk {
	const int64_t *ids;
	size_t n;
	struct due {
		const struct workunit *wu;
		struct workunit to;
		const struct result *results;
		struct wu_change c;
	} * due;
	size_t ndue;
};

/* A result that changes, and its workunit's delay bound. */
struct moved {
	const struct result *r;
	const struct result_change *c;
	int64_t delay_bound;
};

static int
moved_by_id(const void *a, const void *b)
{
	const struct moved *x = a, *y = b;

	return (x->r->id > y->r->id) - (x->r->id < y->r->id);
}

static int
moved_by_version(const void *a, const void *b)
{
	const struct moved *x = a, *y = b;

	if (x->r->hostid != y->r->hostid)
		return x->r->hostid < y->r->hostid ? -1 : 1;
	if (x->r->app_version_id != y->r->app_version_id)
		return x->r->app_version_id < y->r->app_version_id ? -1 : 1;
	return moved_by_id(a, b);
}

/* Collects the changed rows, each kind in the order of its locks. */
static void
move_results(struct daemon_ctx *x, struct wu_updates *b, const struct chunk *k)
{
	struct moved *v = NULL;
	size_t n = 0, cap = 0;

	for (size_t i = 0; i < k->ndue; i++) {
		const struct due *d = &k->due[i];
		for (size_t j = 0; j < d->c.nresults; j++)
			if (result_changes(&d->c.results[j]))
				PUSH(&x->a, v, n, cap) = (struct moved){ &d->results[j],
					&d->c.results[j], d->wu->delay_bound };
	}
	if (n == 0)
		return;
	qsort(v, n, sizeof(*v), moved_by_id);
	for (size_t i = 0; i < n; i++) {
		struct result to = transitioned_result(v[i].r, v[i].c);
		result_move(b, v[i].r, &to);
	}
	qsort(v, n, sizeof(*v), moved_by_version);
	for (size_t i = 0; i < n; i++)
		if (v[i].c->time_out)
			hav_timed_out(b, v[i].r, (double)v[i].delay_bound,
			    x->conf->daily_result_quota);
}

static enum err
make_results(struct daemon_ctx *x, struct wu_updates *b, const struct due *d)
{
	const struct transitioner *o = x->own;
	struct new_result r;

	for (int32_t i = 0; i < d->c.spawn; i++) {
		TRY(result_create(o->work, &x->a, &d->to, d->c.first_suffix + i,
		    d->c.priority, x->now, &r, &x->fail));
		result_made(b, &r);
	}
	return OK;
}

/* Counts the workunit as it will be. */
static void
tally_due(struct due *d)
{
	struct result made = { .server_state = RESULT_UNSENT };

	tally_clear(&d->to);
	for (size_t j = 0; j < d->c.nresults; j++) {
		struct result to = transitioned_result(
		    &d->results[j], &d->c.results[j]);

		tally_result(&d->to, &to);
	}
	for (int32_t i = 0; i < d->c.spawn; i++)
		tally_result(&d->to, &made);
	tally_code(&d->to);
}

static enum err
save_transitions(struct daemon_ctx *x, struct chunk *k)
{
	struct wu_updates *b = wu_updates_new(&x->a);
	struct tally_moves *moves = tally_moves_new(&x->a);
	enum err e = OK;

	for (size_t i = 0; i < k->ndue && e == OK; i++) {
		struct due *d = &k->due[i];
		d->to = transitioned_workunit(d->wu, &d->c, x->now);
		tally_due(d);
		tally_moved(moves, d->wu, &d->to);
		workunit_transitioned(b, d->wu, &d->to, x->now);
		e = make_results(x, b, d);
	}
	move_results(x, b, k);
	if (e == OK)
		e = wu_updates_save(x->db, b, &x->fail);
	return e != OK ? e :
	                 tally_moves_save(x->db, moves, (int64_t)x->mod_i, &x->fail);
}

/* Reads inside the transaction, so that a retry decides on fresh rows. */
static enum err
tx_transition(struct daemon_ctx *x, void *arg)
{
	struct chunk *k = arg;
	struct workunit *wu;
	struct result *r;
	size_t n, nr, from = 0;
	enum err e = workunits_lock(x->db, &x->a, k->ids, k->n, &wu, &n, &x->fail);

	k->ndue = 0;
	if (e == OK)
		e = results_of_workunits(x->db, &x->a, k->ids, k->n, &r, &nr, &x->fail);
	if (e != OK)
		return e;
	k->due = NEWN(&x->a, struct due, n + 1);
	for (size_t i = 0; i < n; i++) {
		size_t end;
		while (from < nr && r[from].workunitid < wu[i].id)
			from++; /* the workunit was purged meanwhile */
		for (end = from; end < nr && r[end].workunitid == wu[i].id; end++)
			;
		if (wu[i].transition_time <=
		    x->now) /* else another instance has handled the workunit */
			k->due[k->ndue++] = (struct due){ .wu = &wu[i],
				.results = r + from,
				.c = transition(&x->a, x->conf, &wu[i], r + from,
				    end - from, x->now) };
		from = end;
	}
	if (x->dry_run)
		return OK;
	e = save_transitions(x, k);
	return e == E_RACE ? E_RETRY : e;
}

/* Wakes those who go on with what the transaction has moved. */
static void
ring_for(struct daemon_ctx *x, const struct chunk *k)
{
	bool validate = false, assimilate = false, delete_files = false;

	for (size_t i = 0; i < k->ndue; i++) {
		const struct wu_change *c = &k->due[i].c;

		validate |= c->need_validate;
		assimilate |= c->assimilate;
		delete_files |= c->delete_input;
		for (size_t j = 0; j < c->nresults; j++)
			delete_files |= c->results[j].delete_files;
	}
	if (validate)
		daemon_ring(x, DOORBELL_VALIDATOR);
	if (assimilate)
		daemon_ring(x, DOORBELL_ASSIMILATOR);
	if (delete_files)
		daemon_ring(x, DOORBELL_FILE_DELETER);
}

static enum err
transition_some(struct daemon_ctx *x, struct workunit *const *wu, size_t n)
{
	int64_t *ids = NEWN(&x->a, int64_t, n);
	struct chunk k = { .ids = ids, .n = n };

	for (size_t i = 0; i < n; i++)
		ids[i] = wu[i]->id;
	TRY(daemon_transaction(x, tx_transition, &k));
	ring_for(x, &k);
	for (size_t i = 0; i < k.ndue; i++)
		log_change(k.due[i].wu, &k.due[i].c);
	return OK;
}

static enum err
transition_one(struct daemon_ctx *x, struct workunit *wu)
{
	return transition_some(x, &wu, 1);
}

static enum err
transitioner_step(struct daemon_ctx *x, size_t *done)
{
	struct transitioner *o = x->own;
	static const struct queue_calls calls = { DB_LIST_MAX, transition_some,
		transition_one, false };
	struct id_share part = { x->mod_n, x->mod_i };
	struct workunit *wu;
	size_t n;
	bool full = false;
	enum err e = workunits_due(
	    x->db, &x->a, part, x->now, BATCH, &wu, &n, &x->fail);

	if (e == OK)
		e = queue_chunks(x, &o->queue, &calls, wu, n, done);
	if (e == OK)
		e = ledger_writer_step(x, &o->ledger, &full);
	if (e == OK)
		e = averages_step(x, &o->averages, &full);
	if (e == OK)
		e = recount_step(x, &o->recount, &full);
	*done += full;
	return e;
}

static void
transitioner_end(struct daemon_ctx *x)
{
	const struct transitioner *o = x->own;

	work_close(o->work);
}

int
main(int argc, char **argv)
{
	static const struct daemon transitioner = {
		.name = "transitioner",
		.purpose =
		    "Moves workunits through their states: makes results, times them out, and passes workunits on to validation, assimilation and file deletion.",
		.idle_ms = 1000,
		.bell = DOORBELL_TRANSITIONER,
		.can_dry_run = true,
		.own_size = sizeof(struct transitioner),
		.start = transitioner_start,
		.end = transitioner_end,
		.step = transitioner_step,
	};

	return daemon_main(&transitioner, argc, argv);
}

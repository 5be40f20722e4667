/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves workunits through their states: locks some that are due, asks transition()
 * about each, and saves all changes in one transaction. Each write is conditional on
 * the transition_seq that was read; if any row has changed, the whole transaction
 * starts again from fresh rows.
 *
 * As the daemon that every project runs, it also keeps the ledger of large files
 * (db/ledger.h), lets averages decay, and compares counts after an upgrade.
 */
#include <stdlib.h>
#include "daemons/loop.h"
#include "daemons/queue.h"
#include "daemons/work.h"
#include "db/id_walk.h"
#include "db/ledger.h"
#include "db/user.h"
#include "db/work_tally.h"
#include "db/wu_updates.h"
#include "lib/log.h"
#include "model/rows.h"
#include "rules/daemon/daemon_rules.h"
#include "lib/banned.h"

enum {
	BATCH = 4 * DB_LIST_MAX,
	DECAY_BATCHES = 8, /* of averages, per step */
	DECAY_EVERY_S = 3600,
	JOBS_MOST = 16 * DB_LIST_MAX, /* jobs that the ledger takes in a step */
	OLD_MOST = 256,               /* rows of old days that it sums up in one */
	CLOSE_EVERY_S = 600,
	SLICE_ROWS = 10000,
	RECOUNT_SLICE = 5000,
	DAY_S = 86400
};

struct ledger_writer {
	int64_t closed_at; /* when old days were last summed up; 0 = not yet */
	struct ledger_round {
		int64_t from;     /* the ids up to this one have been seen */
		int64_t begin_at; /* s UTC: when the next round begins */
	} rounds[2];              /* by enum ledger_ended */
};

struct averages {
	int64_t begun_at; /* when the last pass over all rows began; 0 = none has */
	int32_t table; /* of the pass: enum averages_of; after the last, it is over */
	int64_t after; /* the pass has come to this id */
};

struct recount {
	bool over;    /* it was not wanted, or all ids have been seen */
	int64_t from; /* the ids up to this one have been seen */
};

struct transitioner {
	struct work_maker *work;
	struct daemon_queue queue;
	struct ledger_writer ledger;
	struct averages averages;
	struct recount recount;
};

static enum err transitioner_start(struct daemon_ctx *x)
{
	struct transitioner *o = x->own;

	queue_start(x, &o->queue, "transitioner", ASIDE_TRANSITIONER);
	return work_open(x->life, x->conf, &o->work, &x->fail);
}

/* Returns the row after the change. */
static struct workunit transitioned_workunit(
    const struct workunit *wu, const struct wu_change *c, int64_t now)
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

static struct result transitioned_result(
    const struct result *r, const struct result_change *c)
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

static void log_change(const struct workunit *wu, const struct wu_change *c)
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

static int moved_by_id(const void *a, const void *b)
{
	const struct moved *x = a, *y = b;

	return (x->r->id > y->r->id) - (x->r->id < y->r->id);
}

static int moved_by_version(const void *a, const void *b)
{
	const struct moved *x = a, *y = b;

	if (x->r->hostid != y->r->hostid)
		return x->r->hostid < y->r->hostid ? -1 : 1;
	if (x->r->app_version_id != y->r->app_version_id)
		return x->r->app_version_id < y->r->app_version_id ? -1 : 1;
	return moved_by_id(a, b);
}

/* Collects the changed rows, each kind in the order of its locks. */
static void move_results(
    struct daemon_ctx *x, struct wu_updates *b, const struct chunk *k)
{
	struct moved *v = NULL;
	size_t n = 0, cap = 0;

	for (size_t i = 0; i < k->ndue; i++) {
		const struct due *d = &k->due[i];
		for (size_t j = 0; j < d->c.nresults; j++) {
			const struct result_change *c = &d->c.results[j];

			if (c->time_out || c->too_late || c->didnt_need ||
			    c->no_check || c->delete_files)
				PUSH(&x->a, v, n, cap) = (struct moved){ &d->results[j],
					c, d->wu->delay_bound };
		}
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

static enum err make_results(
    struct daemon_ctx *x, struct wu_updates *b, const struct due *d)
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
static void tally_due(struct due *d)
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

static enum err save_transitions(struct daemon_ctx *x, struct chunk *k)
{
	struct wu_updates *b = wu_updates_new(&x->a);
	struct tally_moves *moves = tally_moves_new(&x->a);

	for (size_t i = 0; i < k->ndue; i++) {
		struct due *d = &k->due[i];
		d->to = transitioned_workunit(d->wu, &d->c, x->now);
		tally_due(d);
		tally_moved(moves, d->wu, &d->to);
		workunit_transitioned(b, d->wu, &d->to, x->now);
		TRY(make_results(x, b, d));
	}
	move_results(x, b, k);
	TRY(wu_updates_save(x->db, b, &x->fail));
	return tally_moves_save(x->db, moves, (int64_t)x->mod_i, &x->fail);
}

/* Reads inside the transaction, so that a retry decides on fresh rows. */
static enum err tx_transition(struct daemon_ctx *x, void *arg)
{
	struct chunk *k = arg;
	struct workunit *wu;
	struct result *r;
	size_t n, nr, from = 0;
	enum err e;

	k->ndue = 0;
	TRY(workunits_lock(x->db, &x->a, k->ids, k->n, &wu, &n, &x->fail));
	TRY(results_of_workunits(x->db, &x->a, k->ids, k->n, &r, &nr, &x->fail));
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
static void ring_for(struct daemon_ctx *x, const struct chunk *k)
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

static enum err transition_some(
    struct daemon_ctx *x, struct workunit *const *wu, size_t n)
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

static enum err transition_one(struct daemon_ctx *x, struct workunit *wu)
{
	return transition_some(x, &wu, 1);
}

/*
 * The ledger of large files. Each transaction adds some jobs, or sums up one old row,
 * and marks them as done. A kill between any two statements leaves either both changes
 * or neither.
 */

struct slice {
	const int64_t *ids;
	size_t n;
};

static enum err tx_ledger_fold(struct daemon_ctx *x, void *arg)
{
	const struct slice *s = arg;

	return ledger_fold(x->db, s->ids, s->n, &x->fail);
}

static enum err tx_ledger_close(struct daemon_ctx *x, void *arg)
{
	return ledger_close(x->db, arg, &x->fail);
}

/*
 * Contention, or a COMMIT whose answer was lost: the next pass finds what is still due.
 */
static enum err left_for_next(enum err e)
{
	return e == E_RACE || e == E_RETRY ? OK : e;
}

/*
 * Sums up rows of old days. *full: the pass has reached its bound, so the next one
 * follows at once.
 */
static enum err close_old(struct daemon_ctx *x, struct ledger_writer *b, bool *full)
{
	int64_t before = x->now / DAY_S - x->conf->ledger_days;
	struct row_ledger *old;
	size_t n = 0;

	b->closed_at = x->now; /* after an error it waits, too */
	TRY(ledger_old(x->db, &x->a, before, OLD_MOST, &old, &n, &x->fail));
	for (size_t i = 0; i < n && !daemon_stopping(x); i++)
		TRY(left_for_next(daemon_transaction(x, tx_ledger_close, &old[i])));
	if (n > 0)
		log_info("[LEDGER] summed up %zu rows of old days", n);
	if (n == OLD_MOST) {
		*full = true;
		b->closed_at = 0;
	}
	return OK;
}

static enum err tx_ledger_end(struct daemon_ctx *x, void *arg)
{
	return ledger_end(x->db, arg, &x->fail);
}

/* Removes what is left of those that are gone, of the next slice of ids. The last
 * slice has no end: those with the highest ids may be gone. */
static enum err end_slice(
    struct daemon_ctx *x, struct ledger_writer *b, enum ledger_ended what)
{
	struct ledger_round *r = &b->rounds[what];
	struct row_ledger *ended;
	int64_t to;
	size_t n;

	if (x->now < r->begin_at)
		return OK;
	TRY(ledger_ended_to(x->db, what, r->from, SLICE_ROWS, &to, &x->fail));
	TRY(ledger_ended(x->db, &x->a, what, r->from, to, &ended, &n, &x->fail));
	for (size_t i = 0; i < n && !daemon_stopping(x); i++)
		TRY(left_for_next(daemon_transaction(x, tx_ledger_end, &ended[i])));
	if (n > 0)
		log_info("[LEDGER] removed the sums of %zu %s that are gone", n,
		    what == LEDGER_SETS ? "files" : "hosts");
	r->from = to < LEDGER_ENDED_SET - 1 ? to : 0;
	if (r->from == 0)
		r->begin_at = x->now + DAY_S;
	return OK;
}

/*
 * Adds the jobs sent since the last pass (a bounded number), and every ten minutes sums
 * up days older than ledger_days (a bounded number of rows). *full: more work is due at
 * once. Once a day it removes the sums of file sets and hosts that are gone, a slice
 * of ids in each pass.
 */
static enum err ledger_writer_step(
    struct daemon_ctx *x, struct ledger_writer *b, bool *full)
{
	int64_t *ids;
	size_t n;

	TRY(ledger_due(x->db, &x->a, (struct id_share){ x->mod_n, x->mod_i }, JOBS_MOST,
	    &ids, &n, &x->fail));
	*full = n == JOBS_MOST && !x->dry_run;
	if (x->dry_run)
		return OK;
	for (size_t i = 0; i < n && !daemon_stopping(x); i += DB_LIST_MAX) {
		size_t part = n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX;
		struct slice s = { ids + i, part };

		TRY(left_for_next(daemon_transaction(x, tx_ledger_fold, &s)));
	}
	if (x->mod_i != 0)
		return OK;
	TRY(end_slice(x, b, LEDGER_SETS));
	TRY(end_slice(x, b, LEDGER_HOSTS));
	return x->now - b->closed_at < CLOSE_EVERY_S ? OK : close_old(x, b, full);
}

/*
 * Recent average credit decays where nothing is granted (scheduling.md 4.7). The decay
 * is computed from the time that a row itself names, so a pass may be killed anywhere,
 * repeated, or missed for days. Each batch is a transaction of its own.
 */

struct decay {
	enum averages_of of;
	const int64_t *ids;
	size_t n;
};

static enum err tx_decay(struct daemon_ctx *x, void *arg)
{
	const struct decay *d = arg;

	return averages_decay(x->db, d->of, d->ids, d->n, x->now, &x->fail);
}

/* *n: rows that were due; below AVERAGES_BATCH, the table has no more. */
static enum err decay_batch(struct daemon_ctx *x, struct averages *p, size_t *n)
{
	struct decay d = { .of = (enum averages_of)p->table };
	int64_t *ids;
	enum err e;

	TRY(averages_due(
	    x->db, &x->a, d.of, p->after, x->now - DAY_S, &ids, n, &x->fail));
	if (*n == 0)
		return OK;
	d.ids = ids;
	d.n = *n;
	e = daemon_transaction(x, tx_decay, &d);
	/* Contention: the next pass finds them. */
	if (e != OK && e != E_RACE && e != E_RETRY)
		return e;
	p->after = ids[*n - 1];
	log_debug(
	    "[CREDIT] updated %zu averages up to id %lld", *n, (long long)p->after);
	return OK;
}

/*
 * Continues the pass over hosts, accounts and teams, some batches at a time; a new one
 * begins every hour. Only averages that are older than a day are updated. *full: more
 * is due at once.
 */
static enum err averages_step(struct daemon_ctx *x, struct averages *p, bool *full)
{
	if (x->mod_i != 0 || x->dry_run)
		return OK;
	if (p->begun_at == 0 ||
	    (p->table == AVERAGES__MAX &&
		(x->now < p->begun_at || x->now - p->begun_at >= DECAY_EVERY_S)))
		*p = (struct averages){ .begun_at = x->now };
	for (int i = 0; i < DECAY_BATCHES && p->table < AVERAGES__MAX; i++) {
		size_t n = 0;

		if (daemon_stopping(x))
			return OK;
		TRY(decay_batch(x, p, &n));
		if (n < AVERAGES_BATCH) {
			p->table++;
			p->after = 0;
		}
	}
	*full = *full || p->table < AVERAGES__MAX;
	return OK;
}

/*
 * After an upgrade the counts of workunits are compared with the workunits: until the
 * daemon was restarted, programs of the earlier release may have moved some without
 * counting them. A pass that is killed begins again: the order to make it is taken
 * back at its end.
 */

struct recount_slice {
	int64_t from, to;
};

static enum err tx_recount(struct daemon_ctx *x, void *arg)
{
	const struct recount_slice *s = arg;

	return work_recount(x->db, s->from, s->to, x->now, &x->fail);
}

/* Goes on by a slice of ids. *full: there are more. */
static enum err recount_step(struct daemon_ctx *x, struct recount *c, bool *full)
{
	struct recount_slice s = { c->from, 0 };
	bool wanted = true;
	enum err e;

	if (c->over || x->mod_i != 0 || x->dry_run)
		return OK;
	if (c->from == 0)
		TRY(work_recount_wanted(x->db, &wanted, &x->fail));
	c->over = !wanted;
	if (c->over)
		return OK;
	TRY(ids_ahead(x->db, IDS_WORKUNITS, s.from, RECOUNT_SLICE, &s.to, &x->fail));
	e = daemon_transaction(x, tx_recount, &s);
	if (e != OK) /* contention: the next step tries this slice again */
		return e == E_RACE || e == E_RETRY ? OK : e;
	c->from = s.to;
	*full = true;
	if (c->from < IDS_END)
		return OK;
	TRY(work_recount_want(x->db, false, &x->fail));
	c->over = true;
	log_info("compared the counts of all workunits");
	return OK;
}

static enum err transitioner_step(struct daemon_ctx *x, size_t *done)
{
	struct transitioner *o = x->own;
	static const struct queue_calls calls = { DB_LIST_MAX, transition_some,
		transition_one, false };
	struct id_share part = { x->mod_n, x->mod_i };
	struct workunit *wu;
	size_t n;
	bool full = false;

	TRY(workunits_due(x->db, &x->a, part, x->now, BATCH, &wu, &n, &x->fail));
	TRY(queue_chunks(x, &o->queue, &calls, wu, n, done));
	TRY(ledger_writer_step(x, &o->ledger, &full));
	TRY(averages_step(x, &o->averages, &full));
	TRY(recount_step(x, &o->recount, &full));
	*done += full;
	return OK;
}

static void transitioner_end(struct daemon_ctx *x)
{
	const struct transitioner *o = x->own;

	work_close(o->work);
}

int main(int argc, char **argv)
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

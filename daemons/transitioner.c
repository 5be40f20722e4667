/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves workunits along: load the due ones, ask transition(), save in one transaction
 * each.  The write-back is conditional on the transition_seq read, so a report or claim
 * in between makes the whole unit start again from what is there then.
 */
#include "daemons/book.h"
#include "daemons/loop.h"
#include "daemons/work.h"
#include "db/life.h"
#include "lib/log.h"
#include "model/states.h"
#include "rules/daemon/daemon_rules.h"
#include "lib/banned.h"

enum { BATCH = 200, PAUSE_FIRST_S = 10, PAUSE_MOST_S = 3600 };

struct own {
	struct work *work;
	struct tries *tries; /* workunits that cannot be moved along */
	struct book book;
};

static enum err
start(struct ctx *x)
{
	struct own *o = x->own;

	o->tries = daemon_tries(x, PAUSE_FIRST_S, PAUSE_MOST_S);
	return work_open(x->life, x->conf, &o->work, &x->fail);
}

/* What a change makes of the row. */
static struct workunit
changed(const struct workunit *wu, const struct wu_change *c, int64_t now)
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
	/* A visit in this very second would find nothing new, and go on for all of it.
	 */
	to.transition_time = c->next_at > now ? c->next_at : now + 1;
	return to;
}

static struct result
changed_result(const struct result *r, const struct result_change *c)
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
changes(const struct result_change *c)
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
	log_info("[WU#%lld] %s spawn=%d timed_out=%d didnt_need=%d validate=%d "
		 "error_mask=%d "
		 "assimilate=%d delete=%d next=%lld",
	    (long long)wu->id, wu->name, c->spawn, timed_out, dropped, c->need_validate,
	    c->error_mask, c->assimilate, c->delete_input, (long long)c->next_at);
}

static enum err
save(struct ctx *x, const struct workunit *wu, const struct result *r,
    const struct wu_change *c)
{
	struct own *o = x->own;
	struct workunit to = changed(wu, c, x->now);
	enum err e = workunit_transitioned(x->db, wu, &to, &x->fail);

	for (size_t i = 0; i < c->nresults && e == OK; i++) {
		struct result rto = changed_result(&r[i], &c->results[i]);
		if (changes(&c->results[i]))
			e = result_move(x->db, &r[i], &rto, &x->fail);
	}
	for (int32_t i = 0; i < c->spawn && e == OK; i++)
		e = result_create(o->work, x->db, &x->a, &to, c->first_suffix + i,
		    c->priority, x->now, &x->fail);
	for (size_t i = 0; i < c->nresults && e == OK; i++)
		if (c->results[i].time_out)
			e = hav_timed_out(x->db, &r[i], (double)wu->delay_bound,
			    x->conf->daily_result_quota, &x->fail);
	return e;
}

/* Reads inside the unit: a unit that starts again decides on what is there then. */
static enum err
unit(struct ctx *x, void *arg)
{
	const int64_t *id = arg;
	struct workunit *wu;
	struct result *r;
	struct wu_change c;
	size_t n;
	enum err e = workunit_by_id(x->db, &x->a, *id, &wu, &x->fail);

	if (e == E_NOTFOUND) /* purged meanwhile */
		return OK;
	if (e != OK || wu->transition_time > x->now)
		return e; /* another instance was here */
	if ((e = results_of_workunit(x->db, &x->a, *id, &r, &n, &x->fail)) != OK)
		return e;
	c = transition(&x->a, x->conf, wu, r, n, x->now);
	log_change(wu, &c);
	if (x->dry_run)
		return OK;
	e = save(x, wu, r, &c);
	return e == E_RACE ? E_RETRY : e;
}

static enum err
move_along(struct ctx *x, struct workunit *wu)
{
	return daemon_unit(x, unit, &wu->id);
}

static enum err
step(struct ctx *x, size_t *done)
{
	struct own *o = x->own;
	struct part part = { x->mod_n, x->mod_i };
	struct workunit *wu;
	size_t n;
	bool full = false;
	enum err e = workunits_due(
	    x->db, &x->a, part, x->now, BATCH + o->tries->used, &wu, &n, &x->fail);

	if (e == OK)
		e = daemon_workunits(x, o->tries, wu, n, move_along, done);
	if (e == OK)
		e = book_keep(x, &o->book, &full);
	*done += full;
	return e;
}

static void
end(struct ctx *x)
{
	const struct own *o = x->own;

	work_close(o->work);
}

int
main(int argc, char **argv)
{
	static const struct daemon transitioner = {
		.name = "transitioner",
		.purpose =
		    "Moves workunits along: makes results, times them out, hands on to "
		    "validation, assimilation and deletion.",
		.idle_ms = 1000,
		.can_dry_run = true,
		.own_size = sizeof(struct own),
		.start = start,
		.end = end,
		.step = step,
	};

	return daemon_main(&transitioner, argc, argv);
}

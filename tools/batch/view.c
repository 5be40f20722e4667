/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts over the workunits of a batch: those that the transitioner keeps, or, with the
 * results of open workunits, counted now.
 */
#include "db/job_batch.h"
#include "lib/clock.h"
#include "lib/text.h"
#include "model/rows.h"
#include "tools/batch/batch.h"
#include "tools/progress.h"
#include "tools/tallies.h"
#include "lib/banned.h"

enum { SLICE = 20000, SAMPLE = 20000, HOUR_S = 3600, DAY_S = 86400 };

const char *
batch_state_name(enum batch_state state)
{
	static const char *const names[] = { [BATCH_IS_EMPTY] = "empty",
		[BATCH_IS_STAGED] = "staged",
		[BATCH_IS_RUNNING] = "running",
		[BATCH_IS_COMPLETE] = "complete",
		[BATCH_IS_CANCELLED] = "cancelled",
		[BATCH_IS_RETIRED] = "retired" };

	return names[state];
}

enum err
batch_find(struct cmd_ctx *x, const char *arg, struct row_job_batch **row)
{
	size_t n = 1;
	int64_t id;
	bool number = text_i64(arg, 1, INT64_MAX, &id);
	enum err e = number ? job_batch_by_id(x->db, x->a, id, row, x->f) :
	                      job_batch_by_name(x->db, x->a, arg, row, &n, x->f);

	if (e == E_NOTFOUND && number)
		e = job_batch_by_name(x->db, x->a, arg, row, &n, x->f);
	if (e == E_NOTFOUND)
		return ctx_not_found(
		    x, "there is no batch %.100s; locus batch list shows them", arg);
	if (e == OK && n > 1)
		return FAIL(x->f, E_BADREQ,
		    "several batches have the name %.100s; give the id, which locus batch list shows",
		    arg);
	return e;
}

static void
add_tally(struct row_batch_tally *to, const struct row_batch_tally *t)
{
	to->n += t->n;
	to->last = t->last;
	to->staged += t->staged;
	to->done += t->done;
	to->failed += t->failed;
	to->cancelled += t->cancelled;
	to->assimilated += t->assimilated;
}

static enum err
count_slices(struct cmd_ctx *x, struct batch_view *v)
{
	struct progress p = progress_begin("counting jobs", v->row.njobs);
	struct row_batch_tally t = { .n = SLICE };
	struct arena a = { 0 };
	enum err e = OK;

	while (e == OK && t.n == SLICE) {
		struct row_batch_open open = { 0 };
		int64_t after = v->tally.last;

		arena_reset(&a);
		e = job_batch_tally(x->db, &a, v->row.id, after, SLICE, &t, x->f);
		if (e == OK && t.n > 0)
			e = job_batch_open(
			    x->db, &a, v->row.id, after, SLICE, &open, x->f);
		if (e != OK)
			break;
		if (t.n > 0)
			add_tally(&v->tally, &t);
		v->open.unsent += open.unsent;
		v->open.in_progress += open.in_progress;
		v->open.over += open.over;
		progress_set(&p, v->tally.n);
	}
	progress_end(&p);
	arena_free(&a);
	return e;
}

void
batch_tally(const struct row_work_tally *t, size_t n, struct row_batch_tally *sum)
{
	*sum = (struct row_batch_tally){ 0 };
	for (size_t i = 0; i < n; i++) {
		int64_t wus = t[i].wus;
		int32_t code = t[i].code;

		sum->n += wus;
		sum->staged += (code & TALLY_STAGED) != 0 ? wus : 0;
		sum->assimilated += (code & TALLY_ASSIMILATED) != 0 ? wus : 0;
		if ((code & TALLY_CANONICAL) != 0)
			sum->done += wus;
		else if ((code & TALLY_CANCELLED) != 0)
			sum->cancelled += wus;
		else if ((code & TALLY_ERROR) != 0)
			sum->failed += wus;
	}
}

static enum batch_state
batch_state_of(const struct batch_view *v)
{
	if (v->row.state == BATCH_ABORTED)
		return BATCH_IS_CANCELLED;
	if (v->row.state == BATCH_RETIRED)
		return BATCH_IS_RETIRED;
	if (v->tally.staged > 0)
		return BATCH_IS_STAGED;
	if (v->jobs == 0)
		return BATCH_IS_EMPTY;
	return v->open_jobs == 0 ? BATCH_IS_COMPLETE : BATCH_IS_RUNNING;
}

/* The rate of the last hour, else of the last day, by a sample of the workunits. */
static enum err
measure_pace(struct cmd_ctx *x, struct batch_view *v)
{
	static const int64_t spans[] = { HOUR_S, DAY_S };
	int64_t now = clock_now(), age = now - v->row.create_time;
	int64_t every = v->tally.done / SAMPLE + 1;
	struct row_pair pace = { 0 };

	for (size_t i = 0; i < N(spans) && pace.b == 0; i++) {
		int64_t span = age < 1 ? 1 : age < spans[i] ? age : spans[i];

		TRY(job_batch_pace(
		    x->db, x->a, v->row.id, every, now - spans[i], &pace, x->f));
		v->per_hour = (double)(pace.b * every) * HOUR_S / (double)span;
	}
	if (v->per_hour > 0)
		v->eta_s = (int64_t)((double)v->open_jobs / v->per_hour * HOUR_S + 0.5);
	return OK;
}

/* Reads the batch's own counts. */
static enum err
read_tally(struct cmd_ctx *x, struct batch_view *v)
{
	struct work_tallies t;

	TRY(work_tallies_read(
	    x->db, x->a, TALLY_OF_BATCH, v->row.id, clock_now(), &t, x->f));
	batch_tally(t.v, t.n, &v->tally);
	tally_note(x, t.behind);
	return OK;
}

enum err
batch_view_of(struct cmd_ctx *x, struct batch_view *v)
{
	const struct row_job_batch *row = &v->row;
	const struct row_batch_tally *t = &v->tally;

	v->eta_s = -1;
	v->jobs = row->njobs > t->n ? row->njobs : t->n;
	v->purged = v->jobs - t->n;
	/* While its jobs are being added, the row counts those of a step first. */
	if (row->state == BATCH_INIT || t->staged > 0) {
		v->jobs = t->n;
		v->purged = 0;
	}
	v->open_jobs = t->n - t->staged - t->done - t->failed - t->cancelled;
	if (v->jobs > 0)
		v->fraction_done = (double)(v->jobs - v->open_jobs - t->staged) /
		                   (double)v->jobs;
	v->state = batch_state_of(v);
	if (v->state == BATCH_IS_COMPLETE)
		v->eta_s = 0;
	return v->open_jobs > 0 && t->done > 0 ? measure_pace(x, v) : OK;
}

enum err
batch_count(struct cmd_ctx *x, const struct row_job_batch *row, bool results,
    struct batch_view *v)
{
	*v = (struct batch_view){ .row = *row };
	TRY(results ? count_slices(x, v) : read_tally(x, v));
	return batch_view_of(x, v);
}

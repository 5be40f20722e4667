/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files a host is told to delete (locality.md 1.1 (L7), 2): those whose file sets
 * will produce no further results, and, if jobs were refused for lack of disk space,
 * one more to make room.
 */
#include "model/rows.h"
#include "rules/say.h"
#include "rules/sched/ctx.h"
#include "lib/banned.h"

/*
 * Jobs that this host has according to the database, but does not have (protocol.md
 * 3.6), and jobs that it has but that are no longer useful (3.7).
 */

const struct snap_file *lost_file(const struct ctx *c, const struct job *j)
{
	for (size_t i = 0; i < c->snap->nfiles && j->fileset_id != 0; i++)
		if (c->snap->files[i].fileset_id == j->fileset_id)
			return &c->snap->files[i];
	return NULL;
}

/*
 * Reasons that pass: the job remains the host's and is tried again at its next request.
 */
static bool is_transient(enum reason why)
{
	return why == WHY_RSC_NOT_WANTED || why == WHY_IN_PROGRESS_LIMIT ||
	       why == WHY_APP_LIMIT || why == WHY_LOST_RACE || why == WHY_CLASS_CHANCE;
}

static void resend_job(struct ctx *c, const struct job *j)
{
	enum reason why = candidate_try(c, SEND_LOST, j, lost_file(c, j));

	if (why == WHY_NONE) {
		decision_say(c, false, "Resent lost task ", j->name, "");
	} else if (!is_transient(why)) {
		PUSH(c->a, c->d->expire, c->d->nexpire, c->expire_cap) = j;
		decision_say(
		    c, false, "Didn't resend lost task ", j->name, " (expired)");
	}
}

/*
 * Is the computer attached to the project twice, under two URLs? Then one row stands
 * for both clients, and what one of them does not list is with the other. It shows in
 * the clients' counts, or in a task that a client still has although the row's client
 * said, when it was attached anew, that it had none.
 */
static bool is_twin(const struct ctx *c)
{
	if (c->snap->twin)
		return true;
	for (size_t i = 0; i < c->req->nother_results && c->snap->others != NULL; i++)
		if (c->snap->others[i].found && c->snap->others[i].owner == 0 &&
		    c->snap->others[i].outcome == OUTCOME_CLIENT_DETACHED)
			return true;
	return false;
}

/*
 * Silence does not mean loss: without an other_results element nothing is known, and if
 * reports were left for later, a job may be among them.
 */
void lost_resend(struct ctx *c)
{
	size_t most = (size_t)c->conf->max_wus_to_send;

	if (!c->req->has_other_results || c->reports_cut)
		return;
	if (is_twin(c)) {
		decision_say(c, true,
		    "This computer is attached to this project twice, under two URLs. When convenient, detach this project, then reattach to ",
		    c->conf->master_url, "");
		return;
	}
	if (!c->conf->resend_lost_results && !c->d->resend_seen)
		return;
	for (size_t i = 0; i < c->snap->nin_progress; i++) {
		const struct job *j = &c->snap->in_progress[i];

		if (limits_more(c) != WHY_NONE || (most > 0 && c->d->nsends >= most))
			return;
		if (!names_has(c->listed, j->name))
			resend_job(c, j);
	}
}

enum abort { ABORT_NOT, ABORT_NOW, ABORT_COPY, ABORT_IF_NOT_STARTED };

static enum abort abort_kind(const struct ctx *c, const struct snap_other *o)
{
	if (!o->found || (o->error_mask & WU_ERROR_CANCELLED) != 0)
		return ABORT_NOW;
	if (o->owner != 0 && o->server_state == RESULT_IN_PROGRESS &&
	    !owner_is_us(c, o->owner, o->owner_seen))
		return ABORT_COPY;
	if (o->assimilate_state == ASSIMILATE_DONE)
		return ABORT_IF_NOT_STARTED;
	if (o->server_state == RESULT_OVER) /* late, but a report is welcome */
		return ABORT_IF_NOT_STARTED;
	return ABORT_NOT;
}

void lost_abort(struct ctx *c)
{
	struct decision *d = c->d;
	int64_t original = 0;

	if (!c->conf->send_result_abort || c->snap->others == NULL)
		return;
	for (size_t i = 0; i < c->req->nother_results; i++) {
		const char *name = c->req->other_results[i].name;

		switch (abort_kind(c, &c->snap->others[i])) {
		case ABORT_NOT:
			break;
		case ABORT_COPY:
			original = c->snap->others[i].owner;
			/* fall through */
		case ABORT_NOW:
			PUSH(c->a, d->aborts, d->naborts, c->aborts_cap) = name;
			decision_say(c, false, "Result ", name, " is no longer usable");
			break;
		case ABORT_IF_NOT_STARTED:
			PUSH(c->a, d->aborts_if_not_started, d->naborts_if_not_started,
			    c->unstarted_cap) = name;
			break;
		}
	}
	struct say s = say_new(c->a);

	if (original == 0)
		return;
	say_int(&s, original);
	decision_say(c, false, "Aborted tasks are in progress on computer ", s.p,
	    ", of which this one is a copy");
}

enum { SPACE_DELAY_S = 14400 };

/* --- facts about each file --- */

static void delete_mark_set_busy(struct ctx *c, int64_t fileset_id)
{
	size_t n;
	const struct large_use *u = larges_of_set(&c->larges, fileset_id, &n);

	for (size_t k = 0; k < n; k++)
		u[k].large->busy = true;
}

static void delete_mark_busy(struct ctx *c)
{
	const struct request *rq = c->req;
	struct names listed = { 0 }, reported = { 0 };

	for (size_t i = 0; i < rq->nother_results; i++)
		names_put(c->a, &listed, rq->other_results[i].name, 0);
	for (size_t i = 0; i < rq->nreports; i++)
		names_put(c->a, &reported, rq->reports[i].name, 0);
	for (size_t i = 0; i < c->snap->nin_progress; i++) {
		const struct job *j = &c->snap->in_progress[i];

		/* Jobs reported now are over, and jobs that the host does not list are
		 * not there. */
		if (!names_has(&reported, j->name) &&
		    (!rq->has_other_results || names_has(&listed, j->name)))
			delete_mark_set_busy(c, j->fileset_id);
	}
	for (size_t i = 0; c->snap->others != NULL && i < rq->nother_results; i++)
		if (c->snap->others[i].owner != 0)
			delete_mark_set_busy(c, c->snap->others[i].fileset_id);
}

static void delete_mark_set(struct ctx *c, const struct dec_file *df)
{
	size_t n;
	const struct large_use *u = larges_of_set(&c->larges, df->file->fileset_id, &n);

	for (size_t i = 0; i < n; i++) {
		struct large *l = u[i].large;

		l->known++;
		l->paused |= df->file->paused;
		/*
		 * Jobs that need the file may be on their way; or, while draining, no
		 * new holders will come, so the present ones compute what is generated
		 * again.
		 */
		l->awaits |= df->state == FILE_EXHAUSTED &&
		             (df->file->no_work_is_news || df->file->draining);
		/*
		 * A workunit of the set may still produce results, for which some host
		 * would have to fetch the file again.
		 */
		l->spared |= (c->conf->locality_keep_last_holder && !l->elsewhere &&
			      df->state == FILE_EXHAUSTED && df->file->has_open_wu);
		if (df->state < l->state)
			l->state = df->state;
	}
}

/*
 * May the file be deleted: does the host have it whole, and are all its sets known and
 * not paused?
 */
static bool may_delete(const struct large *l)
{
	return l->reported && !l->paused && !l->has_others && l->known == l->nsets;
}

void delete_begin(struct ctx *c)
{
	for (size_t i = 0; i < c->larges.nuses; i++)
		c->larges.uses[i].large->nsets++;
	for (size_t i = 0; i < c->snap->nfiles; i++)
		delete_mark_set(c, &c->d->files[i]);
	delete_mark_busy(c);
	for (size_t i = 0; i < c->larges.n; i++) {
		struct large *l = &c->larges.v[i];
		size_t present = 0;

		l->reported = names_find(c->held, l->file->name, &present) &&
		              present != 0;
		l->goes = c->locality && may_delete(l) && l->state >= FILE_EXHAUSTED &&
		          !l->awaits && !l->spared;
		c->disk += large_freed(l);
	}
}

/* --- orders --- */

static void delete_order(struct ctx *c, const struct large *l, bool for_space)
{
	struct decision *d = c->d;
	struct say s = say_new(c->a);

	PUSH(c->a, d->deletes, d->ndeletes,
	    c->deletes_cap) = (struct dec_delete){ .name = l->file->name,
		.file_id = l->file->file_id,
		.bytes = l->file->bytes,
		.state = l->state,
		.for_space = for_space };
	say_str(&s, " (");
	say_size(&s, (double)l->file->bytes);
	say_str(&s, for_space ?
			") will be deleted when no longer needed, to make room" :
			") will be deleted: no more tasks use it");
	decision_say(c, false, "File ", l->file->name, s.p);
}

/* Counts the jobs of the set that this host could get once it has space. */
static size_t future_jobs(const struct ctx *c, const struct snap_file *f)
{
	size_t n = f->njobs;

	for (size_t i = 0; i < f->njobs; i++)
		if (!fileset_in_order(f, &f->jobs[i], f->last_id) ||
		    ids_has(&c->user_wus, f->jobs[i].workunitid))
			n--;
	return n;
}

/*
 * Is a the better one to delete: not in use (which frees space at once), then of the
 * least future value, then larger, then of the smaller id?
 */
static bool is_worth_less(const struct large *a, const struct large *b)
{
	if (a->busy != b->busy)
		return b->busy;
	if (a->future != b->future)
		return a->future < b->future;
	if (a->file->bytes != b->file->bytes)
		return a->file->bytes > b->file->bytes;
	return a->file->file_id < b->file->file_id;
}

static void order_for_space(struct ctx *c)
{
	const struct large *least = NULL;

	for (size_t i = 0; i < c->snap->nfiles; i++) {
		const struct snap_file *f = &c->snap->files[i];
		size_t jobs = future_jobs(c, f), n;
		const struct large_use *u = larges_of_set(
		    &c->larges, f->fileset_id, &n);

		for (size_t k = 0; k < n; k++)
			u[k].large->future += jobs;
	}
	for (size_t i = 0; i < c->larges.n; i++) {
		const struct large *l = &c->larges.v[i];

		if (may_delete(l) && (least == NULL || is_worth_less(l, least)))
			least = l;
	}
	if (least == NULL)
		return;
	delete_order(c, least, true);
	decision_delay(c, SPACE_DELAY_S);
}

void delete_orders(struct ctx *c)
{
	const struct decision *d = c->d;

	if (!c->locality)
		return;
	for (size_t i = 0; i < c->larges.n; i++)
		if (c->larges.v[i].goes)
			delete_order(c, &c->larges.v[i], false);
	if (d->work_wanted && d->nsends == 0 && d->ndeletes == 0 &&
	    d->counts[WHY_DISK] > 0) {
		c->d->lacks_room = true;
		order_for_space(c);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs that this host has according to the database, but does not have (protocol.md
 * 3.6), and jobs that it has but that are no longer useful (3.7).
 */
#include "rules/sched/ctx.h"

#include "model/states.h"
#include "rules/say.h"
#include "lib/banned.h"

const struct snap_file *
lost_file(const struct ctx *c, const struct job *j)
{
	for (size_t i = 0; i < c->snap->nfiles && j->fileset_id != 0; i++)
		if (c->snap->files[i].fileset_id == j->fileset_id)
			return &c->snap->files[i];
	return NULL;
}

/*
 * Reasons that pass: the job remains the host's and is tried again at its next request.
 */
static bool
is_transient(enum reason why)
{
	return why == WHY_RSC_NOT_WANTED || why == WHY_IN_PROGRESS_LIMIT ||
	       why == WHY_APP_LIMIT || why == WHY_LOST_RACE || why == WHY_CLASS_CHANCE;
}

static void
resend_job(struct ctx *c, const struct job *j)
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
static bool
is_twin(const struct ctx *c)
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
void
lost_resend(struct ctx *c)
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

static enum abort
abort_kind(const struct ctx *c, const struct snap_other *o)
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

static void
say_copied_host(struct ctx *c, int64_t original)
{
	struct say s = say_new(c->a);

	if (original == 0)
		return;
	say_int(&s, original);
	decision_say(c, false, "Aborted tasks are in progress on computer ", s.p,
	    ", of which this one is a copy");
}

void
lost_abort(struct ctx *c)
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
	say_copied_host(c, original);
}

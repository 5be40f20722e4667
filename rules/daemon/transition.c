/* SPDX-License-Identifier: Apache-2.0 */
/* What should happen to a workunit now (scheduling.md 4.3)?  Steps are numbered as
 * there.
 */
#include "rules/daemon/daemon_rules.h"

#include <stdlib.h>
#include <string.h>
#include "model/states.h"
#include "lib/banned.h"

enum { SAFETY_NET_S = 10 * 86400 };

/* The workunit's results as they will be, counted. */
struct tally {
	int32_t unsent, in_progress, over;
	int32_t success, error, no_reply;
	int32_t unjudged;      /* successes that wait for validation */
	int64_t deadline;      /* earliest of those in progress, TRANSITION_NEVER */
	int64_t late_deadline; /* latest of a NO_REPLY, 0 */
	int64_t last_received;
	bool couldnt_send;
};

struct work {
	const struct conf *conf;
	const struct workunit *wu;
	const struct result *r;
	size_t n;
	int64_t now;
	struct wu_change *c;
	struct tally t;
	bool canonical_files_gone;
};

static bool
timed_out(const struct work *w, const struct result *r)
{
	return r->server_state == RESULT_IN_PROGRESS && r->report_deadline < w->now;
}

static int32_t
outcome(const struct work *w, const struct result *r)
{
	return timed_out(w, r) ? OUTCOME_NO_REPLY : r->outcome;
}

static bool
is_over(const struct work *w, const struct result *r)
{
	return r->server_state == RESULT_OVER || timed_out(w, r);
}

static bool
is_success(const struct work *w, const struct result *r)
{
	return is_over(w, r) && outcome(w, r) == OUTCOME_SUCCESS;
}

static void
count_over(struct work *w, const struct result *r)
{
	struct tally *t = &w->t;

	t->over++;
	switch (outcome(w, r)) {
	case OUTCOME_SUCCESS:
		t->success += r->validate_state != VALIDATE_INVALID;
		t->unjudged += r->validate_state == VALIDATE_INIT;
		break;
	case OUTCOME_CLIENT_ERROR: /* the volunteer's abort says nothing of the work */
		if (r->exit_status == EXIT_ABORTED_BY_USER)
			t->no_reply++;
		else
			t->error++;
		break;
	case OUTCOME_VALIDATE_ERROR:
		t->error++;
		break;
	case OUTCOME_NO_REPLY:
		t->no_reply++;
		if (r->report_deadline > t->late_deadline)
			t->late_deadline = r->report_deadline;
		break;
	case OUTCOME_CLIENT_DETACHED:
		t->no_reply++;
		break;
	case OUTCOME_COULDNT_SEND:
		t->couldnt_send = true;
		break;
	default: /* DIDNT_NEED is neutral */
		break;
	}
}

/* Steps 1 and 2. */
static void
count(struct work *w)
{
	w->t.deadline = TRANSITION_NEVER;
	for (size_t i = 0; i < w->n; i++) {
		const struct result *r = &w->r[i];

		w->c->results[i].id = r->id;
		w->c->results[i].time_out = timed_out(w, r);
		if (r->received_time > w->t.last_received)
			w->t.last_received = r->received_time;
		if (is_over(w, r)) {
			count_over(w, r);
		} else if (r->server_state == RESULT_IN_PROGRESS) {
			w->t.in_progress++;
			if (r->report_deadline < w->t.deadline)
				w->t.deadline = r->report_deadline;
		} else {
			w->t.unsent++;
		}
		/* Marked is as good as gone: the deleter may be at it. */
		if (r->id == w->wu->canonical_resultid)
			w->canonical_files_gone = r->file_delete_state !=
			                          FILE_DELETE_INIT;
	}
}

/* Step 3.  A success that nothing can be compared with any more is too late. */
static void
want_validation(struct work *w)
{
	struct tally *t = &w->t;

	for (size_t i = 0; i < w->n && w->canonical_files_gone; i++) {
		const struct result *r = &w->r[i];

		if (is_success(w, r) && r->validate_state == VALIDATE_INIT) {
			w->c->results[i].too_late = true;
			t->unjudged--;
		}
	}
	w->c->need_validate = t->unjudged > 0 && t->success >= w->wu->min_quorum &&
	                      w->c->error_mask == 0;
}

/* Step 4: nobody computes for the class or version that the workunit was bound to. */
static bool
may_uncommit(const struct work *w)
{
	const struct tally *t = &w->t;

	return t->error > 0 && t->success == 0 && t->in_progress == 0 &&
	       t->no_reply == 0 && !w->conf->hr_class_static &&
	       (w->wu->hr_class != 0 || w->wu->app_version_id != 0);
}

/*
 * Steps 5 and 6, for a workunit without a canonical result: one that has its result
 * cannot fail any more.  Returns how many results are to be made.
 */
static int32_t
check_limits(struct work *w)
{
	const struct workunit *wu = w->wu;
	struct tally *t = &w->t;
	int64_t wanted = (int64_t)wu->target_nresults - t->unsent - t->in_progress -
	                 t->success;
	int64_t room = (int64_t)wu->max_total_results - (int64_t)w->n;

	if (wanted < 0)
		wanted = 0;
	if (t->couldnt_send)
		w->c->error_mask |= WU_ERROR_COULDNT_SEND;
	if (t->error > wu->max_error_results)
		w->c->error_mask |= WU_ERROR_TOO_MANY_ERRORS;
	if (room < 0 || (room == 0 && wanted > 0))
		w->c->error_mask |= WU_ERROR_TOO_MANY_TOTAL;
	return (int32_t)(wanted < room ? wanted : room < 0 ? 0 : room);
}

static void
drop_unsent(struct work *w)
{
	for (size_t i = 0; i < w->n; i++) {
		int32_t s = w->r[i].server_state;

		if (s == RESULT_UNSENT || s == RESULT_INACTIVE) {
			w->c->results[i].didnt_need = true;
			w->t.unsent--;
			w->t.over++;
		}
	}
}

/* Step 7. */
static void
fail_workunit(struct work *w)
{
	drop_unsent(w);
	for (size_t i = 0; i < w->n; i++) {
		int32_t v = w->r[i].validate_state;

		if (is_success(w, &w->r[i]) && !w->c->results[i].too_late &&
		    (v == VALIDATE_INIT || v == VALIDATE_INCONCLUSIVE)) {
			w->c->results[i].no_check = true;
			w->t.unjudged -= v == VALIDATE_INIT;
		}
	}
	w->c->need_validate = false;
	w->c->assimilate = w->wu->assimilate_state == ASSIMILATE_INIT;
}

/* Number behind the last "_" of a result's name; -1 if there is none. */
static int64_t
suffix(const char *name)
{
	const char *p = name == NULL ? NULL : strrchr(name, '_');
	char *end;
	long long n;

	if (p == NULL || p[1] < '0' || p[1] > '9')
		return -1;
	n = strtoll(p + 1, &end, 10);
	return *end == '\0' && n < INT32_MAX ? n : -1;
}

/* Step 8: as many as wanted; later ones may be in more of a hurry. */
static void
spawn(struct work *w, int32_t wanted)
{
	struct wu_change *c = w->c;
	int64_t last = -1;

	for (size_t i = 0; i < w->n; i++)
		if (suffix(w->r[i].name) > last)
			last = suffix(w->r[i].name);
	c->spawn = wanted;
	c->first_suffix = (int32_t)(last + 1);
	c->priority = w->wu->priority;
	if (w->t.over == 0)
		return;
	if (w->conf->reliable_priority_on_over != 0)
		c->priority += (int32_t)w->conf->reliable_priority_on_over;
	else if (w->t.error == 0)
		c->priority += (int32_t)w->conf->reliable_priority_on_over_except_error;
}

/*
 * Files of one result, once the workunit is assimilated.  Others may still be compared
 * with the canonical one, and a result that timed out may still be uploaded: both stay
 * until all is settled.
 */
static bool
may_delete_files(const struct work *w, size_t i, bool settled)
{
	const struct result *r = &w->r[i];
	bool judged = r->validate_state != VALIDATE_INIT || w->c->results[i].too_late ||
	              w->c->results[i].no_check;

	if (r->file_delete_state != FILE_DELETE_INIT || !is_over(w, r))
		return false;
	switch (outcome(w, r)) {
	case OUTCOME_CLIENT_ERROR:
	case OUTCOME_VALIDATE_ERROR:
		return true;
	case OUTCOME_SUCCESS:
		return r->id == w->wu->canonical_resultid ? settled : judged;
	case OUTCOME_NO_REPLY:
	case OUTCOME_CLIENT_DETACHED:
		return settled;
	default: /* never sent: there are none */
		return false;
	}
}

/* Step 10.  Returns when to look again, TRANSITION_NEVER if that changes nothing. */
static int64_t
delete_files(struct work *w)
{
	const struct tally *t = &w->t;
	int64_t from = t->last_received + (int64_t)(w->conf->delete_delay_hours * 3600);
	bool settled = t->over == (int32_t)w->n && t->unjudged == 0 &&
	               t->late_deadline < w->now;

	if (w->wu->assimilate_state != ASSIMILATE_DONE)
		return TRANSITION_NEVER;
	if (w->now < from)
		return from;
	w->c->delete_input = settled && w->wu->file_delete_state == FILE_DELETE_INIT;
	for (size_t i = 0; i < w->n; i++)
		w->c->results[i].delete_files = may_delete_files(w, i, settled);
	return t->late_deadline >= w->now ? t->late_deadline + 1 : TRANSITION_NEVER;
}

/* Step 11.  Never in the past: what is past its deadline is over by now. */
static int64_t
next_visit(const struct work *w, int64_t deletion)
{
	int64_t safety = (int64_t)(1.5 * (double)w->wu->delay_bound),
		at = TRANSITION_NEVER;

	if (safety < SAFETY_NET_S)
		safety = SAFETY_NET_S;
	if (w->wu->canonical_resultid == 0 && w->c->error_mask == 0)
		at = w->now + safety;
	if (w->t.deadline < at)
		at = w->t.deadline;
	return deletion < at ? deletion : at;
}

/* A broadcast is never over: target_nresults of it wait for hosts, none is judged. */
static void
broadcast(struct work *w)
{
	if (w->c->error_mask != 0)
		drop_unsent(w);
	else if (w->t.unsent < w->wu->target_nresults)
		spawn(w, w->wu->target_nresults - w->t.unsent);
	w->c->next_at = w->t.deadline;
}

struct wu_change
transition(struct arena *a, const struct conf *cf, const struct workunit *wu,
    const struct result *r, size_t n, int64_t now)
{
	struct wu_change c = { .nresults = n, .error_mask = wu->error_mask };
	struct work w = { .conf = cf, .wu = wu, .r = r, .n = n, .now = now, .c = &c };
	bool has_canonical = wu->canonical_resultid != 0;
	int32_t wanted = 0;

	c.results = NEWN(a, struct result_change, n + 1);
	c.next_at = TRANSITION_NEVER;
	if (wu->transitioner_flags == WU_NO_TRANSITION)
		return c;
	count(&w);
	if (wu->transitioner_flags == WU_BROADCAST) {
		broadcast(&w);
		return c;
	}
	c.uncommit = may_uncommit(&w);
	if (!has_canonical)
		wanted = check_limits(&w);
	want_validation(&w);
	if (c.error_mask != 0)
		fail_workunit(&w);
	else if (has_canonical)
		drop_unsent(&w); /* nobody needs them any more */
	else if (wu->transitioner_flags != WU_NO_NEW_RESULTS)
		spawn(&w, wanted);
	if (has_canonical && w.t.over == (int32_t)n && w.t.unjudged == 0 &&
	    wu->assimilate_state == ASSIMILATE_INIT) /* step 9: it was put off */
		c.assimilate = true;
	c.next_at = next_visit(&w, delete_files(&w));
	return c;
}

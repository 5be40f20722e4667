/* SPDX-License-Identifier: Apache-2.0 */
/* Decides what should happen to a workunit now; the steps are numbered as in
 * scheduling.md 4.3. */
#include "rules/daemon/transition.h"

#include <stdlib.h>
#include <string.h>
#include "lib/clamp.h"
#include "model/rows.h"
#include "model/tally.h"
#include "rules/daemon/daemon_rules.h"
#include "lib/banned.h"

/* The state under which a workunit is counted (model/tally.h). */

void tally_clear(struct workunit *wu)
{
	wu->tally = 0;
#define COUNT(name, when, sql) wu->tally_##name = 0;
	TALLY_COUNTS(COUNT)
#undef COUNT
}

void tally_result(struct workunit *wu, const struct result *r)
{
#define COUNT(name, when, sql) wu->tally_##name += (when);
	TALLY_COUNTS(COUNT)
#undef COUNT
}

/* It may wait for results that the transitioner will not make by itself. */
static bool lacks_results(const struct workunit *wu)
{
	int32_t least = wu->min_quorum > 1 ? wu->min_quorum : 1;

	if (wu->canonical_resultid != 0 || wu->error_mask != 0 ||
	    wu->assimilate_state != ASSIMILATE_INIT)
		return false;
	if (wu->transitioner_flags == WU_NO_TRANSITION ||
	    wu->transitioner_flags == WU_BROADCAST)
		return false;
	return wu->transitioner_flags == WU_NO_NEW_RESULTS ||
	       wu->target_nresults < least;
}

void tally_code(struct workunit *wu)
{
	wu->tally = TALLY_COUNTED;
#define BIT(name, bit, when, sql) wu->tally |= (when) ? TALLY_##name : 0;
	TALLY_BITS(BIT, )
#undef BIT
}

/* Pauses of single workunits, and of a whole stage (scheduling.md 4.9). */

int64_t aside_pause_s(int64_t tries)
{
	return pause_doubled(ASIDE_FIRST_S, tries, ASIDE_MOST_S);
}

enum pause_turn pause_turn(const struct queue_pause *p, int64_t now, size_t *most)
{
	*most = p->paused ? PAUSE_PROBE : PAUSE_SAMPLE;
	if (p->paused)
		return now < p->probe_at ? TURN_WAIT : TURN_SAMPLE;
	return p->streak < PAUSE_STREAK ? TURN_ALL : TURN_SAMPLE;
}

static void next_probe(struct queue_pause *p, int64_t now)
{
	p->probes++;
	p->probe_at = now + pause_doubled(PAUSE_FIRST_S, p->probes, PAUSE_MOST_S);
}

enum pause_news pause_tried(struct queue_pause *p, enum pause_turn turn, int64_t now,
    size_t good, size_t bad, size_t bad_again)
{
	bool was = p->paused;

	/* After a success the workunits that failed are to blame, not the stage. */
	if (good > 0) {
		*p = (struct queue_pause){ .since = was ? p->since : 0 };
		return was ? PAUSE_ENDS : PAUSE_NO_NEWS;
	}
	if (was) {
		if (bad + bad_again > 0)
			next_probe(p, now);
		return PAUSE_NO_NEWS;
	}
	if (bad == 0)
		return PAUSE_NO_NEWS;
	if (p->streak == 0)
		p->since = now;
	p->streak += (int64_t)bad;
	if (turn == TURN_ALL && p->streak > PAUSE_STREAK)
		p->streak = PAUSE_STREAK;
	if (p->streak < PAUSE_STREAK + PAUSE_SAMPLE)
		return PAUSE_NO_NEWS;
	p->paused = true;
	next_probe(p, now);
	return PAUSE_BEGINS;
}

void retry_took(struct retry_share *r, int64_t took_ms, int64_t now_ms)
{
	size_t twice = r->most * 2;

	if (took_ms > RETRY_STEP_MS)
		r->most = 1;
	else
		r->most = twice < 1 ? 1 : twice > RETRY_MOST ? RETRY_MOST : twice;
	r->next_ms = now_ms + RETRY_REST * took_ms;
}

enum { SAFETY_NET_S = 10 * 86400 };

/* Counts of the workunit's results as they will be after this pass. */
struct tally {
	int32_t unsent, in_progress, over;
	int32_t success, error, no_reply;
	int32_t unjudged; /* successes not yet validated */
	/* Earliest of those in progress, TRANSITION_NEVER = none. */
	int64_t deadline;
	int64_t late_deadline; /* latest of a NO_REPLY, 0 = none */
	int64_t last_received;
	bool couldnt_send;
};

struct pass {
	const struct conf *conf;
	const struct workunit *wu;
	const struct result *results;
	size_t n;
	int64_t now;
	struct wu_change *change;
	struct tally tally;
	bool canonical_files_gone;
};

static bool timed_out(const struct pass *p, const struct result *r)
{
	return r->server_state == RESULT_IN_PROGRESS && r->report_deadline < p->now;
}

static int32_t outcome_now(const struct pass *p, const struct result *r)
{
	return timed_out(p, r) ? OUTCOME_NO_REPLY : r->outcome;
}

static bool is_over_now(const struct pass *p, const struct result *r)
{
	return r->server_state == RESULT_OVER || timed_out(p, r);
}

static bool is_success_now(const struct pass *p, const struct result *r)
{
	return is_over_now(p, r) && outcome_now(p, r) == OUTCOME_SUCCESS;
}

static void count_over(struct pass *p, const struct result *r)
{
	struct tally *t = &p->tally;

	t->over++;
	switch (outcome_now(p, r)) {
	case OUTCOME_SUCCESS:
		t->success += r->validate_state != VALIDATE_INVALID;
		t->unjudged += r->validate_state == VALIDATE_INIT;
		break;
	case OUTCOME_CLIENT_ERROR:
		/* An abort by the volunteer says nothing about the work. */
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
static void tally_results(struct pass *p)
{
	p->tally.deadline = TRANSITION_NEVER;
	for (size_t i = 0; i < p->n; i++) {
		const struct result *r = &p->results[i];

		p->change->results[i].id = r->id;
		p->change->results[i].time_out = timed_out(p, r);
		if (r->received_time > p->tally.last_received)
			p->tally.last_received = r->received_time;
		if (is_over_now(p, r)) {
			count_over(p, r);
		} else if (r->server_state == RESULT_IN_PROGRESS) {
			p->tally.in_progress++;
			if (r->report_deadline < p->tally.deadline)
				p->tally.deadline = r->report_deadline;
		} else {
			p->tally.unsent++;
		}
		/* A file marked for deletion may already be gone. */
		if (r->id == p->wu->canonical_resultid)
			p->canonical_files_gone = r->file_delete_state !=
			                          FILE_DELETE_INIT;
	}
}

/* Step 3. A success is too late when nothing is left to compare it with. */
static void want_validation(struct pass *p)
{
	struct tally *t = &p->tally;

	for (size_t i = 0; i < p->n && p->canonical_files_gone; i++) {
		const struct result *r = &p->results[i];

		if (is_success_now(p, r) && r->validate_state == VALIDATE_INIT) {
			p->change->results[i].too_late = true;
			t->unjudged--;
		}
	}
	p->change->need_validate = t->unjudged > 0 && t->success >= p->wu->min_quorum &&
	                           p->change->error_mask == 0;
}

/* Step 4: no host computes for the class or version that the workunit is bound to. */
static bool may_uncommit(const struct pass *p)
{
	const struct tally *t = &p->tally;

	return t->error > 0 && t->success == 0 && t->in_progress == 0 &&
	       t->no_reply == 0 && !p->conf->hr_class_static &&
	       (p->wu->hr_class != 0 || p->wu->app_version_id != 0);
}

/* Steps 5 and 6. Only for a workunit without a canonical result: with one it cannot
 * fail any more. Returns the number of results to create. */
static int32_t check_limits(struct pass *p)
{
	const struct workunit *wu = p->wu;
	struct tally *t = &p->tally;
	int64_t wanted = (int64_t)wu->target_nresults - t->unsent - t->in_progress -
	                 t->success;
	int64_t room = (int64_t)wu->max_total_results - (int64_t)p->n;

	if (wanted < 0)
		wanted = 0;
	if (t->couldnt_send)
		p->change->error_mask |= WU_ERROR_COULDNT_SEND;
	if (t->error > wu->max_error_results)
		p->change->error_mask |= WU_ERROR_TOO_MANY_ERRORS;
	if (room < 0 || (room == 0 && wanted > 0))
		p->change->error_mask |= WU_ERROR_TOO_MANY_TOTAL;
	return (int32_t)(wanted < room ? wanted : room < 0 ? 0 : room);
}

static void drop_unsent(struct pass *p)
{
	for (size_t i = 0; i < p->n; i++) {
		int32_t s = p->results[i].server_state;

		if (s == RESULT_UNSENT || s == RESULT_INACTIVE) {
			p->change->results[i].didnt_need = true;
			p->tally.unsent--;
			p->tally.over++;
		}
	}
}

/* Step 7. */
static void fail_workunit(struct pass *p)
{
	drop_unsent(p);
	for (size_t i = 0; i < p->n; i++) {
		int32_t v = p->results[i].validate_state;

		if (is_success_now(p, &p->results[i]) &&
		    !p->change->results[i].too_late &&
		    (v == VALIDATE_INIT || v == VALIDATE_INCONCLUSIVE)) {
			p->change->results[i].no_check = true;
			p->tally.unjudged -= v == VALIDATE_INIT;
		}
	}
	p->change->need_validate = false;
	p->change->assimilate = p->wu->assimilate_state == ASSIMILATE_INIT;
}

/* Returns the number after the last "_" of a result's name; -1 if there is none. */
static int64_t name_suffix(const char *name)
{
	const char *p = name == NULL ? NULL : strrchr(name, '_');
	char *end;
	long long n;

	if (p == NULL || p[1] < '0' || p[1] > '9')
		return -1;
	n = strtoll(p + 1, &end, 10);
	return *end == '\0' && n < INT32_MAX ? n : -1;
}

/* Step 8. Results created later may have a higher priority. */
static void spawn_results(struct pass *p, int32_t wanted)
{
	struct wu_change *c = p->change;
	int64_t last = -1;

	for (size_t i = 0; i < p->n; i++)
		if (name_suffix(p->results[i].name) > last)
			last = name_suffix(p->results[i].name);
	c->spawn = wanted;
	c->first_suffix = (int32_t)(last + 1);
	c->priority = p->wu->priority;
	if (p->tally.over == 0)
		return;
	if (p->conf->reliable_priority_on_over != 0)
		c->priority += (int32_t)p->conf->reliable_priority_on_over;
	else if (p->tally.error == 0)
		c->priority += (int32_t)p->conf->reliable_priority_on_over_except_error;
}

/* May the files of this result go, once the workunit is assimilated? Other results may
 * still be compared with the canonical one, and a result that timed out may still be
 * uploaded: the files of both stay until all results are settled. */
static bool may_delete_files(const struct pass *p, size_t i, bool settled)
{
	const struct result *r = &p->results[i];
	bool judged = r->validate_state != VALIDATE_INIT ||
	              p->change->results[i].too_late || p->change->results[i].no_check;

	if (r->file_delete_state != FILE_DELETE_INIT || !is_over_now(p, r))
		return false;
	switch (outcome_now(p, r)) {
	case OUTCOME_CLIENT_ERROR:
	case OUTCOME_VALIDATE_ERROR:
		return true;
	case OUTCOME_SUCCESS:
		return r->id == p->wu->canonical_resultid ? settled : judged;
	case OUTCOME_NO_REPLY:
	case OUTCOME_CLIENT_DETACHED:
		return settled;
	default: /* never sent, so it has no files */
		return false;
	}
}

/* Step 10. Returns when to look again, TRANSITION_NEVER if time alone changes
 * nothing. */
static int64_t delete_files(struct pass *p)
{
	const struct tally *t = &p->tally;
	int64_t from = t->last_received + (int64_t)(p->conf->delete_delay_hours * 3600);
	bool settled = t->over == (int32_t)p->n && t->unjudged == 0 &&
	               t->late_deadline < p->now;

	if (p->wu->assimilate_state != ASSIMILATE_DONE || row_is_kept(p->wu->name))
		return TRANSITION_NEVER;
	if (p->now < from)
		return from;
	p->change->delete_input = settled &&
	                          p->wu->file_delete_state == FILE_DELETE_INIT;
	for (size_t i = 0; i < p->n; i++)
		p->change->results[i].delete_files = may_delete_files(p, i, settled);
	return t->late_deadline >= p->now ? t->late_deadline + 1 : TRANSITION_NEVER;
}

/* Step 11. Never in the past: a result past its deadline is over by now. */
static int64_t next_visit(const struct pass *p, int64_t deletion)
{
	int64_t safety = (int64_t)(1.5 * (double)p->wu->delay_bound),
		at = TRANSITION_NEVER;

	if (safety < SAFETY_NET_S)
		safety = SAFETY_NET_S;
	if (p->wu->canonical_resultid == 0 && p->change->error_mask == 0)
		at = p->now + safety;
	if (p->tally.deadline < at)
		at = p->tally.deadline;
	return deletion < at ? deletion : at;
}

/* A broadcast never ends: keeps target_nresults of it unsent; nothing is validated. */
static void transition_broadcast(struct pass *p)
{
	if (p->change->error_mask != 0)
		drop_unsent(p);
	else if (p->tally.unsent < p->wu->target_nresults)
		spawn_results(p, p->wu->target_nresults - p->tally.unsent);
	p->change->next_at = p->tally.deadline;
}

struct wu_change transition(struct arena *a, const struct conf *cf,
    const struct workunit *wu, const struct result *r, size_t n, int64_t now)
{
	struct wu_change c = { .nresults = n, .error_mask = wu->error_mask };
	struct pass p = {
		.conf = cf, .wu = wu, .results = r, .n = n, .now = now, .change = &c
	};
	bool has_canonical = wu->canonical_resultid != 0;
	int32_t wanted = 0;

	c.results = NEWN(a, struct result_change, n + 1);
	c.next_at = TRANSITION_NEVER;
	if (wu->transitioner_flags == WU_NO_TRANSITION)
		return c;
	tally_results(&p);
	if (wu->transitioner_flags == WU_BROADCAST) {
		transition_broadcast(&p);
		return c;
	}
	c.uncommit = may_uncommit(&p);
	if (!has_canonical)
		wanted = check_limits(&p);
	want_validation(&p);
	if (c.error_mask != 0)
		fail_workunit(&p);
	else if (has_canonical)
		drop_unsent(&p); /* no longer needed */
	else if (wu->transitioner_flags != WU_NO_NEW_RESULTS)
		spawn_results(&p, wanted);
	/* Step 9, which had to wait for the last result. */
	if (has_canonical && p.tally.over == (int32_t)n && p.tally.unjudged == 0 &&
	    wu->assimilate_state == ASSIMILATE_INIT)
		c.assimilate = true;
	c.next_at = next_visit(&p, delete_files(&p));
	return c;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reports, lost results and aborts: the tables of protocol.md 3.5, 3.6 and 3.7. */
#include "test/unit/unit.h"

#include "model/rows.h"
#include "rules/sched/decide.h"
#include "test/unit/rules_world.h"
#include "lib/banned.h"

#define ON      "<resend_lost_results/>"
#define OFF     "<resend_lost_results>0</resend_lost_results>"
#define ONE     "<max_wus_to_send>1</max_wus_to_send>"
#define NOLIMIT "<max_wus_to_send>0</max_wus_to_send>"

enum { OWN, SAME, OTHER };

static const struct {
	const char *name;
	bool found;
	int32_t server_state, outcome;
	int64_t received;
	int owner;
	int32_t client_state, exit_status;
	bool stored;
	int32_t new_outcome, new_validate;
	const char *note;
} reports[] = {
#define CASE(                                                                          \
    n, found, state, outcome, received, owner, client, exit, stored, o, v, note)       \
	{ #n, found, RESULT_##state, OUTCOME_##outcome, received, owner,               \
		CLIENT_##client, exit, stored, OUTCOME_##o, VALIDATE_##v, note },
#include "test/unit/rules_report.def"
#undef CASE
};

static struct world *world_with_report(
    const struct result *r, const struct rq_report *q)
{
	struct world *w = world_new("", 0);

	w->snap.reports = NEWN(&w->a, struct snap_report, 3);
	w->req.reports = NEWN(&w->a, struct rq_report, 3);
	w->snap.reports[0] = (struct snap_report){ .found = true, .result = *r };
	w->req.reports[0] = *q;
	w->req.nreports = 1;
	return w;
}

START_TEST(report)
{
	struct result r = { .id = 77,
		.workunitid = 88,
		.server_state = reports[_i].server_state,
		.outcome = reports[_i].outcome,
		.received_time = reports[_i].received,
		.sent_time = WORLD_NOW - HOUR,
		.hostid = reports[_i].owner == OWN ? WORLD_HOST : WORLD_HOST + 1 };
	struct rq_report q = { .state = reports[_i].client_state,
		.exit_status = reports[_i].exit_status,
		.cpu_time = 10,
		.elapsed_time = 20 };
	struct world *w = world_with_report(&r, &q);
	struct decision *d;
	const struct dec_report *p;

	w->snap.reports[0].found = reports[_i].found;
	w->snap.reports[0].same_user_host = reports[_i].owner == SAME;
	d = world_decide(w);
	p = &d->reports[0];
	ck_assert_msg(p->ack, "%s is not acked", reports[_i].name);
	ck_assert_msg(strcmp(p->note, reports[_i].note) == 0, "%s: %s",
	    reports[_i].name, p->note);
	ck_assert_int_eq(p->action == REPORT_STORE, reports[_i].stored);
	ck_assert_int_eq(p->result_id, reports[_i].found ? 77 : 0);
	ck_assert_int_eq(p->workunitid, reports[_i].found ? 88 : 0);
	ck_assert_int_eq(p->outcome, reports[_i].new_outcome);
	ck_assert_int_eq(p->validate_state, reports[_i].new_validate);
	ck_assert_int_eq(d->resend_seen, strcmp(reports[_i].name, "over_success") == 0);
	if (reports[_i].stored) {
		ck_assert_int_eq(p->expect_state, reports[_i].server_state);
		ck_assert_int_eq(p->expect_outcome, reports[_i].outcome);
		ck_assert_int_eq(p->exit_status, reports[_i].exit_status);
	}
	world_free(w);
}
END_TEST

/*
 * Everything looks like a success, but an upload was refused permanently (protocol.md
 * 13.5.1).
 */
START_TEST(success_without_its_upload)
{
	struct result r = {
		.id = 77, .server_state = RESULT_IN_PROGRESS, .hostid = WORLD_HOST
	};
	struct rq_file files[2] = { { .status = 1 }, { .status = 1 } };
	struct rq_report q = { .state = CLIENT_UPLOADED, .files = files, .nfiles = 2 };
	struct world *w = world_with_report(&r, &q);

	ck_assert_int_eq(world_decide(w)->reports[0].outcome, OUTCOME_SUCCESS);
	files[1].upload_failed = true;
	ck_assert_int_eq(world_decide(w)->reports[0].outcome, OUTCOME_CLIENT_ERROR);
	ck_assert_int_eq(world_decide(w)->reports[0].validate_state, VALIDATE_INVALID);
	world_free(w);
}
END_TEST

static const struct {
	const char *name;
	double cpu, elapsed, turnaround;
	int32_t ncpus;
	const char *plan_class;
	double cpu_stored, elapsed_stored;
} times[] = {
#define TIME(name, cpu, elapsed, turnaround, ncpus, plan, cpu2, elapsed2)              \
	{ #name, cpu, elapsed, turnaround, ncpus, plan, cpu2, elapsed2 },
#include "test/unit/rules_time.def"
#undef TIME
};

START_TEST(times_are_made_plausible)
{
	struct result r = { .id = 1,
		.server_state = RESULT_IN_PROGRESS,
		.sent_time = WORLD_NOW - (int64_t)times[_i].turnaround,
		.hostid = WORLD_HOST };
	struct rq_report q = { .state = CLIENT_UPLOADED,
		.cpu_time = times[_i].cpu,
		.elapsed_time = times[_i].elapsed };
	struct world *w = world_with_report(&r, &q);
	struct decision *d;

	w->req.reports[0].plan_class = arena_strdup(&w->a, times[_i].plan_class);
	w->snap.host.p_ncpus = times[_i].ncpus;
	d = world_decide(w);
	ck_assert_msg(d->reports[0].cpu_time == times[_i].cpu_stored, "%s: cpu %g",
	    times[_i].name, d->reports[0].cpu_time);
	ck_assert_msg(d->reports[0].elapsed_time == times[_i].elapsed_stored,
	    "%s: elapsed %g", times[_i].name, d->reports[0].elapsed_time);
	world_free(w);
}
END_TEST

START_TEST(a_name_twice_is_stored_once)
{
	struct result r = {
		.id = 1, .server_state = RESULT_IN_PROGRESS, .hostid = WORLD_HOST
	};
	struct rq_report q = { .state = CLIENT_UPLOADED };
	struct world *w = world_with_report(&r, &q);
	struct decision *d;

	w->snap.reports[1] = w->snap.reports[2] = w->snap.reports[0];
	w->req.reports[1] = w->req.reports[2] = w->req.reports[0];
	w->snap.reports[1].result.id = 2;
	w->req.nreports = 3;
	d = world_decide(w);
	ck_assert_int_eq(d->reports[0].action, REPORT_STORE);
	ck_assert_int_eq(d->reports[1].action, REPORT_STORE);
	ck_assert_int_eq(d->reports[2].action, REPORT_ACK_ONLY);
	ck_assert(d->reports[2].ack);
	world_free(w);
}
END_TEST

/* The smaller of both options counts; 0 means no limit. Three results are reported. */
static const struct {
	int64_t report_max, accepted;
	size_t acked;
} most[] = { { 0, 0, 3 }, { 3, 3, 3 }, { 2, 0, 2 }, { 0, 1, 1 }, { 2, 1, 1 },
	{ 1, 2, 1 }, { 9, 9, 3 } };

START_TEST(reports_per_request)
{
	struct world *w = world_new("", 0);
	struct decision *d;
	size_t acked = 0;

	w->snap.reports = NEWN(&w->a, struct snap_report, 3);
	w->req.reports = NEWN(&w->a, struct rq_report, 3);
	w->req.nreports = 3;
	w->conf->report_max = most[_i].report_max;
	w->conf->max_results_accepted = most[_i].accepted;
	d = world_decide(w);
	for (size_t i = 0; i < 3; i++) {
		acked += d->reports[i].ack;
		ck_assert(d->reports[i].ack == (i < most[_i].acked));
	}
	ck_assert_uint_eq(acked, most[_i].acked);
	world_free(w);
}
END_TEST

/* Only the first report of each result is stored, wherever the duplicates are. */
START_TEST(many_names_twice)
{
	static const int64_t ids[] = { 5, 3, 9, 5, 1, 9, 3, 7, 5, 1 };
	struct result r = { .server_state = RESULT_IN_PROGRESS, .hostid = WORLD_HOST };
	struct rq_report q = { .state = CLIENT_UPLOADED };
	struct world *w = world_with_report(&r, &q);
	struct decision *d;

	w->req.reports = NEWN(&w->a, struct rq_report, N(ids));
	w->snap.reports = NEWN(&w->a, struct snap_report, N(ids));
	for (size_t i = 0; i < N(ids); i++) {
		w->req.reports[i] = q;
		w->snap.reports[i].found = true;
		w->snap.reports[i].result = r;
		w->snap.reports[i].result.id = ids[i];
	}
	w->req.nreports = N(ids);
	d = world_decide(w);
	for (size_t i = 0; i < N(ids); i++) {
		bool first = true;

		for (size_t k = 0; k < i; k++)
			first = first && ids[k] != ids[i];
		ck_assert_int_eq(d->reports[i].action == REPORT_STORE, first);
	}
	world_free(w);
}
END_TEST

/* exit status, s until the deadline by this server's clock, seconds wanted; reason */
static const struct {
	int32_t exit_status;
	int64_t left_s;
	double secs;
	enum reason why;
} late[] = {
	{ EXIT_UNSTARTED_LATE, HOUR, HOUR, WHY_CLOCK_AHEAD },
	{ EXIT_UNSTARTED_LATE, -HOUR, HOUR, WHY_NONE }, /* it is late */
	{ EXIT_UNSTARTED_LATE, HOUR, 0, WHY_NONE },     /* wants none */
	{ 201, HOUR, HOUR, WHY_NONE },
};

START_TEST(a_clock_that_is_ahead)
{
	struct result r = { .id = 1,
		.server_state = RESULT_IN_PROGRESS,
		.hostid = WORLD_HOST,
		.report_deadline = WORLD_NOW + late[_i].left_s };
	struct rq_report q = { .state = CLIENT_ABORTED,
		.exit_status = late[_i].exit_status };
	struct world *w = world_with_report(&r, &q);
	struct decision *d;

	world_plain(w, "5/5");
	w->req.cpu_req_secs = late[_i].secs;
	d = world_decide(w);
	ck_assert_int_eq(d->reports[0].action, REPORT_STORE);
	ck_assert_int_eq(d->why, late[_i].why);
	ck_assert_uint_eq(d->nsends, late[_i].secs > 0 && late[_i].why == WHY_NONE);
	if (late[_i].why == WHY_CLOCK_AHEAD) {
		ck_assert(d->request_delay >= HOUR);
		ck_assert(d->messages[0].notice);
		ck_assert_ptr_nonnull(strstr(d->messages[0].text, "clock"));
	}
	world_free(w);
}
END_TEST

START_TEST(surplus_reports_are_left_for_later)
{
	struct result r = {
		.id = 1, .server_state = RESULT_IN_PROGRESS, .hostid = WORLD_HOST
	};
	struct rq_report q = { .state = CLIENT_UPLOADED };
	struct world *w = world_with_report(&r, &q);
	struct decision *d;

	w->snap.reports[1] = w->snap.reports[0];
	w->snap.reports[1].result.id = 2;
	w->req.reports[1] = q;
	w->req.nreports = 2;
	w->conf->report_max = 1;
	w->conf->max_results_accepted = 5;
	w->req.cpu_req_secs = HOUR;
	world_others(w, "");
	world_in_progress(
	    w, "9/9"); /* may be the result that was cut off, so not lost */
	d = world_decide(w);
	ck_assert(d->reports[0].ack);
	ck_assert(!d->reports[1].ack);
	ck_assert_int_eq(d->reports[1].action, REPORT_ACK_ONLY);
	ck_assert_uint_eq(d->nsends, 0);
	world_free(w);
}
END_TEST

enum change { KEEP, WU_FAILED, WU_FINISHED, NO_APP, TOO_LARGE, PAST };

static const struct {
	const char *name, *options;
	double secs;
	const char *in_progress, *listed;
	enum change change;
	const char *decision;
} lost[] = {
#define CASE(name, options, secs, in_progress, listed, change, decision)               \
	{ #name, options, secs, in_progress, listed, change, decision },
#include "test/unit/rules_lost.def"
#undef CASE
};

static void change_job(struct job *j, enum change c)
{
	switch (c) {
	case KEEP:
		break;
	case WU_FAILED:
		j->error_mask = WU_ERROR_TOO_MANY_ERRORS;
		break;
	case WU_FINISHED:
		j->canonical_resultid = 5;
		break;
	case NO_APP:
		j->appid = 99;
		break;
	case TOO_LARGE:
		j->rsc_memory_bound = 1e12;
		break;
	case PAST:
		j->report_deadline = WORLD_NOW - 1;
		break;
	}
}

START_TEST(lost_result)
{
	struct world *w = world_new(lost[_i].options, lost[_i].secs);
	struct decision *d;

	if (lost[_i].listed != NULL && strcmp(lost[_i].listed, "REPORT") == 0) {
		w->req.reports = NEWN(&w->a, struct rq_report, 1);
		w->req.reports[0].name = arena_strdup(&w->a, "j1");
		w->snap.reports = NEWN(&w->a, struct snap_report, 1);
		w->req.nreports = 1;
		world_others(w, "");
	} else if (lost[_i].listed != NULL) {
		world_others(w, lost[_i].listed);
	}
	world_in_progress(w, lost[_i].in_progress);
	change_job(&w->snap.in_progress[0], lost[_i].change);
	world_plain(w, "31/31 32/32");
	d = world_decide(w);
	ck_assert_msg(strcmp(world_text(w, d), lost[_i].decision) == 0,
	    "%s: %s, not %s", lost[_i].name, world_text(w, d), lost[_i].decision);
	for (size_t i = 0; i < d->nsends; i++)
		ck_assert_int_eq(
		    d->sends[i].expect_in_progress, d->sends[i].how == SEND_LOST);
	world_free(w);
}
END_TEST

/* The host's large files for a resent job are those of the job's own set. */
START_TEST(lost_result_saves_its_own_file)
{
	struct world *w = world_new(ON, 2 * HOUR);

	world_others(w, "");
	world_files(w, "A -; B h-");
	world_bytes(w, "B", 2000000000);
	world_in_progress(w, "1/1");
	w->snap.in_progress[0].fileset_id = 2;
	ck_assert_str_eq(world_text(w, world_decide(w)), "sent 1l | NONE");
	ck_assert_int_eq(world_decide(w)->sends[0].bytes_saved, 2000000000);
	w->snap.in_progress[0].fileset_id = 1;
	ck_assert_int_eq(world_decide(w)->sends[0].bytes_saved, 0);
	ck_assert_int_eq(world_decide(w)->sends[0].bytes_needed, 1000000000);
	world_free(w);
}
END_TEST

/*
 * A result is not resent if the account no longer selects its app (scheduling.md 2.14).
 */
START_TEST(lost_result_of_an_app_that_is_not_selected)
{
	static int64_t other[] = { 99 };
	struct world *w = world_new(ON, 2 * HOUR);

	world_others(w, "");
	world_in_progress(w, "1/1");
	w->snap.project_prefs.apps = other;
	w->snap.project_prefs.napps = 1;
	ck_assert_str_eq(
	    world_text(w, world_decide(w)), "expire j1 | APP_NOT_SELECTED");
	w->snap.project_prefs.allow_non_preferred_apps = true;
	ck_assert_str_eq(world_text(w, world_decide(w)), "sent 1l | NONE");
	world_free(w);
}
END_TEST

/*
 * A success reported again shows that a reply was lost: lost results are resent even if
 * this is switched off.
 */
START_TEST(lost_reply_resends)
{
	struct result r = { .id = 1,
		.server_state = RESULT_OVER,
		.outcome = OUTCOME_SUCCESS,
		.received_time = 9,
		.hostid = WORLD_HOST };
	struct rq_report q = { .state = CLIENT_UPLOADED, .name = (char[]){ "done" } };
	struct world *w = world_with_report(&r, &q);

	w->conf->resend_lost_results = false;
	w->req.cpu_req_secs = HOUR;
	world_others(w, "");
	world_in_progress(w, "9/9");
	ck_assert_str_eq(world_text(w, world_decide(w)), "sent 9l | NONE");
	world_free(w);
}
END_TEST

/*
 * Another process has just claimed the result, perhaps for this host: the result is not
 * given up.
 */
START_TEST(a_lost_job_that_was_taken)
{
	struct world *w = world_new(ON, HOUR);
	int64_t taken = 9;
	struct decision *d;

	world_others(w, "");
	world_in_progress(w, "9/9");
	d = decide(&w->a, w->conf, &w->req, &w->snap, WORLD_NOW, &w->rng, &taken, 1);
	ck_assert_str_eq(world_text(w, d), "LOST_RACE");
	world_free(w);
}
END_TEST

/*
 * Deadlines of resent jobs, protocol.md 3.6: span of the old deadline, time left until
 * it, delay_bound, run time; new deadline from now, -1: expired. The stored deadline
 * already includes the grace period.
 */
static const struct {
	int64_t span, left, bound;
	double runtime;
	int64_t grace, deadline;
} spans[] = {
	{ 100, 50, 100, 40, 0, 50 },    /* the old deadline can be met */
	{ 100, 50, 100, 50, 0, 50 },    /* can be met exactly */
	{ 100, 10, 100, 40, 0, 50 },    /* half of the span from now */
	{ 100, 10, 45, 40, 0, 45 },     /* but not more than delay_bound */
	{ 100, 10, 30, 40, 0, -1 },     /* delay_bound is not enough */
	{ 100, 10, 100, 60, 0, -1 },    /* half of the span is not enough */
	{ 100, 60, 100, 65, 0, -1 },    /* the later of the two */
	{ 100, 0, 100, 40, 0, 50 },     /* due now is not past due */
	{ 100, -1, 100, 1, 0, -1 },     /* past due */
	{ 100, 50, 100, 40, 1000, 50 }, /* the grace period does not count */
};

START_TEST(deadline_of_a_resent_job)
{
	struct world *w = world_new(ON, HOUR);
	struct decision *d;
	struct job *j;

	w->conf->report_grace_period = spans[_i].grace;
	world_others(w, "");
	world_in_progress(w, "9/9");
	j = &w->snap.in_progress[0];
	j->sent_time = WORLD_NOW + spans[_i].left - spans[_i].span;
	j->report_deadline = WORLD_NOW + spans[_i].left + spans[_i].grace;
	j->delay_bound = spans[_i].bound;
	j->rsc_fpops_est = spans[_i].runtime * 1e9;
	d = world_decide(w);
	if (spans[_i].deadline < 0) {
		ck_assert_uint_eq(d->nsends, 0);
		ck_assert_uint_eq(d->nexpire, 1);
	} else {
		ck_assert_uint_eq(d->nsends, 1);
		ck_assert_int_eq(d->sends[0].deadline - WORLD_NOW, spans[_i].deadline);
	}
	world_free(w);
}
END_TEST

#define OTHER(state, out, error, assimilate)                                           \
	{                                                                              \
		.found = true, .server_state = (state), .outcome = (out),              \
		.error_mask = (error), .assimilate_state = (assimilate)                \
	}
/* protocol.md 3.7: 'a' abort, 's' abort if not started, '.' nothing */
static const struct {
	struct snap_other o;
	char what;
} aborts[] = {
	{ { .found = false }, 'a' },
	{ OTHER(RESULT_IN_PROGRESS, 0, WU_ERROR_CANCELLED, 0), 'a' },
	{ OTHER(RESULT_IN_PROGRESS, 0, WU_ERROR_TOO_MANY_ERRORS, 0), '.' },
	{ OTHER(RESULT_IN_PROGRESS, 0, 0, ASSIMILATE_DONE), 's' },
	{ OTHER(RESULT_IN_PROGRESS, 0, 0, ASSIMILATE_READY), '.' },
	{ OTHER(RESULT_OVER, OUTCOME_NO_REPLY, 0, 0), 's' },
	{ OTHER(RESULT_OVER, OUTCOME_CLIENT_DETACHED, 0, 0), 's' },
	{ OTHER(RESULT_IN_PROGRESS, OUTCOME_NO_REPLY, 0, 0), '.' },
	{ OTHER(RESULT_IN_PROGRESS, 0, 0, 0), '.' },
};

START_TEST(abort_orders)
{
	struct world *w = world_new("<send_result_abort/>", 0);
	struct snap_other o = aborts[_i].o;
	struct decision *d;

	world_others(w, "j1");
	ck_assert_uint_eq(world_decide(w)->naborts,
	    0); /* the other results were not read: nothing is aborted */
	w->snap.others = &o;
	d = world_decide(w);
	ck_assert_uint_eq(d->naborts, aborts[_i].what == 'a');
	ck_assert_uint_eq(d->naborts_if_not_started, aborts[_i].what == 's');
	w->conf->send_result_abort = false;
	d = world_decide(w);
	ck_assert_uint_eq(d->naborts + d->naborts_if_not_started, 0);
	world_free(w);
}
END_TEST

UNIT_MAIN("rules_report", {
	ADD_LOOP(report, N(reports));
	ADD(success_without_its_upload);
	ADD_LOOP(times_are_made_plausible, N(times));
	ADD(a_name_twice_is_stored_once);
	ADD(many_names_twice);
	ADD_LOOP(reports_per_request, N(most));
	ADD_LOOP(a_clock_that_is_ahead, N(late));
	ADD(surplus_reports_are_left_for_later);
	ADD_LOOP(lost_result, N(lost));
	ADD(lost_result_saves_its_own_file);
	ADD(lost_result_of_an_app_that_is_not_selected);
	ADD(lost_reply_resends);
	ADD(a_lost_job_that_was_taken);
	ADD_LOOP(deadline_of_a_resent_job, N(spans));
	ADD_LOOP(abort_orders, N(aborts));
})

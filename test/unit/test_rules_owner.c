/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks of the account's other host rows: which move, which are aborted, and how a
 * failure counts.
 */
#include "test/unit/unit.h"

#include "model/rows.h"
#include "rules/sched/decide.h"
#include "test/unit/rules_world.h"
#include "lib/banned.h"

#define OTHER(state, out, error, assimilate)                                           \
	{                                                                              \
		.found = true, .server_state = (state), .outcome = (out),              \
		.error_mask = (error), .assimilate_state = (assimilate)                \
	}
enum { GONE = -100000 };

/* Tasks of the account's other host rows, treated alike in lists and in reports. */
static const struct {
	const char *name;
	int64_t host;
	bool id_changed;
	int64_t owner, seen;
	char listed, failed;
} owners[] = {
#define CASE(name, host, changed, owner, seen, listed, failed)                         \
	{ #name, host, changed, owner, seen, listed, failed },
#include "test/unit/rules_owner.def"
#undef CASE
};

static struct world *world_of_owner(size_t i)
{
	struct world *w = world_new("<send_result_abort/>", 0);

	w->snap.host.id = owners[i].host;
	w->snap.host_new = owners[i].host == 0;
	w->snap.host_id_changed = owners[i].id_changed;
	w->snap.host.create_time = WORLD_NOW - HOUR;
	return w;
}

static int64_t owner_seen(size_t i)
{
	return owners[i].seen == GONE ? 0 : WORLD_NOW - HOUR + owners[i].seen;
}

/* Finished, cancelled or timed out: treated as the host's own. */
START_TEST(listed_task_of_another_host)
{
	struct world *w = world_of_owner((size_t)_i);
	struct snap_other o = OTHER(RESULT_IN_PROGRESS, 0, 0, 0);
	bool moves = owners[_i].listed == 'm';
	struct decision *d;

	o.owner = owners[_i].owner;
	o.owner_seen = owner_seen((size_t)_i);
	o.result_id = 77;
	w->snap.others = &o;
	world_others(w, "j1");
	d = world_decide(w);
	ck_assert_msg(d->nmoves == moves, "%s: %zu moves", owners[_i].name, d->nmoves);
	ck_assert_msg(d->naborts == !moves, "%s", owners[_i].name);
	ck_assert_uint_eq(d->naborts_if_not_started, 0);
	if (moves) {
		ck_assert_int_eq(d->moves[0].result_id, 77);
		ck_assert_int_eq(d->moves[0].from, owners[_i].owner);
		ck_assert_uint_eq(d->nmessages, 0);
	} else {
		ck_assert_str_eq(d->messages[0].text, "Result j1 is no longer usable");
		ck_assert_str_eq(d->messages[1].text,
		    "Aborted tasks are in progress on computer 7, "
		    "of which this one is a copy");
	}
	w->conf->send_result_abort = false;
	d = world_decide(w);
	ck_assert_uint_eq(d->nmoves, moves);
	ck_assert_uint_eq(d->naborts + d->nmessages, 0);
	w->conf->send_result_abort = true;
	o.error_mask = WU_ERROR_CANCELLED;
	ck_assert_uint_eq(world_decide(w)->naborts, 1);
	o = (struct snap_other)OTHER(RESULT_OVER, OUTCOME_NO_REPLY, 0, 0);
	o.owner = owners[_i].owner;
	d = world_decide(w);
	ck_assert_uint_eq(d->nmoves + d->naborts, 0);
	ck_assert_uint_eq(d->naborts_if_not_started, 1);
	world_free(w);
}
END_TEST

START_TEST(reported_task_of_another_host)
{
	struct world *w = world_of_owner((size_t)_i);
	struct snap_report r = { .found = true,
		.same_user_host = true,
		.owner_seen = owner_seen((size_t)_i),
		.result = { .id = 77,
		    .server_state = RESULT_IN_PROGRESS,
		    .hostid = owners[_i].owner } };
	struct rq_report q = { .state = CLIENT_UPLOADED };
	const struct dec_report *d;

	w->snap.reports = &r;
	w->req.reports = &q;
	w->req.nreports = 1;
	d = world_decide(w)->reports;
	ck_assert_int_eq(d->action, REPORT_STORE);
	q.state = CLIENT_ABORTED;
	q.exit_status = EXIT_ABORTED_BY_PROJECT;
	ck_assert_uint_eq(world_decide(w)->nmoves, owners[_i].failed == 'm');
	d = world_decide(w)->reports;
	ck_assert_msg((d->action == REPORT_STORE) == (owners[_i].failed == 's'),
	    "%s: %s", owners[_i].name, d->note);
	ck_assert_msg(d->ack, "%s: %s", owners[_i].name, d->note);
	world_free(w);
}
END_TEST

/*
 * After a merge or a restore of the same computer, listed tasks move, and lost tasks
 * move and are resent.
 */
START_TEST(all_of_a_predecessor_moves)
{
	struct world *w = world_new(
	    "<resend_lost_results/><max_wus_to_send>0</max_wus_to_send>", 9 * HOUR);
	struct decision *d;

	world_others(w, "j1 j2");
	world_in_progress(w, "1/1 2/2 3/3");
	w->snap.host_id_changed = true;
	w->snap.predecessor = 4;
	w->snap.ninherited = 2;
	d = world_decide(w);
	ck_assert_str_eq(world_text(w, d), "sent 3l | NONE");
	ck_assert_uint_eq(d->nmoves, 2);
	ck_assert_int_eq(d->moves[0].result_id, 2);
	ck_assert_int_eq(d->moves[1].result_id, 3);
	ck_assert_int_eq(d->moves[1].from, 4);
	world_free(w);
}
END_TEST

/*
 * A host gets one task of an app that uses almost no CPU, on whichever of its rows the
 * task is.
 */
START_TEST(a_task_that_moves_counts)
{
	struct world *w = world_new("", 0);
	struct snap_other o = OTHER(RESULT_IN_PROGRESS, 0, 0, 0);

	o.owner = 4;
	o.appid = 3;
	w->snap.others = &o;
	world_others(w, "j1");
	ck_assert(decide_app_on_host(&w->req, &w->snap, 3));
	ck_assert(!decide_app_on_host(&w->req, &w->snap, 2));
	world_free(w);
}
END_TEST

UNIT_MAIN("rules_owner", {
	ADD_LOOP(listed_task_of_another_host, N(owners));
	ADD_LOOP(reported_task_of_another_host, N(owners));
	ADD(all_of_a_predecessor_moves);
	ADD(a_task_that_moves_counts);
})

/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs in flight: no two requests of a process choose the same one. */
#include "test/unit/unit.h"

#include "model/decision.h"
#include "sched/rpc/in_flight.h"
#include "lib/arena.h"
#include "lib/banned.h"

static struct arena a;
static struct in_flight g;
static struct chosen_jobs one, two, three;

static void setup(void)
{
	in_flight_begin(&g);
	one = two = three = (struct chosen_jobs){ 0 };
}

static void teardown(void)
{
	in_flight_close(&g);
	arena_free(&a);
}

/* Chooses a job of a file set; resent: it is on the host already. */
static bool choose(struct chosen_jobs *own, int64_t id, int64_t fileset_id, bool resent)
{
	struct job *job = NEW(&a, struct job);
	struct dec_send send = { .job = job, .expect_in_progress = resent };
	struct decision d = { .sends = &send, .nsends = 1 };

	job->id = id;
	job->fileset_id = fileset_id;
	return in_flight_choose(&g, &a, own, &d);
}

/* The ids that others have chosen, added up: enough to tell few of them apart. */
static int64_t others_of(struct chosen_jobs *own)
{
	int64_t sum = 0;
	size_t n;
	struct chosen_job *v = in_flight_others(&g, &a, own, &n);

	for (size_t i = 0; i < n; i++)
		sum += v[i].id;
	return sum;
}

START_TEST(one_request_gets_a_job)
{
	ck_assert(choose(&one, 10, 7, false));
	ck_assert(!choose(&two, 10, 7, false));
	ck_assert_int_eq(others_of(&two), 10);
	ck_assert_int_eq(others_of(&one), 0);
	ck_assert(choose(&one, 10, 7, false)); /* its own */
	ck_assert(choose(&one, 20, 7, false)); /* decided again */
	ck_assert(choose(&two, 10, 7, false));
}
END_TEST

START_TEST(a_resent_job_is_not_chosen)
{
	ck_assert(choose(&one, 10, 7, true));
	ck_assert(choose(&two, 10, 7, true));
	ck_assert_int_eq(others_of(&three), 0);
}
END_TEST

/* A request that read before a job was sent still sees the job as unsent. */
START_TEST(a_job_stays_chosen_for_those_who_read_before)
{
	in_flight_reads(&g, &one);
	in_flight_reads(&g, &two);
	ck_assert(choose(&one, 10, 7, false));
	in_flight_drop(&g, &one);
	ck_assert_int_eq(others_of(&two), 10);
	in_flight_reads(&g, &three);
	ck_assert_int_eq(others_of(&three), 0);
	in_flight_reads(&g, &two); /* reads again */
	ck_assert_int_eq(others_of(&two), 0);
}
END_TEST

/* More jobs than are remembered: the oldest are forgotten, never a wrong one told. */
START_TEST(what_is_over_is_remembered_for_a_while)
{
	int64_t sum = 0;
	size_t n;

	in_flight_reads(&g, &two);
	for (int64_t i = 1; i <= 2 * CHOSEN_BEFORE; i++) {
		ck_assert(choose(&one, i, 7, false));
		in_flight_drop(&g, &one);
		sum += i > CHOSEN_BEFORE ? i : 0;
	}
	in_flight_others(&g, &a, &two, &n);
	ck_assert_uint_le(n, CHOSEN_BEFORE);
	ck_assert_int_le(others_of(&two), sum);
	ck_assert_int_gt(others_of(&two), sum - 2 * CHOSEN_BEFORE);
}
END_TEST

START_TEST(the_last_chosen_job_of_a_set)
{
	ck_assert(choose(&one, 10, 7, false));
	ck_assert(choose(&two, 30, 7, false));
	ck_assert_int_eq(in_flight_last(&g, &three, 7), 30);
	ck_assert_int_eq(in_flight_last(&g, &two, 7), 10);
	ck_assert_int_eq(in_flight_last(&g, &three, 8), 0);
	in_flight_drop(&g, &two);
	ck_assert_int_eq(in_flight_last(&g, &three, 7), 10);
}
END_TEST

START_TEST(those_who_read_leave_room_for_each_other)
{
	ck_assert_int_eq(in_flight_expect(&g, &one, 7, 2), 0);
	ck_assert_int_eq(in_flight_expect(&g, &two, 7, 3), 2);
	ck_assert_int_eq(in_flight_expect(&g, &three, 8, 1), 0);
	ck_assert_int_eq(in_flight_expect(&g, &three, 7, 1), 5);
	ck_assert(choose(&one, 10, 7, false)); /* it has chosen */
	ck_assert_int_eq(in_flight_expect(&g, &three, 7, 1), 3);
	in_flight_drop(&g, &two); /* it is over */
	ck_assert_int_eq(in_flight_expect(&g, &three, 7, 1), 0);
}
END_TEST

UNIT_MAIN("in_flight", {
	tcase_add_checked_fixture(tc, setup, teardown);
	ADD(one_request_gets_a_job);
	ADD(a_resent_job_is_not_chosen);
	ADD(a_job_stays_chosen_for_those_who_read_before);
	ADD(what_is_over_is_remembered_for_a_while);
	ADD(the_last_chosen_job_of_a_set);
	ADD(those_who_read_leave_room_for_each_other);
})

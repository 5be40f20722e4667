/* SPDX-License-Identifier: Apache-2.0 */
/* Admission: the queue with one place per host, its bounds, and the delays beyond. */
#include "test/unit/unit.h"

#include <math.h>
#include "sched/rpc/host_key.h"
#include "sched/serve/admission.h"
#include "lib/arena.h"
#include "lib/banned.h"

static struct admission adm;

/* --- the ways of a request --- */

enum op { END, ENTER, NEXT_IS, PARK_IT, RESUME, LEAVE };
enum { QUEUE = 3, TICKETS = 8, STEPS = 16 };

static const struct {
	const char *what;
	struct {
		enum op op;
		int ticket;
		uint64_t host;
		bool good;
		int old; /* ENTER: the ticket that is replaced, -1 = none */
	} steps[STEPS];
} ways[] = {
#define IN(t, h)         { ENTER, t, h, true, -1 },
#define FULL(t, h)       { ENTER, t, h, false, -1 },
#define FOR(t, h, old)   { ENTER, t, h, true, old },
#define NEXT(t)          { NEXT_IS, t, 0, true, -1 },
#define NONE             { NEXT_IS, 0, 0, false, -1 },
#define PARK(t)          { PARK_IT, t, 0, true, -1 },
#define STAY(t)          { PARK_IT, t, 0, false, -1 },
#define ON(t)            { RESUME, t, 0, true, -1 },
#define OUT(t)           { LEAVE, t, 0, true, -1 },
#define WAY(what, steps) { what, { steps } },
#include "test/unit/admission_cases.def"
};

START_TEST(way)
{
	struct ticket t[TICKETS] = { 0 }, *replaced;

	admission_begin(&adm, QUEUE, 1, 0);
	for (size_t i = 0; i < STEPS && ways[_i].steps[i].op != END; i++) {
		bool good = ways[_i].steps[i].good, as_expected = true;
		int old = ways[_i].steps[i].old;
		struct ticket *x = &t[ways[_i].steps[i].ticket];

		switch (ways[_i].steps[i].op) {
		case ENTER:
			x->host = ways[_i].steps[i].host;
			as_expected = admission_enter(&adm, x, 0, &replaced) == good &&
			              replaced == (old < 0 ? NULL : &t[old]) &&
			              (old < 0 || t[old].state == TICKET_OUT);
			break;
		case NEXT_IS:
			as_expected = admission_next(&adm, 0) == (good ? x : NULL);
			break;
		case PARK_IT:
			as_expected = admission_park(&adm, x) == good;
			break;
		case RESUME:
			admission_resume(&adm, x);
			break;
		case LEAVE:
			admission_leave(&adm, x, true, 0);
			break;
		case END:
			break;
		}
		ck_assert_msg(as_expected, "%s: step %zu", ways[_i].what, i);
	}
}
END_TEST

/* The queue against its definition, at random. */
enum { MANY = 64, HOSTS = 20 };

static void random_step(struct ticket *t, struct rng *rng, int64_t now_ms)
{
	struct ticket *x = &t[rng_below(rng, MANY)], *replaced;

	if (x->state == TICKET_OUT) {
		x->host = rng_below(rng, HOSTS);
		admission_enter(&adm, x, now_ms, &replaced);
	} else if (x->state == TICKET_SERVED && rng_below(rng, 2) == 0) {
		if (!admission_park(&adm, x))
			admission_leave(&adm, x, false, now_ms);
	} else if (x->state == TICKET_PARKED) {
		admission_resume(&adm, x);
	} else if (x->state == TICKET_SERVED || rng_below(rng, 9) == 0) {
		admission_leave(&adm, x, true, now_ms);
	} else {
		admission_next(&adm, now_ms);
	}
}

START_TEST(no_ticket_is_lost_and_no_host_served_twice)
{
	struct ticket t[MANY] = { 0 };
	struct rng rng = rng_seed((uint64_t)_i);

	admission_begin(&adm, MANY / 2, 1, 0);
	for (int64_t step = 0; step < 20000; step++) {
		int served[HOSTS] = { 0 }, waits[HOSTS] = { 0 }, queued = 0;

		random_step(t, &rng, step);
		for (int i = 0; i < MANY; i++) {
			queued += t[i].state == TICKET_QUEUED;
			served[t[i].host] += t[i].state == TICKET_SERVED;
			waits[t[i].host] += t[i].state == TICKET_QUEUED ||
			                    t[i].state == TICKET_PARKED;
		}
		ck_assert_int_eq(adm.queued, queued);
		for (int host = 1; host < HOSTS; host++)
			ck_assert(served[host] <= 1 && waits[host] <= 1);
	}
	for (int i = 0; i < MANY; i++)
		if (t[i].state != TICKET_QUEUED)
			admission_leave(&adm, &t[i], true, 20000);
	while (admission_next(&adm, 20000) != NULL)
		;
	for (int i = 0; i < MANY; i++)
		ck_assert(t[i].state != TICKET_QUEUED);
}
END_TEST

/* --- the measured rate --- */

enum { CROWD = 20000 };
static struct ticket crowd[CROWD];
static int come, answered;

/* So many requests come; returns how many are admitted. */
static int crowd_comes(int n, int64_t now_ms)
{
	struct ticket *replaced;
	int admitted = 0;

	for (int i = 0; i < n; i++) {
		crowd[come] = (struct ticket){ 0 };
		admitted += admission_enter(&adm, &crowd[come++], now_ms, &replaced);
	}
	return admitted;
}

/* Serves one request after the other, per_s of them, until it is end_ms. */
static int64_t serve_until(double per_s, int64_t now_ms, int64_t end_ms)
{
	double at = (double)now_ms + 1000 / per_s;

	for (; at <= (double)end_ms; at += 1000 / per_s) {
		struct ticket *t = admission_next(&adm, (int64_t)at);

		if (t == NULL)
			continue;
		admission_leave(&adm, t, true, (int64_t)at);
		answered++;
	}
	return end_ms;
}

static void crowd_begin(int64_t max_queued)
{
	admission_begin(&adm, max_queued, 1, 0);
	come = answered = 0;
}

START_TEST(rate_is_measured_under_a_queue)
{
	int64_t now = 1500;

	crowd_begin(4000);
	ck_assert_int_eq(crowd_comes(4000, now), 4000);
	now = serve_until(100, now, 12000);
	ck_assert_double_eq_tol(adm.rate, 100, 3);
	now = serve_until(30, now, 60000); /* it follows */
	ck_assert_double_eq_tol(adm.rate, 30, 3);
	now = serve_until(30, now, 120000);
	ck_assert_int_eq(adm.queued, 0);
	for (int i = 0; i < 20; i++, now += 1000) { /* idle seconds do not lower it */
		crowd_comes(1, now);
		serve_until(30, now, now + 100);
	}
	ck_assert_double_eq_tol(adm.rate, 30, 3);
}
END_TEST

START_TEST(few_requests_show_no_rate)
{
	int64_t now = 0;

	crowd_begin(4000);
	for (; now < 100000; now += 1000) { /* one per second, each served at once */
		crowd_comes(1, now);
		serve_until(100, now, now + 100);
	}
	ck_assert_int_eq(answered, 100);
	ck_assert_int_eq(adm.measured_ms, 0);
	ck_assert_int_eq(crowd_comes(2000, now), 2000); /* so nobody is turned away */
}
END_TEST

START_TEST(expected_wait_is_bounded)
{
	int64_t now = 0;

	crowd_begin(4000);
	ck_assert_int_eq(crowd_comes(3000, now), 3000); /* the rate is not known yet */
	now = serve_until(20, now, 20000);
	ck_assert_int_eq(crowd_comes(10, now), 0); /* 2,600 at 20 per s */
	now = serve_until(20, now, 150000);
	ck_assert_int_eq(
	    crowd_comes(1000, now), 30 * 20 + 1); /* 0 queued, and 30 s of them */
	serve_until(20, now, now + 31000);
	ck_assert_int_eq(answered, 3000 + 30 * 20 + 1);
}
END_TEST

START_TEST(rate_of_a_stall_does_not_last)
{
	int64_t now = 0;

	crowd_begin(4000);
	crowd_comes(100, now);
	now = serve_until(1, now, 60000);
	ck_assert_double_eq_tol(adm.rate, 1, 0.1);
	now = serve_until(100, now, 62000); /* the others, at once */
	ck_assert_int_eq(adm.queued, 0);
	ck_assert_int_gt(
	    crowd_comes(200, now), 32); /* the rate rises by what is answered */
	now = serve_until(100, now, 66000);
	ck_assert_double_gt(adm.rate, 5);
	for (; now < 150000; now += 1000) { /* a minute without a queue */
		crowd_comes(1, now);
		serve_until(100, now, now + 100);
	}
	ck_assert_int_eq(crowd_comes(2000, now), 2000);
}
END_TEST

START_TEST(few_are_never_too_many)
{
	crowd_begin(4000);
	crowd_comes(99, 0);
	crowd_comes(1, 1000);
	admission_next(&adm, 60000); /* nothing is answered for a minute */
	ck_assert_int_gt(adm.measured_ms, 0);
	ck_assert_double_eq(adm.rate, 0);
	ck_assert_int_eq(crowd_comes(10, 60000), 0);
	for (int i = 0; i < 80; i++)
		admission_next(&adm, 60000);
	ck_assert_int_eq(crowd_comes(100, 60000), 32 - 19);
}
END_TEST

/* --- delays --- */

/* A crowd is turned away at once: how many come back in each 10 s. */
START_TEST(delays_spread_a_crowd_at_the_rate)
{
	enum { RATE = 50, N_AWAY = 5000, TENS = 60 };
	int64_t now = 0;
	int in[TENS] = { 0 };
	double first = 1e9, last = 0;

	crowd_begin(500);
	crowd_comes(RATE, now);
	for (; now < 20000; now += 1000) {
		crowd_comes(RATE, now);
		serve_until(RATE, now, now + 1000);
	}
	crowd_comes(500, now);
	ck_assert_double_eq_tol(adm.rate, RATE, 2);
	for (int i = 0; i < N_AWAY; i++) {
		double s = admission_delay_s(&adm, 10, now + i / 10);

		ck_assert_double_ge(s, 10);
		ck_assert_double_lt(s, TENS * 10);
		first = fmin(first, s);
		last = fmax(last, s);
		in[(int)(s / 10)]++;
	}
	ck_assert_double_lt(first, 25); /* 10, and the queue of 10 s */
	ck_assert_double_gt(last, 100); /* 5,000 at 50 per s */
	for (int i = 0; i < TENS; i++)
		ck_assert_int_le(in[i], RATE * 10 * 13 / 10);
	for (int i = 3; i < 9; i++)
		ck_assert_int_ge(in[i], RATE * 10 * 7 / 10);
}
END_TEST

START_TEST(virtual_queue_empties_as_time_passes)
{
	double later;

	crowd_begin(500);
	for (int i = 0; i < 1000; i++)
		admission_delay_s(&adm, 10, 0);
	ck_assert_double_ge(admission_delay_s(&adm, 10, 0), 10 + 0.8 * 100);
	/* 10 per s are assumed as long as no more are measured */
	later = admission_delay_s(&adm, 10, 50000);
	ck_assert_double_ge(later, 10 + 0.8 * 50);
	ck_assert_double_le(later, 10 + 1.2 * 51);
	ck_assert_double_eq_tol(admission_delay_s(&adm, 10, 200000), 10, 1e-9);
}
END_TEST

START_TEST(delays_have_bounds)
{
	double most = 0, least = 1e9;

	crowd_begin(500);
	for (int i = 0; i < 100000; i++)
		admission_delay_s(&adm, 10, 0);
	for (int i = 0; i < 1000; i++) {
		double s = admission_delay_s(&adm, 10, 0);

		most = fmax(most, s);
		least = fmin(least, s);
	}
	ck_assert_double_le(most, ADMISSION_DELAY_S);
	ck_assert_double_gt(most, ADMISSION_DELAY_S * 0.98);
	/* At the bound too the crowd is spread. */
	ck_assert_double_lt(least, ADMISSION_DELAY_S * 0.7);
	/* What the project demands holds, even if it is longer. */
	ck_assert_double_eq(admission_delay_s(&adm, 86401, 0), 86401);
}
END_TEST

/* --- the key of a host --- */

static const struct {
	const char *body;
	bool known;
	const char *alike; /* NULL: no other of the table is */
} keys[] = {
	{ "<authenticator>abc</authenticator>\n<hostid>7</hostid>", true, "7 of abc" },
	{ "<scheduler_request>\n<authenticator> abc </authenticator>\n<rpc_seqno>3</rpc_seqno><hostid>\n7\n</hostid>\n<x/>",
	    true, "7 of abc" },
	{ "<hostid>7</hostid><authenticator>abc</authenticator>", true, "7 of abc" },
	{ "<authenticator>abc</authenticator>\n<hostid>8</hostid>", true, NULL },
	{ "<authenticator>abd</authenticator>\n<hostid>7</hostid>", true, NULL },
	{ "<authenticator></authenticator>\n<hostid>7</hostid>", true, NULL },
	{ "<authenticator>abc</authenticator>\n<hostid>0</hostid>", false, NULL },
	{ "<authenticator>abc</authenticator>\n<hostid>-7</hostid>", false, NULL },
	{ "<authenticator>abc</authenticator>\n<hostid></hostid>", false, NULL },
	{ "<authenticator>abc</authenticator>\n<hostid>7x</hostid>", false, NULL },
	{ "<authenticator>abc</authenticator>\n<hostid>77777777777777777777777777777</hostid>",
	    false, NULL },
	{ "<authenticator>abc</authenticator>\n<hostid>7", false, NULL },
	{ "<authenticator>abc</authenticator>", false, NULL },
	{ "<hostid>7</hostid>", false, NULL },
	{ "", false, NULL },
};

START_TEST(key_of_a_host)
{
	uint64_t key = host_key(keys[_i].body, strlen(keys[_i].body));

	ck_assert_int_eq(key != 0, keys[_i].known);
	for (size_t i = 0; i < N(keys) && key != 0; i++) {
		uint64_t other = host_key(keys[i].body, strlen(keys[i].body));

		ck_assert_int_eq(key == other,
		    (int)i == _i || (keys[_i].alike != NULL && keys[i].alike != NULL));
	}
}
END_TEST

START_TEST(key_is_near_the_beginning)
{
	static char body[2 * HOST_KEY_HEAD];
	static const char head[] = "<authenticator>a</authenticator><hostid>7</hostid>";

	memset(body, ' ', sizeof(body));
	memcpy(body + HOST_KEY_HEAD - strlen(head), head, strlen(head));
	ck_assert_uint_ne(host_key(body, sizeof(body)), 0);
	memset(body, ' ', sizeof(body));
	memcpy(body + HOST_KEY_HEAD, head, strlen(head));
	ck_assert_uint_eq(host_key(body, sizeof(body)), 0);
}
END_TEST

UNIT_MAIN("admission", {
	ADD_LOOP(way, N(ways));
	ADD_LOOP(no_ticket_is_lost_and_no_host_served_twice, 4);
	ADD(rate_is_measured_under_a_queue);
	ADD(few_requests_show_no_rate);
	ADD(expected_wait_is_bounded);
	ADD(rate_of_a_stall_does_not_last);
	ADD(few_are_never_too_many);
	ADD(delays_spread_a_crowd_at_the_rate);
	ADD(virtual_queue_empties_as_time_passes);
	ADD(delays_have_bounds);
	ADD_LOOP(key_of_a_host, N(keys));
	ADD(key_is_near_the_beginning);
})

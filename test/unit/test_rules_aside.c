/* SPDX-License-Identifier: Apache-2.0 */
/* When bad workunits are tried again, and when a stage pauses (scheduling.md 4.9). */
#include "test/unit/unit.h"

#include <string.h>
#include "rules/daemon/transition.h"
#include "lib/banned.h"

static const struct {
	int64_t tries, pause_s;
} pauses[] = {
#define PAUSES
#define PAUSE(tries, pause_s) { tries, pause_s },
#include "test/unit/rules_aside.def"
#undef PAUSE
#undef PAUSES
};

static const struct step {
	const char *name;
	int64_t at;
	enum pause_turn turn;
	size_t most, good, bad, again;
	enum pause_news news;
} steps[] = {
#define STEPS
#define STEP(name, at, turn, most, good, bad, again, news)                             \
	{ #name, at, TURN_##turn, most, good, bad, again, PAUSE_##news },
#include "test/unit/rules_aside.def"
#undef STEP
#undef STEPS
};

static const struct {
	size_t before;
	int64_t took_ms;
	size_t after;
	int64_t rest_ms;
} retries[] = {
#define RETRIES
#define RETRY(before, took_ms, after, rest_ms) { before, took_ms, after, rest_ms },
#include "test/unit/rules_aside.def"
#undef RETRY
#undef RETRIES
};

START_TEST(share_of_those_that_failed_before)
{
	struct retry_share r = { .most = retries[_i].before };

	retry_took(&r, retries[_i].took_ms, 1000);
	ck_assert_uint_eq(r.most, retries[_i].after);
	ck_assert_int_eq(r.next_ms, 1000 + retries[_i].rest_ms);
}
END_TEST

START_TEST(pause_of_a_workunit)
{
	ck_assert_int_eq(aside_pause_s(pauses[_i].tries), pauses[_i].pause_s);
}
END_TEST

START_TEST(pauses_of_a_stage)
{
	struct queue_pause p = { 0 };
	const char *name = "";

	for (size_t i = 0; i < N(steps); i++) {
		const struct step *s = &steps[i];
		enum pause_turn turn;
		size_t most;

		if (strcmp(s->name, name) != 0)
			p = (struct queue_pause){ 0 };
		name = s->name;
		turn = pause_turn(&p, s->at, &most);
		ck_assert_msg(turn == s->turn && most == s->most,
		    "%s at %d: turn %d, most %zu", name, (int)s->at, (int)turn, most);
		ck_assert_msg(
		    pause_tried(&p, turn, s->at, s->good, s->bad, s->again) == s->news,
		    "%s at %d: other news", name, (int)s->at);
	}
}
END_TEST

/* What failed since the pause's first failure is tried again when it ends. */
START_TEST(since_the_first_failure)
{
	struct queue_pause p = { 0 };

	pause_tried(&p, TURN_ALL, 10, 0, 8, 0);
	pause_tried(&p, TURN_ALL, 20, 0, 8, 0);
	pause_tried(&p, TURN_SAMPLE, 30, 0, 16, 0);
	ck_assert(p.paused);
	ck_assert_int_eq(p.since, 10);
	ck_assert_int_eq(pause_tried(&p, TURN_SAMPLE, 40, 1, 0, 0), PAUSE_ENDS);
	ck_assert_int_eq(p.since, 10); /* which the stage reads now */
}
END_TEST

/*
 * 10,000 bad workunits cost few attempts: in a year, no more than an hourly one each.
 */
START_TEST(attempts_of_a_year)
{
	int64_t tries = 1, at = 0;

	for (; at < 365 * 86400; tries++)
		at += aside_pause_s(tries);
	ck_assert_int_le(tries, 365 * 24 + 7);
	for (tries = 1, at = 0; at < 60; tries++)
		at += aside_pause_s(tries);
	ck_assert_int_eq(tries, 2); /* one in the first minute */
}
END_TEST

UNIT_MAIN("rules_aside", {
	ADD_LOOP(pause_of_a_workunit, N(pauses));
	ADD_LOOP(share_of_those_that_failed_before, N(retries));
	ADD(pauses_of_a_stage);
	ADD(since_the_first_failure);
	ADD(attempts_of_a_year);
})

/* SPDX-License-Identifier: Apache-2.0 */
/* Which hosts stand out among all. */
#include "test/unit/unit.h"

#include "model/rows.h"
#include "rules/daemon/daemon_rules.h"
#include "lib/banned.h"

static const struct {
	struct host_ends host, others;
	enum suspicion is;
} hosts[] = {
	{ { 42, 0, 30 }, { 1000, 0, 20 }, SUSPICION_WRONG },
	{ { 9, 0, 9 }, { 1000, 0, 0 }, SUSPICION_NONE },     /* too few to say */
	{ { 42, 0, 20 }, { 1000, 0, 0 }, SUSPICION_NONE },   /* less than half */
	{ { 42, 0, 30 }, { 1000, 0, 500 }, SUSPICION_NONE }, /* so are the others */
	{ { 42, 0, 42 }, { 0, 0, 0 }, SUSPICION_NONE }, /* nobody to compare with */
	{ { 1, 40, 0 }, { 1000, 10, 0 }, SUSPICION_FAILED },
	{ { 0, 40, 0 }, { 0, 400, 0 }, SUSPICION_NONE }, /* a bad app, not a bad host */
	{ { 20, 30, 20 }, { 1000, 0, 0 }, SUSPICION_WRONG },
	{ { 0, 0, 0 }, { 0, 0, 0 }, SUSPICION_NONE },
};

START_TEST(suspicion)
{
	const struct host_ends *h = &hosts[_i].host, *o = &hosts[_i].others;
	const struct host_ends all = { h->success + o->success, h->failed + o->failed,
		h->wrong + o->wrong };

	ck_assert_int_eq(host_suspicion(h, &all), hosts[_i].is);
}
END_TEST

/* Workunits of quorum 2: the host 1 of each result, its verdict; whether the canonical
 * result is the first (1), the second (2) or none (0). */
static const struct {
	int32_t state[3]; /* 0 = no such result; else validate_state + 1 */
	int64_t host[3];
	int canonical;
	bool reopen, judge;
	int retracted;
} retracts[] = {
	{ { VALIDATE_VALID + 1, VALIDATE_VALID + 1, 0 }, { 1, 2, 0 }, 1, true, false,
	    1 },
	{ { VALIDATE_VALID + 1, VALIDATE_VALID + 1, 0 }, { 2, 1, 0 }, 1, true, false,
	    1 },
	{ { VALIDATE_VALID + 1, VALIDATE_VALID + 1, VALIDATE_VALID + 1 }, { 2, 1, 3 },
	    1, false, false, 1 },
	{ { VALIDATE_VALID + 1, VALIDATE_VALID + 1, VALIDATE_VALID + 1 }, { 1, 2, 3 },
	    1, true, true, 1 },
	{ { VALIDATE_INCONCLUSIVE + 1, VALIDATE_INCONCLUSIVE + 1, 0 }, { 1, 2, 0 }, 0,
	    true, false, 1 },
	{ { VALIDATE_INVALID + 1, VALIDATE_VALID + 1, VALIDATE_VALID + 1 }, { 1, 2, 3 },
	    2, false, false, 0 },
	{ { VALIDATE_VALID + 1, VALIDATE_VALID + 1, 0 }, { 2, 3, 0 }, 1, false, false,
	    0 },
};

START_TEST(retracted)
{
	struct arena a = { 0 };
	struct result r[3] = { 0 };
	struct workunit wu = { .id = 1,
		.min_quorum = 2,
		.target_nresults = 2,
		.canonical_resultid = retracts[_i].canonical == 0 ?
		                          0 :
		                          10 + retracts[_i].canonical };
	struct wu_retry c;
	int n = 0, got = 0;

	for (int i = 0; i < 3 && retracts[_i].state[i] != 0; i++, n++)
		r[i] = (struct result){ .id = 11 + i,
			.hostid = retracts[_i].host[i],
			.app_version_id = retracts[_i].host[i] == 1 ? 7 + i : 6,
			.server_state = RESULT_OVER,
			.outcome = OUTCOME_SUCCESS,
			.received_time = 1000,
			.validate_state = retracts[_i].state[i] - 1 };
	c = retract(&a, &wu, r, (size_t)n,
	    &(const struct retry_how){
		.now = 2000, .tries = 4, .host = 1, .since = 500 });
	for (int i = 0; i < n; i++) {
		got += c.results[i].retract;
		ck_assert(!c.results[i].retract || r[i].hostid == 1);
	}
	ck_assert_int_eq(got, retracts[_i].retracted);
	ck_assert_int_eq(c.reopen, retracts[_i].reopen);
	ck_assert_int_eq(c.judge, retracts[_i].judge);
	c = retract(&a, &wu, r, (size_t)n,
	    &(const struct retry_how){
		.now = 2000, .tries = 4, .host = 1, .since = 1500 });
	ck_assert(!c.reopen && !c.again);
	/* The same of the builds that the host ran. */
	c = retract(&a, &wu, r, (size_t)n,
	    &(const struct retry_how){ .now = 2000,
		.tries = 4,
		.versions = (const int64_t[]){ 9, 7, 8 },
		.nversions = 3,
		.since = 500 });
	ck_assert_int_eq(c.reopen, retracts[_i].reopen);
	ck_assert_int_eq(c.judge, retracts[_i].judge);
	for (int i = 0; i < n; i++)
		ck_assert(!c.results[i].retract || r[i].hostid == 1);
	arena_free(&a);
}
END_TEST

/* Failures; of one host, of one version; successes of that host, others, that version,
 * others. */
static const struct {
	struct blame_facts f;
	enum blame is;
} blames[] = {
	{ { 4, true, true, 0, 0, 0, 0 }, BLAME_NOBODY }, /* nothing succeeds anywhere */
	{ { 1, true, false, 0, 500, 0, 0 }, BLAME_NOBODY }, /* a single failure */
	{ { 4, true, true, 0, 50, 50, 0 }, BLAME_HOST },
	{ { 4, true, true, 9, 50, 50, 0 }, BLAME_NOBODY }, /* it mostly succeeds */
	{ { 4, true, true, 0, 9, 9, 0 }, BLAME_NOBODY },   /* too few others */
	{ { 40, false, true, 0, 90, 0, 90 }, BLAME_VERSION },
	{ { 40, false, true, 0, 90, 90, 0 }, BLAME_NOBODY },
	{ { 40, false, false, 0, 90, 0, 90 }, BLAME_NOBODY },
};

START_TEST(blame)
{
	ck_assert_int_eq(failure_blame(&blames[_i].f), blames[_i].is);
}
END_TEST

UNIT_MAIN("rules_suspect", {
	ADD_LOOP(suspicion, N(hosts));
	ADD_LOOP(retracted, N(retracts));
	ADD_LOOP(blame, N(blames));
})

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of the daemons: transitions, validation, ranges, working set (scheduling.md 4).
 */
#include "test/unit/unit.h"

#include "lib/arena.h"
#include "lib/rng.h"
#include "model/rows.h"
#include "rules/daemon/daemon_rules.h"
#include "lib/banned.h"

enum { NOW = 1000000000, NEVER = -1, SAFE = 10 * 86400 };

/* letter, server_state, outcome, validate_state, deadline from now, exit status,
 * file_delete_state */
static const struct {
	char letter;
	int32_t state, outcome, validate;
	int64_t deadline;
	int32_t exit_status, file_delete;
} letters[] = {
	{ 'U', RESULT_UNSENT, 0, 0, 0, 0, 0 },
	{ 'H', RESULT_INACTIVE, 0, 0, 0, 0, 0 },
	{ 'P', RESULT_IN_PROGRESS, 0, 0, 1000, 0, 0 },
	{ 'T', RESULT_IN_PROGRESS, 0, 0, -1, 0, 0 },
	{ 'S', RESULT_OVER, OUTCOME_SUCCESS, VALIDATE_INIT, 0, 0, 0 },
	{ 'V', RESULT_OVER, OUTCOME_SUCCESS, VALIDATE_VALID, 0, 0, 0 },
	{ 'Y', RESULT_OVER, OUTCOME_SUCCESS, VALIDATE_VALID, 0, 0, FILE_DELETE_READY },
	{ 'Q', RESULT_OVER, OUTCOME_SUCCESS, VALIDATE_NO_CHECK, 0, 0, 0 },
	{ 'Z', RESULT_OVER, OUTCOME_SUCCESS, VALIDATE_NO_CHECK, 0, 0,
	    FILE_DELETE_DONE },
	{ 'X', RESULT_OVER, OUTCOME_SUCCESS, VALIDATE_INVALID, 0, 0, 0 },
	{ 'C', RESULT_OVER, OUTCOME_SUCCESS, VALIDATE_INCONCLUSIVE, 0, 0, 0 },
	{ 'E', RESULT_OVER, OUTCOME_CLIENT_ERROR, VALIDATE_INVALID, 0, 1, 0 },
	{ 'B', RESULT_OVER, OUTCOME_CLIENT_ERROR, VALIDATE_INVALID, 0,
	    EXIT_ABORTED_BY_USER, 0 },
	{ 'N', RESULT_OVER, OUTCOME_NO_REPLY, 0, -500, 0, 0 },
	{ 'M', RESULT_OVER, OUTCOME_NO_REPLY, 0, 500, 0, 0 },
	{ 'D', RESULT_OVER, OUTCOME_CLIENT_DETACHED, 0, -500, 0, 0 },
	{ 'R', RESULT_OVER, OUTCOME_VALIDATE_ERROR, VALIDATE_INVALID, 0, 0, 0 },
	{ 'L', RESULT_OVER, OUTCOME_COULDNT_SEND, 0, 0, 0, 0 },
	{ 'K', RESULT_OVER, OUTCOME_DIDNT_NEED, 0, 0, 0, 0 },
};

static struct result *results_of(struct arena *a, const char *s)
{
	struct result *r = NEWN(a, struct result, strlen(s) + 1);

	for (size_t i = 0; s[i] != '\0'; i++) {
		size_t k = 0;

		while (letters[k].letter != s[i])
			ck_assert_uint_lt(++k, N(letters));
		r[i].id = (int64_t)i + 1;
		r[i].name = arena_printf(a, "F__1_2_%zu", i);
		r[i].server_state = letters[k].state;
		r[i].outcome = letters[k].outcome;
		r[i].validate_state = letters[k].validate;
		r[i].report_deadline = NOW + letters[k].deadline;
		r[i].exit_status = letters[k].exit_status;
		r[i].file_delete_state = letters[k].file_delete;
		r[i].received_time = NOW - 10000;
	}
	return r;
}

static const struct transition_case {
	const char *name, *results;
	int32_t target, quorum, max_error, max_total;
	int canonical;
	int32_t assimilate, flags, error_mask;
	const char *marks;
	int32_t spawn;
	const char *changes;
	int32_t new_mask;
	int64_t next;
} transitions[] = {
#define CASE(name, results, target, quorum, err, total, canon, assim, ...)             \
	{ #name, results, target, quorum, err, total, canon, ASSIMILATE_##assim,       \
		__VA_ARGS__ },
#define PROSPECT(...)
#define RETRY(...)
#include "test/unit/rules_transition.def"
#undef RETRY
#undef PROSPECT
#undef CASE
};

static struct workunit workunit_of(
    const struct transition_case *t, const struct result *r)
{
	return (struct workunit){ .id = 1,
		.target_nresults = t->target,
		.min_quorum = t->quorum,
		.max_error_results = t->max_error,
		.max_total_results = t->max_total,
		.max_success_results = t->max_total,
		.canonical_resultid = t->canonical < 0 ? 0 : r[t->canonical].id,
		.assimilate_state = t->assimilate,
		.transitioner_flags = t->flags,
		.error_mask = t->error_mask,
		.delay_bound = 86400,
		.priority = 10 };
}

static char *marks_of(struct arena *a, const struct wu_change *c)
{
	char *s = arena_alloc(a, c->nresults + 1);

	for (size_t i = 0; i < c->nresults; i++) {
		const struct result_change *r = &c->results[i];

		s[i] = r->time_out     ? 't' :
		       r->too_late     ? 'l' :
		       r->didnt_need   ? 'd' :
		       r->no_check     ? 'n' :
		       r->delete_files ? 'f' :
		                         '.';
		if (r->delete_files && s[i] != 'f')
			s[i] = (char)(s[i] - 'a' + 'A');
		ck_assert_int_le(
		    r->time_out + r->too_late + r->didnt_need + r->no_check, 1);
	}
	return s;
}

START_TEST(transition_case)
{
	const struct transition_case *t = &transitions[_i];
	struct arena a = { 0 };
	struct conf cf = { 0 };
	size_t n = strlen(t->results);
	struct result *r = results_of(&a, t->results);
	struct workunit wu = workunit_of(t, r);
	struct wu_change c = transition(&a, &cf, &wu, r, n, NOW);
	char *changes = arena_printf(&a, "%s%s%s%s", c.need_validate ? "v" : "",
	    c.uncommit ? "u" : "", c.assimilate ? "a" : "", c.delete_input ? "d" : "");

	ck_assert_msg(strcmp(marks_of(&a, &c), t->marks) == 0, "%s: marks %s", t->name,
	    marks_of(&a, &c));
	ck_assert_msg(c.spawn == t->spawn, "%s: %d spawned", t->name, c.spawn);
	if (c.spawn > 0)
		ck_assert_int_eq(c.first_suffix, (int32_t)n);
	ck_assert_msg(
	    strcmp(changes, t->changes) == 0, "%s: changes %s", t->name, changes);
	ck_assert_msg(
	    c.error_mask == t->new_mask, "%s: mask %d", t->name, c.error_mask);
	ck_assert_msg(
	    c.next_at == (t->next == NEVER ? TRANSITION_NEVER : NOW + t->next),
	    "%s: next in %lld", t->name, (long long)c.next_at - NOW);
	arena_free(&a);
}
END_TEST

/*
 * Step 4: the binding to an HR class or app version is reset only if it was set, is not
 * static, and no host computes a result or may still report one.
 */
static const struct {
	const char *results;
	int32_t hr_class;
	int64_t version;
	bool is_static, uncommit;
} commits[] = {
	{ "E", 3, 0, false, true },
	{ "E", 0, 3, false, true },
	{ "E", 0, 0, false, false },
	{ "E", 3, 0, true, false },
	{ "EP", 3, 0, false, false },
	{ "ES", 3, 0, false, false },
	{ "EN", 3, 0, false, false },
	{ "ET", 3, 0, false, false },
	{ "U", 3, 0, false, false },
	{ "EU", 3, 0, false, true },
};

START_TEST(uncommit)
{
	struct arena a = { 0 };
	struct conf cf = { .hr_class_static = commits[_i].is_static };
	struct result *r = results_of(&a, commits[_i].results);
	struct workunit wu = { .target_nresults = 1,
		.min_quorum = 1,
		.max_error_results = 9,
		.max_total_results = 9,
		.hr_class = commits[_i].hr_class,
		.app_version_id = commits[_i].version };
	struct wu_change c = transition(
	    &a, &cf, &wu, r, strlen(commits[_i].results), NOW);

	ck_assert_int_eq(c.uncommit, commits[_i].uncommit);
	arena_free(&a);
}
END_TEST

/*
 * Results, priority if any is over, priority if none failed; expected priority of new
 * results (the workunit's is 10).
 */
static const struct {
	const char *results;
	int64_t on_over, except_error;
	int32_t priority;
} priorities[] = {
	{ "", 5, 7, 10 },
	{ "P", 5, 7, 10 },
	{ "N", 5, 7, 15 },
	{ "E", 5, 0, 15 },
	{ "N", 0, 7, 17 },
	{ "E", 0, 7, 10 },
	{ "N", 0, 0, 10 },
};

START_TEST(priority_of_retries)
{
	struct arena a = { 0 };
	struct conf cf = { .reliable_priority_on_over = priorities[_i].on_over,
		.reliable_priority_on_over_except_error = priorities[_i].except_error };
	struct result *r = results_of(&a, priorities[_i].results);
	struct workunit wu = { .target_nresults = 3,
		.min_quorum = 1,
		.max_error_results = 9,
		.max_total_results = 9,
		.priority = 10 };
	struct wu_change c = transition(
	    &a, &cf, &wu, r, strlen(priorities[_i].results), NOW);

	ck_assert_int_gt(c.spawn, 0);
	ck_assert_int_eq(c.priority, priorities[_i].priority);
	arena_free(&a);
}
END_TEST

/* names of the results; number of the next result */
static const struct {
	const char *names[3];
	int32_t next;
} suffixes[] = {
	{ { "wu_7", "wu_2", "wu_x" }, 8 }, /* the highest number counts, not the last */
	{ { "wu_x", "wu", NULL }, 0 },     /* names without a number are ignored */
	{ { "wu_", "wu_-1", "wu_/" }, 0 },
	{ { "wu_1", "wu_5x", "wu_ 9" }, 2 },
	{ { "wu_3_1", "wu_2_0", "wu_9_" }, 2 }, /* a generator's numbers come before */
	{ { "wu_0", "wu_2147483647", "wu_99999999999999999999" }, 1 },
	{ { "wu_0", "wu_2147483646", "wu_1" }, 2147483647 },
};

START_TEST(suffix_of_the_next)
{
	struct arena a = { 0 };
	struct conf cf = { 0 };
	struct result *r = results_of(&a, "NNN");
	struct workunit wu = { .target_nresults = 1,
		.min_quorum = 1,
		.max_error_results = 9,
		.max_total_results = 9 };

	for (int i = 0; i < 3; i++) {
		const char *name = suffixes[_i].names[i];

		r[i].name = name == NULL ? NULL : arena_strdup(&a, name);
	}
	ck_assert_int_eq(
	    transition(&a, &cf, &wu, r, 3, NOW).first_suffix, suffixes[_i].next);
	arena_free(&a);
}
END_TEST

/*
 * Step 11: the safety net is 10 days or one and a half times the delay bound, whichever
 * is longer.
 */
START_TEST(safety_net_follows_the_delay_bound)
{
	static const struct {
		int64_t bound_days, days;
	} t[] = { { 1, 10 }, { 6, 10 }, { 8, 12 }, { 20, 30 } };

	for (size_t i = 0; i < N(t); i++) {
		struct arena a = { 0 };
		struct conf cf = { 0 };
		struct workunit wu = { .target_nresults = 1,
			.min_quorum = 1,
			.max_error_results = 9,
			.max_total_results = 9,
			.delay_bound = t[i].bound_days * 86400 };

		ck_assert_int_eq(transition(&a, &cf, &wu, NULL, 0, NOW).next_at,
		    NOW + t[i].days * 86400);
		arena_free(&a);
	}
}
END_TEST

START_TEST(deletion_waits_for_the_delay)
{
	struct arena a = { 0 };
	struct conf cf = { .delete_delay_hours = 2 };
	struct result *r = results_of(&a, "V");
	struct workunit wu = { .target_nresults = 1,
		.min_quorum = 1,
		.canonical_resultid = 1,
		.assimilate_state = ASSIMILATE_DONE };
	struct wu_change c;

	r[0].received_time = NOW - 7199;
	c = transition(&a, &cf, &wu, r, 1, NOW);
	ck_assert(!c.delete_input);
	ck_assert_int_eq(c.next_at, NOW + 1);
	c = transition(&a, &cf, &wu, r, 1, NOW + 1);
	ck_assert(c.delete_input);
	ck_assert(c.results[0].delete_files);
	arena_free(&a);
}
END_TEST

/* BOINC's word for a workunit whose files and rows stay. */
START_TEST(nodelete_in_the_name)
{
	struct arena a = { 0 };
	struct conf cf = { 0 };
	struct result *r = results_of(&a, "V");
	struct workunit wu = { .name = arena_strdup(&a, "run1_nodelete"),
		.target_nresults = 1,
		.min_quorum = 1,
		.canonical_resultid = 1,
		.assimilate_state = ASSIMILATE_DONE };
	struct wu_change c = transition(&a, &cf, &wu, r, 1, NOW);

	ck_assert(!c.delete_input && !c.results[0].delete_files);
	ck_assert_int_eq(c.next_at, TRANSITION_NEVER);
	wu.name = arena_strdup(&a, "run1_node_lete");
	c = transition(&a, &cf, &wu, r, 1, NOW);
	ck_assert(c.delete_input && c.results[0].delete_files);
	arena_free(&a);
}
END_TEST

/*
 * A change that was carried out is not requested again: the second pass finds nothing
 * to do.
 */
START_TEST(transition_is_idempotent)
{
	const struct transition_case *t = &transitions[_i];
	struct arena a = { 0 };
	struct conf cf = { 0 };
	size_t n = strlen(t->results);
	struct result *r = results_of(&a, t->results);
	struct workunit wu = workunit_of(t, r);
	struct wu_change c = transition(&a, &cf, &wu, r, n, NOW);
	char *again;

	if (c.spawn > 0) { /* creates results, so the second pass differs */
		arena_free(&a);
		return;
	}
	wu.error_mask = c.error_mask;
	wu.assimilate_state = c.assimilate ? ASSIMILATE_READY : wu.assimilate_state;
	wu.file_delete_state = c.delete_input ? FILE_DELETE_READY : 0;
	for (size_t i = 0; i < n; i++) {
		const struct result_change *rc = &c.results[i];

		if (rc->time_out || rc->didnt_need) {
			r[i].server_state = RESULT_OVER;
			r[i].outcome = rc->time_out ? OUTCOME_NO_REPLY :
			                              OUTCOME_DIDNT_NEED;
		}
		if (rc->too_late || rc->no_check)
			r[i].validate_state = rc->too_late ? VALIDATE_TOO_LATE :
			                                     VALIDATE_NO_CHECK;
		if (rc->delete_files)
			r[i].file_delete_state = FILE_DELETE_READY;
	}
	c = transition(&a, &cf, &wu, r, n, NOW);
	again = marks_of(&a, &c);
	/* Only the files of results judged in this pass may be marked in the second. */
	for (size_t i = 0; i < n; i++)
		ck_assert_msg(
		    again[i] == '.' || again[i] == 'f', "%s: %s", t->name, again);
	ck_assert_int_eq(c.spawn, 0);
	ck_assert(!c.assimilate || wu.assimilate_state == ASSIMILATE_INIT);
	ck_assert_int_eq(c.error_mask, wu.error_mask);
	arena_free(&a);
}
END_TEST

/*
 * For random results: never more than target live results, never more than max_total in
 * all; a failed workunit is assimilated and gets no new results; a canonical result is
 * never lost.
 */
START_TEST(transition_properties)
{
	uint64_t seed = 20240;
	struct rng g = rng_seed(seed);

	for (int round = 0; round < 20000; round++) {
		struct arena a = { 0 };
		struct conf cf = { 0 };
		char spec[9] = "";
		size_t n = rng_below(&g, 8), live = 0, good = 0;
		struct transition_case t = { "random", spec,
			1 + (int32_t)rng_below(&g, 4), 1, (int32_t)rng_below(&g, 4),
			1 + (int32_t)rng_below(&g, 8), -1, 0, 0, 0, "", 0, "", 0, 0 };
		struct result *r;
		struct workunit wu;
		struct wu_change c;

		for (size_t i = 0; i < n; i++)
			spec[i] = letters[rng_below(&g, N(letters))].letter;
		r = results_of(&a, spec);
		wu = workunit_of(&t, r);
		c = transition(&a, &cf, &wu, r, n, NOW);
		for (size_t i = 0; i < n; i++) {
			bool gone = c.results[i].time_out || c.results[i].didnt_need;

			live += r[i].server_state != RESULT_OVER && !gone;
			good += r[i].server_state == RESULT_OVER &&
			        r[i].outcome == OUTCOME_SUCCESS &&
			        r[i].validate_state != VALIDATE_INVALID;
		}
		ck_assert_msg(c.spawn == 0 ||
				  (live + good + (size_t)c.spawn <= (size_t)t.target &&
				      n + (size_t)c.spawn <= (size_t)t.max_total),
		    "seed %llu round %d: %s", (unsigned long long)seed, round, spec);
		if (c.error_mask != 0)
			ck_assert(c.spawn == 0 && c.assimilate && !c.need_validate);
		ck_assert_int_gt(c.next_at, NOW);
		arena_free(&a);
	}
}
END_TEST

/* --- quorum_prospect --- */

static const struct prospect_case {
	const char *name, *results;
	int32_t target, quorum, max_total, flags;
	enum prospect prospect;
} prospects[] = {
#define PROSPECT(name, results, target, quorum, total, flags, prospect)                \
	{ #name, results, target, quorum, total, flags, PROSPECT_##prospect },
#define CASE(...)
#define RETRY(...)
#include "test/unit/rules_transition.def"
#undef RETRY
#undef CASE
#undef PROSPECT
};

static int64_t alive_of(const struct result *r, size_t n)
{
	int64_t alive = 0;

	for (size_t i = 0; i < n; i++)
		alive += r[i].server_state != RESULT_OVER ||
		         (r[i].outcome == OUTCOME_SUCCESS &&
			     r[i].validate_state != VALIDATE_INVALID);
	return alive;
}

/*
 * Runs the transitioner's rule with each result a success, and returns what becomes of
 * the workunit.
 */
static enum prospect acted_out(
    struct arena *a, const struct workunit *wu, const struct result *of, size_t n)
{
	struct result *r = NEWN(a, struct result, n + 100);
	struct conf cf = { 0 };
	struct wu_change c;

	memcpy(r, of, n * sizeof(*r));
	for (size_t i = 0; i < n; i++)
		if (r[i].server_state != RESULT_OVER) {
			r[i].server_state = RESULT_OVER;
			r[i].outcome = OUTCOME_SUCCESS;
			r[i].validate_state = VALIDATE_INIT;
		}
	do {
		c = transition(a, &cf, wu, r, n, NOW);
		for (int32_t k = 0; k < c.spawn; k++, n++)
			r[n] = (struct result){ .id = (int64_t)n + 1,
				.name = arena_printf(a, "F__1_2_%zu", n),
				.server_state = RESULT_OVER,
				.outcome = OUTCOME_SUCCESS };
	} while (c.spawn > 0 && n < 90);
	return c.error_mask != 0 ? PROSPECT_FAILS :
	       c.need_validate   ? PROSPECT_GOOD :
	                           PROSPECT_NONE;
}

START_TEST(prospect_case)
{
	const struct prospect_case *t = &prospects[_i];
	struct arena a = { 0 };
	size_t n = strlen(t->results);
	struct result *r = results_of(&a, t->results);
	const struct transition_case of = { t->name, t->results, t->target, t->quorum,
		9, t->max_total, -1, ASSIMILATE_INIT, t->flags, 0, "", 0, "", 0, 0 };
	struct workunit wu = workunit_of(&of, r);
	enum prospect got = quorum_prospect(&wu, (int64_t)n, alive_of(r, n));

	ck_assert_msg(got == t->prospect, "%s: %d", t->name, (int)got);
	arena_free(&a);
}
END_TEST

START_TEST(prospect_of_what_is_over)
{
	struct workunit wu = {
		.min_quorum = 3, .target_nresults = 2, .max_total_results = 9
	};

	ck_assert_int_eq(quorum_prospect(&wu, 2, 2), PROSPECT_NONE);
	wu.canonical_resultid = 1;
	ck_assert_int_eq(quorum_prospect(&wu, 2, 2), PROSPECT_ENDED);
	wu.canonical_resultid = 0;
	wu.error_mask = WU_ERROR_CANCELLED;
	ck_assert_int_eq(quorum_prospect(&wu, 2, 2), PROSPECT_ENDED);
	wu.error_mask = 0;
	wu.assimilate_state = ASSIMILATE_DONE;
	ck_assert_int_eq(quorum_prospect(&wu, 2, 2), PROSPECT_ENDED);
}
END_TEST

/* Compares the rule with the transitioner's for workunits whose results do not fail. */
START_TEST(prospect_is_what_the_transitioner_does)
{
	static const char some[] = "UHPSXNK";
	struct rng g = rng_seed(20241);
	int seen[PROSPECT_NONE + 1] = { 0 };

	for (int round = 0; round < 20000; round++) {
		struct arena a = { 0 };
		char spec[9] = "";
		size_t n = rng_below(&g, 6);
		struct transition_case t = { "random", spec, (int32_t)rng_below(&g, 5),
			(int32_t)rng_below(&g, 5), 9, (int32_t)rng_below(&g, 8), -1, 0,
			rng_below(&g, 4) == 0 ? WU_NO_NEW_RESULTS : 0, 0, "", 0, "", 0,
			0 };
		struct result *r;
		struct workunit wu;
		enum prospect said, done;

		for (size_t i = 0; i < n; i++)
			spec[i] = some[rng_below(&g, sizeof(some) - 1)];
		r = results_of(&a, spec);
		wu = workunit_of(&t, r);
		said = quorum_prospect(&wu, (int64_t)n, alive_of(r, n));
		done = acted_out(&a, &wu, r, n);
		ck_assert_msg(said == done,
		    "round %d: %s target %d quorum %d total %d flags %d: said %d, done "
		    "%d",
		    round, spec, t.target, t.quorum, t.max_total, t.flags, (int)said,
		    (int)done);
		seen[said]++;
		arena_free(&a);
	}
	ck_assert(seen[PROSPECT_GOOD] > 1000 && seen[PROSPECT_FAILS] > 1000 &&
		  seen[PROSPECT_NONE] > 1000);
}
END_TEST

static const struct {
	const char *name, *results;
	int32_t target, error_mask;
	int canonical;
	int32_t assimilate;
	bool daemons_only, aside;
	char what;
	const char *marks;
	int32_t max_error, max_total;
} retries[] = {
#define CASE(...)
#define PROSPECT(...)
#define RETRY(name, results, target, mask, canon, assim, ...)                          \
	{ #name, results, target, mask, canon, ASSIMILATE_##assim, __VA_ARGS__ },
#include "test/unit/rules_transition.def"
#undef RETRY
#undef PROSPECT
#undef CASE
};

static struct workunit workunit_to_retry(int i, const struct result *r)
{
	return (struct workunit){ .id = 1,
		.target_nresults = retries[i].target,
		.min_quorum = 1,
		.max_error_results = 3,
		.max_total_results = 6,
		.max_success_results = 6,
		.canonical_resultid = retries[i].canonical < 0 ? 0 : r[0].id,
		.assimilate_state = retries[i].assimilate,
		.error_mask = retries[i].error_mask,
		.transition_time = NOW + 1,
		.delay_bound = 86400 };
}

/* The results after the retry, and their marks. */
static char *retry_apply(
    struct arena *a, struct result *r, size_t n, const struct wu_retry *c)
{
	char *marks = arena_alloc(a, n + 1);

	for (size_t i = 0; i < n; i++) {
		const struct result_retry *m = &c->results[i];

		marks[i] = m->forget ? 'f' : m->judge ? 'j' : m->lost ? 'l' : '.';
		if (m->forget)
			r[i].outcome = OUTCOME_DIDNT_NEED;
		if (m->judge)
			r[i].validate_state = VALIDATE_INIT;
		if (m->lost) {
			r[i].outcome = OUTCOME_VALIDATE_ERROR;
			r[i].validate_state = VALIDATE_INVALID;
		}
	}
	return marks;
}

/* What is reopened does not fail at the transitioner's next visit. */
START_TEST(retry_case)
{
	struct arena a = { 0 };
	struct conf cf = { 0 };
	size_t n = strlen(retries[_i].results);
	struct result *r = results_of(&a, retries[_i].results);
	struct workunit wu = workunit_to_retry(_i, r);
	const struct retry_how how = { .now = NOW,
		.tries = 2,
		.daemons_only = retries[_i].daemons_only,
		.aside = retries[_i].aside };
	struct wu_retry c = retry(&a, &wu, r, n, &how);
	const char *name = retries[_i].name;
	char *marks = retry_apply(&a, r, n, &c);

	ck_assert_msg((c.reopen   ? 'r' :
			  c.again ? 'a' :
				    '-') == retries[_i].what,
	    "%s: %d %d", name, c.reopen, c.again);
	ck_assert_msg(strcmp(marks, retries[_i].marks) == 0, "%s: %s", name, marks);
	ck_assert_msg(c.max_error_results == retries[_i].max_error, "%s: errors %d",
	    name, c.max_error_results);
	ck_assert_msg(c.max_total_results == retries[_i].max_total, "%s: total %d",
	    name, c.max_total_results);
	if (c.reopen) {
		wu.error_mask = 0;
		wu.assimilate_state = ASSIMILATE_INIT;
		wu.max_error_results = c.max_error_results;
		wu.max_total_results = c.max_total_results;
		ck_assert_int_eq(transition(&a, &cf, &wu, r, n, NOW).error_mask, 0);
	}
	arena_free(&a);
}
END_TEST

UNIT_MAIN("rules_transition", {
	ADD_LOOP(retry_case, N(retries));
	ADD_LOOP(prospect_case, N(prospects));
	ADD(prospect_of_what_is_over);
	ADD(prospect_is_what_the_transitioner_does);
	ADD_LOOP(transition_case, N(transitions));
	ADD_LOOP(transition_is_idempotent, N(transitions));
	ADD_LOOP(uncommit, N(commits));
	ADD_LOOP(priority_of_retries, N(priorities));
	ADD_LOOP(suffix_of_the_next, N(suffixes));
	ADD(safety_net_follows_the_delay_bound);
	ADD(deletion_waits_for_the_delay);
	ADD(nodelete_in_the_name);
	ADD(transition_properties);
})

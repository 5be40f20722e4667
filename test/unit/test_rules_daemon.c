/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemons decide: transitions, validation, ranges, working set (server.md 4).
 */
#include "test/unit/unit.h"

#include <stdio.h>
#include "lib/arena.h"
#include "lib/rng.h"
#include "model/states.h"
#include "rules/daemon/daemon_rules.h"

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

static struct result *
results_of(struct arena *a, const char *s)
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
#include "test/unit/rules_transition.def"
#undef CASE
};

static struct workunit
workunit_of(const struct transition_case *t, const struct result *r)
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

static char *
marks_of(struct arena *a, const struct wu_change *c)
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

/* Step 4: reset only when bound, and nobody computes or may still report. */
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

/* results, priority if any is over, priority if none failed; priority of new ones (that
 * of the workunit is 10) */
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

/* The highest number counts, not the last; names without one count as none. */
START_TEST(suffix_follows_the_highest)
{
	struct arena a = { 0 };
	struct conf cf = { 0 };
	struct result *r = results_of(&a, "NNN");
	struct workunit wu = { .target_nresults = 1,
		.min_quorum = 1,
		.max_error_results = 9,
		.max_total_results = 9 };

	r[0].name = (char[]){ "wu_7" };
	r[1].name = (char[]){ "wu_2" };
	r[2].name = (char[]){ "wu_x" };
	ck_assert_int_eq(transition(&a, &cf, &wu, r, 3, NOW).first_suffix, 8);
	arena_free(&a);
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

/* A change carried out is not asked for again: the second pass has nothing to do. */
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

	if (c.spawn > 0)
		return;
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
	for (size_t i = 0; i < n;
	     i++) /* files of what was judged only now may follow */
		ck_assert_msg(
		    again[i] == '.' || again[i] == 'f', "%s: %s", t->name, again);
	ck_assert_int_eq(c.spawn, 0);
	ck_assert(!c.assimilate || wu.assimilate_state == ASSIMILATE_INIT);
	ck_assert_int_eq(c.error_mask, wu.error_mask);
	arena_free(&a);
}
END_TEST

/* --- validate --- */

/*
 * states: I init, C inconclusive, V valid (the canonical one if there is one). outputs:
 * equal letters agree,
 * '!' cannot be judged, '?' not now.  Judgements: v valid, i invalid, c inconclusive, e
 * error, . as it was.
 */
static const struct validate_case {
	const char *name, *states, *outputs;
	int32_t quorum, target, max_success;
	bool has_canonical;
	const char *judged;
	int canonical; /* index, -1 none */
	int32_t new_target;
	const char *flags; /* m too many success, l retry later, n transition now */
} validations[] = {
#define CASE(name, ...) { #name, __VA_ARGS__ },
	CASE(quorum_1, "I", "a", 1, 1, 3, false, "v", 0, 0, "n") CASE(
	    two_agree, "II", "aa", 2, 2, 3, false, "vv", 0, 0, "n") CASE(two_differ,
	    "II", "ab", 2, 2, 3, false, "cc", -1, 3, "n") CASE(third_decides, "CCI",
	    "aba", 2, 3, 5, false, "viv", 0, 0, "n") CASE(third_agrees_with_second,
	    "CCI", "abb", 2, 3, 5, false, "ivv", 1, 0, "n") CASE(all_differ, "CCI",
	    "abc", 2, 3, 5, false, "..c", -1, 4, "n") CASE(target_not_reached, "II",
	    "ab", 2, 3, 5, false, "cc", -1, 0, "") CASE(too_many, "CCCI", "abcd", 2, 4,
	    3, false, "...c", -1, 0, "mn") CASE(below_quorum, "I", "a", 2, 2, 3, false,
	    ".", -1, 0, "") CASE(quorum_3_needs_2, "III", "aab", 3, 3, 5, false, "vvi",
	    0, 0, "n") CASE(quorum_4_needs_3, "IIII", "aabb", 4, 4, 9, false, "cccc",
	    -1, 5, "n") CASE(quorum_4_has_3, "IIII", "abbb", 4, 4, 9, false, "ivvv", 1,
	    0, "n") CASE(bad_output, "II", "a!", 2, 2, 3, false, ".e", -1, 0,
	    "n") CASE(bad_beside_quorum, "III", "a!a", 2, 3, 3, false, "vev", 0, 0,
	    "n") CASE(not_now, "II", "a?", 2, 2, 3, false, "..", -1, 0,
	    "l") CASE(not_now_beside_quorum, "III", "aa?", 2, 3, 3, false, "vv.", 0, 0,
	    "ln") CASE(not_now_and_no_agreement, "III", "ab?", 2, 2, 5, false, "cc.",
	    -1, 0, "l") CASE(late_one_agrees, "VVI", "aaa", 2, 2, 3, true, "..v", -1, 0,
	    "n") CASE(late_one_differs, "VVI", "aab", 2, 2, 3, true, "..i", -1, 0,
	    "n") CASE(late_one_bad, "VVI", "aa!", 2, 2, 3, true, "..e", -1, 0,
	    "n") CASE(late_one_not_now, "VVI", "aa?", 2, 2, 3, true, "...", -1, 0, "ln")
	    CASE(canonical_not_readable, "VI", "!a", 1, 1, 3, true, "..", -1, 0, "l")
#undef CASE
};

struct outputs {
	const char *s;
	int asked;
};

static enum match
compare(void *ctx, size_t i, size_t j)
{
	struct outputs *o = ctx;

	o->asked++;
	return o->s[i] == o->s[j] ? MATCH_SAME : MATCH_DIFFERENT;
}

static char
judgement(const struct validate_change *c, size_t i)
{
	if (c->validate_error[i])
		return c->validate_state[i] == VALIDATE_INVALID ? 'e' : '?';
	switch (c->validate_state[i]) {
	case VALIDATE_VALID:
		return 'v';
	case VALIDATE_INVALID:
		return 'i';
	case VALIDATE_INCONCLUSIVE:
		return 'c';
	default:
		return '.';
	}
}

START_TEST(validate_case)
{
	const struct validate_case *t = &validations[_i];
	struct arena a = { 0 };
	size_t n = strlen(t->states);
	struct result *r = NEWN(&a, struct result, n);
	enum match *init = NEWN(&a, enum match, n);
	struct outputs o = { t->outputs, 0 };
	struct workunit wu = { .min_quorum = t->quorum,
		.target_nresults = t->target,
		.max_success_results = t->max_success,
		.canonical_resultid = t->has_canonical ? 100 : 0 };
	char *judged = arena_alloc(&a, n + 1), *flags;
	struct validate_change c;

	for (size_t i = 0; i < n; i++) {
		r[i] = (struct result){ .id = 100 + (int64_t)i,
			.server_state = RESULT_OVER,
			.outcome = OUTCOME_SUCCESS };
		r[i].validate_state = t->states[i] == 'I' ? VALIDATE_INIT :
		                      t->states[i] == 'C' ? VALIDATE_INCONCLUSIVE :
		                                            VALIDATE_VALID;
		init[i] = t->outputs[i] == '!' ? MATCH_BAD :
		          t->outputs[i] == '?' ? MATCH_LATER :
		                                 MATCH_SAME;
	}
	c = validate(&a, &wu, r, n, init, compare, &o);
	for (size_t i = 0; i < n; i++)
		judged[i] = judgement(&c, i);
	flags = arena_printf(&a, "%s%s%s", c.too_many_success ? "m" : "",
	    c.retry_later ? "l" : "", c.transition_now ? "n" : "");
	ck_assert_msg(strcmp(judged, t->judged) == 0, "%s: %s", t->name, judged);
	ck_assert_msg(
	    c.canonical_resultid == (t->canonical < 0 ? 0 : 100 + t->canonical),
	    "%s: canonical %lld", t->name, (long long)c.canonical_resultid);
	ck_assert_msg(c.target_nresults == t->new_target, "%s: target %d", t->name,
	    c.target_nresults);
	ck_assert_msg(strcmp(flags, t->flags) == 0, "%s: %s", t->name, flags);
	ck_assert_int_le(o.asked, (int)(n * (n - 1) / 2)); /* each pair once */
	arena_free(&a);
}
END_TEST

/* --- ranges --- */

static const struct {
	int64_t total;
	int32_t parts;
} ranges[] = { { 10, 3 }, { 9, 3 }, { 2, 5 }, { 0, 4 }, { 1, 1 }, { INT64_MAX, 7 },
	{ INT64_MAX, INT32_MAX } };

START_TEST(ranges_cover_all)
{
	int64_t at = 0, least = INT64_MAX, most = 0, from, to;
	int32_t n = ranges[_i].parts, step = n > 100000 ? n - 1 : 1;

	for (int64_t i = 0; i < n; i += step) {
		range_part(ranges[_i].total, n, (int32_t)i, &from, &to);
		if (step == 1)
			ck_assert_int_eq(from, at);
		at = to;
		least = to - from < least ? to - from : least;
		most = to - from > most ? to - from : most;
	}
	ck_assert_int_eq(at, ranges[_i].total);
	ck_assert_int_le(most - least, 1);
}
END_TEST

/* --- working set --- */

/*
 * files: "NAME FLAGS; ...": i in set, e reported empty, n no_work_available, u unsent,
 * o open workunit, p paused, digit = holders, d dropped just now.  Hosts and holders
 * wanted; size of the set; what is added, dropped, cleared, and whether it runs dry.
 */
static const struct ws_case {
	const char *name, *files;
	int64_t hosts, wanted, wait_s;
	size_t size;
	const char *add, *drop, *clear;
	bool dry;
} sets[] = {
#define CASE(name, ...) { #name, __VA_ARGS__ },
	CASE(no_hosts_one_file, "A u; B u", 0, 2, 10, 1, "A", "", "", false) CASE(
	    n_over_m, "A u; B u; C u", 4, 2, 10, 2, "A B", "", "",
	    false) CASE(rounded_up, "A u; B u; C u", 5, 2, 10, 3, "A B C", "", "",
	    false) CASE(capped_by_live, "A u; B n", 9, 1, 10, 1, "A", "", "",
	    true) CASE(stays, "A iu; B u", 1, 1, 10, 1, "", "", "",
	    false) CASE(empty_is_dropped, "A ie; B u", 1, 1, 10, 1, "B", "A", "A",
	    false) CASE(empty_but_work_came, "A ieu", 1, 1, 10, 1, "", "", "A",
	    false) CASE(dead_is_dropped, "A in; B u", 1, 1, 10, 1, "B", "A", "",
	    false) CASE(exhausted_is_dropped, "A ino; B u", 1, 1, 10, 1, "B", "A", "",
	    false) CASE(paused_is_dropped, "A iup; B u", 1, 1, 10, 1, "B", "A", "",
	    false) CASE(draining_stays, "A io; B o", 1, 1, 10, 1, "", "", "",
	    false) CASE(on_demand_is_added, "A -", 1, 1, 10, 1, "A", "", "",
	    false) CASE(without_demand_it_is_not, "A -", 1, 1, 0, 1, "", "", "",
	    true) CASE(not_back_at_once, "A d", 1, 1, 10, 1, "", "", "", true)
	    CASE(back_with_work, "A du", 1, 1, 10, 1, "A", "", "", false) CASE(
		unsent_before_demand, "A o; B u", 1, 1, 10, 1, "B", "", "", false)
		CASE(fewest_holders_first, "A 1u; B u", 1, 2, 10, 1, "B", "", "", false)
		    CASE(enough_holders_gives_way, "A i2u; B u", 2, 2, 10, 1, "B", "A",
			"", false) CASE(enough_holders_alone_stays, "A i2u", 2, 2, 10,
			1, "", "", "", false) CASE(shrinks, "A i1u; B iu; C iu", 2, 2,
			10, 1, "", "A C", "", false) CASE(never_more_than_one_holder,
			"A u; B u", 2, 0, 10, 2, "A B", "", "", false)
			CASE(nothing, "", 5, 1, 10, 0, "", "", "", true)
#undef CASE
};

static size_t
ws_files(struct arena *a, const char *spec, struct ws_file *f)
{
	char name[8], flags[16];
	size_t n = 0;
	int used;

	while (sscanf(spec, " %7s %15[^; ]%n", name, flags, &used) == 2) {
		f[n] = (struct ws_file){ .fileset_id = (int64_t)n + 1,
			.name = arena_strdup(a, name),
			.in_set = strchr(flags, 'i') != NULL,
			.reported_empty = strchr(flags, 'e') != NULL,
			.no_work_available = strchr(flags, 'n') != NULL,
			.has_unsent = strchr(flags, 'u') != NULL,
			.has_open_wu = strchr(flags, 'o') != NULL,
			.paused = strchr(flags, 'p') != NULL,
			.holders =
			    (int32_t)(strcspn(flags, "123456789") < strlen(flags) ?
					  flags[strcspn(flags, "123456789")] - '0' :
					  0),
			.dropped_at = strchr(flags, 'd') != NULL ? NOW - 1 : 0 };
		n++;
		spec += used;
		spec += strspn(spec, "; ");
	}
	return n;
}

static char *
joined(struct arena *a, const char **names, size_t n)
{
	char *s = arena_strdup(a, "");

	for (size_t i = 0; i < n; i++)
		s = arena_printf(a, "%s%s%s", s, i == 0 ? "" : " ", names[i]);
	return s;
}

START_TEST(working_set_case)
{
	const struct ws_case *t = &sets[_i];
	struct arena a = { 0 };
	struct ws_file f[8];
	size_t n = ws_files(&a, t->files, f);
	struct ws_change c = working_set(&a, f, n, t->hosts, t->wanted, NOW, t->wait_s);
	char *add = joined(&a, c.add, c.nadd), *drop = joined(&a, c.drop, c.ndrop);
	char *clear = joined(&a, c.clear_no_work, c.nclear);

	ck_assert_msg(c.size == t->size, "%s: size %zu", t->name, c.size);
	ck_assert_msg(strcmp(add, t->add) == 0, "%s: add %s", t->name, add);
	ck_assert_msg(strcmp(drop, t->drop) == 0, "%s: drop %s", t->name, drop);
	ck_assert_msg(strcmp(clear, t->clear) == 0, "%s: clear %s", t->name, clear);
	ck_assert_msg(c.running_dry == t->dry, "%s: dry %d", t->name, c.running_dry);
	arena_free(&a);
}
END_TEST

/*
 * Any results whatever: never more than target live ones, never more than max_total in
 * all, a failed workunit is assimilated and makes none, a canonical result is never
 * lost.
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

UNIT_MAIN("rules_daemon", {
	ADD_LOOP(transition_case, N(transitions));
	ADD_LOOP(transition_is_idempotent, N(transitions));
	ADD_LOOP(uncommit, N(commits));
	ADD_LOOP(priority_of_retries, N(priorities));
	ADD(suffix_follows_the_highest);
	ADD(deletion_waits_for_the_delay);
	ADD(transition_properties);
	ADD_LOOP(validate_case, N(validations));
	ADD_LOOP(ranges_cover_all, N(ranges));
	ADD_LOOP(working_set_case, N(sets));
})

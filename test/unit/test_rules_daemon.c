/* SPDX-License-Identifier: Apache-2.0 */
/* Validation, ranges of the built-in generator, working set (scheduling.md 4.4;
 * locality.md 1.1 (L13 to L15)). */
#include "test/unit/unit.h"

#include <math.h>
#include <stdio.h>
#include "lib/arena.h"
#include "model/rows.h"
#include "rules/daemon/daemon_rules.h"
#include "lib/banned.h"

enum { NOW = 1000000000 };

/* --- validate --- */

/*
 * states: I init, C inconclusive, V valid, L too late. outputs: equal letters agree,
 * '!' cannot be judged, '#' cannot be judged and neither can its host's next outputs,
 * '?' cannot be judged now, '~' cannot be compared now. Judgements: v valid, i
 * invalid, c inconclusive, e error, h hopeless, . unchanged.
 */
static const struct validate_case {
	const char *name, *states, *outputs;
	int32_t quorum, target, max_success;
	int before; /* index of the canonical result of an earlier pass, -1 none */
	const char *judged;
	int canonical; /* index, -1 none */
	int32_t new_target;
	const char *flags; /* m too many success, l retry later, n transition now */
} validations[] = {
#define CASE(name, ...) { #name, __VA_ARGS__ },
#define VALIDATE_CASES
#include "test/unit/rules_daemon.def"
#undef VALIDATE_CASES
#undef CASE
};

struct outputs {
	const char *s;
	int asked;
};

static enum match compare(void *ctx, size_t i, size_t j)
{
	struct outputs *o = ctx;

	o->asked++;
	if (o->s[i] == '~' || o->s[j] == '~')
		return MATCH_LATER;
	return o->s[i] == o->s[j] ? MATCH_SAME : MATCH_DIFFERENT;
}

static char judgement(const struct validate_change *c, size_t i)
{
	if (c->validate_error[i])
		return c->validate_state[i] != VALIDATE_INVALID ? '?' :
		       c->hopeless[i]                           ? 'h' :
		                                                  'e';
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
		.canonical_resultid = t->before < 0 ? 0 : 100 + t->before };
	char *judged = arena_alloc(&a, n + 1), *flags;
	struct validate_change c;

	for (size_t i = 0; i < n; i++) {
		r[i] = (struct result){ .id = 100 + (int64_t)i,
			.server_state = RESULT_OVER,
			.outcome = OUTCOME_SUCCESS };
		r[i].validate_state = t->states[i] == 'I' ? VALIDATE_INIT :
		                      t->states[i] == 'C' ? VALIDATE_INCONCLUSIVE :
		                      t->states[i] == 'L' ? VALIDATE_TOO_LATE :
		                                            VALIDATE_VALID;
		init[i] = t->outputs[i] == '!' ? MATCH_BAD :
		          t->outputs[i] == '#' ? MATCH_HOPELESS :
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

/* files: "NAME FLAGS; ...": i in set, e reported empty, n no_work_available, u unsent,
 * o open workunit, p paused, digit = holders, D dropped 10 s ago, d dropped a second
 * later, x y its first and second place in what the chooser wants. Then hosts, holders
 * wanted and wait period; size of the set; files added, dropped, cleared; whether the
 * set runs dry. */
static const struct ws_case {
	const char *name, *files;
	int64_t hosts, wanted, wait_s;
	size_t size;
	const char *add, *drop, *clear;
	bool dry;
} sets[] = {
#define CASE(name, ...) { #name, __VA_ARGS__ },
#define SET_CASES
#include "test/unit/rules_daemon.def"
#undef SET_CASES
#undef CASE
};

static size_t ws_files(struct arena *a, const char *spec, struct ws_file *f)
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
			.dropped_at = strchr(flags, 'd') != NULL ? NOW - 9 :
			              strchr(flags, 'D') != NULL ? NOW - 10 :
			                                           0,
			.place = strchr(flags, 'x') != NULL ? 1 :
			         strchr(flags, 'y') != NULL ? 2 :
			                                      0 };
		n++;
		spec += used;
		spec += strspn(spec, "; ");
	}
	return n;
}

static char *joined(struct arena *a, const char **names, size_t n)
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

static bool same_names(const char **a, size_t n, const char **b, size_t m)
{
	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		while (k < m && strcmp(a[i], b[k]) != 0)
			k++;
		if (k == m)
			return false;
	}
	return n == m;
}

/* The order in which the rows were read makes no difference. */
START_TEST(working_set_whatever_the_order)
{
	const struct ws_case *t = &sets[_i];
	struct arena a = { 0 };
	struct ws_file f[8], back[8];
	size_t n = ws_files(&a, t->files, f);
	struct ws_change c = working_set(&a, f, n, t->hosts, t->wanted, NOW, t->wait_s);
	struct ws_change d;

	for (size_t i = 0; i < n; i++)
		back[i] = f[n - 1 - i];
	d = working_set(&a, back, n, t->hosts, t->wanted, NOW, t->wait_s);
	ck_assert_msg(same_names(c.add, c.nadd, d.add, d.nadd) &&
			  same_names(c.drop, c.ndrop, d.drop, d.ndrop),
	    "%s backwards: add %s, drop %s", t->name, joined(&a, d.add, d.nadd),
	    joined(&a, d.drop, d.ndrop));
	arena_free(&a);
}
END_TEST

/* --- statistics --- */

static const struct {
	double n, avg, x, n_after, avg_after;
} means[] = {
	{ 0, 0, 5, 1, 5 },
	{ 1, 5, 7, 2, 6 },
	{ 19, 1, 21, 20, 2 },
	{ 20, 2, 4, 21, 2.02 },
	{ 20, 2, 1000, 21, 2.18 }, /* counts as 20 */
	{ 500, 2, 1, 501, 1.99 },
	{ 3, 2, 0, 3, 2 },
	{ 3, 2, -1, 3, 2 },
	{ 3, 2, (double)INFINITY, 3, 2 },
	{ 3, 2, (double)NAN, 3, 2 },
};

START_TEST(running_means)
{
	double n = means[_i].n, avg = means[_i].avg;

	statistics_add(&n, &avg, means[_i].x);
	ck_assert_double_eq(n, means[_i].n_after);
	ck_assert_double_eq_tol(avg, means[_i].avg_after, 1e-12);
}
END_TEST

/* state, quorum, hopeless; consecutive_valid, max_jobs_per_day and n_jobs_today before
 * and after; the quota; samples after */
static const struct {
	int32_t state, quorum;
	bool hopeless;
	int32_t row, daily, today, row_after, daily_after, today_after, most;
	double samples;
} judgements[] = {
	{ VALIDATE_VALID, 2, false, 3, 10, 2, 4, 11, 2, 10, 1 },
	{ VALIDATE_VALID, 1, false, 3, 10, 2, 3, 10, 2, 10, 1 },
	{ VALIDATE_INVALID, 2, false, 3, 10, 2, 0, 10, 2, 10, 0 },
	{ VALIDATE_INVALID, 2, false, 3, 12, 2, 0, 11, 2, 10, 0 },
	{ VALIDATE_INVALID, 1, false, 3, 9, 2, 0, 9, 2, 10, 0 },
	{ VALIDATE_INVALID, 1, true, 3, 9, 0, 0, 1, 1, 10, 0 },
	{ VALIDATE_INVALID, 2, true, 3, 12, 2, 0, 1, 2, 10, 0 },
	{ VALIDATE_INVALID, 2, true, 3, 12, 0, 0, 12, 0, 0, 0 },
};

START_TEST(judged_results_teach)
{
	struct conf cf = { .daily_result_quota = judgements[_i].most };
	struct host_app_version v = { .consecutive_valid = judgements[_i].row,
		.max_jobs_per_day = judgements[_i].daily,
		.n_jobs_today = judgements[_i].today };
	struct result r = { .validate_state = judgements[_i].state,
		.sent_time = 1000,
		.received_time = 4600,
		.elapsed_time = 500,
		.flops_estimate = 4e9 };
	struct workunit wu = { .rsc_fpops_est = 1e12,
		.min_quorum = judgements[_i].quorum };

	statistics_judged(&cf, &v, &r, &wu, judgements[_i].hopeless);
	ck_assert_int_eq(v.consecutive_valid, judgements[_i].row_after);
	ck_assert_int_eq(v.max_jobs_per_day, judgements[_i].daily_after);
	ck_assert_int_eq(v.n_jobs_today, judgements[_i].today_after);
	ck_assert_double_eq(v.et_n, judgements[_i].samples);
	ck_assert_double_eq(v.pfc_n, judgements[_i].samples);
	ck_assert_double_eq(v.turnaround_n, judgements[_i].samples);
	ck_assert_double_eq_tol(v.et_avg, 500 / 1e12 * v.et_n, 1e-20);
	ck_assert_double_eq_tol(v.pfc_avg, 2 * v.pfc_n, 1e-12);
	ck_assert_double_eq(v.turnaround_avg, 3600 * v.turnaround_n);
	wu.rsc_fpops_est = 0; /* no estimate: no sample */
	statistics_judged(&cf, &v, &r, &wu, judgements[_i].hopeless);
	ck_assert_double_eq(v.et_n, judgements[_i].samples);
	ck_assert_double_eq(statistics_pfc(&r, &wu), 0);
}
END_TEST

/* One of two files; the other has 10 unsent results, and 20 were sent on the day before
 * NOW's. */
static const struct drain_case {
	const char *name;
	struct drain_file f;
	int64_t left, period_s, s;
} drains[] = {
	{ "unsent", { .unsent = 5, .jobs = 10, .create_time = 1 }, 15, 90000, 45000 },
	{ "to_be_made", { .parts = 5, .results = 2, .jobs = 20, .create_time = 1 }, 20,
	    90000, 45000 },
	{ "nothing_to_be_made",
	    { .parts = 5, .results = 2, .no_work = true, .create_time = 1 }, 10, 90000,
	    45000 },
	{ "draining", { .paused = 2, .unsent = 2, .parts = 5, .results = 2 }, 12, 90000,
	    54000 },
	{ "held_back", { .paused = 1, .unsent = 2, .parts = 5, .results = 2 }, 10,
	    90000, 45000 },
};

START_TEST(drain_case)
{
	const struct drain_case *t = &drains[_i];
	const int64_t now = 100 * 86400 + 3600;
	struct drain d = { 0 };

	drain_count(&d, &t->f);
	drain_count(
	    &d, &(struct drain_file){ .unsent = 10, .jobs = 20, .create_time = 86400 });
	ck_assert_msg(d.unsent + d.makeable == t->left, "%s: %lld left", t->name,
	    (long long)(d.unsent + d.makeable));
	ck_assert_msg(drain_period_s(&d, now) == t->period_s, "%s: in %lld s", t->name,
	    (long long)drain_period_s(&d, now));
	ck_assert_msg(drain_s(&d, now) == t->s, "%s: %lld s", t->name,
	    (long long)drain_s(&d, now));
	ck_assert_int_eq(d.files, 2);
}
END_TEST

START_TEST(drained_never_or_now)
{
	struct drain d = { 0 };

	ck_assert_int_eq(drain_s(&d, 1000000), 0);
	drain_count(&d, &(struct drain_file){ .unsent = 1, .create_time = 999000 });
	ck_assert_int_eq(drain_period_s(&d, 1000000), 1000); /* a new file */
	ck_assert_int_eq(drain_s(&d, 1000000), -1);          /* nothing was sent */
	ck_assert_int_eq(drain_period_s(&d, 999000), 1);     /* just created */
	drain_count(&d, &(struct drain_file){ .jobs = 2, .create_time = 999500 });
	ck_assert_int_eq(drain_s(&d, 1000000), 500);
	drain_count(
	    &d, &(struct drain_file){ .unsent = INT64_MAX - 1, .create_time = 999500 });
	ck_assert_int_gt(drain_s(&d, 1000000), INT64_C(1) << 60);
}
END_TEST

UNIT_MAIN("rules_daemon", {
	ADD_LOOP(drain_case, N(drains));
	ADD(drained_never_or_now);
	ADD_LOOP(validate_case, N(validations));
	ADD_LOOP(ranges_cover_all, N(ranges));
	ADD_LOOP(working_set_case, N(sets));
	ADD_LOOP(working_set_whatever_the_order, N(sets));
	ADD_LOOP(running_means, N(means));
	ADD_LOOP(judged_results_teach, N(judgements));
})

/* SPDX-License-Identifier: Apache-2.0 */
/* What a job would cost if the held files did not matter. */
#include "test/unit/unit.h"

#include "rules/sched/decide.h"
#include "test/unit/rules_world.h"
#include "lib/banned.h"

/* Sets the drawn jobs from "WU FLAGS FILES; ...": the workunit and file set of this
 * number; m: the job needs more memory than the host has, d: 1e9 bytes more disk than
 * the host has; FILES is + (held) or - for each file of 1e9 bytes. */
static void baseline_draw(struct world *w, const char *spec)
{
	struct snapshot *s = &w->snap;
	char *rest = arena_strdup(&w->a, spec), *one;

	s->drawn = NEWN(&w->a, struct job, 8);
	s->drawn_members = NEWN(&w->a, struct snap_member, 32);
	while ((one = strtok_r(rest, ";", &rest)) != NULL) {
		char flags[8], files[8];
		int wu;
		struct job *j = &s->drawn[s->ndrawn++];

		ck_assert_int_eq(sscanf(one, "%d %7s %7s", &wu, flags, files), 3);
		*j = world_job(1000 + wu, wu);
		j->fileset_id = wu;
		if (strchr(flags, 'm') != NULL)
			j->rsc_memory_bound = 1e18;
		if (strchr(flags, 'd') != NULL)
			j->rsc_disk_bound = 1e9 + 1e10;
		for (const char *p = files; *p != '\0'; p++)
			s->drawn_members[s->ndrawn_members++] = (struct snap_member){
				.fileset_id = wu,
				.file_id = wu * 10 + (p - files),
				.name = j->name,
				.bytes = 1000000000,
				.held = *p == '+'
			};
	}
}

static const struct baseline_case {
	const char *name, *options, *drawn;
	size_t fit;
	double mean;
} cases[] = {
	{ "nothing_drawn", "", "", 0, 0 },
	{ "held", "", "2 . +", 1, 0 },
	{ "not_held", "", "2 . -", 1, 1e9 },
	{ "mean", "", "2 . +; 3 . -; 4 . -; 5 . -", 4, 0.75e9 },
	{ "held_in_part", "", "2 . +-; 3 . --", 2, 1.5e9 },
	{ "no_room_in_memory", "", "2 m -", 0, 0 },
	{ "what_does_not_fit_is_left_out", "", "2 m -; 3 . +; 4 . -", 2, 0.5e9 },
	{ "held_files_take_no_more_disk", "", "2 d +; 3 d -", 1, 0 },
	{ "each_by_itself", "<max_wus_to_send>1</max_wus_to_send>", "2 . -; 3 . -", 2,
	    1e9 },
	{ "the_account_has_it",
	    "<one_result_per_user_per_wu>1</one_result_per_user_per_wu>",
	    "99 . -; 3 . +", 1, 0 },
};

START_TEST(baseline_case)
{
	const struct baseline_case *t = &cases[_i];
	struct world *w = world_new(t->options, HOUR);
	int64_t has[] = { 99 };
	const struct dec_baseline *got;

	w->conf->daily_result_quota = 0;
	w->req.host.d_free = 1073741824.0 + 1e10; /* 1 GiB stays free */
	w->snap.user_wus = has;
	w->snap.nuser_wus = 1;
	baseline_draw(w, t->drawn);
	got = &world_decide(w)->baseline;
	ck_assert_msg(got->fit == t->fit, "%s: %zu fit", t->name, got->fit);
	ck_assert_msg((double)got->mean_bytes == t->mean, "%s: %lld bytes", t->name,
	    (long long)got->mean_bytes);
	ck_assert_uint_eq(got->drawn, w->snap.ndrawn);
	world_free(w);
}
END_TEST

/* The drawn jobs do not change the decision. */
START_TEST(the_decision_is_the_same)
{
	static const char files[] = "A hu 11/1 12/2; B wu 21/3; C su 31/4; D ho; E hn";
	char *text[2];
	struct world *w[2];

	for (int i = 0; i < 2; i++) {
		w[i] = world_new("<version_select_random_factor>1"
				 "</version_select_random_factor>",
		    5.0 * HOUR);
		world_files(w[i], files);
		if (i == 1)
			baseline_draw(w[i], "1 m -; 2 d -; 3 . -; 77 . +");
		struct decision *d = world_decide(w[i]);
		text[i] = world_text(w[i], d);
		for (size_t k = 0; k < d->nmessages; k++)
			text[i] = arena_printf(
			    &w[i]->a, "%s; %s", text[i], d->messages[k].text);
		for (size_t k = 0; k < d->nsends; k++)
			text[i] = arena_printf(&w[i]->a, "%s; %a %lld", text[i],
			    d->sends[k].projected_flops,
			    (long long)d->sends[k].bytes_needed);
		text[i] = arena_printf(&w[i]->a, "%s; %zu", text[i], d->nskips);
	}
	ck_assert_str_eq(text[0], text[1]);
	world_free(w[0]);
	world_free(w[1]);
}
END_TEST

START_TEST(one_request_in_16)
{
	size_t due = 0;
	struct rng r, again;

	for (int64_t host = 1; host <= 100; host++)
		for (int64_t seqno = 0; seqno < 160; seqno++) {
			bool now = baseline_cost_due(host, seqno, &r);

			due += now;
			ck_assert_int_eq(now, baseline_cost_due(host, seqno, &again));
			ck_assert_uint_eq(rng_next(&r), rng_next(&again));
		}
	ck_assert_uint_ge(due, 900);
	ck_assert_uint_le(due, 1100);
	for (int64_t seqno = 0; seqno < 100; seqno++)
		ck_assert(!baseline_cost_due(0, seqno, &r));
}
END_TEST

/* Only new jobs of file sets count: neither plain jobs nor resent ones. */
START_TEST(jobs_that_count)
{
	struct job of_file = { .fileset_id = 3 }, plain = { 0 };
	struct dec_send sends[] = { { .job = &of_file, .bytes_needed = 5 },
		{ .job = &plain, .bytes_needed = 0 },
		{ .job = &of_file, .bytes_needed = 7, .expect_in_progress = true },
		{ .job = &of_file, .bytes_needed = 0 } };
	struct decision d = { .sends = sends, .nsends = N(sends) };
	int64_t needed;

	ck_assert_uint_eq(baseline_cost_jobs(&d, &needed), 2);
	ck_assert_int_eq(needed, 5);
}
END_TEST

UNIT_MAIN("rules_baseline_cost", {
	ADD_LOOP(baseline_case, N(cases));
	ADD(the_decision_is_the_same);
	ADD(one_request_in_16);
	ADD(jobs_that_count);
})

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Properties of every decision, checked over random requests and snapshots. A failure
 * prints its seed; LOCUS_SEED repeats it.
 */
#include "test/unit/unit.h"

#include <stdio.h>
#include "lib/text.h"
#include "model/rows.h"
#include "rules/sched/decide.h"
#include "rules/sched/large.h"
#include "test/unit/rules_world.h"
#include "lib/banned.h"

enum { ROUNDS = 4000 };

static const char *const options[] = {
	"<locality_scheduling/>",
	"<locality_scheduling/><one_result_per_user_per_wu/>",
	"<locality_scheduling/><one_result_per_host_per_wu/>"
	"<locality_scheduling_wait_period>10</locality_scheduling_wait_period>",
	"<locality_scheduling/><one_result_per_user_per_wu/>"
	"<locality_scheduling_wait_period>10</locality_scheduling_wait_period>"
	"<locality_scheduler_fraction>0.5</locality_scheduler_fraction>"
	"<max_wus_in_progress>3</max_wus_in_progress>",
	"<locality_scheduling/><one_result_per_user_per_wu/>"
	"<locality_scheduling_wait_period>10</locality_scheduling_wait_period>"
	"<locality_scheduling_send_timeout>7200</locality_scheduling_send_timeout>",
	"<max_wus_to_send>2</max_wus_to_send><daily_result_quota>3</"
	"daily_result_quota>",
};

static struct job random_job(struct rng *g, struct arena *a, int64_t id)
{
	struct job j = world_job(id, 1 + (int64_t)rng_below(g, 12));

	j.name = arena_printf(a, "j%lld", (long long)id);
	j.create_time -= id % 4 * HOUR;
	j.appid = rng_below(g, 20) == 0 ? 9 : 1;
	j.error_mask = rng_below(g, 10) == 0;
	j.canonical_resultid = rng_below(g, 10) == 0;
	j.rsc_memory_bound = rng_below(g, 8) == 0 ? 1e12 : 1e8;
	j.delay_bound = rng_below(g, 8) == 0 ? 60 : 864000;
	j.rsc_disk_bound = 1e9 * (double)rng_below(g, 4);
	return j;
}

static struct job *random_jobs(
    struct world *w, struct rng *g, size_t n, int64_t *id, int64_t fileset)
{
	struct job *v = NEWN(&w->a, struct job, n + 1);

	for (size_t i = 0; i < n; i++) {
		v[i] = random_job(g, &w->a, *id += 1 + (int64_t)rng_below(g, 3));
		v[i].fileset_id = fileset;
	}
	return v;
}

/*
 * Draws one to three of four files, so that sets share files; the host has two of them.
 */
static void random_members(struct world *w, struct rng *g, struct snap_file *f)
{
	size_t first = rng_below(g, 4), n = 1 + rng_below(g, 3);

	for (size_t i = 0; i < n; i++) {
		size_t file = (first + i) % 4;

		world_member(w, f->fileset_id, (char[]){ (char)('A' + file), 0 },
		    1000000000, file < 2);
	}
}

/* True if the set needs the file. */
static bool has_member(const struct world *w, int64_t fileset_id, const char *name)
{
	for (size_t i = 0; i < w->snap.nmembers; i++)
		if (w->snap.members[i].fileset_id == fileset_id &&
		    strcmp(w->snap.members[i].name, name) == 0)
			return true;
	return false;
}

static void random_files(struct world *w, struct rng *g, int64_t *id)
{
	struct snapshot *s = &w->snap;

	size_t n = rng_below(g, 6);

	s->files = NEWN(&w->a, struct snap_file, n + 1);
	for (size_t i = 0; i < n; i++) {
		struct snap_file *f = &s->files[s->nfiles++];

		f->fileset_id = (int64_t)i + 1;
		f->name = arena_printf(&w->a, "F%zu", i);
		random_members(w, g, f);
		f->from_working_set = !f->held && rng_below(g, 2);
		f->searched = !f->held && !f->from_working_set;
		f->has_unsent = rng_below(g, 2);
		f->no_work_available = rng_below(g, 3) == 0;
		f->paused = rng_below(g, 10) == 0;
		f->draining = !f->paused && rng_below(g, 10) == 0;
		f->has_any_wu = f->has_unsent || rng_below(g, 2);
		f->has_open_wu = f->has_unsent || (f->has_any_wu && rng_below(g, 2));
		f->njobs = f->has_unsent ? rng_below(g, 6) : 0;
		f->jobs = random_jobs(w, g, f->njobs, id, f->fileset_id);
		f->demand_time = rng_below(g, 5) == 0 ? WORLD_NOW - 5 : 0;
		for (size_t j = 0; j < f->njobs && f->demand_time > 0; j++)
			f->jobs[j].create_time = WORLD_NOW - (int64_t)rng_below(g, 4);
		f->last_id = rng_below(g, 3) == 0 ? *id - 2 : 0;
	}
}

static struct world *property_random_world(uint64_t seed)
{
	struct rng g = rng_seed(seed);
	struct world *w = world_new(
	    options[rng_below(&g, N(options))], HOUR * (double)rng_below(&g, 12));
	struct snapshot *s = &w->snap;
	int64_t id = 0;

	random_files(w, &g, &id);
	s->nplain = rng_below(&g, 5);
	s->plain = random_jobs(w, &g, s->nplain, &id, 0);
	s->nin_progress = rng_below(&g, 4);
	s->in_progress = random_jobs(w, &g, s->nin_progress, &id, 0);
	for (size_t i = 0; i < s->nin_progress; i++) {
		s->in_progress[i].server_state = RESULT_IN_PROGRESS;
		s->in_progress[i].workunitid = 100 + (int64_t)i;
		s->in_progress[i].sent_time = WORLD_NOW - 1000;
		s->in_progress[i].report_deadline = WORLD_NOW + 500000;
	}
	if (rng_below(&g, 2) == 0)
		world_others(w, rng_below(&g, 2) == 0 ? "" : "j1 j2 j3 j4 j5 j6 j7");
	s->nuser_wus = rng_below(&g, 4);
	s->user_wus = NEWN(&w->a, int64_t, 4);
	for (size_t i = 0; i < s->nuser_wus; i++)
		s->user_wus[i] = 1 + (int64_t)rng_below(&g, 12);
	s->wait_possible = rng_below(&g, 2);
	s->waited = !s->wait_possible && rng_below(&g, 2);
	if (rng_below(&g, 4) == 0)
		w->req.host.d_free = 4e9;
	w->req.host.p_ncpus = 1 + (int32_t)rng_below(&g, 3);
	w->req.host.n_bwdown = seed % 2 == 0 ? 1e6 : 1e4;
	w->rng = rng_seed(seed);
	return w;
}

/* --- the properties --- */

static bool once_rule_holds(const struct world *w, const struct decision *d)
{
	if (!w->conf->one_result_per_user_per_wu &&
	    !w->conf->one_result_per_host_per_wu)
		return true;
	for (size_t i = 0; i < d->nsends; i++) {
		for (size_t k = 0; k < i; k++)
			if (d->sends[k].job->workunitid == d->sends[i].job->workunitid)
				return false;
		for (size_t k = 0;
		     k < w->snap.nuser_wus && d->sends[i].how != SEND_LOST; k++)
			if (w->snap.user_wus[k] == d->sends[i].job->workunitid)
				return false;
	}
	return true;
}

static bool no_job_twice(const struct world *w, const struct decision *d)
{
	(void)w;
	for (size_t i = 0; i < d->nsends; i++)
		for (size_t k = 0; k < i; k++)
			if (d->sends[k].job->id == d->sends[i].job->id)
				return false;
	return true;
}

static bool limits_hold(const struct world *w, const struct decision *d)
{
	size_t cpus = (size_t)w->req.host.p_ncpus, news = 0;
	size_t busy = w->req.has_other_results ? w->req.nother_results :
	                                         w->snap.nin_progress;
	size_t most = (size_t)w->conf->max_wus_in_progress * cpus;

	for (size_t i = 0; i < d->nsends; i++)
		news += d->sends[i].how != SEND_LOST;
	return d->nsends <= (size_t)w->conf->max_wus_to_send * cpus &&
	       (most == 0 || d->nsends == 0 || busy + d->nsends <= most) &&
	       (w->conf->daily_result_quota == 0 ||
		   news <= (size_t)w->conf->daily_result_quota * cpus);
}

static bool nothing_unasked(const struct world *w, const struct decision *d)
{
	return w->req.cpu_req_secs > 0 || (d->nsends == 0 && d->nwant == 0);
}

static bool only_fitting_jobs(const struct world *w, const struct decision *d)
{
	(void)w;
	for (size_t i = 0; i < d->nsends; i++) {
		const struct job *j = d->sends[i].job;

		if (j->appid != 1 || j->error_mask || j->canonical_resultid ||
		    j->rsc_memory_bound > 1e9)
			return false;
		if (d->sends[i].deadline < WORLD_NOW + HOUR)
			return false;
	}
	return true;
}

/*
 * Delete orders name only files that the host has and that no job of it, sent or held,
 * needs. Except to make room, no file of a set with remaining work is deleted.
 */
static bool deletes_are_safe(const struct world *w, const struct decision *d)
{
	size_t space = 0;

	for (size_t i = 0; i < d->ndeletes; i++) {
		const struct dec_delete *del = &d->deletes[i];

		if (strcmp(del->name, "B") > 0)
			return false;
		space += del->for_space;
		for (size_t k = 0; k < w->snap.nfiles; k++) {
			const struct snap_file *f = &w->snap.files[k];

			if (has_member(w, f->fileset_id, del->name) &&
			    (f->paused || (!del->for_space && fileset_state(w->conf,
								  f) < FILE_EXHAUSTED)))
				return false;
		}
		for (size_t k = 0; k < d->nsends; k++)
			if (has_member(w, d->sends[k].job->fileset_id, del->name))
				return false;
	}
	return space == 0 || (space == 1 && d->ndeletes == 1 && d->nsends == 0);
}

static bool ids_increase(const struct world *w, const struct decision *d)
{
	for (size_t i = 0; i < w->snap.nfiles; i++) {
		int64_t last = w->snap.files[i].last_id;

		for (size_t k = 0; k < d->nsends; k++) {
			if (d->sends[k].job->fileset_id != w->snap.files[i].fileset_id)
				continue;
			if (d->sends[k].job->id <= last)
				return false;
			last = d->sends[k].job->id;
		}
	}
	return true;
}

static bool may_be_made(const struct conf *cf, const struct snap_file *f)
{
	if (f->paused || cf->locality_scheduling_wait_period == 0)
		return false;
	if (f->demand_time == 0 && (f->draining || f->no_work_available))
		return false;
	return fileset_state(cf, f) == FILE_DRAINING || f->held || f->demand_time != 0;
}

static bool waits_only_for_what_may_be_made(
    const struct world *w, const struct decision *d)
{
	size_t searched = 0;

	if (d->nwant == 0)
		return true;
	for (size_t i = 0; i < d->nwant; i++) {
		const struct snap_file *f = &w->snap.files[d->want[i] - 1];

		searched += f->searched;
		if (!may_be_made(w->conf, f))
			return false;
	}
	return searched <= 1 && w->snap.wait_possible && !w->snap.waited &&
	       d->nsends == 0 && d->ndeletes == 0 && d->nmessages == 0;
}

static bool marks_only_empty_files(const struct world *w, const struct decision *d)
{
	for (size_t i = 0; i < w->snap.nfiles; i++) {
		const struct snap_file *f = &w->snap.files[i];

		if (d->files[i].mark_no_work && (f->has_unsent || f->paused))
			return false;
		if (d->files[i].mark_no_work && !w->snap.waited &&
		    fileset_state(w->conf, f) == FILE_DRAINING)
			return false;
	}
	return true;
}

/* A DRAINING file is not given to hosts that do not have it. */
static bool nobody_starts_with_a_draining_file(
    const struct world *w, const struct decision *d)
{
	for (size_t k = 0; k < d->nsends; k++) {
		int64_t id = d->sends[k].job->fileset_id;

		if (id > 0 && w->snap.files[id - 1].draining &&
		    !w->snap.files[id - 1].held && d->sends[k].how != SEND_LOST)
			return false;
	}
	return true;
}

/* Every file missing on the host is charged to the first job that needs it. */
static bool bytes_add_up(const struct world *w, const struct decision *d)
{
	bool brought[4] = { true, true, false, false };

	for (size_t i = 0; i < d->nsends; i++) {
		const struct dec_send *s = &d->sends[i];
		int64_t needed = 0, all = 0;

		for (int k = 0; k < 4; k++) {
			if (!has_member(
				w, s->job->fileset_id, (char[]){ (char)('A' + k), 0 }))
				continue;
			all += 1000000000;
			needed += brought[k] ? 0 : 1000000000;
			brought[k] = true;
		}
		if (s->bytes_needed != needed || s->bytes_saved != all - needed)
			return false;
	}
	return true;
}

/* A host that asked in vain gets a reason. */
static bool reason_is_given(const struct world *w, const struct decision *d)
{
	(void)w;
	if (!d->work_wanted || d->nsends > 0 || d->nwant > 0)
		return true;
	return d->why != WHY_NONE && d->nmessages > 0;
}

static const struct {
	const char *name;
	bool (*holds)(const struct world *, const struct decision *);
} laws[] = {
#define LAW(f)                                                                         \
	{                                                                              \
#f, f                                                                  \
	}
	LAW(once_rule_holds),
	LAW(no_job_twice),
	LAW(limits_hold),
	LAW(nothing_unasked),
	LAW(only_fitting_jobs),
	LAW(deletes_are_safe),
	LAW(ids_increase),
	LAW(waits_only_for_what_may_be_made),
	LAW(marks_only_empty_files),
	LAW(nobody_starts_with_a_draining_file),
	LAW(bytes_add_up),
	LAW(reason_is_given),
#undef LAW
};

static uint64_t first_seed(void)
{
	const char *s = getenv("LOCUS_SEED");
	int64_t seed = 1;

	if (s != NULL)
		ck_assert_msg(
		    text_i64(s, 0, INT64_MAX, &seed), "LOCUS_SEED is no number");
	return (uint64_t)seed;
}

START_TEST(laws_hold)
{
	uint64_t from = first_seed();
	size_t sent = 0, waits = 0, deleted = 0;

	for (uint64_t seed = from; seed < from + ROUNDS; seed++) {
		struct world *w = property_random_world(seed);
		struct decision *d = world_decide(w);

		for (size_t i = 0; i < N(laws); i++)
			ck_assert_msg(laws[i].holds(w, d), "LOCUS_SEED=%llu: %s: %s",
			    (unsigned long long)seed, laws[i].name, world_text(w, d));
		sent += d->nsends;
		waits += d->nwant > 0;
		deleted += d->ndeletes;
		world_free(w);
	}
	/* The worlds differ enough: each kind of answer occurred. */
	ck_assert_uint_gt(sent, ROUNDS / 2);
	ck_assert_uint_gt(waits, ROUNDS / 100);
	ck_assert_uint_gt(deleted, ROUNDS / 20);
}
END_TEST

/* The same arguments give the same decision; a decision in between has no effect. */
START_TEST(same_arguments_same_decision)
{
	uint64_t from = first_seed();

	for (uint64_t seed = from; seed < from + ROUNDS / 4; seed++) {
		struct world *a = property_random_world(seed),
			     *other = property_random_world(seed + 1);
		struct world *b = property_random_world(seed);
		struct decision *x = world_decide(a), *y;

		world_decide(other);
		y = world_decide(b);
		ck_assert_str_eq(world_text(a, x), world_text(b, y));
		ck_assert_uint_eq(x->nmessages, y->nmessages);
		for (size_t i = 0; i < x->nmessages; i++)
			ck_assert_str_eq(x->messages[i].text, y->messages[i].text);
		ck_assert_int_eq(memcmp(x->counts, y->counts, sizeof(x->counts)), 0);
		ck_assert_double_eq(x->request_delay, y->request_delay);
		world_free(a);
		world_free(b);
		world_free(other);
	}
}
END_TEST

/* A job lost to another host is left out, and the rest is decided again. */
START_TEST(lost_jobs_are_left_out)
{
	uint64_t from = first_seed();

	for (uint64_t seed = from; seed < from + ROUNDS / 4; seed++) {
		struct world *w = property_random_world(seed);
		struct decision *d = world_decide(w);

		if (d->nsends > 0) {
			int64_t id = d->sends[0].job->id;

			d = decide(&w->a, w->conf, &w->req, &w->snap, WORLD_NOW,
			    &w->rng, &id, 1);
			for (size_t i = 0; i < d->nsends; i++)
				ck_assert_int_ne(d->sends[i].job->id, id);
		}
		world_free(w);
	}
}
END_TEST

UNIT_MAIN("rules_property", {
	ADD(laws_hold);
	ADD(same_arguments_same_decision);
	ADD(lost_jobs_are_left_out);
})

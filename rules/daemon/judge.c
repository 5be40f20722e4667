/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Can a workunit still collect the successes that its quorum needs (scheduling.md 4.3,
 * 4.4)? The transitioner creates results up to target_nresults, within
 * max_total_results, and none once there are that many; the validator acts on
 * min_quorum successes. max_success_results ends a workunit without agreement and does
 * not limit a quorum.
 */
#include <math.h>
#include "model/rows.h"
#include "rules/daemon/daemon_rules.h"
#include "rules/sched/limits.h"
#include "lib/banned.h"

enum prospect quorum_prospect(const struct workunit *wu, int64_t results, int64_t alive)
{
	/* At least one success: without any there is nothing to validate. */
	int64_t needs = wu->min_quorum > 1 ? wu->min_quorum : 1;
	int64_t wanted = (int64_t)wu->target_nresults - alive,
		room = (int64_t)wu->max_total_results - results;
	bool makes = wu->transitioner_flags != WU_NO_NEW_RESULTS;

	if (wu->canonical_resultid != 0 || wu->error_mask != 0 ||
	    wu->assimilate_state != ASSIMILATE_INIT)
		return PROSPECT_ENDED;
	if (wu->transitioner_flags == WU_NO_TRANSITION ||
	    wu->transitioner_flags == WU_BROADCAST)
		return PROSPECT_ENDED;
	if (room < 0 || (wanted > room && (makes || room == 0)))
		return PROSPECT_FAILS;
	if (makes && wanted > 0)
		alive += wanted;
	return alive >= needs ? PROSPECT_GOOD : PROSPECT_NONE;
}

/* What a judged result tells about an app version on its host (scheduling.md 2.8,
 * 4.6). */

enum { PLAIN_MEAN = 20 };          /* samples; after these, old ones fade */
static const double WEIGHT = 0.01; /* of a new sample from then on */
/* A sample counts for at most this many times the mean. */
static const double OUTLIER = 10;

void statistics_add(double *n, double *avg, double x)
{
	if (!(x > 0) || !isfinite(x))
		return;
	if (*n < PLAIN_MEAN)
		*avg = (*avg * *n + x) / (*n + 1);
	else
		*avg += WEIGHT * (fmin(x, OUTLIER * *avg) - *avg);
	*n += 1;
}

void statistics_judged(const struct conf *cf, struct host_app_version *v,
    const struct result *r, const struct workunit *wu, bool hopeless)
{
	bool valid = r->validate_state == VALIDATE_VALID;

	if (!valid) {
		v->consecutive_valid = 0;
		v->max_jobs_per_day = quota_after(
		    cf, v->max_jobs_per_day, hopeless ? QUOTA_HOPELESS : QUOTA_INVALID);
		if (hopeless && cf->daily_result_quota != 0 && v->n_jobs_today < 1)
			v->n_jobs_today = 1;
		return;
	}
	if (wu->min_quorum > 1) { /* with a quorum of 1 no other result confirmed it */
		v->consecutive_valid++;
		v->max_jobs_per_day = quota_after(cf, v->max_jobs_per_day, QUOTA_VALID);
	}
	statistics_add(&v->turnaround_n, &v->turnaround_avg,
	    (double)(r->received_time - r->sent_time));
	if (!(wu->rsc_fpops_est > 0))
		return;
	statistics_add(&v->et_n, &v->et_avg, r->elapsed_time / wu->rsc_fpops_est);
	statistics_add(&v->pfc_n, &v->pfc_avg, statistics_pfc(r, wu));
}

double statistics_pfc(const struct result *r, const struct workunit *wu)
{
	return wu->rsc_fpops_est > 0 ?
	           r->elapsed_time * r->flops_estimate / wu->rsc_fpops_est :
	           0;
}

/* Which hosts return what others do not confirm. */

enum { ENOUGH = 10, TIMES = 4, FEW = 3 };

/* n of `of` results of the host are bad, all_n of all_of of every host. */
static bool stands_out(int64_t n, int64_t of, int64_t all_n, int64_t all_of)
{
	int64_t others_n = all_n - n, others = all_of - of;

	if (of < ENOUGH || 2 * n < of || others <= 0)
		return false;
	return (double)n / (double)of >= TIMES * ((double)others_n / (double)others);
}

enum suspicion host_suspicion(const struct host_ends *host, const struct host_ends *all)
{
	if (stands_out(host->wrong, host->success, all->wrong, all->success))
		return SUSPICION_WRONG;
	return stands_out(host->failed, host->failed + host->success, all->failed,
		   all->failed + all->success) ?
	           SUSPICION_FAILED :
	           SUSPICION_NONE;
}

enum blame failure_blame(const struct blame_facts *f)
{
	if (f->n < FEW)
		return BLAME_NOBODY;
	if (f->one_host && f->others_success >= ENOUGH && f->host_success < f->n)
		return BLAME_HOST;
	return f->one_version && f->versions_success >= ENOUGH &&
	               f->version_success < f->n ?
	           BLAME_VERSION :
	           BLAME_NOBODY;
}

/*
 * Which results of a workunit agree (scheduling.md 4.4). The caller compares two
 * results; this file draws the conclusions.
 */

enum { AGAIN_LEAST_S = 60, AGAIN_MOST_S = 6 * 3600 };

struct jury {
	struct arena *a;
	const struct workunit *wu;
	const struct result *results;
	size_t n;
	const enum match *init;
	enum match (*same)(void *, size_t, size_t);
	void *ctx;
	char *known;    /* n x n answers + 1; 0 = not asked yet */
	bool undecided; /* a comparison has to be repeated later */
	struct validate_change *change;
};

static enum match compare_once(struct jury *j, size_t x, size_t y)
{
	size_t lo = x < y ? x : y, hi = x < y ? y : x;
	char *known = &j->known[lo * j->n + hi];

	if (x == y)
		return MATCH_SAME;
	if (*known == 0) {
		enum match m = j->same(j->ctx, lo, hi);

		*known = (char)(m + 1);
		if (m == MATCH_LATER)
			j->change->retry_later = j->undecided = true;
	}
	return (enum match)(*known - 1);
}

/* Can the result still be part of a quorum: readable, and VALID, INCONCLUSIVE or not
 * judged yet? */
static bool is_viable(const struct jury *j, size_t i)
{
	int32_t v = j->results[i].validate_state;

	return j->init[i] == MATCH_SAME &&
	       (v == VALIDATE_INIT || v == VALIDATE_INCONCLUSIVE ||
		   v == VALIDATE_VALID);
}

static void set_validate_state(struct jury *j, size_t i, int32_t state)
{
	if (j->results[i].validate_state != state)
		j->change->validate_state[i] = state;
}

/* Marks results that can never be read as errors; those with a transient failure are
 * tried again. */
static void take_out_bad(struct jury *j)
{
	for (size_t i = 0; i < j->n; i++) {
		int32_t v = j->results[i].validate_state;

		if (v != VALIDATE_INIT && v != VALIDATE_INCONCLUSIVE)
			continue;
		if (j->init[i] == MATCH_LATER)
			j->change->retry_later = true;
		if (j->init[i] != MATCH_BAD && j->init[i] != MATCH_HOPELESS)
			continue;
		set_validate_state(j, i, VALIDATE_INVALID);
		j->change->hopeless[i] = j->init[i] == MATCH_HOPELESS;
		j->change->validate_error[i] = true;
		j->change->transition_now = true;
	}
}

/* Judges every readable result against the canonical one. A comparison that has to be
 * repeated must not trigger a transition now: the transitioner could only ask for the
 * same again. */
static void judge_by(struct jury *j, size_t canonical)
{
	for (size_t i = 0; i < j->n; i++) {
		enum match m;

		if (!is_viable(j, i) || j->results[i].validate_state == VALIDATE_VALID)
			continue;
		m = compare_once(j, canonical, i);
		if (m == MATCH_LATER)
			continue;
		set_validate_state(
		    j, i, m == MATCH_SAME ? VALIDATE_VALID : VALIDATE_INVALID);
		j->change->transition_now = true;
	}
}

/* Returns the first result with which enough others agree; n if there is none. */
static size_t find_canonical(struct jury *j)
{
	int32_t enough = j->wu->min_quorum / 2 + 1;

	for (size_t i = 0; i < j->n; i++) {
		int32_t agree = 0;

		if (!is_viable(j, i))
			continue;
		for (size_t k = 0; k < j->n; k++)
			agree += is_viable(j, k) && compare_once(j, i, k) == MATCH_SAME;
		if (agree >= enough)
			return i;
	}
	return j->n;
}

/* No agreement: more results are needed, unless there are too many already. Nothing is
 * decided while a comparison has to be repeated; all results stay unjudged, because
 * unjudged results bring the workunit back. */
static void no_consensus(struct jury *j, int32_t viable)
{
	if (j->undecided)
		return;
	/* What was valid before the workunit was opened again stays so: it has credit.
	 */
	for (size_t i = 0; i < j->n; i++)
		if (is_viable(j, i) && j->results[i].validate_state != VALIDATE_VALID)
			set_validate_state(j, i, VALIDATE_INCONCLUSIVE);
	if (viable > j->wu->max_success_results) {
		j->change->too_many_success = true;
		j->change->transition_now = true;
	} else if (viable >= j->wu->target_nresults && !j->change->retry_later) {
		j->change->target_nresults = viable + 1;
		j->change->transition_now = true;
	}
}

static void seek_canonical(struct jury *j)
{
	int32_t viable = 0;
	size_t i;

	for (i = 0; i < j->n; i++)
		viable += is_viable(j, i);
	if (viable < j->wu->min_quorum)
		return;
	i = find_canonical(j);
	if (i == j->n) {
		no_consensus(j, viable);
		return;
	}
	j->change->canonical_resultid = j->results[i].id;
	j->change->transition_now = true;
	judge_by(j, i);
}

struct validate_change validate(struct arena *a, const struct workunit *wu,
    const struct result *r, size_t n, const enum match *init,
    enum match (*same)(void *ctx, size_t i, size_t j), void *ctx)
{
	struct validate_change c = { 0 };
	struct jury j = { a, wu, r, n, init, same, ctx, NULL, false, &c };
	size_t canonical = n;

	c.validate_state = NEWN(a, int32_t, n + 1);
	c.validate_error = NEWN(a, bool, n + 1);
	c.hopeless = NEWN(a, bool, n + 1);
	j.known = NEWN(a, char, mul_or_die(n, n) + 1);
	for (size_t i = 0; i < n; i++) {
		c.validate_state[i] = -1;
		if (wu->canonical_resultid != 0 && r[i].id == wu->canonical_resultid)
			canonical = i;
	}
	if (wu->canonical_resultid == 0) {
		take_out_bad(&j);
		seek_canonical(&j);
	} else if (canonical == n || init[canonical] != MATCH_SAME) {
		/* Nothing to compare with; no result is to blame. */
		c.retry_later = true;
	} else {
		take_out_bad(&j);
		judge_by(&j, canonical);
	}
	return c;
}

int64_t validate_again_at(const struct result *r, size_t n, int64_t now)
{
	int64_t newest = 0, waited;

	for (size_t i = 0; i < n; i++)
		newest = r[i].received_time > newest ? r[i].received_time : newest;
	waited = newest > now ? 0 : now - newest;
	if (waited < AGAIN_LEAST_S)
		waited = AGAIN_LEAST_S;
	return now + (waited < AGAIN_MOST_S ? waited : AGAIN_MOST_S);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which results of a workunit agree (scheduling.md 4.4).  The caller compares two
 * results; this file draws the conclusions.
 */
#include "rules/daemon/daemon_rules.h"

#include "model/states.h"
#include "lib/banned.h"

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

static enum match
compare_once(struct jury *j, size_t x, size_t y)
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
static bool
is_viable(const struct jury *j, size_t i)
{
	int32_t v = j->results[i].validate_state;

	return j->init[i] == MATCH_SAME &&
	       (v == VALIDATE_INIT || v == VALIDATE_INCONCLUSIVE ||
		   v == VALIDATE_VALID);
}

static void
set_validate_state(struct jury *j, size_t i, int32_t state)
{
	if (j->results[i].validate_state != state)
		j->change->validate_state[i] = state;
}

/* Marks results that can never be read as errors; those with a transient failure are
 * tried again. */
static void
take_out_bad(struct jury *j)
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

/* Judges every readable result against the canonical one.  A comparison that has to be
 * repeated must not trigger a transition now: the transitioner could only ask for the
 * same again. */
static void
judge_by(struct jury *j, size_t canonical)
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
static size_t
find_canonical(struct jury *j)
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

/* No agreement: more results are needed, unless there are too many already.  Nothing is
 * decided while a comparison has to be repeated; all results stay unjudged, because
 * unjudged results bring the workunit back. */
static void
no_consensus(struct jury *j, int32_t viable)
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

static void
seek_canonical(struct jury *j)
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

struct validate_change
validate(struct arena *a, const struct workunit *wu, const struct result *r, size_t n,
    const enum match *init, enum match (*same)(void *ctx, size_t i, size_t j),
    void *ctx)
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

int64_t
validate_again_at(const struct result *r, size_t n, int64_t now)
{
	int64_t newest = 0, waited;

	for (size_t i = 0; i < n; i++)
		newest = r[i].received_time > newest ? r[i].received_time : newest;
	waited = newest > now ? 0 : now - newest;
	if (waited < AGAIN_LEAST_S)
		waited = AGAIN_LEAST_S;
	return now + (waited < AGAIN_MOST_S ? waited : AGAIN_MOST_S);
}

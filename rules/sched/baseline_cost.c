/* SPDX-License-Identifier: Apache-2.0 */
/* Treats the drawn jobs like the first ones of the reply, but sends nothing. */
#include "rules/sched/baseline_cost.h"

#include "rules/sched/ctx.h"
#include "lib/banned.h"

enum { ONE_IN = 16 };

bool
baseline_cost_due(int64_t hostid, int64_t seqno, struct rng *rng)
{
	*rng = rng_seed(
	    (uint64_t)hostid * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)seqno);
	return rng_below(rng, ONE_IN) == 0 && hostid != 0;
}

size_t
baseline_cost_jobs(const struct decision *d, int64_t *bytes_needed)
{
	size_t n = 0;

	*bytes_needed = 0;
	for (size_t i = 0; i < d->nsends; i++) {
		const struct dec_send *s = &d->sends[i];

		if (s->job->fileset_id <= 0 || s->expect_in_progress)
			continue;
		*bytes_needed += s->bytes_needed;
		n++;
	}
	return n;
}

static int64_t
drawn_set_bytes(const struct snapshot *s, int64_t fileset_id)
{
	int64_t bytes = 0;

	for (size_t i = 0; i < s->nmembers; i++)
		if (s->members[i].fileset_id == fileset_id)
			bytes += s->members[i].bytes;
	return bytes;
}

static bool
drawn_job_fits(struct ctx *c, const struct job *j)
{
	struct snap_file file = { .fileset_id = j->fileset_id,
		.bytes = drawn_set_bytes(c->snap, j->fileset_id) };
	struct fitting f;
	struct choice q;
	bool fit = false;

	if (fit_workunit(c, j, false) != WHY_NONE)
		return false;
	q = version_choose(c, j, false);
	for (size_t i = 0; q.why == WHY_NONE && i < q.npicks && !fit; i++)
		fit = fit_host(c, j, &q.picks[i], &file, false, &f) == WHY_NONE;
	return fit;
}

void
baseline_cost_measure(const struct ctx *real)
{
	struct snapshot snap = *real->snap;
	struct ctx c = *real;
	struct rng rng;
	struct dec_baseline *w = &real->d->baseline;
	double sum = 0;

	if (snap.ndrawn == 0)
		return;
	baseline_cost_due(snap.host.id, real->req->rpc_seqno, &rng);
	snap.members = snap.drawn_members;
	snap.nmembers = snap.ndrawn_members;
	c.snap = &snap;
	c.rng = &rng; /* the decision's own draws must not depend on this */
	c.d = NEW(c.a, struct decision);
	c.larges = larges_of(c.a, &snap);
	c.choices = NULL;
	c.nchoices = c.choices_cap = 0;
	*w = (struct dec_baseline){ .drawn = snap.ndrawn };
	for (size_t i = 0; i < snap.ndrawn; i++)
		if (drawn_job_fits(&c, &snap.drawn[i])) {
			w->fit++;
			sum += (double)larges_missing(
			    &c.larges, snap.drawn[i].fileset_id);
		}
	w->mean_bytes = w->fit == 0 ? 0 : (int64_t)(sum / (double)w->fit + 0.5);
}

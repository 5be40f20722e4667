/* SPDX-License-Identifier: Apache-2.0 */
/* Tries one candidate: sends it if every rule allows it, else records why not. */
#include "rules/sched/ctx.h"

#include "model/resource.h"
#include "model/states.h"
#include "rules/sched/trust.h"
#include "lib/banned.h"

/*
 * The key of the once rule. A job for certain hosts only goes to each of them once
 * (scheduling.md 2.14).
 */
static int64_t
once_key(const struct ctx *c, const struct job *j)
{
	bool broadcast = (j->transitioner_flags & WU_BROADCAST) != 0;

	if (c->conf->one_result_per_user_per_wu && !broadcast)
		return c->snap->user.id;
	return c->conf->one_result_per_host_per_wu || fit_aimed(j) ? -c->snap->host.id :
	                                                             0;
}

/*
 * Decides whether the job's workunit gets more results because of the host that gets
 * this one.
 */
static void
set_replication(struct ctx *c, struct dec_send *s)
{
	const struct host_app_version *hav = estimate_find(c->snap->havs,
	    c->snap->nhavs, resource_statistics_id(s->app->id, s->app_version_id));

	s->replication = trust_replication(s->app, s->job, hav, c->rng);
	if (s->replication == REPLICATION_FIXED)
		return;
	s->consecutive_valid = hav == NULL ? 0 : hav->consecutive_valid;
	if (s->replication != REPLICATION_ALONE)
		s->raise_to = trust_results(s->app, s->job);
}

/* Adds the job to the reply, and charges everything that it uses. */
static void
add_send(struct ctx *c, enum send_how how, const struct job *j, const struct pick *p,
    const struct fitting *f, const struct snap_file *file)
{
	struct decision *d = c->d;
	int64_t needed = larges_missing(&c->larges, j->fileset_id);
	struct dec_send s = {
		.how = how, .job = j, .app = p->app, .version = p->version
	};

	s.client_version = p->client_version;
	s.app_version_id = p->app_version_id;
	s.resource = p->resource;
	s.usage = p->usage;
	s.avg_ncpus = p->use.avg_ncpus;
	s.gpu_ram_bytes = p->use.gpu_ram_bytes;
	s.cmdline = p->use.cmdline;
	s.memory_bound = version_memory(j, p);
	s.projected_flops = p->speed.flops;
	s.speed_source = p->speed.source;
	s.peak_flops = p->peak_flops;
	s.runtime_s = f->runtime_s;
	s.deadline = f->deadline;
	s.bytes_needed = needed;
	s.bytes_saved = file == NULL ? 0 : file->bytes - needed;
	s.once = once_key(c, j);
	s.expect_in_progress = how == SEND_LOST;
	if (!s.expect_in_progress && (j->transitioner_flags & WU_BROADCAST) == 0) {
		int32_t class = fit_hr_class(c, p->app);

		s.bind_hr_class = class > 0 ? class : 0;
		s.bind_version_id = p->app->homogeneous_app_version ?
		                        p->app_version_id :
		                        0;
	}
	if (!s.expect_in_progress)
		set_replication(c, &s);
	PUSH(c->a, d->sends, d->nsends, c->sends_cap) = s;
	larges_bring(&c->larges, j->fileset_id);
	larges_stay(&c->larges, j->fileset_id);
	c->disk -= f->disk;
	if (p->app->non_cpu_intensive)
		return;
	work_req_take(&c->work, p->resource, f->runtime_s, p->usage);
	limits_count(c, p->app, p->resource);
	workload_add(c, p->resource, f->runtime_s, p->usage, f->deadline);
}

/*
 * Takes the best version with which the host can do the job. Memory and deadline depend
 * on the version and its resource, so the choice is made again for each ("Work fetch
 * and GPUs"). If no version will do, the reason is that of the best one.
 */
static enum reason
fit_any(struct ctx *c, const struct job *j, const struct choice *q,
    const struct snap_file *file, struct pick *p, struct fitting *f)
{
	enum reason best = WHY_NONE;

	for (size_t i = 0; i < q->npicks; i++) {
		enum reason why;

		*p = q->picks[i];
		if (i > 0 && !version_still(c, q, p))
			continue;
		why = fit_host(c, j, p, file, q->resend, f);
		if (why == WHY_NONE)
			return WHY_NONE;
		if (i == 0)
			best = why;
		if (why != WHY_MEM && why != WHY_DEADLINE)
			break;
	}
	return best;
}

enum reason
candidate_try(
    struct ctx *c, enum send_how how, const struct job *j, const struct snap_file *file)
{
	bool resend = how == SEND_LOST;
	struct pick p = { 0 };
	struct fitting f = { 0 };
	enum reason why = fit_workunit(c, j, resend);

	bool of_job = why != WHY_NONE;

	if (why == WHY_NONE) {
		struct choice q = version_choose(c, j, resend);

		why = q.why;
		of_job = why == WHY_NONE || version_of_job(&q);
		if (why == WHY_NONE)
			why = fit_any(c, j, &q, file, &p, &f);
	}
	if (why == WHY_NONE) {
		add_send(c, how, j, &p, &f, file);
		return WHY_NONE;
	}
	if (!resend && !fit_aimed(j))
		search_note(c, j, why, of_job);
	decision_skip(c, j, why);
	return why;
}

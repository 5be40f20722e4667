/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers that have nothing to choose. The first reads one job instead of all
 * candidates, to answer whether this host would get it and if not, why not; jobs in
 * progress, reports and files held stay as they were read. The second reads the jobs
 * targeted at this host.
 */
#include "rules/sched/supply_own.h"

#include <string.h>
#include "rules/sched/fileset.h"
#include "lib/banned.h"

/* --- one job --- */

bool
supply_only_next(struct supply *p, struct supply_query *q)
{
	struct supply_only *r = &p->only;
	int64_t *fileset_id;

	switch (r->state) {
	case ONLY_JOB:
		q->kind = SUPPLY_BY_IDS;
		q->ids = &p->in.only_job;
		q->nids = 1;
		return true;
	case ONLY_SET:
		fileset_id = &r->job->fileset_id;
		supply_ask_sets(q, fileset_id, 1, SET_SEARCHED);
		q->subject = *fileset_id;
		return true;
	case ONLY_LAST:
		q->kind = SUPPLY_LAST_ID;
		q->ready = q->subject = r->job->fileset_id;
		return true;
	case ONLY_RELEASED:
		q->kind = SUPPLY_LAST_ID_BY;
		q->ready = q->subject = r->job->fileset_id;
		q->sent_by = p->in.now - p->in.conf->locality_skip_release;
		return true;
	default:
		return false;
	}
}

/* Drops the other file sets, except those that will get no more work: deleting their
 * files makes room. */
static void
drop_live_sets(const struct supply *p, int64_t but)
{
	struct snapshot *s = p->in.snap;
	size_t n = 0;

	for (size_t i = 0; i < s->nfiles; i++) {
		struct snap_file *f = &s->files[i];

		if (f->fileset_id != but &&
		    fileset_state(p->in.conf, f) >= FILE_EXHAUSTED)
			s->files[n++] = *f;
	}
	s->nfiles = n;
}

static void
take_job(struct supply *p, const struct supply_rows *rows)
{
	struct supply_only *r = &p->only;
	struct snapshot *s = p->in.snap;
	const struct app *app;

	r->state = ONLY_DONE;
	s->ntargeted = s->nplain = s->nnci = 0;
	s->search = (struct snap_search){ 0 };
	s->last_rpc_time = 0; /* the time since the last RPC does not matter here */
	if (rows->n == 0)
		return;
	r->job = &rows->jobs[0];
	app = catalog_app(s->cat, r->job->appid);
	if (app != NULL && app->non_cpu_intensive) {
		s->nci = r->job;
		s->nnci = 1;
	} else if (r->job->fileset_id == 0) {
		s->plain = r->job;
		s->nplain = 1;
	} else {
		r->state = snapshot_file(s, r->job->fileset_id) == NULL ? ONLY_SET :
		                                                          ONLY_LAST;
		return;
	}
	drop_live_sets(p, 0);
}

/* Puts the job's file set first, as the only one with jobs. */
static void
put_set_first(struct supply *p, int64_t released_id)
{
	struct supply_only *r = &p->only;
	struct snapshot *s = p->in.snap;
	struct snap_file *file = snapshot_file(s, r->job->fileset_id), own;
	struct snap_file *all;

	if (file == NULL) /* the set was deleted */
		return;
	own = *file;
	drop_live_sets(p, own.fileset_id);
	own.jobs = r->job;
	own.njobs = 1;
	own.has_unsent = true;
	own.unread = false;
	own.last_id = r->last_id;
	own.released_id = released_id;
	all = NEWN(p->a, struct snap_file, s->nfiles + 1);
	all[0] = own;
	if (s->nfiles > 0)
		memcpy(all + 1, s->files, s->nfiles * sizeof(*all));
	s->files = all;
	s->nfiles++;
}

void
supply_only_take(struct supply *p, const struct supply_rows *rows)
{
	struct supply_only *r = &p->only;

	switch (r->state) {
	case ONLY_JOB:
		take_job(p, rows);
		break;
	case ONLY_SET:
		r->state = ONLY_LAST;
		break;
	case ONLY_LAST:
		r->last_id = rows->found ? rows->number : 0;
		r->state = rows->found ? ONLY_RELEASED : ONLY_DONE;
		if (!rows->found)
			put_set_first(p, 0);
		break;
	default:
		r->state = ONLY_DONE;
		put_set_first(p, rows->found ? rows->number : 0);
	}
}

/* --- targeted and broadcast jobs --- */

bool
supply_targeted_next(struct supply *p, struct supply_query *q)
{
	const struct conf *cf = p->in.conf;

	q->kind = SUPPLY_TARGETED;
	q->multi_first = cf->enable_assignment ? 0 : 1;
	q->multi_last = cf->enable_assignment_multi ? 1 : 0;
	return !p->targeted_asked && q->multi_first <= q->multi_last;
}

void
supply_targeted_take(struct supply *p, const struct supply_rows *rows)
{
	p->in.snap->targeted = rows->jobs;
	p->in.snap->ntargeted = rows->n;
	p->targeted_asked = true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One job instead of all candidates: would this host get it, and if not, why not?  Only
 * in a dry run; what is in progress, reported and held stays as it was read.
 */
#include "sched/rpc/rpc.h"

#include <string.h>
#include "db/entity.h"
#include "db/stmts.h"
#include "model/states.h"
#include "rules/sched/decide.h"
#include "rules/sched/fileset.h"
#include "lib/banned.h"

/* Of other file sets those stay that nothing will come of: their files make room. */
static void
leave_given_up(const struct rpc *x, struct snapshot *s, int64_t but)
{
	size_t n = 0;

	for (size_t i = 0; i < s->nfiles; i++) {
		struct snap_file *f = &s->files[i];

		if (f->fileset_id != but && fileset_state(x->conf, f) >= FILE_EXHAUSTED)
			s->files[n++] = *f;
	}
	s->nfiles = n;
}

/* The job's file set becomes the first, and the only one with jobs. */
static enum err
only_set(struct rpc *x, struct snapshot *s, struct job *j)
{
	struct snap_file *file;
	int64_t last = 0, released = 0;
	enum err e = snapshot_sets(
	    x->db, x->a, x->conf, x->req, &j->fileset_id, 1, s, &x->fail);

	if (e == OK)
		e = db_number(x->db, &x->fail, &last, LAST_ID, .userid = s->user.id,
		    .fileset_id = j->fileset_id);
	if (e == OK)
		e = db_number(x->db, &x->fail, &released, LAST_ID_BY,
		    .userid = s->user.id, .fileset_id = j->fileset_id,
		    .sent_by = x->now - x->conf->locality_skip_release);
	if (e != OK && e != E_NOTFOUND)
		return e;
	file = snapshot_file(s, j->fileset_id);
	if (file == NULL)
		return FAIL(&x->fail, E_NOTFOUND, "file set %lld is gone",
		    (long long)j->fileset_id);
	struct snap_file own = *file;
	leave_given_up(x, s, own.fileset_id);
	memmove(&s->files[1], &s->files[0], s->nfiles * sizeof(*s->files));
	s->nfiles++;
	s->files[0] = own;
	s->files[0].jobs = j;
	s->files[0].njobs = 1;
	s->files[0].has_unsent = true;
	s->files[0].unread = false;
	s->files[0].last_id = last;
	s->files[0].released_id = released;
	return OK;
}

enum err
rpc_only_job(struct rpc *x)
{
	struct snapshot *s = x->snap;
	const struct app *app;
	struct job *jobs;
	size_t n;
	enum err e = jobs_by_ids(x->db, x->a, &x->only_job, 1, &jobs, &n, &x->fail);

	if (e != OK)
		return e;
	if (n == 0)
		return FAIL(&x->fail, E_NOTFOUND, "there is no result %lld",
		    (long long)x->only_job);
	s->ntargeted = s->nplain = s->nnci = 0;
	s->search = (struct snap_search){ 0 };
	s->last_rpc_time = 0; /* how soon it asks again is not the question */
	app = catalog_app(s->cat, jobs[0].appid);
	if (app != NULL && app->non_cpu_intensive) {
		leave_given_up(x, s, 0);
		s->nci = jobs;
		s->nnci = 1;
	} else if (jobs[0].fileset_id == 0) {
		leave_given_up(x, s, 0);
		s->plain = jobs;
		s->nplain = 1;
	} else {
		e = only_set(x, s, &jobs[0]);
	}
	return e;
}

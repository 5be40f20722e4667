/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes jobs into the database, in steps of one transaction each. All jobs are made
 * and compared with what is there before the first one is written; then they are made
 * again, piece by piece, so that a million needs no memory. More than one step's worth
 * is staged: no daemon sees it before the last one is in.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "db/job_batch.h"
#include "lib/clock.h"
#include "lib/names.h"
#include "model/rows.h"
#include "tools/catalog.h"
#include "tools/input_count.h"
#include "tools/jobs/jobs.h"
#include "tools/progress.h"
#include "lib/banned.h"

enum { STEP = DB_LIST_LONG, RACES_MOST = 8 };

struct load {
	struct cmd_ctx *x;
	struct job_maker *m;
	struct job_file *file; /* NULL: one job */
	struct job_counts *counts;
	struct arena round; /* of one step */
	struct job_row *rows;
	struct job_made *made; /* of one step; of those, made n */
	size_t n;
	bool staged;       /* more than one step */
	struct names seen; /* names of the file, with their lines */
	int64_t *lines;
	size_t nlines, lines_cap;
	int64_t *ids; /* of staged workunits */
	size_t nids, ids_cap;
	int64_t now;
	struct workunit last;
};

/* --- what is there already --- */

struct known { /* workunits that have the names of this step, with their documents */
	struct names names;
	struct workunit *wus;
	const char **docs;
	size_t n;
};

static enum err
known_find(struct load *l, struct known *k)
{
	char **names = NEWN(&l->round, char *, l->n + 1);
	int64_t *ids;
	struct cmd_ctx *x = l->x;

	*k = (struct known){ 0 };
	for (size_t i = 0; i < l->n; i++)
		names[i] = l->made[i].wu.name;
	if (l->n == 0)
		return OK;
	TRY(workunits_by_names(x->db, &l->round, names, l->n, &k->wus, &k->n, x->f));
	ids = NEWN(&l->round, int64_t, k->n + 1);
	k->docs = NEWN(&l->round, const char *, k->n + 1);
	for (size_t i = 0; i < k->n; i++) {
		names_put(&l->round, &k->names, k->wus[i].name, i);
		ids[i] = k->wus[i].id;
	}
	for (size_t i = 0; i < k->n; i += DB_LIST_MAX)
		TRY(workunits_xml_docs(x->db, &l->round, ids + i,
		    k->n - i < DB_LIST_MAX ? k->n - i : DB_LIST_MAX, k->docs + i,
		    x->f));
	return OK;
}

/* Names the first difference between a job and the workunit of its name; NULL = none.
 */
static const char *
difference(const struct job_made *made, const struct workunit *is, const char *doc)
{
	const struct workunit *w = &made->wu;
	const struct {
		const char *what;
		bool same;
	} of[] = {
		{ "app", w->appid == is->appid },
		{ "batch", w->batch == is->batch },
		{ "large file", w->fileset_id == is->fileset_id },
		{ "rsc_fpops_est", w->rsc_fpops_est == is->rsc_fpops_est },
		{ "rsc_fpops_bound", w->rsc_fpops_bound == is->rsc_fpops_bound },
		{ "rsc_memory_bound", w->rsc_memory_bound == is->rsc_memory_bound },
		{ "rsc_disk_bound", w->rsc_disk_bound == is->rsc_disk_bound },
		{ "rsc_bandwidth_bound",
		    w->rsc_bandwidth_bound == is->rsc_bandwidth_bound },
		{ "delay_bound", w->delay_bound == is->delay_bound },
		{ "priority", w->priority == is->priority },
		{ "output template",
		    strcmp(w->result_template_file, is->result_template_file) == 0 },
		{ "files, command line or other parts of the template",
		    doc == NULL || strcmp(made->xml_doc, doc) == 0 },
	};

	for (size_t i = 0; i < N(of); i++)
		if (!of[i].same)
			return of[i].what;
	return NULL;
}

/* --- checking --- */

static void
load_problem(struct load *l, const struct job_row *row, const char *text)
{
	if (l->file != NULL)
		job_problem(&l->file->problems, row->line, "%s", text);
	l->x->status = 0; /* the whole file decides */
	l->x->f->code = OK;
}

/* Is the error one of the job itself, after which the next jobs can be checked? */
static bool
of_job(enum err e)
{
	return e == E_BADREQ || e == E_NOTFOUND;
}

/* A name that the file has twice is a mistake. */
static void
check_name(struct load *l, const struct job_made *made)
{
	size_t at;

	if (names_find(&l->seen, made->wu.name, &at)) {
		load_problem(l, made->row,
		    arena_printf(&l->round,
			"%s is also the name of the job of line %lld", made->wu.name,
			(long long)l->lines[at]));
		return;
	}
	at = l->nlines;
	PUSH(l->x->a, l->lines, l->nlines, l->lines_cap) = made->row->line;
	names_put(l->x->a, &l->seen, arena_strdup(l->x->a, made->wu.name), at);
}

/*
 * Makes the next step's jobs; *more is false at the end of the file. What is wrong is
 * reported and left out if reports are wanted.
 */
static enum err
make_step(struct load *l, bool report, bool *more)
{
	bool good;

	arena_reset(&l->round);
	l->rows = NEWN(&l->round, struct job_row, STEP);
	l->made = NEWN(&l->round, struct job_made, STEP);
	for (l->n = 0; l->n < STEP;) {
		struct job_row *row = &l->rows[l->n];
		enum err e;

		*more = job_file_next(l->file, &l->round, row, &good);
		if (!*more)
			return OK;
		if (!good)
			continue;
		e = job_make(l->m, &l->round, row, &l->made[l->n]);
		if (e != OK && !(report && of_job(e)))
			return e;
		if (e != OK)
			load_problem(l, row, l->x->f->detail);
		else if (++l->n > 0 && report)
			check_name(l, &l->made[l->n - 1]);
	}
	return OK;
}

/* Compares the jobs of a step with the workunits of their names. */
static enum err
check_known(struct load *l)
{
	struct known k;
	size_t at;

	TRY(known_find(l, &k));
	for (size_t i = 0; i < l->n; i++) {
		const char *what;

		if (!names_find(&k.names, l->made[i].wu.name, &at))
			continue;
		l->counts->known++;
		what = difference(&l->made[i], &k.wus[at], k.docs[at]);
		if (what == NULL)
			continue;
		FAIL(l->x->f, E_BADREQ,
		    "workunit %s exists with another content (%s); give this job another name",
		    l->made[i].wu.name, what);
		if (l->file == NULL)
			return E_BADREQ;
		load_problem(l, l->made[i].row, l->x->f->detail);
	}
	return OK;
}

static enum err
check_jobs(struct load *l)
{
	struct progress p = progress_begin("checking jobs", l->file->jobs);
	struct job_problems *problems = &l->file->problems;
	bool more = true;
	enum err e = OK;

	while (e == OK && more) {
		e = make_step(l, true, &more);
		if (e == OK)
			e = check_known(l);
		l->counts->jobs += (int64_t)l->n;
		progress_set(&p, l->counts->jobs);
	}
	progress_end(&p);
	job_problems_end(problems);
	if (e == OK && problems->n > 0)
		return FAIL(l->x->f, E_BADREQ, "%s: %zu mistakes; nothing was added",
		    problems->path, problems->n);
	if (e == OK && l->counts->jobs == 0)
		return FAIL(
		    l->x->f, E_BADREQ, "%s: there are no jobs in it", l->file->path);
	return e;
}

/* --- inserting --- */

static enum err
insert_new(struct load *l, struct job_made **new, size_t n)
{
	struct workunit **wus = NEWN(&l->round, struct workunit *, n + 1);
	const char **docs = NEWN(&l->round, const char *, n + 1);
	struct cmd_ctx *x = l->x;

	for (size_t i = 0; i < n; i++) {
		wus[i] = &new[i]->wu;
		docs[i] = new[i]->xml_doc;
		wus[i]->create_time = l->now;
		wus[i]->inputs_counted = 1;
		wus[i]->transition_time = l->staged ? TRANSITION_STAGED : l->now;
	}
	if (n > 0)
		TRY(workunits_insert(x->db, &l->round, wus, docs, n, x->f));
	TRY(inputs_count(x, &l->round, docs, n));
	for (size_t i = 0; i < n; i++) {
		const struct target_of *t = &new[i]->target;

		if (t->given)
			TRY(assignment_row_add(
			    x->db, wus[i]->id, t->kind, t->id, t->multi, l->now, x->f));
		if (new[i]->batch != SIZE_MAX)
			l->m->batches.v[new[i]->batch].added++;
	}
	return OK;
}

/* What a step has found and done, kept only if its transaction was committed. */
struct step_done {
	struct load *l;
	int64_t *ids; /* staged */
	size_t nids;
	int64_t added, released;
};

static enum err
insert_in_tx(struct cmd_ctx *x, void *arg)
{
	struct step_done *d = arg;
	struct load *l = d->l;
	struct job_made **new = NEWN(&l->round, struct job_made *, l->n + 1);
	struct known k;
	size_t nnew = 0, at;

	d->ids = NEWN(&l->round, int64_t, l->n + 1);
	d->nids = 0;
	for (size_t i = 0; i < l->m->batches.n; i++)
		l->m->batches.v[i].added = 0;
	TRY(job_batches_hold(&l->m->batches));
	TRY(known_find(l, &k));
	for (size_t i = 0; i < l->n; i++) {
		if (!names_find(&k.names, l->made[i].wu.name, &at)) {
			new[nnew++] = &l->made[i];
			continue;
		}
		l->made[i].wu.id = k.wus[at].id;
		if (k.wus[at].transition_time == TRANSITION_STAGED)
			d->ids[d->nids++] = k.wus[at].id;
	}
	TRY(insert_new(l, new, nnew));
	for (size_t i = 0; l->staged && i < nnew; i++)
		d->ids[d->nids++] = new[i]->wu.id;
	d->added = (int64_t)nnew;
	if (!l->staged && d->nids > 0) {
		ids_sort(d->ids, d->nids);
		TRY(workunits_release(
		    x->db, d->ids, d->nids, l->now, &d->released, x->f));
	}
	return job_batches_save(&l->m->batches, !l->staged);
}

/* Inserts a step's jobs that are not there; another process may add the same ones. */
static enum err
insert_step(struct load *l)
{
	struct step_done d = { .l = l };
	enum err e = E_RACE;

	for (int i = 0; i < RACES_MOST && e == E_RACE; i++)
		e = tools_transaction(l->x, insert_in_tx, &d);
	if (e != OK)
		return e;
	l->counts->added += d.added;
	l->counts->released += d.released;
	for (size_t i = 0; l->staged && i < d.nids; i++)
		PUSH(l->x->a, l->ids, l->nids, l->ids_cap) = d.ids[i];
	if (l->n > 0) {
		l->last = l->made[l->n - 1].wu;
		l->last.name = arena_strdup(l->x->a, l->last.name);
	}
	return OK;
}

static enum err
insert_listed(struct load *l)
{
	struct progress p = progress_begin("adding jobs", l->counts->jobs);
	bool more = true;
	int64_t done = 0;
	enum err e = OK;

	job_file_rewind(l->file);
	while (e == OK && more) {
		l->now = clock_now();
		e = make_step(l, false, &more);
		if (e == OK && l->n > 0)
			e = insert_step(l);
		done += (int64_t)l->n;
		progress_set(&p, done);
	}
	progress_end(&p);
	l->counts->known = l->counts->jobs - l->counts->added;
	return e;
}

/* --- releasing --- */

struct release {
	struct load *l;
	const int64_t *ids;
	size_t n;
	int64_t released;
};

static enum err
release_in_tx(struct cmd_ctx *x, void *arg)
{
	struct release *r = arg;

	TRY(job_batches_hold(&r->l->m->batches));
	return workunits_release(x->db, r->ids, r->n, clock_now(), &r->released, x->f);
}

static enum err
start_in_tx(struct cmd_ctx *x, void *arg)
{
	struct load *l = arg;

	(void)x;
	for (size_t i = 0; i < l->m->batches.n; i++)
		l->m->batches.v[i].added = 0;
	TRY(job_batches_hold(&l->m->batches));
	return job_batches_save(&l->m->batches, true);
}

static enum err
release_jobs(struct load *l)
{
	struct progress p = progress_begin("releasing jobs", (int64_t)l->nids);
	enum err e = tools_transaction(l->x, start_in_tx, l);

	ids_sort(l->ids, l->nids);
	for (size_t i = 0; e == OK && i < l->nids; i += STEP) {
		struct release r = { .l = l,
			.ids = l->ids + i,
			.n = l->nids - i < STEP ? l->nids - i : STEP };

		e = tools_transaction(l->x, release_in_tx, &r);
		l->counts->released += e == OK ? r.released : 0;
		progress_set(&p, (int64_t)(i + r.n));
	}
	progress_end(&p);
	return e;
}

enum err
jobs_load(struct job_maker *m, struct job_file *file, bool dry,
    struct job_counts *counts, struct workunit *last)
{
	struct load l = { .x = m->x, .m = m, .file = file, .counts = counts };
	enum err e;

	*counts = (struct job_counts){ 0 };
	l.now = clock_now();
	m->batches.make = false;
	e = check_jobs(&l);
	if (e == OK && !dry) {
		l.staged = counts->jobs > STEP;
		m->batches.make = true;
		e = job_inputs_copy(&m->inputs);
		if (e == OK)
			e = insert_listed(&l);
		/* One may have gone before a workunit that needs it was counted. */
		if (e == OK)
			e = job_inputs_copy(&m->inputs);
		if (e == OK && l.staged)
			e = release_jobs(&l);
	}
	*last = l.last;
	arena_free(&l.round);
	return e;
}

enum err
job_load(struct job_maker *m, const struct job_row *row, bool dry,
    struct job_counts *counts, struct workunit *wu)
{
	struct load l = { .x = m->x, .m = m, .counts = counts, .n = 1 };
	enum err e;

	*counts = (struct job_counts){ .jobs = 1 };
	l.now = clock_now();
	l.made = NEW(&l.round, struct job_made);
	m->batches.make = false;
	e = job_make(m, &l.round, row, l.made);
	if (e == OK)
		e = check_known(&l);
	if (e == OK && !dry) {
		m->batches.make = true;
		if (l.made->batch != SIZE_MAX)
			e = job_batch_find(&m->batches,
			    m->batches.v[l.made->batch].name, &l.made->batch);
		if (e == OK && l.made->batch != SIZE_MAX)
			l.made->wu.batch = m->batches.v[l.made->batch].id;
		if (e == OK)
			e = job_inputs_copy(&m->inputs);
		if (e == OK)
			e = insert_step(&l);
		if (e == OK)
			e = job_inputs_copy(&m->inputs);
	}
	*wu = l.made->wu;
	wu->name = arena_strdup(m->x->a, wu->name);
	arena_free(&l.round);
	return e;
}

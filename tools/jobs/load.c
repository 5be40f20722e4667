/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes jobs into the database, in steps of one transaction each. All jobs are made
 * and compared with what is there before the first one is written; then they are made
 * again, piece by piece, so that a million needs no memory. More than one step's worth
 * is staged: no daemon sees it before the last one is in.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/job_batch.h"
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/names.h"
#include "lib/text.h"
#include "lib/xml.h"
#include "model/rows.h"
#include "proto/template.h"
#include "proto/template_check.h"
#include "tools/catalog.h"
#include "tools/upload_expire.h"
#include "tools/jobs/jobs.h"
#include "tools/terminal.h"
#include "tools/template.h"
#include "lib/banned.h"

/* The batches of jobs that are being added. */

enum { BATCHES_MOST = 1000 };

static enum err check_batch(
    const struct job_batches *b, const struct row_job_batch *row, size_t n)
{
	struct fail *f = b->x->f;

	if (n > 1)
		return FAIL(f, E_BADREQ,
		    "there are several batches %s; choose another name", row->name);
	if (row->app_id != b->app->id)
		return FAIL(f, E_BADREQ,
		    "batch %s is one of another app; choose another name", row->name);
	if (row->state == BATCH_ABORTED || row->state == BATCH_RETIRED)
		return FAIL(f, E_BADREQ, "batch %s was %s; choose another name",
		    row->name, row->state == BATCH_ABORTED ? "cancelled" : "retired");
	return OK;
}

/*
 * Finds the batch of a job, and its place in the list. E_BADREQ: it belongs to another
 * app, was cancelled or retired, or there are several of that name.
 */
static enum err job_batch_find(struct job_batches *b, const char *name, size_t *place)
{
	struct cmd_ctx *x = b->x;
	struct row_job_batch *row = NULL;
	size_t n = 1;
	enum err e;

	if (names_find(&b->names, name, place) && (b->v[*place].id != 0 || !b->make))
		return OK;
	e = job_batch_by_name(x->db, x->a, name, &row, &n, x->f);
	if (e == E_NOTFOUND && b->make) {
		n = 1;
		e = job_batch_make(
		    x->db, x->a, name, b->app->id, clock_now(), &row, x->f);
	}
	if (e != OK && e != E_NOTFOUND)
		return e;
	if (row != NULL)
		TRY(check_batch(b, row, n));
	if (!names_find(&b->names, name, place)) {
		if (b->n == BATCHES_MOST)
			return FAIL(
			    x->f, E_BADREQ, "more than %d batches", (int)BATCHES_MOST);
		*place = b->n;
		PUSH(x->a, b->v, b->n,
		    b->cap) = (struct batch_of){ .name = arena_strdup(x->a, name) };
		names_put(x->a, &b->names, b->v[*place].name, *place);
	}
	if (row != NULL) {
		b->v[*place].id = row->id;
		b->v[*place].state = row->state;
	}
	return OK;
}

static int batch_order(const void *a, const void *b)
{
	int64_t x = ((const struct batch_of *)a)->id,
		y = ((const struct batch_of *)b)->id;

	return (x > y) - (x < y);
}

/* Locks all batches of the list, by id. E_RACE: one was cancelled meanwhile. */
static enum err job_batches_hold(struct job_batches *b)
{
	struct cmd_ctx *x = b->x;
	struct batch_of *v = b->v;
	int64_t state;

	if (b->n > 1) { /* by id: the order of locks */
		v = arena_memdup(x->a, b->v, mul_or_die(b->n, sizeof(*v)));
		qsort(v, b->n, sizeof(*v), batch_order);
	}
	for (size_t i = 0; i < b->n; i++) {
		enum err e = job_batch_hold(x->db, v[i].id, &state, x->f);

		if (e != OK && e != E_NOTFOUND)
			return e;
		if (e == E_NOTFOUND || state == BATCH_ABORTED || state == BATCH_RETIRED)
			return FAIL(x->f, E_BADREQ,
			    "batch %s was cancelled while its jobs were being added; no more of them are released",
			    v[i].name);
	}
	return OK;
}

/* Adds the counts `added` to the rows, sets these to 0, and ends BATCH_INIT if started.
 */
static enum err job_batches_save(struct job_batches *b, bool started)
{
	struct cmd_ctx *x = b->x;

	for (size_t i = 0; i < b->n; i++) {
		struct batch_of *v = &b->v[i];

		if (v->added > 0)
			TRY(job_batch_grow(x->db, v->id, v->added, x->f));
		if (started) {
			enum err e = job_batch_move(
			    x->db, v->id, BATCH_INIT, BATCH_IN_PROGRESS, x->f);
			if (e == E_RACE) /* it has started before, or is over */
				e = job_batch_move(x->db, v->id, BATCH_COMPLETE,
				    BATCH_IN_PROGRESS, x->f);
			if (e != OK && e != E_RACE)
				return e;
		}
	}
	return OK;
}

/* Makes workunits of jobs: names, files, limits, and what the templates say. */

enum { FILES_MOST = 1000 };

static char *template_path(
    struct cmd_ctx *x, const char *given, const char *app, const char *kind)
{
	return tmpl_path(
	    x->a, given != NULL ? given : arena_printf(x->a, "%s_%s.xml", app, kind));
}

enum err job_maker_init(struct cmd_ctx *x, const struct app *app, const char *in,
    const char *out, struct job_maker *m)
{
	char *text;

	*m = (struct job_maker){ .x = x,
		.app = app,
		.inputs = { .x = x, .app = app },
		.batches = { .x = x, .app = app },
		.in = template_path(x, in, app->name, "in"),
		.out = template_path(x, out, app->name, "out") };
	TRY(tmpl_path_check(m->out, x->f));
	TRY(fs_read(x->a, project_path(x->a, x->cf, m->out), TMPL_BYTES_MAX, &text,
	    NULL, x->f));
	TRY(template_check_out(x, m->out, text));
	TRY(fs_read(
	    x->a, project_path(x->a, x->cf, m->in), TMPL_BYTES_MAX, &text, NULL, x->f));
	TRY(tmpl_check_elements(x->a, text, false, m->in, x->f));
	m->text = text;
	return OK;
}

/* The part of the name that the job itself chooses; NULL = none. */
static const char *own_name(
    const struct job_maker *m, struct arena *a, const struct job_row *row)
{
	const char *batch = row->batch != NULL ? row->batch : m->batch;
	char random[9];

	if (row->name != NULL)
		return row->name;
	if (row->from != NULL && row->to != NULL)
		return arena_printf(a, "%s_%s", row->from, row->to);
	if (row->line > 0)
		return batch == NULL ? NULL :
		                       arena_printf(a, "%s_%" PRId64, batch, row->line);
	random_hex(random, 8);
	return arena_printf(a, "%lld_%s", (long long)clock_now(), random);
}

/* Names the workunit: a job of a large file is called FILE__something (locality.md 1.1
 * (L2)). */
static enum err name_workunit(const struct job_maker *m, struct arena *a,
    const struct job_row *row, const struct fileset *set, struct job_made *made)
{
	const char *tail = own_name(m, a, row);

	if (tail == NULL)
		return FAIL(m->x->f, E_BADREQ,
		    "the job has no name, so it could be added twice: give name, from and to, or a batch");
	if (set != NULL && strstr(tail, "__") == NULL)
		made->wu.name = arena_printf(a, "%s__%s", set->name, tail);
	else if (set != NULL || row->name != NULL)
		made->wu.name = arena_strdup(a, tail);
	else
		made->wu.name = arena_printf(a, "%s_%s", m->app->name, tail);
	return wu_name_check(a, made->wu.name, set == NULL ? NULL : set->name, m->x->f);
}

/* Collects the input files: the large ones first, sorted by name, as templates number
 * them. */
static enum err gather_files(struct job_maker *m, struct arena *a,
    const struct job_row *row, const struct job_set *set, struct input_file **files,
    size_t *n)
{
	size_t nlarge = set == NULL ? 0 : set->n, place;

	if (row->inputs.n > FILES_MOST)
		return FAIL(
		    m->x->f, E_BADREQ, "at most %d input files", (int)FILES_MOST);
	*n = nlarge + row->inputs.n;
	*files = NEWN(a, struct input_file, *n + 1);
	for (size_t i = 0; i < nlarge; i++)
		(*files)[i] = set->files[i];
	for (size_t i = 0; i < row->inputs.n; i++) {
		TRY(job_input_find(&m->inputs, row->inputs.v[i], &place));
		(*files)[nlarge + i] = m->inputs.inputs[place].file;
	}
	return OK;
}

/* Limits of the job itself go before those of the template. */
static void take_limits(const struct job_row *row, struct workunit *wu)
{
	if (row->priority >= 0)
		wu->priority = (int32_t)row->priority;
	if (row->delay_bound >= 0)
		wu->delay_bound = row->delay_bound;
	if (row->rsc_fpops_est >= 0)
		wu->rsc_fpops_est = row->rsc_fpops_est;
	if (row->rsc_fpops_bound >= 0)
		wu->rsc_fpops_bound = row->rsc_fpops_bound;
	if (row->rsc_memory_bound >= 0)
		wu->rsc_memory_bound = row->rsc_memory_bound;
	if (row->rsc_disk_bound >= 0)
		wu->rsc_disk_bound = row->rsc_disk_bound;
	if (row->rsc_bandwidth_bound >= 0)
		wu->rsc_bandwidth_bound = row->rsc_bandwidth_bound;
}

/* Words of capitals between percent signs that nothing has replaced. */
static void warn_placeholders(struct job_maker *m, struct arena *a, const char *xml)
{
	const char *line = xml_between(a, xml, "command_line");

	for (const char *p = line; p != NULL && (p = strchr(p, '%')) != NULL; p++) {
		size_t n = strspn(p + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
		const char *word = arena_memdup(a, p, n + 2);
		bool range = strcmp(word, "%FROM%") == 0 || strcmp(word, "%TO%") == 0;

		if (n < 2 || p[n + 1] != '%' || m->warned)
			continue;
		fprintf(stderr,
		    "locus: warning: nothing replaces %s in the command line: the program gets it as it is%s\n",
		    word, range ? "; give --from and --to" : "");
		m->warned = true;
	}
}

static enum err fill_template(struct job_maker *m, struct arena *a,
    const struct job_row *row, const struct job_set *set, struct job_made *made)
{
	const struct word words[] = { { "%FILE%", set == NULL ? "" : set->set->name },
		{ "%FROM%", row->from == NULL ? "%FROM%" : row->from },
		{ "%TO%", row->to == NULL ? "%TO%" : row->to } };
	struct input_file *files;
	struct fail *f = m->x->f;
	size_t n;

	TRY(gather_files(m, a, row, set, &files, &n));
	if (blob_workunit(a, words_fill(a, m->text, words, N(words)), files, n,
		row->arguments, &made->wu, &made->xml_doc, f) != OK ||
	    blob_large_files(a, made->xml_doc, n - row->inputs.n, f) != OK)
		return FAIL(f, E_BADREQ, "%s: %.300s", m->in, f->detail);
	warn_placeholders(m, a, made->xml_doc);
	TRY(blob_adaptive(m->app, &made->wu, f));
	take_limits(row, &made->wu);
	if ((row->rsc_fpops_est >= 0 || row->rsc_fpops_bound >= 0) &&
	    made->wu.rsc_fpops_bound < made->wu.rsc_fpops_est)
		return FAIL(f, E_BADREQ,
		    "rsc_fpops_bound %.4g is below rsc_fpops_est %.4g: every host would abort the job",
		    made->wu.rsc_fpops_bound, made->wu.rsc_fpops_est);
	return OK;
}

/* Finds the hosts that the job is for; each target is looked up once. */
static enum err find_target(struct job_maker *m, struct arena *a,
    const struct job_row *row, struct target_of *target)
{
	struct cmd_ctx *x = m->x;
	struct target_opts o = { .host = row->host > 0 ? row->host : 0,
		.team = row->team > 0 ? row->team : 0,
		.user = row->user,
		.all = row->all,
		.every = row->every };
	const char *key;
	size_t place;

	if (o.host == 0 && o.team == 0 && o.user == NULL && !o.all && !o.every)
		return OK;
	key = arena_printf(a, "%" PRId64 " %" PRId64 " %d%d %s", o.host, o.team, o.all,
	    o.every, o.user == NULL ? "" : o.user);
	if (!names_find(&m->target_names, key, &place)) {
		TRY(target_find(x, &o, target));
		place = m->ntargets;
		PUSH(x->a, m->targets, m->ntargets, m->targets_cap) = *target;
		names_put(x->a, &m->target_names, arena_strdup(x->a, key), place);
	}
	*target = m->targets[place];
	return OK;
}

/* Makes the workunit of a job in the arena. E_BADREQ or E_NOTFOUND: the job is wrong.
 */
static enum err job_make(struct job_maker *m, struct arena *a,
    const struct job_row *row, struct job_made *made)
{
	const char *batch = row->batch != NULL ? row->batch : m->batch;
	const struct job_set *set;

	*made = (struct job_made){ .row = row,
		.wu = { .size_class = -1, .appid = m->app->id },
		.batch = SIZE_MAX };
	if ((row->from == NULL) != (row->to == NULL))
		return ctx_usage(m->x, "from and to must be given together");
	TRY(find_target(m, a, row, &made->target));
	TRY(job_set_find(&m->inputs, row, &set));
	TRY(name_workunit(m, a, row, set == NULL ? NULL : set->set, made));
	made->wu.result_template_file = m->out;
	TRY(fill_template(m, a, row, set, made));
	made->wu.fileset_id = set == NULL ? 0 : set->set->id;
	if (made->target.given)
		made->wu.transitioner_flags = made->target.multi ? WU_BROADCAST :
		                                                   WU_TARGETED;
	if (batch == NULL)
		return OK;
	TRY(job_batch_find(&m->batches, batch, &made->batch));
	made->wu.batch = m->batches.v[made->batch].id;
	if (made->wu.batch == 0) /* it is not made yet, so no workunit is in it */
		made->wu.batch = -1;
	return OK;
}

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

static enum err known_find(struct load *l, struct known *k)
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
static const char *difference(
    const struct job_made *made, const struct workunit *is, const char *doc)
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

static void load_problem(struct load *l, const struct job_row *row, const char *text)
{
	if (l->file != NULL)
		job_problem(&l->file->problems, row->line, "%s", text);
	l->x->status = 0; /* the whole file decides */
	l->x->f->code = OK;
}

/* A name that the file has twice is a mistake. */
static void check_name(struct load *l, const struct job_made *made)
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
static enum err make_step(struct load *l, bool report, bool *more)
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
		/* After an error of the job itself the next jobs can be checked. */
		if (e != OK && !(report && (e == E_BADREQ || e == E_NOTFOUND)))
			return e;
		if (e != OK)
			load_problem(l, row, l->x->f->detail);
		else if (++l->n > 0 && report)
			check_name(l, &l->made[l->n - 1]);
	}
	return OK;
}

/* Compares the jobs of a step with the workunits of their names. */
static enum err check_known(struct load *l)
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

static enum err check_jobs(struct load *l)
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
	if (e != OK)
		return e;
	if (problems->n > 0)
		return FAIL(l->x->f, E_BADREQ, "%s: %zu mistakes; nothing was added",
		    problems->path, problems->n);
	if (l->counts->jobs == 0)
		return FAIL(
		    l->x->f, E_BADREQ, "%s: there are no jobs in it", l->file->path);
	return OK;
}

/* --- inserting --- */

static enum err insert_new(struct load *l, struct job_made **new, size_t n)
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

static enum err insert_in_tx(struct cmd_ctx *x, void *arg)
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
static enum err insert_step(struct load *l)
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

static enum err insert_listed(struct load *l)
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

static enum err release_in_tx(struct cmd_ctx *x, void *arg)
{
	struct release *r = arg;

	TRY(job_batches_hold(&r->l->m->batches));
	return workunits_release(x->db, r->ids, r->n, clock_now(), &r->released, x->f);
}

static enum err start_in_tx(struct cmd_ctx *x, void *arg)
{
	struct load *l = arg;

	(void)x;
	for (size_t i = 0; i < l->m->batches.n; i++)
		l->m->batches.v[i].added = 0;
	TRY(job_batches_hold(&l->m->batches));
	return job_batches_save(&l->m->batches, true);
}

static enum err release_jobs(struct load *l)
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

static enum err load_file(struct load *l, bool dry)
{
	struct job_maker *m = l->m;

	m->batches.make = false;
	TRY(check_jobs(l));
	if (dry)
		return OK;
	l->staged = l->counts->jobs > STEP;
	m->batches.make = true;
	TRY(job_inputs_copy(&m->inputs));
	TRY(insert_listed(l));
	/* One may have gone before a workunit that needs it was counted. */
	TRY(job_inputs_copy(&m->inputs));
	return l->staged ? release_jobs(l) : OK;
}

enum err jobs_load(struct job_maker *m, struct job_file *file, bool dry,
    struct job_counts *counts, struct workunit *last)
{
	struct load l = { .x = m->x, .m = m, .file = file, .counts = counts };
	enum err e;

	*counts = (struct job_counts){ 0 };
	l.now = clock_now();
	e = load_file(&l, dry);
	*last = l.last;
	arena_free(&l.round);
	return e;
}

static enum err load_one(struct load *l, const struct job_row *row, bool dry)
{
	struct job_maker *m = l->m;

	m->batches.make = false;
	TRY(job_make(m, &l->round, row, l->made));
	TRY(check_known(l));
	if (dry)
		return OK;
	m->batches.make = true;
	if (l->made->batch != SIZE_MAX) {
		TRY(job_batch_find(
		    &m->batches, m->batches.v[l->made->batch].name, &l->made->batch));
		if (l->made->batch != SIZE_MAX)
			l->made->wu.batch = m->batches.v[l->made->batch].id;
	}
	TRY(job_inputs_copy(&m->inputs));
	TRY(insert_step(l));
	return job_inputs_copy(&m->inputs);
}

enum err job_load(struct job_maker *m, const struct job_row *row, bool dry,
    struct job_counts *counts, struct workunit *wu)
{
	struct load l = { .x = m->x, .m = m, .counts = counts, .n = 1 };
	enum err e;

	*counts = (struct job_counts){ .jobs = 1 };
	l.now = clock_now();
	l.made = NEW(&l.round, struct job_made);
	e = load_one(&l, row, dry);
	*wu = l.made->wu;
	wu->name = arena_strdup(m->x->a, wu->name);
	arena_free(&l.round);
	return e;
}

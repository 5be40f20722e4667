/* SPDX-License-Identifier: Apache-2.0 */
/* A project's rows: looking them up, following references, dropping unused ones. */
#include "client/state.h"

#include <string.h>
#include "lib/banned.h"

/* --- by name --- */

/* Sets *i to the row with the name, or to the first row that the index does not cover.
 * An index of rows that are gone covers nothing. */
static bool find_indexed(
    const struct rows_index *ix, size_t nrows, const char *name, size_t *i)
{
	*i = 0;
	if (ix->n > nrows)
		return false;
	if (names_find(&ix->by_name, name, i))
		return true;
	*i = ix->n;
	return false;
}

/* Indexes the rows up to n; their names are strings at intervals of size bytes. */
static void extend_index(
    struct arena *a, struct rows_index *ix, const void *names, size_t size, size_t n)
{
	if (ix->n > n)
		*ix = (struct rows_index){ 0 };
	for (; ix->n < n; ix->n++)
		names_put(a, &ix->by_name,
		    *(const char *const *)((const char *)names + ix->n * size), ix->n);
}

void state_index(struct arena *a, struct cproject *p)
{
	if (p->nfiles > 0)
		extend_index(a, &p->file_index, &p->files->info.name, sizeof(*p->files),
		    p->nfiles);
	if (p->nworkunits > 0)
		extend_index(a, &p->workunit_index, &p->workunits->name,
		    sizeof(*p->workunits), p->nworkunits);
	if (p->ntasks > 0)
		extend_index(
		    a, &p->task_index, &p->tasks->r.name, sizeof(*p->tasks), p->ntasks);
}

struct cfile *state_file(const struct cproject *p, const char *name)
{
	size_t i;

	if (find_indexed(&p->file_index, p->nfiles, name, &i) &&
	    strcmp(p->files[i].info.name, name) == 0)
		return &p->files[i];
	for (; i < p->nfiles; i++)
		if (strcmp(p->files[i].info.name, name) == 0)
			return &p->files[i];
	return NULL;
}

struct rp_app *state_app(const struct cproject *p, const char *name)
{
	for (size_t i = 0; i < p->napps; i++)
		if (strcmp(p->apps[i].name, name) == 0)
			return &p->apps[i];
	return NULL;
}

struct rp_workunit *state_workunit(const struct cproject *p, const char *name)
{
	size_t i;

	if (find_indexed(&p->workunit_index, p->nworkunits, name, &i) &&
	    strcmp(p->workunits[i].name, name) == 0)
		return &p->workunits[i];
	for (; i < p->nworkunits; i++)
		if (strcmp(p->workunits[i].name, name) == 0)
			return &p->workunits[i];
	return NULL;
}

struct ctask *state_task(const struct cproject *p, const char *name)
{
	size_t i;

	if (find_indexed(&p->task_index, p->ntasks, name, &i) &&
	    strcmp(p->tasks[i].r.name, name) == 0)
		return &p->tasks[i];
	for (; i < p->ntasks; i++)
		if (strcmp(p->tasks[i].r.name, name) == 0)
			return &p->tasks[i];
	return NULL;
}

struct rp_app_version *state_version(
    const struct cproject *p, const char *app_name, const struct rp_result *r)
{
	for (size_t i = 0; i < p->nversions; i++) {
		struct rp_app_version *v = &p->versions[i];

		if (strcmp(v->app_name, app_name) == 0 &&
		    v->version_num == r->version_num &&
		    strcmp(v->platform, r->platform) == 0 &&
		    strcmp(v->plan_class, r->plan_class) == 0)
			return v;
	}
	return NULL;
}

struct rp_app_version *task_version(const struct cproject *p, const struct ctask *t)
{
	const struct rp_workunit *wu = state_workunit(p, t->r.wu_name);

	return wu == NULL ? NULL : state_version(p, wu->app_name, &t->r);
}

const struct rp_app *task_app(const struct cproject *p, const struct ctask *t)
{
	static const struct rp_app unknown = { 0 };
	const struct rp_workunit *wu = state_workunit(p, t->r.wu_name);
	const struct rp_app *app = wu == NULL ? NULL : state_app(p, wu->app_name);

	return app == NULL ? &unknown : app;
}

static bool all_known(
    const struct cproject *p, const struct rp_file_ref *refs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (state_file(p, refs[i].file_name) == NULL)
			return false;
	return true;
}

bool state_is_app_file(const struct cproject *p, const char *name)
{
	for (size_t i = 0; i < p->nversions; i++)
		for (size_t k = 0; k < p->versions[i].nrefs; k++)
			if (strcmp(p->versions[i].refs[k].file_name, name) == 0)
				return true;
	return false;
}

const char *state_lacks(const struct cproject *p, const struct rp_result *r)
{
	const struct rp_workunit *wu = state_workunit(p, r->wu_name);
	const struct rp_app_version *v;

	if (wu == NULL)
		return "its workunit is missing";
	v = state_version(p, wu->app_name, r);
	if (v == NULL)
		return "no such application version";
	if (!all_known(p, v->refs, v->nrefs))
		return "a file of its version is missing";
	if (!all_known(p, wu->refs, wu->nrefs))
		return "an input file is missing";
	if (!all_known(p, r->refs, r->nrefs))
		return "an output file is missing";
	return NULL;
}

static void mark_referenced_files(
    const struct cproject *p, const struct rp_file_ref *refs, size_t n, bool *on)
{
	for (size_t i = 0; i < n; i++) {
		const struct cfile *f = state_file(p, refs[i].file_name);

		if (f != NULL)
			on[f - p->files] = true;
	}
}

bool *state_wanted(struct arena *a, const struct cproject *p)
{
	bool *wanted = NEWN(a, bool, p->nfiles + 1);

	for (size_t i = 0; i < p->ntasks; i++) {
		const struct ctask *t = &p->tasks[i];
		const struct rp_workunit *wu = state_workunit(p, t->r.wu_name);
		const struct rp_app_version *v = task_version(p, t);

		if (t->ready)
			continue;
		mark_referenced_files(p, wu->refs, wu->nrefs, wanted);
		mark_referenced_files(p, v->refs, v->nrefs, wanted);
	}
	return wanted;
}

bool file_listed(const struct cfile *f)
{
	return f->info.sticky || f->info.report_on_rpc;
}

bool file_expired(const struct cfile *f, int64_t now)
{
	return f->info.sticky && f->info.sticky_lifetime > 0 &&
	       (double)now >= (double)f->told_at + f->info.sticky_lifetime;
}

/* --- what is dropped --- */

/* The newest version of each kind stays, so that the next task need not download its
 * files. */
static bool is_newest(const struct cproject *p, const struct rp_app_version *v)
{
	for (size_t i = 0; i < p->nversions; i++) {
		const struct rp_app_version *w = &p->versions[i];

		if (w->version_num > v->version_num &&
		    strcmp(w->app_name, v->app_name) == 0 &&
		    strcmp(w->platform, v->platform) == 0 &&
		    strcmp(w->plan_class, v->plan_class) == 0)
			return false;
	}
	return true;
}

static bool app_needed(const struct cproject *p, const struct rp_app *app)
{
	for (size_t i = 0; i < p->nversions; i++)
		if (strcmp(p->versions[i].app_name, app->name) == 0)
			return true;
	return false;
}

#define COPY(a, rows, n) arena_memdup((a), (rows), mul_or_die(sizeof(*(rows)), (n)))
/* Keeps only the marked ones of n rows. */
#define KEEP_MARKED(rows, n, mark)                                                     \
	do {                                                                           \
		size_t left = 0;                                                       \
		for (size_t i = 0; i < (n); i++)                                       \
			if ((mark)[i])                                                 \
				(rows)[left++] = (rows)[i];                            \
		(n) = left;                                                            \
	} while (0)

void state_drop_rows(struct cproject *p, struct arena *a)
{
	bool *tasks = NEWN(a, bool, p->ntasks + 1);
	bool *workunits = NEWN(a, bool, p->nworkunits + 1);
	bool *versions = NEWN(a, bool, p->nversions + 1);
	bool *apps = NEWN(a, bool, p->napps + 1);

	p->tasks = COPY(a, p->tasks, p->ntasks);
	p->workunits = COPY(a, p->workunits, p->nworkunits);
	p->versions = COPY(a, p->versions, p->nversions);
	p->apps = COPY(a, p->apps, p->napps);
	/* Marks the rows that tasks which are not acked refer to. */
	for (size_t i = 0; i < p->ntasks; i++) {
		const struct ctask *t = &p->tasks[i];
		const struct rp_workunit *wu = state_workunit(p, t->r.wu_name);
		const struct rp_app_version *v = task_version(p, t);

		tasks[i] = !t->acked;
		if (t->acked)
			continue;
		if (wu != NULL)
			workunits[wu - p->workunits] = true;
		if (v != NULL)
			versions[v - p->versions] = true;
	}
	for (size_t i = 0; i < p->nversions; i++)
		versions[i] |= is_newest(p, &p->versions[i]);
	KEEP_MARKED(p->tasks, p->ntasks, tasks);
	KEEP_MARKED(p->workunits, p->nworkunits, workunits);
	KEEP_MARKED(p->versions, p->nversions, versions);
	for (size_t i = 0; i < p->napps; i++)
		apps[i] = app_needed(p, &p->apps[i]);
	KEEP_MARKED(p->apps, p->napps, apps);
	p->task_index = p->workunit_index = (struct rows_index){ 0 };
}

void state_drop_files(
    struct cproject *p, struct arena *a, struct dropped *dropped, size_t *ndropped)
{
	const char *url = arena_strdup(a, p->master_url);
	bool *needed = NEWN(a, bool, p->nfiles + 1);

	for (size_t i = 0; i < p->nversions; i++)
		mark_referenced_files(
		    p, p->versions[i].refs, p->versions[i].nrefs, needed);
	for (size_t i = 0; i < p->nworkunits; i++)
		mark_referenced_files(
		    p, p->workunits[i].refs, p->workunits[i].nrefs, needed);
	for (size_t i = 0; i < p->ntasks; i++)
		mark_referenced_files(
		    p, p->tasks[i].r.refs, p->tasks[i].r.nrefs, needed);
	for (size_t i = 0; i < p->nfiles; i++) {
		const struct cfile *f = &p->files[i];

		needed[i] |= f->info.sticky && f->status == FS_PRESENT;
		if (!needed[i])
			dropped[(*ndropped)++] = (struct dropped){ url,
				arena_strdup(a, f->info.name) };
	}
	p->files = COPY(a, p->files, p->nfiles);
	KEEP_MARKED(p->files, p->nfiles, needed);
	p->file_index = (struct rows_index){ 0 };
}

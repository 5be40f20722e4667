/* SPDX-License-Identifier: Apache-2.0 */
/* The host's rows, kept as JSON. */
#include "client/state.h"

#include <stdlib.h>
#include <string.h>
#include "client/fields.h"
#include "lib/buf.h"
#include "lib/fs.h"
#include "lib/banned.h"

enum { STATE_MAX = 256 << 20 };

#define AT(T, name, type)                                                              \
	{                                                                              \
#name, type, offsetof(struct T, name), 0, 0, NULL                      \
	}
#define STRINGS(T, name)                                                               \
	{                                                                              \
#name, F_STRINGS, offsetof(struct T, name),                            \
		    offsetof(struct T, n##name), 0, NULL                               \
	}
#define ROWS(T, name, R, table)                                                        \
	{                                                                              \
#name, F_ROWS, offsetof(struct T, name), offsetof(struct T, n##name),  \
		    sizeof(struct R), table                                            \
	}
#define EMBEDDED(T, name, table)                                                       \
	{                                                                              \
#name, F_ROW, offsetof(struct T, name), 0, 0, table                    \
	}
#define END                                                                            \
	{                                                                              \
		NULL, F_STR, 0, 0, 0, NULL                                             \
	}

#include "client/state_fields.def"

static const double SHARE = 100; /* of a project that does not tell */

struct cproject *
state_project(const struct state *st, const char *master_url)
{
	for (size_t i = 0; i < st->nprojects; i++)
		if (strcmp(st->projects[i].master_url, master_url) == 0)
			return &st->projects[i];
	return NULL;
}

static struct cproject
fresh_project(void)
{
	return (struct cproject){ .share = SHARE, .dcf = 1 };
}

static int
by_url(const void *a, const void *b)
{
	const struct cproject *p = a, *q = b;

	return strcmp(p->master_url, q->master_url);
}

struct cproject *
state_add(struct arena *a, struct state *st, const char *master_url)
{
	struct cproject *all = NEWN(a, struct cproject, st->nprojects + 1);

	if (st->nprojects > 0)
		memcpy(all, st->projects, st->nprojects * sizeof(*all));
	all[st->nprojects] = fresh_project();
	all[st->nprojects].master_url = arena_strdup(a, master_url);
	st->projects = all;
	st->nprojects++;
	qsort(all, st->nprojects, sizeof(*all), by_url);
	return state_project(st, master_url);
}

void
state_remove(struct state *st, const char *master_url)
{
	size_t n = 0;

	for (size_t i = 0; i < st->nprojects; i++)
		if (strcmp(st->projects[i].master_url, master_url) != 0)
			st->projects[n++] = st->projects[i];
	st->nprojects = n;
}

struct standing *
state_standing(struct arena *a, struct cproject *p, const char *resource)
{
	struct standing *all;

	for (size_t i = 0; i < p->nstandings; i++)
		if (strcmp(p->standings[i].name, resource) == 0)
			return &p->standings[i];
	all = NEWN(a, struct standing, p->nstandings + 1);
	if (p->nstandings > 0)
		memcpy(all, p->standings, p->nstandings * sizeof(*all));
	p->standings = all;
	all[p->nstandings].name = arena_strdup(a, resource);
	return &all[p->nstandings++];
}

struct cfile *
state_file(const struct cproject *p, const char *name)
{
	for (size_t i = 0; i < p->nfiles; i++)
		if (strcmp(p->files[i].info.name, name) == 0)
			return &p->files[i];
	return NULL;
}

struct rp_app *
state_app(const struct cproject *p, const char *name)
{
	for (size_t i = 0; i < p->napps; i++)
		if (strcmp(p->apps[i].name, name) == 0)
			return &p->apps[i];
	return NULL;
}

struct rp_workunit *
state_workunit(const struct cproject *p, const char *name)
{
	for (size_t i = 0; i < p->nworkunits; i++)
		if (strcmp(p->workunits[i].name, name) == 0)
			return &p->workunits[i];
	return NULL;
}

struct ctask *
state_task(const struct cproject *p, const char *name)
{
	for (size_t i = 0; i < p->ntasks; i++)
		if (strcmp(p->tasks[i].r.name, name) == 0)
			return &p->tasks[i];
	return NULL;
}

struct rp_app_version *
state_version(const struct cproject *p, const char *app_name, const struct rp_result *r)
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

struct rp_app_version *
task_version(const struct cproject *p, const struct ctask *t)
{
	const struct rp_workunit *wu = state_workunit(p, t->r.wu_name);

	return wu == NULL ? NULL : state_version(p, wu->app_name, &t->r);
}

const struct rp_app *
task_app(const struct cproject *p, const struct ctask *t)
{
	static const struct rp_app unknown = { 0 };
	const struct rp_workunit *wu = state_workunit(p, t->r.wu_name);
	const struct rp_app *app = wu == NULL ? NULL : state_app(p, wu->app_name);

	return app == NULL ? &unknown : app;
}

static bool
refers(const struct rp_file_ref *refs, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(refs[i].file_name, name) == 0)
			return true;
	return false;
}

static bool
all_known(const struct cproject *p, const struct rp_file_ref *refs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (state_file(p, refs[i].file_name) == NULL)
			return false;
	return true;
}

bool
state_is_app_file(const struct cproject *p, const char *name)
{
	for (size_t i = 0; i < p->nversions; i++)
		if (refers(p->versions[i].refs, p->versions[i].nrefs, name))
			return true;
	return false;
}

const char *
state_lacks(const struct cproject *p, const struct rp_result *r)
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

bool
state_wants(const struct cproject *p, const char *name)
{
	for (size_t i = 0; i < p->ntasks; i++) {
		const struct ctask *t = &p->tasks[i];
		const struct rp_workunit *wu = state_workunit(p, t->r.wu_name);
		const struct rp_app_version *v = task_version(p, t);

		if (!t->ready && (refers(wu->refs, wu->nrefs, name) ||
				     refers(v->refs, v->nrefs, name)))
			return true;
	}
	return false;
}

bool
file_listed(const struct cfile *f)
{
	return f->info.sticky || f->info.report_on_rpc;
}

bool
file_expired(const struct cfile *f, int64_t now)
{
	return f->info.sticky && f->info.sticky_lifetime > 0 &&
	       (double)now >= (double)f->told_at + f->info.sticky_lifetime;
}

/* --- what is dropped --- */

static bool
file_needed(const struct cproject *p, const struct cfile *f)
{
	const char *name = f->info.name;

	if (f->info.sticky && f->status == FS_PRESENT)
		return true;
	for (size_t i = 0; i < p->nversions; i++)
		if (refers(p->versions[i].refs, p->versions[i].nrefs, name))
			return true;
	for (size_t i = 0; i < p->nworkunits; i++)
		if (refers(p->workunits[i].refs, p->workunits[i].nrefs, name))
			return true;
	for (size_t i = 0; i < p->ntasks; i++)
		if (refers(p->tasks[i].r.refs, p->tasks[i].r.nrefs, name))
			return true;
	return false;
}

static bool
workunit_needed(const struct cproject *p, const struct rp_workunit *wu)
{
	for (size_t i = 0; i < p->ntasks; i++)
		if (strcmp(p->tasks[i].r.wu_name, wu->name) == 0)
			return true;
	return false;
}

/* The newest version of its kind stays: its files need not travel for the next task. */
static bool
version_needed(const struct cproject *p, const struct rp_app_version *v)
{
	bool newest = true;

	for (size_t i = 0; i < p->nversions; i++) {
		const struct rp_app_version *w = &p->versions[i];

		newest = newest && !(w->version_num > v->version_num &&
				       strcmp(w->app_name, v->app_name) == 0 &&
				       strcmp(w->platform, v->platform) == 0 &&
				       strcmp(w->plan_class, v->plan_class) == 0);
	}
	for (size_t i = 0; i < p->ntasks && !newest; i++)
		if (task_version(p, &p->tasks[i]) == v)
			return true;
	return newest;
}

static bool
app_needed(const struct cproject *p, const struct rp_app *app)
{
	for (size_t i = 0; i < p->nversions; i++)
		if (strcmp(p->versions[i].app_name, app->name) == 0)
			return true;
	return false;
}

/* The rows are copied, as the old ones are to stay as they are if the save fails. */
#define COPY(a, rows, n) arena_memdup((a), (rows), mul_or_die(sizeof(*(rows)), (n)))

static void
drop_rows(struct cproject *p, struct arena *a)
{
	bool *keep = NEWN(a, bool, p->nversions + 1);
	size_t n = 0;

	p->tasks = COPY(a, p->tasks, p->ntasks);
	p->workunits = COPY(a, p->workunits, p->nworkunits);
	p->versions = COPY(a, p->versions, p->nversions);
	p->apps = COPY(a, p->apps, p->napps);
	p->files = COPY(a, p->files, p->nfiles);
	for (size_t i = 0; i < p->ntasks; i++)
		if (!p->tasks[i].acked)
			p->tasks[n++] = p->tasks[i];
	p->ntasks = n;
	n = 0;
	for (size_t i = 0; i < p->nworkunits; i++)
		if (workunit_needed(p, &p->workunits[i]))
			p->workunits[n++] = p->workunits[i];
	p->nworkunits = n;
	n = 0;
	for (size_t i = 0; i < p->nversions; i++)
		keep[i] = version_needed(p, &p->versions[i]);
	for (size_t i = 0; i < p->nversions; i++)
		if (keep[i])
			p->versions[n++] = p->versions[i];
	p->nversions = n;
	n = 0;
	for (size_t i = 0; i < p->napps; i++)
		if (app_needed(p, &p->apps[i]))
			p->apps[n++] = p->apps[i];
	p->napps = n;
}

static void
drop_files(
    struct cproject *p, struct arena *a, struct dropped *dropped, size_t *ndropped)
{
	const char *url = arena_strdup(a, p->master_url);
	size_t n = 0;

	for (size_t i = 0; i < p->nfiles; i++)
		if (file_needed(p, &p->files[i]))
			p->files[n++] = p->files[i];
		else
			dropped[(*ndropped)++] = (struct dropped){ url,
				arena_strdup(a, p->files[i].info.name) };
	p->nfiles = n;
}

/* *st is a copy already, its projects are not. */
static void
drop(struct state *st, struct arena *a, struct dropped **dropped, size_t *ndropped)
{
	size_t nfiles = 0;

	*ndropped = 0;
	st->projects = COPY(a, st->projects, st->nprojects);
	for (size_t i = 0; i < st->nprojects; i++)
		nfiles += st->projects[i].nfiles;
	*dropped = NEWN(a, struct dropped, nfiles + 1);
	for (size_t i = 0; i < st->nprojects; i++) {
		drop_rows(&st->projects[i], a);
		drop_files(&st->projects[i], a, *dropped, ndropped);
	}
}

/* --- the file --- */

static double
sound(double x, double least, double most, double otherwise)
{
	return x >= least && x <= most ? x : otherwise;
}

/* Numbers that a hand spoiled: better none than those. */
static void
check_numbers(struct cproject *p)
{
	p->share = sound(p->share, 0, 1e12, SHARE);
	p->dcf = sound(p->dcf, 0.01, 100, 1);
	if (p->rpc.nrpc_failures < 0 || p->rpc.nmaster_failures < 0 ||
	    p->rpc.ntask_failures < 0)
		p->rpc = (struct cw_rpc){ 0 };
}

static bool
is_part(double x)
{
	return x > 0 && x <= 1;
}

/* Something else, or edited by hand, must not bring us down later. */
static enum err
check_project(struct cproject *p, const char *path, struct fail *f)
{
	size_t n = 0;

	if (p->master_url == NULL || p->master_url[0] == '\0' ||
	    p->authenticator[0] == '\0')
		return FAIL(f, E_BADREQ,
		    "%s is not the state of a host: master_url or authenticator of a "
		    "project is missing",
		    path);
	for (size_t i = 0; i < p->ntasks; i++)
		if (state_lacks(p, &p->tasks[i].r) == NULL)
			p->tasks[n++] = p->tasks[i];
	p->ntasks = n;
	check_numbers(p);
	return OK;
}

static enum err
check(struct state *st, const char *path, struct fail *f)
{
	enum err e = OK;

	if (st->host_cpid == NULL || st->host_cpid[0] == '\0')
		return FAIL(f, E_BADREQ,
		    "%s is not the state of a host: host_cpid is missing", path);
	if (!is_part(st->fractions.on) || !is_part(st->fractions.active) ||
	    !is_part(st->fractions.gpu_active))
		st->fractions_at = 0;
	for (size_t i = 0; i < st->nprojects && e == OK; i++)
		e = check_project(&st->projects[i], path, f);
	if (e != OK)
		return e;
	if (st->nprojects > 1)
		qsort(st->projects, st->nprojects, sizeof(*st->projects), by_url);
	for (size_t i = 1; i < st->nprojects; i++)
		if (by_url(&st->projects[i - 1], &st->projects[i]) == 0)
			return FAIL(f, E_BADREQ,
			    "%s is not the state of a host: %s is there twice", path,
			    st->projects[i].master_url);
	return OK;
}

/* Once a host had one project, whose fields stood among its own. */
static void
load_one_project(struct arena *a, const json_t *o, struct state *st)
{
	if (json_object_get(o, "master_url") == NULL)
		return;
	st->projects = NEW(a, struct cproject);
	st->nprojects = 1;
	*st->projects = fresh_project();
	fields_load(a, project_fields, o, st->projects);
}

static enum err
from_text(struct arena *a, const char *path, const char *text, size_t n,
    struct state **st, struct fail *f)
{
	json_error_t why;
	json_t *o = json_loadb(text, n, 0, &why);

	if (o == NULL)
		return FAIL(f, E_BADREQ, "%s:%d: %s", path, why.line, why.text);
	*st = NEW(a, struct state);
	fields_load(a, state_fields, o, *st);
	if (json_object_get(o, "projects") == NULL)
		load_one_project(a, o, *st);
	json_decref(o);
	return check(*st, path, f);
}

enum err
state_load(struct arena *a, const char *path, struct state **st, struct fail *f)
{
	struct arena file = { 0 };
	char *text;
	size_t n;
	enum err e = fs_read(&file, path, STATE_MAX, &text, &n, f);

	if (e == OK)
		e = from_text(a, path, text, n, st, f);
	arena_free(&file);
	return e;
}

static int
append(const char *text, size_t n, void *out)
{
	buf_put(out, text, n);
	return 0;
}

enum err
state_save(struct arena *a, const char *path, struct state **st, struct arena *scratch,
    struct dropped **dropped, size_t *ndropped, struct fail *f)
{
	struct buf text = buf_new(scratch);
	struct arena fresh = { 0 };
	struct state less = **st, *read_back;
	json_t *o;
	enum err e = OK;

	drop(&less, scratch, dropped, ndropped);
	o = fields_save(scratch, state_fields, &less);
	if (json_dump_callback(o, append, &text, JSON_INDENT(1)) != 0)
		e = FAIL(f, E_SYS, "%s: the state cannot be put into words", path);
	json_decref(o);
	if (e == OK)
		e = from_text(&fresh, path, text.p, text.n, &read_back, f);
	if (e == OK)
		e = fs_write(path, text.p, text.n, 0600, f);
	if (e != OK) {
		arena_free(&fresh);
		return e;
	}
	arena_free(a);
	*a = fresh;
	*st = read_back;
	return OK;
}

/* --- the clock --- */

static void
back(int64_t *t, int64_t by)
{
	if (*t > by)
		*t -= by;
}

static void
back_f(double *t, int64_t by)
{
	if (*t > (double)by)
		*t -= (double)by;
}

static void
project_back(struct cproject *p, int64_t by)
{
	double *times[] = { &p->attached_at, &p->rpc.min_rpc_time,
		&p->rpc.next_rpc_time, &p->rpc.latency_limited_until,
		&p->rpc.last_contact };

	for (size_t i = 0; i < N(times); i++)
		back_f(times[i], by);
	for (size_t i = 0; i < p->nstandings; i++)
		back_f(&p->standings[i].backoff_until, by);
	for (size_t i = 0; i < p->nfiles; i++) {
		back(&p->files[i].try_after, by);
		back(&p->files[i].told_at, by);
	}
	for (size_t i = 0; i < p->ntasks; i++) {
		back(&p->tasks[i].received_at, by);
		back(&p->tasks[i].started_at, by);
		back(&p->tasks[i].ready_at, by);
		back(&p->tasks[i].run_since, by);
		back(&p->tasks[i].checkpointed_at, by);
		back_f(&p->tasks[i].endangered_at, by);
	}
}

void
state_clock(struct state *st, int64_t now)
{
	int64_t by = st->clock - now;

	st->clock = now;
	if (by <= 0)
		return;
	back(&st->benchmarked_at, by);
	back_f(&st->fractions_at, by);
	back_f(&st->accounted_at, by);
	back_f(&st->asked_at, by);
	back_f(&st->scheduled_at, by);
	for (size_t i = 0; i < st->nprojects; i++)
		project_back(&st->projects[i], by);
}

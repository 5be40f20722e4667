/* SPDX-License-Identifier: Apache-2.0 */
/* The host's rows, kept as JSON. */
#include "client/state.h"

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

struct cfile *
state_file(const struct state *st, const char *name)
{
	for (size_t i = 0; i < st->nfiles; i++)
		if (strcmp(st->files[i].info.name, name) == 0)
			return &st->files[i];
	return NULL;
}

struct rp_workunit *
state_workunit(const struct state *st, const char *name)
{
	for (size_t i = 0; i < st->nworkunits; i++)
		if (strcmp(st->workunits[i].name, name) == 0)
			return &st->workunits[i];
	return NULL;
}

struct ctask *
state_task(const struct state *st, const char *name)
{
	for (size_t i = 0; i < st->ntasks; i++)
		if (strcmp(st->tasks[i].r.name, name) == 0)
			return &st->tasks[i];
	return NULL;
}

struct rp_app_version *
state_version(const struct state *st, const char *app_name, const struct rp_result *r)
{
	for (size_t i = 0; i < st->nversions; i++) {
		struct rp_app_version *v = &st->versions[i];

		if (strcmp(v->app_name, app_name) == 0 &&
		    v->version_num == r->version_num &&
		    strcmp(v->platform, r->platform) == 0 &&
		    strcmp(v->plan_class, r->plan_class) == 0)
			return v;
	}
	return NULL;
}

struct rp_app_version *
task_version(const struct state *st, const struct ctask *t)
{
	const struct rp_workunit *wu = state_workunit(st, t->r.wu_name);

	return wu == NULL ? NULL : state_version(st, wu->app_name, &t->r);
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
all_known(const struct state *st, const struct rp_file_ref *refs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (state_file(st, refs[i].file_name) == NULL)
			return false;
	return true;
}

const char *
state_lacks(const struct state *st, const struct rp_result *r)
{
	const struct rp_workunit *wu = state_workunit(st, r->wu_name);
	const struct rp_app_version *v;

	if (wu == NULL)
		return "its workunit is missing";
	v = state_version(st, wu->app_name, r);
	if (v == NULL)
		return "no such application version";
	if (!all_known(st, v->refs, v->nrefs))
		return "a file of its version is missing";
	if (!all_known(st, wu->refs, wu->nrefs))
		return "an input file is missing";
	if (!all_known(st, r->refs, r->nrefs))
		return "an output file is missing";
	return NULL;
}

bool
state_wants(const struct state *st, const char *name)
{
	for (size_t i = 0; i < st->ntasks; i++) {
		const struct ctask *t = &st->tasks[i];
		const struct rp_workunit *wu = state_workunit(st, t->r.wu_name);
		const struct rp_app_version *v = task_version(st, t);

		if (!t->ready && (refers(wu->refs, wu->nrefs, name) ||
				     refers(v->refs, v->nrefs, name)))
			return true;
	}
	return false;
}

/* --- what is dropped --- */

static bool
file_needed(const struct state *st, const struct cfile *f)
{
	const char *name = f->info.name;

	if (f->info.sticky && f->status == FS_PRESENT)
		return true;
	for (size_t i = 0; i < st->nversions; i++)
		if (refers(st->versions[i].refs, st->versions[i].nrefs, name))
			return true;
	for (size_t i = 0; i < st->nworkunits; i++)
		if (refers(st->workunits[i].refs, st->workunits[i].nrefs, name))
			return true;
	for (size_t i = 0; i < st->ntasks; i++)
		if (refers(st->tasks[i].r.refs, st->tasks[i].r.nrefs, name))
			return true;
	return false;
}

static bool
workunit_needed(const struct state *st, const struct rp_workunit *wu)
{
	for (size_t i = 0; i < st->ntasks; i++)
		if (strcmp(st->tasks[i].r.wu_name, wu->name) == 0)
			return true;
	return false;
}

/* The newest version of its kind stays: its files need not travel for the next task. */
static bool
version_needed(const struct state *st, const struct rp_app_version *v)
{
	bool newest = true;

	for (size_t i = 0; i < st->nversions; i++) {
		const struct rp_app_version *w = &st->versions[i];

		newest = newest && !(w->version_num > v->version_num &&
				       strcmp(w->app_name, v->app_name) == 0 &&
				       strcmp(w->platform, v->platform) == 0 &&
				       strcmp(w->plan_class, v->plan_class) == 0);
	}
	for (size_t i = 0; i < st->ntasks && !newest; i++)
		if (task_version(st, &st->tasks[i]) == v)
			return true;
	return newest;
}

/* The rows are copied, as the old ones are to stay as they are if the save fails. */
#define COPY(a, rows, n) arena_memdup((a), (rows), mul_or_die(sizeof(*(rows)), (n)))

static void
drop_rows(struct state *st, struct arena *a)
{
	bool *keep = NEWN(a, bool, st->nversions + 1);
	size_t n = 0;

	st->tasks = COPY(a, st->tasks, st->ntasks);
	st->workunits = COPY(a, st->workunits, st->nworkunits);
	st->versions = COPY(a, st->versions, st->nversions);
	st->files = COPY(a, st->files, st->nfiles);
	for (size_t i = 0; i < st->ntasks; i++)
		if (!st->tasks[i].acked)
			st->tasks[n++] = st->tasks[i];
	st->ntasks = n;
	n = 0;
	for (size_t i = 0; i < st->nworkunits; i++)
		if (workunit_needed(st, &st->workunits[i]))
			st->workunits[n++] = st->workunits[i];
	st->nworkunits = n;
	n = 0;
	for (size_t i = 0; i < st->nversions; i++)
		keep[i] = version_needed(st, &st->versions[i]);
	for (size_t i = 0; i < st->nversions; i++)
		if (keep[i])
			st->versions[n++] = st->versions[i];
	st->nversions = n;
}

static void
drop_files(struct state *st, struct arena *a, char ***dropped, size_t *ndropped)
{
	size_t n = 0;

	*dropped = NEWN(a, char *, st->nfiles + 1);
	*ndropped = 0;
	for (size_t i = 0; i < st->nfiles; i++)
		if (file_needed(st, &st->files[i]))
			st->files[n++] = st->files[i];
		else
			(*dropped)[(*ndropped)++] = arena_strdup(
			    a, st->files[i].info.name);
	st->nfiles = n;
}

/* --- the file --- */

/* Something else, or edited by hand, must not bring us down later. */
static enum err
check(struct state *st, const char *path, struct fail *f)
{
	size_t n = 0;

	if (st->master_url == NULL || st->master_url[0] == '\0' ||
	    st->authenticator[0] == '\0' || st->host_cpid[0] == '\0')
		return FAIL(f, E_BADREQ,
		    "%s is not the state of a host: master_url, authenticator or "
		    "host_cpid is missing",
		    path);
	for (size_t i = 0; i < st->ntasks; i++)
		if (state_lacks(st, &st->tasks[i].r) == NULL)
			st->tasks[n++] = st->tasks[i];
	st->ntasks = n;
	return OK;
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
    char ***dropped, size_t *ndropped, struct fail *f)
{
	struct buf text = buf_new(scratch);
	struct arena fresh = { 0 };
	struct state less = **st, *read_back;
	json_t *o;
	enum err e = OK;

	drop_rows(&less, scratch);
	drop_files(&less, scratch, dropped, ndropped);
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

static void
back(int64_t *t, int64_t by)
{
	if (*t > by)
		*t -= by;
}

void
state_clock(struct state *st, int64_t now)
{
	int64_t by = st->clock - now;

	st->clock = now;
	if (by <= 0)
		return;
	back(&st->min_rpc_time, by);
	back(&st->next_rpc_time, by);
	back(&st->work_backoff_until, by);
	back(&st->benchmarked_at, by);
	for (size_t i = 0; i < st->nfiles; i++)
		back(&st->files[i].try_after, by);
	for (size_t i = 0; i < st->ntasks; i++) {
		back(&st->tasks[i].received_at, by);
		back(&st->tasks[i].started_at, by);
		back(&st->tasks[i].ready_at, by);
		back(&st->tasks[i].paused_at, by);
	}
}

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

/* Versions stay: their files need not travel again for the next task. */
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

static void
drop_unneeded(struct state *st)
{
	size_t n = 0;

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
	for (size_t i = 0; i < st->nfiles; i++)
		if (file_needed(st, &st->files[i]))
			st->files[n++] = st->files[i];
	st->nfiles = n;
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
	return OK;
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
state_save(struct arena *a, const char *path, struct state **st, struct fail *f)
{
	struct arena scratch = { 0 };
	struct buf text = buf_new(&scratch);
	json_t *o;
	enum err e = OK;

	drop_unneeded(*st);
	o = fields_save(state_fields, *st);
	if (json_dump_callback(o, append, &text, JSON_INDENT(1)) != 0)
		e = FAIL(f, E_SYS, "%s: the state has text that is not UTF-8", path);
	json_decref(o);
	if (e == OK)
		e = fs_write(path, text.p, text.n, 0600, f);
	if (e == OK) {
		arena_reset(a);
		e = from_text(a, path, text.p, text.n, st, f);
	}
	arena_free(&scratch);
	return e;
}

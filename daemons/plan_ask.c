/* SPDX-License-Identifier: Apache-2.0 */
/* A plan with one workunit that cannot be made is not used at all. */
#include "daemons/plan_ask.h"

#include "daemons/handler_nouns.h"
#include "db/entity.h"
#include "lib/json_text.h"
#include "lib/banned.h"

enum { PLAN_MOST = 10000 };

static enum err
planning_request(struct daemon_ctx *x, const struct planning *p, json_t **out)
{
	json_t *files, *request;
	struct row_member *members;
	size_t n;

	TRY(fileset_files(x->db, &x->a, p->fs->id, &members, &n, &x->fail));
	files = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(files, json_text(members[i].name));
	request = handler_request("generate");
	json_object_set_new(request, "file", json_text(p->fs->name));
	json_object_set_new(request, "files", files);
	json_object_set_new(request, "made", json_integer(p->fs->gen_next));
	json_object_set_new(request, "wanted", json_integer(p->wanted));
	*out = request;
	return OK;
}

/* Reads one workunit of a plan. */
static enum err
planned_take(struct arena *a, json_t *w, struct planned *p, struct fail *f)
{
	const char *suffix = json_string_value(json_object_get(w, "suffix")),
		   *line = json_string_value(json_object_get(w, "command_line"));

	if (suffix == NULL)
		return FAIL(f, E_BADREQ, "a workunit has no suffix");
	p->suffix = arena_strdup(a, suffix);
	p->arguments = arena_strdup(a, line);
	return planned_check(p, f);
}

static void
planning_read(struct daemon_ctx *x, struct planning *p, json_t *reply)
{
	json_t *list = json_object_get(reply, "workunits");
	const char *name = handlers_name(x->handlers);
	struct fail f = { 0 };
	enum err e = OK;

	p->n = json_array_size(list);
	p->exhausted = json_is_true(json_object_get(reply, "exhausted"));
	if (!json_is_array(list))
		e = FAIL(&f, E_BADREQ, "its reply has no list of workunits");
	else if (p->n > PLAN_MOST)
		e = FAIL(
		    &f, E_BADREQ, "more than %d workunits at once", (int)PLAN_MOST);
	else if (p->n == 0 && !p->exhausted)
		e = FAIL(&f, E_BADREQ,
		    "its reply has no workunits and does not say exhausted");
	p->v = NEWN(&x->a, struct planned, e == OK ? p->n + 1 : 1);
	for (size_t i = 0; e == OK && i < p->n; i++)
		e = planned_take(&x->a, json_array_get(list, i), &p->v[i], &f);
	if (e == OK)
		return;
	p->end = ASK_FAILED;
	p->why = arena_printf(&x->a, "%s: %s", name, f.detail);
}

enum err
plannings_ask(struct daemon_ctx *x, struct planning *p, size_t n)
{
	struct ask *asks = NEWN(&x->a, struct ask, n + 1);
	struct planning **of = NEWN(&x->a, struct planning *, n + 1);
	size_t m = 0;
	enum err e = OK;

	for (size_t i = 0; i < n && e == OK; i++) {
		p[i].end = ASK_UNTRIED;
		if (p[i].fs == NULL)
			continue;
		e = planning_request(x, &p[i], &asks[m].request);
		of[m] = &p[i];
		m += e == OK;
	}
	if (e != OK) {
		for (size_t i = 0; i < m; i++)
			json_decref(asks[i].request);
		return e;
	}
	e = handlers_ask(x->handlers, &x->a, asks, m, &x->fail);
	for (size_t i = 0; i < m; i++) {
		of[i]->end = asks[i].end;
		of[i]->why = asks[i].why;
		if (asks[i].end == ASK_DONE)
			planning_read(x, of[i], asks[i].reply);
	}
	return e;
}

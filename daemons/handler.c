/* SPDX-License-Identifier: Apache-2.0 */
/* A workunit is taken when the reply says neither error nor later. */
#include "daemons/handler.h"

#include <math.h>
#include <string.h>
#include "daemons/handlers.h"
#include "db/entity.h"
#include "lib/json_text.h"
#include "lib/log.h"
#include "lib/names.h"
#include "lib/banned.h"

/* The canonical result as JSON; null if there is none. */
static json_t *
canonical_json(const struct workunit *wu, const struct result *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (wu->canonical_resultid != 0 && r[i].id == wu->canonical_resultid)
			return handler_result(&r[i], NULL);
	return json_null();
}

enum err
handler_offer_all(struct daemon_ctx *x, struct assimilate_ask *h, size_t n)
{
	struct ask *asks = NEWN(&x->a, struct ask, n + 1);
	int64_t *ids = NEWN(&x->a, int64_t, n + 1);
	const char **docs = NEWN(&x->a, const char *, n + 1);
	struct result *results = NULL;
	size_t nresults = 0;
	enum err e;

	for (size_t i = 0; i < n; i++) {
		ids[i] = h[i].wu->id;
		h[i].end = ASK_UNTRIED;
	}
	if (n == 0)
		return OK;
	TRY(workunits_xml_docs(x->db, &x->a, ids, n, docs, &x->fail));
	TRY(results_of_workunits(x->db, &x->a, ids, n, &results, &nresults, &x->fail));
	for (size_t i = 0; i < n; i++) {
		json_t *r = asks[i].request = handler_request("assimilate");
		json_object_set_new(
		    r, "workunit", handler_workunit(&x->a, h[i].wu, docs[i]));
		json_object_set_new(r, "error_mask", json_integer(h[i].error_mask));
		json_object_set_new(
		    r, "canonical", canonical_json(h[i].wu, results, nresults));
		json_object_set_new(r, "outputs", handler_outputs(h[i].out, h[i].n));
	}
	e = handlers_ask(x->handlers, &x->a, asks, n, &x->fail);
	for (size_t i = 0; i < n; i++) {
		h[i].end = asks[i].end;
		h[i].why = asks[i].why;
		h[i].detail = asks[i].detail;
	}
	return e;
}

/*
 * The handler only says which results agree and which are bad; what follows from it is
 * decided by validate(), as ever.  A reply that does not judge each result that was
 * shown, once, judges none.
 */

static const double CREDIT_MOST = 1e12;

/* What a reply may say about a result instead of its group. */
static const struct {
	const char *name;
	enum match match;
} instead[] = {
	{ "bad", MATCH_BAD },
	{ "hopeless", MATCH_HOPELESS },
	{ "later", MATCH_LATER },
};

static size_t
judging_shown(const struct judging *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n; i++)
		n += h->init[i] == MATCH_SAME;
	return n;
}

static json_t *
judging_request(struct arena *a, const struct judging *h, const char *xml_doc)
{
	json_t *request = handler_request("validate"), *results = json_array();

	json_object_set_new(request, "workunit", handler_workunit(a, h->wu, xml_doc));
	for (size_t i = 0; i < h->n; i++)
		if (h->init[i] == MATCH_SAME)
			json_array_append_new(
			    results, handler_result(&h->results[i], &h->out[i]));
	json_object_set_new(request, "results", results);
	return request;
}

static void
judging_fails(struct judging *h, const char *why, const char *detail)
{
	h->why = why;
	h->detail = detail;
	for (size_t i = 0; i < h->n; i++)
		if (h->init[i] == MATCH_SAME)
			h->init[i] = MATCH_LATER;
}

/* Opinions from one reply, not believed before all are read. */
struct opinions {
	struct arena *a;
	const struct judging *h;
	enum match *match;
	bool *said;
	size_t n;
	const char *why; /* why the reply cannot be used, or why one result waits */
};

static bool
opinion_wrong(struct opinions *o, const char *why, int64_t id)
{
	o->why = arena_printf(o->a, "its reply %s %lld", why, (long long)id);
	return false;
}

/* Credit: of the result, else of the workunit, else none. */
static bool
opinion_credit(struct opinions *o, size_t i, json_t *said, json_t *reply)
{
	json_t *c = json_object_get(said, "credit");
	double v;

	if (c == NULL)
		c = json_object_get(reply, "credit");
	if (c == NULL || json_is_null(c))
		return true;
	v = json_number_value(c);
	if (!json_is_number(c) || !isfinite(v) || v < 0 || v > CREDIT_MOST)
		return opinion_wrong(
		    o, "has no credit from 0 to 1e12 for result", o->h->results[i].id);
	o->h->credit[i] = v;
	return true;
}

static bool
opinion_take(struct opinions *o, json_t *said, json_t *reply)
{
	int64_t id = json_integer_value(json_object_get(said, "id"));
	json_t *group = json_object_get(said, "group");
	const struct judging *h = o->h;
	size_t i = 0, words = json_is_integer(group);

	while (i < h->n && (h->results[i].id != id || h->init[i] != MATCH_SAME))
		i++;
	if (i == h->n || o->said[i])
		return opinion_wrong(o, "judges, not once, result", id);
	o->said[i] = true;
	o->n++;
	h->group[i] = json_integer_value(group);
	for (size_t k = 0; k < N(instead); k++) {
		const char *why = json_string_value(
		    json_object_get(said, instead[k].name));
		if (why == NULL)
			continue;
		words++;
		o->match[i] = instead[k].match;
		log_info("[RESULT#%lld] %s %s: %s", (long long)id, h->results[i].name,
		    instead[k].name, why);
		if (instead[k].match == MATCH_LATER)
			o->why = arena_strdup(o->a, why);
	}
	if (words != 1)
		return opinion_wrong(o,
		    "must have one of group, bad, hopeless and later for result", id);
	return opinion_credit(o, i, said, reply);
}

static void
judging_read(struct arena *a, struct judging *h, const char *name, json_t *reply)
{
	struct opinions o = { .a = a,
		.h = h,
		.match = NEWN(a, enum match, h->n + 1),
		.said = NEWN(a, bool, h->n + 1) };
	json_t *results = json_object_get(reply, "results");
	bool good = true;

	for (size_t i = 0; good && i < json_array_size(results); i++)
		good = opinion_take(&o, json_array_get(results, i), reply);
	if (good && o.n < judging_shown(h))
		good = opinion_wrong(&o, "leaves out results of workunit", h->wu->id);
	if (!good) {
		judging_fails(h, arena_printf(a, "%s: %s", name, o.why), NULL);
		return;
	}
	for (size_t i = 0; i < h->n; i++)
		if (o.said[i])
			h->init[i] = o.match[i];
	h->why = o.why == NULL ? NULL : arena_printf(a, "%s: %s", name, o.why);
}

static void
judging_end(struct daemon_ctx *x, struct judging *h, const struct ask *k)
{
	switch (k->end) {
	case ASK_UNTRIED:
		h->untried = true;
		return;
	case ASK_DONE:
		judging_read(&x->a, h, handlers_name(x->handlers), k->reply);
		return;
	case ASK_LATER:
	case ASK_FAILED:
		judging_fails(h, k->why, k->detail);
		return;
	}
}

enum err
handler_judge_all(struct daemon_ctx *x, struct judging *const *all, size_t nall)
{
	struct judging **h = NEWN(&x->a, struct judging *, nall + 1);
	struct ask *asks = NEWN(&x->a, struct ask, nall + 1);
	int64_t *ids = NEWN(&x->a, int64_t, nall + 1);
	const char **docs = NEWN(&x->a, const char *, nall + 1);
	size_t n = 0;
	enum err e = OK;

	for (size_t i = 0; i < nall; i++) {
		if (judging_shown(all[i]) == 0)
			continue;
		ids[n] = all[i]->wu->id;
		h[n++] = all[i];
	}
	for (size_t i = 0; i < n && e == OK; i += DB_LIST_MAX)
		e = workunits_xml_docs(x->db, &x->a, ids + i,
		    n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX, docs + i, &x->fail);
	if (e != OK)
		return e;
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < h[i]->n; k++)
			h[i]->credit[k] = -1;
		asks[i].request = judging_request(&x->a, h[i], docs[i]);
	}
	e = handlers_ask(x->handlers, &x->a, asks, n, &x->fail);
	for (size_t i = 0; i < n; i++)
		judging_end(x, h[i], &asks[i]);
	return e;
}

/* A plan with one workunit that cannot be made is not used at all. */

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

static json_t *
choice_request(const struct daemon_ctx *x, const char *app, const struct ws_file *f,
    size_t n, int64_t hosts, size_t wanted)
{
	json_t *request = handler_request("choose"), *list = json_array();

	for (size_t i = 0; i < n; i++)
		if (ws_may_be_in(
			&f[i], x->now, x->conf->locality_scheduling_wait_period))
			json_array_append_new(
			    list, json_pack("{s:s, s:i, s:b, s:b}", "name", f[i].name,
				      "holders", (int)f[i].holders, "in_set",
				      f[i].in_set, "has_unsent", f[i].has_unsent));
	json_object_set_new(request, "app", json_string(app));
	json_object_set_new(request, "hosts", json_integer(hosts));
	json_object_set_new(request, "wanted", json_integer((json_int_t)wanted));
	json_object_set_new(request, "files", list);
	return request;
}

/* Returns what is wrong with the reply; NULL = nothing.  A name that is not known is
 * passed over: the file may have been removed meanwhile. */
static const char *
set_places(struct arena *a, const json_t *reply, struct ws_file *f, size_t n)
{
	const json_t *list = json_object_get(reply, "files"), *name;
	struct names known = { 0 };
	size_t i, at;

	if (!json_is_array(list))
		return "the reply has no list of files";
	for (i = 0; i < n; i++)
		names_put(a, &known, f[i].name, i);
	json_array_foreach(list, i, name)
	{
		if (!json_is_string(name))
			return "a name in the list of files is no text";
		if (names_find(&known, json_string_value(name), &at) &&
		    f[at].place == 0)
			f[at].place = i + 1;
	}
	return NULL;
}

enum err
file_chooser_ask(struct daemon_ctx *x, const char *app, struct ws_file *f, size_t n,
    int64_t hosts, size_t wanted)
{
	struct ask k = { .request = choice_request(x, app, f, n, hosts, wanted) };
	const char *why;
	enum err e = handlers_ask(x->handlers, &x->a, &k, 1, &x->fail);

	if (e != OK && e != E_SYS)
		return e;
	if (e == OK && k.end == ASK_UNTRIED)
		return FAIL(&x->fail, E_RETRY, "asked to stop");
	why = e == E_SYS        ? arena_strdup(&x->a, x->fail.detail) :
	      k.end == ASK_DONE ? set_places(&x->a, k.reply, f, n) :
	                          k.why;
	if (why == NULL)
		return OK;
	for (size_t i = 0; i < n; i++)
		f[i].place = 0;
	log_warn("app %s: the file chooser %s: %s; files are chosen without it", app,
	    handlers_name(x->handlers), why);
	daemon_trouble(x, "app %s: the file chooser: %s", app, why);
	return OK;
}

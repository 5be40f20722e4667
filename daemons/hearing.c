/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handler only says which results agree and which are bad; what follows from it is
 * decided by validate(), as ever.  A reply that does not judge each result that was
 * shown, once, judges none.
 */
#include "daemons/hearing.h"

#include <math.h>
#include <string.h>
#include "daemons/handler_nouns.h"
#include "db/entity.h"
#include "lib/log.h"
#include "lib/banned.h"

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
hearing_shown(const struct hearing *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n; i++)
		n += h->init[i] == MATCH_SAME;
	return n;
}

static json_t *
hearing_request(struct arena *a, const struct hearing *h, const char *xml_doc)
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
hearing_fails(struct hearing *h, const char *why, const char *detail)
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
	const struct hearing *h;
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
	const struct hearing *h = o->h;
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
hearing_read(struct arena *a, struct hearing *h, const char *name, json_t *reply)
{
	struct opinions o = { .a = a,
		.h = h,
		.match = NEWN(a, enum match, h->n + 1),
		.said = NEWN(a, bool, h->n + 1) };
	json_t *results = json_object_get(reply, "results");
	bool good = true;

	for (size_t i = 0; good && i < json_array_size(results); i++)
		good = opinion_take(&o, json_array_get(results, i), reply);
	if (good && o.n < hearing_shown(h))
		good = opinion_wrong(&o, "leaves out results of workunit", h->wu->id);
	if (!good) {
		hearing_fails(h, arena_printf(a, "%s: %s", name, o.why), NULL);
		return;
	}
	for (size_t i = 0; i < h->n; i++)
		if (o.said[i])
			h->init[i] = o.match[i];
	h->why = o.why == NULL ? NULL : arena_printf(a, "%s: %s", name, o.why);
}

static void
hearing_end(struct daemon_ctx *x, struct hearing *h, const struct ask *k)
{
	switch (k->end) {
	case ASK_UNTRIED:
		h->untried = true;
		return;
	case ASK_DONE:
		hearing_read(&x->a, h, handlers_name(x->handlers), k->reply);
		return;
	case ASK_LATER:
	case ASK_FAILED:
		hearing_fails(h, k->why, k->detail);
		return;
	}
}

enum err
hearings_hold(struct daemon_ctx *x, struct hearing *const *all, size_t nall)
{
	struct hearing **h = NEWN(&x->a, struct hearing *, nall + 1);
	struct ask *asks = NEWN(&x->a, struct ask, nall + 1);
	int64_t *ids = NEWN(&x->a, int64_t, nall + 1);
	const char **docs = NEWN(&x->a, const char *, nall + 1);
	size_t n = 0;
	enum err e = OK;

	for (size_t i = 0; i < nall; i++) {
		if (hearing_shown(all[i]) == 0)
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
		asks[i].request = hearing_request(&x->a, h[i], docs[i]);
	}
	e = handlers_ask(x->handlers, &x->a, asks, n, &x->fail);
	for (size_t i = 0; i < n; i++)
		hearing_end(x, h[i], &asks[i]);
	return e;
}

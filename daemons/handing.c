/* SPDX-License-Identifier: Apache-2.0 */
/* A workunit is taken when the reply says neither error nor later. */
#include "daemons/handing.h"

#include "daemons/handler_nouns.h"
#include "db/entity.h"
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
handings_offer(struct daemon_ctx *x, struct handing *h, size_t n)
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

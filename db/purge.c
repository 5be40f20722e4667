/* SPDX-License-Identifier: Apache-2.0 */
#include "db/purge.h"

#include <stdlib.h>
#include "db/stmts.h"
#include "db/wu_updates.h"
#include "lib/banned.h"

static int
by_id(const void *a, const void *b)
{
	const struct workunit *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

enum err
purge_find(struct db *db, struct arena *a, struct purge_range *r, struct workunit **wus,
    size_t *n, struct fail *f)
{
	int64_t *ids;
	struct row_pair *done = NULL;
	size_t nids = 0, cap = 0;
	enum err e = db_query(db, a, f, &done, &nids, WUS_DONE, .time = r->after.a,
	    .after = r->after.b, .before = r->before, .parts = r->share.n,
	    .part = r->share.i, .max = PURGE_SLICE);

	ids = NEWN(a, int64_t, nids + 1);
	for (size_t i = 0; i < nids; i++)
		ids[i] = done[i].b;

	*n = 0;
	*wus = NULL;
	for (size_t i = 0; e == OK && i < nids; i += DB_LIST_MAX) {
		struct workunit *part;
		size_t got = 0;

		e = workunits_to_purge(db, a, ids + i,
		    nids - i < DB_LIST_MAX ? nids - i : DB_LIST_MAX, r->before, &part,
		    &got, f);
		for (size_t k = 0; e == OK && k < got; k++)
			if (!row_is_kept(part[k].name))
				PUSH(a, *wus, *n, cap) = part[k];
	}
	r->end = e == OK && nids < PURGE_SLICE;
	if (e == OK && nids > 0)
		r->after = done[nids - 1];
	if (*n > 1)
		qsort(*wus, *n, sizeof(**wus), by_id);
	return e;
}

/* Adds the texts of up to DB_LIST_MAX results, which may be in any order. */
static enum err
load_part(
    struct db *db, struct arena *a, struct purged_result *v, size_t n, struct fail *f)
{
	int64_t ids[DB_LIST_MAX];
	struct row_docs *docs;
	size_t ndocs;

	for (size_t i = 0; i < n; i++)
		ids[i] = v[i].row->id;
	TRY(results_docs(db, a, ids, n, &docs, &ndocs, f));
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < ndocs; k++)
			if (docs[k].id == v[i].row->id) {
				v[i].xml_doc_in = docs[k].xml_doc_in;
				v[i].xml_doc_out = docs[k].xml_doc_out;
				v[i].stderr_out = docs[k].stderr_out;
			}
	return OK;
}

static enum err
purge_load_docs(struct db *db, struct arena *a, const int64_t *ids, struct purged *v,
    size_t n, size_t nresults, struct fail *f)
{
	const char *xml[DB_LIST_MAX];

	TRY(workunits_xml_docs(db, a, ids, n, xml, f));
	for (size_t i = 0; i < n; i++)
		v[i].xml_doc = xml[i];
	for (size_t i = 0; i < nresults; i += DB_LIST_MAX)
		TRY(load_part(db, a, v[0].results + i,
		    nresults - i < DB_LIST_MAX ? nresults - i : DB_LIST_MAX, f));
	return OK;
}

enum err
purge_load(struct db *db, struct arena *a, struct workunit *const *wus, size_t n,
    bool docs, struct purged **out, struct fail *f)
{
	struct purged *v = NEWN(a, struct purged, n + 1);
	int64_t *ids = NEWN(a, int64_t, n + 1);
	struct purged_result *all;
	struct result *rows;
	size_t nrows, at = 0;

	for (size_t i = 0; i < n; i++)
		ids[i] = wus[i]->id;
	TRY(results_of_workunits(db, a, ids, n, &rows, &nrows, f));
	all = NEWN(a, struct purged_result, nrows + 1);
	for (size_t i = 0; i < n; i++) {
		v[i] = (struct purged){ .wu = wus[i], .results = all + at };
		for (; at < nrows && rows[at].workunitid == ids[i]; at++) {
			all[at].row = &rows[at];
			v[i].nresults++;
		}
	}
	*out = v;
	return docs && n > 0 ? purge_load_docs(db, a, ids, v, n, at, f) : OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "db/ahead.h"

#include <stdlib.h>
#include "db/snap_sets.h"
#include "db/stmts.h"
#include "lib/order.h"
#include "lib/banned.h"

enum { FILES_EACH = 64 }; /* a request that names more files reads them by itself */

struct ahead {
	struct db *db;
	struct arena *a;
	struct request_ahead *v;
	size_t n;
	int64_t ids[DB_LIST_MAX]; /* of hosts */
	size_t nids;
};

bool
ahead_is_of(const struct request_ahead *r, int64_t hostid)
{
	return r != NULL && r->host != NULL && r->host->host.id == hostid;
}

static enum err
ahead_hosts(struct ahead *g, struct fail *f)
{
	struct row_host_account *rows = NULL;
	size_t n;

	TRY(db_query(g->db, g->a, f, &rows, &n, HOSTS_AND_ACCOUNTS,
	    .ids = db_ids(g->ids, g->nids)));
	for (size_t i = 0; i < g->n; i++)
		for (size_t k = 0; k < n; k++) {
			struct row_host_account *row = &rows[k];

			if (g->v[i].rq->hostid == row->host.id)
				g->v[i].host = row;
		}
	return OK;
}

static int
ahead_job_order(const void *pa, const void *pb)
{
	const struct job *a = pa, *b = pb;

	return (a->id > b->id) - (a->id < b->id);
}

static enum err
ahead_jobs(struct ahead *g, struct fail *f)
{
	struct row_keyed_job *rows = NULL;
	size_t n;

	TRY(db_query(g->db, g->a, f, &rows, &n, JOBS_ON_HOSTS,
	    .hostids = db_ids(g->ids, g->nids)));
	for (size_t i = 0; i < g->n; i++) {
		struct request_ahead *r = &g->v[i];
		size_t cap = 0;

		if (r->host == NULL)
			continue;
		for (size_t k = 0; k < n; k++) {
			const struct row_keyed_job *row = &rows[k];

			if (row->key == r->rq->hostid)
				PUSH(g->a, r->jobs, r->njobs, cap) = row->job;
		}
		if (r->njobs > 0)
			qsort(r->jobs, r->njobs, sizeof(*r->jobs), ahead_job_order);
		r->host->glance.there = true;
		r->host->glance.has_jobs = r->njobs > 0;
		r->jobs_read = true;
	}
	return OK;
}

/* Do versions matter to any of them?  Not without jobs. */
static bool
wants_versions(const struct ahead *g)
{
	bool any = false;

	for (size_t i = 0; i < g->n && !any; i++)
		any = g->v[i].njobs + g->v[i].rq->nreports > 0;
	return any;
}

static enum err
ahead_versions(struct ahead *g, struct fail *f)
{
	struct host_app_version *rows = NULL;
	size_t n;

	if (!wants_versions(g))
		return OK;
	TRY(db_query(g->db, g->a, f, &rows, &n, HOSTS_APP_VERSIONS,
	    .host_ids = db_ids(g->ids, g->nids)));
	for (size_t i = 0; i < g->n; i++) {
		struct request_ahead *r = &g->v[i];
		size_t cap = 0;

		for (size_t k = 0; k < n; k++) {
			const struct host_app_version *row = &rows[k];

			if (row->host_id == r->rq->hostid)
				PUSH(g->a, r->versions, r->nversions, cap) = *row;
		}
		r->versions_read = r->host != NULL;
	}
	return OK;
}

/* The files of each request, from the rows of all. */
static void
share_files(struct ahead *g, const struct names **held, const struct row_set_file *rows,
    size_t n)
{
	for (size_t i = 0; i < g->n; i++) {
		struct request_ahead *r = &g->v[i];
		size_t cap = 0;

		r->files_read = held[i]->n <= FILES_EACH;
		for (size_t k = 0; r->files_read && k < n; k++)
			if (names_has(held[i], rows[k].file_name))
				PUSH(g->a, r->files, r->nfiles, cap) = rows[k];
	}
}

static enum err
ahead_files(struct ahead *g, struct fail *f)
{
	const struct names **held = NEWN(g->a, const struct names *, g->n);
	const char **names = NEWN(g->a, const char *, DB_LIST_LONG);
	struct row_set_file *rows = NULL;
	size_t n = 0, nrows = 0;

	for (size_t i = 0; i < g->n; i++) {
		held[i] = request_held(g->a, g->v[i].rq);
		if (held[i]->n > FILES_EACH)
			continue;
		if (n + held[i]->n > DB_LIST_LONG)
			return OK;
		for (size_t k = 0; k < held[i]->n; k++)
			names[n++] = held[i]->v[k];
	}
	if (n > 0)
		TRY(db_query(g->db, g->a, f, &rows, &nrows, FILES_WITH_SETS,
		    .names = db_names(names, n), .max = held_sets_limit(n) + 1));
	if (nrows <= held_sets_limit(n))
		share_files(g, held, rows, nrows);
	return OK;
}

enum err
ahead_read(
    struct db *db, struct arena *a, struct request_ahead *v, size_t n, struct fail *f)
{
	struct ahead g = { .db = db, .a = a, .v = v, .n = n };

	for (size_t i = 0; i < n; i++)
		if (v[i].rq->hostid != 0)
			g.ids[g.nids++] = v[i].rq->hostid;
	if (g.nids == 0)
		return OK;
	TRY(ahead_hosts(&g, f));
	TRY(ahead_jobs(&g, f));
	TRY(ahead_versions(&g, f));
	return ahead_files(&g, f);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the snapshot's results: those in progress on the host and those that it
 * reports (performance.md 1 (R2, R3)). */
#include "db/entity.h"

#include <stdlib.h>
#include <string.h>
#include "db/snap_held.h"
#include "db/stmts.h"
#include "lib/names.h"
#include "model/rows.h"
#include "lib/banned.h"

static int job_name_order(const void *a, const void *b)
{
	const struct job *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static int result_name_order(const void *a, const void *b)
{
	const struct result *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static const struct job **in_progress_by_name(struct arena *a, const struct snapshot *s)
{
	const struct job **v = NEWN(a, const struct job *, s->nin_progress + 1);

	for (size_t i = 0; i < s->nin_progress; i++)
		v[i] = &s->in_progress[i];
	qsort(v, s->nin_progress, sizeof(*v), job_name_order);
	return v;
}

/* NULL if the host has no job of this name in progress. */
static const struct job *job_named(
    const struct job **by_name, const struct snapshot *s, char *name)
{
	const struct job key = { .name = name }, *pkey = &key;
	const struct job **hit = bsearch(
	    &pkey, by_name, s->nin_progress, sizeof(*by_name), job_name_order);

	return hit == NULL ? NULL : *hit;
}

/* The result that the row of a job in progress on this host describes. */
static struct result result_of_job(const struct job *j, const struct snapshot *s)
{
	return (struct result){
		.id = j->id,
		.create_time = j->create_time,
		.workunitid = j->workunitid,
		.appid = j->appid,
		.name = j->name,
		.server_state = j->server_state,
		.hostid = s->host.id,
		.userid = s->user.id,
		.sent_time = j->sent_time,
		.report_deadline = j->report_deadline,
		.app_version_id = j->result_app_version_id,
		.priority = j->priority,
		.fileset_id = j->fileset_id,
	};
}

/* Looks up by name the reported results that are not in progress on this host. */
static enum err reports_by_name(struct db *db, struct arena *a,
    const struct request *rq, const size_t *missing, size_t n, struct snapshot *s,
    struct fail *f)
{
	for (size_t i = 0; i < n; i += DB_LIST_LONG) {
		size_t part = n - i < DB_LIST_LONG ? n - i : DB_LIST_LONG, got;
		const char **names = NEWN(a, const char *, part);
		struct result *rows = NULL;

		for (size_t k = 0; k < part; k++)
			names[k] = rq->reports[missing[i + k]].name;
		enum err e = db_query(db, a, f, &rows, &got, RESULTS_BY_NAMES,
		    .names = db_names(names, part));
		if (e != OK)
			return e;
		qsort(rows, got, sizeof(struct result), result_name_order);
		for (size_t k = 0; k < part; k++) {
			struct snap_report *r = &s->reports[missing[i + k]];
			struct result key = {
				.name = rq->reports[missing[i + k]].name
			};
			const struct result *row = bsearch(
			    &key, rows, got, sizeof(key), result_name_order);
			if (row == NULL)
				continue;
			r->found = true;
			r->result = *row;
			r->same_user_host = row->hostid != s->host.id &&
			                    row->userid == s->user.id;
		}
	}
	return OK;
}

/* Reads the time of the last request of each other host of the account whose results
 * are reported here. */
static enum err read_owners_seen(
    struct db *db, struct arena *a, size_t nreports, struct snapshot *s, struct fail *f)
{
	int64_t *ids = NEWN(a, int64_t, nreports + 1);
	struct ids hosts;
	size_t n = 0;

	for (size_t i = 0; i < nreports; i++)
		if (s->reports[i].same_user_host)
			ids[n++] = s->reports[i].result.hostid;
	hosts = ids_unique(a, ids, n);
	for (size_t i = 0; i < hosts.n; i += DB_LIST_MAX) {
		size_t part = hosts.n - i < DB_LIST_MAX ? hosts.n - i : DB_LIST_MAX,
		       got;
		struct row_pair *rows = NULL;
		enum err e = db_query(db, a, f, &rows, &got, HOSTS_SEEN,
		    .ids = db_ids(hosts.v + i, part), .userid = s->user.id);
		if (e != OK)
			return e;
		for (size_t k = 0; k < nreports; k++)
			for (size_t j = 0; j < got; j++) {
				const struct row_pair *host = &rows[j];

				if (s->reports[k].same_user_host &&
				    s->reports[k].result.hostid == host->a)
					s->reports[k].owner_seen = host->b;
			}
	}
	return OK;
}

/* Blobs and all columns of jobs by result id, in any order. */
static enum err jobs_by_ids(struct db *db, struct arena *a, const int64_t *ids,
    size_t n, struct job **jobs, size_t *njobs, struct fail *f)
{
	struct job *all = NULL;
	size_t total = 0, cap = 0;

	for (size_t i = 0; i < n; i += DB_LIST_MAX) {
		size_t part = n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX, got;
		struct job *rows = NULL;
		enum err e = db_query(
		    db, a, f, &rows, &got, JOBS_BY_IDS, .ids = db_ids(ids + i, part));
		if (e != OK)
			return e;
		for (size_t k = 0; k < got; k++)
			PUSH(a, all, total, cap) = rows[k];
	}
	*jobs = all;
	*njobs = total;
	return OK;
}

static enum err read_lost_blobs(struct db *db, struct arena *a,
    const struct request *rq, struct snapshot *s, struct fail *f)
{
	size_t nlost = 0, njobs;
	const struct names *accounted = request_accounted(a, rq);
	int64_t *lost = NEWN(a, int64_t, s->nin_progress + 1);
	struct job *jobs;

	for (size_t i = 0; i < s->nin_progress; i++) {
		if (!names_has(accounted, s->in_progress[i].name))
			lost[nlost++] = s->in_progress[i].id;
	}
	enum err e = jobs_by_ids(db, a, lost, nlost, &jobs, &njobs, f);
	for (size_t i = 0; e == OK && i < njobs; i++) {
		for (size_t k = 0; k < s->nin_progress; k++) {
			if (s->in_progress[k].id != jobs[i].id)
				continue;
			s->in_progress[k].xml_doc_in = jobs[i].xml_doc_in;
			s->in_progress[k].wu_xml_doc = jobs[i].wu_xml_doc;
		}
	}
	return e;
}

static int job_order(const void *pa, const void *pb)
{
	const struct job *a = pa, *b = pb;

	return (a->id > b->id) - (a->id < b->id);
}

struct jobs_on { /* a host; id 0: none */
	int64_t hostid;
	struct job *v;
	size_t n, cap;
};

/* Reads the jobs in progress on several hosts, by id. */
static enum err jobs_on_hosts(
    struct db *db, struct arena *a, struct jobs_on *v, size_t n, struct fail *f)
{
	int64_t ids[DB_LIST_MAX];

	for (size_t i = 0, from = 0; i < n; from = i) {
		struct row_keyed_job *rows = NULL;
		size_t nids = 0, nrows = 0;

		for (; i < n && nids < DB_LIST_MAX; i++)
			if (v[i].hostid != 0)
				ids[nids++] = v[i].hostid;
		if (nids > 0)
			TRY(db_query(db, a, f, &rows, &nrows, JOBS_ON_HOSTS,
			    .hostids = db_ids(ids, nids)));
		for (; from < i; from++) {
			struct jobs_on *to = &v[from];

			for (size_t k = 0; k < nrows; k++)
				if (rows[k].key == to->hostid)
					PUSH(a, to->v, to->n, to->cap) = rows[k].job;
			if (to->n > 0)
				qsort(to->v, to->n, sizeof(*to->v), job_order);
		}
	}
	return OK;
}

enum err snapshots_in_progress(
    struct db *db, struct arena *a, struct snapshot *const *v, size_t n, struct fail *f)
{
	struct jobs_on *on = NEWN(a, struct jobs_on, 2 * n + 1);

	for (size_t i = 0; i < n; i++) {
		if (!v[i]->glance.there || v[i]->glance.has_jobs)
			on[2 * i].hostid = v[i]->host.id;
		on[2 * i + 1].hostid = v[i]->predecessor;
	}
	TRY(jobs_on_hosts(db, a, on, 2 * n, f));
	for (size_t i = 0; i < n; i++) {
		struct jobs_on *own = &on[2 * i], *old = own + 1;

		for (size_t k = 0; k < old->n; k++)
			PUSH(a, own->v, own->n, own->cap) = old->v[k];
		v[i]->in_progress = own->v;
		v[i]->nin_progress = own->n;
		v[i]->ninherited = old->n;
	}
	return OK;
}

enum err snapshot_reported(struct db *db, struct arena *a, const struct request *rq,
    struct snapshot *s, struct fail *f)
{
	size_t nmissing = 0, *missing = NEWN(a, size_t, rq->nreports + 1);

	s->reports = NEWN(a, struct snap_report, rq->nreports + 1);
	const struct job **by_name = in_progress_by_name(a, s);
	for (size_t i = 0; i < rq->nreports; i++) {
		const struct job *j = job_named(by_name, s, rq->reports[i].name);

		s->reports[i].found = j != NULL;
		if (j != NULL)
			s->reports[i].result = result_of_job(j, s);
		else
			missing[nmissing++] = i;
	}
	TRY(reports_by_name(db, a, rq, missing, nmissing, s, f));
	if (nmissing > 0)
		TRY(read_owners_seen(db, a, rq->nreports, s, f));
	if (rq->has_other_results && s->nin_progress > 0)
		TRY(read_lost_blobs(db, a, rq, s, f));
	return OK;
}

/* The row of this name whose task may still be with the host: in progress, timed out,
 * or given up because another client had begun anew in the host's name. */
static struct snap_other find_other_row(
    const struct row_other *rows, size_t n, const char *name, int64_t hostid)
{
	for (size_t i = 0; i < n; i++) {
		const struct row_other *r = &rows[i];
		bool late = r->server_state == RESULT_OVER &&
		            (r->outcome == OUTCOME_NO_REPLY ||
				(r->outcome == OUTCOME_CLIENT_DETACHED &&
				    r->hostid == hostid));

		if ((late || r->server_state == RESULT_IN_PROGRESS) &&
		    strcmp(r->name, name) == 0)
			return (struct snap_other){ true, r->server_state, r->outcome,
				r->error_mask, r->assimilate_state,
				r->hostid == hostid ? 0 : r->hostid, r->host_seen,
				r->id, r->appid, r->fileset_id };
	}
	return (struct snap_other){ 0 };
}

/* Most of these results are in progress, so their rows were read already; only the
 * rest is queried. */
enum err snapshot_others(struct db *db, struct arena *a, const struct request *rq,
    struct snapshot *s, struct fail *f)
{
	struct snap_other *others = NEWN(a, struct snap_other, rq->nother_results + 1);
	const struct job **by_name = in_progress_by_name(a, s);
	const char **missing = NEWN(a, const char *, rq->nother_results + 1);
	size_t *at = NEWN(a, size_t, rq->nother_results + 1), nmissing = 0;

	for (size_t i = 0; i < rq->nother_results; i++) {
		const struct job *j = job_named(by_name, s, rq->other_results[i].name);

		if (j != NULL) {
			others[i] = (struct snap_other){ .found = true,
				.server_state = j->server_state,
				.error_mask = j->error_mask,
				.assimilate_state = j->assimilate_state };
			continue;
		}
		missing[nmissing] = rq->other_results[i].name;
		at[nmissing++] = i;
	}
	for (size_t i = 0; i < nmissing; i += DB_LIST_LONG) {
		size_t left = nmissing - i, n;
		size_t part = left < DB_LIST_LONG ? left : DB_LIST_LONG;
		struct row_other *rows = NULL;
		enum err e = db_query(db, a, f, &rows, &n, OTHERS_BY_NAMES,
		    .names = db_names(missing + i, part), .userid = s->user.id,
		    .hostid = s->host.id);

		if (e != OK)
			return e;
		for (size_t k = 0; k < part; k++)
			others[at[i + k]] = find_other_row(
			    rows, n, missing[i + k], s->host.id);
	}
	s->others = others;
	return OK;
}

enum err filesets_newest(struct db *db, struct arena *a, const int64_t *ids, size_t n,
    int64_t *newest, struct fail *f)
{
	for (size_t i = 0; i < n; i += DB_LIST_MAX) {
		size_t part = n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX, got;
		struct row_pair *rows = NULL;

		TRY(db_query(db, a, f, &rows, &got, FILESETS_NEWEST,
		    .ids = db_ids(ids + i, part)));
		for (size_t k = i; k < i + part; k++) {
			newest[k] = 0;
			for (size_t j = 0; j < got; j++) {
				const struct row_pair *set = &rows[j];

				if (set->a == ids[k])
					newest[k] = set->b;
			}
		}
	}
	return OK;
}

enum err filesets_unmade(
    struct db *db, const int64_t *ids, size_t n, bool *unmade, struct fail *f)
{
	enum err e = OK;

	*unmade = false;
	for (size_t i = 0; e == OK && i < n && !*unmade; i++) {
		int64_t wu = 0, result = 0;

		e = number_or_0(
		    db_number(db, f, &wu, FILESET_LAST_WU, .fileset_id = ids[i]), &wu);
		if (e == OK && wu != 0)
			e = number_or_0(
			    db_number(db, f, &result, WU_ANY_RESULT, .workunitid = wu),
			    &result);
		*unmade = wu != 0 && result == 0;
	}
	return e;
}

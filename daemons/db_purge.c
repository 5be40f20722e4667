/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes finished workunits and their results from the database, a few per
 * transaction, so that an interrupted purge leaves only whole workunits.  Each is first
 * written to an archive, one file per day; after a crash a workunit may appear in it
 * twice.
 */
#include "daemons/archive.h"
#include "daemons/loop.h"
#include "db/entity.h"
#include "db/wu_updates.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/banned.h"

enum {
	SLICE = 256, /* ids examined at once */
	SLICES = 16, /* slices per pass, until something is found */
	CHUNK = 32,  /* workunits per transaction */
	PAUSE_FIRST_S = 10,
	PAUSE_MOST_S = 3600,
	DAY_S = 86400
};

struct db_purge {
	double min_age_days;
	char *archive;
	bool no_archive;
	char *dir;
	struct item_backoff *backoff;
	int64_t at; /* the next slice starts after this id */
};

#define AT(field) offsetof(struct db_purge, field)
static const struct daemon_option options[] = {
	{ "min_age_days", 0, OPTION_REAL, AT(min_age_days), "X", "7", 0, 36500,
	    "purge only workunits unchanged for X days", false },
	{ "archive", 0, OPTION_TEXT, AT(archive), "DIR", "archives", 0, 0,
	    "first write them to DIR/purged-DATE.xml, below the project", false },
	{ "no_archive", 0, OPTION_FLAG, AT(no_archive), NULL, NULL, 0, 0,
	    "delete without archiving", false },
};

static enum err
purge_start(struct daemon_ctx *x)
{
	struct db_purge *o = x->own;

	o->backoff = daemon_backoff(x, PAUSE_FIRST_S, PAUSE_MOST_S);
	o->dir = project_path(x->life, x->conf, o->archive);
	return o->no_archive ? OK : fs_mkdirs(o->dir, 0750, &x->fail);
}

/* Appends text to the day's archive and waits until it is on disk. */
static enum err
append_archive(struct daemon_ctx *x, const struct buf *text)
{
	const struct db_purge *o = x->own;
	char when[21];
	const char *path = arena_printf(
	    &x->a, "%s/purged-%.10s.xml", o->dir, clock_text(x->now, when));

	return fs_append(path, text->p, text->n, 0640, &x->fail);
}

/* The workunits of one transaction, with their results. */
struct chunk {
	struct workunit *const *wus; /* by id */
	size_t n;
	struct result *results; /* by workunit and id */
	size_t nresults;
};

static void
archive_result_docs(
    struct buf *b, const struct result *r, const struct row_docs *docs, size_t n)
{
	static const struct row_docs none = { .id = 0 };
	const struct row_docs *d = &none;

	for (size_t i = 0; i < n; i++)
		if (docs[i].id == r->id)
			d = &docs[i];
	if (d != &none) /* else the result is gone by now */
		archive_result(b, r, d->xml_doc_in, d->xml_doc_out, d->stderr_out);
}

static enum err
load_docs(
    struct daemon_ctx *x, const struct chunk *k, struct row_docs **docs, size_t *n)
{
	size_t cap = 0;
	enum err e = OK;

	*docs = NULL;
	*n = 0;
	for (size_t i = 0; i < k->nresults && e == OK; i += DB_LIST_MAX) {
		int64_t ids[DB_LIST_MAX];
		struct row_docs *part;
		size_t nids = 0, got = 0;
		while (nids < DB_LIST_MAX && i + nids < k->nresults) {
			ids[nids] = k->results[i + nids].id;
			nids++;
		}
		e = results_docs(x->db, &x->a, ids, nids, &part, &got, &x->fail);
		for (size_t j = 0; e == OK && j < got; j++)
			PUSH(&x->a, *docs, *n, cap) = part[j];
	}
	return e;
}

static enum err
archive_chunk(struct daemon_ctx *x, const struct chunk *k, const int64_t *ids)
{
	struct buf b = buf_new(&x->a);
	const char *xml[DB_LIST_MAX];
	struct row_docs *docs;
	size_t ndocs, r = 0;
	enum err e = workunits_xml_docs(x->db, &x->a, ids, k->n, xml, &x->fail);

	if (e == OK)
		e = load_docs(x, k, &docs, &ndocs);
	for (size_t i = 0; i < k->n && e == OK; i++) {
		archive_workunit(&b, k->wus[i], xml[i] == NULL ? "" : xml[i]);
		for (; r < k->nresults && k->results[r].workunitid == ids[i]; r++)
			archive_result_docs(&b, &k->results[r], docs, ndocs);
		archive_end(&b);
	}
	return e != OK ? e : append_archive(x, &b);
}

static enum err
tx_purge(struct daemon_ctx *x, void *arg)
{
	const struct chunk *k = arg;

	return workunits_purge(x->db, &x->a, k->wus, k->n, &x->fail);
}

/* Archives and removes n workunits, ordered by id. */
static enum err
purge_some(struct daemon_ctx *x, struct workunit *const *wu, size_t n)
{
	const struct db_purge *o = x->own;
	struct chunk k = { .wus = wu, .n = n };
	int64_t *ids = NEWN(&x->a, int64_t, n);
	enum err e;

	for (size_t i = 0; i < n; i++)
		ids[i] = wu[i]->id;
	e = results_of_workunits(
	    x->db, &x->a, ids, n, &k.results, &k.nresults, &x->fail);
	if (e == OK && !x->dry_run && !o->no_archive)
		e = archive_chunk(x, &k, ids);
	if (e == OK && !x->dry_run)
		e = daemon_transaction(x, tx_purge, &k);
	for (size_t i = 0, r = 0; i < n && e == OK; i++) {
		size_t from = r;
		while (r < k.nresults && k.results[r].workunitid == ids[i])
			r++;
		log_info(x->dry_run ? "[WU#%lld] %s would be purged with %zu results" :
				      "[WU#%lld] %s purged results=%zu",
		    (long long)ids[i], wu[i]->name, r - from);
	}
	return e;
}

static enum err
purge_one(struct daemon_ctx *x, struct workunit *wu)
{
	return purge_some(x, &wu, 1);
}

/*
 * Finds the workunits of the next slice of ids that are due; sets *last at the end of
 * the table.
 */
static enum err
find_due(struct daemon_ctx *x, struct workunit **wus, size_t *n, bool *last)
{
	struct db_purge *o = x->own;
	int64_t before = x->now - (int64_t)(o->min_age_days * DAY_S), *ids;
	size_t nids, cap = 0;
	enum err e = workunits_files_gone(x->db, &x->a,
	    (struct id_share){ x->mod_n, x->mod_i }, o->at, SLICE, &ids, &nids,
	    &x->fail);

	*n = 0;
	*wus = NULL;
	for (size_t i = 0; e == OK && i < nids; i += DB_LIST_MAX) {
		struct workunit *part;
		size_t got = 0;
		e = workunits_to_purge(x->db, &x->a, ids + i,
		    nids - i < DB_LIST_MAX ? nids - i : DB_LIST_MAX, before, &part,
		    &got, &x->fail);
		for (size_t k = 0; e == OK && k < got; k++)
			PUSH(&x->a, *wus, *n, cap) = part[k];
	}
	*last = e == OK && nids < SLICE;
	if (e == OK)
		o->at = *last ? 0 : ids[nids - 1];
	return e;
}

/*
 * Most workunits are not old enough yet.  A pass examines up to SLICES slices of ids
 * and the next pass continues from there, at once if this one found something.
 */
static enum err
purge_step(struct daemon_ctx *x, size_t *done)
{
	struct db_purge *o = x->own;
	struct workunit *wu;
	size_t n;
	bool last = false;
	enum err e = OK;

	if (x->one_pass)
		o->at = 0;
	for (int i = 0; e == OK && *done == 0 && !last && !daemon_stopping(x) &&
			(x->one_pass || i < SLICES);
	     i++) {
		e = find_due(x, &wu, &n, &last);
		if (e == OK)
			e = daemon_chunks(
			    x, o->backoff, wu, n, CHUNK, purge_some, purge_one, done);
	}
	return e;
}

int
main(int argc, char **argv)
{
	static const struct daemon db_purge = {
		.name = "db_purge",
		.purpose =
		    "Archives finished workunits and removes them from the database.",
		.idle_ms = 60000,
		.can_dry_run = true,
		.own_size = sizeof(struct db_purge),
		.options = options,
		.noptions = N(options),
		.start = purge_start,
		.step = purge_step,
	};

	return daemon_main(&db_purge, argc, argv);
}

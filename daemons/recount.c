/* SPDX-License-Identifier: Apache-2.0 */
/* A pass that is killed begins again: the order to make it is taken back at its end. */
#include "daemons/recount.h"

#include "db/entity.h"
#include "db/file.h"
#include "db/id_walk.h"
#include "db/work_tally.h"
#include "lib/log.h"
#include "model/rows.h"
#include "proto/blob.h"
#include "lib/banned.h"

enum { RECOUNT_SLICE = 5000 };

struct recount_slice {
	int64_t from, to;
};

static enum err
tx_recount(struct daemon_ctx *x, void *arg)
{
	const struct recount_slice *s = arg;

	return work_recount(x->db, s->from, s->to, x->now, &x->fail);
}

enum err
recount_step(struct daemon_ctx *x, struct recount *c, bool *full)
{
	struct recount_slice s = { c->from, 0 };
	bool wanted = true;
	enum err e;

	if (c->over || x->mod_i != 0 || x->dry_run)
		return OK;
	if (c->from == 0)
		TRY(work_recount_wanted(x->db, &wanted, &x->fail));
	c->over = !wanted;
	if (c->over)
		return OK;
	TRY(ids_ahead(x->db, IDS_WORKUNITS, s.from, RECOUNT_SLICE, &s.to, &x->fail));
	e = daemon_transaction(x, tx_recount, &s);
	if (e != OK) /* contention: the next step tries this slice again */
		return e == E_RACE || e == E_RETRY ? OK : e;
	c->from = s.to;
	*full = true;
	if (c->from < IDS_END)
		return OK;
	TRY(work_recount_want(x->db, false, &x->fail));
	c->over = true;
	log_info("compared the counts of all workunits");
	return OK;
}

/*
 * Each transaction counts some workunits and notes so in their rows; a pass that is
 * killed begins again and finds only the others.  The order to make it is taken back at
 * its end.
 */

enum { COUNT_SLICE = 5000 };

struct miscounted {
	const int64_t *ids; /* ascending */
	size_t n;           /* at most DB_LIST_MAX */
	size_t corrected;
};

/* A workunit whose document cannot be read names no inputs, and stays as it is. */
static enum err
tx_count_inputs(struct daemon_ctx *x, void *arg)
{
	struct miscounted *m = arg;
	struct own_inputs used = { 0 }, freed = { 0 };
	const char *docs[DB_LIST_MAX];
	int64_t ids[DB_LIST_MAX];
	struct workunit *wus;
	size_t n, k = 0;

	TRY(workunits_lock(x->db, &x->a, m->ids, m->n, &wus, &n, &x->fail));
	for (size_t i = 0; i < n; i++)
		ids[i] = wus[i].id;
	if (n > 0)
		TRY(workunits_xml_docs(x->db, &x->a, ids, n, docs, &x->fail));
	for (size_t i = 0; i < n; i++) {
		bool needs = wus[i].file_delete_state != FILE_DELETE_DONE;

		if (needs != (wus[i].inputs_counted != 0) && docs[i] != NULL &&
		    blob_own_inputs(&x->a, docs[i], needs ? &used : &freed, NULL) == OK)
			ids[k++] = wus[i].id;
	}
	m->corrected = k;
	TRY(inputs_note_counted(x->db, ids, k, &x->fail));
	TRY(inputs_use(x->db, &x->a, used.names, used.n, &x->fail));
	return inputs_release(x->db, &x->a, freed.names, freed.n, &x->fail);
}

static enum err
count_slice(struct daemon_ctx *x, struct count_inputs *c)
{
	int64_t to, *ids;
	size_t n;

	TRY(ids_ahead(x->db, IDS_WORKUNITS, c->from, COUNT_SLICE, &to, &x->fail));
	TRY(inputs_miscounted(x->db, &x->a, c->from, to, &ids, &n, &x->fail));
	for (size_t i = 0; i < n; i += DB_LIST_MAX) {
		struct miscounted m = { ids + i,
			n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX, 0 };

		if (daemon_stopping(x))
			return FAIL(&x->fail, E_RETRY, "asked to stop");
		TRY(daemon_transaction(x, tx_count_inputs, &m));
		c->n += (int64_t)m.corrected;
	}
	c->from = to;
	return OK;
}

enum err
count_inputs_step(struct daemon_ctx *x, struct count_inputs *c)
{
	bool wanted;
	enum err e;

	if (c->over)
		return OK;
	TRY(inputs_count_wanted(x->db, &wanted, &x->fail));
	c->over = !wanted || x->dry_run;
	if (c->over || x->mod_i != 0)
		return OK;
	e = count_slice(x, c);
	if (e != OK) /* contention: the next step tries the rest of this slice again */
		return e == E_RACE || e == E_RETRY ? OK : e;
	if (c->from < IDS_END)
		return OK;
	TRY(inputs_count_want(x->db, false, &x->fail));
	c->over = true;
	log_info("counted the input files of %lld workunits", (long long)c->n);
	return OK;
}

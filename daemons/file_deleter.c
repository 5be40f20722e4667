/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes files that are no longer needed: the small inputs of finished workunits and
 * the outputs of their results. Files that hosts keep (sticky), files marked no_delete
 * and files in the file table are never touched, because other workunits use them. An
 * input that is counted (db/file.h) goes when the last workunit has given it up.
 * Deleting a file that is already gone counts as success, so an interrupted pass can
 * simply be repeated. Large files go when nothing can need them any more.
 */
#include "daemons/loop.h"

#include <string.h>
#include <unistd.h>
#include "daemons/outputs.h"
#include "daemons/queue.h"
#include "db/entity.h"
#include "db/file.h"
#include "db/id_walk.h"
#include "db/wu_updates.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "model/rows.h"
#include "proto/blob.h"
#include "rules/daemon/daemon_rules.h"
#include "lib/banned.h"

enum {
	BATCH = 4 * DB_LIST_MAX,
	RETRY_ERRORS_S = 3600,
	COUNT_SLICE = 5000, /* ids of workunits */
	SETS_AT_ONCE = 500,
	ROUND_S = 60, /* between two looks at all sets */
	DAY_S = 86400
};

struct retiring {        /* all zero at first */
	int64_t after;   /* the next slice of sets begins behind this one */
	int64_t next_at; /* when the next round begins */
};

struct count_inputs {
	bool over;    /* it was not wanted, or all ids have been seen */
	int64_t from; /* the ids up to this one have been seen */
	int64_t n;    /* workunits that were not counted rightly */
};

struct file_deleter {
	struct daemon_queue queue; /* for the reasons */
	bool input_only, output_only, dont_retry_errors;
	int64_t retry_errors_at;
	int64_t wus_after, results_after; /* of those tried again, until all were */
	size_t inputs_kept;               /* unused ones that could not be deleted */
	struct retiring retiring;
	struct count_inputs count;
};

#define OF(member) FIELD_OF(struct file_deleter, member)
static const struct field options[] = {
	{ "input_files_only", OF(input_only), NULL, "leave output files alone" },
	{ "output_files_only", OF(output_only), NULL, "leave input files alone" },
	{ "dont_retry_errors", OF(dont_retry_errors), NULL,
	    "do not retry failed deletions every hour" },
	{ 0 },
};

static enum err deleter_start(struct daemon_ctx *x)
{
	struct file_deleter *o = x->own;

	queue_start(x, &o->queue, "file_deleter", ASIDE_NOTED);
	o->retry_errors_at = x->now;
	return OK;
}

/* Removes path, and path with each suffix. */
static bool remove_with_companions(
    struct daemon_ctx *x, const char *path, const char *const *suffixes, size_t n)
{
	struct fail f = { 0 };
	bool ok = true;

	if (x->dry_run) {
		log_info("would delete %s", path);
		return true;
	}
	ok = fs_unlink(path, &f) == OK;
	for (size_t i = 0; i < n && ok; i++)
		ok = fs_unlink(arena_printf(&x->a, "%s%s", path, suffixes[i]), &f) ==
		     OK;
	if (ok)
		log_debug("deleted %s", path);
	else
		log_fail("deleting", &f);
	return ok;
}

/* An item whose files were handled, and the state its row gets. */
struct deleted_item {
	int64_t id;
	int32_t new_state;
	struct own_inputs inputs; /* of a workunit */
};
struct chunk {
	bool inputs; /* the inputs of workunits, else the outputs of results */
	int32_t state;
	struct deleted_item *v;
	size_t n;
};

static enum err tx_outputs_deleted(struct daemon_ctx *x, void *arg)
{
	const struct chunk *k = arg;
	struct wu_updates *b = wu_updates_new(&x->a);

	for (size_t i = 0; i < k->n; i++)
		result_files_deleted(b, k->v[i].id, k->state, k->v[i].new_state);
	return wu_updates_save(x->db, b, &x->fail);
}

/* Those that are still as they were read give their inputs up: each once. */
static enum err tx_inputs_deleted(struct daemon_ctx *x, void *arg)
{
	const struct chunk *k = arg;
	struct wu_updates *b = wu_updates_new(&x->a);
	struct own_inputs freed = { 0 };
	struct workunit *now;
	int64_t ids[DB_LIST_MAX];
	size_t n;

	for (size_t i = 0; i < k->n; i++)
		ids[i] = k->v[i].id;
	TRY(workunits_lock(x->db, &x->a, ids, k->n, &now, &n, &x->fail));
	for (size_t i = 0, at = 0; i < k->n; i++) {
		const struct deleted_item *item = &k->v[i];

		while (at < n && now[at].id < item->id)
			at++;
		if (at == n || now[at].id != item->id ||
		    now[at].file_delete_state != k->state)
			continue;
		workunit_files_deleted(b, item->id, k->state, item->new_state, x->now);
		if (item->new_state == FILE_DELETE_DONE && now[at].inputs_counted)
			for (size_t m = 0; m < item->inputs.n; m++)
				PUSH(&x->a, freed.names, freed.n,
				    freed.cap) = item->inputs.names[m];
	}
	TRY(wu_updates_save(x->db, b, &x->fail));
	return inputs_release(x->db, &x->a, freed.names, freed.n, &x->fail);
}

/* Stores the new states of a chunk in one transaction. */
static enum err deleter_save(struct daemon_ctx *x, struct chunk *k, size_t *done)
{
	enum err e = x->dry_run || k->n == 0 ?
	                 OK :
	                 daemon_transaction(
			     x, k->inputs ? tx_inputs_deleted : tx_outputs_deleted, k);

	*done += e == OK ? k->n : 0;
	return e == E_RETRY ? OK : e; /* the next pass finds them again */
}

static void deleter_note(struct chunk *k, struct deleted_item item, bool gone)
{
	item.new_state = gone ? FILE_DELETE_DONE : FILE_DELETE_ERROR;
	k->v[k->n++] = item;
}

static const char *const input_companions[] = { ".md5", ".gz" };

static bool delete_input(struct daemon_ctx *x, const char *name)
{
	return remove_with_companions(x, download_path(&x->a, x->conf, name),
	    input_companions, N(input_companions));
}

/*
 * Deletes the inputs of a workunit that is not counted, except large files and those
 * that others are counted for; *gone says whether all are deleted.
 */
static enum err delete_uncounted(
    struct daemon_ctx *x, const struct own_inputs *own, bool *gone)
{
	bool *counted = NEWN(&x->a, bool, own->n + 1);

	TRY(inputs_counted(x->db, &x->a, own->names, own->n, counted, &x->fail));
	for (size_t i = 0; i < own->n; i++) {
		struct file *large;
		enum err e = counted[i] ? OK :
		                          file_by_name(x->db, &x->a, own->names[i],
					      &large, &x->fail);

		if (e == E_NOTFOUND)
			*gone &= delete_input(x, own->names[i]);
		else if (e != OK)
			return e;
	}
	return OK;
}

static bool delete_outputs(struct daemon_ctx *x, const struct outputs *out)
{
	static const char *const companions[] = { ".part" };
	bool gone = true;

	for (size_t i = 0; i < out->n; i++)
		gone &= remove_with_companions(
		    x, out->v[i].path, companions, N(companions));
	return gone;
}

/* The outcomes for workunits; the reasons of failures are for locus work show. */
struct outcomes {
	struct queue_failure *bad;
	int64_t *good;
	size_t nbad, ngood;
};

/* Takes back what another program has marked: a row that is kept keeps its files. */
static void deleter_keep(struct chunk *k, int64_t id, const char *name)
{
	log_info("%s: its name contains \"nodelete\": its files are kept", name);
	k->v[k->n++] = (struct deleted_item){ .id = id, .new_state = FILE_DELETE_INIT };
}

/* Deletes the inputs of one workunit; what cannot be deleted is tried again hourly. */
static enum err delete_inputs_of(struct daemon_ctx *x, const struct workunit *wu,
    const char *xml, struct chunk *k, struct outcomes *out)
{
	struct queue_failure bad = { .wu = wu, .next_time = x->now + RETRY_ERRORS_S };
	struct deleted_item item = { .id = wu->id };
	bool gone = true, blamed = false;
	enum err e;

	if (row_is_kept(wu->name)) {
		out->good[out->ngood++] = wu->id;
		deleter_keep(k, wu->id, wu->name);
		return OK;
	}
	e = blob_own_inputs(&x->a, xml, &item.inputs, &x->fail);
	if (e == OK && !wu->inputs_counted)
		e = delete_uncounted(x, &item.inputs, &gone);
	if (e != OK) {
		TRY(queue_blame(x, &bad, e, &blamed));
		if (!blamed)
			return OK;
	}
	bad.why = blamed ? bad.why : "an input file cannot be deleted: see the log";
	if (blamed || !gone)
		out->bad[out->nbad++] = bad;
	else
		out->good[out->ngood++] = wu->id;
	deleter_note(k, item, !blamed && gone);
	return OK;
}

/* Handles at most DB_LIST_MAX workunits. */
static enum err delete_some_inputs(struct daemon_ctx *x, int32_t state,
    const struct workunit *wu, size_t n, size_t *done)
{
	struct file_deleter *o = x->own;
	struct chunk k = { true, state, NEWN(&x->a, struct deleted_item, n), 0 };
	struct outcomes out = { .bad = NEWN(&x->a, struct queue_failure, n),
		.good = NEWN(&x->a, int64_t, n) };
	int64_t ids[DB_LIST_MAX];
	const char *docs[DB_LIST_MAX];

	for (size_t i = 0; i < n; i++)
		ids[i] = wu[i].id;
	TRY(workunits_xml_docs(x->db, &x->a, ids, n, docs, &x->fail));
	for (size_t i = 0; i < n && !daemon_stopping(x); i++)
		if (docs[i] != NULL)
			TRY(delete_inputs_of(x, &wu[i], docs[i], &k, &out));
	TRY(deleter_save(x, &k, done));
	return queue_tried(x, &o->queue,
	    &(const struct queue_outcomes){ out.bad, out.nbad, out.good, out.ngood });
}

static enum err delete_some_outputs(
    struct daemon_ctx *x, int32_t state, const struct result *r, size_t n, size_t *done)
{
	struct chunk k = { false, state, NEWN(&x->a, struct deleted_item, n), 0 };
	struct outputs out[DB_LIST_MAX];
	int64_t ids[DB_LIST_MAX];

	for (size_t i = 0; i < n; i++)
		ids[i] = r[i].id;
	TRY(outputs_of(x->db, &x->a, x->conf, ids, n, out, &x->fail));
	for (size_t i = 0; i < n && !daemon_stopping(x); i++) {
		if (row_is_kept(r[i].name)) {
			deleter_keep(&k, r[i].id, r[i].name);
			continue;
		}
		if (out[i].e != OK)
			log_err("[RESULT#%lld] %s: the list of its output files: %s",
			    (long long)r[i].id, r[i].name, out[i].why);
		deleter_note(&k, (struct deleted_item){ .id = r[i].id },
		    out[i].e == OK && delete_outputs(x, &out[i]));
	}
	return deleter_save(x, &k, done);
}

/* --- inputs that no workunit needs any more --- */

struct unused_inputs {
	char *const *names;
	size_t n;    /* at most DB_LIST_MAX */
	size_t kept; /* those that cannot be deleted */
};

static bool is_large(const struct file *large, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(large[i].name, name) == 0)
			return true;
	return false;
}

/* The rows are locked until the files are gone: a workunit that comes to need one is
 * counted after that, and whoever makes the workunit then looks for the file. */
static enum err tx_inputs_unused(struct daemon_ctx *x, void *arg)
{
	struct unused_inputs *u = arg;
	struct file *large;
	char **names;
	size_t n, nlarge, ngone = 0;

	TRY(inputs_unused_lock(x->db, &x->a, u->names, u->n, &names, &n, &x->fail));
	TRY(files_by_names(
	    x->db, &x->a, (const char *const *)names, n, &large, &nlarge, &x->fail));
	for (size_t i = 0; i < n; i++)
		if (is_large(large, nlarge, names[i]) || delete_input(x, names[i]))
			names[ngone++] = names[i];
	u->kept = n - ngone;
	return inputs_forget(x->db, names, ngone, &x->fail);
}

/* Those that cannot be deleted are read each time: they do not keep others back. */
static enum err delete_unused_inputs(struct daemon_ctx *x, size_t *done)
{
	struct file_deleter *o = x->own;
	size_t n, kept = 0, most = BATCH + o->inputs_kept;
	char **names;

	if (x->dry_run || x->mod_i != 0)
		return OK;
	TRY(inputs_unused(x->db, &x->a, most, &names, &n, &x->fail));
	for (size_t i = 0; i < n && !daemon_stopping(x); i += DB_LIST_MAX) {
		struct unused_inputs u = { names + i,
			n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX, 0 };
		enum err e = daemon_transaction(x, tx_inputs_unused, &u);

		if (e != OK)
			return e == E_RETRY ? OK : e;
		kept += u.kept;
		*done += u.n - u.kept;
	}
	o->inputs_kept = kept;
	return OK;
}

/* Handles those after the id *after, which becomes 0 when there are no more. */
static enum err deleter_workunits(
    struct daemon_ctx *x, int32_t state, int64_t *after, size_t *done)
{
	struct workunit *wu;
	size_t n;
	const struct delete_slice d = { { x->mod_n, x->mod_i }, state, *after, BATCH };

	TRY(workunits_to_delete_files(x->db, &x->a, &d, &wu, &n, &x->fail));
	for (size_t i = 0; i < n && !daemon_stopping(x); i += DB_LIST_MAX)
		TRY(delete_some_inputs(
		    x, state, wu + i, n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX, done));
	*after = n < BATCH ? 0 : wu[n - 1].id;
	return OK;
}

static enum err deleter_results(
    struct daemon_ctx *x, int32_t state, int64_t *after, size_t *done)
{
	struct result *r;
	size_t n;
	const struct delete_slice d = { { x->mod_n, x->mod_i }, state, *after, BATCH };

	TRY(results_to_delete_files(x->db, &x->a, &d, &r, &n, &x->fail));
	for (size_t i = 0; i < n && !daemon_stopping(x); i += DB_LIST_MAX)
		TRY(delete_some_outputs(
		    x, state, r + i, n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX, done));
	*after = n < BATCH ? 0 : r[n - 1].id;
	return OK;
}

/*
 * After an upgrade the input files of workunits are counted (db/file.h): programs of
 * the earlier release have made some without counting them, and finished others without
 * taking them off. Each transaction counts some workunits and notes so in their rows;
 * a pass that is killed begins again and finds only the others. The order to make it
 * is taken back at its end.
 */

struct miscounted {
	const int64_t *ids; /* ascending */
	size_t n;           /* at most DB_LIST_MAX */
	size_t corrected;
};

/* A workunit whose document cannot be read names no inputs, and stays as it is. */
static enum err tx_count_inputs(struct daemon_ctx *x, void *arg)
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

static enum err count_slice(struct daemon_ctx *x, struct count_inputs *c)
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

/*
 * Goes on by a slice of ids, unless another instance does. Until it is over, no input
 * file may be deleted.
 */
static enum err count_inputs_step(struct daemon_ctx *x, struct count_inputs *c)
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

/* What was due first, but could not be deleted, is no longer READY. */
static enum err deleter_pass(struct daemon_ctx *x, size_t *done)
{
	struct file_deleter *o = x->own;
	int64_t wus = 0, results = 0;

	if (!o->output_only)
		TRY(count_inputs_step(x, &o->count));
	*done += !o->output_only && !o->count.over && x->mod_i == 0; /* at once */
	if (!o->output_only && o->count.over) {
		TRY(deleter_workunits(x, FILE_DELETE_READY, &wus, done));
		TRY(delete_unused_inputs(x, done));
	}
	return o->input_only ? OK :
	                       deleter_results(x, FILE_DELETE_READY, &results, done);
}

/*
 * Goes once an hour through all that could not be deleted, a batch in each step. Not
 * counted as done: a file that always fails must not prolong a single pass.
 */
static enum err deleter_again(struct daemon_ctx *x)
{
	struct file_deleter *o = x->own;
	bool due = x->now >= o->retry_errors_at;
	size_t done = 0;

	if (o->dont_retry_errors)
		return OK;
	if (due)
		o->retry_errors_at = x->now + RETRY_ERRORS_S;
	if (!o->output_only && o->count.over && (due || o->wus_after > 0))
		TRY(deleter_workunits(x, FILE_DELETE_ERROR, &o->wus_after, &done));
	if (!o->input_only && (due || o->results_after > 0))
		TRY(deleter_results(x, FILE_DELETE_ERROR, &o->results_after, &done));
	return OK;
}

/*
 * Large files are retired: those of a file set leave the download directory and the
 * tables, and the hosts that hold them are told to delete them, when nothing has needed
 * the set for retain_days, or when an admin has ordered it and no work needs the set. A
 * file that another set needs stays.
 */

/* The reason of draining, as shown to the admin; sets drained for it are opened again
 * if they are needed after all. */
static const char own_reason[] = "retired: nothing has needed it for retain_days";

struct gone { /* a set that is removed */
	int64_t id;
	const char *name;
	struct row_member *files; /* those that are in no other set */
	size_t n;
	int64_t told; /* hosts that hold one of them */
};

/* Workunits may have been made since the set was read; then nothing is removed. */
static enum err tx_retire(struct daemon_ctx *x, void *arg)
{
	struct gone *g = arg;
	bool used;

	g->told = 0;
	TRY(fileset_is_used(x->db, &x->a, g->id, &used, &x->fail));
	if (used)
		return FAIL(&x->fail, E_RACE, "%s has work again", g->name);
	for (size_t i = 0; i < g->n; i++)
		TRY(file_tell_holders(
		    x->db, &x->a, &g->files[i], x->now, &g->told, &x->fail));
	return fileset_remove(x->db, &x->a, g->id, g->files, g->n, &x->fail);
}

static enum err unlink_files(struct daemon_ctx *x, const struct gone *g)
{
	static const char *const endings[] = { "", ".md5", ".gz" };

	for (size_t i = 0; i < g->n; i++) {
		const char *path = download_path(&x->a, x->conf, g->files[i].name);

		for (size_t k = 0; k < N(endings); k++)
			TRY(fs_unlink(
			    arena_printf(&x->a, "%s%s", path, endings[k]), &x->fail));
		log_info("[FILE %s] deleted %s", g->name, path);
	}
	return OK;
}

/* The rows go first: a file without rows is a stranger that fsck names, but a set whose
 * file is missing would send tasks that fail. */
static enum err retire_remove(
    struct daemon_ctx *x, int64_t id, const char *name, const char *why)
{
	struct gone g = { .id = id, .name = name };
	struct row_member *m = NULL;
	size_t n = 0;
	bool shared;
	enum err e;

	TRY(fileset_files(x->db, &x->a, id, &m, &n, &x->fail));
	g.files = NEWN(&x->a, struct row_member, n + 1);
	for (size_t i = 0; i < n; i++) {
		TRY(file_is_shared(x->db, &x->a, m[i].file_id, &shared, &x->fail));
		if (!shared)
			g.files[g.n++] = m[i];
	}
	e = daemon_transaction(x, tx_retire, &g);
	if (e == E_RACE || e == E_RETRY)
		return OK; /* the next round looks again */
	TRY(e);
	log_info(
	    "[FILE %s] %s: files=%zu shared=%zu; %lld times a host is told to delete one",
	    name, why, g.n, n - g.n, (long long)g.told);
	for (int i = TRIGGER_NEED_WORK; i < TRIGGER__MAX; i++)
		TRY(trigger_clear(&x->triggers, (enum trigger)i, name, &x->fail));
	return unlink_files(x, &g);
}

static enum err retire_needed(struct daemon_ctx *x, const struct row_retire *s)
{
	TRY(fileset_set_idle(x->db, s->id, 0, &x->fail));
	if (strcmp(s->hold_reason, own_reason) != 0)
		return OK;
	log_info("[FILE %s] is needed again, and not retired", s->name);
	return fileset_set_paused(x->db, s->id, FILESET_OPEN, "", &x->fail);
}

static enum err retire_step(
    struct daemon_ctx *x, const struct row_retire *s, enum retire_step step)
{
	if (x->dry_run) {
		if (step == RETIRE_DRAIN || step == RETIRE_REMOVE)
			log_info("[FILE %s] would be retired", s->name);
		return OK;
	}
	switch (step) {
	case RETIRE_NONE:
		return OK;
	case RETIRE_NEEDED:
		return retire_needed(x, s);
	case RETIRE_IDLE:
		log_info("[FILE %s] nothing needs it any more", s->name);
		return fileset_set_idle(x->db, s->id, x->now, &x->fail);
	case RETIRE_DRAIN:
		return fileset_set_paused(
		    x->db, s->id, FILESET_DRAINING, own_reason, &x->fail);
	case RETIRE_REMOVE:
		return retire_remove(x, s->id, s->name, "retired");
	}
	return OK;
}

static enum err retire_sets(
    struct daemon_ctx *x, const struct row_retire *rows, size_t n)
{
	char **names = NEWN(&x->a, char *, n + 1);
	bool *no_work = NEWN(&x->a, bool, n + 1);

	for (size_t i = 0; i < n; i++)
		names[i] = rows[i].name;
	if (n > 0)
		TRY(trigger_there(&x->triggers, &x->a, TRIGGER_NO_WORK_AVAILABLE, names,
		    n, no_work, &x->fail));
	for (size_t i = 0; i < n && !daemon_stopping(x); i++) {
		const struct row_retire *r = &rows[i];
		const struct retire_set s = { .has_workunit = r->has_workunit != 0,
			.no_work_available = no_work[i],
			.paused = r->paused,
			.gen_parts = r->gen_parts,
			.gen_next = r->gen_next,
			.idle_since = r->idle_since };

		TRY(retire_step(
		    x, r, retire(&s, x->conf->retain_days * DAY_S, x->now)));
	}
	return OK;
}

/* --- sets whose removal an admin ordered --- */

static enum err tx_leave(struct daemon_ctx *x, void *arg)
{
	return fileset_leave(x->db, &x->a, arg, &x->fail);
}

/* Its finished workunits, which are not purged yet, no longer name the set. */
static enum err release_workunits(struct daemon_ctx *x, int64_t id)
{
	struct fileset_leaving l = { .fileset_id = id };

	do
		TRY(daemon_transaction(x, tx_leave, &l));
	while (l.left > 0 && !daemon_stopping(x));
	return OK;
}

static enum err remove_ordered(struct daemon_ctx *x, const struct row_named *s)
{
	struct fileset_use use;
	enum err e;

	TRY(fileset_use(x->db, &x->a, s->id, &use, &x->fail));
	if (fileset_is_needed(&use))
		return OK;
	if (x->dry_run) {
		log_info("[FILE %s] would be removed", s->name);
		return OK;
	}
	e = release_workunits(x, s->id);
	if (e == E_RETRY || daemon_stopping(x))
		return OK; /* the next round goes on */
	TRY(e);
	return retire_remove(x, s->id, s->name, "removed");
}

static enum err remove_all_ordered(struct daemon_ctx *x)
{
	struct row_named *v;
	size_t n;

	TRY(filesets_leaving(
	    x->db, &x->a, x->now - RETIRE_SETTLE_S, SETS_AT_ONCE, &v, &n, &x->fail));
	for (size_t i = 0; i < n && !daemon_stopping(x); i++)
		TRY(remove_ordered(x, &v[i]));
	return OK;
}

/* Looks at the next sets, if a round is due; a round takes as many steps as needed. */
static enum err retire_some(struct daemon_ctx *x, struct retiring *o)
{
	struct row_retire *rows = NULL;
	size_t n = 0;
	bool first = o->after == 0;

	if (x->mod_i != 0 || (first && x->now < o->next_at && !x->one_pass))
		return OK;
	if (first)
		TRY(remove_all_ordered(x));
	if (x->conf->retain_days == 0) {
		o->next_at = x->now + ROUND_S;
		return OK;
	}
	TRY(filesets_to_retire(
	    x->db, &x->a, o->after, SETS_AT_ONCE, &rows, &n, &x->fail));
	o->after = n < SETS_AT_ONCE ? 0 : rows[n - 1].id;
	if (o->after == 0)
		o->next_at = x->now + ROUND_S;
	return retire_sets(x, rows, n);
}

static enum err deleter_work(struct daemon_ctx *x, size_t *done)
{
	struct file_deleter *o = x->own;

	TRY(deleter_pass(x, done));
	TRY(deleter_again(x));
	return o->output_only ? OK : retire_some(x, &o->retiring);
}

/*
 * Deletes nothing while a backup runs: every file that the backup's snapshot of the
 * database names has to be there until it is copied.
 */
static enum err deleter_step(struct daemon_ctx *x, size_t *done)
{
	int lock;
	enum err e = fs_lock_shared(backup_lock_path(&x->a, x->conf), &lock, &x->fail);

	if (e == E_RACE) {
		log_debug("a backup is running: no file is deleted until it ends");
		return OK;
	}
	if (e != OK)
		return e;
	e = deleter_work(x, done);
	close(lock);
	return e;
}

int main(int argc, char **argv)
{
	static const struct daemon file_deleter = {
		.name = "file_deleter",
		.purpose = "Deletes the files of finished workunits and results.",
		.idle_ms = 1000,
		.bell = DOORBELL_FILE_DELETER,
		.can_dry_run = true,
		.own_size = sizeof(struct file_deleter),
		.options = options,
		.start = deleter_start,
		.step = deleter_step,
	};

	return daemon_main(&file_deleter, argc, argv);
}

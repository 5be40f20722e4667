/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes files that are no longer needed: the small inputs of finished workunits and
 * the outputs of their results.  Files that hosts keep (sticky), files marked no_delete
 * and files in the file table are never touched, because other workunits use them.  An
 * input that is counted (db/file.h) goes when the last workunit has given it up.
 * Deleting a file that is already gone counts as success, so an interrupted pass can
 * simply be repeated.  Large files go when nothing can need them any more (retire.h).
 */
#include "daemons/loop.h"

#include <string.h>
#include <unistd.h>
#include "daemons/recount.h"
#include "daemons/outputs.h"
#include "daemons/retire.h"
#include "daemons/queue.h"
#include "db/entity.h"
#include "db/file.h"
#include "db/wu_updates.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "model/rows.h"
#include "proto/blob.h"
#include "lib/banned.h"

enum { BATCH = 4 * DB_LIST_MAX, RETRY_ERRORS_S = 3600 };

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

static enum err
deleter_start(struct daemon_ctx *x)
{
	struct file_deleter *o = x->own;

	queue_start(x, &o->queue, "file_deleter", ASIDE_NOTED);
	o->retry_errors_at = x->now;
	return OK;
}

/* Removes path, and path with each suffix. */
static bool
remove_with_companions(
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

static enum err
tx_outputs_deleted(struct daemon_ctx *x, void *arg)
{
	const struct chunk *k = arg;
	struct wu_updates *b = wu_updates_new(&x->a);

	for (size_t i = 0; i < k->n; i++)
		result_files_deleted(b, k->v[i].id, k->state, k->v[i].new_state);
	return wu_updates_save(x->db, b, &x->fail);
}

/* Those that are still as they were read give their inputs up: each once. */
static enum err
tx_inputs_deleted(struct daemon_ctx *x, void *arg)
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
static enum err
deleter_save(struct daemon_ctx *x, struct chunk *k, size_t *done)
{
	enum err e = x->dry_run || k->n == 0 ?
	                 OK :
	                 daemon_transaction(
			     x, k->inputs ? tx_inputs_deleted : tx_outputs_deleted, k);

	*done += e == OK ? k->n : 0;
	return e == E_RETRY ? OK : e; /* the next pass finds them again */
}

static void
deleter_note(struct chunk *k, struct deleted_item item, bool gone)
{
	item.new_state = gone ? FILE_DELETE_DONE : FILE_DELETE_ERROR;
	k->v[k->n++] = item;
}

static const char *const input_companions[] = { ".md5", ".gz" };

static bool
delete_input(struct daemon_ctx *x, const char *name)
{
	return remove_with_companions(x, download_path(&x->a, x->conf, name),
	    input_companions, N(input_companions));
}

/*
 * Deletes the inputs of a workunit that is not counted, except large files and those
 * that others are counted for; *gone says whether all are deleted.
 */
static enum err
delete_uncounted(struct daemon_ctx *x, const struct own_inputs *own, bool *gone)
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

static bool
delete_outputs(struct daemon_ctx *x, const struct outputs *out)
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
static void
deleter_keep(struct chunk *k, int64_t id, const char *name)
{
	log_info("%s: its name contains \"nodelete\": its files are kept", name);
	k->v[k->n++] = (struct deleted_item){ .id = id, .new_state = FILE_DELETE_INIT };
}

/* Deletes the inputs of one workunit; what cannot be deleted is tried again hourly. */
static enum err
delete_inputs_of(struct daemon_ctx *x, const struct workunit *wu, const char *xml,
    struct chunk *k, struct outcomes *out)
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
static enum err
delete_some_inputs(struct daemon_ctx *x, int32_t state, const struct workunit *wu,
    size_t n, size_t *done)
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

static enum err
delete_some_outputs(
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

static bool
is_large(const struct file *large, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(large[i].name, name) == 0)
			return true;
	return false;
}

/* The rows are locked until the files are gone: a workunit that comes to need one is
 * counted after that, and whoever makes the workunit then looks for the file. */
static enum err
tx_inputs_unused(struct daemon_ctx *x, void *arg)
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
static enum err
delete_unused_inputs(struct daemon_ctx *x, size_t *done)
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
static enum err
deleter_workunits(struct daemon_ctx *x, int32_t state, int64_t *after, size_t *done)
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

static enum err
deleter_results(struct daemon_ctx *x, int32_t state, int64_t *after, size_t *done)
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

/* What was due first, but could not be deleted, is no longer READY. */
static enum err
deleter_pass(struct daemon_ctx *x, size_t *done)
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
 * Goes once an hour through all that could not be deleted, a batch in each step.  Not
 * counted as done: a file that always fails must not prolong a single pass.
 */
static enum err
deleter_again(struct daemon_ctx *x)
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

static enum err
deleter_work(struct daemon_ctx *x, size_t *done)
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
static enum err
deleter_step(struct daemon_ctx *x, size_t *done)
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

int
main(int argc, char **argv)
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

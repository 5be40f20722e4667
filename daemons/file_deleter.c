/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes files that are no longer needed: the small inputs of finished workunits and
 * the outputs of their results.  Files that hosts keep (sticky), files marked no_delete
 * and files in the file table are never touched, because other workunits use them.
 * Deleting a file that is already gone counts as success, so an interrupted pass can
 * simply be repeated.
 */
#include "daemons/loop.h"

#include <unistd.h>
#include "daemons/outputs.h"
#include "db/entity.h"
#include "db/wu_updates.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "model/states.h"
#include "proto/blob.h"
#include "lib/banned.h"

enum {
	BATCH = 4 * DB_LIST_MAX,
	PAUSE_FIRST_S = 10,
	PAUSE_MOST_S = 3600,
	RETRY_ERRORS_S = 3600
};

struct file_deleter {
	struct item_backoff *wus, *results;
	bool input_only, output_only, dont_retry_errors;
	int64_t retry_errors_at;
};

#define AT(field) offsetof(struct file_deleter, field)
static const struct daemon_option options[] = {
	{ "input_files_only", 0, OPTION_FLAG, AT(input_only), NULL, NULL, 0, 0,
	    "leave output files alone", false },
	{ "output_files_only", 0, OPTION_FLAG, AT(output_only), NULL, NULL, 0, 0,
	    "leave input files alone", false },
	{ "dont_retry_errors", 0, OPTION_FLAG, AT(dont_retry_errors), NULL, NULL, 0, 0,
	    "do not retry failed deletions every hour", false },
};

static enum err
deleter_start(struct daemon_ctx *x)
{
	struct file_deleter *o = x->own;

	o->wus = daemon_backoff(x, PAUSE_FIRST_S, PAUSE_MOST_S);
	o->results = daemon_backoff(x, PAUSE_FIRST_S, PAUSE_MOST_S);
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
};
struct chunk {
	bool inputs; /* the inputs of workunits, else the outputs of results */
	int32_t state;
	struct deleted_item *v;
	size_t n;
};

static enum err
tx_files_deleted(struct daemon_ctx *x, void *arg)
{
	const struct chunk *k = arg;
	struct wu_updates *b = wu_updates_new(&x->a);

	for (size_t i = 0; i < k->n; i++)
		(k->inputs ? workunit_files_deleted : result_files_deleted)(
		    b, k->v[i].id, k->state, k->v[i].new_state);
	return wu_updates_save(x->db, b, &x->fail);
}

/* Stores the new states of a chunk in one transaction. */
static enum err
deleter_save(
    struct daemon_ctx *x, struct item_backoff *t, struct chunk *k, size_t *done)
{
	enum err e = x->dry_run || k->n == 0 ?
	                 OK :
	                 daemon_transaction(x, tx_files_deleted, k);

	for (size_t i = 0; i < k->n && e == OK; i++) {
		item_backoff_forget(t, k->v[i].id);
		*done += k->v[i].new_state == FILE_DELETE_DONE;
	}
	return e == E_RETRY ? OK : e; /* the next pass finds them again */
}

/*
 * Records how one item ended: gone says whether all its files are deleted, e is any
 * other error.  Parameters: an item has an id for the daemon and a label for people.
 */
static enum err
deleter_note(struct daemon_ctx *x, struct item_backoff *t, struct chunk *k,
    struct item item, const char *label, bool gone, enum err e)
{
	if (e != OK)
		return daemon_item_ended(x, t, item, label, e);
	k->v[k->n++] = (struct deleted_item){ item.key,
		gone ? FILE_DELETE_DONE : FILE_DELETE_ERROR };
	return OK;
}

/*
 * Deletes the input files of one workunit; *gone says whether all of them are deleted.
 */
static enum err
delete_inputs(struct daemon_ctx *x, const char *xml, bool *gone)
{
	static const char *const companions[] = { ".md5", ".gz" };
	struct blob_file *files;
	struct file *known;
	size_t n;
	enum err e = blob_files(&x->a, xml, &files, &n, &x->fail);

	*gone = true;
	for (size_t i = 0; e == OK && i < n; i++) {
		if (files[i].sticky || files[i].no_delete)
			continue;
		e = file_by_name(x->db, &x->a, files[i].name, &known, &x->fail);
		if (e == E_NOTFOUND) {
			e = OK;
			*gone &= remove_with_companions(x,
			    download_path(&x->a, x->conf, files[i].name), companions,
			    N(companions));
		}
	}
	return e;
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

/* Handles at most DB_LIST_MAX workunits. */
static enum err
delete_some_inputs(struct daemon_ctx *x, int32_t state, const struct workunit *wu,
    size_t n, size_t *done)
{
	struct file_deleter *o = x->own;
	struct chunk k = { true, state, NEWN(&x->a, struct deleted_item, n), 0 };
	int64_t ids[DB_LIST_MAX];
	const char *docs[DB_LIST_MAX];
	enum err e;

	for (size_t i = 0; i < n; i++)
		ids[i] = wu[i].id;
	e = workunits_xml_docs(x->db, &x->a, ids, n, docs, &x->fail);
	for (size_t i = 0; e == OK && i < n && !daemon_stopping(x); i++) {
		bool gone = true;
		if (docs[i] == NULL ||
		    item_backoff_must_wait(o->wus, workunit_item(&wu[i]), x->now))
			continue;
		e = delete_inputs(x, docs[i], &gone);
		e = deleter_note(x, o->wus, &k, workunit_item(&wu[i]),
		    arena_printf(
			&x->a, "[WU#%lld] %s", (long long)wu[i].id, wu[i].name),
		    gone, e);
	}
	return e != OK ? e : deleter_save(x, o->wus, &k, done);
}

static enum err
delete_some_outputs(
    struct daemon_ctx *x, int32_t state, const struct result *r, size_t n, size_t *done)
{
	struct file_deleter *o = x->own;
	struct chunk k = { false, state, NEWN(&x->a, struct deleted_item, n), 0 };
	struct outputs out[DB_LIST_MAX];
	int64_t ids[DB_LIST_MAX];
	enum err e;

	for (size_t i = 0; i < n; i++)
		ids[i] = r[i].id;
	e = outputs_of(x->db, &x->a, x->conf, ids, n, out, &x->fail);
	for (size_t i = 0; e == OK && i < n && !daemon_stopping(x); i++) {
		bool gone = false;
		if (item_backoff_must_wait(
			o->results, (struct item){ r[i].id, 0 }, x->now))
			continue;
		if (out[i].e == OK)
			gone = delete_outputs(x, &out[i]);
		else
			FAIL(&x->fail, out[i].e, "%s", out[i].why);
		e = deleter_note(x, o->results, &k, (struct item){ r[i].id, 0 },
		    arena_printf(
			&x->a, "[RESULT#%lld] %s", (long long)r[i].id, r[i].name),
		    gone, out[i].e);
	}
	return e != OK ? e : deleter_save(x, o->results, &k, done);
}

static enum err
deleter_workunits(struct daemon_ctx *x, int32_t state, size_t *done)
{
	struct file_deleter *o = x->own;
	struct workunit *wu;
	size_t n;
	enum err e = workunits_to_delete_files(x->db, &x->a,
	    (struct id_share){ x->mod_n, x->mod_i }, state, BATCH + o->wus->used, &wu,
	    &n, &x->fail);

	for (size_t i = 0; e == OK && i < n && !daemon_stopping(x); i += DB_LIST_MAX)
		e = delete_some_inputs(
		    x, state, wu + i, n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX, done);
	return e;
}

static enum err
deleter_results(struct daemon_ctx *x, int32_t state, size_t *done)
{
	struct file_deleter *o = x->own;
	struct result *r;
	size_t n;
	enum err e = results_to_delete_files(x->db, &x->a,
	    (struct id_share){ x->mod_n, x->mod_i }, state, BATCH + o->results->used,
	    &r, &n, &x->fail);

	for (size_t i = 0; e == OK && i < n && !daemon_stopping(x); i += DB_LIST_MAX)
		e = delete_some_outputs(
		    x, state, r + i, n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX, done);
	return e;
}

static enum err
deleter_pass(struct daemon_ctx *x, int32_t state, size_t *done)
{
	const struct file_deleter *o = x->own;
	enum err e = o->output_only ? OK : deleter_workunits(x, state, done);

	return e != OK || o->input_only ? e : deleter_results(x, state, done);
}

static enum err
deleter_work(struct daemon_ctx *x, size_t *done)
{
	struct file_deleter *o = x->own;
	/* Not counted as done: a file that always fails must not prolong a single pass.
	 */
	size_t again = 0;
	enum err e = deleter_pass(x, FILE_DELETE_READY, done);

	if (e != OK || o->dont_retry_errors || x->now < o->retry_errors_at)
		return e;
	o->retry_errors_at = x->now + RETRY_ERRORS_S;
	return deleter_pass(x, FILE_DELETE_ERROR, &again);
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
		.noptions = N(options),
		.start = deleter_start,
		.step = deleter_step,
	};

	return daemon_main(&file_deleter, argc, argv);
}

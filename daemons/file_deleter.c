/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes files that are no longer needed: the small inputs of finished workunits and
 * the outputs of their results.  A file that hosts keep (sticky), one marked no_delete
 * and one of the file table is never touched: other workunits use it.  Deleting what is
 * gone already is a success, so an interrupted pass is simply done again.
 */
#include "daemons/loop.h"
#include "daemons/outputs.h"
#include "db/entity.h"
#include "db/life.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "model/states.h"
#include "proto/blob.h"
#include "lib/banned.h"

enum { BATCH = 200, PAUSE_FIRST_S = 10, PAUSE_MOST_S = 3600, RETRY_ERRORS_S = 3600 };

struct own {
	struct tries *wus, *results;
	bool input_only, output_only, dont_retry_errors;
	int64_t retry_errors_at;
};

#define AT(field) offsetof(struct own, field)
static const struct daemon_option options[] = {
	{ "input_files_only", 0, OPTION_FLAG, AT(input_only), NULL, NULL, 0, 0,
	    "leave output files alone", false },
	{ "output_files_only", 0, OPTION_FLAG, AT(output_only), NULL, NULL, 0, 0,
	    "leave input files alone", false },
	{ "dont_retry_errors", 0, OPTION_FLAG, AT(dont_retry_errors), NULL, NULL, 0, 0,
	    "do not try again hourly what could not be deleted", false },
};

static enum err
start(struct ctx *x)
{
	struct own *o = x->own;

	o->wus = daemon_tries(x, PAUSE_FIRST_S, PAUSE_MOST_S);
	o->results = daemon_tries(x, PAUSE_FIRST_S, PAUSE_MOST_S);
	o->retry_errors_at = x->now;
	return OK;
}

/* Removes path and path + each suffix. */
static bool
removed(struct ctx *x, const char *path, const char *const *suffixes, size_t n)
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

/* Input files of one workunit; *gone says whether all that had to go went. */
static enum err
delete_inputs(struct ctx *x, const struct workunit *wu, bool *gone)
{
	static const char *const companions[] = { ".md5", ".gz" };
	struct blob_file *files;
	struct file *known;
	char *xml;
	size_t n;
	enum err e = workunit_xml_doc(x->db, &x->a, wu->id, &xml, &x->fail);

	*gone = true;
	if (e == OK)
		e = blob_files(&x->a, xml, &files, &n, &x->fail);
	for (size_t i = 0; e == OK && i < n; i++) {
		if (files[i].sticky || files[i].no_delete)
			continue;
		e = file_by_name(x->db, &x->a, files[i].name, &known, &x->fail);
		if (e == E_NOTFOUND) {
			e = OK;
			*gone &= removed(x,
			    download_path(&x->a, x->conf, files[i].name), companions,
			    N(companions));
		}
	}
	return e;
}

static enum err
delete_outputs(struct ctx *x, const struct result *r, bool *gone)
{
	static const char *const companions[] = { ".part" };
	struct outputs out = { 0 };
	enum err e = outputs_of(x->db, &x->a, x->conf, &r->id, 1, &out, &x->fail);

	if (e == OK && out.e != OK)
		e = FAIL(&x->fail, out.e, "%s", out.why);
	*gone = true;
	for (size_t i = 0; e == OK && i < out.n; i++)
		*gone &= removed(x, out.v[i].path, companions, N(companions));
	return e;
}

static enum err
do_workunits(struct ctx *x, int32_t state, size_t *done)
{
	struct own *o = x->own;
	struct workunit *wu;
	size_t n;
	enum err e = workunits_to_delete_files(x->db, &x->a,
	    (struct part){ x->mod_n, x->mod_i }, state, BATCH + o->wus->used, &wu, &n,
	    &x->fail);

	for (size_t i = 0; e == OK && i < n && !daemon_stopping(x); i++) {
		bool gone;
		if (tries_must_wait(o->wus, wu[i].id, x->now))
			continue;
		e = delete_inputs(x, &wu[i], &gone);
		if (e == OK && !x->dry_run)
			e = workunit_files_deleted(x->db, wu[i].id, state,
			    gone ? FILE_DELETE_DONE : FILE_DELETE_ERROR, &x->fail);
		*done += e == OK && gone;
		e = daemon_item(x, o->wus, wu[i].id,
		    arena_printf(
			&x->a, "[WU#%lld] %s", (long long)wu[i].id, wu[i].name),
		    e);
	}
	return e;
}

static enum err
do_results(struct ctx *x, int32_t state, size_t *done)
{
	struct own *o = x->own;
	struct result *r;
	size_t n;
	enum err e = results_to_delete_files(x->db, &x->a,
	    (struct part){ x->mod_n, x->mod_i }, state, BATCH + o->results->used, &r,
	    &n, &x->fail);

	for (size_t i = 0; e == OK && i < n && !daemon_stopping(x); i++) {
		bool gone;
		if (tries_must_wait(o->results, r[i].id, x->now))
			continue;
		e = delete_outputs(x, &r[i], &gone);
		if (e == OK && !x->dry_run)
			e = result_files_deleted(x->db, r[i].id, state,
			    gone ? FILE_DELETE_DONE : FILE_DELETE_ERROR, &x->fail);
		*done += e == OK && gone;
		e = daemon_item(x, o->results, r[i].id,
		    arena_printf(
			&x->a, "[RESULT#%lld] %s", (long long)r[i].id, r[i].name),
		    e);
	}
	return e;
}

static enum err
pass(struct ctx *x, int32_t state, size_t *done)
{
	const struct own *o = x->own;
	enum err e = o->output_only ? OK : do_workunits(x, state, done);

	return e != OK || o->input_only ? e : do_results(x, state, done);
}

static enum err
step(struct ctx *x, size_t *done)
{
	struct own *o = x->own;
	size_t again =
	    0; /* not counted: what fails for ever must not keep one pass going */
	enum err e = pass(x, FILE_DELETE_READY, done);

	if (e != OK || o->dont_retry_errors || x->now < o->retry_errors_at)
		return e;
	o->retry_errors_at = x->now + RETRY_ERRORS_S;
	return pass(x, FILE_DELETE_ERROR, &again);
}

int
main(int argc, char **argv)
{
	static const struct daemon file_deleter = {
		.name = "file_deleter",
		.purpose = "Deletes the files of finished workunits and results.",
		.idle_ms = 5000,
		.can_dry_run = true,
		.own_size = sizeof(struct own),
		.options = options,
		.noptions = N(options),
		.start = start,
		.step = step,
	};

	return daemon_main(&file_deleter, argc, argv);
}

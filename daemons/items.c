/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How daemons process items: transactions with retries, and failures of one item that
 * do not stop the others.
 */
#include <stdlib.h>
#include <string.h>
#include "daemons/lease_keeper.h"
#include "daemons/loop.h"
#include "db/entity.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/banned.h"

enum { UNIT_TRIES = 8 };

enum err
daemon_transaction(
    struct daemon_ctx *x, enum err (*unit)(struct daemon_ctx *, void *), void *arg)
{
	for (int attempt = 0;; attempt++) {
		enum err e = db_begin(x->db, &x->fail);
		if (e == OK && x->keeper != NULL && !x->dry_run)
			e = keeper_guard(x->keeper, x->db, &x->fail);
		if (e == OK)
			e = unit(x, arg);
		if (e == OK)
			e = db_commit(x->db, &x->fail);
		if (e == OK)
			return OK;
		db_rollback(x->db);
		if (e != E_RETRY || attempt + 1 >= UNIT_TRIES)
			return e;
		log_debug("retrying the transaction: %s", x->fail.detail);
		db_retry_nap(&x->rng, attempt);
	}
}

struct item
workunit_item(const struct workunit *wu)
{
	return (struct item){ wu->id, wu->retries };
}

enum err
daemon_item_ended(struct daemon_ctx *x, struct item_backoff *t, struct item item,
    const char *label, enum err e)
{
	struct fail f = { 0 };

	if (e == OK) {
		item_backoff_forget(t, item.key);
		return OK;
	}
	if (e == E_DISK_FULL)
		item_backoff_wait(t, item, x->now); /* a smaller item may still fit */
	if (e == E_DISK_FULL || db_ready(x->db, &f) != OK)
		return e;
	if (e == E_RACE ||
	    e == E_RETRY) { /* contention: the item is still due in the next step */
		log_debug("%s: left to the next pass: %s", label, x->fail.detail);
		return OK;
	}
	log_err("%s: failed %d times, %s: %s", label,
	    (int)item_backoff_failed(t, item, x->now), err_name(e), x->fail.detail);
	daemon_trouble(x, "%s: %s", label, x->fail.detail);
	return OK;
}

enum err
daemon_workunits(struct daemon_ctx *x, struct item_backoff *t, struct workunit *wu,
    size_t n, enum err (*each)(struct daemon_ctx *, struct workunit *), size_t *done)
{
	enum err e = OK;

	for (size_t i = 0; i < n && e == OK && !daemon_stopping(x); i++) {
		if (item_backoff_must_wait(t, workunit_item(&wu[i]), x->now))
			continue;
		e = each(x, &wu[i]);
		*done += e == OK;
		e = daemon_item_ended(x, t, workunit_item(&wu[i]),
		    arena_printf(
			&x->a, "[WU#%lld] %s", (long long)wu[i].id, wu[i].name),
		    e);
	}
	return e;
}

static int
by_workunit_id(const void *a, const void *b)
{
	const struct workunit *const *x = a, *const *y = b;

	return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

/*
 * Parameters: two callbacks, one for a chunk and one for each item if the chunk fails.
 */
enum err
daemon_chunks(struct daemon_ctx *x, struct item_backoff *t, struct workunit *wu,
    size_t n, size_t most,
    enum err (*some)(struct daemon_ctx *, struct workunit *const *, size_t),
    enum err (*each)(struct daemon_ctx *, struct workunit *), size_t *done)
{
	struct workunit **chunk = NEWN(&x->a, struct workunit *, most);
	enum err e = OK;

	for (size_t from = 0, end; from < n && e == OK && !daemon_stopping(x);
	     from = end) {
		size_t nchunk = 0;
		for (end = from; end < n && nchunk < most; end++)
			if (!item_backoff_must_wait(t, workunit_item(&wu[end]), x->now))
				chunk[nchunk++] = &wu[end];
		if (nchunk == 0)
			break;
		qsort(chunk, nchunk, sizeof(*chunk), by_workunit_id);
		if (some(x, chunk, nchunk) != OK) {
			e = daemon_workunits(x, t, wu + from, end - from, each, done);
			continue;
		}
		for (size_t i = 0; i < nchunk; i++)
			item_backoff_forget(t, chunk[i]->id);
		*done += nchunk;
	}
	return e;
}

struct item_backoff *
daemon_backoff(struct daemon_ctx *x, int64_t first_s, int64_t most_s)
{
	struct item_backoff *t = NEW(x->life, struct item_backoff);

	t->first_s = first_s;
	t->most_s = most_s;
	x->backoff = t;
	return t;
}

enum err
daemon_app_id(struct daemon_ctx *x, const char *name, int64_t *id)
{
	struct catalog *cat;
	const struct app *app;
	enum err e = *id != 0 ? OK : catalog_load(x->db, &x->a, &cat, &x->fail);

	if (e != OK || *id != 0)
		return e;
	app = catalog_app_named(cat, name);
	if (app == NULL)
		return FAIL(&x->fail, E_NOTFOUND,
		    "no app %s in the database: add it with locus app add", name);
	*id = app->id;
	return OK;
}

enum err
daemon_split_command(struct daemon_ctx *x, const char *cmd, char ***argv, size_t *argc)
{
	enum err e;

	*argc = 0;
	*argv = NULL;
	if (cmd == NULL)
		return OK;
	if ((e = proc_split(x->life, cmd, argv, &x->fail)) != OK)
		return FAIL(&x->fail, E_CONFIG,
		    "--command %s: cannot be split into words", cmd);
	while ((*argv)[*argc] != NULL)
		++*argc;
	return *argc > 0 ? OK : FAIL(&x->fail, E_CONFIG, "--command is empty");
}

static bool
stopping_now(const void *x)
{
	return daemon_stopping(x);
}

enum err
daemon_handlers(struct daemon_ctx *x, const struct handler_options *o, const char *kind,
    const char *app)
{
	const struct handler_spec spec = { .command = o->command,
		.kind = kind,
		.app = app,
		.dir = x->conf->project_dir,
		.number = o->number,
		.silence_s = o->silence_s,
		.stopping = stopping_now,
		.stopping_arg = x };

	if (o->command == NULL || x->handlers != NULL)
		return OK;
	return handlers_open(x->life, &spec, &x->handlers, &x->fail);
}

void
daemon_wu_trouble(struct daemon_ctx *x, const char *stage, const struct workunit *wu,
    const char *why, const char *detail)
{
	struct fail f = { 0 };

	if (!x->dry_run &&
	    wu_trouble_note(x->db, wu->id, stage, x->now, why, detail, &f) != OK)
		log_fail("noting the trouble of a workunit", &f);
}

void
daemon_wu_handled(
    struct daemon_ctx *x, const char *stage, bool *any, const int64_t *ids, size_t n)
{
	struct fail f = { 0 };
	enum err e = OK;

	if (!*any || n == 0 || x->dry_run)
		return;
	for (size_t i = 0; i < n && e == OK; i += DB_LIST_MAX)
		e = wu_troubles_clear(x->db, ids + i,
		    n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX, stage, &f);
	if (e == OK)
		e = wu_trouble_any(x->db, &x->a, stage, any, &f);
	if (e != OK)
		log_fail("clearing the troubles of workunits", &f);
}

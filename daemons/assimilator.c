/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hands finished workunits to the project: copies the canonical outputs into a
 * directory or passes them to a command. The row is marked DONE only afterwards, so a
 * crash may hand a workunit over twice but never loses one. A workunit that cannot be
 * handed over is put aside while the others go on.
 */
#include <stdlib.h>
#include <string.h>
#include "daemons/handlers.h"
#include "daemons/loop.h"
#include "daemons/outputs.h"
#include "daemons/queue.h"
#include "daemons/verdict.h"
#include "db/entity.h"
#include "db/wu_updates.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "model/rows.h"
#include "lib/banned.h"

enum {
	BATCH = 128,
	CHUNK = 32, /* workunits per transaction */
	COMMAND_S = 3600,
	COMMAND_LATER = 75, /* exit status of a command that means "not now" */
	REVIVE_S = 6 * 3600 /* the transitioner may put those back that are put aside */
};

struct assimilator {
	char *app_name, *copy_to, *command;
	struct handler_options handler;
	char **argv;
	size_t argc;
	struct daemon_queue queue;
	char *dir; /* where copies go, absolute */
};

#define OF(member) FIELD_OF(struct assimilator, member)
static const struct field options[] = {
	{ "app", OF(app_name), "NAME", "assimilate workunits of this app",
	    .required = true },
	{ "copy_to", OF(copy_to), "DIR",
	    "copy canonical outputs to DIR/WUNAME, below the project",
	    .def = "results" },
	{ "command", OF(command), "CMD", "run CMD WUNAME FILE... instead of copying" },
#include "daemons/handler_options.def"
	{ 0 },
};

static enum err assimilator_check(const void *own, struct fail *f)
{
	const struct assimilator *o = own;

	if (o->command != NULL && o->handler.command != NULL)
		return FAIL(f, E_BADREQ,
		    "--command and --handler exclude each other: give one of them");
	return OK;
}

struct finished { /* a workunit and those of its canonical outputs that exist */
	struct workunit *wu;
	struct output *out;
	size_t n;
	int32_t error_mask;             /* 0 = the workunit has a canonical result */
	const struct result *canonical; /* for a handler; NULL = none */
};

static int32_t error_mask_of(const struct workunit *wu)
{
	if (wu->canonical_resultid != 0)
		return 0;
	return wu->error_mask != 0 ? wu->error_mask : WU_ERROR_NO_CANONICAL;
}

static enum err assimilator_start(struct daemon_ctx *x)
{
	struct assimilator *o = x->own;

	queue_start(x, &o->queue, "assimilator", ASIDE_ASSIMILATOR);
	o->dir = project_path(x->life, x->conf, o->copy_to);
	TRY(handlers_open(x, &o->handler, "assimilator", o->app_name, daemon_stopping));
	if (o->command == NULL && o->handler.command == NULL)
		TRY(fs_mkdirs(o->dir, 0750, &x->fail));
	return daemon_split_command(x, o->command, &o->argv, &o->argc);
}

static enum err load_outputs(
    struct daemon_ctx *x, struct workunit *wu, struct outputs *out, struct finished *w)
{
	*w = (struct finished){ .wu = wu, .error_mask = error_mask_of(wu) };
	if (wu->canonical_resultid == 0)
		return OK;
	if (out->e != OK)
		return FAIL(&x->fail, out->e, "%s", out->why);
	w->out = out->v;
	for (size_t i = 0; i < out->n; i++) {
		if (fs_exists(w->out[i].path))
			w->out[w->n++] = w->out[i];
		else if (!w->out[i].optional)
			return FAIL(&x->fail, E_NOTFOUND,
			    "canonical output %s is not in the upload directory",
			    w->out[i].name);
	}
	return OK;
}

static enum err copy_outputs(struct daemon_ctx *x, const struct finished *w)
{
	const struct assimilator *o = x->own;

	for (size_t i = 0; i < w->n; i++) {
		char *to = w->n == 1 ?
		               arena_printf(&x->a, "%s/%s", o->dir, w->wu->name) :
		               arena_printf(&x->a, "%s/%s_%zu", o->dir, w->wu->name, i);
		TRY(fs_copy(w->out[i].path, to, 0644, &x->fail));
	}
	return OK;
}

/* Appends a line to errors.tsv: time, name, error bits. A crash may write it twice. */
static enum err append_error_line(struct daemon_ctx *x, const struct finished *w)
{
	const struct assimilator *o = x->own;
	const char *path = arena_printf(&x->a, "%s/errors.tsv", o->dir);
	char when[21];
	const char *line = arena_printf(&x->a, "%s\t%s\t%d\n", clock_text(x->now, when),
	    w->wu->name, w->error_mask);

	return fs_append(path, line, strlen(line), 0644, &x->fail);
}

/*
 * Runs CMD WUNAME FILE...  For a failed workunit there are no files, and the error bits
 * are in the environment.
 */
static enum err assimilator_run_command(
    struct daemon_ctx *x, const struct finished *w, bool *later)
{
	const struct assimilator *o = x->own;
	const char **argv = NEWN(&x->a, const char *, o->argc + w->n + 2);
	const char *env[] = {
		arena_printf(&x->a, "LOCUS_WU_ERROR_MASK=%d", w->error_mask), NULL
	};
	struct proc_run run = { .argv = argv,
		.dir = x->conf->project_dir,
		.env = env,
		.err = { PROC_TEE } };
	struct proc_told told;
	size_t n = 0;

	for (size_t i = 0; i < o->argc; i++)
		argv[n++] = o->argv[i];
	argv[n++] = w->wu->name;
	for (size_t i = 0; i < w->n; i++)
		argv[n++] = w->out[i].path;
	TRY(proc_collect(&x->a, &run, COMMAND_S, 0, &told, &x->fail));
	*later = told.status == COMMAND_LATER;
	if (told.status != 0)
		return FAIL(&x->fail, E_SYS, "%s %s", argv[0],
		    command_end(&x->a, told.status, told.words));
	return OK;
}

/* The workunits of one transaction: only those already handed over; and failures. */
struct chunk {
	struct finished *v;
	size_t n;
	struct queue_failure *bad;
	size_t nbad;
};

/* A workunit of a chunk. */
struct outcome {
	int64_t id;
	const struct workunit *wu;
	bool taken;
};

static int outcome_by_id(const void *a, const void *b)
{
	const struct outcome *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

/* Takes all workunits of the chunk out of the queue, ordered by id. */
static enum err tx_mark_done(struct daemon_ctx *x, void *arg)
{
	const struct chunk *k = arg;
	struct wu_updates *b = wu_updates_new(&x->a);
	struct outcome *all = NEWN(&x->a, struct outcome, k->n + k->nbad + 1);
	size_t n = 0;

	for (size_t i = 0; i < k->n; i++)
		all[n++] = (struct outcome){ k->v[i].wu->id, k->v[i].wu, true };
	for (size_t i = 0; i < k->nbad; i++)
		all[n++] = (struct outcome){ k->bad[i].wu->id, k->bad[i].wu, false };
	qsort(all, n, sizeof(*all), outcome_by_id);
	for (size_t i = 0; i < n; i++)
		workunit_assimilated(b, all[i].id,
		    all[i].taken ? ASSIMILATE_DONE : ASSIMILATE_INIT,
		    error_mask_of(all[i].wu), x->now + (all[i].taken ? 0 : REVIVE_S));
	return wu_updates_save(x->db, b, &x->fail);
}

/* Adds a workunit to the failures of the chunk if it is to blame for the error e. */
static enum err assimilator_failed(
    struct daemon_ctx *x, struct chunk *k, const struct finished *w, enum err e)
{
	struct queue_failure bad = { .wu = w->wu, .left = true };
	bool blamed;

	TRY(queue_blame(x, &bad, e, &blamed));
	if (blamed)
		k->bad[k->nbad++] = bad;
	return OK;
}

/* Adds a workunit to the failures of the chunk that is to be offered later. */
static void assimilator_waits(
    struct daemon_ctx *x, struct chunk *k, const struct finished *w, const char *why)
{
	log_warn("[WU#%lld] %s: %s; asked again later", (long long)w->wu->id,
	    w->wu->name, why);
	daemon_trouble(x, "%s: %s", w->wu->name, why);
	k->bad[k->nbad++] = (struct queue_failure){
		.wu = w->wu, .why = why, .left = true
	};
}

/* Takes those out of the chunk that were not handed over. */
static void chunk_keep(struct chunk *k, const bool *taken)
{
	size_t n = 0;

	for (size_t i = 0; i < k->n; i++)
		if (taken[i])
			k->v[n++] = k->v[i];
	k->n = n;
}

/* Hands the chunk over one by one; what is left in it was taken. */
static enum err hand_over_each(struct daemon_ctx *x, struct chunk *k)
{
	const struct assimilator *o = x->own;
	bool *taken = NEWN(&x->a, bool, k->n + 1);
	enum err e = OK;

	for (size_t i = 0; i < k->n && e == OK && !daemon_stopping(x); i++) {
		bool later = false;
		if (o->command != NULL)
			e = assimilator_run_command(x, &k->v[i], &later);
		else if (k->v[i].error_mask != 0)
			e = append_error_line(x, &k->v[i]);
		else
			e = copy_outputs(x, &k->v[i]);
		taken[i] = e == OK;
		if (e != OK && later) {
			assimilator_waits(
			    x, k, &k->v[i], arena_strdup(&x->a, x->fail.detail));
			e = OK;
		} else if (e != OK) {
			e = assimilator_failed(x, k, &k->v[i], e);
		}
	}
	chunk_keep(k, taken);
	return e;
}

/* The end of one workunit's offer that was not taken. */
static void offer_declined(struct daemon_ctx *x, struct chunk *k,
    const struct finished *w, const struct question *q)
{
	const struct queue_failure bad = {
		.wu = w->wu, .why = q->why, .detail = q->detail, .left = true
	};

	if (q->end == ASK_LATER)
		assimilator_waits(x, k, w, q->why);
	if (q->end != ASK_FAILED)
		return;
	queue_accuse(x, &bad, E_SYS);
	k->bad[k->nbad++] = bad;
}

/* Finds the canonical results, of which the handler is told. */
static enum err load_canonical(struct daemon_ctx *x, struct chunk *k)
{
	int64_t *ids = NEWN(&x->a, int64_t, k->n + 1);
	struct result *r = NULL;
	size_t n = 0;

	for (size_t i = 0; i < k->n; i++)
		ids[i] = k->v[i].wu->id;
	TRY(results_of_workunits(x->db, &x->a, ids, k->n, &r, &n, &x->fail));
	for (size_t i = 0; i < k->n; i++)
		for (size_t m = 0; m < n; m++)
			if (r[m].id == k->v[i].wu->canonical_resultid)
				k->v[i].canonical = &r[m];
	return OK;
}

static enum err assimilate_ask(
    struct daemon_ctx *x, void *item, const char *doc, json_t *request)
{
	const struct finished *w = item;

	json_object_set_new(request, "workunit", handler_workunit(&x->a, w->wu, doc));
	json_object_set_new(request, "error_mask", json_integer(w->error_mask));
	json_object_set_new(request, "canonical",
	    w->canonical == NULL ? json_null() : handler_result(w->canonical, NULL));
	json_object_set_new(request, "outputs", handler_outputs(w->out, w->n));
	return OK;
}

/*
 * Offers the chunk to the handler; what is left in it was taken. *broken: why the
 * handler does not work; the chunk is good all the same.
 */
static enum err hand_over_all(
    struct daemon_ctx *x, struct chunk *k, const char **broken)
{
	static const struct verb assimilate = { "assimilate", assimilate_ask, NULL };
	struct question *q = NEWN(&x->a, struct question, k->n + 1);
	bool *taken = NEWN(&x->a, bool, k->n + 1);

	if (k->n == 0)
		return OK;
	for (size_t i = 0; i < k->n; i++)
		q[i] = (struct question){ .item = &k->v[i], .wu = k->v[i].wu };
	TRY(load_canonical(x, k));
	TRY(handlers_ask(x, &assimilate, q, k->n, broken));
	for (size_t i = 0; i < k->n; i++) {
		taken[i] = q[i].end == ASK_DONE;
		if (!taken[i])
			offer_declined(x, k, &k->v[i], &q[i]);
	}
	chunk_keep(k, taken);
	return OK;
}

/* Marks in one transaction what was handed over, and puts the failures aside. */
static enum err mark_done(struct daemon_ctx *x, struct chunk *k, size_t *done)
{
	struct assimilator *o = x->own;
	int64_t *ids = NEWN(&x->a, int64_t, k->n + 1);
	const struct queue_outcomes outcomes = { k->bad, k->nbad, ids, k->n };
	enum err e;

	for (size_t i = 0; i < k->n; i++)
		ids[i] = k->v[i].wu->id;
	e = queue_store(
	    x, &o->queue, k->n + k->nbad > 0 ? tx_mark_done : NULL, k, &outcomes);
	if (e == E_RETRY)
		return OK; /* the next pass finds them again */
	TRY(e);
	if (k->n > 0)
		daemon_ring(x, DOORBELL_TRANSITIONER);
	for (size_t i = 0; i < k->n; i++) {
		const struct finished *w = &k->v[i];
		log_info("[WU#%lld] %s assimilated files=%zu error_mask=%d",
		    (long long)w->wu->id, w->wu->name, w->n, w->error_mask);
	}
	*done += k->n + k->nbad; /* all have left the queue */
	return OK;
}

/*
 * Hands over at most DB_LIST_MAX workunits (ascending ids), then marks them. A handler
 * gets all of them at once. *broken: why it does not work.
 */
static enum err assimilate_some(struct daemon_ctx *x, struct workunit *wu, size_t n,
    const char **broken, size_t *done)
{
	struct chunk k = { NEWN(&x->a, struct finished, n + 1), 0,
		NEWN(&x->a, struct queue_failure, n + 1), 0 };
	struct outputs out[DB_LIST_MAX];
	int64_t ids[DB_LIST_MAX];

	for (size_t i = 0; i < n; i++)
		ids[i] = wu[i].canonical_resultid;
	TRY(outputs_of(x->db, &x->a, x->conf, ids, n, out, &x->fail));
	for (size_t i = 0; i < n; i++) {
		enum err e = load_outputs(x, &wu[i], &out[i], &k.v[k.n]);

		if (e != OK)
			TRY(assimilator_failed(x, &k, &k.v[k.n], e));
		else
			k.n++;
	}
	if (x->handlers != NULL)
		TRY(hand_over_all(x, &k, broken));
	else
		TRY(hand_over_each(x, &k));
	return mark_done(x, &k, done);
}

static enum err assimilator_step(struct daemon_ctx *x, size_t *done)
{
	struct assimilator *o = x->own;
	/* The work of one command is recorded before the next command starts. */
	size_t most = o->command != NULL ? 1 : CHUNK, n;
	const char *broken = NULL;
	struct workunit *wu;

	TRY(daemon_app_id(x, o->app_name, &o->queue.id.appid));
	TRY(queue_due(x, &o->queue, BATCH, &wu, &n));
	for (size_t i = 0; i < n && broken == NULL && !daemon_stopping(x) &&
			   queue_may_go_on(x, &o->queue);
	     i += most)
		TRY(assimilate_some(
		    x, wu + i, n - i < most ? n - i : most, &broken, done));
	return queue_step_ends(x, &o->queue, broken);
}

int main(int argc, char **argv)
{
	static const struct daemon assimilator = {
		.name = "assimilator",
		.purpose =
		    "Hands the canonical outputs of finished workunits to the project.",
		.idle_ms = 1000,
		.bell = DOORBELL_ASSIMILATOR,
		.own_size = sizeof(struct assimilator),
		.options = options,
		.check = assimilator_check,
		.start = assimilator_start,
		.step = assimilator_step,
	};

	return daemon_main(&assimilator, argc, argv);
}

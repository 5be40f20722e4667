/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the results of a workunit.  Files are judged first, with no transaction
 * open; then what validate() makes of it is saved, on condition that the workunit and
 * its results are still as they were read.  Only columns that belong to the validator
 * are written.
 */
#include <stdlib.h>
#include "daemons/loop.h"
#include "daemons/outputs.h"
#include "db/entity.h"
#include "db/life.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "model/states.h"
#include "rules/daemon/daemon_rules.h"
#include "lib/banned.h"

enum {
	BATCH = 100,
	PAUSE_FIRST_S = 10,
	PAUSE_MOST_S = 3600,
	COMMAND_S = 600,
	RETRY_S = 6 * 3600,
};
/* A Cobblestone is a hundredth of a day of 1e9 operations per second. */
static const double credit_per_flop = 100 / (86400 * 1e9);

struct own {
	char *app_name, *command;
	bool no_credit;
	int64_t appid;
	char **argv; /* of the command */
	size_t argc;
	struct tries *tries;
};

#define AT(field) offsetof(struct own, field)
static const struct daemon_option options[] = {
	{ "app", 0, OPTION_TEXT, AT(app_name), "NAME", NULL, 0, 0,
	    "validate workunits of this app", true },
	{ "command", 0, OPTION_TEXT, AT(command), "CMD", NULL, 0, 0,
	    "compare by CMD FILE1 FILE2 instead of byte by byte", false },
	{ "no_credit", 0, OPTION_FLAG, AT(no_credit), NULL, NULL, 0, 0,
	    "grant no credit", false },
};

/* One workunit under judgement. */
struct trial {
	struct ctx *x;
	struct workunit *wu;
	struct result *r;    /* those that count, by id */
	struct output **out; /* aligned with r */
	size_t *nout, n;
	enum match *init;
	struct validate_change c;
};

static enum err
start(struct ctx *x)
{
	struct own *o = x->own;

	o->tries = daemon_tries(x, PAUSE_FIRST_S, PAUSE_MOST_S);
	return daemon_command(x, o->command, &o->argv, &o->argc);
}

/* CMD FILE1 FILE2: 0 same, 1 different, 2 the first is bad, 3 the second is, 4 the
 * first is as all of its host will be, else not now. */
static enum match
by_command(struct ctx *x, char *path1, char *path2, int *status)
{
	struct own *o = x->own;
	struct fail f = { 0 };
	char **argv = NEWN(&x->a, char *, o->argc + 3);

	for (size_t i = 0; i < o->argc; i++)
		argv[i] = o->argv[i];
	argv[o->argc] = path1;
	argv[o->argc + 1] = path2;
	struct proc_run run = { .argv = (const char *const *)argv,
		.dir = x->conf->project_dir,
		.timeout_s = COMMAND_S };
	*status = -1;
	if (proc_run(&x->a, &run, status, NULL, NULL, &f) != OK) {
		log_fail("comparing", &f);
		return MATCH_LATER;
	}
	switch (*status) {
	case 0:
		return MATCH_SAME;
	case 1:
		return MATCH_DIFFERENT;
	case 2:
	case 3:
		return MATCH_BAD;
	case 4:
		return MATCH_HOPELESS;
	default:
		log_warn(
		    "%s ended with status %d: tried again later", argv[0], *status);
		return MATCH_LATER;
	}
}

static enum match
judge_file(struct ctx *x, const struct result *r, const struct output *out)
{
	const struct own *o = x->own;
	struct fail f = { 0 };
	enum outputs_state state;
	int status;

	if (out->no_validate)
		return MATCH_SAME;
	if (output_check(out, &state, &f) != OK) {
		log_fail("checking an output file", &f);
		return MATCH_LATER;
	}
	if (state == OUTPUT_BAD)
		log_info(
		    "[RESULT#%lld] %s bad: %s", (long long)r->id, r->name, f.detail);
	if (state != OUTPUT_GOOD)
		return state == OUTPUT_BAD ? MATCH_BAD : MATCH_SAME;
	if (o->command == NULL)
		return MATCH_SAME;
	/* A file that its own command cannot compare with itself is bad. */
	enum match m = by_command(x, out->path, out->path, &status);
	return m == MATCH_DIFFERENT ? MATCH_BAD : m;
}

/* Can this result be judged at all? */
static enum match
judge(struct trial *t, size_t i)
{
	struct ctx *x = t->x;
	enum err e = outputs_of(
	    x->db, &x->a, x->conf, t->r[i].id, &t->out[i], &t->nout[i], &x->fail);

	if (e != OK) { /* our own rows: no fault of the host */
		log_fail("reading what the result was to make", &x->fail);
		return MATCH_LATER;
	}
	for (size_t k = 0; k < t->nout[i]; k++) {
		enum match m = judge_file(x, &t->r[i], &t->out[i][k]);
		if (m != MATCH_SAME)
			return m;
	}
	return MATCH_SAME;
}

static enum match
compare_files(struct ctx *x, const struct output *p, const struct output *q)
{
	const struct own *o = x->own;
	struct fail f = { 0 };
	bool have = fs_exists(p->path), same;
	int status;

	if (p->no_validate || q->no_validate)
		return MATCH_SAME;
	if (have != fs_exists(q->path))
		return MATCH_DIFFERENT;
	if (!have)
		return MATCH_SAME;
	if (o->command != NULL) {
		enum match m = by_command(x, p->path, q->path, &status);
		return m == MATCH_BAD || m == MATCH_HOPELESS ? MATCH_DIFFERENT : m;
	}
	if (output_same(p->path, q->path, &same, &f) != OK) {
		log_fail("comparing", &f);
		return MATCH_LATER;
	}
	return same ? MATCH_SAME : MATCH_DIFFERENT;
}

static enum match
same(void *ctx, size_t i, size_t j)
{
	struct trial *t = ctx;

	if (t->nout[i] != t->nout[j])
		return MATCH_DIFFERENT;
	for (size_t k = 0; k < t->nout[i]; k++) {
		enum match m = compare_files(t->x, &t->out[i][k], &t->out[j][k]);
		if (m != MATCH_SAME)
			return m;
	}
	return MATCH_SAME;
}

static enum err
load(struct trial *t)
{
	struct ctx *x = t->x;
	struct result *all;
	size_t n;
	enum err e = results_of_workunit(x->db, &x->a, t->wu->id, &all, &n, &x->fail);

	if (e != OK)
		return e;
	t->r = NEWN(&x->a, struct result, n);
	t->out = NEWN(&x->a, struct output *, n);
	t->nout = NEWN(&x->a, size_t, n);
	t->init = NEWN(&x->a, enum match, n);
	for (size_t i = 0; i < n; i++)
		if (all[i].server_state == RESULT_OVER &&
		    all[i].outcome == OUTCOME_SUCCESS &&
		    all[i].validate_state != VALIDATE_INVALID)
			t->r[t->n++] = all[i];
	for (size_t i = 0; i < t->n; i++)
		t->init[i] = judge(t, i);
	return OK;
}

static struct workunit
changed(const struct trial *t)
{
	const struct validate_change *c = &t->c;
	struct workunit to = *t->wu;

	if (c->canonical_resultid != 0) {
		to.canonical_resultid = c->canonical_resultid;
		to.canonical_credit = t->wu->rsc_fpops_est * credit_per_flop;
		to.assimilate_state = ASSIMILATE_READY;
	}
	if (c->too_many_success)
		to.error_mask |= WU_ERROR_TOO_MANY_SUCCESS;
	if (c->target_nresults != 0)
		to.target_nresults = c->target_nresults;
	if (c->retry_later && to.transition_time > t->x->now + RETRY_S)
		to.transition_time = t->x->now + RETRY_S;
	if (c->transition_now || c->canonical_resultid != 0)
		to.transition_time = t->x->now;
	return to;
}

/* The new row of result i, or false if nothing changes in it. */
static bool
changed_result(const struct trial *t, size_t i, struct result *to)
{
	const struct own *o = t->x->own;
	int32_t state = t->c.validate_state[i];

	*to = t->r[i];
	if (state < 0 || state == to->validate_state)
		return false;
	to->validate_state = state;
	if (t->c.validate_error[i])
		to->outcome = OUTCOME_VALIDATE_ERROR;
	if (state == VALIDATE_VALID && !o->no_credit)
		to->granted_credit = t->wu->rsc_fpops_est * credit_per_flop;
	return true;
}

static int
by_host(const void *a, const void *b)
{
	const struct result *x = a, *y = b;

	return (x->hostid > y->hostid) - (x->hostid < y->hostid);
}

static bool
hopeless(const struct trial *t, int64_t result_id)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->r[i].id == result_id)
			return t->c.hopeless[i];
	return false;
}

static enum err
learn(struct trial *t, const struct result *r)
{
	struct ctx *x = t->x;
	struct host_app_version v;
	enum err e = hav_lock(
	    x->db, &x->a, r, x->conf->daily_result_quota, &v, &x->fail);

	if (e != OK)
		return e;
	statistics_judged(x->conf, &v, r, t->wu, hopeless(t, r->id));
	return hav_judged(x->db, &v, &x->fail);
}

/* What a valid result says of its version everywhere, and of its host. */
static enum err
learn_more(struct trial *t, const struct result *r)
{
	struct ctx *x = t->x;
	double pfc = statistics_pfc(r, t->wu);
	double turnaround = (double)(r->received_time - r->sent_time);
	enum err e = OK;

	if (r->app_version_id > 0 && pfc > 0)
		e = version_learned(x->db, r->app_version_id, pfc, &x->fail);
	if (e == OK && turnaround > 0)
		e = host_turnaround(x->db, r->hostid, turnaround, &x->fail);
	return e;
}

/* What hosts and users earn or lose, in one order of locks: by host, then by user. */
static enum err
save_effects(struct trial *t, struct result *to, size_t n)
{
	struct ctx *x = t->x;
	enum err e = OK;

	qsort(to, n, sizeof(*to), by_host);
	for (size_t i = 0; i < n && e == OK; i++)
		if (to[i].app_version_id != 0 &&
		    (to[i].validate_state == VALIDATE_INVALID ||
			to[i].validate_state == VALIDATE_VALID))
			e = learn(t, &to[i]);
	for (size_t i = 0; i < n && e == OK; i++)
		if (to[i].validate_state == VALIDATE_VALID)
			e = learn_more(t, &to[i]);
	for (size_t i = 0; i < n && e == OK; i++)
		if (to[i].validate_state == VALIDATE_VALID && to[i].granted_credit > 0)
			e = credit_add(x->db, to[i].hostid, to[i].userid,
			    to[i].granted_credit, &x->fail);
	return e;
}

static enum err
unit_save(struct ctx *x, void *arg)
{
	struct trial *t = arg;
	struct workunit to = changed(t);
	struct result *moved = NEWN(&x->a, struct result, t->n);
	size_t nmoved = 0;
	enum err e = workunit_validated(x->db, t->wu, &to, &x->fail);

	for (size_t i = 0; i < t->n && e == OK; i++) {
		if (!changed_result(t, i, &moved[nmoved]))
			continue;
		e = result_move(x->db, &t->r[i], &moved[nmoved], &x->fail);
		nmoved++;
	}
	return e == OK ? save_effects(t, moved, nmoved) : e;
}

static enum err
judge_workunit(struct ctx *x, struct workunit *wu)
{
	struct trial t = { .x = x, .wu = wu };
	size_t valid = 0, bad = 0;
	enum err e = load(&t);

	if (e != OK)
		return e;
	t.c = validate(&x->a, wu, t.r, t.n, t.init, same, &t);
	for (size_t i = 0; i < t.n; i++) {
		valid += t.c.validate_state[i] == VALIDATE_VALID;
		bad += t.c.validate_state[i] == VALIDATE_INVALID;
	}
	log_info(
	    "[WU#%lld] %s results=%zu valid=%zu invalid=%zu canonical=%lld target=%d "
	    "later=%d",
	    (long long)wu->id, wu->name, t.n, valid, bad,
	    (long long)t.c.canonical_resultid, t.c.target_nresults, t.c.retry_later);
	return x->dry_run ? OK : daemon_unit(x, unit_save, &t);
}

static enum err
step(struct ctx *x, size_t *done)
{
	struct own *o = x->own;
	struct part part = { x->mod_n, x->mod_i };
	struct workunit *wu;
	size_t n;
	enum err e = daemon_app(x, o->app_name, &o->appid);

	if (e == OK)
		e = workunits_to_validate(x->db, &x->a, part, o->appid,
		    BATCH + o->tries->used, &wu, &n, &x->fail);
	return e != OK ? e : daemon_workunits(x, o->tries, wu, n, judge_workunit, done);
}

int
main(int argc, char **argv)
{
	static const struct daemon validator = {
		.name = "validator",
		.purpose = "Compares the results of each workunit and picks the "
			   "canonical one.",
		.idle_ms = 1000,
		.can_dry_run = true,
		.own_size = sizeof(struct own),
		.options = options,
		.noptions = N(options),
		.start = start,
		.step = step,
	};

	return daemon_main(&validator, argc, argv);
}

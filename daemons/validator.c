/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the results of a workunit. Files are judged first, with no transaction
 * open; then the decision of validate() is saved, provided that the workunit and its
 * results are still as they were read. Writes only columns that belong to the
 * validator.
 */
#include <math.h>
#include <stdlib.h>
#include "daemons/grants.h"
#include "daemons/handlers.h"
#include "daemons/loop.h"
#include "daemons/outputs.h"
#include "daemons/script.h"
#include "daemons/queue.h"
#include "daemons/verdict.h"
#include "db/entity.h"
#include "db/wu_updates.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "model/rows.h"
#include "rules/daemon/daemon_rules.h"
#include "rules/sched/limits.h"
#include "lib/banned.h"

enum {
	BATCH = 128,
	CHUNK = 32, /* workunits per transaction */
	COMMAND_S = 600,
	OUT_MOST = 64 << 10, /* bytes of a command's standard output */
};
struct validator {
	char *app_name, *command;
	struct credit_options credit;
	double stated; /* by the last command that ran; < 0 = nothing */
	/* as BOINC's script_validator: all files of a result at once, the status counts
	 */
	char *init_script, *compare_script;
	struct script init, compare;
	struct handler_options handler;
	const char
	    *broken; /* why the handler did not work in this step; NULL = it did */
	char **argv; /* the command's words */
	size_t argc;
	struct daemon_queue queue;
	const char *why; /* why the last judgement of this step failed */
};

#define OF(member) FIELD_OF(struct validator, member)
static const struct field options[] = {
	{ "app", OF(app_name), "NAME", "validate workunits of this app",
	    .required = true },
	{ "command", OF(command), "CMD",
	    "compare with CMD FILE1 FILE2 instead of byte by byte" },
	{ "init_script", OF(init_script), "CMD",
	    "check each result with CMD, as BOINC's script_validator does" },
	{ "compare_script", OF(compare_script), "CMD",
	    "compare two results with CMD, as BOINC's script_validator does" },
#include "daemons/credit_options.def"
#include "daemons/handler_options.def"
	{ 0 },
};

/* One workunit being validated. */
struct trial {
	struct daemon_ctx *x;
	struct workunit *wu;
	struct result *results; /* the results that count, by id */
	struct outputs *out;    /* outputs of results[i] */
	size_t n;
	enum match *init;
	double *stated;  /* credit that the validator states for results[i], or < 0 */
	const char *why; /* why something cannot be judged now; NULL = everything can */
	const char *detail; /* of why; NULL = nothing */
	int64_t *group;     /* by a handler: results of the same group agree */
	bool untried;       /* the handler was not asked: no verdict, no delay */
	struct validate_change change;
	double granted; /* credit of each valid result */
};
/* Workunits that are judged and stored together, by id. */
struct session {
	struct trial *t;
	size_t n;
};

static enum err validator_check(const void *own, struct fail *f)
{
	const struct validator *o = own;

	bool scripts = o->init_script != NULL || o->compare_script != NULL;

	if (scripts + (o->command != NULL) + (o->handler.command != NULL) > 1)
		return FAIL(f, E_BADREQ,
		    "--command, --handler and scripts exclude each other: give one of them");
	return credit_check(&o->credit, f);
}

static enum err validator_start(struct daemon_ctx *x)
{
	struct validator *o = x->own;

	queue_start(x, &o->queue, "validator", ASIDE_VALIDATOR);
	credit_start(&o->credit);
	TRY(handlers_open(x, &o->handler, "validator", o->app_name, daemon_stopping));
	TRY(script_start(x, o->init_script, &o->init));
	TRY(script_start(x, o->compare_script, &o->compare));
	return daemon_split_command(x, o->command, &o->argv, &o->argc);
}

static enum match judge_not_now(struct daemon_ctx *x, const char *why)
{
	struct validator *o = x->own;

	o->why = arena_strdup(&x->a, why);
	return MATCH_LATER;
}

/* Runs CMD FILE1 FILE2; its possible answers are in verdicts.def. */
static enum match compare_by_command(struct daemon_ctx *x, char *path1, char *path2)
{
	struct validator *o = x->own;
	struct fail f = { 0 };
	char **argv = NEWN(&x->a, char *, o->argc + 3);
	struct proc_told told;
	const char *why;
	enum match m;

	for (size_t i = 0; i < o->argc; i++)
		argv[i] = o->argv[i];
	argv[o->argc] = path1;
	argv[o->argc + 1] = path2;
	struct proc_run run = { .argv = (const char *const *)argv,
		.dir = x->conf->project_dir,
		.out = { PROC_PIPE },
		.err = { PROC_TEE } };
	if (proc_collect(&x->a, &run, COMMAND_S, OUT_MOST, &told, &f) != OK)
		return judge_not_now(x, f.detail);
	m = verdict_of(&x->a, told.status, told.out, told.words, &why);
	o->stated = credit_stated(told.out);
	return m == MATCH_LATER ?
	           judge_not_now(x, arena_printf(&x->a, "%s %s", argv[0], why)) :
	           m;
}

static enum match judge_file(
    struct daemon_ctx *x, const struct result *r, const struct output *out)
{
	const struct validator *o = x->own;
	struct fail f = { 0 };
	enum outputs_state state;

	if (out->no_validate)
		return MATCH_SAME;
	if (output_check(out, &state, &f) != OK)
		return judge_not_now(x, f.detail);
	if (state == OUTPUT_BAD)
		log_info(
		    "[RESULT#%lld] %s bad: %s", (long long)r->id, r->name, f.detail);
	if (state != OUTPUT_GOOD)
		return state == OUTPUT_BAD ? MATCH_BAD : MATCH_SAME;
	if (o->command == NULL)
		return MATCH_SAME;
	/* A file that the command finds different from itself is bad. */
	enum match m = compare_by_command(x, out->path, out->path);
	return m == MATCH_DIFFERENT ? MATCH_BAD : m;
}

/* A result that a script finds wrong on its own is bad. */
static enum match judge_by_script(struct daemon_ctx *x, const struct script *s,
    struct script_side one, struct script_side two)
{
	const char *why;
	enum match m = script_judges(x, s, one, two, &why);

	if (m == MATCH_LATER)
		return judge_not_now(x, why);
	return m == MATCH_DIFFERENT && two.r == NULL ? MATCH_BAD : m;
}

/* Judges the files of one result on their own. */
static enum match judge_result(struct trial *t, size_t i)
{
	struct daemon_ctx *x = t->x;
	struct validator *o = x->own;

	if (t->out[i].e != OK) { /* our own rows are at fault, not the host */
		return judge_not_now(x,
		    arena_printf(&x->a, "%s: reading the list of its output files: %s",
			t->results[i].name, t->out[i].why));
	}
	for (size_t k = 0; k < t->out[i].n; k++) {
		o->stated = -1;
		enum match m = judge_file(x, &t->results[i], &t->out[i].v[k]);
		if (m != MATCH_SAME)
			return m;
		if (o->stated >= 0) /* by the command, for this file */
			t->stated[i] = fmax(t->stated[i], 0) + o->stated;
	}
	if (o->init.argc == 0)
		return MATCH_SAME;
	return judge_by_script(x, &o->init,
	    (struct script_side){ &t->results[i], &t->out[i] },
	    (struct script_side){ NULL, NULL });
}

static enum match compare_files(
    struct daemon_ctx *x, const struct output *p, const struct output *q)
{
	const struct validator *o = x->own;
	struct fail f = { 0 };
	bool have, other, same;

	if (p->no_validate || q->no_validate)
		return MATCH_SAME;
	if (output_there(p, &have, &f) != OK || output_there(q, &other, &f) != OK)
		return judge_not_now(x, f.detail);
	if (have != other)
		return MATCH_DIFFERENT;
	if (!have)
		return MATCH_SAME;
	if (o->command != NULL) {
		enum match m = compare_by_command(x, p->path, q->path);
		return m == MATCH_BAD || m == MATCH_HOPELESS ? MATCH_DIFFERENT : m;
	}
	if (output_same(p->path, q->path, &same, &f) != OK)
		return judge_not_now(x, f.detail);
	return same ? MATCH_SAME : MATCH_DIFFERENT;
}

/* Without a script to compare, results that are good agree. */
static enum match compare_by_script(struct trial *t, size_t i, size_t j)
{
	const struct validator *o = t->x->own;
	enum match m = MATCH_SAME;

	if (o->compare.argc > 0)
		m = judge_by_script(t->x, &o->compare,
		    (struct script_side){ &t->results[i], &t->out[i] },
		    (struct script_side){ &t->results[j], &t->out[j] });
	if (m == MATCH_LATER)
		t->why = o->why;
	return m;
}

static enum match compare_results(void *ctx, size_t i, size_t j)
{
	struct trial *t = ctx;
	const struct validator *o = t->x->own;

	if (t->x->handlers != NULL)
		return t->group[i] == t->group[j] ? MATCH_SAME : MATCH_DIFFERENT;
	if (o->init.argc > 0 || o->compare.argc > 0)
		return compare_by_script(t, i, j);
	if (t->out[i].n != t->out[j].n)
		return MATCH_DIFFERENT;
	for (size_t k = 0; k < t->out[i].n; k++) {
		enum match m = compare_files(t->x, &t->out[i].v[k], &t->out[j].v[k]);
		if (m == MATCH_LATER)
			t->why = o->why;
		if (m != MATCH_SAME)
			return m;
	}
	return MATCH_SAME;
}

static bool result_counts(const struct result *r)
{
	return r->server_state == RESULT_OVER && r->outcome == OUTCOME_SUCCESS &&
	       r->validate_state != VALIDATE_INVALID;
}

/*
 * Reads the results that count, by workunit and id; each t->results points into the one
 * array.
 */
static enum err load_results(
    struct daemon_ctx *x, struct session *s, struct result **counted, size_t *n)
{
	int64_t *ids = NEWN(&x->a, int64_t, s->n);
	struct result *all;
	size_t nall, from = 0;

	for (size_t i = 0; i < s->n; i++)
		ids[i] = s->t[i].wu->id;
	TRY(results_of_workunits(x->db, &x->a, ids, s->n, &all, &nall, &x->fail));
	*n = 0;
	for (size_t i = 0; i < nall; i++)
		if (result_counts(&all[i]))
			all[(*n)++] = all[i];
	for (size_t i = 0; i < s->n; i++) {
		struct trial *t = &s->t[i];
		for (t->results = all + from;
		     from < *n && all[from].workunitid == t->wu->id; from++)
			t->n++;
	}
	*counted = all;
	return OK;
}

static enum err validator_load(struct daemon_ctx *x, struct session *s)
{
	const struct validator *o = x->own;
	struct outputs *out;
	struct result *r;
	enum match *init;
	double *stated;
	int64_t *ids;
	size_t n;

	TRY(load_results(x, s, &r, &n));
	out = NEWN(&x->a, struct outputs, n + 1);
	init = NEWN(&x->a, enum match, n + 1);
	ids = NEWN(&x->a, int64_t, n + 1);
	stated = NEWN(&x->a, double, n + 1);
	for (size_t i = 0; i < n; i++) {
		ids[i] = r[i].id;
		stated[i] = -1;
	}
	for (size_t i = 0; i < n; i += DB_LIST_MAX)
		TRY(outputs_of(x->db, &x->a, x->conf, ids + i,
		    n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX, out + i, &x->fail));
	for (size_t i = 0; i < s->n; i++) {
		struct trial *t = &s->t[i];
		t->out = out + (t->results - r);
		t->init = init + (t->results - r);
		t->stated = stated + (t->results - r);
		for (size_t k = 0; k < t->n; k++) {
			t->init[k] = judge_result(t, k);
			if (t->init[k] == MATCH_LATER)
				t->why = o->why;
		}
	}
	return OK;
}

/*
 * The handler only says which results agree and which are bad; what follows from it is
 * decided by validate(), as ever. A reply that does not judge each result that was
 * shown, once, judges none.
 */

static const double CREDIT_MOST = 1e12;

/* What a reply may say about a result instead of its group. */
static const struct {
	const char *name;
	enum match match;
} instead[] = {
	{ "bad", MATCH_BAD },
	{ "hopeless", MATCH_HOPELESS },
	{ "later", MATCH_LATER },
};

static size_t trial_shown(const struct trial *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += t->init[i] == MATCH_SAME;
	return n;
}

static enum err validate_ask(
    struct daemon_ctx *x, void *item, const char *doc, json_t *request)
{
	const struct trial *t = item;
	json_t *results = json_array();

	json_object_set_new(request, "workunit", handler_workunit(&x->a, t->wu, doc));
	for (size_t i = 0; i < t->n; i++)
		if (t->init[i] == MATCH_SAME)
			json_array_append_new(
			    results, handler_result(&t->results[i], &t->out[i]));
	json_object_set_new(request, "results", results);
	return OK;
}

/* Opinions from one reply, not believed before all are read. */
struct opinions {
	struct arena *a;
	struct trial *t;
	enum match *match;
	bool *said;
	size_t n;
	const char *why; /* why the reply cannot be used, or why one result waits */
};

static bool opinion_wrong(struct opinions *o, const char *why, int64_t id)
{
	o->why = arena_printf(o->a, "its reply %s %lld", why, (long long)id);
	return false;
}

/* Credit: of the result, else of the workunit, else none. */
static bool opinion_credit(struct opinions *o, size_t i, json_t *said, json_t *reply)
{
	json_t *c = json_object_get(said, "credit");
	double v;

	if (c == NULL)
		c = json_object_get(reply, "credit");
	if (c == NULL || json_is_null(c))
		return true;
	v = json_number_value(c);
	if (!json_is_number(c) || !isfinite(v) || v < 0 || v > CREDIT_MOST)
		return opinion_wrong(
		    o, "has no credit from 0 to 1e12 for result", o->t->results[i].id);
	o->t->stated[i] = v;
	return true;
}

static bool opinion_take(struct opinions *o, json_t *said, json_t *reply)
{
	int64_t id = json_integer_value(json_object_get(said, "id"));
	json_t *group = json_object_get(said, "group");
	struct trial *t = o->t;
	size_t i = 0, words = json_is_integer(group);

	while (i < t->n && (t->results[i].id != id || t->init[i] != MATCH_SAME))
		i++;
	if (i == t->n || o->said[i])
		return opinion_wrong(o, "judges, not once, result", id);
	o->said[i] = true;
	o->n++;
	t->group[i] = json_integer_value(group);
	for (size_t k = 0; k < N(instead); k++) {
		const char *why = json_string_value(
		    json_object_get(said, instead[k].name));
		if (why == NULL)
			continue;
		words++;
		o->match[i] = instead[k].match;
		log_info("[RESULT#%lld] %s %s: %s", (long long)id, t->results[i].name,
		    instead[k].name, why);
		if (instead[k].match == MATCH_LATER)
			o->why = arena_strdup(o->a, why);
	}
	if (words != 1)
		return opinion_wrong(o,
		    "must have one of group, bad, hopeless and later for result", id);
	return opinion_credit(o, i, said, reply);
}

static const char *validate_take(struct daemon_ctx *x, void *item, json_t *reply)
{
	struct trial *t = item;
	struct opinions o = { .a = &x->a,
		.t = t,
		.match = NEWN(&x->a, enum match, t->n + 1),
		.said = NEWN(&x->a, bool, t->n + 1) };
	json_t *results = json_object_get(reply, "results");
	bool good = true;

	for (size_t i = 0; good && i < json_array_size(results); i++)
		good = opinion_take(&o, json_array_get(results, i), reply);
	if (good && o.n < trial_shown(t))
		good = opinion_wrong(&o, "leaves out results of workunit", t->wu->id);
	if (!good)
		return o.why;
	for (size_t i = 0; i < t->n; i++)
		if (o.said[i])
			t->init[i] = o.match[i];
	if (o.why != NULL)
		t->why = arena_printf(
		    &x->a, "%s: %s", handlers_name(x->handlers), o.why);
	return NULL;
}

/* Nothing of what the handler was shown can be judged now. */
static void handler_failed(struct trial *t, const struct question *q)
{
	t->why = q->why;
	t->detail = q->detail;
	for (size_t i = 0; i < t->n; i++)
		if (t->init[i] == MATCH_SAME)
			t->init[i] = MATCH_LATER;
}

/*
 * Asks the handler about all trials. If it does not work, the step ends with an error
 * once those that it has judged are stored.
 */
static enum err ask_handler(struct daemon_ctx *x, struct session *s)
{
	static const struct verb verb = { "validate", validate_ask, validate_take };
	struct validator *o = x->own;
	struct question *q = NEWN(&x->a, struct question, s->n + 1);
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		struct trial *t = &s->t[i];

		t->group = NEWN(&x->a, int64_t, t->n + 1);
		if (trial_shown(t) > 0)
			q[n++] = (struct question){ .item = t, .wu = t->wu };
	}
	TRY(handlers_ask(x, &verb, q, n, &o->broken));
	for (size_t i = 0; i < n; i++) {
		struct trial *t = q[i].item;

		t->untried = q[i].end == ASK_UNTRIED;
		if (q[i].end == ASK_LATER || q[i].end == ASK_FAILED)
			handler_failed(t, &q[i]);
	}
	/* Takes out the trials that the handler was not asked about. */
	n = s->n;
	s->n = 0;
	for (size_t i = 0; i < n; i++)
		if (!s->t[i].untried)
			s->t[s->n++] = s->t[i];
	return OK;
}

/*
 * Sets what each valid result is granted: what the quorum agrees on, later the same as
 * the quorum. doc: of the workunit, NULL = it states nothing.
 */
static void decide_credit(struct trial *t, const char *doc)
{
	const struct validator *o = t->x->own;
	const struct credit_policy *p = &o->credit.policy;
	double *claims = NEWN(&t->x->a, double, t->n + 1);
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		if (p->method == CREDIT_FIXED)
			t->stated[i] = credit_of_workunit(&t->x->a, t->wu, doc);
		if (t->change.validate_state[i] == VALIDATE_VALID)
			claims[n++] = credit_claim(
			    p, t->wu, &t->results[i], t->stated[i]);
	}
	t->granted = o->credit.none ? 0 :
	             t->wu->canonical_resultid != 0 ?
	                              t->wu->canonical_credit :
	                              credit_granted(p, t->wu, claims, n);
}

static enum err decide_credits(struct daemon_ctx *x, struct session *s)
{
	const struct validator *o = x->own;
	int64_t *ids = NEWN(&x->a, int64_t, s->n);
	const char **docs = NEWN(&x->a, const char *, s->n);

	for (size_t i = 0; i < s->n; i++) {
		ids[i] = s->t[i].wu->id;
		docs[i] = NULL;
	}
	if (o->credit.policy.method == CREDIT_FIXED)
		TRY(workunits_xml_docs(x->db, &x->a, ids, s->n, docs, &x->fail));
	for (size_t i = 0; i < s->n; i++)
		decide_credit(&s->t[i], docs[i]);
	return OK;
}

static struct workunit validated_workunit(const struct trial *t)
{
	const struct validate_change *c = &t->change;
	struct workunit to = *t->wu;

	if (c->canonical_resultid != 0) {
		to.canonical_resultid = c->canonical_resultid;
		to.canonical_credit = t->granted;
		to.assimilate_state = ASSIMILATE_READY;
	}
	if (c->too_many_success)
		to.error_mask |= WU_ERROR_TOO_MANY_SUCCESS;
	if (c->target_nresults != 0)
		to.target_nresults = c->target_nresults;
	if (c->retry_later && to.transition_time > c->retry_at)
		to.transition_time = c->retry_at;
	if (c->transition_now || c->canonical_resultid != 0)
		to.transition_time = t->x->now;
	return to;
}

/* Sets *to to the new row of result i; returns false if nothing changes in it. */
static bool validated_result(const struct trial *t, size_t i, struct result *to)
{
	const struct validator *o = t->x->own;
	int32_t state = t->change.validate_state[i];

	*to = t->results[i];
	if (state < 0 || state == to->validate_state)
		return false;
	to->validate_state = state;
	if (t->change.validate_error[i])
		to->outcome = OUTCOME_VALIDATE_ERROR;
	if (state == VALIDATE_VALID) {
		to->claimed_credit = fmax(
		    0, credit_claim(&o->credit.policy, t->wu, to, t->stated[i]));
		to->granted_credit = t->granted;
	}
	return true;
}

/* A result that changes. */
struct verdict {
	const struct trial *trial;
	size_t i; /* index in t->results */
	struct result to;
};

static int verdict_by_id(const void *a, const void *b)
{
	const struct result *x = &((const struct verdict *)a)->to,
			    *y = &((const struct verdict *)b)->to;

	return (x->id > y->id) - (x->id < y->id);
}

static int verdict_by_host(const void *a, const void *b)
{
	const struct result *x = &((const struct verdict *)a)->to,
			    *y = &((const struct verdict *)b)->to;

	if (x->hostid != y->hostid)
		return x->hostid < y->hostid ? -1 : 1;
	return verdict_by_id(a, b);
}

static bool teaches(const struct verdict *v)
{
	int32_t s = v->to.validate_state;

	return v->to.app_version_id != 0 &&
	       (s == VALIDATE_INVALID || s == VALIDATE_VALID);
}

/* Updates the statistics of app versions on hosts; v is ordered by host. */
static enum err learn_versions(
    struct daemon_ctx *x, struct wu_updates *b, const struct verdict *v, size_t n)
{
	int64_t *hosts = NEWN(&x->a, int64_t, n), quota = quota_first(x->conf);
	struct hav_table havs;
	size_t nhosts = 0;

	for (size_t i = 0; i < n; i++)
		if (teaches(&v[i]) &&
		    (nhosts == 0 || hosts[nhosts - 1] != v[i].to.hostid))
			hosts[nhosts++] = v[i].to.hostid;
	TRY(havs_lock(x->db, &x->a, hosts, nhosts, &havs, &x->fail));
	for (size_t i = 0; i < n; i++) {
		struct hav_entry *h;
		if (!teaches(&v[i]))
			continue;
		h = hav_of(&havs, &v[i].to, quota);
		h->judged = true;
		statistics_judged(x->conf, &h->v, &v[i].to, v[i].trial->wu,
		    v[i].trial->change.hopeless[v[i].i]);
	}
	havs_judged(b, &havs);
	return OK;
}

/*
 * Updates the statistics of the version on all hosts, and those of the host, from a
 * valid result.
 */
static void learn_from_valid(struct wu_updates *b, const struct verdict *v)
{
	double pfc = statistics_pfc(&v->to, v->trial->wu);
	double turnaround = (double)(v->to.received_time - v->to.sent_time);

	if (v->to.app_version_id > 0 && pfc > 0)
		version_learned(b, v->to.app_version_id, pfc);
	if (turnaround > 0)
		host_turnaround(b, v->to.hostid, turnaround);
}

/*
 * Saves what hosts, users and teams earn or lose, in one order of locks: by host, then
 * by user, then by team.
 */
static enum err save_effects(
    struct daemon_ctx *x, struct wu_updates *b, struct verdict *v, size_t n)
{
	const struct validator *o = x->own;
	struct grants g = { .a = &x->a };
	enum err e;

	qsort(v, n, sizeof(*v), verdict_by_host);
	e = learn_versions(x, b, v, n);
	for (size_t i = 0; i < n; i++) {
		if (v[i].to.validate_state != VALIDATE_VALID)
			continue;
		learn_from_valid(b, &v[i]);
		grants_add(&g, &v[i].to);
	}
	grants_put(&g, &o->credit, b, x->now);
	return e != OK ? e : wu_updates_save(x->db, b, &x->fail);
}

static enum err tx_save_verdicts(struct daemon_ctx *x, void *arg)
{
	const struct session *s = arg;
	struct wu_updates *b = wu_updates_new(&x->a);
	struct verdict *v = NULL;
	size_t n = 0, cap = 0;
	enum err e;

	for (size_t i = 0; i < s->n; i++) {
		const struct trial *t = &s->t[i];
		struct workunit wu = validated_workunit(t);
		struct result to;

		workunit_validated(b, t->wu, &wu);
		for (size_t k = 0; k < t->n; k++)
			if (validated_result(t, k, &to))
				PUSH(&x->a, v, n, cap) = (struct verdict){ t, k, to };
	}
	if (n > 0)
		qsort(v, n, sizeof(*v), verdict_by_id);
	for (size_t i = 0; i < n; i++)
		result_move(b, &v[i].trial->results[v[i].i], &v[i].to);
	e = wu_updates_save(x->db, b, &x->fail);
	return e != OK || n == 0 ? e : save_effects(x, b, v, n);
}

static const char *why_later(const struct trial *t)
{
	return t->why != NULL ? t->why : "its canonical output cannot be read";
}

static void log_trial(const struct trial *t)
{
	size_t valid = 0, bad = 0;

	for (size_t i = 0; i < t->n; i++) {
		valid += t->change.validate_state[i] == VALIDATE_VALID;
		bad += t->change.validate_state[i] == VALIDATE_INVALID;
	}
	if (t->change.retry_later && valid + bad == 0)
		return; /* say_later() has said it */
	log_info(
	    "[WU#%lld] %s results=%zu valid=%zu invalid=%zu canonical=%lld target=%d later=%d credit=%.6g",
	    (long long)t->wu->id, t->wu->name, t->n, valid, bad,
	    (long long)t->change.canonical_resultid, t->change.target_nresults,
	    t->change.retry_later, valid > 0 ? t->granted : 0);
}

static void judge_trial(struct trial *t)
{
	struct daemon_ctx *x = t->x;
	const char *why;

	t->change = validate(
	    &x->a, t->wu, t->results, t->n, t->init, compare_results, t);
	t->change.retry_at = validate_again_at(t->results, t->n, x->now);
	if (!t->change.retry_later)
		return;
	why = why_later(t);
	log_warn("[WU#%lld] %s: cannot be judged now: %s; next try in %lld s",
	    (long long)t->wu->id, t->wu->name, why,
	    (long long)(t->change.retry_at - x->now));
	daemon_trouble(x, "%s cannot be judged: %s", t->wu->name, why);
}

/* Stores the verdicts; what cannot be judged yet is put aside. */
static enum err store_trials(struct daemon_ctx *x, struct session *s)
{
	struct validator *o = x->own;
	struct queue_failure *bad = NEWN(&x->a, struct queue_failure, s->n + 1);
	int64_t *good = NEWN(&x->a, int64_t, s->n + 1);
	size_t ngood = 0, nbad = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct trial *t = &s->t[i];

		if (!t->change.retry_later)
			good[ngood++] = t->wu->id;
		else
			bad[nbad++] = (struct queue_failure){ .wu = t->wu,
				.why = why_later(t),
				.detail = t->detail,
				.next_time = t->change.retry_at,
				.left = true };
	}
	TRY(queue_store(x, &o->queue, s->n > 0 ? tx_save_verdicts : NULL, s,
	    &(const struct queue_outcomes){ bad, nbad, good, ngood }));
	for (size_t i = 0; i < s->n; i++)
		log_trial(&s->t[i]);
	return OK;
}

/* Validates n workunits, ordered by id. */
static enum err judge_some(struct daemon_ctx *x, struct workunit *const *wu, size_t n)
{
	const struct validator *o = x->own;
	struct session s = { NEWN(&x->a, struct trial, n), n };

	if (o->broken != NULL)
		return OK; /* the step will end with an error */
	for (size_t i = 0; i < n; i++)
		s.t[i] = (struct trial){ .x = x, .wu = wu[i] };
	TRY(validator_load(x, &s));
	if (x->handlers != NULL)
		TRY(ask_handler(x, &s));
	for (size_t i = 0; i < s.n; i++)
		judge_trial(&s.t[i]);
	if (s.n > 0)
		TRY(decide_credits(x, &s));
	TRY(store_trials(x, &s));
	daemon_ring(x, DOORBELL_TRANSITIONER);
	daemon_ring(x, DOORBELL_ASSIMILATOR);
	return OK;
}

static enum err judge_one(struct daemon_ctx *x, struct workunit *wu)
{
	return judge_some(x, &wu, 1);
}

static enum err validator_step(struct daemon_ctx *x, size_t *done)
{
	struct validator *o = x->own;
	/*
	 * A program that is run for each result may take long, and the rows of other
	 * workunits could change meanwhile.
	 */
	bool runs = o->command != NULL || o->init_script != NULL ||
	            o->compare_script != NULL;
	const struct queue_calls calls = { runs ? 1 : CHUNK, judge_some, judge_one,
		true };
	struct workunit *wu;
	size_t n;

	o->broken = NULL;
	TRY(daemon_app_id(x, o->app_name, &o->queue.id.appid));
	TRY(queue_due(x, &o->queue, BATCH, &wu, &n));
	TRY(queue_chunks(x, &o->queue, &calls, wu, n, done));
	return queue_step_ends(x, &o->queue, o->broken);
}

int main(int argc, char **argv)
{
	static const struct daemon validator = {
		.name = "validator",
		.purpose =
		    "Compares the results of each workunit and picks the canonical one.",
		.idle_ms = 1000,
		.bell = DOORBELL_VALIDATOR,
		.can_dry_run = true,
		.own_size = sizeof(struct validator),
		.options = options,
		.check = validator_check,
		.start = validator_start,
		.step = validator_step,
	};

	return daemon_main(&validator, argc, argv);
}

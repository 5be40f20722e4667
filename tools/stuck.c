/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the rules about each workunit, file set and app what would block it for ever. */
#include "tools/stuck.h"

#include <stdio.h>
#include "db/entity.h"
#include "db/host.h"
#include "db/id_walk.h"
#include "db/stmts.h"
#include "lib/clock.h"
#include "model/rows.h"
#include "proto/blob.h"
#include "proto/plan_class.h"
#include "rules/daemon/daemon_rules.h"
#include "rules/sched/unsendable.h"
#include "tools/catalog.h"
#include "lib/banned.h"

enum { QUEUED_MOST = 50, SLICE = 20000, SETS_AT_ONCE = 1000 };

/* Findings for one reason and one app. */
struct unsendable_sum {
	int64_t workunits;
	struct lack lack; /* the largest shortage */
	char *name;       /* name of one of the workunits */
};

struct stuck_search {
	struct cmd_ctx *x;
	const struct stuck_listener *to;
	struct arena round; /* memory of one slice */
	enum stuck_depth depth;
	struct catalog *cat;
	struct fleet fleet;
	struct unsendable_sum (
	    *sums)[UNSENDABLE__MAX]; /* by index of the app in the catalogue */
	int32_t quorum;              /* the largest of the demands */
};

static void stuck_report(const struct stuck_search *k, enum fsck_code code,
    const char *name, const char *more)
{
	k->to->found(k->to->arg,
	    &(const struct fsck_finding){ .code = code, .name = name, .more = more });
}

/* --- workunits that lack results --- */

static enum err lacking_between(struct stuck_search *k, int64_t from, int64_t to)
{
	struct row_wu_short *w;
	size_t n = 0;

	TRY(wus_short(k->x->db, &k->round, from, to, &w, &n, k->x->f));
	for (size_t i = 0; i < n; i++) {
		const struct workunit wu = { .min_quorum = w[i].min_quorum,
			.target_nresults = w[i].target_nresults,
			.max_total_results = w[i].max_total_results,
			.transitioner_flags = w[i].transitioner_flags };

		if (quorum_prospect(&wu, w[i].results, w[i].alive) == PROSPECT_NONE)
			stuck_report(k, FSCK_WU_NEVER, w[i].name,
			    arena_printf(&k->round,
				"quorum %d, target_nresults %d, %lld of its results may still succeed",
				w[i].min_quorum, w[i].target_nresults,
				(long long)w[i].alive));
	}
	return OK;
}

/* --- names --- */

/* Skips draining sets: the admin has given them up, and nobody waits for them. */
static enum err check_set_names(struct stuck_search *k)
{
	int64_t last = 0;
	size_t n = 1;
	enum err e = OK;

	while (n > 0 && e == OK) {
		struct row_set_named *sets = NULL;

		arena_reset(&k->round);
		e = db_query(k->x->db, &k->round, k->x->f, &sets, &n, FILESETS_AFTER,
		    .after = last, .max = SETS_AT_ONCE);
		for (size_t i = 0; e == OK && i < n; i++) {
			struct fail f = { 0 };

			last = sets[i].id;
			if (sets[i].paused != FILESET_DRAINING &&
			    fileset_name_check(sets[i].name, &f) != OK)
				stuck_report(
				    k, FSCK_FILESET_NAME, sets[i].name, f.detail);
		}
	}
	return e;
}

/* --- work that no host may get --- */

static enum err load_rules(struct stuck_search *k)
{
	struct cmd_ctx *x = k->x;
	struct plan_classes *classes = NULL;
	struct pc_remark *remarks;
	struct fail f = { 0 }; /* ignored: the check SPEC_CLASS reports it */
	size_t n;

	TRY(tools_catalog(x, &k->cat));
	(void)plan_classes_load(x->a, project_path(x->a, x->cf, PLAN_CLASS_FILE),
	    &classes, &remarks, &n, &f);
	k->cat->classes = classes;
	k->sums = arena_alloc(x->a, (k->cat->napps + 1) * sizeof(*k->sums));
	return fleet_load(x->db, x->a, x->cf, clock_now(), &k->fleet, x->f);
}

/* The question about demands; the caller adds which. */
static struct demand_ask stuck_ask(const struct stuck_search *k)
{
	return (struct demand_ask){ .takers = unsendable_takers(k->x->cf, &k->fleet),
		.since_day = k->fleet.since_day };
}

/* Loads the kinds of hosts only once a workunit is bound to one. */
static enum err check_demand(struct stuck_search *k, const struct demand *d)
{
	struct cmd_ctx *x = k->x;
	const struct app *app = catalog_app(k->cat, d->appid);
	struct lack l[UNSENDABLE__MAX];

	if (app == NULL)
		return OK;
	if (d->hr_class != 0 && k->fleet.hosts > 0 && k->fleet.kinds == NULL)
		TRY(fleet_load_kinds(x->db, x->a, x->cf, clock_now(), &k->fleet, x->f));
	unsendable(x->cf, k->cat, &k->fleet, d, l);
	for (int c = 0; c < UNSENDABLE__MAX; c++) {
		struct unsendable_sum *s = &k->sums[app - k->cat->apps][c];

		if (!l[c].is)
			continue;
		if (s->name == NULL || l[c].needs > s->lack.needs) {
			s->lack = l[c];
			s->name = arena_strdup(x->a, d->name);
		}
		s->workunits += d->workunits;
	}
	return OK;
}

static enum err check_demands(struct stuck_search *k, const struct demand *d, size_t n)
{
	for (size_t i = 0; i < n; i++)
		TRY(check_demand(k, &d[i]));
	return OK;
}

static enum err work_between(struct stuck_search *k, int64_t from, int64_t to)
{
	struct demand_ask ask = stuck_ask(k);
	struct demand *d;
	size_t n = 0;

	ask.from = from;
	ask.to = to;
	TRY(demand_between(k->x->db, &k->round, &ask, &d, &n, k->x->f));
	return check_demands(k, d, n);
}

static enum err work_queued(struct stuck_search *k,
    enum err (*each)(struct stuck_search *, const struct demand *, size_t n))
{
	struct demand_ask ask = stuck_ask(k);

	for (size_t i = 0; i < k->cat->napps; i++) {
		struct demand *d;
		size_t n = 0;

		arena_reset(&k->round);
		ask.appid = k->cat->apps[i].id;
		TRY(demand_queued(k->x->db, &k->round, &ask, &d, &n, k->x->f));
		TRY(each(k, d, n));
	}
	return OK;
}

static void report_unsendable(const struct stuck_search *k)
{
	struct arena *a = k->x->a;

	for (size_t i = 0; i < k->cat->napps; i++)
		for (int c = 0; c < UNSENDABLE__MAX; c++) {
			const struct unsendable_sum *s = &k->sums[i][c];
			/*
			 * The index was not read to its end, so the count is a minimum.
			 */
			bool some = k->depth == STUCK_QUEUED &&
			            s->workunits >= QUEUED_MOST;
			const char *figures;

			if (s->name == NULL)
				continue;
			figures = unsendable_figures(a, (enum unsendable)c, &s->lack);
			k->to->found(k->to->arg,
			    &(const struct fsck_finding){
				.code = (enum fsck_code)(FSCK_WORK_APP_OFF + c),
				.name = k->cat->apps[i].name,
				.more = arena_printf(a,
				    "%s%lld workunit%s such as %s%s%s",
				    some ? "at least " : "", (long long)s->workunits,
				    s->workunits == 1 ? "" : "s", s->name,
				    figures[0] == '\0' ? "" : ": ", figures),
				.cure = unsendable_cure(a, (enum unsendable)c, &s->lack,
				    k->cat->apps[i].name) });
		}
}

/* --- work assigned to some hosts only --- */

static enum err check_targets(struct stuck_search *k)
{
	struct row_aimed *w;
	size_t n = 0;

	TRY(wus_aimed_in_vain(k->x->db, &k->round, k->x->cf, &w, &n, k->x->f));
	for (size_t i = 0; i < n; i++)
		if (w[i].targets == 0)
			stuck_report(k, FSCK_WU_TARGET, w[i].name, "");
		else
			stuck_report(k, FSCK_WU_TARGET_OFF, w[i].name,
			    w[i].flags == WU_BROADCAST ? "enable_assignment_multi" :
							 "enable_assignment");
	return OK;
}

/* Calls each() slice by slice, which bounds memory and keeps no long-lived snapshot of
 * the tables. */
static enum err each_slice(struct stuck_search *k,
    enum err (*each)(struct stuck_search *, int64_t from, int64_t to))
{
	for (int64_t from = IDS_BEGIN, to = from; to < IDS_END; from = to) {
		arena_reset(&k->round);
		TRY(ids_ahead(k->x->db, IDS_WORKUNITS, from, SLICE, &to, k->x->f));
		TRY(each(k, from, to));
	}
	return OK;
}

static enum err stuck_search_all(struct stuck_search *k, bool lacking)
{
	TRY(load_rules(k));
	if (lacking)
		TRY(each_slice(k, lacking_between));
	TRY(check_set_names(k));
	TRY(k->depth == STUCK_ALL ? each_slice(k, work_between) :
				    work_queued(k, check_demands));
	report_unsendable(k);
	arena_reset(&k->round);
	return check_targets(k);
}

enum err stuck_find(struct cmd_ctx *x, enum stuck_depth depth, bool lacking,
    const struct stuck_listener *to)
{
	struct stuck_search k = { .x = x, .to = to, .depth = depth };
	enum err e = stuck_search_all(&k, lacking);

	arena_free(&k.round);
	return e;
}

static enum err note_quorums(struct stuck_search *k, const struct demand *d, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (d[i].quorum > k->quorum)
			k->quorum = d[i].quorum;
	return OK;
}

enum err stuck_quorum(struct cmd_ctx *x, int32_t *quorum, int64_t *accounts)
{
	struct stuck_search k = { .x = x };
	enum err e = load_rules(&k);

	if (e == OK)
		e = work_queued(&k, note_quorums);
	arena_free(&k.round);
	*quorum = k.quorum;
	*accounts = k.fleet.users;
	return e;
}

static void stuck_work_found(void *arg, const struct fsck_finding *f)
{
	bool *some = arg;

	*some = *some || (f->code >= FSCK_WORK_APP_OFF &&
			     f->code < FSCK_WORK_APP_OFF + UNSENDABLE__MAX);
}

enum err stuck_work(struct cmd_ctx *x, bool *some)
{
	*some = false;
	return stuck_find(x, STUCK_QUEUED, false,
	    &(const struct stuck_listener){ stuck_work_found, some });
}

/* --- one workunit --- */

enum err stuck_reasons(
    struct cmd_ctx *x, const struct workunit *wu, const char ***v, size_t *n)
{
	struct stuck_search k = { .x = x };
	struct demand d = demand_of(wu), *there;
	struct lack l[UNSENDABLE__MAX];
	struct demand_ask ask;
	size_t cap = 0, nthere = 0;

	*v = NULL;
	*n = 0;
	TRY(load_rules(&k));
	ask = stuck_ask(&k);
	ask.from = wu->id - 1;
	ask.to = wu->id;
	TRY(demand_between(x->db, x->a, &ask, &there, &nthere, x->f));
	if (nthere > 0)
		d.had_by_all = there[0].had_by_all;
	unsendable(x->cf, k.cat, &k.fleet, &d, l);
	for (int c = 0; c < UNSENDABLE__MAX; c++)
		if (l[c].is)
			PUSH(x->a, *v, *n, cap) = unsendable_says(x->a,
			    (enum unsendable)c, &l[c],
			    catalog_app(k.cat, wu->appid)->name);
	return OK;
}

enum err stuck_hint(struct cmd_ctx *x, const struct workunit *wu)
{
	const char **v;
	size_t n;

	TRY(stuck_reasons(x, wu, &v, &n));
	for (size_t i = 0; i < n; i++)
		fprintf(stderr, "locus: it %s\n", v[i]);
	return OK;
}

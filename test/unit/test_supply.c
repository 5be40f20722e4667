/* SPDX-License-Identifier: Apache-2.0 */
/* Which queries supply makes for a request, and where its candidates go
 * (scheduling.md 2.16); needs no database. */
#include "test/unit/unit.h"

#include "model/rows.h"
#include "rules/sched/decide.h"
#include "test/unit/rules_world.h"
#include "test/unit/supply_store.h"
#include "lib/banned.h"

#define ON       "<locality_scheduling/>"
#define ONCE     "<one_result_per_user_per_wu/>"
#define FRACTION "<locality_scheduler_fraction>0.5</locality_scheduler_fraction>"
#define OLD      "<locality_scheduling_send_timeout>50</locality_scheduling_send_timeout>"
#define TWO      "<locality_search_files>2</locality_search_files>"

struct scene {
	struct world *w;
	struct supply_store store;
	struct supply_in in;
	struct contention contention;
	struct catalog cat;
	struct buf queries;
	bool locked;
	struct supply *p;
};

/* App 1 runs on CPUs, app 2 on NVIDIA; app 3, which exists if flags have an n, uses
 * almost no CPU. */
static void apps_of(struct scene *s, const char *flags)
{
	static char none[] = "", stars[] = "stars", pulses[] = "pulses", net[] = "net";
	static char nvidia[] = "NVIDIA", anonymous[] = "anonymous";
	struct request *q = &s->w->req;
	struct arena *a = &s->w->a;

	s->cat.apps = NEWN(a, struct app, 3);
	s->cat.apps[0] = (struct app){ .id = 1, .name = stars };
	s->cat.apps[1] = (struct app){ .id = 2, .name = pulses };
	s->cat.apps[2] = (struct app){ .id = 3, .name = net, .non_cpu_intensive = 1 };
	s->cat.napps = strchr(flags, 'n') != NULL ? 3 : 2;
	s->w->snap.cat = &s->cat;
	q->platforms[0] = anonymous;
	q->app_versions = NEWN(a, struct rq_app_version, 3);
	q->app_versions[q->napp_versions++] = (struct rq_app_version){
		.app_name = stars,
		.platform = none,
		.plan_class = none,
		.coproc_type = none
	};
	q->app_versions[q->napp_versions++] = (struct rq_app_version){ .app_name = net,
		.platform = none,
		.plan_class = none,
		.coproc_type = none };
	if (strchr(flags, 'g') != NULL) {
		struct rq_resource *r = NEWN(a, struct rq_resource, 2);

		r[0] = q->resources[0];
		r[1] = r[0];
		r[1].type = nvidia;
		r[1].peak_flops = 1e9;
		q->resources = r;
		q->nresources = 2;
		q->app_versions[q->napp_versions++] = (struct rq_app_version){
			.app_name = pulses,
			.platform = none,
			.plan_class = none,
			.coproc_type = nvidia
		};
	}
}

/*
 * flags: g = the host has a GPU and wants work for it; n = app 3 exists; u = the
 * account wants no app; f = a fast link; d = dry run; c = cluster; D = draws jobs for
 * statistics; L = a claim was lost; R = the host is refused; C<n> = file set n, or app
 * -n, is contended; O<n> = result n is the only candidate.
 */
static struct scene *scene_new(const char *options, double hours, const char *flags,
    const char *files, const char *jobs)
{
	static int64_t no_app = -1;
	struct world *w = world_new(options, hours * HOUR);
	struct scene *s = NEW(&w->a, struct scene);
	const char *contended = strchr(flags, 'C'), *only = strchr(flags, 'O');

	s->w = w;
	s->queries = buf_new(&w->a);
	apps_of(s, flags);
	world_files(w, files);
	s->store = (struct supply_store){ .a = &w->a, .snap = &w->snap };
	store_fill(&s->store, jobs);
	if (strchr(flags, 'u') != NULL) {
		w->snap.project_prefs.apps = &no_app;
		w->snap.project_prefs.napps = 1;
	}
	if (contended != NULL)
		contention_lost(
		    &s->contention, strtoll(contended + 1, NULL, 10), WORLD_NOW);
	if (strchr(flags, 'f') != NULL)
		w->req.host.n_bwdown = 1e7;
	s->in = (struct supply_in){ .conf = w->conf,
		.req = &w->req,
		.snap = &w->snap,
		.now = WORLD_NOW,
		.seed = 1,
		.nlost = strchr(flags, 'L') != NULL,
		.gets_no_job = strchr(flags, 'R') != NULL,
		.may_lock = strchr(flags, 'd') == NULL,
		.in_cluster = strchr(flags, 'c') != NULL,
		.draws = strchr(flags, 'D') != NULL,
		.draw_rng = rng_seed(1),
		.only_job = only == NULL ? 0 : strtoll(only + 1, NULL, 10),
		.contention = &s->contention };
	return s;
}

static void scene_serve(struct scene *s)
{
	s->p = supply_new(&s->w->a, &s->in);
	store_serve(&s->store, s->p, &s->locked, &s->queries);
}

/* Asks for more as a decision does that refused no app. */
static void scene_more(struct scene *s)
{
	struct decision d = { .more = true,
		.apps_refused = NEWN(&s->w->a, bool, s->cat.napps) };

	supply_more(s->p, &d);
	store_serve(&s->store, s->p, &s->locked, &s->queries);
}

static void queries_are(struct scene *s, const char *name, const char *want)
{
	ck_assert_msg(strcmp(s->queries.p, want) == 0, "%s:\n%s\nnot\n%s", name,
	    s->queries.p, want);
}

static const struct {
	const char *name, *options;
	double hours;
	const char *flags, *files, *jobs, *queries;
} cases[] = {
#define CASE(name, options, hours, flags, files, jobs, ...)                            \
	{ #name, options, hours, flags, files, jobs, __VA_ARGS__ },
#include "test/unit/supply_cases.def"
#undef CASE
};

START_TEST(queries_of_a_request)
{
	struct scene *s = scene_new(cases[_i].options, cases[_i].hours, cases[_i].flags,
	    cases[_i].files, cases[_i].jobs);

	scene_serve(s);
	queries_are(s, cases[_i].name, cases[_i].queries);
	world_free(s->w);
}
END_TEST

/* The walk reads on after the first queries until it is around; the cursor starts in
 * the middle. */
START_TEST(the_walk_goes_once_around)
{
	struct scene *s = scene_new(ON, 1, "", "A hu", "S1:30 S2:30 S3:9 P1:9");
	struct snap_search *c = &s->w->snap.search;
	int slices = 0;

	s->w->snap.host.search_ready = 2;
	s->w->snap.host.search_id = 2010;
	scene_serve(s);
	s->queries.n = 0;
	for (; c->left && slices < 9; slices++)
		scene_more(s);
	queries_are(s, "walk",
	    "picks NAMES\n"
	    "few LASTS\n"
	    "rest NEXT_READY\n"
	    "rest NEXT_READY\n"
	    "rest NEXT_READY\n"
	    "rest NEXT_READY\n"
	    "rest NEXT_READY\n"
	    "rest SETS 0/2\n"
	    "rest_jobs AFTER_LAST 2 4/4\n"
	    "plain URGENT_FIRST -1 3/16\n"
	    "plain BETWEEN -1 6/37\n"
	    "walk AFTER 2 20/255\n"
	    "walk BETWEEN 9/235\n"
	    "walk LAST_IDS\n"
	    "walk BETWEEN 30/225\n"
	    "walk LAST_IDS\n"
	    "walk BETWEEN 0/194\n"
	    "walk BETWEEN 9/193\n"
	    "walk BETWEEN 39/183\n");
	ck_assert_int_eq(slices, 1);
	ck_assert_uint_eq(snapshot_file(&s->w->snap, 1)->njobs, 30);
	ck_assert_uint_eq(snapshot_file(&s->w->snap, 2)->njobs, 30);
	ck_assert_uint_eq(snapshot_file(&s->w->snap, 3)->njobs, 9);
	ck_assert_uint_eq(s->w->snap.nplain, 9);
	world_free(s->w);
}
END_TEST

/* Further sets of held files are read if the first ones do not suffice, before any new
 * file; what stays unread is read when the decision asks for more. */
START_TEST(further_sets_of_held_files)
{
	struct scene *s = scene_new(ON, 1, "", "A hu", "S1:1 S2:9 S3:9 S4:9");
	int64_t held[20];

	for (int i = 0; i < 20; i++)
		held[i] = i + 2;
	s->in.held = held;
	s->in.nheld = 20;
	scene_serve(s);
	queries_are(s, "first",
	    "held AFTER_LAST 1 1/4\n"
	    "held SETS 0/8\n"
	    "held AFTER_LAST 2 4/4\n");
	ck_assert(s->w->snap.search.left && s->w->snap.search.held_left);
	s->queries.n = 0;
	scene_more(s);
	ck_assert(strncmp(s->queries.p, "held SETS 0/8\nheld SETS 0/4\npicks NAMES\n",
		      40) == 0);
	ck_assert_uint_eq(snapshot_file(&s->w->snap, 4)->njobs, 9);
	world_free(s->w);
}
END_TEST

/* A host may hold any number of files, so the number of sets read has a limit. */
START_TEST(at_most_256_files_are_read)
{
	enum { FILES = 300 };
	struct scene *s = scene_new(ON, 9, "", "", "");
	struct snap_file *files = NEWN(&s->w->a, struct snap_file, FILES);
	size_t unread = 0, read = 0;

	for (int i = 0; i < FILES; i++)
		files[i] = (struct snap_file){ .fileset_id = i + 1,
			.name = arena_printf(&s->w->a, "f%d", i),
			.held = true,
			.has_unsent = true };
	s->w->snap.files = files;
	s->w->snap.nfiles = FILES;
	scene_serve(s);
	for (int i = 0; i < FILES; i++)
		unread += files[i].unread;
	for (size_t i = 0; i < s->w->snap.nqueries; i++)
		read += strcmp(s->w->snap.queries[i].query, "AFTER_LAST") == 0;
	ck_assert_uint_eq(unread, FILES - 256);
	ck_assert_uint_eq(read, 256);
	ck_assert(s->w->snap.search.left);
	world_free(s->w);
}
END_TEST

UNIT_MAIN("supply", {
	ADD(the_walk_goes_once_around);
	ADD(further_sets_of_held_files);
	ADD(at_most_256_files_are_read);
	ADD_LOOP(queries_of_a_request, N(cases));
})

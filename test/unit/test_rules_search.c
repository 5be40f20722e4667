/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the search for jobs that fit continues, and from which position (performance.md
 * 2).
 */
#include "test/unit/unit.h"

#include "rules/sched/decide.h"
#include "test/unit/rules_world.h"
#include "lib/banned.h"

#define ON     "<locality_scheduling/>"
#define N10    ON "<locality_scheduling_wait_period>10</locality_scheduling_wait_period>"
#define USER   "<one_result_per_user_per_wu/>"
#define FEW    "<search_rows>10</search_rows>"
#define OFF    "<search_rows>0</search_rows>"
#define NOWAIT "<!-- no place -->"

static const struct {
	const char *name, *options;
	int left;
	bool began;
	size_t rows;
	const char *files, *plain, *decision;
	bool more;
	const char *cursor;
} searches[] = {
#define CASE(name, options, left, began, rows, files, plain, decision, more, cursor)   \
	{ #name, options, left, began, rows, files, plain, decision, more, cursor },
#include "test/unit/rules_search.def"
#undef CASE
};

/* The host wants two jobs of one hour. */
START_TEST(search)
{
	static int64_t had[] = { 1000 };
	struct world *w = world_new(searches[_i].options, 2 * HOUR);
	struct snap_search *s = &w->snap.search;
	struct decision *d;
	char *cursor;

	w->snap.user_wus = had;
	w->snap.nuser_wus = 1;
	w->snap.wait_possible = strstr(searches[_i].options, NOWAIT) == NULL;
	w->snap.host.search_ready = 5;
	w->snap.host.search_id = 50;
	*s = (struct snap_search){ .left = searches[_i].left != 0,
		.held_left = searches[_i].left == 1,
		.began = searches[_i].began,
		.before = { 6, 60 },
		.at = { 7, 70 },
		.rows = searches[_i].rows };
	world_files(w, searches[_i].files);
	world_plain(w, searches[_i].plain);
	d = world_decide(w);
	cursor = arena_printf(
	    &w->a, "%lld.%lld", (long long)d->cursor.ready, (long long)d->cursor.id);
	ck_assert_msg(strcmp(world_text(w, d), searches[_i].decision) == 0,
	    "%s: %s, not %s", searches[_i].name, world_text(w, d),
	    searches[_i].decision);
	ck_assert_msg(d->more == searches[_i].more, "%s: more", searches[_i].name);
	ck_assert_msg(strcmp(cursor, searches[_i].cursor) == 0, "%s: cursor %s",
	    searches[_i].name, cursor);
	world_free(w);
}
END_TEST

/* Plain jobs, and files that were not examined; the text after the reason. */
#define CUT                                                                            \
	"No tasks sent: not all tasks could be examined; the search continues at "     \
	"the next request"
static const struct {
	const char *plain, *files, *text;
} cuts[] = {
	{ "31/1 32/2", "",
	    CUT ". None of 2 examined fits: not enough memory; needs 1.0 GB more" },
	{ "31/1 32/2", "A hu!",
	    CUT ". None of 2 examined fits: not enough memory; needs 1.0 GB more" },
	{ "", "A hu!; B hu!", CUT },
};

START_TEST(the_cut_is_told_with_its_numbers)
{
	struct world *w = world_new("", HOUR);
	struct decision *d;

	world_plain(w, cuts[_i].plain);
	for (size_t i = 0; i < w->snap.nplain; i++)
		w->snap.plain[i].rsc_memory_bound = i == 0 ? 6e9 : 5e9;
	world_files(w, cuts[_i].files);
	w->snap.search = (struct snap_search){
		.left = true, .held_left = true, .rows = 2000
	};
	d = world_decide(w);
	ck_assert_uint_ge(d->counts[WHY_SEARCH_LIMIT], 1);
	ck_assert_uint_eq(d->counts[WHY_MEM], w->snap.nplain);
	ck_assert_str_eq(d->messages[0].text, cuts[_i].text);
	world_free(w);
}
END_TEST

/*
 * Two apps that use almost no CPU; the host requests nothing. Jobs 41 and 42 belong to
 * the first app, 51 to the second. If none of the examined jobs fits, the search
 * continues from its own cursor.
 */
static const struct {
	const char *name;
	int too_big; /* one bit each for 41, 42 and 51 */
	bool left, began;
	size_t rows;
	const char *decision;
	bool more;
	const char *cursor;
} nci_searches[] = {
	{ "both_sent", 0, true, false, 0, "sent 41p 51p | NONE", false, "8.80" },
	{ "next_of_the_app", 1, true, false, 0, "sent 42p 51p | NONE", false, "8.80" },
	{ "one_app_lacks", 4, true, false, 0, "SEARCH_LIMIT", true, "0.0" },
	{ "nothing_left", 4, false, false, 0, "sent 41p | NONE", false, "8.80" },
	{ "reads_on", 3, true, true, 1023, "SEARCH_LIMIT", true, "0.0" },
	{ "the_cut", 3, true, true, 1024, "sent 51p | NONE", false, "7.70" },
	{ "found", 1, true, true, 512, "sent 42p 51p | NONE", false, "6.60" },
	{ "once_around", 7, false, true, 512, "NONE", false, "0.0" },
};

START_TEST(the_search_of_nci_apps)
{
	struct world *w = world_new("", 0);
	struct catalog cat = *w->snap.cat;
	struct app apps[] = { cat.apps[0], cat.apps[0] };
	struct app_version versions[] = { cat.versions[0], cat.versions[0] };
	struct decision *d;

	versions[1].id = 4;
	apps[1].id = versions[1].appid = 2;
	apps[0].non_cpu_intensive = apps[1].non_cpu_intensive = 1;
	cat.apps = apps;
	cat.versions = versions;
	cat.napps = cat.nversions = 2;
	w->snap.cat = &cat;
	world_plain(w, "41/4 42/5 51/6");
	w->snap.nci = w->snap.plain;
	w->snap.nnci = 3;
	w->snap.nplain = 0;
	w->snap.nci[2].appid = 2;
	for (int i = 0; i < 3; i++)
		if (nci_searches[_i].too_big & (1 << i))
			w->snap.nci[i].rsc_memory_bound = 1e13;
	w->snap.host.nci_ready = 8;
	w->snap.host.nci_id = 80;
	w->snap.host.search_ready = 5;
	w->snap.nci_search = (struct snap_search){ .left = nci_searches[_i].left,
		.began = nci_searches[_i].began,
		.before = { 6, 60 },
		.at = { 7, 70 },
		.rows = nci_searches[_i].rows };
	d = world_decide(w);
	ck_assert_msg(strcmp(world_text(w, d), nci_searches[_i].decision) == 0,
	    "%s: %s", nci_searches[_i].name, world_text(w, d));
	ck_assert_msg(d->more_nci == nci_searches[_i].more && !d->more, "%s: more",
	    nci_searches[_i].name);
	ck_assert_str_eq(
	    arena_printf(&w->a, "%lld.%lld", (long long)d->nci_cursor.ready,
		(long long)d->nci_cursor.id),
	    nci_searches[_i].cursor);
	ck_assert_int_eq(d->cursor.ready, d->more_nci ? 0 : 5);
	world_free(w);
}
END_TEST

/*
 * At the head are jobs that nobody gets: the workunit has errors or a canonical result,
 * or its app is deprecated or has no version for this host. Jobs after the head are
 * sent, or searched for if they are not loaded yet. App 2 is `other`; job 12 belongs to
 * it.
 */
static const struct {
	const char *name, *options, *files;
	enum { ERRORS, DONE, APP_OFF, APP_NO_VERSION, JOB_VERSION, APP_ENOUGH } head;
	const char *decision;
	bool more;
} heads[] = {
	{ "errors", ON, "A hu 11/1 12/2", ERRORS, "sent 12h | NONE", false },
	{ "errors_only", ON, "A hu 11/1", ERRORS, "SEARCH_LIMIT", true },
	{ "done", ON, "A hu 11/1 12/2", DONE, "sent 12h | NONE", false },
	{ "done_only", ON, "A hu 11/1", DONE, "SEARCH_LIMIT", true },
	{ "app_off", ON, "A hu 11/1 12/2", APP_OFF, "sent 12h | NONE", false },
	{ "app_off_only", ON, "A hu 11/1", APP_OFF, "SEARCH_LIMIT", true },
	{ "app_off_new_file", ON, "S su 11/1", APP_OFF, "SEARCH_LIMIT", true },
	{ "version", "", "A hu 11/1 12/2", APP_NO_VERSION, "sent 12h | NONE", false },
	{ "version_only", "", "A hu 11/1", APP_NO_VERSION, "SEARCH_LIMIT", true },
	{ "version_L17", ON, "A hu 11/1 12/2", APP_NO_VERSION, "NO_APP_VERSION",
	    false },
	{ "version_of_job", ON, "A hu 11/1 12/2", JOB_VERSION, "sent 12h | NONE",
	    false },
	{ "version_of_job_only", ON, "A hu 11/1", JOB_VERSION, "SEARCH_LIMIT", true },
	{ "enough_of_it", ON, "A hu 11/1", APP_ENOUGH, "RSC_NOT_WANTED", false },
};

START_TEST(what_stands_at_the_head)
{
	struct world *w = world_new(heads[_i].options, HOUR);
	struct catalog cat = *w->snap.cat;
	struct app apps[] = { cat.apps[0], cat.apps[0] };
	struct app_version versions[] = { cat.versions[0], cat.versions[0] };
	struct rq_resource r[] = { w->req.resources[0], w->req.resources[0] };
	struct decision *d;
	struct job *j;

	apps[1].name = arena_strdup(&w->a, "other");
	apps[1].id = versions[1].appid = 2;
	versions[1].id = 4;
	cat.apps = apps;
	cat.versions = versions;
	cat.napps = cat.nversions = 2;
	w->snap.cat = &cat;
	world_files(w, heads[_i].files);
	w->snap.search.left = w->snap.search.held_left = true;
	j = w->snap.files[0].jobs;
	if (w->snap.files[0].njobs > 1)
		j[1].appid = 2;
	j->error_mask = heads[_i].head == ERRORS;
	j->canonical_resultid = heads[_i].head == DONE;
	apps[0].deprecated = heads[_i].head == APP_OFF;
	versions[0].platformid = heads[_i].head == APP_NO_VERSION ? 9 : 1;
	j->app_version_num = heads[_i].head == JOB_VERSION ? 77 : 0;
	if (heads[_i].head == APP_ENOUGH) { /* the host wants only the other resource */
		w->req.cpu_req_secs = 0;
		r[1].type = arena_strdup(&w->a, "NVIDIA");
		w->req.resources = r;
		w->req.nresources = 2;
	}
	d = world_decide(w);
	ck_assert_msg(strcmp(world_text(w, d), heads[_i].decision) == 0, "%s: %s",
	    heads[_i].name, world_text(w, d));
	ck_assert_msg(d->more == heads[_i].more, "%s: more", heads[_i].name);
	world_free(w);
}
END_TEST

/* The only app has no version: no search is started. */
START_TEST(no_search_without_another_app)
{
	struct world *w = world_new("", HOUR);
	struct catalog cat = *w->snap.cat;
	struct app_version v = cat.versions[0];

	v.platformid = 9;
	cat.versions = &v;
	w->snap.cat = &cat;
	world_files(w, "A hu 11/1 12/2");
	w->snap.search.left = w->snap.search.held_left = true;
	ck_assert(!world_decide(w)->more);
	world_free(w);
}
END_TEST

/* App 1 has no version for this host. Whether jobs of app 2 may follow. */
static const struct {
	const char *name;
	bool more;
} others[] = { { "fine", true }, { "first in the catalogue", true },
	{ "deprecated", false }, { "drained", false }, { "nci", false },
	{ "not selected", false }, { "not selected but allowed", true },
	{ "beta", false }, { "no version", false }, { "other resource", false },
	{ "off", false } };

START_TEST(search_for_another_app)
{
	static int64_t first[] = { 1 };
	char *cpu[] = { (char[]){ "CPU" } };
	struct world *w = world_new("", HOUR);
	struct catalog cat = *w->snap.cat;
	struct app apps[] = { cat.apps[0], cat.apps[0] };
	struct app_version v[] = { cat.versions[0], cat.versions[0] };
	struct project_prefs *p = &w->snap.project_prefs;
	const char *name = others[_i].name;

	apps[1].name = arena_strdup(&w->a, "moons");
	apps[1].id = v[1].appid = 2;
	v[1].id = 4;
	v[0].platformid = 9;
	if (strcmp(name, "first in the catalogue") == 0) {
		struct app last = apps[0];

		apps[0] = apps[1];
		apps[1] = last;
	}
	cat.apps = apps;
	cat.versions = v;
	cat.napps = cat.nversions = 2;
	w->snap.cat = &cat;
	w->snap.search.left = true;
	world_plain(w, "31/1");
	apps[1].deprecated = strcmp(name, "deprecated") == 0;
	apps[1].drain_time = strcmp(name, "drained") == 0;
	apps[1].non_cpu_intensive = strcmp(name, "nci") == 0;
	apps[1].beta = strcmp(name, "beta") == 0;
	p->apps = first;
	p->napps = strncmp(name, "not selected", 12) == 0;
	p->allow_non_preferred_apps = strcmp(name, "not selected but allowed") == 0;
	v[1].platformid = strcmp(name, "no version") == 0 ? 9 : 1;
	if (strcmp(name, "other resource") == 0)
		v[1].plan_class = arena_strdup(&w->a, "cuda");
	p->no_rsc = cpu;
	p->nno_rsc = strcmp(name, "off") == 0;
	ck_assert_msg(world_decide(w)->more == others[_i].more, "%s", name);
	world_free(w);
}
END_TEST

UNIT_MAIN("rules_search", {
	ADD_LOOP(search, N(searches));
	ADD_LOOP(search_for_another_app, N(others));
	ADD_LOOP(the_search_of_nci_apps, N(nci_searches));
	ADD_LOOP(what_stands_at_the_head, N(heads));
	ADD(no_search_without_another_app);
	ADD_LOOP(the_cut_is_told_with_its_numbers, N(cuts));
})

/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to hosts (scheduling.md 2.15): level, delay, and the first message word for
 * word. */
#include "test/unit/unit.h"

#include "rules/sched/ctx.h"
#include "rules/sched/version.h"
#include "test/unit/rules_world.h"
#include "lib/banned.h"

#define NO_TASKS "No tasks sent: "
#define ON       "<locality_scheduling/>"
#define N10      ON "<locality_scheduling_wait_period>10</locality_scheduling_wait_period>"

enum message_case {
#define CASE(name, options, change, notice, delay, text) SAID_##name,
#include "test/unit/rules_messages.def"
#undef CASE
	SAID__MAX
};

static int64_t other[] = { 99 }, had[] = { 9 };
static char *cpu[] = { (char[]){ "CPU" } };
static struct rq_app_version own[] = { { .app_name = (char[]){ "stars" },
    .version_num = 7 } };

static void message_app_limit(struct world *w, struct catalog *cat, double jobs)
{
	struct job_limits *l = NEW(&w->a, struct job_limits);

	l->apps = NEWN(&w->a, struct job_limits_of, 1);
	l->napps = 1;
	l->apps[0].app_name = cat->apps[0].name;
	l->apps[0].total = (struct job_limit){ .set = true, .jobs = jobs };
	cat->limits = l;
}

/* Gives the host a GPU, requests work for the GPU only, and makes the version need it.
 */
static void a_gpu(struct world *w, struct app_version *v, struct catalog *cat)
{
	static char none[] = "", nvidia[] = "NVIDIA";
	struct plan_classes *all = NEW(&w->a, struct plan_classes);
	struct rq_resource *r = NEWN(&w->a, struct rq_resource, 2);

	r[0] = w->req.resources[0];
	r[0].req_secs = w->req.cpu_req_secs = 0;
	r[1] = (struct rq_resource){ .type = nvidia,
		.has_request = true,
		.req_secs = 1,
		.estimated_delay = -1,
		.count = 1,
		.peak_flops = 1e12,
		.name = none,
		.opencl_version = none,
		.opencl_driver_version = none };
	w->req.resources = r;
	w->req.nresources = 2;
	*all = (struct plan_classes){ .classes = NEW(&w->a, struct plan_class),
		.n = 1 };
	all->classes[0] = world_class(w, "nv", "nvidia");
	v->plan_class = all->classes[0].name;
	cat->classes = all;
}

/* The version is for hosts with VirtualBox, Docker or WSL. */
static void a_class(struct world *w, struct app_version *v, struct catalog *cat,
    bool virtualbox, bool docker, bool wsl)
{
	struct plan_classes *all = NEW(&w->a, struct plan_classes);
	struct plan_class *pc = NEW(&w->a, struct plan_class);
	char *none = arena_strdup(&w->a, "");

	*pc = (struct plan_class){ .name = arena_strdup(&w->a, "vm"),
		.gpu_type = none,
		.project_prefs_tag = none,
		.gpu_utilization_tag = none,
		.projected_flops_scale = 1,
		.avg_ncpus = 1,
		.max_cal_target = -1,
		.virtualbox = virtualbox,
		.docker = docker,
		.wsl = wsl };
	*all = (struct plan_classes){ .classes = pc, .n = 1 };
	v->plan_class = pc->name;
	cat->classes = all;
	w->req.host.virtualbox_version = w->req.host.docker_version = none;
}

static void message_change_world(enum message_case n, struct world *w,
    struct catalog *cat, struct app *app, struct app_version *v)
{
	struct request *q = &w->req;
	struct snapshot *s = &w->snap;
	struct job *j = &s->plain[0];

	(void)cat, (void)app, (void)v, (void)q, (void)j;
	switch (n) {
#define CASE(name, options, change, notice, delay, text)                               \
	case SAID_##name:                                                              \
		change;                                                                \
		break;
#include "test/unit/rules_messages.def"
#undef CASE
	case SAID__MAX:
		break;
	}
}

static const struct {
	const char *name, *options;
	bool notice;
	double delay;
	const char *text;
} messages[] = {
#define CASE(name, options, change, notice, delay, text)                               \
	{ #name, options, notice, delay, text },
#include "test/unit/rules_messages.def"
#undef CASE
};

START_TEST(said)
{
	struct world *w = world_new(messages[_i].options, HOUR);
	struct catalog cat = *w->snap.cat;
	struct app apps[2] = { cat.apps[0], cat.apps[0] };
	struct app_version versions[2] = { cat.versions[0], cat.versions[0] };
	const struct dec_message *m;
	struct decision *d;

	apps[1].id = 2;
	apps[1].name = (char[]){ "moons" };
	cat.apps = apps;
	cat.napps = 2;
	cat.versions = versions;
	w->snap.cat = &cat;
	world_plain(w, "31/9");
	message_change_world((enum message_case)_i, w, &cat, apps, versions);
	d = world_decide(w);
	if (messages[_i].text == NULL) {
		ck_assert_msg(d->nmessages == 0, "%s: %s", messages[_i].name,
		    d->messages[0].text);
	} else {
		ck_assert_msg(d->nmessages > 0, "%s: silence", messages[_i].name);
		m = &d->messages[0];
		if (strncmp(messages[_i].text, NO_TASKS, strlen(NO_TASKS)) != 0 &&
		    strncmp(m->text, NO_TASKS, strlen(NO_TASKS)) == 0)
			m++;
		for (size_t i = 1; i < d->nmessages;
		     i++) /* only the first message says so */
			ck_assert_msg(strncmp(d->messages[i].text, NO_TASKS,
					  strlen(NO_TASKS)) != 0,
			    "%s: behind others", messages[_i].name);
		ck_assert_msg(strcmp(m->text, messages[_i].text) == 0, "%s: %s",
		    messages[_i].name, m->text);
		ck_assert_msg(
		    m->notice == messages[_i].notice, "%s: level", messages[_i].name);
	}
	ck_assert_msg(d->request_delay == messages[_i].delay, "%s: delay %g",
	    messages[_i].name, d->request_delay);
	world_free(w);
}
END_TEST

/* The decisive reason comes first, then what else the volunteer could change; reasons
 * of single jobs are not mentioned. */
START_TEST(others_follow)
{
	struct world *w = world_new("", HOUR);
	struct decision *d;

	world_plain(w, "31/1 32/2 33/3 34/4");
	w->snap.plain[0].rsc_memory_bound = 5e9;
	w->snap.plain[1].rsc_disk_bound = 1e15;
	w->snap.plain[2].rsc_bandwidth_bound = 1e6;
	w->snap.plain[3].delay_bound = 60;
	w->snap.host.n_bwdown = w->req.host.n_bwdown = 1000;
	d = world_decide(w);
	ck_assert_uint_eq(d->nmessages, 3);
	ck_assert_int_eq(d->why, WHY_DISK);
	ck_assert_str_eq(d->messages[1].text,
	    "Other tasks were left out: not enough memory; needs 1.0 GB more");
	ck_assert_str_eq(d->messages[2].text,
	    "Other tasks were left out: the network link is too slow; needs 1000 kB/s, has 1");
	ck_assert(d->messages[2].notice);
	world_free(w);
}
END_TEST

/* At most three further reasons, in order of rank. */
START_TEST(at_most_three_others)
{
	struct world *w = world_new("", HOUR);
	struct catalog cat = *w->snap.cat;
	struct app apps[3] = { cat.apps[0], cat.apps[0], cat.apps[0] };
	struct app_version v[3] = { cat.versions[0], cat.versions[0], cat.versions[0] };
	struct decision *d;

	for (int i = 0; i < 3; i++)
		apps[i].id = v[i].appid = v[i].id = i + 1;
	v[1].min_core_version = 80000;
	apps[2].homogeneous_redundancy = 1;
	cat.apps = apps;
	cat.versions = v;
	cat.napps = cat.nversions = 3;
	w->snap.cat = &cat;
	world_plain(w, "31/1 32/2 33/3 34/4 35/5");
	w->snap.plain[0].appid = 3;
	w->snap.plain[1].appid = 2;
	w->snap.plain[2].rsc_bandwidth_bound = 1e6;
	w->snap.plain[3].rsc_memory_bound = 5e9;
	w->snap.plain[4].rsc_disk_bound = 1e15;
	w->snap.host.n_bwdown = w->req.host.n_bwdown = 1000;
	d = world_decide(w);
	ck_assert_int_eq(d->why, WHY_DISK);
	ck_assert_uint_eq(d->counts[WHY_HR_UNKNOWN], 1);
	ck_assert_uint_eq(d->nmessages, 4);
	ck_assert_str_eq(
	    d->messages[3].text, "Other tasks were left out: the client is too old");
	world_free(w);
}
END_TEST

/* Every reason for leaving out a job has an answer, and no two have the same rank. */
START_TEST(every_reason_has_an_answer)
{
	size_t ranks = answers_rank(WHY_NONE);
	bool taken[WHY__MAX] = { false };

	ck_assert_uint_eq(answers_rank(WHY_NOT_WANTED), ranks);
	ck_assert_uint_eq(answers_rank(WHY_DONT_SEND), ranks);
	ck_assert_uint_eq(ranks, WHY__MAX - 3);
	for (int r = 0; r < WHY__MAX; r++) {
		size_t at = answers_rank((enum reason)r);

		if (at == ranks)
			continue;
		ck_assert_msg(!taken[at], "%s", reason_code((enum reason)r));
		taken[at] = true;
	}
	for (size_t i = 0; i < ranks; i++)
		ck_assert(taken[i]);
}
END_TEST

/* An account that has selected three apps by name and an unknown app; a job of the
 * first app, stars, does not fit. */
struct selected {
	struct world *w;
	struct catalog cat;
	struct app apps[3];
	int64_t chosen[4];
};

static void selected_new(struct selected *x)
{
	static char none[] = "", moons[] = "moons", comets[] = "comets",
		    friendly[] = "Comets & more";
	struct world *w = x->w = world_new("", HOUR);

	x->cat = *w->snap.cat;
	for (size_t i = 0; i < N(x->apps); i++) {
		x->apps[i] = w->snap.cat->apps[0];
		x->apps[i].id = (int64_t)i + 1;
		x->apps[i].user_friendly_name = none;
		x->chosen[i] = x->apps[i].id;
	}
	x->chosen[3] = 77;
	x->apps[1].name = moons;
	x->apps[2].name = comets;
	x->apps[2].user_friendly_name = friendly;
	x->cat.apps = x->apps;
	x->cat.napps = N(x->apps);
	w->snap.cat = &x->cat;
	w->snap.project_prefs.apps = x->chosen;
	w->snap.project_prefs.napps = N(x->chosen);
	world_plain(w, "31/1");
	w->snap.plain[0].rsc_memory_bound = 5e9;
}

/* Counts the messages beside the decisive reason, which name apps without tasks. */
static size_t apps_named(const struct selected *x)
{
	return world_decide(x->w)->nmessages - 1;
}

START_TEST(selected_apps_without_tasks)
{
	struct selected x;
	struct decision *d;

	selected_new(&x);
	d = world_decide(x.w);
	ck_assert_uint_eq(d->nmessages, 3);
	ck_assert_str_eq(d->messages[1].text, "No tasks are available for moons");
	ck_assert_str_eq(
	    d->messages[2].text, "No tasks are available for Comets & more");
	ck_assert(!d->messages[1].notice && !d->messages[2].notice);
	x.apps[1].deprecated = 1;
	ck_assert_uint_eq(apps_named(&x), 1);
	x.w->snap.project_prefs.napps = 0;
	ck_assert_uint_eq(apps_named(&x), 0);
	world_free(x.w);
}
END_TEST

/* An app is not named if some of its jobs were not considered. */
START_TEST(selected_apps_not_looked_at)
{
	static bool unread[] = { false, true, true };
	struct selected x;
	struct snapshot *s;

	selected_new(&x);
	s = &x.w->snap;
	s->search.unread = unread;
	ck_assert_uint_eq(apps_named(&x), 0);
	s->search.unread = NULL;
	world_files(x.w, "A u; B -");
	ck_assert_uint_eq(apps_named(&x), 0);
	world_files(x.w, "C !");
	s->files += 2;
	s->nfiles = 1;
	ck_assert_uint_eq(apps_named(&x), 0);
	s->nfiles = 0;
	s->search.left = true; /* the search is over, or switched off */
	x.w->conf->search_rows = 0;
	ck_assert_uint_eq(apps_named(&x), 0);
	s->search.left = false;
	ck_assert_uint_eq(apps_named(&x), 2);
	world_files(x.w, "A hul99"); /* its app is unknown */
	ck_assert_uint_eq(apps_named(&x), 0);
	world_free(x.w);
}
END_TEST

/* An app has tasks wherever a task of it was found; at most five apps are named. */
START_TEST(selected_apps_with_tasks_of_any_kind)
{
	int64_t many[9];
	struct selected x;
	struct snapshot *s;

	selected_new(&x);
	s = &x.w->snap;
	s->targeted = s->nci = s->plain;
	s->nplain = 0;
	s->ntargeted = 1;
	ck_assert_uint_eq(apps_named(&x), 2); /* not stars */
	s->ntargeted = 0;
	s->nnci = 1;
	ck_assert_uint_eq(apps_named(&x), 2);
	s->nnci = 0;
	ck_assert_uint_eq(apps_named(&x), 3); /* stars, too */
	for (size_t i = 0; i < N(many); i++)
		many[i] = 1;
	s->project_prefs.apps = many;
	s->project_prefs.napps = N(many);
	ck_assert_uint_eq(apps_named(&x), 5);
	world_free(x.w);
}
END_TEST

/* Which reasons are notices, and which delay a client; all others are low-priority
 * messages without a delay (scheduling.md 2.15). */
static const enum reason notices[] = { WHY_CLOCK_AHEAD, WHY_ACCOUNT_LIMIT, WHY_DISK,
	WHY_MEM, WHY_BANDWIDTH, WHY_CLIENT_TOO_OLD, WHY_NO_VBOX, WHY_VBOX_VERSION,
	WHY_VM_ACCEL, WHY_NO_DOCKER, WHY_NO_WSL, WHY_DRIVER_TOO_OLD, WHY_CUDA_VERSION,
	WHY_OPENCL_VERSION, WHY_NO_OPENCL, WHY_NO_CUDA, WHY_HR_UNKNOWN };
static const struct {
	enum reason why;
	double s;
} away[] = { { WHY_CLOCK_AHEAD, 3600 }, { WHY_ACCOUNT_LIMIT, 3600 }, { WHY_WAITING, 5 },
	{ WHY_DISK, 3600 }, { WHY_CLIENT_TOO_OLD, 86400 } };

START_TEST(weight_of_each_reason)
{
	struct world *w = world_new("", HOUR);
	struct catalog cat = *w->snap.cat;
	struct decision d = { .why = (enum reason)_i, .work_wanted = true };
	struct ctx c = {
		.a = &w->a, .conf = w->conf, .req = &w->req, .snap = &w->snap, .d = &d
	};
	bool notice = false;
	double s = 0;

	if (d.why == WHY_NOT_WANTED) { /* a reason of a file, never of a request */
		world_free(w);
		return;
	}
	cat.nversions = 0; /* no version that an old client could use */
	w->snap.cat = &cat;
	c.work = work_req_new(&w->a, &w->req);
	c.has_apps = NEWN(&w->a, bool, c.work.n);
	limits_count_in_progress(&c);
	d.counts[_i] = 1;
	for (size_t i = 0; i < N(notices); i++)
		notice = notice || notices[i] == d.why;
	for (size_t i = 0; i < N(away); i++)
		s = away[i].why == d.why ? away[i].s : s;
	messages_why(&c);
	if (d.why == WHY_DONT_SEND) {
		ck_assert_uint_eq(d.nmessages, 0);
	} else {
		ck_assert_msg(d.messages[0].notice == notice, "%s", reason_code(d.why));
		ck_assert_msg(d.request_delay == s, "%s: %g", reason_code(d.why),
		    d.request_delay);
	}
	world_free(w);
}
END_TEST

/* Clients lose messages of 1024 bytes and more. */
START_TEST(long_texts_are_cut)
{
	struct world *w = world_new("", HOUR);
	struct decision d = { 0 };
	struct ctx c = { .a = &w->a, .d = &d };
	char *name = NEWN(&w->a, char, 2001);

	memset(name, 'x', 2000);
	decision_say(&c, false, "", name, "");
	ck_assert_uint_eq(strlen(d.messages[0].text), 1000);
	name[1000] = '\0';
	decision_say(&c, false, "", name, "");
	ck_assert_uint_eq(strlen(d.messages[1].text), 1000);
	world_free(w);
}
END_TEST

/* Invalid numbers in the account's preferences. */
START_TEST(invalid_numbers)
{
	static const char text[] = "<prefs><part>0,5</part></prefs>";
	struct selected x;
	struct plan_classes all;
	struct plan_class classes[2];
	struct decision *d;
	size_t n;

	selected_new(&x);
	x.w->snap.project_prefs.napps = 0;
	classes[0] = classes[1] = world_class(x.w, "nv", "nvidia");
	all = (struct plan_classes){ .classes = classes, .n = 2 };
	x.cat.classes = &all;
	x.w->snap.project_prefs.text = arena_strdup(&x.w->a, text);
	n = world_decide(x.w)->nmessages;
	classes[0].gpu_utilization_tag = classes[1].gpu_utilization_tag = arena_strdup(
	    &x.w->a, "part");
	x.w->snap.account_prefs.bad = "<work_buf_min_days> \"0,1\"";
	x.w->snap.project_prefs.bad = "<max_cpus> \"2,5\"";
	d = world_decide(x.w);
	ck_assert_uint_eq(d->nmessages, n + 3);
	ck_assert_str_eq(d->messages[n].text,
	    "Your preferences: <work_buf_min_days> \"0,1\" is not a number (use a decimal point) and is ignored");
	ck_assert_str_eq(d->messages[n + 1].text,
	    "Your project preferences: <max_cpus> \"2,5\" is not a number (use a decimal point) and is ignored");
	ck_assert_str_eq(d->messages[n + 2].text,
	    "Your project preferences: <part> \"0,5\" is not a number (use a decimal point) and is ignored");
	x.w->snap.project_prefs.text = arena_strdup(
	    &x.w->a, "<prefs><part>0.5</part></prefs>");
	ck_assert_uint_eq(world_decide(x.w)->nmessages, n + 2);
	x.w->req.work_req_seconds = x.w->req.cpu_req_secs = 0;
	x.w->req.nresources = 0;
	ck_assert_uint_eq(world_decide(x.w)->nmessages, 0);
	world_free(x.w);
}
END_TEST

UNIT_MAIN("rules_messages", {
	tcase_add_loop_test(tc, weight_of_each_reason, WHY_NONE + 1, WHY__MAX);
	ADD(long_texts_are_cut);
	ADD_LOOP(said, N(messages));
	ADD(others_follow);
	ADD(at_most_three_others);
	ADD(every_reason_has_an_answer);
	ADD(selected_apps_without_tasks);
	ADD(selected_apps_not_looked_at);
	ADD(selected_apps_with_tasks_of_any_kind);
	ADD(invalid_numbers);
})

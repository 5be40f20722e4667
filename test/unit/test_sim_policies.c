/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the policies on the scenarios of client.md 7 and checks the figures. Policies
 * that cannot pass a row are not listed here; locus-client-policies(7) gives the
 * reasons.
 */
#include "test/unit/unit.h"

#include <math.h>
#include "client/sim/read.h"
#include "lib/banned.h"

enum { JOBS_MOST = 1 << 16, PROJECTS_MOST = 8, HOURS_MOST = 48 };
static const double H = 3600, DAY = 86400;

/* --- which policy passes which row --- */

enum row {
#define ROW(id, plain, variants) ROW_##id,
#include "test/unit/sim_rows.def"
#undef ROW
	ROWS
};
static const char *const passes[] = {
#define ROW(id, plain, variants) plain " " variants,
#include "test/unit/sim_rows.def"
#undef ROW
};

/* Returns the i-th policy that passes the row; NULL if there are no more. */
static const char *policy_of(enum row row, int i)
{
	static char name[32];
	const char *p = passes[row];
	size_t n;

	for (;; p += n, i--) {
		p += strspn(p, " ");
		n = strcspn(p, " ");
		if (n == 0 || i == 0)
			break;
	}
	snprintf(name, sizeof(name), "%.*s", (int)n, p);
	return n == 0 ? NULL : policy_find(name)->name;
}

static int count_of(enum row row)
{
	int n = 0;

	while (policy_of(row, n) != NULL)
		n++;
	return n;
}

static size_t nplain(void)
{
	size_t n = 0;

	while (policies[n] != NULL)
		n++;
	return n;
}

static size_t nvariants(void)
{
	size_t n = 0;

	while (policy_variants[n] != NULL)
		n++;
	return n;
}

static bool one_of(const char *policy, const char *a, const char *b)
{
	return strncmp(policy, a, strlen(a)) == 0 || strncmp(policy, b, strlen(b)) == 0;
}

/* Figures collected from the event log during a run. */
struct watch {
	const struct sim_scenario *sc;
	double queued;  /* run seconds of all unfinished jobs on the host */
	double most;    /* maximum of `queued` at any arrival */
	double longest; /* job */
	uint64_t arrived[PROJECTS_MOST], preempted[PROJECTS_MOST];
	/*
	 * Jobs of P2 and P3 preempted within an hour: all of them, those not replaced
	 * by a job with an urgent deadline at the same moment, and those not yet
	 * classified.
	 */
	uint64_t early, by_turn, undecided;
	uint64_t empty; /* requests for coprocessor work that got none */
	/* Contacts of each project, the time of the last, the shortest time between two
	 * after the first one, which asks for a single task. */
	uint64_t contacts[PROJECTS_MOST];
	double contact_at[PROJECTS_MOST], gap;
	bool asked_gpu;
	double first[PROJECTS_MOST], last[PROJECTS_MOST]; /* arrival */
	double early_at;
	double ended;       /* end of the first project's first job */
	double slices_from; /* start of the hourly sums of each project's run time in
	                       `ran` */
	double ran[HOURS_MOST][2];
	struct {
		float left, since, deadline;
		bool running;
		uint8_t project;
	} job[JOBS_MOST];
	uint64_t running[64]; /* job numbers */
	size_t nrunning;
};

static double left_now(const struct watch *w, double t)
{
	double left = w->queued;

	for (size_t i = 0; i < w->nrunning; i++)
		left -= t - (double)w->job[w->running[i]].since;
	return left;
}

static void count_hours(struct watch *w, size_t project, double from, double until)
{
	from -= w->slices_from;
	until -= w->slices_from;
	for (int h = 0; w->slices_from > 0 && h < HOURS_MOST; h++)
		w->ran[h][project] += fmax(
		    0, fmin(until, (h + 1) * H) - fmax(from, h * H));
}

static void leave(struct watch *w, const struct sim_event *e)
{
	double ran = e->t - (double)w->job[e->job].since;

	if (e->project < 2)
		count_hours(w, (size_t)e->project, (double)w->job[e->job].since, e->t);
	w->queued -= ran;
	w->job[e->job].left -= (float)ran;
	w->job[e->job].running = false;
	for (size_t i = 0; i < w->nrunning; i++)
		if (w->running[i] == e->job)
			w->running[i] = w->running[--w->nrunning];
	if (e->kind == SIM_END && e->project == 0 && w->ended <= 0)
		w->ended = e->t;
	if (e->kind == SIM_END)
		w->queued -= (double)w->job[e->job].left;
}

static void job_arrives(struct watch *w, const struct sim_event *e)
{
	double run_s = w->sc->projects[e->project].apps[e->app].run_s;

	ck_assert_uint_lt(e->job, JOBS_MOST);
	w->job[e->job].left = (float)run_s;
	w->job[e->job].project = (uint8_t)e->project;
	w->job[e->job].deadline = (float)e->x;
	w->queued += run_s;
	w->longest = fmax(w->longest, run_s);
	w->most = fmax(w->most, left_now(w, e->t));
	if (w->arrived[e->project]++ == 0)
		w->first[e->project] = e->t;
	w->last[e->project] = e->t;
}

static void policies_listen(void *listener, const struct sim_event *e)
{
	struct watch *w = listener;

	switch (e->kind) {
	case SIM_CONTACT:
		if (w->contacts[e->project]++ > 1)
			w->gap = fmin(w->gap, e->t - w->contact_at[e->project]);
		w->contact_at[e->project] = e->t;
		w->asked_gpu = e->text != NULL && strstr(e->text, "GPU") != NULL;
		break;
	case SIM_REPLY:
		w->empty += w->asked_gpu && e->n == 0;
		break;
	case SIM_JOB:
		job_arrives(w, e);
		break;
	case SIM_START: /* preempted for a deadline, or only because of its turn? */
		if (e->t == w->early_at && e->n != 0 && w->undecided > 0)
			w->undecided--;
		w->job[e->job].since = (float)e->t;
		w->job[e->job].running = true;
		w->running[w->nrunning++] = e->job;
		break;
	case SIM_PREEMPT:
		w->preempted[e->project]++;
		if (e->project > 0 && e->t > DAY &&
		    e->t - (double)w->job[e->job].since < H - 1) {
			w->by_turn += e->t != w->early_at ? w->undecided : 0;
			w->undecided = e->t != w->early_at ? 1 : w->undecided + 1;
			w->early_at = e->t;
			w->early++;
		}
		leave(w, e);
		break;
	case SIM_END:
		leave(w, e);
		break;
	default:
		break;
	}
}

struct result {
	struct arena a;
	struct sim_scenario sc;
	struct sim_sums sums;
	struct sim_figures fig;
	struct watch *w;
};

static struct result *simulate(
    struct result *r, const char *policy, const char *scenario, double days)
{
	struct sim_options o = { .policy = policy_find(policy),
		.days = days,
		.seed = 1,
		.event = policies_listen };
	struct fail f;
	enum err e;

	*r = (struct result){ 0 };
	sim_defaults(&r->sc);
	e = (scenario[0] == '{' ? sim_json : sim_notation)(
	    &r->a, policy, scenario, strlen(scenario), &r->sc, &f);
	ck_assert_msg(e == OK, "%s", f.detail);
	r->w = NEW(&r->a, struct watch);
	r->w->sc = &r->sc;
	r->w->gap = INFINITY;
	r->w->slices_from = days > 21 ? 20 * DAY : 0;
	o.listener = r->w;
	ck_assert_int_eq(sim_run(&r->sc, &o, &r->a, &r->sums, &f), OK);
	for (size_t i = 0; i < r->w->nrunning; i++) {
		uint64_t j = r->w->running[i];

		if (r->w->job[j].project < 2)
			count_hours(r->w, r->w->job[j].project,
			    (double)r->w->job[j].since, days * DAY);
	}
	sim_figures(&r->sc, &r->sums, &r->a, &r->fig);
	return r;
}

/* Returns the instance-seconds of a resource that a project used between two days. */
static double used(const char *policy, const char *scenario, double from, double until,
    size_t project, size_t rsc)
{
	struct result r;
	double x;

	simulate(&r, policy, scenario, until);
	x = r.sums.projects[project].used[rsc];
	arena_free(&r.a);
	if (from > 0) {
		simulate(&r, policy, scenario, from);
		x -= r.sums.projects[project].used[rsc];
		arena_free(&r.a);
	}
	return x;
}

#define BETWEEN(x, low, high)                                                          \
	do {                                                                           \
		double value_ = (x);                                                   \
		ck_assert_msg(value_ >= (low) && value_ <= (high),                     \
		    "line %d, %s: %s is %g, not %g to %g", __LINE__, policy, #x,       \
		    value_, (double)(low), (double)(high));                            \
	} while (0)

/* --- T5: time slices --- */

/* On every CPU exactly one of three hours goes to S and two to P, in any order. */
START_TEST(t5_slices)
{
	static const char *const text[] = {
		"S(1000, 1000000, .33333) P(1000, 1000000, .66667) "
		"min_queue=3000 NCPUS=1",
		"S(1000, 1000000, .33333) P(1000, 1000000, .66667) "
		"min_queue=3000 NCPUS=2"
	};
	const char *policy = policy_of(ROW_t5, _i);

	for (int cpus = 1; cpus <= 2; cpus++) {
		struct result r;

		simulate(&r, policy, text[cpus - 1], 22);
		for (int h = 0; h + 3 <= 40; h++) {
			const double(*ran)[2] = &r.w->ran[h];
			double s = ran[0][0] + ran[1][0] + ran[2][0];
			double p = ran[0][1] + ran[1][1] + ran[2][1];

			BETWEEN(s / H, cpus - 0.001, cpus + 0.001);
			BETWEEN(p / H, 2 * cpus - 0.001, 2 * cpus + 0.001);
		}
		arena_free(&r.a);
	}
}
END_TEST

/* --- T6: short tasks beside long ones --- */

#define SCENARIO_1                                                                     \
	"P1(0.1, 1, .5) P2(1, 24, .25) P3(1, 24, .25) NCPUS=2 "                        \
	"leave_in_memory=false cpu_scheduling_period=1 min_queue=0.24 "                \
	"additional_queue=0.48 OVERHEAD(P2, 0.08333) OVERHEAD(P3, 0.08333)"

START_TEST(t6_scenario_1_of_client_scheduling)
{
	const char *policy = policy_of(ROW_t6, _i);
	struct result r;

	simulate(&r, policy, SCENARIO_1, 10);
	ck_assert_uint_eq(r.fig.missed, 0);
	BETWEEN(r.w->early, 0, 5);
	BETWEEN(r.sums.lost_flops / (10 * DAY), 0, 0.02);
	BETWEEN(r.sums.projects[0].used[0] / (10 * DAY), 0.9, 1.1);
	BETWEEN(r.sums.projects[1].met / 10.0, 11, 13);
	BETWEEN(r.sums.projects[2].met / 10.0, 11, 13);
	arena_free(&r.a);
}
END_TEST

/* For all policies: only a deadline interrupts a task before its slice is over. */
START_TEST(t6_no_turn_ends_early)
{
	const char *policy = _i < (int)nplain() ?
	                         policies[_i]->name :
	                         policy_variants[_i - (int)nplain()]->name;
	struct result r;

	simulate(&r, policy, SCENARIO_1, 10);
	ck_assert_uint_eq(r.fig.missed, 0);
	ck_assert_uint_eq(r.w->by_turn + r.w->undecided, 0);
	BETWEEN(r.sums.projects[0].used[0] / (10 * DAY), 0.85, 1.1);
	arena_free(&r.a);
}
END_TEST

/* --- T7: a task of 1000 hours beside tasks of one --- */

#define LONG_AND_SHORT                                                                 \
	"P1(1000, 2000, .5) P2(1, 10, .5) NCPUS=4 min_queue=2.4 "                      \
	"additional_queue=12"

START_TEST(t7_long_and_short)
{
	const char *policy = policy_of(ROW_t7, _i);
	struct result r;

	BETWEEN(used(policy, LONG_AND_SHORT, 1, 2, 0, 0) / DAY, 1.8, 2.2);
	simulate(&r, policy, LONG_AND_SHORT, 10);
	ck_assert_uint_eq(r.fig.missed, 0);
	BETWEEN(r.fig.share_violation, 0, 0.05);
	if (one_of(policy, "debt1", "window"))
		BETWEEN(r.w->arrived[0], 1, 2);
	arena_free(&r.a);
}
END_TEST

/* --- T8 to T11: the examples of "Work fetch and GPUs" --- */

#define GPU_FOR_BOTH                                                                   \
	"{\"host\":{\"ncpus\":1,\"ngpus\":1,\"gpu_rel\":2},\"projects\":["             \
	"{\"name\":\"A\",\"share\":1,\"apps\":[{\"C\":1,\"D\":168,\"gpu\":1,"          \
	"\"ncpus\":0.01}]},{\"name\":\"B\",\"share\":1,\"apps\":[{\"C\":1,\"D\":168}," \
	"{\"C\":1,\"D\":168,\"gpu\":1,\"ncpus\":0.01}]}]}"

START_TEST(t8_example_1)
{
	const char *policy = policy_of(ROW_t8, _i);
	struct result r;

	simulate(&r, policy, GPU_FOR_BOTH, 30);
	BETWEEN(r.sums.projects[0].used[1] / (30 * DAY), 0.73, 0.77);
	BETWEEN(r.sums.projects[1].used[1] / (30 * DAY), 0.23, 0.27);
	BETWEEN(r.sums.projects[1].used[0] / (30 * DAY), 0.97, 1.01);
	arena_free(&r.a);
}
END_TEST

/*
 * The other policies, as the manual says: by CPU time A is owed the whole coprocessor,
 * by its own debt half of it.
 */
START_TEST(t8_debts_of_one_resource)
{
	static const char *const all[] = { "debt1", "debtR" };
	const char *policy = all[_i];
	struct result r;

	simulate(&r, policy, GPU_FOR_BOTH, 30);
	BETWEEN(r.sums.projects[0].used[1] / (30 * DAY), _i == 0 ? 0.95 : 0.45,
	    _i == 0 ? 1 : 0.55);
	BETWEEN(r.sums.projects[1].used[0] / (30 * DAY), 0.97, 1.01);
	arena_free(&r.a);
}
END_TEST

/* A's only task takes a year and has no slack; C comes when it ends. */
#define A_YEAR                                                                         \
	"{\"host\":{\"ncpus\":1},\"prefs\":{\"min_days\":0.05,\"add_days\":0.05},"     \
	"\"projects\":["                                                               \
	"{\"name\":\"A\",\"share\":1,\"apps\":[{\"C\":8760,\"D\":8761.5,"              \
	"\"in_progress_most\":1}]},{\"name\":\"B\",\"share\":1,"                       \
	"\"apps\":[{\"C\":0.5,\"D\":20000}]}"

/* B runs alone for a year, or for as long as a ten-day average lasts. */
START_TEST(t9_example_2)
{
	const char *policy = policy_of(ROW_t9, _i);
	bool year = one_of(policy, "debtR", "window");
	double alone = year ? 361 : 4; /* days */
	double b = used(policy, A_YEAR "]}", 366, 366 + alone, 1, 0) / DAY;

	BETWEEN(used(policy, A_YEAR "]}", 0, 365, 0, 0) / DAY, 363, 365);
	BETWEEN(b, 0.99 * alone, alone + 0.01);
	if (year) /* but not longer */
		BETWEEN(used(policy, A_YEAR "]}", 732, 742, 0, 0) / DAY, 4, 10);
	else
		BETWEEN(used(policy, A_YEAR "]}", 366, 396, 0, 0) / DAY, 1, 26);
}
END_TEST

START_TEST(t10_a_new_project)
{
	const char *policy = policy_of(ROW_t10, _i);
	double attached;
	char text[1000];
	struct result r;

	simulate(&r, policy, A_YEAR "]}", 366);
	attached = r.w->ended / DAY;
	arena_free(&r.a);
	BETWEEN(attached, 365, 366);
	snprintf(text, sizeof(text),
	    "%s,{\"name\":\"C\",\"share\":1,\"attach_h\":%.6f,"
	    "\"apps\":[{\"C\":0.5,\"D\":169}]}]}",
	    A_YEAR, attached * 24);

	BETWEEN(used(policy, text, attached, attached + 1, 1, 0) / DAY, 0.47, 0.53);
	BETWEEN(used(policy, text, attached, attached + 1, 2, 0) / DAY, 0.47, 0.53);
}
END_TEST

/*
 * B gets half of the resource at once; policies with an average give it most of the
 * resource until the average has faded.
 */
START_TEST(t11_example_3)
{
	const char *policy = policy_of(ROW_t11, _i);
	const char *text =
	    "{\"host\":{\"ncpus\":1,\"ngpus\":1,\"gpu_rel\":10},\"projects\":["
	    "{\"name\":\"A\",\"share\":1,\"apps\":[{\"C\":1,\"D\":168,\"gpu\":1,"
	    "\"ncpus\":0.01}]},{\"name\":\"B\",\"share\":1,\"apps\":[{\"C\":1,"
	    "\"D\":168,\"gpu\":1,\"ncpus\":0.01,\"from_h\":8760}]}]}";
	struct result r;
	double found;

	simulate(&r, policy, text, 367);
	found = r.w->first[1] / DAY;
	arena_free(&r.a);
	BETWEEN(found, 365, 366);
	if (one_of(policy, "debtR", "window")) {
		BETWEEN(
		    used(policy, text, found, found + 2, 1, 1) / (2 * DAY), 0.45, 0.55);
		return;
	}
	BETWEEN(used(policy, text, found + 1, found + 6, 1, 1) / (5 * DAY), 0.8, 1);
	BETWEEN(
	    used(policy, text, found + 30, found + 40, 1, 1) / (10 * DAY), 0.45, 0.7);
}
END_TEST

/* --- T12: one resource each --- */

START_TEST(t12_one_resource_each)
{
	const char *policy = policy_of(ROW_t12, _i);
	struct result r;

	simulate(&r, policy,
	    "{\"host\":{\"ncpus\":4,\"ngpus\":1,\"gpu_rel\":10},\"projects\":["
	    "{\"name\":\"A\",\"share\":3,\"apps\":[{\"C\":2,\"D\":168}]},"
	    "{\"name\":\"B\",\"share\":1,\"apps\":[{\"C\":0.5,\"D\":96,\"gpu\":1,"
	    "\"ncpus\":0.2}]}]}",
	    30);
	BETWEEN(r.fig.idle, 0, 0.001);
	BETWEEN(r.fig.share[1], 0.70, 0.75);
	BETWEEN(r.w->empty, 0, 45); /* while the backoff grows, then once a day */
	arena_free(&r.a);
}
END_TEST

/* --- T19, T20 and limits --- */

/*
 * Tasks that wait because of a limit do not keep others from running. classic still
 * counts them as queued work.
 */
START_TEST(limits_leave_nothing_idle)
{
	const char *policy = policy_of(ROW_t5, _i);
	const char *text =
	    "{\"host\":{\"ncpus\":4},\"projects\":["
	    "{\"name\":\"one\",\"share\":900,\"apps\":[{\"C\":0.2,\"D\":400,"
	    "\"max_concurrent\":1}]},"
	    "{\"name\":\"any\",\"share\":100,\"apps\":[{\"C\":1,\"D\":400}]}]}";
	struct result r;

	simulate(&r, policy, text, 10);
	BETWEEN(r.fig.idle, 0, 0.01);
	BETWEEN(r.fig.share[0], 0.1, 0.26);
	arena_free(&r.a);
}
END_TEST

START_TEST(t19_the_buffer_is_not_exceeded)
{
	static const char *const text[] = {
		"P1(1, 200, .5) P2(3, 200, .3) P3(10, 400, .2) NCPUS=4 min_queue=2.4 "
		"additional_queue=12",
		"P1(2, 60, .5) P2(.5, 24, .5) NCPUS=2 min_queue=6 additional_queue=0",
		LONG_AND_SHORT
	};
	const char *policy = policy_of(ROW_t19, _i);

	for (size_t k = 0; k < N(text); k++) {
		struct result r;
		double ncpus, bound;

		simulate(&r, policy, text[k], 10);
		ncpus = r.sc.rsc[0].ninst;
		bound = ncpus * (r.sc.prefs.min_s + r.sc.prefs.extra_s + r.w->longest);
		BETWEEN(r.w->most / H, 0, bound / H);
		arena_free(&r.a);
	}
}
END_TEST

START_TEST(t20_a_backup_project)
{
	const char *policy = policy_of(ROW_t20, _i);
	const char *text =
	    "{\"host\":{\"ncpus\":2},\"prefs\":{\"min_days\":0.1,\"add_days\":0.1},"
	    "\"projects\":[{\"name\":\"main\",\"share\":1,\"apps\":[{\"C\":1,"
	    "\"D\":168}],\"down_from_h\":48,\"down_until_h\":96},"
	    "{\"name\":\"backup\",\"share\":0,\"apps\":[{\"C\":1,\"D\":168}]}]}";
	struct result r;

	simulate(&r, policy, text, 8);
	ck_assert_uint_gt(r.w->arrived[1], 40);
	BETWEEN(r.w->first[1] / H, 48, 60);
	BETWEEN(r.w->last[1] / H, 90, 108);
	BETWEEN(r.fig.idle, 0, 0.001);
	arena_free(&r.a);
}
END_TEST

/* --- estimates --- */

/* Ten times too low: what the first request brought in excess is late, but nothing
 * after ten days. Five times too high: the buffer holds what it should. */
START_TEST(estimates_are_learned)
{
	static const char *const low =
	    "a(5, 72, .5; sd=.1) b(2, 96, .5; sd=.1) NCPUS=4 min_queue=24 "
	    "additional_queue=24 EST(a, 0.1)";
	static const char *const high =
	    "a(2, 72, .5; sd=.1) NCPUS=4 min_queue=10 additional_queue=10 EST(a, 5)";
	const char *policy = policies[_i]->name;
	struct result r;
	uint64_t early;

	simulate(&r, policy, low, 10);
	early = r.fig.missed;
	arena_free(&r.a);
	simulate(&r, policy, low, 30);
	ck_assert_uint_eq(r.fig.missed, early);
	BETWEEN(r.fig.wasted, 0, 0.02);
	arena_free(&r.a);
	simulate(&r, policy, high, 10);
	BETWEEN(r.w->most / H, 60, 95); /* at first 16 h */
	ck_assert_uint_eq(r.fig.missed, 0);
	arena_free(&r.a);
}
END_TEST

/* --- contacts --- */

/*
 * For all policies: tasks of half a minute that are due in a day, in three hours, in
 * ten minutes. Results are collected, no project is asked twice within a minute, and
 * no deadline is lost.
 */
START_TEST(contacts_are_bundled)
{
	static const struct {
		const char *text;
		uint64_t most; /* contacts a day */
	} c[] = {
		{ "P(.00833, 24, 1) NCPUS=8 min_queue=1 additional_queue=1", 400 },
		{ "P(.00833, 3, 1) NCPUS=2 min_queue=.3 additional_queue=.3", 150 },
		{ "P(.00833, .17, 1) NCPUS=1 min_queue=.05 additional_queue=.05",
		    1100 },
	};
	const char *policy = policies[_i]->name;
	/* These ask whenever the buffer is not full. */
	bool often = one_of(policy, "debt1", "debtR");

	for (size_t k = 0; k < N(c); k++) {
		struct result r;

		simulate(&r, policy, c[k].text, 1);
		ck_assert_uint_eq(r.fig.missed, 0);
		BETWEEN(r.fig.idle, 0, 0.001);
		BETWEEN(r.sums.contacts, 10, often ? 1441 : c[k].most);
		BETWEEN(r.w->gap, 60 - 1e-6, INFINITY);
		arena_free(&r.a);
	}
}
END_TEST

UNIT_MAIN("sim policies", {
	ADD_LOOP(estimates_are_learned, nplain());
	ADD_LOOP(contacts_are_bundled, nplain());
	ADD_LOOP(t5_slices, count_of(ROW_t5));
	ADD_LOOP(t6_scenario_1_of_client_scheduling, count_of(ROW_t6));
	ADD_LOOP(t6_no_turn_ends_early, nplain() + nvariants());
	ADD_LOOP(t7_long_and_short, count_of(ROW_t7));
	ADD_LOOP(t8_example_1, count_of(ROW_t8));
	ADD_LOOP(t8_debts_of_one_resource, 2);
	ADD_LOOP(t9_example_2, count_of(ROW_t9));
	ADD_LOOP(t10_a_new_project, count_of(ROW_t10));
	ADD_LOOP(t11_example_3, count_of(ROW_t11));
	ADD_LOOP(t12_one_resource_each, count_of(ROW_t12));
	ADD_LOOP(t19_the_buffer_is_not_exceeded, count_of(ROW_t19));
	ADD_LOOP(t20_a_backup_project, count_of(ROW_t20));
	ADD_LOOP(limits_leave_nothing_idle, count_of(ROW_t5));
})

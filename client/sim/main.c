/* SPDX-License-Identifier: Apache-2.0 */
/* locus-client sim: runs scenarios on the virtual clock and prints the results. */
#include "client/sim/report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <jansson.h>
#include "lib/args.h"
#include "lib/fs.h"
#include "lib/json_text.h"
#include "lib/text.h"
#include "lib/banned.h"

enum { RUNS_MOST = 1000, POLICIES_MOST = 32, FILES_MOST = 1000 };

struct sim_args {
	struct arena *a;
	const struct policy *policies[POLICIES_MOST];
	size_t npolicies;
	const char *file, *dir, *log, *plot;
	double days, poll_s;
	int64_t seed, runs;
	bool compare, json;
};

/* One scenario under one policy; the mean if there are several runs. */
struct outcome {
	/* Of the scenario: its file name without directories and extension. */
	const char *name;
	const struct sim_scenario *scenario;
	const struct policy *policy;
	struct sim_figures figures;
	struct sim_project_sums *projects; /* sums over all runs */
	struct sim_bound best;
};

/* --- one run --- */

struct listener {
	struct arena *line;
	const struct sim_scenario *scenario;
	struct sim_plot *plot;
	FILE *log;
};

static void on_event(void *arg, const struct sim_event *e)
{
	struct listener *l = arg;
	struct buf b = buf_new(l->line);

	if (l->plot != NULL)
		sim_plot_event(l->plot, e);
	if (l->log == NULL)
		return;
	sim_log_line(l->scenario, e, &b);
	fprintf(l->log, "%s\n", b.p);
	arena_reset(l->line);
}

static enum err close_outputs(
    const struct sim_args *g, struct listener *l, struct fail *f)
{
	struct buf b = buf_new(g->a);
	bool bad = false;

	if (l->log != NULL)
		bad = ferror(l->log) != 0;
	if (l->log != NULL && (fclose(l->log) != 0 || bad))
		return FAIL_ERRNO(f, "cannot write %s", g->log);
	if (l->plot == NULL)
		return OK;
	sim_plot_draw(l->plot, &b);
	return fs_write(g->plot, b.p, b.n, 0644, f);
}

static enum err run_seed(const struct sim_args *g, struct outcome *o, uint64_t seed,
    struct sim_figures *figures, struct fail *f)
{
	struct arena scratch = { 0 }, line = { 0 };
	struct listener l = { .line = &line, .scenario = o->scenario };
	struct sim_options opt = {
		.policy = o->policy, .days = g->days, .seed = seed, .poll_s = g->poll_s
	};
	struct sim_sums sums;
	enum err e = OK;

	if (g->log != NULL && (l.log = fopen(g->log, "we")) == NULL)
		e = FAIL_ERRNO(f, "%s", g->log);
	if (g->plot != NULL)
		l.plot = sim_plot_new(g->a, o->scenario,
		    arena_printf(g->a, "%s: policy %s, %g days, seed %" PRIu64, o->name,
			o->policy->name, g->days, seed),
		    g->days);
	if (g->plot != NULL || g->log != NULL) {
		opt.event = on_event;
		opt.listener = &l;
	}
	if (e == OK)
		e = sim_run(o->scenario, &opt, &scratch, &sums, f);
	if (e == OK) {
		sim_figures(o->scenario, &sums, g->a, figures);
		for (size_t i = 0; i < o->scenario->nprojects; i++) {
			o->projects[i].fetched += sums.projects[i].fetched;
			o->projects[i].met += sums.projects[i].met;
			o->projects[i].missed += sums.projects[i].missed;
		}
		e = close_outputs(g, &l, f);
	} else if (l.log != NULL) {
		fclose(l.log);
	}
	arena_free(&line);
	arena_free(&scratch);
	return e;
}

static enum err run_seeds(const struct sim_args *g, struct outcome *o, struct fail *f)
{
	struct sim_figures *runs = NEWN(g->a, struct sim_figures, (size_t)g->runs);

	o->projects = NEWN(g->a, struct sim_project_sums, o->scenario->nprojects);
	for (int64_t i = 0; i < g->runs; i++) {
		enum err e = run_seed(g, o, (uint64_t)(g->seed + i), &runs[i], f);

		if (e != OK)
			return e;
	}
	sim_figures_mean(
	    runs, (size_t)g->runs, o->scenario->nprojects, g->a, &o->figures);
	/* The mean of the runs' best possible results. */
	double n = (double)g->runs;

	o->best = (struct sim_bound){ .share = NEWN(
					  g->a, double, o->scenario->nprojects) };
	for (int64_t i = 0; i < g->runs; i++) {
		struct sim_bound b;

		sim_bound(o->scenario, g->days, (uint64_t)(g->seed + i), g->a, &b);
		o->best.idle += b.idle / n;
		o->best.share_violation += b.share_violation / n;
		for (size_t p = 0; p < o->scenario->nprojects; p++)
			o->best.share[p] += b.share[p] / n;
	}
	return OK;
}

/* --- output --- */

static json_t *json_project(const struct sim_args *g, const struct outcome *o, size_t i)
{
	const struct sim_project_sums *p = &o->projects[i];
	double runs = (double)g->runs;

	return json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f}", "name",
	    o->scenario->projects[i].name, "share", o->scenario->projects[i].share,
	    "used", o->figures.share[i], "attainable", o->best.share[i], "fetched",
	    (double)p->fetched / runs, "met", (double)p->met / runs, "missed",
	    (double)p->missed / runs);
}

static json_t *json_outcome(const struct sim_args *g, const struct outcome *o)
{
	json_t *j = json_pack("{s:s, s:s, s:f, s:I, s:I}", "scenario", o->name,
	    "policy", o->policy->name, "days", g->days, "seed", (json_int_t)g->seed,
	    "runs", (json_int_t)g->runs);
	json_t *list = json_array();

	for (const struct field *k = sim_figure_table; k->name != NULL; k++)
		json_object_set_new(j, k->name, json_number_of(k, &o->figures));
	for (size_t i = 0; i < o->scenario->nprojects; i++)
		json_array_append_new(list, json_project(g, o, i));
	json_object_set_new(j, "projects", list);
	json_object_set_new(j, "best",
	    json_pack("{s:f, s:f, s:f}", "idle", o->best.idle, "wasted", 0.0,
		"share_violation", o->best.share_violation));
	return j;
}

static void json_print(json_t *j)
{
	json_dumpf(j, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
	putchar('\n');
	json_decref(j);
}

static void table_one(const struct sim_args *g, const struct outcome *o)
{
	double runs = (double)g->runs;

	printf("%s: policy %s, %g days, seed %" PRId64, o->name, o->policy->name,
	    g->days, g->seed);
	printf(g->runs > 1 ? ", mean of %" PRId64 " runs\n\n" : "\n\n", g->runs);
	for (const struct field *k = sim_figure_table; k->name != NULL; k++)
		printf(k->type == FIELD_I64 ? "%-27s %12.0f\n" : "%-27s %12.4f\n",
		    k->name, field_number(k, &o->figures));
	printf("%-27s %12.4f\n%-27s %12.4f\n", "best possible idle", o->best.idle,
	    "best possible violation", o->best.share_violation);
	printf("\n%-20s %8s %8s %8s %10s %10s %10s\n", "project", "share", "used",
	    "best", "fetched", "met", "missed");
	for (size_t i = 0; i < o->scenario->nprojects; i++) {
		const struct sim_project_sums *p = &o->projects[i];

		printf("%-20.20s %8g %8.4f %8.4f %10.1f %10.1f %10.1f\n",
		    o->scenario->projects[i].name, o->scenario->projects[i].share,
		    o->figures.share[i], o->best.share[i], (double)p->fetched / runs,
		    (double)p->met / runs, (double)p->missed / runs);
	}
}

static void table_line(const struct outcome *o, bool first)
{
	const struct sim_figures *f = &o->figures;

	if (first)
		printf("%-24.24s %-14s %7.4f %7.4f %9.4f %10.4f\n", o->name, "(best)",
		    o->best.idle, 0.0, o->best.share_violation, 0.0);
	printf("%-24s %-14s %7.4f %7.4f %9.4f %10.4f %8.4f %8.4f %8" PRIu64 " %8" PRIu64
	       " %7.3f\n",
	    "", o->policy->name, f->idle, f->wasted, f->share_violation,
	    f->share_violation_attainable, f->monotony, f->rpcs_per_job, f->met,
	    f->missed, f->cpu_ms_per_day);
}

/* --- the two commands --- */

/* The name of the file without directories and extension. */
static const char *scenario_name(struct arena *a, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *name = arena_strdup(a, slash == NULL ? path : slash + 1);
	char *dot = strrchr(name, '.');

	if (dot != NULL && dot != name)
		*dot = '\0';
	return name;
}

static enum err run_single(const struct sim_args *g, struct fail *f)
{
	struct sim_scenario s;
	struct outcome o = { .name = scenario_name(g->a, g->file),
		.scenario = &s,
		.policy = g->policies[0] };

	TRY(sim_read(g->a, g->file, &s, f));
	TRY(run_seeds(g, &o, f));
	if (g->json)
		json_print(json_outcome(g, &o));
	else
		table_one(g, &o);
	return OK;
}

static enum err compare_one(
    const struct sim_args *g, const char *path, json_t *list, struct fail *f)
{
	struct sim_scenario s;
	enum err e = sim_read(g->a, path, &s, f);

	for (size_t i = 0; e == OK && i < g->npolicies; i++) {
		struct outcome o = { .name = scenario_name(g->a, path),
			.scenario = &s,
			.policy = g->policies[i] };

		e = run_seeds(g, &o, f);
		if (e != OK)
			break;
		if (g->json)
			json_array_append_new(list, json_outcome(g, &o));
		else
			table_line(&o, i == 0);
	}
	return e;
}

static bool is_scenario(const char *name)
{
	const char *dot = strrchr(name, '.');

	return name[0] != '.' && dot != NULL &&
	       (strcmp(dot, ".json") == 0 || strcmp(dot, ".txt") == 0);
}

/* Reports an unusable scenario at once and runs the others; the error at the end counts
 * the unusable ones. */
static enum err compare_all(const struct sim_args *g, struct fail *f)
{
	json_t *list;
	char **names;
	size_t n, found = 0, bad = 0;

	TRY(fs_list(g->a, g->dir, FILES_MOST, &names, &n, f));
	list = json_array();
	for (size_t i = 0; i < n; i++) {
		const char *path;

		if (!is_scenario(names[i]))
			continue;
		if (found++ == 0 && !g->json) {
			printf("%-24s %-14s %7s %7s %9s %10s %8s %8s %8s %8s %7s\n",
			    "scenario", "policy", "idle", "wasted", "violation",
			    "attainable", "monotony", "rpcs/job", "met", "missed",
			    "ms/day");
		}
		path = arena_printf(g->a, "%s/%s", g->dir, names[i]);
		if (compare_one(g, path, list, f) == OK)
			continue;
		fprintf(stderr, "locus-client sim: %s\n", f->detail);
		bad++;
	}
	if (found > 0 && g->json)
		json_print(list);
	else
		json_decref(list);
	if (found == 0)
		return FAIL(f, E_BADREQ,
		    "%s: contains no scenario, NAME.json or NAME.txt", g->dir);
	if (bad > 0)
		return FAIL(f, E_BADREQ, "%s: %zu of %zu scenarios could not be run",
		    g->dir, bad, found);
	return OK;
}

/* --- the command line --- */

static bool add_policy(struct sim_args *g, const char *name)
{
	const struct policy *p = policy_find(name);

	if (p == NULL || g->npolicies == POLICIES_MOST)
		return false;
	g->policies[g->npolicies++] = p;
	return true;
}

static const char *take_sim_policy(void *row, char *name)
{
	struct sim_args *g = row;

	return g->npolicies == 0 && add_policy(g, name) ?
	           NULL :
	           "the name of one policy, once";
}

static const char *take_compare(void *row, char *list)
{
	struct sim_args *g = row;
	char *rest = arena_strdup(g->a, list), *name;

	g->compare = true;
	g->npolicies = 0;
	if (strcmp(list, "all") == 0) {
		for (size_t i = 0; policies[i] != NULL; i++)
			add_policy(g, policies[i]->name);
		return NULL;
	}
	while ((name = strsep(&rest, ",")) != NULL)
		if (!add_policy(g, name))
			return "\"all\", or policy names separated by commas";
	return NULL;
}

static const char *take_sim_form(void *row, char *form)
{
	struct sim_args *g = row;

	g->json = strcmp(form, "json") == 0;
	return g->json || strcmp(form, "table") == 0 ? NULL : "\"table\" or \"json\"";
}

#define OF(member) FIELD_OF(struct sim_args, member)
static const struct field sim_fields[] = {
	{ "policy", .value = "NAME", "the host's policy", .take = take_sim_policy },
	{ "days", OF(days), "N", "simulated days", .above = true, .max = 100000,
	    .def = "100" },
	{ "seed", OF(seed), "N", "seed of all random numbers", .max = 9e18,
	    .takes = "a non-negative whole number", .def = "1" },
	{ "runs", OF(runs), "N", "mean of N runs, with the seeds from --seed on",
	    .min = 1, .max = RUNS_MOST, .def = "1" },
	{ "poll", OF(poll_s), "S",
	    "apply the rules every S seconds, not exactly when one asks", .max = 86400,
	    .takes = "seconds, from 0 to 86400" },
	{ "output", .value = "table|json", "output for people or for programs",
	    .letter = 'o', .take = take_sim_form },
	{ "log", OF(log), "FILE", "write every event of the run, one per line" },
	{ "plot", OF(plot), "OUT.svg", "draw the run" },
	{ "compare", .value = "LIST",
	    "run several policies on all scenarios of a directory",
	    .take = take_compare },
	{ "scenarios", OF(dir), "DIR",
	    "the directory, with NAME.json or NAME.txt files" },
	{ 0 },
};

static const char *sim_usage(struct arena *a)
{
	struct buf b = buf_new(a);

	buf_printf(&b,
	    "usage: locus-client sim [options] FILE\n"
	    "       locus-client sim [options] --compare all|NAME,... --scenarios DIR\n"
	    "Policies, the first of which is the default, and variants:\n");
	for (size_t i = 0; policies[i] != NULL; i++)
		buf_printf(&b, "                       %-12s %s\n", policies[i]->name,
		    policies[i]->about);
	for (size_t i = 0; policy_variants[i] != NULL; i++)
		buf_printf(&b, "                       %s\n", policy_variants[i]->name);
	buf_printf(&b, "Options:\n");
	return b.p;
}

static enum err check_together(const struct sim_args *g, size_t nwords, struct fail *f)
{
	if (g->compare != (g->dir != NULL))
		return FAIL(f, E_BADREQ, "--compare and --scenarios go together");
	if (nwords != (g->compare ? 0 : 1))
		return FAIL(f, E_BADREQ, "%s",
		    g->compare ? "--compare takes no file" : "give one file");
	if ((g->log != NULL || g->plot != NULL) && (g->compare || g->runs > 1))
		return FAIL(f, E_BADREQ, "--log and --plot need a single run");
	return OK;
}

/* Returns -1 to go on, otherwise the exit code. */
static int parse_sim_options(struct sim_args *g, int argc, char **argv)
{
	struct fail f = { 0 };
	struct args line = { .a = g->a,
		.program = "locus-client sim",
		.own = sim_fields,
		.own_row = g,
		.max = -1,
		.usage = sim_usage(g->a) };
	enum args_end end = args_read(&line, argc, argv, &f);

	if (end == ARGS_RUN && check_together(g, line.nrest, &f) != OK)
		end = ARGS_WRONG;
	if (g->npolicies == 0)
		g->policies[g->npolicies++] = policies[0];
	g->file = g->compare || end != ARGS_RUN ? NULL : line.rest[0];
	return args_answer(&line, end, &f);
}

int sim_main(int argc, char **argv)
{
	struct arena a = { 0 };
	struct sim_args g = { .a = &a };
	struct fail f = { 0 };
	enum err e = OK;
	int code = parse_sim_options(&g, argc, argv);

	if (code < 0) {
		e = g.compare ? compare_all(&g, &f) : run_single(&g, &f);
		code = e == OK ? 0 : err_exit(e);
		if (e == OK && (fflush(stdout) != 0 || ferror(stdout))) {
			e = FAIL_ERRNO(&f, "standard output");
			code = 1;
		}
	}
	if (e != OK)
		fprintf(stderr, "locus-client sim: %s\n", f.detail);
	arena_free(&a);
	return code;
}

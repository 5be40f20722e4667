/* SPDX-License-Identifier: Apache-2.0 */
/* locus app set: changes the settings of an application. */
#include <float.h>
#include <limits.h>
#include <string.h>
#include "lib/text.h"
#include "tools/catalog.h"
#include "tools/confirm.h"
#include "tools/set_report.h"
#include "lib/banned.h"

struct set_opts { /* NULL = unchanged */
	const char *people, *min_version, *weight, *adaptive, *locality, *deprecated;
	const char *beta, *no_cpu, *hr, *hav, *exact;
	bool dry_run;
};

#define FIELD(name) offsetof(struct set_opts, name)
static const struct opt set_options[] = {
	{ "name", OPT_TEXT, FIELD(people), "TEXT", "Name shown to users." },
	{ "deprecated", OPT_TEXT, FIELD(deprecated), "0|1",
	    "1: its jobs are no longer sent." },
	{ "weight", OPT_TEXT, FIELD(weight), "N",
	    "Weight among the project's apps; -1: only for hosts that have earned credit." },
	{ "min-version", OPT_TEXT, FIELD(min_version), "N",
	    "Minimum version of the app; older ones are not used; 0: no minimum." },
	{ "adaptive", OPT_TEXT, FIELD(adaptive), "N",
	    "Adaptive replication with this number of results, see scheduler(8); 0: none." },
	{ "locality", OPT_TEXT, FIELD(locality), "0|1",
	    "1: jobs use large files that stay on hosts." },
	{ "beta", OPT_TEXT, FIELD(beta), "0|1",
	    "1: only for accounts that volunteered to test apps." },
	{ "non-cpu-intensive", OPT_TEXT, FIELD(no_cpu), "0|1",
	    "1: it uses almost no CPU; every host gets one job at a time." },
	{ "homogeneous-redundancy", OPT_TEXT, FIELD(hr), "0|1|2",
	    "All results of a workunit go to hosts of the same class: 1 fine-grained, 2 coarse-grained." },
	{ "homogeneous-app-version", OPT_TEXT, FIELD(hav), "0|1",
	    "1: all results of a workunit use the same version of the app." },
	{ "fraction-done-exact", OPT_TEXT, FIELD(exact), "0|1",
	    "1: its programs report their exact progress." },
	DRY_RUN_OPTION(struct set_opts),
	{ 0 },
};

#define COLUMN(name) offsetof(struct app, name)
static const struct {
	size_t option, column;
	const char *name;
	int64_t lo, hi;
} numbers[] = {
	{ FIELD(deprecated), COLUMN(deprecated), "deprecated", 0, 1 },
	{ FIELD(min_version), COLUMN(min_version), "min-version", 0, 1000000 },
	{ FIELD(adaptive), COLUMN(target_nresults), "adaptive", 0, 1000 },
	{ FIELD(locality), COLUMN(locality_scheduling), "locality", 0, 1 },
	{ FIELD(beta), COLUMN(beta), "beta", 0, 1 },
	{ FIELD(no_cpu), COLUMN(non_cpu_intensive), "non-cpu-intensive", 0, 1 },
	{ FIELD(hr), COLUMN(homogeneous_redundancy), "homogeneous-redundancy", 0, 2 },
	{ FIELD(hav), COLUMN(homogeneous_app_version), "homogeneous-app-version", 0,
	    1 },
	{ FIELD(exact), COLUMN(fraction_done_exact), "fraction-done-exact", 0, 1 },
};

static enum err
app_set_numbers(struct cmd_ctx *x, const struct set_opts *o, struct app *app)
{
	for (size_t i = 0; i < N(numbers); i++) {
		const char *value;
		int32_t *column = (int32_t *)(void *)((char *)app + numbers[i].column);
		int64_t v;

		memcpy(&value, (const char *)o + numbers[i].option, sizeof(value));
		if (value == NULL)
			continue;
		if (!text_i64(value, numbers[i].lo, numbers[i].hi, &v))
			return ctx_usage(x,
			    "--%s must be a whole number from %lld to %lld",
			    numbers[i].name, (long long)numbers[i].lo,
			    (long long)numbers[i].hi);
		*column = (int32_t)v;
	}
	if (app->target_nresults == 1)
		return ctx_usage(x, "--adaptive must be 0 or at least 2");
	return OK;
}

static enum err
app_set_weight(struct cmd_ctx *x, const char *value, struct app *app)
{
	double v;

	if (value == NULL)
		return OK;
	if (!text_f64(value, &v) || v > 1e6 || (v < 0 && v != -1))
		return ctx_usage(
		    x, "--weight must be a number from 0 to 1000000, or -1");
	app->weight = v;
	return OK;
}

static void
app_set_report(
    struct cmd_ctx *x, const struct app *was, const struct app *now, bool dry)
{
	struct set_report r = set_report_new(x);

	set_report_text(&r, "name", was->user_friendly_name, now->user_friendly_name);
	set_report_real(&r, "weight", was->weight, now->weight);
	for (size_t i = 0; i < N(numbers); i++) {
		int32_t before, after;

		memcpy(&before, (const char *)was + numbers[i].column, sizeof(before));
		memcpy(&after, (const char *)now + numbers[i].column, sizeof(after));
		set_report_number(&r, numbers[i].name, before, after);
	}
	set_report_print(&r, dry, arena_printf(x->a, "app %s", now->name));
}

static enum err
app_set_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	static const struct set_opts nothing, only_dry = { .dry_run = true };
	const struct set_opts *o = opts;
	struct catalog *c;
	const struct app *was;
	struct app app;

	(void)n;
	if (memcmp(o, &nothing, sizeof(nothing)) == 0 ||
	    memcmp(o, &only_dry, sizeof(only_dry)) == 0)
		return ctx_usage(x, "nothing to change: give at least one option");
	TRY(tools_catalog(x, &c));
	TRY(tools_app(x, c, args[0], &was));
	app = *was;
	if (o->people != NULL)
		app.user_friendly_name = arena_strdup(x->a, o->people);
	TRY(app_set_numbers(x, o, &app));
	TRY(app_set_weight(x, o->weight, &app));
	if (!o->dry_run)
		TRY(app_update(x->db, &app, x->f));
	app_set_report(x, was, &app, o->dry_run);
	return o->dry_run ? OK : ctx_reread(x);
}

const struct cmd cmd_app_set = { .name = "app set",
	.args = "NAME",
	.min_args = 1,
	.max_args = 1,
	.purpose = "change an application",
	.about =
	    "Changes what the options name and leaves the rest; the schedulers pick it up within\n"
	    "seconds. Existing workunits keep their number of results and their quorum.",
	.opts = set_options,
	.opts_size = sizeof(struct set_opts),
	.columns = set_columns,
	.run = app_set_run };

/* SPDX-License-Identifier: Apache-2.0 */
/* locus explain app: the most frequent failures of an app's tasks. */
#include <inttypes.h>
#include <stdio.h>
#include "lib/clock.h"
#include "model/rows.h"
#include "tools/catalog.h"
#include "tools/dir_cure.h"
#include "tools/failures.h"
#include "tools/human.h"
#include "tools/print/print.h"
#include "lib/banned.h"

enum { DAY_S = 86400, LOOK_MOST = 100000 };

struct explain_app_opts {
	const char *since;
};
static const struct opt explain_app_options[] = {
	{ "since", OPT_TEXT, offsetof(struct explain_app_opts, since), "TIME",
	    "Failures of this last time: 1h, 2d, 1w; default: 1d." },
	{ 0 },
};

static const struct print_column failure_columns[] = {
	{ "failures", NULL, PRINT_NUMBER, NULL },
	{ "hosts", NULL, PRINT_NUMBER, "different ones" },
	{ "exit_status", NULL, PRINT_NUMBER, NULL },
	{ "outcome", NULL, PRINT_TEXT,
	    "CLIENT_ERROR, or VALIDATE_ERROR: outputs that the validator could not use" },
	{ "words", NULL, PRINT_TEXT,
	    "exit status and the telling line of standard error" },
	{ "signature", NULL, PRINT_TEXT, "that line, with # for numbers" },
	{ "version", NULL, PRINT_NUMBER,
	    "the only version that failed so, such as 105; 0: several" },
	{ "last", NULL, PRINT_TIME, NULL },
	{ "example", NULL, PRINT_TEXT, "the newest such result" },
	{ "try", NULL, PRINT_TEXT, NULL },
	{ 0 },
};

/* For people a paragraph for each kind, as its words are longer than a column. */
static void
show_failure(struct cmd_ctx *x, struct print *l, const struct failure_kind *k)
{
	const char *words = failure_words(x->a, k), *cure = failure_cure(x, k);
	const char *version = k->version == 0 ?
	                          "" :
	                          arena_printf(x->a, ", only version %d.%02d",
				      k->version / 100, k->version % 100);

	print_cells(l, k->n, k->hosts, k->exit_status,
	    state_name(KIND_OUTCOME, k->outcome), words, k->signature, k->version,
	    k->last, k->example, cure);
	print_line(l, NULL, "\n%" PRId64 " on %" PRId64 " host%s%s, the last %s ago",
	    k->n, k->hosts, k->hosts == 1 ? "" : "s", version,
	    human_span(x->a, clock_now() - k->last));
	print_line(l, NULL, "  what     %s\n  example  %s %s\n  try      %s", words,
	    locus_command(x->a, x->cf, "work show"), k->example, cure);
}

static enum err
explain_app_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct explain_app_opts *o = opts;
	int64_t span = DAY_S;
	const struct app *app;
	struct failures f;
	struct catalog *c;
	struct print *l;

	(void)n;
	if (o->since != NULL && !human_span_parse(o->since, &span))
		return ctx_usage(
		    x, "--since %.40s: must be a duration such as 1h or 2d", o->since);
	TRY(ctx_db_report(x));
	TRY(tools_catalog(x, &c));
	TRY(tools_app(x, c, args[0], &app));
	TRY(failures_read(x, app->id, clock_now() - span, LOOK_MOST, &f));
	l = print_list(x, failure_columns);
	if (app->drain_time != 0)
		print_line(l, NULL,
		    "%s is drained for %s: its tasks are reported and not sent; %s %s ends this",
		    app->name, human_span(x->a, clock_now() - app->drain_time),
		    locus_command(x->a, x->cf, "resume app"), app->name);
	print_line(l, NULL, "%s: %" PRId64 " tasks failed in the last %s%s", app->name,
	    f.total, human_span(x->a, span),
	    f.looked < f.total ?
		arena_printf(
		    x->a, ", of which the newest %" PRId64 " are grouped", f.looked) :
		"");
	for (size_t i = 0; i < f.n; i++)
		show_failure(x, l, &f.v[i]);
	print_end(l);
	return OK;
}

const struct cmd cmd_explain_app = { .name = "explain app",
	.args = "NAME",
	.min_args = 1,
	.max_args = 1,
	.purpose = "show why an app's tasks fail, and what to try",
	.about =
	    "Groups the failures of the last day by exit status and by the line of standard error\n"
	    "that tells most, the most frequent first: how many, on how many hosts, an example,\n"
	    "and what to try. Results whose outputs the validator could not use count too.",
	.opts = explain_app_options,
	.opts_size = sizeof(struct explain_app_opts),
	.columns = failure_columns,
	.run = explain_app_run };

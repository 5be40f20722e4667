/* SPDX-License-Identifier: Apache-2.0 */
/* locus explain app: the most frequent failures of an app's tasks. */
#include <inttypes.h>
#include <stdio.h>
#include "lib/clock.h"
#include "model/states.h"
#include "tools/catalog.h"
#include "tools/dir_cure.h"
#include "tools/failures.h"
#include "tools/human.h"
#include "tools/listing.h"
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

static const struct listing_column failure_columns[] = {
	{ "failures", "FAILURES", LIST_NUMBER, NULL },
	{ "hosts", "HOSTS", LIST_NUMBER, "different ones" },
	{ "exit_status", NULL, LIST_NUMBER, NULL },
	{ "outcome", NULL, LIST_TEXT,
	    "CLIENT_ERROR, or VALIDATE_ERROR: outputs that the validator could not use" },
	{ "words", "WHAT", LIST_TEXT,
	    "exit status and the telling line of standard error" },
	{ "signature", NULL, LIST_TEXT, "that line, with # for numbers" },
	{ "version", NULL, LIST_NUMBER,
	    "the only version that failed so, such as 105; 0: several" },
	{ "last", "LAST", LIST_TIME, NULL },
	{ "example", "EXAMPLE", LIST_TEXT, "the newest such result" },
	{ "try", "TRY", LIST_TEXT, NULL },
	{ 0 },
};

static void
failure_put(struct cmd_ctx *x, struct listing *l, const struct failure_kind *k)
{
	listing_number(l, k->n);
	listing_number(l, k->hosts);
	listing_number(l, k->exit_status);
	listing_text(l, state_name(KIND_OUTCOME, k->outcome));
	listing_text(l, failure_words(x->a, k));
	listing_text(l, k->signature);
	listing_number(l, k->version);
	listing_number(l, k->last);
	listing_text(l, k->example);
	listing_text(l, failure_cure(x, k));
}

/* For people: a paragraph for each kind, as its words are longer than a column. */
static void
failure_print(struct cmd_ctx *x, const struct failure_kind *k)
{
	const char *version = k->version == 0 ?
	                          "" :
	                          arena_printf(x->a, ", only version %d.%02d",
				      k->version / 100, k->version % 100);

	printf("\n%" PRId64 " on %" PRId64 " host%s%s, the last %s ago\n", k->n,
	    k->hosts, k->hosts == 1 ? "" : "s", version,
	    human_span(x->a, clock_now() - k->last));
	printf("  what     %s\n  example  %s %s\n  try      %s\n",
	    failure_words(x->a, k), locus_command(x->a, x->cf, "work show"), k->example,
	    failure_cure(x, k));
}

static enum err
explain_app_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct explain_app_opts *o = opts;
	int64_t span = DAY_S;
	const struct app *app;
	struct failures f;
	struct catalog *c;
	struct listing *l;

	(void)n;
	if (o->since != NULL && !human_span_parse(o->since, &span))
		return ctx_usage(
		    x, "--since %.40s: must be a duration such as 1h or 2d", o->since);
	TRY(ctx_db_report(x));
	TRY(tools_catalog(x, &c));
	TRY(tools_app(x, c, args[0], &app));
	TRY(failures_read(x, app->id, clock_now() - span, LOOK_MOST, &f));
	if (x->format != FORMAT_TABLE) {
		l = listing_begin(x, failure_columns);
		for (size_t i = 0; i < f.n; i++)
			failure_put(x, l, &f.v[i]);
		listing_end(l);
		return OK;
	}
	if (app->drain_time != 0)
		printf(
		    "%s is drained for %s: its tasks are reported and not sent; %s %s ends this\n",
		    app->name, human_span(x->a, clock_now() - app->drain_time),
		    locus_command(x->a, x->cf, "resume app"), app->name);
	printf("%s: %" PRId64 " tasks failed in the last %s%s\n", app->name, f.total,
	    human_span(x->a, span),
	    f.looked < f.total ?
		arena_printf(
		    x->a, ", of which the newest %" PRId64 " are grouped", f.looked) :
		"");
	for (size_t i = 0; i < f.n; i++)
		failure_print(x, &f.v[i]);
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus metrics: the counters of this machine's schedulers, in Prometheus' text format.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "lib/counters.h"
#include "model/metrics.h"
#include "model/trouble.h"
#include "tools/cmd.h"
#include "tools/json.h"
#include "lib/banned.h"

struct metric_line {
	const char *name;
	uint64_t value;
};
struct metric_lines {
	struct arena *a;
	struct metric_line *v;
	size_t n, cap;
};

static void
metrics_add_line(void *ctx, const char *name, uint64_t value)
{
	struct metric_lines *l = ctx;

	PUSH(l->a, l->v, l->n, l->cap) = (struct metric_line){ name, value };
}

static bool
line_is_of(const struct metric_line *l, const struct metric_text *m)
{
	size_t n = strlen(m->name);

	return strncmp(l->name, m->name, n) == 0 && l->name[n] == '{';
}

static void
metrics_print_text(const struct metric_lines *l, size_t nstandbys)
{
	for (size_t m = 0; m < METRIC__MAX; m++) {
		printf("# HELP %s %s\n# TYPE %s counter\n", metrics[m].name,
		    metrics[m].help, metrics[m].name);
		for (size_t i = 0; i < l->n; i++)
			if (line_is_of(&l->v[i], &metrics[m]))
				printf("%s %" PRIu64 "\n", l->v[i].name, l->v[i].value);
	}
	printf(
	    "# HELP locus_daemons_standby Daemons of this machine that wait for a lease that another machine has, or are drained.\n"
	    "# TYPE locus_daemons_standby gauge\nlocus_daemons_standby %zu\n",
	    nstandbys);
}

static void
metrics_print_json(const struct metric_lines *l, size_t nstandbys)
{
	json_t *o = json_object();

	for (size_t i = 0; i < l->n; i++)
		json_object_set_new(
		    o, l->v[i].name, json_integer((json_int_t)l->v[i].value));
	json_object_set_new(
	    o, "locus_daemons_standby", json_integer((json_int_t)nstandbys));
	json_show(o);
}

static enum err
metrics_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct metric_lines l = { .a = x->a };
	struct trouble *standbys;
	size_t nstandbys;
	enum err e = ctx_conf(x);

	(void)opts, (void)args, (void)n;
	if (e == OK)
		e = counters_read(x->a,
		    arena_printf(x->a, "%s/" COUNTERS_FILE, x->cf->run_dir),
		    metrics_add_line, &l, x->f);
	if (e == E_NOTFOUND)
		return ctx_not_found(x,
		    "there are no counters yet: no scheduler of this machine has served a request");
	if (e != OK)
		return e;
	standby_list(x->a, x->cf, &standbys, &nstandbys);
	if (x->json)
		metrics_print_json(&l, nstandbys);
	else
		metrics_print_text(&l, nstandbys);
	return OK;
}

const struct cmd cmd_metrics = { .name = "metrics",
	.args = "",
	.purpose = "print the schedulers' counters",
	.about =
	    "Prints the counters of this machine's schedulers since run_dir/counters was created,\n"
	    "in the text format of Prometheus: requests served and refused, jobs sent, and for\n"
	    "each reason how many requests got no work because of it and how many jobs were left\n"
	    "out. The codes of reasons are those of the log and of explain. Needs no database;\n"
	    "remove the file to start again from 0.",
	.run = metrics_run };

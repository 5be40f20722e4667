/* SPDX-License-Identifier: Apache-2.0 */
/* locus metrics: what the schedulers of this machine counted, in Prometheus' text
 * format. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "lib/counters.h"
#include "model/metrics.h"
#include "tools/cmd.h"
#include "tools/json.h"
#include "lib/banned.h"

struct line {
	const char *name;
	uint64_t value;
};
struct lines {
	struct arena *a;
	struct line *v;
	size_t n, cap;
};

static void
take(void *ctx, const char *name, uint64_t value)
{
	struct lines *l = ctx;

	PUSH(l->a, l->v, l->n, l->cap) = (struct line){ name, value };
}

static bool
is_of(const struct line *l, const struct metric_text *m)
{
	size_t n = strlen(m->name);

	return strncmp(l->name, m->name, n) == 0 && l->name[n] == '{';
}

static void
print_text(const struct lines *l)
{
	for (size_t m = 0; m < METRIC__MAX; m++) {
		printf("# HELP %s %s\n# TYPE %s counter\n", metrics[m].name,
		    metrics[m].help, metrics[m].name);
		for (size_t i = 0; i < l->n; i++)
			if (is_of(&l->v[i], &metrics[m]))
				printf("%s %" PRIu64 "\n", l->v[i].name, l->v[i].value);
	}
}

static void
print_json(const struct lines *l)
{
	json_t *o = json_object();

	for (size_t i = 0; i < l->n; i++)
		json_object_set_new(
		    o, l->v[i].name, json_integer((json_int_t)l->v[i].value));
	json_show(o);
}

static enum err
metrics_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct lines l = { .a = x->a };
	enum err e = ctx_conf(x);

	(void)opts, (void)args, (void)n;
	if (e == OK)
		e = counters_read(x->a,
		    arena_printf(x->a, "%s/" COUNTERS_FILE, x->cf->run_dir), take, &l,
		    x->f);
	if (e == E_NOTFOUND)
		return ctx_nothing(
		    x, "no scheduler of this machine has counted anything yet");
	if (e != OK)
		return e;
	if (x->json)
		print_json(&l);
	else
		print_text(&l);
	return OK;
}

const struct cmd cmd_metrics = { .name = "metrics",
	.args = "",
	.purpose = "what the schedulers counted",
	.about =
	    "Prints what the schedulers of this machine have counted since run_dir/counters was made, in the text format of Prometheus: requests served and refused, jobs sent, and for each reason how many requests got no work for it and how many jobs were left out. The codes of reasons are those of the log and of explain. Needs no database; remove the file to begin at 0.",
	.run = metrics_run };

/* SPDX-License-Identifier: Apache-2.0 */
/* locus metrics: what /NAME_ops/metrics shows, measured now. */
#include <stdio.h>
#include "config.h"
#include "db/gauges.h"
#include "db/schema.h"
#include "lib/clock.h"
#include "rules/daemon/daemon_rules.h"
#include "rules/sched/large.h"
#include "tools/cmd.h"
#include "tools/print/print.h"
#include "lib/banned.h"

static void
show_metrics(struct cmd_ctx *x, const struct metric_set *s)
{
	struct print *p = print_tree(x, PRINT_OBJECT);

	for (size_t i = 0; i < s->n; i++) {
		double v = s->v[i].value;
		bool whole = v == (double)(int64_t)v;

		print_put(p, s->v[i].series,
		    whole ? print_of_number((int64_t)v) : print_of_real(v));
	}
	print_end(p);
}

/* Figures that cannot be counted are missing; locus_database_up is 0 if no database
 * answers. */
static void
put_figures(struct cmd_ctx *x, struct metric_set *s)
{
	struct metric_set counted = { .a = x->a };
	enum err e = ctx_db(x);

	if (e == OK)
		e = gauges_put(&counted,
		    &(const struct gauge_source){ .db = x->db,
			.conf = x->cf,
			.now = clock_now(),
			.file_state = fileset_state,
			.suspicion = host_suspicion },
		    x->f);
	metric_put_one(s, METRIC_DATABASE_UP, gauges_database_up(x->db, e), "");
	if (e != OK)
		return;
	metric_put_one(s, METRIC_FIGURES_AGE, 0, "");
	metric_join(s, &counted);
}

static enum err
metrics_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct metric_set s = { .a = x->a };
	struct buf b = buf_new(x->a);

	(void)opts, (void)args, (void)n;
	TRY(ctx_conf(x));
	metric_put_machine(&s, x->cf, PACKAGE_VERSION, SCHEMA_VERSION);
	put_figures(x, &s);
	if (x->format != FORMAT_TABLE) {
		show_metrics(x, &s);
		return OK;
	}
	buf_puts(&b, "");
	metric_render(&b, &s);
	fwrite(b.p, 1, b.n, stdout);
	return OK;
}

const struct cmd cmd_metrics = { .name = "metrics",
	.args = "",
	.purpose = "print the project's metrics",
	.about =
	    "Prints what Prometheus reads at /NAME_ops/metrics, in its text format: requests by\n"
	    "outcome and time, jobs by state, each daemon's last pass, backlog and its age,\n"
	    "services that run, disks, database, uploads, bytes sent and saved. locus-monitoring(7)\n"
	    "lists them. Counters are those of this machine since run_dir/counters was created;\n"
	    "remove the file to start again from 0. Without a database only its figures are\n"
	    "missing. Codes of reasons are those of the log and of explain.",
	.tree = true,
	.run = metrics_run };

/* SPDX-License-Identifier: Apache-2.0 */
/* locus host log: the logs that a client sent about itself at the project's request. */
#include <inttypes.h>
#include <stdio.h>
#include "db/entity.h"
#include "db/stmts.h"
#include "lib/text.h"
#include "tools/cmd.h"
#include "lib/banned.h"

struct log_opts {
	bool jobs;
};

static const struct opt log_options[] = {
	{ "jobs", OPT_FLAG, offsetof(struct log_opts, jobs), NULL,
	    "Prints the log of finished tasks instead." },
	{ 0 },
};

static enum err
host_log_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct log_opts *o = opts;
	int64_t id;
	struct row_text *row = NULL;
	enum err e;

	(void)n;
	if (!text_i64(args[0], 1, INT64_MAX, &id))
		return ctx_usage(x, "\"%.60s\" is not a host id", args[0]);
	e = ctx_db(x);
	if (e == OK)
		e = db_row(x->db, x->a, x->f, &row, HOST_LOG, .hostid = id,
		    .kind = o->jobs ? LOG_JOBS : LOG_TIME_STATS);
	if (e == E_NOTFOUND)
		return ctx_not_found(x,
		    "there is no such log for host %" PRId64
		    "; the option %s asks clients for it",
		    id, o->jobs ? "request_job_log" : "request_time_stats_log");
	if (e == OK)
		fputs(row->s, stdout);
	return e;
}

const struct cmd cmd_host_log = { .name = "host log",
	.args = "ID",
	.min_args = 1,
	.max_args = 1,
	.purpose = "print a client's own log",
	.about =
	    "Prints the client's log of when it was on, connected and active, as the client sent\n"
	    "it.",
	.opts = log_options,
	.opts_size = sizeof(struct log_opts),
	.run = host_log_run };

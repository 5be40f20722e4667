/* SPDX-License-Identifier: Apache-2.0 */
/* locus explain host and explain decision: why a host got what it got, from the traces
 * of its requests. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "lib/clock.h"
#include "lib/text.h"
#include "tools/cmd.h"
#include "tools/human.h"
#include "tools/print/print.h"
#include "tools/traces.h"
#include "lib/banned.h"

enum { RPC_DIGITS = 8 };

struct explain_opts {
	const char *at;
	bool list;
};

static const struct opt explain_options[] = {
	{ "at", OPT_TEXT, offsetof(struct explain_opts, at), "RPC",
	    "Explains this request instead of the last one: the eight digits that the log shows as rpc=, or the request's number." },
	{ "list", OPT_FLAG, offsetof(struct explain_opts, list), NULL,
	    "Lists all requests on record, one per line." },
	{ 0 },
};

static bool
is_rpc(const char *s)
{
	return strlen(s) == RPC_DIGITS && strspn(s, "0123456789abcdef") == RPC_DIGITS;
}

/* Returns the newest record that matches, or NULL. */
static const struct trace *
record_find(struct cmd_ctx *x, struct trace **v, size_t n, const char *at)
{
	int64_t seqno;
	bool number = at != NULL && text_i64(at, 0, INT64_MAX, &seqno);

	while (n-- > 0) {
		if (at == NULL || (number && v[n]->rpc.seqno == seqno))
			return v[n];
		if (is_rpc(at) && strcmp(trace_rpc_number(x->a, v[n]), at) == 0)
			return v[n];
	}
	return NULL;
}

static void
show_records(struct cmd_ctx *x, struct trace **v, size_t n)
{
	struct print *p = print_tree(x, PRINT_ARRAY);
	char at[21];

	for (size_t i = 0; i < n; i++) {
		const struct trace_rpc *rpc = &v[i]->rpc;
		const struct trace_decision *d = &v[i]->decision;

		print_open(p, NULL, PRINT_OBJECT);
		trace_members(p, v[i]);
		print_close(p);
		print_aligned(p, "llrrll", clock_text(rpc->at, at),
		    trace_rpc_number(x->a, v[i]), rpc->seqno,
		    arena_printf(x->a, "%lld sent", (long long)d->sends),
		    rpc->refused[0] != '\0' ? rpc->refused : d->why,
		    d->work_wanted ? "" : "no work requested");
	}
	print_end(p);
}

static enum err
explain_host_run(struct cmd_ctx *x, const void *opts, char **args, size_t nargs)
{
	const struct explain_opts *o = opts;
	const struct trace *r;
	struct trace **v;
	int64_t id, seqno;
	size_t n;

	(void)nargs;
	if (!text_i64(args[0], 1, INT64_MAX, &id))
		return ctx_usage(x, "\"%.60s\" is not the id of a host", args[0]);
	if (o->at != NULL && !is_rpc(o->at) && !text_i64(o->at, 0, INT64_MAX, &seqno))
		return ctx_usage(x,
		    "--at %.60s: must be eight hexadecimal digits or a number", o->at);
	TRY(ctx_conf(x));
	TRY(traces_of_host(x, id, &v, &n));
	r = record_find(x, v, n, o->at);
	if (r == NULL)
		return ctx_not_found(x,
		    "no matching decision about host %" PRId64
		    " is on record on this machine, among %zu; see decision_rings and decision_ring_bytes in config.xml(5)",
		    id, n);
	if (o->list)
		show_records(x, v, n);
	else
		trace_show(x, r, clock_now());
	return OK;
}

static enum err
explain_decision_run(struct cmd_ctx *x, const void *opts, char **args, size_t nargs)
{
	struct trace **v;
	size_t n;

	(void)opts, (void)nargs;
	if (!is_rpc(args[0]))
		return ctx_usage(
		    x, "\"%.60s\" is not eight hexadecimal digits", args[0]);
	TRY(ctx_conf(x));
	TRY(traces_of_rpc(x, args[0], &v, &n));
	if (n == 0)
		return ctx_not_found(x,
		    "decision %s is not on record on this machine; see decision_rings and decision_ring_bytes in config.xml(5)",
		    args[0]);
	trace_show(x, v[n - 1], clock_now());
	return OK;
}

const struct cmd cmd_explain_host = { .name = "explain host",
	.args = "ID",
	.min_args = 1,
	.max_args = 1,
	.purpose = "why a host got what it got",
	.about =
	    "Shows what the host's last request asked for, by which queries its candidates were\n"
	    "read and why each query was made, which jobs were considered, and how many each\n"
	    "reason removed. The decisive reason is marked; its code is the one used in the log\n"
	    "and by -o json, and its text the one shown to the volunteer.\n"
	    "\n"
	    "Reads the traces of this machine's schedulers (run_dir/decisions); needs no\n"
	    "database.",
	.opts = explain_options,
	.opts_size = sizeof(struct explain_opts),
	.tree = true,
	.run = explain_host_run };

const struct cmd cmd_explain_decision = { .name = "explain decision",
	.args = "NUMBER",
	.min_args = 1,
	.max_args = 1,
	.purpose = "explain a decision by its number",
	.about =
	    "A client that wanted work and got none shows the number of the decision among its\n"
	    "messages, as in \"Decision 81f3aa02: DISK\"; the log shows it as rpc=. Explains that\n"
	    "decision like explain host, without naming a host.",
	.tree = true,
	.run = explain_decision_run };

/* SPDX-License-Identifier: Apache-2.0 */
/* locus explain host: why a host got what it got, from the traces of its requests. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/clock.h"
#include "lib/text.h"
#include "tools/cmd.h"
#include "tools/human.h"
#include "tools/json.h"
#include "tools/traces.h"
#include "tools/table.h"
#include "lib/banned.h"

enum { RPC_DIGITS = 8 };

struct explain_opts {
	const char *at;
	bool list;
};

static const struct opt explain_options[] = {
	{ "at", OPT_TEXT, offsetof(struct explain_opts, at), "RPC",
	    "This request instead of the last one: what the log shows as rpc= (eight digits), or the request's number." },
	{ "list", OPT_FLAG, offsetof(struct explain_opts, list), NULL,
	    "All requests that are kept, a line for each." },
	{ 0 },
};

static bool
is_rpc(const char *s)
{
	return strlen(s) == RPC_DIGITS && strspn(s, "0123456789abcdef") == RPC_DIGITS;
}

/* The newest that fits; NULL if there is none. */
static const struct trace *
chosen(struct cmd_ctx *x, struct trace **v, size_t n, const char *at)
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
print_list(struct cmd_ctx *x, struct trace **v, size_t n)
{
	struct table t = table_new(x->a, "llrrll");
	char at[21];

	for (size_t i = 0; i < n; i++) {
		const struct trace_decision *d = &v[i]->decision;

		table_put(&t, clock_text(v[i]->rpc.at, at));
		table_put(&t, trace_rpc_number(x->a, v[i]));
		table_printf(&t, "%lld", (long long)v[i]->rpc.seqno);
		table_printf(&t, "%lld sent", (long long)d->sends);
		table_put(
		    &t, v[i]->rpc.refused[0] != '\0' ? v[i]->rpc.refused : d->why);
		table_put(&t, d->work_wanted ? "" : "no work asked for");
	}
	table_print(&t);
}

static void
list(struct cmd_ctx *x, struct trace **v, size_t n)
{
	json_t *all;

	if (!x->json) {
		print_list(x, v, n);
		return;
	}
	all = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(all, trace_json(v[i]));
	json_show(all);
}

static void
show(struct cmd_ctx *x, const struct trace *r)
{
	if (x->json)
		json_show(trace_json(r));
	else
		trace_print(x, r, clock_now());
}

static enum err
explain_run(struct cmd_ctx *x, const void *opts, char **args, size_t nargs)
{
	const struct explain_opts *o = opts;
	const struct trace *r;
	struct trace **v;
	int64_t id, seqno;
	size_t n;
	enum err e;

	(void)nargs;
	if (!text_i64(args[0], 1, INT64_MAX, &id))
		return ctx_usage(x, "\"%.60s\" is not the id of a host", args[0]);
	if (o->at != NULL && !is_rpc(o->at) && !text_i64(o->at, 0, INT64_MAX, &seqno))
		return ctx_usage(x,
		    "--at %.60s: it must be eight hexadecimal digits, or a number",
		    o->at);
	e = ctx_conf(x);
	if (e == OK)
		e = traces_of_host(x, id, &v, &n);
	if (e != OK)
		return e;
	r = chosen(x, v, n, o->at);
	if (r == NULL)
		return ctx_nothing(x,
		    "no such decision about host %" PRId64
		    " is kept on this machine, of %zu that are; see decision_rings and decision_ring_bytes in config.xml(5)",
		    id, n);
	if (o->list)
		list(x, v, n);
	else
		show(x, r);
	return OK;
}

static enum err
decision_run(struct cmd_ctx *x, const void *opts, char **args, size_t nargs)
{
	struct trace **v;
	size_t n;
	enum err e;

	(void)opts, (void)nargs;
	if (!is_rpc(args[0]))
		return ctx_usage(
		    x, "\"%.60s\" is not eight hexadecimal digits", args[0]);
	e = ctx_conf(x);
	if (e == OK)
		e = traces_of_rpc(x, args[0], &v, &n);
	if (e != OK)
		return e;
	if (n == 0)
		return ctx_nothing(x,
		    "decision %s is not kept on this machine; see decision_rings and decision_ring_bytes in config.xml(5)",
		    args[0]);
	show(x, v[n - 1]);
	return OK;
}

const struct cmd cmd_explain_host = { .name = "explain host",
	.args = "ID",
	.min_args = 1,
	.max_args = 1,
	.purpose = "why a host got what it got",
	.about =
	    "Tells what the host's last request asked for, by which queries its candidates were read and why each was made, which jobs were looked at, and how many each reason took away. The decisive reason is marked; its code is the one that the log and -o json have, and its text the one that the volunteer was told.\n\n"
	    "It reads what the schedulers of this machine kept (run_dir/decisions) and needs no database.",
	.opts = explain_options,
	.opts_size = sizeof(struct explain_opts),
	.run = explain_run };

const struct cmd cmd_explain_decision = { .name = "explain decision",
	.args = "NUMBER",
	.min_args = 1,
	.max_args = 1,
	.purpose = "the same by its number",
	.about =
	    "A client that wanted work and got none shows the number of the decision among its messages, as in \"Decision 81f3aa02: DISK\"; the log has it as rpc=. It is explained like explain host does, without a host to be named.",
	.run = decision_run };

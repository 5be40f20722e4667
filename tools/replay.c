/* SPDX-License-Identifier: Apache-2.0 */
/* locus replay: decides a request by today's rules on today's database, or a recording
 * by the rows in it. */
#include "tools/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "proto/trace.h"
#include "proto/reply.h"
#include "proto/request.h"
#include "tools/catalog.h"
#include "tools/print/print.h"
#include "tools/program.h"
#include "tools/traces.h"
#include "lib/banned.h"

enum {
	REPLY_MOST = 256 << 20,
	RECORDING_MOST = 1 << 30,
	TRACE_MOST = 1 << 20,
	RUN_S = 120,
	DIFFERENT = 1
};

static enum err
replay_read_trace(struct cmd_ctx *x, struct replay *r, const char *path)
{
	char *text;
	size_t n;

	TRY(fs_read(x->a, path, TRACE_MOST, &text, &n, x->f));
	return trace_read(x->a, text, n, &r->trace, x->f);
}

/* Runs the scheduler. Its log goes to standard error, which shows its errors. */
static enum err
run_scheduler(
    struct cmd_ctx *x, struct replay *r, const char *program, const char *path)
{
	enum { WORDS = 24 };
	const char *argv[WORDS] = { program, "-1", "-n", "-r", path };
	size_t n = 5;
	int status;

	if (r->config != NULL) {
		argv[n++] = "-c";
		argv[n++] = r->config;
	}
	if (r->offline != NULL) {
		argv[n++] = "-o";
		argv[n++] = r->offline;
	} else {
		argv[n++] = "-p";
		argv[n++] = conf_dir(x->a, x->cf);
		argv[n++] = arena_printf(x->a, "-t%" PRId64, r->at);
		argv[n++] = arena_printf(x->a, "-s%" PRId64, r->seed);
		argv[n++] = arena_printf(x->a, "-H%" PRId64, r->host);
		argv[n++] = arena_printf(x->a, "-j%" PRId64, r->job);
	}
	TRY(proc_run(x->a,
	    &(struct proc_run){ .argv = argv,
		.in = r->request,
		.in_n = r->request_n,
		.out_max = REPLY_MOST,
		.timeout_s = RUN_S },
	    &status, &r->reply, &r->reply_n, x->f));
	if (status != 0)
		return FAIL(x->f, E_SYS, "%s ended with exit code %d", program, status);
	return replay_read_trace(x, r, path);
}

enum err
replay_run(struct cmd_ctx *x, struct replay *r)
{
	const char *program = program_find(x->a, NULL, "scheduler");
	char path[] = "/tmp/locus-replay-XXXXXX";
	struct fail ignored;
	int fd;
	enum err e;

	if (program == NULL)
		return FAIL(x->f, E_CONFIG, "there is no scheduler program");
	fd = mkstemp(path);
	if (fd < 0)
		return FAIL_ERRNO(x->f, "making %s", path);
	close(fd);
	e = run_scheduler(x, r, program, path);
	fs_unlink(path, &ignored);
	return e;
}

struct replay_opts {
	const char *host, *at, *config, *diff;
	int64_t seed;
	bool reply, same, trace;
};

static const struct opt replay_options[] = {
	{ "host", OPT_TEXT, offsetof(struct replay_opts, host), "ID",
	    "Decides for this host, whatever id and key the request has." },
	{ "at", OPT_TEXT, offsetof(struct replay_opts, at), "TIME",
	    "Decides as of this time: seconds since 1970, or 2026-11-20T23:40:57Z; default: now." },
	{ "config", OPT_TEXT, offsetof(struct replay_opts, config), "FILE",
	    "Uses this file instead of config.xml." },
	{ "seed", OPT_NUMBER, offsetof(struct replay_opts, seed), "N",
	    "Random seed, as shown by explain; default: 1." },
	{ "diff", OPT_TEXT, offsetof(struct replay_opts, diff), "REPLY.xml",
	    "Describes the differences from this reply; the exit status is 1 if there are any." },
	{ "reply", OPT_FLAG, offsetof(struct replay_opts, reply), NULL,
	    "Prints the reply itself." },
	{ "trace", OPT_FLAG, offsetof(struct replay_opts, trace), NULL,
	    "Explains the decision before --diff, --reply or --same, too." },
	{ "same", OPT_FLAG, offsetof(struct replay_opts, same), NULL,
	    "For a recording: like --diff with the recorded reply." },
	{ 0 },
};

enum err
replay_time(struct cmd_ctx *x, const char *s, int64_t *at)
{
	struct tm tm = { 0 };
	const char *end;

	if (s == NULL) {
		*at = clock_now();
		return OK;
	}
	if (text_i64(s, 1, INT64_MAX, at))
		return OK;
	end = strptime(s, "%Y-%m-%dT%H:%M:%SZ", &tm);
	if (end == NULL || *end != '\0')
		return ctx_usage(
		    x, "--at %.60s: must be a time such as 2026-11-20T23:40:57Z", s);
	*at = timegm(&tm);
	return OK;
}

/* text: a line for each difference. */
static void
show_differences(struct cmd_ctx *x, char *text, size_t n)
{
	struct print *p = print_tree(x, PRINT_ARRAY);
	char *rest = n == 0 ? NULL : text, *line;

	if (n == 0)
		print_line(p, NULL, "no difference");
	while ((line = strsep(&rest, "\n")) != NULL && rest != NULL) {
		print_put(p, NULL, line);
		print_line(p, NULL, "%s", line);
	}
	print_end(p);
}

static enum err
compare_replies(struct cmd_ctx *x, const struct replay *r, char *text, size_t text_n)
{
	struct buf b = buf_new(x->a);
	struct reply *old, *new;
	size_t n;

	TRY(reply_parse(x->a, text, text_n, &old, x->f));
	TRY(reply_parse(x->a, r->reply, r->reply_n, &new, x->f));
	n = reply_differences(x->a, old, new, &b);
	if (n == 0 && (text_n != r->reply_n || memcmp(text, r->reply, text_n) != 0)) {
		buf_puts(&b,
		    "the bytes differ, but the meaning of what is compared does not\n");
		n = 1;
	}
	show_differences(x, b.p, n);
	x->status = n == 0 ? 0 : DIFFERENT;
	return OK;
}

/* Prints the differences from the reply of --diff or of the recording, or the reply, or
 * else the decision. */
static enum err
show_outcome(struct cmd_ctx *x, const struct replay_opts *o, const struct replay *r,
    const struct trace *recording)
{
	char *text;
	size_t n;

	if (o->trace && (o->diff != NULL || o->reply || o->same))
		trace_show(x, r->trace, r->trace->rpc.at);
	if (o->diff != NULL) {
		TRY(fs_read(x->a, o->diff, REPLY_MOST, &text, &n, x->f));
		return compare_replies(x, r, text, n);
	}
	if (o->reply) {
		fwrite(r->reply, 1, r->reply_n, stdout);
		return OK;
	}
	if (o->same && recording != NULL) {
		text = trace_text(recording, "reply", &n);
		return text == NULL ? FAIL(x->f, E_BADREQ, "it holds no reply") :
		                      compare_replies(x, r, text, n);
	}
	trace_show(x, r->trace, r->trace->rpc.at);
	return OK;
}

/* Reports input that is not a request before the scheduler would refuse it, unless its
 * reply is wanted all the same. */
static enum err
check_request(struct cmd_ctx *x, const struct replay_opts *o, const struct replay *r,
    const char *path)
{
	struct request *ignored;
	struct fail why = { 0 };
	char *text = arena_memdup(x->a, r->request, r->request_n);

	if (o->reply || o->diff != NULL ||
	    request_parse(x->a, text, r->request_n, &ignored, &why) == OK)
		return OK;
	return FAIL(
	    x->f, E_BADREQ, "%s is not a client's request: %s", path, why.detail);
}

/* Reads a request or a recording. */
static enum err
read_input(struct cmd_ctx *x, struct replay *r, char *path, struct trace **recording)
{
	char *text;

	TRY(fs_read(x->a, path, RECORDING_MOST, &text, &r->request_n, x->f));
	r->request = text;
	if (!trace_is(text, r->request_n))
		return ctx_conf(x);
	r->offline = path;
	text = arena_memdup(x->a, text, r->request_n);
	return trace_read(x->a, text, r->request_n, recording, x->f);
}

/* Checks that the options fit the kind of input. */
static enum err
replay_check_options(struct cmd_ctx *x, const struct replay_opts *o, bool recorded)
{
	if (recorded && (o->host != NULL || o->at != NULL || o->seed != 0))
		return ctx_usage(x, "a recording has its own host, time and seed");
	if (!recorded && o->same)
		return ctx_usage(x, "--same is only for recordings");
	return OK;
}

static enum err
replay_cmd(struct cmd_ctx *x, const void *opts, char **args, size_t nargs)
{
	const struct replay_opts *o = opts;
	struct replay r = { .config = o->config, .seed = o->seed == 0 ? 1 : o->seed };
	struct trace *recording = NULL;
	struct host *host;

	(void)nargs;
	if (o->host != NULL && !text_i64(o->host, 1, INT64_MAX, &r.host))
		return ctx_usage(x, "\"%.60s\" is not the id of a host", o->host);
	TRY(replay_time(x, o->at, &r.at));
	TRY(read_input(x, &r, args[0], &recording));
	TRY(replay_check_options(x, o, recording != NULL));
	if (recording == NULL)
		TRY(check_request(x, o, &r, args[0]));
	if (r.host != 0) {
		TRY(ctx_db(x));
		TRY(tools_host(x, r.host, &host));
	}
	TRY(replay_run(x, &r));
	return show_outcome(x, o, &r, recording);
}

const struct cmd cmd_replay = { .name = "replay",
	.args = "REQUEST.xml|RECORDING",
	.min_args = 1,
	.max_args = 1,
	.purpose = "show how a request would be answered now",
	.about =
	    "Decides the request by the project's rules, configuration and rows, and explains the\n"
	    "decision like explain host; debug_req_reply_dir keeps requests and replies. Nothing is\n"
	    "written: the database refuses writes, generators get no requests for work, and there\n"
	    "is no waiting.\n"
	    "\n"
	    "A file made by record host is decided by the rows that it holds instead, and by its\n"
	    "configuration unless --config gives another one; the reply is then identical to the\n"
	    "byte. It needs neither the project nor its database.",
	.details =
	    "While the rows are unchanged and --at is given, the decision is always the same. A new\n"
	    "host has the id 0.",
	.opts = replay_options,
	.opts_size = sizeof(struct replay_opts),
	.tree = true,
	.run = replay_cmd };

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
#include "model/decision.h"
#include "proto/reply.h"
#include "proto/request.h"
#include "proto/trace.h"
#include "tools/catalog.h"
#include "tools/print/print.h"
#include "tools/program.h"
#include "tools/traces.h"
#include "lib/banned.h"

/* Compares two replies by what they mean to the client. */

struct diff {
	struct buf *b;
	size_t n;
};

static void diff_only(struct diff *d, const char *what, const char *name, bool first)
{
	buf_printf(d->b, "%s %s: only in the %s reply\n", what, name,
	    first ? "first" : "second");
	d->n++;
}

static size_t count_name(char *const *v, size_t n, const char *name)
{
	size_t times = 0;

	for (size_t i = 0; i < n; i++)
		times += strcmp(v[i], name) == 0;
	return times;
}

static void diff_names(struct diff *d, const char *what, char *const *a, size_t na,
    char *const *b, size_t nb)
{
	for (size_t i = 0; i < na; i++)
		if (count_name(b, nb, a[i]) < count_name(a, na, a[i]))
			diff_only(d, what, a[i], true);
	for (size_t i = 0; i < nb; i++)
		if (count_name(a, na, b[i]) < count_name(b, nb, b[i]))
			diff_only(d, what, b[i], false);
}

static void diff_number(struct diff *d, const char *what, double a, double b)
{
	if (a == b)
		return;
	buf_printf(
	    d->b, "%s: %.15g in the first reply, %.15g in the second\n", what, a, b);
	d->n++;
}

static void diff_text(struct diff *d, const char *what, const char *a, const char *b)
{
	if (a == b || (a != NULL && b != NULL && strcmp(a, b) == 0))
		return;
	if (a == NULL || b == NULL)
		buf_printf(d->b, "%s: only in the %s reply\n", what,
		    a != NULL ? "first" : "second");
	else
		buf_printf(d->b,
		    "%s: \"%.200s\" in the first reply, \"%.200s\" in the second\n",
		    what, a, b);
	d->n++;
}

static const struct rp_result *find_task(const struct reply *r, const char *name)
{
	for (size_t i = 0; i < r->nresults; i++)
		if (strcmp(r->results[i].name, name) == 0)
			return &r->results[i];
	return NULL;
}

static void diff_tasks(
    struct arena *a, struct diff *d, const struct reply *x, const struct reply *y)
{
	for (size_t i = 0; i < x->nresults; i++) {
		const struct rp_result *p = &x->results[i], *q = find_task(y, p->name);
		const char *of = arena_printf(a, "of task %s", p->name);

		if (q == NULL) {
			diff_only(d, "task", p->name, true);
			continue;
		}
		diff_number(d, arena_printf(a, "version %s", of), p->version_num,
		    q->version_num);
		diff_number(d, arena_printf(a, "deadline %s", of), p->report_deadline,
		    q->report_deadline);
		diff_text(d, arena_printf(a, "plan class %s", of), p->plan_class,
		    q->plan_class);
		diff_text(
		    d, arena_printf(a, "platform %s", of), p->platform, q->platform);
	}
	for (size_t i = 0; i < y->nresults; i++)
		if (find_task(x, y->results[i].name) == NULL)
			diff_only(d, "task", y->results[i].name, false);
}

/*
 * Lists the messages. Leaves out the number of the decision, which differs every time.
 */
static char **message_lines(struct arena *a, const struct reply *r, size_t *n)
{
	char **v = NEWN(a, char *, r->nmessages + 1);

	*n = 0;
	for (size_t i = 0; i < r->nmessages; i++) {
		const struct rp_message *m = &r->messages[i];

		if (strncmp(m->text, DECISION_MESSAGE, strlen(DECISION_MESSAGE)) != 0)
			v[(*n)++] = arena_printf(
			    a, "(%s) \"%s\"", m->priority, m->text);
	}
	return v;
}

static char **version_lines(struct arena *a, const struct reply *r)
{
	char **v = NEWN(a, char *, r->napp_versions + 1);

	for (size_t i = 0; i < r->napp_versions; i++) {
		const struct rp_app_version *p = &r->app_versions[i];

		v[i] = arena_printf(a, "%s %d %s %s at %.6g FLOPS", p->app_name,
		    p->version_num, p->platform, p->plan_class, p->flops);
	}
	return v;
}

/* Describes the differences of the second reply from the first, one per line; returns
 * the number of lines. */
static size_t reply_differences(
    struct arena *a, const struct reply *x, const struct reply *y, struct buf *b)
{
	struct diff d = { .b = b };
	size_t nu, nv;
	char **u, **v;

	diff_number(&d, "host id", (double)x->hostid, (double)y->hostid);
	diff_number(&d, "account", (double)x->userid, (double)y->userid);
	diff_number(&d, "request delay in s", x->request_delay, y->request_delay);
	diff_number(&d, "next contact in s", x->next_rpc_delay, y->next_rpc_delay);
	diff_number(&d, "project is down", x->project_is_down, y->project_is_down);
	diff_number(&d, "full workload requested", x->send_full_workload,
	    y->send_full_workload);
	diff_tasks(a, &d, x, y);
	diff_names(&d, "app version", version_lines(a, x), x->napp_versions,
	    version_lines(a, y), y->napp_versions);
	u = message_lines(a, x, &nu);
	v = message_lines(a, y, &nv);
	diff_names(&d, "message", u, nu, v, nv);
	diff_names(&d, "acknowledgement of", x->acks, x->nacks, y->acks, y->nacks);
	diff_names(&d, "abort of", x->aborts, x->naborts, y->aborts, y->naborts);
	diff_names(&d, "abort, if not started, of", x->aborts_if_not_started,
	    x->naborts_if_not_started, y->aborts_if_not_started,
	    y->naborts_if_not_started);
	diff_names(&d, "order to delete", x->delete_files, x->ndelete_files,
	    y->delete_files, y->ndelete_files);
	diff_names(&d, "no apps for", x->no_rsc_apps, x->nno_rsc_apps, y->no_rsc_apps,
	    y->nno_rsc_apps);
	diff_text(
	    &d, "project preferences", x->project_preferences, y->project_preferences);
	diff_text(
	    &d, "global preferences", x->global_preferences, y->global_preferences);
	diff_text(&d, "code signing key", x->code_sign_key, y->code_sign_key);
	diff_text(&d, "host venue", x->host_venue, y->host_venue);
	diff_text(&d, "project name", x->project_name, y->project_name);
	diff_text(&d, "user name", x->account.user_name, y->account.user_name);
	return d.n;
}

enum {
	REPLY_MOST = 256 << 20,
	RECORDING_MOST = 1 << 30,
	TRACE_MOST = 1 << 20,
	RUN_S = 120,
	DIFFERENT = 1
};

/* Runs the scheduler. Its log goes to standard error, which shows its errors. */
static enum err run_scheduler(
    struct cmd_ctx *x, struct replay *r, const char *program, const char *path)
{
	enum { WORDS = 24 };
	const char *argv[WORDS] = { program, "-1", "-n", "-r", path };
	struct proc_told told;
	size_t n = 5;
	char *trace;

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
	TRY(proc_collect(x->a,
	    &(struct proc_run){ .argv = argv,
		.in = { PROC_MEMORY, .text = r->request, .n = r->request_n },
		.out = { PROC_PIPE },
		.err = { PROC_OURS } },
	    RUN_S, REPLY_MOST, &told, x->f));
	if (told.status != 0)
		return FAIL(
		    x->f, E_SYS, "%s ended with exit code %d", program, told.status);
	r->reply = told.out;
	r->reply_n = told.out_n;
	TRY(fs_read(x->a, path, TRACE_MOST, &trace, &n, x->f));
	return trace_read(x->a, trace, n, &r->trace, x->f);
}

enum err replay_run(struct cmd_ctx *x, struct replay *r)
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
	int64_t host;
	const char *at, *config, *diff;
	int64_t seed;
	bool reply, same, trace;
};

static const struct field replay_options[] = {
	{ "host", FIELD_OF(struct replay_opts, host), "ID",
	    "Decides for this host, whatever id and key the request has.", .min = 1 },
	{ "at", FIELD_OF(struct replay_opts, at), "TIME",
	    "Decides as of this time: seconds since 1970, or 2026-11-20T23:40:57Z; default: now." },
	{ "config", FIELD_OF(struct replay_opts, config), "FILE",
	    "Uses this file instead of config.xml." },
	{ "seed", FIELD_OF(struct replay_opts, seed), "N",
	    "Random seed, as shown by explain; default: 1." },
	{ "diff", FIELD_OF(struct replay_opts, diff), "REPLY.xml",
	    "Describes the differences from this reply; the exit status is 1 if there are any." },
	{ "reply", FIELD_OF(struct replay_opts, reply), NULL,
	    "Prints the reply itself." },
	{ "trace", FIELD_OF(struct replay_opts, trace), NULL,
	    "Explains the decision before --diff, --reply or --same, too." },
	{ "same", FIELD_OF(struct replay_opts, same), NULL,
	    "For a recording: like --diff with the recorded reply." },
	{ 0 },
};

enum err replay_time(struct cmd_ctx *x, const char *s, int64_t *at)
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

static enum err compare_replies(
    struct cmd_ctx *x, const struct replay *r, char *text, size_t text_n)
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
	/* A line for each difference. */
	struct print *p = print_tree(x, PRINT_ARRAY);
	char *rest = n == 0 ? NULL : b.p, *line;

	if (n == 0)
		print_line(p, NULL, "no difference");
	while ((line = strsep(&rest, "\n")) != NULL && rest != NULL) {
		print_put(p, NULL, line);
		print_line(p, NULL, "%s", line);
	}
	print_end(p);
	x->status = n == 0 ? 0 : DIFFERENT;
	return OK;
}

/* Prints the differences from the reply of --diff or of the recording, or the reply, or
 * else the decision. */
static enum err show_outcome(struct cmd_ctx *x, const struct replay_opts *o,
    const struct replay *r, const struct trace *recording)
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
static enum err check_request(struct cmd_ctx *x, const struct replay_opts *o,
    const struct replay *r, const char *path)
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
static enum err read_input(
    struct cmd_ctx *x, struct replay *r, char *path, struct trace **recording)
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

static enum err replay_cmd(
    struct cmd_ctx *x, const void *opts, char **args, size_t nargs)
{
	const struct replay_opts *o = opts;
	struct replay r = {
		.config = o->config, .host = o->host, .seed = o->seed == 0 ? 1 : o->seed
	};
	struct trace *recording = NULL;
	struct host *host;

	(void)nargs;
	TRY(replay_time(x, o->at, &r.at));
	TRY(read_input(x, &r, args[0], &recording));
	if (recording != NULL && (o->host != 0 || o->at != NULL || o->seed != 0))
		return ctx_usage(x, "a recording has its own host, time and seed");
	if (recording == NULL && o->same)
		return ctx_usage(x, "--same is only for recordings");
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

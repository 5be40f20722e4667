/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler program: FastCGI on descriptor 0, or one request from standard input
 * (-1).  Process lifetime is in struct project; one request is sched/rpc.h.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "config.h"
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "proto/record.h"
#include "sched/copies.h"
#include "sched/fcgi.h"
#include "sched/keep.h"
#include "sched/project.h"
#include "sched/rpc.h"
#include "lib/banned.h"

struct options {
	const char *project;
	bool once;
	int64_t now;   /* 0 = the clock's */
	uint64_t seed; /* 0 = random */
	bool dry;
	int64_t host, job;                     /* dry: 0 = the request's; 0 = all */
	const char *config, *record, *offline; /* dry: files, NULL = none */
};

/* Looks at the files of the project, once for each request. */
static struct fcgi_terms
terms(void *ctx)
{
	struct project *p = ctx;

	p->trouble = (struct fail){ 0 };
	project_configure(p, &p->trouble);
	return (struct fcgi_terms){ .body_max = (size_t)p->conf->max_request_bytes,
		.proxies = p->conf->trusted_proxies };
}

/* A reply in place of the RPC; the reason goes to the log. */
static void
turn_away(struct project *p, struct rpc *x, enum situation s, const struct fail *f)
{
	x->out = buf_new(x->a);
	x->refused = s;
	refuse_render(&x->out, p->conf, NULL, s, f == NULL ? "" : f->detail);
	if (f != NULL)
		log_fail("request turned away", f);
	else
		log_info("request turned away: %s", refuse_name(s));
	if (s != REFUSE_NO_CONFIG && !x->dry) /* else there is no place known */
		counts_keep(&p->counts, x);
}

/*
 * One request into one reply.  What must be there for an RPC is looked at first,
 * cheapest first.
 */
static void
serve(struct project *p, struct rpc *x)
{
	struct fail f = { 0 };
	enum err e;

	x->conf = p->conf;
	if (!p->usable) {
		turn_away(p, x, REFUSE_NO_CONFIG, &p->trouble);
		return;
	}
	if (project_stopped(p)) {
		turn_away(p, x, REFUSE_STOPPED, NULL);
		return;
	}
	e = project_connect(p, x->now, &f);
	if (e != OK) {
		turn_away(p, x, refuse_error(e, true), &f);
		return;
	}
	x->db = p->db;
	x->cat = p->cat;
	x->keys = &p->keys;
	x->texts = project_texts(p);
	x->hot = &p->hot;
	x->drawn_at = &p->drawn_at;
	rpc_run(x);
	if (!x->dry) {
		rings_keep(&p->rings, x);
		counts_keep(&p->counts, x);
	}
	keep_write(x);
}

static uint64_t
random_seed(void)
{
	uint64_t seed;

	random_bytes(&seed, sizeof(seed));
	return seed;
}

static void
handle(void *ctx, const struct fcgi_request *rq, struct fcgi_reply *rp)
{
	struct project *p = ctx;
	struct rpc x = { .a = rq->a,
		.peer = rq->peer,
		.in = rq->body,
		.in_n = rq->body_n,
		.now = clock_now(),
		.seed = random_seed() };

	if (rq->too_large) {
		rp->status = "413 Request Entity Too Large";
		x.conf = p->conf;
		turn_away(p, &x, REFUSE_TOO_LARGE, NULL);
	} else {
		serve(p, &x);
	}
	copies_keep(&p->copies, &x);
	/* A project that is down answers in plain text, as upstream's does
	 * (wire.md 2.10).
	 */
	rp->type = refuse_is_down(x.refused) ? "text/plain" : "text/xml";
	rp->body = x.out;
}

/* Standard input up to the cap; E_BADREQ beyond. */
static enum err
read_stdin(struct arena *a, size_t max, char **p, size_t *n, struct fail *f)
{
	struct buf b = buf_new(a);
	char chunk[8192];
	ssize_t got;

	while ((got = read(STDIN_FILENO, chunk, sizeof(chunk))) > 0) {
		buf_put(&b, chunk, (size_t)got);
		if (b.n > max)
			return FAIL(
			    f, E_BADREQ, "standard input is over %zu bytes", max);
	}
	if (got < 0)
		return FAIL_ERRNO(f, "standard input");
	*p = b.p;
	*n = b.n;
	return OK;
}

static enum err
write_record(struct rpc *x, const char *path, struct fail *f)
{
	struct buf b = buf_new(x->a);

	record_put(&b, rings_record(x));
	return fs_write(path, b.p, b.n, 0600, f);
}

/* One request from standard input; its reply goes to standard output. */
static int
serve_once(struct project *p, const struct options *o)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct rpc x = { .a = &a,
		.peer = "",
		.now = o->now,
		.dry = o->dry,
		.as_host = o->host,
		.only_job = o->job };
	char *in = NULL;
	enum err e;

	if (x.now == 0)
		x.now = clock_now();
	x.seed = o->seed != 0 ? o->seed : random_seed();
	e = project_configure(p, &f);
	if (e == OK)
		e = read_stdin(
		    &a, (size_t)p->conf->max_request_bytes, &in, &x.in_n, &f);
	if (e != OK) {
		fprintf(stderr, "scheduler: %s\n", f.detail);
		return err_exit(e);
	}
	x.in = in;
	serve(p, &x);
	if (!x.dry)
		copies_keep(&p->copies, &x);
	if (o->record != NULL && write_record(&x, o->record, &f) != OK) {
		fprintf(stderr, "scheduler: %s\n", f.detail);
		return err_exit(f.code);
	}
	fwrite(x.out.p, 1, x.out.n, stdout);
	arena_free(&a);
	project_close(p);
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* A recorded request (keep.h); its reply goes to standard output. */
static int
replay_offline(const struct options *o)
{
	struct arena a = { 0 };
	struct rpc x = { .a = &a, .peer = "" };
	struct fail f = { 0 };
	enum err e = keep_replay(&x, o->offline, o->config, &f);

	if (e == OK && o->record != NULL)
		e = write_record(&x, o->record, &f);
	if (e != OK) {
		fprintf(stderr, "scheduler: %s\n", f.detail);
		return err_exit(e);
	}
	fwrite(x.out.p, 1, x.out.n, stdout);
	arena_free(&a);
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static const char usage_text[] =
    "usage: scheduler [--project DIR]\n"
    "       scheduler -1 [-t NOW] [-s SEED] [--project DIR] < request.xml\n"
    "\n"
    "  -1, --once       serve one request from standard input, log to standard error\n"
    "  -t, --time NOW   pretend that it is NOW (seconds since 1970, UTC)\n"
    "  -s, --seed SEED  draw from this seed (the log shows it as rpc=)\n"
    "  -n, --dry-run    with -1: write nothing, wait for nothing\n"
    "  -H, --host ID    with -n: on behalf of this host, whatever key the request has\n"
    "  -j, --job ID     with -n: this result is the only candidate\n"
    "  -c, --config FILE  with -n: instead of config.xml\n"
    "  -o, --offline FILE  with -n: a recorded request, without project and database\n"
    "  -r, --record FILE  with -n: the decision record\n"
    "  -p, --project DIR\n"
    "  -h, --help\n"
    "  -V, --version\n";

static const struct option longopts[] = {
	{ "once", no_argument, NULL, '1' },
	{ "time", required_argument, NULL, 't' },
	{ "seed", required_argument, NULL, 's' },
	{ "dry-run", no_argument, NULL, 'n' },
	{ "host", required_argument, NULL, 'H' },
	{ "job", required_argument, NULL, 'j' },
	{ "config", required_argument, NULL, 'c' },
	{ "record", required_argument, NULL, 'r' },
	{ "offline", required_argument, NULL, 'o' },
	{ "project", required_argument, NULL, 'p' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

/* In base 10, or as 0x81f3aa02. */
static bool
parse_seed(const char *text, uint64_t *seed)
{
	char *end;

	errno = 0;
	*seed = strtoull(text, &end, 0);
	return errno == 0 && text_alnum(*text) && *end == '\0';
}

/* -1: go on; else the exit code. */
static int
parse_options(int argc, char **argv, struct options *o)
{
	bool good = true;
	int c;

	while ((c = getopt_long(argc, argv, "1t:s:nH:j:c:r:o:p:hV", longopts, NULL)) !=
	       -1) {
		switch (c) {
		case '1':
			o->once = true;
			break;
		case 't':
			good &= text_i64(optarg, 0, INT64_MAX, &o->now);
			break;
		case 's':
			good &= parse_seed(optarg, &o->seed);
			break;
		case 'p':
			o->project = optarg;
			break;
		case 'n':
			o->dry = true;
			break;
		case 'H':
			good &= text_i64(optarg, 0, INT64_MAX, &o->host);
			break;
		case 'j':
			good &= text_i64(optarg, 0, INT64_MAX, &o->job);
			break;
		case 'c':
			o->config = optarg;
			break;
		case 'o':
			o->offline = optarg;
			break;
		case 'r':
			o->record = optarg;
			break;
		case 'h':
			fputs(usage_text, stdout);
			return 0;
		case 'V':
			printf("scheduler (%s) %s\n", PACKAGE_NAME, PACKAGE_VERSION);
			return 0;
		default:
			fputs(usage_text, stderr);
			return 2;
		}
	}
	if (!good || optind < argc || (o->dry && !o->once) ||
	    (!o->dry && (o->host != 0 || o->job != 0 || o->config != NULL ||
			    o->record != NULL || o->offline != NULL))) {
		fputs(usage_text, stderr);
		return 2;
	}
	return -1;
}

int
main(int argc, char **argv)
{
	struct options o = { 0 };
	struct project p;
	struct fail f = { 0 };
	int rc = parse_options(argc, argv, &o);

	if (rc >= 0)
		return rc;
	log_open("scheduler", NULL, LOG_INFO);
	if (o.offline != NULL)
		return replay_offline(&o);
	if (project_find(&p, "scheduler", o.project, !o.once, &f) != OK) {
		fprintf(stderr, "scheduler: %s\n", f.detail);
		return err_exit(f.code);
	}
	p.config = o.config;
	p.look = o.dry;
	proc_signals();
	if (o.once)
		return serve_once(&p, &o);
	if (project_configure(&p, &f) != OK)
		log_fail("configuration", &f);
	fcgi_serve(terms, handle, &p);
	project_close(&p);
	return EXIT_SUCCESS;
}

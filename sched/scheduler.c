/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler program: serves FastCGI on a socket (serve.h), or one request from
 * standard input (-1).  Each worker has a struct project; sched/rpc/rpc.h handles one
 * request.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
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
#include "rules/sched/decide.h"
#include "sched/trace/rpc_dump.h"
#include "sched/trace/replay.h"
#include "sched/rpc/host_key.h"
#include "sched/rpc/probe.h"
#include "sched/project.h"
#include "sched/trace/decision_log.h"
#include "sched/rpc/rpc.h"
#include "sched/serve/serve.h"
#include "sched/serve/trial.h"
#include "lib/banned.h"

enum {
	DELAY_MIN_S = 10, /* of busy replies */
	CUT_OFF_S = 60,   /* a client whose requests arrive incomplete */
};

struct options {
	const char *project;
	struct serve_options serve;
	bool once;
	int64_t now;   /* 0 = ask the clock */
	uint64_t seed; /* 0 = random */
	bool dry;
	int64_t host, job; /* dry only; 0 = the request's host; 0 = all jobs */
	const char *config, *trace, *offline; /* dry only; files, NULL = none */
};

struct scheduler {            /* lives as long as the process */
	struct project front; /* of the connection threads; has no database */
	struct project *workers;
	struct decision_log decision_log;
	struct trial trial; /* of requests that may crash the process */
	struct arena a;
};

enum { PLACES = 8 }; /* for what a worker works on at once (suspects.h) */

static struct serve_terms
scheduler_terms(void *ctx)
{
	struct scheduler *s = ctx;
	struct fail f = { 0 };

	project_read_config(&s->front, &f); /* workers log what is wrong with it */
	s->trial.wait_s = (int)s->front.conf->locality_scheduling_wait_period;
	return (struct serve_terms){
		.body_max = (size_t)s->front.conf->max_request_bytes,
		.proxies = s->front.conf->trusted_proxies,
		.delay_min_s = fmax(DELAY_MIN_S, decide_interval_s(s->front.conf)),
	};
}

/* Replies without running the RPC. delay_s 0: as usual. */
static void
turn_away(struct project *p, struct rpc *x, enum situation s, const char *detail,
    double delay_s)
{
	x->out = buf_new(x->a);
	x->refused = s;
	refuse_render(&x->out, p->conf, NULL, s, detail, delay_s);
	log_info("request turned away: %s%s%s", refuse_name(s),
	    detail[0] == '\0' ? "" : ": ", detail);
	if (x->probe)
		probe_answer(x, detail[0] == '\0' ? refuse_name(s) : detail);
	if (s != REFUSE_NO_CONFIG &&
	    !x->dry) /* without it the place of the counts is unknown */
		counts_keep(&p->counts, x);
}

/*
 * Checks the preconditions of an RPC, cheapest first; if one fails, makes the reply and
 * returns false.
 */
static bool
make_ready(struct project *p, struct rpc *x)
{
	struct fail f = { 0 };
	enum err e;

	x->conf = p->conf;
	if (!p->usable) {
		log_fail("request turned away", &p->trouble);
		turn_away(p, x, REFUSE_NO_CONFIG, p->trouble.detail, 0);
		return false;
	}
	if (project_stopped(p)) {
		turn_away(p, x, REFUSE_STOPPED,
		    x->probe ? "stop_sched exists; remove it" : "", 0);
		return false;
	}
	e = project_connect(p, x->now, &f);
	if (e != OK) {
		if (!x->probe)
			log_fail("request turned away", &f);
		turn_away(p, x, refuse_error(e, true), f.detail, 0);
		return false;
	}
	x->db = p->db;
	x->cat = p->cat;
	x->keys = &p->keys;
	x->texts = project_texts(p);
	x->contention = &p->contention;
	x->drawn_at = &p->drawn_at;
	return true;
}

static void
record_outcome(struct project *p, const struct rpc *x)
{
	decision_log_write(p->decision_log, x);
	counts_keep(&p->counts, x);
}

/* Turns one request into one reply. */
static void
serve_request(struct project *p, struct rpc *x)
{
	if (!make_ready(p, x))
		return;
	rpc_run(x);
	if (!x->dry)
		record_outcome(p, x);
	if (x->probe) {
		decision_log_write(p->decision_log, x);
		probe_answer(x, NULL);
	}
}

static uint64_t
random_seed(void)
{
	uint64_t seed;

	random_bytes(&seed, sizeof(seed));
	return seed;
}

/*
 * A project that is down answers in plain text, as the stock server does (protocol.md
 * 2.10).
 */
static void
put_reply(const struct rpc *x, struct fcgi_reply *rp)
{
	rp->type = refuse_is_down(x->refused) ? "text/plain" : "text/xml";
	rp->body = x->out;
}

static struct rpc
scheduler_rpc_of(struct project *p, const struct fcgi_request *rq)
{
	p->trouble = (struct fail){ 0 };
	project_configure(p, &p->trouble);
	return (struct rpc){ .a = rq->a,
		.peer = rq->peer,
		.in = rq->body,
		.in_n = rq->body_n,
		.now = clock_now(),
		.seed = random_seed() };
}

static void
scheduler_answer(void *worker, const struct fcgi_request *rq, struct fcgi_reply *rp)
{
	struct project *p = worker;
	struct rpc x = scheduler_rpc_of(p, rq);

	x.dry = x.probe = p->usable && probe_asked(x.a, p->conf, x.in, x.in_n);
	if (!x.probe) /* a process of its own would not recognise a probe */
		suspects_enter(p->places, x.in, x.in_n);
	serve_request(p, &x);
	if (!x.probe)
		rpc_dump_write(&p->rpc_dump, &x);
	suspects_leave(p->places);
	put_reply(&x, rp);
}

static bool
head_is_refused(struct project *p, struct rpc *x)
{
	if (!make_ready(p, x))
		return true;
	if (rpc_head_passes(x))
		return false;
	record_outcome(p, x);
	return true;
}

/* Refuses a large request whose key belongs to no account, before the rest is read. */
static bool
scheduler_head(void *worker, const struct fcgi_request *rq, struct fcgi_reply *rp)
{
	struct project *p = worker;
	struct rpc x = scheduler_rpc_of(p, rq);
	bool refused;

	suspects_enter(p->places, x.in, x.in_n);
	refused = head_is_refused(p, &x);
	suspects_leave(p->places);
	if (!refused)
		return false;
	rpc_dump_write(&p->rpc_dump, &x);
	put_reply(&x, rp);
	return true;
}

static bool
scheduler_is_apart(void *ctx, const struct fcgi_request *rq)
{
	const struct scheduler *s = ctx;

	return trial_is_due(&s->trial, rq);
}

static enum serve_apart
scheduler_answer_apart(void *ctx, const struct fcgi_request *rq, struct fcgi_reply *rp,
    enum serve_refusal *why)
{
	struct scheduler *s = ctx;

	return trial_serve(&s->trial, rq, rp, why);
}

/*
 * Whatever the reason, clients get a scheduler_reply, and with status 200: of any other
 * they read neither message nor delay.  Other methods are not used by clients.
 */
static void
scheduler_refuse(
    void *ctx, enum serve_refusal why, double delay_s, struct fcgi_reply *rp)
{
	static const struct {
		enum situation s;
		const char *status, *headers, *detail;
	} as[] = {
		[SERVE_BUSY] = { REFUSE_BUSY, NULL, NULL, "" },
		[SERVE_METHOD] = { REFUSE_BAD_REQUEST, "405 Method Not Allowed",
		    "Allow: GET, HEAD, POST\r\n", "it must be sent by POST" },
		[SERVE_TOO_LARGE] = { REFUSE_TOO_LARGE, NULL, NULL, "" },
		[SERVE_CUT_OFF] = { REFUSE_BAD_REQUEST, NULL, NULL, "it ended early" },
		[SERVE_CRASHES] = { REFUSE_CRASHES, NULL, NULL, "" },
	};
	struct scheduler *s = ctx;
	struct project *p = &s->front;
	struct rpc x = { .a = rp->body.a,
		.peer = "",
		.in = "",
		.conf = p->conf,
		.now = clock_now(),
		.seed = random_seed() };

	turn_away(p, &x, as[why].s, as[why].detail,
	    why == SERVE_CUT_OFF ? CUT_OFF_S : delay_s);
	if (why == SERVE_CRASHES)
		trial_report(&s->trial, x.a, p->conf);
	rpc_dump_write(&p->rpc_dump, &x);
	rp->status = as[why].status;
	rp->headers = as[why].headers;
	put_reply(&x, rp);
}

static uint64_t
scheduler_host_key(const struct fcgi_request *rq)
{
	return host_key(rq->body, rq->body_n);
}

static void *
scheduler_worker_begin(void *ctx, int64_t i)
{
	struct scheduler *s = ctx;
	struct project *p = &s->workers[i];
	struct fail f = { 0 };

	/* The main thread has just found the project. */
	if (project_find(p, "scheduler", s->front.dir, true, &f) != OK ||
	    project_configure(p, &f) != OK)
		log_fail("configuration", &f);
	p->decision_log = &s->decision_log;
	p->places = suspects_places(&s->trial.suspects, i, PLACES);
	return p;
}

static void
scheduler_worker_end(void *worker)
{
	project_close(worker);
}

/* Reads standard input, at most max bytes; E_BADREQ if there are more. */
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
write_trace(const struct rpc *x, const char *path, struct fail *f)
{
	struct buf b = buf_new(x->a);

	decision_log_format(&b, x);
	return fs_write(path, b.p, b.n, 0600, f);
}

/* Serves one request from standard input; writes the reply to standard output. */
static int
serve_once(struct project *p, const struct options *o)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct decision_log decision_log;
	struct rpc x = { .a = &a,
		.peer = fcgi_peer(&a, NULL, getenv("REMOTE_ADDR"), 0),
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
	decision_log_begin(&decision_log);
	p->decision_log = &decision_log;
	serve_request(p, &x);
	p->decision_log = NULL;
	decision_log_close(&decision_log);
	if (!x.dry)
		rpc_dump_write(&p->rpc_dump, &x);
	if (o->trace != NULL && write_trace(&x, o->trace, &f) != OK) {
		fprintf(stderr, "scheduler: %s\n", f.detail);
		return err_exit(f.code);
	}
	fwrite(x.out.p, 1, x.out.n, stdout);
	arena_free(&a);
	project_close(p);
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Replays a recorded request (replay.h); writes the reply to standard output. */
static int
replay_offline(const struct options *o)
{
	struct arena a = { 0 };
	struct rpc x = { .a = &a, .peer = "" };
	struct fail f = { 0 };
	enum err e = rpc_replay(&x, o->offline, o->config, &f);

	if (e == OK && o->trace != NULL)
		e = write_trace(&x, o->trace, &f);
	if (e != OK) {
		fprintf(stderr, "scheduler: %s\n", f.detail);
		return err_exit(e);
	}
	fwrite(x.out.p, 1, x.out.n, stdout);
	arena_free(&a);
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static const char usage_text[] =
    "usage: scheduler [--socket PATH] [--workers N] [--connections N] [--buffer BYTES]\n"
    "                 [--project DIR]\n"
    "       scheduler -1 [-t NOW] [-s SEED] [--project DIR] < request.xml\n"
    "\n"
    "      --socket PATH    unix socket to listen on (run_dir/scheduler.sock), unless\n"
    "                       descriptor 0 is a listening socket\n"
    "      --workers N      requests answered at once (scheduler_workers)\n"
    "      --connections N  connections open at once (max_connections)\n"
    "      --buffer BYTES   memory for their requests (request_buffer_bytes)\n"
    "  -1, --once           serve one request from standard input, log to standard error\n"
    "  -t, --time NOW       pretend that it is NOW (seconds since 1970, UTC)\n"
    "  -s, --seed SEED      seed the random draws (the log shows it as rpc=)\n"
    "  -n, --dry-run        with -1: write nothing, wait for nothing\n"
    "  -H, --host ID        with -n: act for this host, whatever key the request has\n"
    "  -j, --job ID         with -n: this result is the only candidate\n"
    "  -c, --config FILE    with -n: use FILE instead of config.xml\n"
    "  -o, --offline FILE   with -n: a recorded request, without project and database\n"
    "  -r, --trace FILE     with -n: write what was decided and why to FILE\n"
    "  -p, --project DIR\n"
    "  -h, --help\n"
    "  -V, --version\n";

static const struct option longopts[] = {
	SERVE_LONGOPTS,
	{ "once", no_argument, NULL, '1' },
	{ "time", required_argument, NULL, 't' },
	{ "seed", required_argument, NULL, 's' },
	{ "dry-run", no_argument, NULL, 'n' },
	{ "host", required_argument, NULL, 'H' },
	{ "job", required_argument, NULL, 'j' },
	{ "config", required_argument, NULL, 'c' },
	{ "trace", required_argument, NULL, 'r' },
	{ "offline", required_argument, NULL, 'o' },
	{ "project", required_argument, NULL, 'p' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

/* Parses a seed in base 10, or as 0x81f3aa02. */
static bool
parse_seed(const char *text, uint64_t *seed)
{
	char *end;

	errno = 0;
	*seed = strtoull(text, &end, 0);
	return errno == 0 && text_alnum(*text) && *end == '\0';
}

/* Returns -1 to go on, otherwise the exit status. */
static int
scheduler_parse_options(int argc, char **argv, struct options *o)
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
			o->trace = optarg;
			break;
		case 'h':
			fputs(usage_text, stdout);
			return 0;
		case 'V':
			printf("scheduler (%s) %s\n", PACKAGE_NAME, PACKAGE_VERSION);
			return 0;
		default:
			good &= serve_option(c, optarg, &o->serve);
			break;
		}
	}
	if (!good || optind < argc || (o->dry && !o->once) ||
	    (!o->dry && (o->host != 0 || o->job != 0 || o->config != NULL ||
			    o->trace != NULL || o->offline != NULL))) {
		fputs(usage_text, stderr);
		return 2;
	}
	return -1;
}

/* Serves FastCGI until the process is asked to stop. */
static int
serve_socket_of(struct project *front, const struct options *o)
{
	struct scheduler s = { .front = *front };
	const struct conf *cf;
	struct fail f = { 0 };
	const struct serve_program program = {
		.name = "scheduler",
		.ctx = &s,
		.terms = scheduler_terms,
		.refuse = scheduler_refuse,
		.worker = scheduler_worker_begin,
		.answer = scheduler_answer,
		.head = scheduler_head,
		.worker_end = scheduler_worker_end,
		.host_key = scheduler_host_key,
		.is_apart = scheduler_is_apart,
		.answer_apart = scheduler_answer_apart,
	};
	struct serve_size size;
	enum err e;
	int fd;

	decision_log_begin(&s.decision_log);
	if (project_read_config(&s.front, &f) != OK)
		log_fail("configuration", &f);
	cf = s.front.conf;
	size = (struct serve_size){
		.workers = o->serve.workers > 0 ? o->serve.workers :
		                                  conf_scheduler_workers(cf),
		.connections = o->serve.connections > 0 ? o->serve.connections :
		                                          cf->max_connections,
		.queued = cf->max_queued_requests,
		.buffer_bytes = (size_t)(o->serve.buffer_bytes > 0 ?
					     o->serve.buffer_bytes :
					     cf->request_buffer_bytes),
	};
	s.workers = NEWN(&s.a, struct project, (size_t)size.workers);
	e = serve_socket(o->serve.socket != NULL ?
			     o->serve.socket :
			     arena_printf(&s.a, "%s/scheduler.sock", cf->run_dir),
	    &fd, &f);
	if (e == OK) {
		trial_begin(&s.trial, &s.a, cf, s.front.dir);
		e = serve_run(&program, &size, fd, &f);
		trial_end(&s.trial);
	}
	if (e != OK)
		log_fail("scheduler", &f);
	project_close(&s.front);
	decision_log_close(&s.decision_log);
	arena_free(&s.a);
	return e == OK ? EXIT_SUCCESS : err_exit(e);
}

int
main(int argc, char **argv)
{
	struct options o = { 0 };
	struct project p;
	struct fail f = { 0 };
	int rc = scheduler_parse_options(argc, argv, &o);

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
	proc_no_core();
	proc_signals();
	if (o.once)
		return serve_once(&p, &o);
	return serve_socket_of(&p, &o);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler program: serves FastCGI on a socket (serve.h), or one request from
 * standard input (-1). Each worker has a struct project; sched/rpc/rpc.h handles one
 * request.
 */
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "config.h"
#include "db/node.h"
#include "db/project.h"
#include "lib/args.h"
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/notify.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "rules/sched/decide.h"
#include "sched/trace/recording.h"
#include "sched/trace/replay.h"
#include "sched/rpc/host_key.h"
#include "sched/rpc/probe.h"
#include "model/metrics.h"
#include "sched/project.h"
#include "sched/rpc/rpc.h"
#include "sched/serve/serve.h"
#include "sched/serve/suspects.h"
#include "lib/banned.h"

enum {
	DELAY_MIN_S = 10, /* of busy replies */
	CUT_OFF_S = 60,   /* a client whose requests arrive incomplete */
};

struct options {
	struct serve_options serve;
	bool once;
	int64_t now;   /* 0 = ask the clock */
	uint64_t seed; /* 0 = random */
	bool dry;
	int64_t host, job; /* dry only; 0 = the request's host; 0 = all jobs */
	const char *config, *trace, *offline; /* dry only; files, NULL = none */
};

/*
 * Notes in the database that a scheduler process serves, and learns whether an admin
 * has drained its node or the project (locus drain). All workers of a process share
 * one.
 */
struct heartbeat {
	_Atomic int64_t next_ms; /* when to note it again, monotonic */
	atomic_bool drained, noted;
	/* has an admin drained the whole project (db/project.h)? known: it was read */
	atomic_bool project_drained, known;
};

enum { HEARTBEAT_MS = 5000 };

static enum err look_for_drain(struct heartbeat *p, struct db *db, struct fail *f)
{
	int64_t since;

	TRY(project_drained_since(db, &since, f));
	if ((since != 0) != p->project_drained)
		log_info(since != 0 ? "the project is drained: no work is given out" :
				      "the project gives out work again");
	p->project_drained = since != 0;
	p->known = true;
	return OK;
}

static enum err heartbeat_note(struct heartbeat *p, struct arena *a,
    const struct conf *cf, struct db *db, struct fail *f)
{
	struct node here;
	bool drained;

	TRY(node_here(a, cf, &here, f));
	if (!p->noted)
		TRY(node_register(db, &here, f));
	TRY(node_is_drained(db, here.name, &drained, f));
	if (drained != p->drained)
		log_info(drained ?
			     "node %s is drained: clients are asked to come back" :
			     "node %s serves again",
		    here.name);
	p->drained = drained;
	TRY(node_service_seen(
	    db, here.name, "scheduler", drained ? "drained" : "works", !p->noted, f));
	p->noted = true;
	return OK;
}

/* Takes its turn, if it is time for one. */
static bool heartbeat_is_due(struct heartbeat *p)
{
	int64_t now_ms = clock_mono_ms(), due_ms = p->next_ms;

	if (!p->known)
		return true;
	return now_ms >= due_ms && atomic_compare_exchange_strong(
				       &p->next_ms, &due_ms, now_ms + HEARTBEAT_MS);
}

/*
 * At most every 5 s: notes the process, and reads whether the node or the project is
 * drained. What fails is tried again 5 s later; the state of draining is harmless when
 * stale, but a process that has just started waits until it is known.
 */
static void heartbeat_keep(struct heartbeat *p, const struct conf *cf, struct db *db)
{
	struct arena a = { 0 };
	struct fail f = { 0 };

	if (!heartbeat_is_due(p))
		return;
	if (look_for_drain(p, db, &f) != OK || heartbeat_note(p, &a, cf, db, &f) != OK)
		log_debug("cannot note that the scheduler runs: %s", f.detail);
	arena_free(&a);
}

struct scheduler {            /* lives as long as the process */
	struct project front; /* of the connection threads; has no database */
	struct worker_state {
		struct scheduler *scheduler;
		struct project project;
		size_t place; /* suspects.h: the first; one for each job of a cohort */
	} * workers;
	struct decision_log decision_log;
	struct trial trial; /* of requests that may crash the process */
	struct in_flight in_flight;
	size_t cohort_size;    /* scheduler_cohort_size when the process began */
	_Atomic int64_t waits; /* requests that wait for work */
	struct heartbeat heartbeat;
	struct arena a;
};

static struct serve_terms scheduler_terms(void *ctx)
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
static void turn_away(struct project *p, struct rpc *x, enum situation s,
    const char *detail, double delay_s)
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

/* What all requests of a cohort look at. */
struct cohort_base {
	bool stopped;
	enum err e; /* of the connection and what is read by it */
	struct fail f;
	const char *const *texts;
};

/*
 * Checks the preconditions of RPCs, cheapest first, and reads what they look at anew if
 * it is old or has changed. Once for a cohort: what one request holds would
 * be freed if the next one read it anew.
 */
static struct cohort_base cohort_base(struct project *p, int64_t now)
{
	struct cohort_base g = { .e = OK };

	if (!p->usable)
		return g;
	g.stopped = project_stopped(p);
	if (g.stopped)
		return g;
	g.e = project_connect(p, now, &g.f);
	if (g.e == OK)
		g.texts = project_texts(p);
	return g;
}

/* If the project cannot serve an RPC, makes the reply and returns false. */
static bool make_ready(struct project *p, const struct cohort_base *g, struct rpc *x)
{
	x->conf = p->conf;
	if (!p->usable) {
		log_fail("request turned away", &p->trouble);
		turn_away(p, x, REFUSE_NO_CONFIG, p->trouble.detail, 0);
		return false;
	}
	if (g->stopped) {
		turn_away(p, x, REFUSE_STOPPED,
		    x->probe ? "stop_sched exists; remove it" : "", 0);
		return false;
	}
	if (g->e != OK) {
		if (!x->probe)
			log_fail("request turned away", &g->f);
		turn_away(p, x, refuse_error(g->e, true), g->f.detail, 0);
		return false;
	}
	x->db = p->db;
	x->cat = p->cat;
	x->keys = &p->keys;
	x->texts = g->texts;
	x->contention = &p->contention;
	x->drawn_at = &p->drawn_at;
	x->doorbells = &p->doorbells;
	return true;
}

/*
 * Has an admin drained this node? Then x has its reply. If the project is drained, x
 * is served without getting work. A probe is served, since it asks whether this node
 * could serve.
 */
static bool is_drained(struct scheduler *s, struct project *p, struct rpc *x)
{
	heartbeat_keep(&s->heartbeat, p->conf, p->db);
	x->drained = !x->probe && s->heartbeat.project_drained;
	if (x->probe || !s->heartbeat.drained)
		return false;
	turn_away(p, x, REFUSE_DRAINED, "", 0);
	return true;
}

static void record_outcome(struct project *p, const struct rpc *x)
{
	rpc_ring(x);
	decision_log_write(p->decision_log, x);
	counts_keep(&p->counts, x);
}

/* Turns one request into one reply. */
static void run_request(struct project *p, struct rpc *x)
{
	const struct cohort_base g = cohort_base(p, x->now);
	struct fail f = { 0 };
	int64_t since = 0;

	if (!make_ready(p, &g, x))
		return;
	if (project_drained_since(p->db, &since, &f) != OK)
		log_fail("served as if the project were not drained", &f);
	x->drained = since != 0;
	rpc_begin(x);
	rpc_run(&x, 1, NULL, NULL);
	if (!x->dry)
		record_outcome(p, x);
}

static uint64_t random_seed(void)
{
	uint64_t seed;

	random_bytes(&seed, sizeof(seed));
	return seed;
}

/*
 * A project that is down answers in plain text, as the stock server does (protocol.md
 * 2.10).
 */
static void put_reply(const struct rpc *x, struct fcgi_reply *rp)
{
	rp->type = refuse_is_down(x->refused) ? "text/plain" : "text/xml";
	rp->body = x->out;
}

static struct rpc scheduler_rpc_of(struct arena *a, const struct fcgi_request *rq)
{
	return (struct rpc){ .a = a,
		.peer = rq->peer,
		.in = rq->body,
		.in_n = rq->body_n,
		.now = clock_now(),
		.seed = random_seed() };
}

static void scheduler_configure(struct project *p)
{
	p->trouble = (struct fail){ 0 };
	project_configure(p, &p->trouble);
}

/* --- several requests together --- */

struct served { /* requests that a worker answers together */
	struct worker_state *w;
	struct cohort_base base;
	struct serve_job *const *jobs;
	struct rpc *v;
	struct rpc **run; /* those that run */
	size_t n;
};

static void served_reply(struct served *g, size_t k)
{
	struct rpc *x = &g->v[k];
	struct fcgi_reply rp = { 0 };

	if (!x->probe)
		rpc_dump_write(&g->w->project.rpc_dump, x);
	suspects_leave(&g->w->scheduler->trial.suspects, g->w->place + k);
	put_reply(x, &rp);
	serve_reply(g->jobs[k], &rp);
}

/* Called for each request that is over or parked. */
static void served_over(void *ctx, struct rpc *x)
{
	struct served *g = ctx;
	size_t k = (size_t)(x - g->v);
	struct project *p = &g->w->project;

	if (x->step == RPC_look) {
		suspects_leave(&g->w->scheduler->trial.suspects, g->w->place + k);
		serve_park(g->jobs[k], x->waiting);
		return;
	}
	if (!x->dry)
		record_outcome(p, x);
	if (x->probe) {
		decision_log_write(p->decision_log, x);
		probe_answer(x, NULL);
	}
	served_reply(g, k);
}

/* Begins a request or goes on with one that has waited; false if it has its reply. */
static bool served_begin(struct served *g, struct arena *a, size_t k)
{
	const struct fcgi_request *rq = serve_request(g->jobs[k]);
	const struct rpc_wait *waited = serve_parked(g->jobs[k]);
	struct project *p = &g->w->project;
	struct rpc *x = &g->v[k];

	*x = scheduler_rpc_of(a, rq);
	x->in_flight = &g->w->scheduler->in_flight;
	x->dry = x->probe = p->usable && probe_asked(a, p->conf, x->in, x->in_n);
	if (!x->probe) /* a process of its own would not recognise a probe */
		suspects_enter(
		    &g->w->scheduler->trial.suspects, g->w->place + k, x->in, x->in_n);
	if (!make_ready(p, &g->base, x) || is_drained(g->w->scheduler, p, x)) {
		served_reply(g, k);
		return false;
	}
	if (waited != NULL) {
		rpc_resume(x, waited);
	} else {
		rpc_begin(x);
		x->waiting = NEW(rq->a, struct rpc_wait);
		x->waiting->a = rq->a;
		x->waiting->places = &g->w->scheduler->waits;
	}
	return true;
}

static void scheduler_answer(
    void *worker, struct arena *a, struct serve_job *const *jobs, size_t n)
{
	struct worker_state *w = worker;
	struct served g = { .w = w,
		.jobs = jobs,
		.v = NEWN(a, struct rpc, n),
		.run = NEWN(a, struct rpc *, n) };

	scheduler_configure(&w->project);
	g.base = cohort_base(&w->project, clock_now());
	for (size_t k = 0; k < n; k++)
		if (served_begin(&g, a, k))
			g.run[g.n++] = &g.v[k];
	rpc_run(g.run, g.n, served_over, &g);
}

/* Looks whether parked requests go on. */
static void scheduler_look(void *worker, struct arena *a,
    struct serve_job *const *parked, size_t n, bool *go_on)
{
	struct worker_state *w = worker;
	struct rpc_wait **v = NEWN(a, struct rpc_wait *, n);
	struct fail f = { 0 };

	for (size_t i = 0; i < n; i++)
		v[i] = serve_parked(parked[i]);
	scheduler_configure(&w->project);
	if (project_connect(&w->project, clock_now(), &f) == OK)
		waits_look(w->project.db, w->project.conf, v, n);
	else
		waits_end_late(v, n);
	for (size_t i = 0; i < n; i++)
		go_on[i] = v[i]->ended != WAIT_NOT_YET;
}

/* A waiting request is given up, because its host has come again. */
static void scheduler_left(void *parked)
{
	wait_give_up(parked);
}

static bool head_is_refused(struct project *p, struct rpc *x)
{
	struct cohort_base g;

	if (p->usable && probe_asked(x->a, p->conf, x->in, x->in_n))
		return false; /* a probe has no account */
	g = cohort_base(p, x->now);
	if (!make_ready(p, &g, x))
		return true;
	if (rpc_head_passes(x))
		return false;
	record_outcome(p, x);
	return true;
}

/* Refuses a large request whose key belongs to no account, before the rest is read. */
static bool scheduler_head(
    void *worker, const struct fcgi_request *rq, struct fcgi_reply *rp)
{
	struct worker_state *w = worker;
	struct project *p = &w->project;
	struct rpc x = scheduler_rpc_of(rq->a, rq);
	bool refused;

	scheduler_configure(p);
	suspects_enter(&w->scheduler->trial.suspects, w->place, x.in, x.in_n);
	refused = head_is_refused(p, &x);
	suspects_leave(&w->scheduler->trial.suspects, w->place);
	if (!refused)
		return false;
	rpc_dump_write(&p->rpc_dump, &x);
	put_reply(&x, rp);
	return true;
}

static bool scheduler_is_apart(void *ctx, const struct fcgi_request *rq)
{
	const struct scheduler *s = ctx;

	return trial_is_due(&s->trial, rq);
}

static enum serve_end scheduler_answer_apart(
    void *ctx, const struct fcgi_request *rq, struct fcgi_reply *rp)
{
	struct scheduler *s = ctx;

	return trial_serve(&s->trial, rq, rp);
}

/*
 * Whatever the reason, clients get a scheduler_reply, and with status 200: of any other
 * they read neither message nor delay. Other methods are not used by clients.
 */
static void scheduler_refuse(
    void *ctx, enum serve_end why, double delay_s, struct fcgi_reply *rp)
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

static uint64_t scheduler_host_key(const struct fcgi_request *rq)
{
	return host_key(rq->body, rq->body_n);
}

static void *scheduler_worker_begin(void *ctx, int64_t i)
{
	struct scheduler *s = ctx;
	struct worker_state *w = &s->workers[i];
	struct project *p = &w->project;
	struct fail f = { 0 };

	/* The main thread has just found the project. */
	if (project_find(p, "scheduler", s->front.dir, true, &f) != OK ||
	    project_configure(p, &f) != OK)
		log_fail("configuration", &f);
	/* The supervisor shall hear that the project serves only when it does. */
	if (i == 0 && notify_wanted() && project_connect(p, clock_now(), &f) != OK)
		log_fail("requests get no work yet", &f);
	p->decision_log = &s->decision_log;
	w->place = (size_t)i * s->cohort_size;
	w->scheduler = s;
	return w;
}

static void scheduler_worker_end(void *worker)
{
	project_close(&((struct worker_state *)worker)->project);
}

/* Reads standard input, at most max bytes; E_BADREQ if there are more. */
static enum err read_stdin(
    struct arena *a, size_t max, char **p, size_t *n, struct fail *f)
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

static enum err write_trace(const struct rpc *x, const char *path, struct fail *f)
{
	struct buf b = buf_new(x->a);

	decision_log_format(&b, x);
	return fs_write(path, b.p, b.n, 0600, f);
}

/* Serves one request from standard input; writes the reply to standard output. */
static int serve_once(struct project *p, const struct options *o)
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
	run_request(p, &x);
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
static int replay_offline(const struct options *o)
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

/* A seed in base 10, or as 0x81f3aa02. */
static const char *take_seed(void *row, char *text)
{
	struct options *o = row;
	char *end;

	errno = 0;
	o->seed = strtoull(text, &end, 0);
	return errno == 0 && text_alnum(*text) && *end == '\0' ? NULL :
	                                                         "a whole number";
}

#define OF(member) FIELD_OF(struct options, member)
static const struct field scheduler_options[] = {
	{ "once", OF(once), .letter = '1',
	    .help = "serve one request from standard input, log to standard error" },
	{ "time", OF(now), "NOW", .letter = 't',
	    .help = "pretend that it is NOW (seconds since 1970, UTC)" },
	{ "seed", .value = "SEED", .letter = 's', .take = take_seed,
	    .help = "seed the random draws (the log shows it as rpc=)" },
	{ "dry-run", OF(dry), .letter = 'n',
	    .help = "with -1: write nothing, wait for nothing" },
	{ "host", OF(host), "ID", .letter = 'H',
	    .help = "with -n: act for this host, whatever key the request has" },
	{ "job", OF(job), "ID", .letter = 'j',
	    .help = "with -n: this result is the only candidate" },
	{ "config", OF(config), "FILE", .letter = 'c',
	    .help = "with -n: use FILE instead of config.xml" },
	{ "offline", OF(offline), "FILE", .letter = 'o',
	    .help = "with -n: a recorded request, without project and database" },
	{ "trace", OF(trace), "FILE", .letter = 'r',
	    .help = "with -n: write what was decided and why to FILE" },
	{ 0 },
};

/* Only one request at a time is decided without effects, or from other sources. */
static bool options_agree(const struct options *o)
{
	bool other = o->host != 0 || o->job != 0 || o->config != NULL ||
	             o->trace != NULL || o->offline != NULL;

	return o->dry ? o->once : !other;
}

/* Returns -1 to go on, otherwise the exit status. */
static int scheduler_parse_options(int argc, char **argv, struct options *o)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct args g = { .a = &a,
		.program = "scheduler",
		.own = scheduler_options,
		.own_row = o,
		.common = serve_fields,
		.common_row = &o->serve,
		.usage =
		    "usage: scheduler [options]\n"
		    "       scheduler -1 [-t NOW] [-s SEED] [--project DIR] < request.xml\n\n",
		.version = "scheduler (" PACKAGE_NAME ") " PACKAGE_VERSION };
	enum args_end end = args_read(&g, argc, argv, &f);
	int rc;

	if (end == ARGS_RUN && !options_agree(o)) {
		FAIL(&f, E_BADREQ,
		    "--dry-run needs --once, and its options need --dry-run");
		end = ARGS_WRONG;
	}
	rc = args_answer(&g, end, &f);
	arena_free(&a);
	return rc;
}

/* Serves FastCGI until the process is asked to stop. */
static int serve_socket_of(struct project *front, const struct options *o)
{
	struct scheduler s = { .front = *front };
	const struct conf *cf;
	struct fail f = { 0 };
	struct serve_program program = {
		.name = "scheduler",
		.ctx = &s,
		.terms = scheduler_terms,
		.refuse = scheduler_refuse,
		.worker = scheduler_worker_begin,
		.head = scheduler_head,
		.worker_end = scheduler_worker_end,
		.host_key = scheduler_host_key,
		.is_apart = scheduler_is_apart,
		.answer_apart = scheduler_answer_apart,
		.cohort = { scheduler_answer, scheduler_look, scheduler_left,
		    RPC_LOOK_MS },
	};
	struct serve_size size;
	enum err e;

	decision_log_begin(&s.decision_log);
	in_flight_begin(&s.in_flight);
	if (project_read_config(&s.front, &f) != OK)
		log_fail("configuration", &f);
	cf = s.front.conf;
	program.peer = web_peer_of(cf);
	program.socket = o->serve.socket != NULL ?
	                     o->serve.socket :
	                     arena_printf(&s.a, "%s/scheduler.sock", cf->run_dir);
	s.cohort_size = (size_t)cf->scheduler_cohort_size;
	size = serve_size_of(&o->serve, cf, cf->scheduler_workers);
	size.active = cf->scheduler_cohorts;
	size.cohort = s.cohort_size;
	s.workers = NEWN(&s.a, struct worker_state, (size_t)size.workers);
	metric_show_service(cf, "scheduler");
	trial_begin(&s.trial, &s.a, cf, s.front.dir);
	e = serve_run(&program, &size, &f);
	trial_end(&s.trial);
	if (e != OK)
		log_fail("scheduler", &f);
	project_close(&s.front);
	decision_log_close(&s.decision_log);
	in_flight_close(&s.in_flight);
	arena_free(&s.a);
	return e == OK ? EXIT_SUCCESS : err_exit(e);
}

int main(int argc, char **argv)
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
	if (project_find(&p, "scheduler", o.serve.project, !o.once, &f) != OK) {
		fprintf(stderr, "scheduler: %s\n", f.detail);
		return err_exit(f.code);
	}
	p.config = o.config;
	p.look = o.dry;
	proc_no_core();
	proc_signals();
	if (o.once)
		return serve_once(&p, &o);
	rc = serve_socket_of(&p, &o);
	log_end();
	return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main thread accepts connections and shuts everything down; a connection thread
 * reads a request, waits for its answer, and writes the reply. All threads share one
 * lock and hold it only briefly.
 */
#include "sched/serve/serve_threads.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/notify.h"
#include "lib/proc.h"
#include "lib/sock.h"
#include "lib/text.h"
#include "lib/banned.h"

enum {
	STACK = 256 << 10, /* of a connection thread */
	HEAPS = 4,
	HEAD_BYTES = 64 << 10, /* of each request, not charged to the buffer */
	SILENCE_S = 120,       /* of the web server in the middle of a request */
	FINISH_S = 12,         /* after SIGTERM */
	HUNG_S = 60,           /* a worker is busy for as long only if it hangs */
	STATUS_EVERY_S = 5,
	FDS_OWN = 32 + ARRIVALS_MOST, /* of the process itself */
	FDS_WORKER = 16
};

struct conn { /* a connection thread */
	struct server *server;
	struct conn *next_idle, *next;
	pthread_t thread;
	pthread_cond_t wake;
	FCGX_Request fcgi;
	struct arena a;
	int fd;       /* the connection; -1 = idle */
	bool reading; /* its request is incomplete */
	size_t held;  /* this thread's part of server.held */
};

/* --- connection threads --- */

/* Returns how many of n connections the process may have the descriptors for. */
static int64_t connections_possible(const struct serve_size *size, int64_t n)
{
	int64_t own = FDS_OWN + FDS_WORKER * size->workers, each = 1 + size->fds, most;
	struct rlimit fds;

	if (getrlimit(RLIMIT_NOFILE, &fds) < 0)
		return n;
	fds.rlim_cur = fds.rlim_max;
	setrlimit(RLIMIT_NOFILE, &fds);
	most = ((int64_t)fds.rlim_cur - own) / each;
	if (fds.rlim_cur == RLIM_INFINITY || n <= most)
		return n;
	most = most < 1 ? 1 : most;
	log_warn(
	    "only %lld of %lld connections at once: a process may have %lld open files",
	    (long long)most, (long long)n, (long long)fds.rlim_cur);
	return most;
}

/* Tells the main thread if it waits for a thread; under the server's lock. */
static void wake_main(struct server *s)
{
	uint64_t one = 1;

	if (!s->starved)
		return;
	s->starved = false;
	(void)!write(s->freed, &one, sizeof(one));
}

static struct serve_terms conn_terms(struct server *s)
{
	struct serve_terms t;

	pthread_mutex_lock(&s->terms_lock);
	t = s->program->terms(s->program->ctx);
	if (t.connections > 0 && t.connections != s->connections_told) {
		int64_t most = connections_possible(&s->size, t.connections);

		s->connections_told = t.connections;
		pthread_mutex_lock(&s->lock);
		s->connections = most;
		wake_main(s);
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_unlock(&s->terms_lock);
	return t;
}

static void conn_refuse(struct server *s, enum serve_end why,
    const struct serve_terms *t, struct fcgi_reply *rp)
{
	double delay_s = 0;

	if (why == SERVE_BUSY) {
		pthread_mutex_lock(&s->lock);
		delay_s = admission_delay_s(
		    &s->admission, t->delay_min_s, clock_mono_ms());
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_lock(&s->terms_lock);
	s->program->refuse(s->program->ctx, why, delay_s, rp);
	pthread_mutex_unlock(&s->terms_lock);
}

/*
 * Claims memory for a larger buffer. The arena keeps the smaller ones too, so each
 * counts in full.
 */
static bool conn_has_room(void *ctx, size_t to)
{
	struct conn *c = ctx;
	struct server *s = c->server;
	bool yes;

	if (to <= HEAD_BYTES)
		return true;
	pthread_mutex_lock(&s->lock);
	yes = !s->stopping && to <= s->size.buffer_bytes - s->held;
	if (yes) {
		s->held += to;
		c->held += to;
	}
	pthread_mutex_unlock(&s->lock);
	return yes;
}

static bool conn_method_known(const char *method)
{
	static const char *const known[] = { "GET", "HEAD", "POST" };

	for (size_t i = 0; i < N(known); i++)
		if (strcmp(method, known[i]) == 0)
			return true;
	return false;
}

/* Continues to read; SERVE_NOT_YET: *got says how far. */
static enum serve_end read_to(
    struct conn *c, struct fcgi_request *rq, size_t max, enum fcgi_got *got)
{
	enum serve_end why;

	*got = fcgi_read(rq, max, conn_has_room, c);
	if (*got == FCGI_WHOLE || *got == FCGI_MORE)
		return SERVE_NOT_YET;
	if (*got == FCGI_NO_ROOM)
		return SERVE_BUSY;
	/* An ending process shuts connections that are still being read. */
	pthread_mutex_lock(&c->server->lock);
	why = c->server->stopping ? SERVE_BUSY : SERVE_CUT_OFF;
	pthread_mutex_unlock(&c->server->lock);
	return why;
}

static bool is_apart(const struct serve_program *p, const struct fcgi_request *rq)
{
	return p->is_apart != NULL && p->is_apart(p->ctx, rq);
}

/* Has a worker answer the request; head: or only look at its first part. */
static enum serve_end have_answered(
    struct conn *c, const struct fcgi_request *rq, struct fcgi_reply *rp, bool head)
{
	struct serve_job j = {
		.server = c->server, .wake = &c->wake, .rq = rq, .rp = rp, .head = head
	};

	if (!queue_and_wait(&j))
		return SERVE_BUSY;
	return j.replied ? SERVE_REPLIED : SERVE_NOT_YET;
}

/*
 * Does the head of a large request pass? A worker looks at it, which costs a turn and a
 * query, unless it has let the host pass before. A host that has lost its account
 * since then is refused like any other once its request is whole.
 */
static enum serve_end head_passes(
    struct conn *c, const struct fcgi_request *rq, struct fcgi_reply *rp)
{
	struct server *s = c->server;
	uint64_t key = s->program->host_key == NULL ? 0 : s->program->host_key(rq);
	uint64_t *place = &s->passed[key % HOSTS_PASSED];
	enum serve_end how;
	bool passed;

	pthread_mutex_lock(&s->lock);
	passed = key != 0 && *place == key;
	pthread_mutex_unlock(&s->lock);
	if (passed)
		return SERVE_NOT_YET;
	how = have_answered(c, rq, rp, true);
	if (how == SERVE_NOT_YET) {
		pthread_mutex_lock(&s->lock);
		*place = key;
		pthread_mutex_unlock(&s->lock);
	}
	return how;
}

/* Reads the whole request, unless it is answered or refused earlier. */
static enum serve_end read_whole(
    struct conn *c, struct fcgi_request *rq, size_t max, struct fcgi_reply *rp)
{
	const struct serve_program *p = c->server->program;
	enum fcgi_got got;
	enum serve_end how;

	if (rq->length > (int64_t)max)
		return SERVE_TOO_LARGE;
	how = read_to(c, rq, HEAD_BYTES < max ? HEAD_BYTES : max + 1, &got);
	if (how == SERVE_NOT_YET && got == FCGI_MORE && max > HEAD_BYTES) {
		if (p->head != NULL && !is_apart(p, rq))
			how = head_passes(c, rq, rp);
		if (how == SERVE_NOT_YET)
			how = read_to(c, rq, max + 1, &got);
	}
	return how == SERVE_NOT_YET && got == FCGI_MORE ? SERVE_TOO_LARGE : how;
}

/* Other threads may shut the connection only while `reading` is set. */
static void set_reading(struct conn *c, bool reading)
{
	pthread_mutex_lock(&c->server->lock);
	c->reading = reading && !c->server->stopping;
	pthread_mutex_unlock(&c->server->lock);
}

/* Reads a request and has it answered, apart or by a worker. */
static enum serve_end read_and_answer(struct conn *c, struct fcgi_request *rq,
    size_t max, struct fcgi_reply *rp, bool *whole)
{
	const struct serve_program *p = c->server->program;
	enum serve_end how;

	set_reading(c, true);
	how = read_whole(c, rq, max, rp);
	set_reading(c, false);
	*whole = how == SERVE_NOT_YET;
	if (*whole && is_apart(p, rq))
		how = p->answer_apart(p->ctx, rq, rp);
	return how == SERVE_NOT_YET ? have_answered(c, rq, rp, false) : how;
}

static void serve_one(struct conn *c)
{
	struct server *s = c->server;
	struct fcgi_reply rp = { .type = "text/plain", .body = buf_new(&c->a) };
	struct serve_terms t = conn_terms(s);
	struct fcgi_request rq;
	enum serve_end how = SERVE_REPLIED;
	bool whole = true;

	if (!fcgi_begin(&c->fcgi, c->fd, &c->a, t.proxies, &rq))
		return;
	if (!conn_method_known(rq.method)) {
		how = SERVE_METHOD;
		whole = false;
	} else if (s->program->stream != NULL) {
		s->program->stream(s->program->ctx, &rq, &rp);
	} else {
		how = read_and_answer(c, &rq, t.body_max, &rp, &whole);
	}
	if (how != SERVE_REPLIED)
		conn_refuse(s, how, &t, &rp);
	fcgi_end(&rq, &rp, whole);
}

/* Waits for a connection; returns false if the server ends. */
static bool next_connection(struct conn *c)
{
	struct server *s = c->server;

	pthread_mutex_lock(&s->lock);
	c->fd = -1;
	c->next_idle = s->idle;
	s->idle = c;
	wake_main(s);
	while (c->fd < 0 && !s->ended)
		pthread_cond_wait(&c->wake, &s->lock);
	pthread_mutex_unlock(&s->lock);
	return c->fd >= 0;
}

static void *conn_main(void *arg)
{
	struct conn *c = arg;
	struct server *s = c->server;

	while (next_connection(c)) {
		serve_one(c);
		/* Thousands of idle threads may follow a crowd; none keeps memory. */
		arena_free(&c->a);
		pthread_mutex_lock(&s->lock);
		s->held -= c->held;
		c->held = 0;
		s->busy--;
		s->answered++;
		pthread_mutex_unlock(&s->lock);
	}
	return NULL;
}

/* --- the main thread --- */

/* stack: bytes; 0 = as usual. */
static enum err start_thread(
    void *(*run)(void *), void *arg, size_t stack, pthread_t *t, struct fail *f)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	if (stack > 0)
		pthread_attr_setstacksize(&attr, stack);
	errno = pthread_create(t, &attr, run, arg);
	pthread_attr_destroy(&attr);
	return errno == 0 ? OK : FAIL_ERRNO(f, "starting a thread");
}

static int signals_open(void)
{
	static const int stops[] = { SIGTERM, SIGINT, SIGHUP };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < N(stops); i++)
		sigaddset(&set, stops[i]);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/*
 * May an idle thread take a connection? If there is none, starts one if possible; the
 * event `freed` tells when it is idle.
 */
static bool thread_is_idle(struct server *s)
{
	struct fail f = { 0 };
	struct conn *c;
	bool yes, more;

	pthread_mutex_lock(&s->lock);
	yes = s->idle != NULL && s->busy < s->connections;
	more = s->idle == NULL && s->threads < s->connections;
	s->starved = !yes;
	pthread_mutex_unlock(&s->lock);
	if (!more)
		return yes;
	c = NEW(s->a, struct conn);
	*c = (struct conn){ .server = s, .fd = -1, .next = s->all };
	pthread_cond_init(&c->wake, &s->monotonic);
	if (start_thread(conn_main, c, STACK, &c->thread, &f) == OK) {
		s->all = c;
		s->threads++;
		return false;
	}
	pthread_mutex_lock(&s->lock);
	s->connections = s->threads > 0 ? s->threads : 1;
	pthread_mutex_unlock(&s->lock);
	log_fail("connections", &f);
	return false;
}

/* Gives an idle thread a connection; returns false if none has a request. */
static bool serve_next(struct server *s)
{
	struct timeval silence = { .tv_sec = SILENCE_S };
	int fd = arrivals_take(&s->arrivals);
	struct conn *c;

	if (fd < 0)
		return false;
	if (s->program->stream == NULL) {
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof(silence));
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &silence, sizeof(silence));
	}
	pthread_mutex_lock(&s->lock);
	c = s->idle;
	s->idle = c->next_idle;
	c->fd = fd;
	s->busy++;
	pthread_cond_signal(&c->wake);
	pthread_mutex_unlock(&s->lock);
	return true;
}

/*
 * Do the workers hang? All that they wait for has a limit of some seconds, so that a
 * worker which has been busy for HUNG_S will not answer any more. That is fatal once
 * no other worker has answered anything for as long.
 */
static bool workers_hang(const struct server *s, int64_t now_ms)
{
	if (now_ms - s->done_ms < HUNG_S * 1000)
		return false;
	for (int64_t i = 0; i < s->size.workers; i++)
		if (s->workers[i].busy_ms != 0 &&
		    now_ms - s->workers[i].busy_ms >= HUNG_S * 1000)
			return true;
	return false;
}

/*
 * Tells the service manager that this process goes on. It is the main thread that
 * does: it hangs with the others if one of them keeps the lock. Logs nothing, because
 * it may be the log that hangs. Where no worker answers, requests also hang if one of
 * them keeps the program's settings.
 */
static void report_life(struct server *s)
{
	int64_t now_ms = clock_mono_ms();
	int64_t answered, busy, queued;
	bool hang, say;

	if (notify_alive_ms() < 0)
		return;
	pthread_mutex_lock(&s->lock);
	hang = workers_hang(s, now_ms);
	say = now_ms >= s->told_ms + STATUS_EVERY_S * 1000;
	if (say)
		s->told_ms = now_ms;
	answered = s->answered;
	busy = s->busy;
	queued = s->admission.queued;
	pthread_mutex_unlock(&s->lock);
	if (say && s->size.workers == 0) {
		pthread_mutex_lock(&s->terms_lock);
		pthread_mutex_unlock(&s->terms_lock);
	}
	if (hang)
		notify_status(
		    "no worker has answered for over %d s; %lld requests wait", HUNG_S,
		    (long long)busy);
	else if (say)
		notify_status("answered %lld requests; %lld open, of which %lld queued",
		    (long long)answered, (long long)busy, (long long)queued);
	if (!hang)
		notify_alive();
}

/* Returns the shorter of two timeouts in ms; -1 = none. */
static int sooner_ms(int a, int b)
{
	if (a < 0 || b < 0)
		return a < 0 ? b : a;
	return a < b ? a : b;
}

/* Accepts connections until a signal asks to stop; returns its number. */
static int accept_all(struct server *s)
{
	struct signalfd_siginfo told;
	uint64_t n;

	for (;;) {
		bool idle = thread_is_idle(s);
		struct pollfd p[] = { { .fd = s->signals, .events = POLLIN },
			{ .fd = idle ? s->arrivals.events : s->freed,
			    .events = POLLIN } };
		int wait_ms = sooner_ms(wake_workers(s), notify_alive_ms());

		if (idle)
			wait_ms = sooner_ms(wait_ms, arrivals_timeout_ms(&s->arrivals));
		report_life(s);
		if (poll(p, N(p), wait_ms) < 0)
			continue;
		if (p[0].revents != 0 &&
		    read(s->signals, &told, sizeof(told)) == sizeof(told))
			return (int)told.ssi_signo;
		if (idle)
			serve_next(s);
		else if (p[1].revents != 0)
			(void)!read(s->freed, &n, sizeof(n));
	}
}

/*
 * Accepts the connections still queued in the socket: if no path leads to the socket
 * any more, nobody else can. Those that are accepted already are served.
 */
static void accept_rest(struct server *s, int64_t last_ms)
{
	int64_t end = clock_mono_ms() + ARRIVALS_END_MS;

	arrivals_end(&s->arrivals, true);
	for (;;) {
		int64_t now_ms = clock_mono_ms();

		if (now_ms >= end)
			arrivals_end(&s->arrivals, false);
		if (thread_is_idle(s) && serve_next(s))
			continue;
		if (!arrivals_left(&s->arrivals) || now_ms >= last_ms)
			return;
		clock_nap_ms(1);
	}
}

/* Shuts connections whose request is incomplete; they then read as cut off. */
static void stop_reading(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	for (struct conn *c = s->all; c != NULL; c = c->next)
		if (c->fd >= 0 && c->reading)
			shutdown(c->fd, SHUT_RD);
	pthread_mutex_unlock(&s->lock);
}

static void end_threads(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	s->ended = true;
	for (int64_t i = 0; i < s->size.workers; i++)
		pthread_cond_signal(&s->workers[i].wake);
	for (struct conn *c = s->all; c != NULL; c = c->next)
		pthread_cond_signal(&c->wake);
	pthread_mutex_unlock(&s->lock);
	for (int64_t i = 0; i < s->size.workers; i++)
		pthread_join(s->workers[i].thread, NULL);
	/* Until then exit() would destroy what a thread's own end still uses. */
	for (struct conn *c = s->all; c != NULL; c = c->next)
		pthread_join(c->thread, NULL);
}

/* Ends all threads; returns false if some request does not finish in time. */
static bool serve_finish(struct server *s)
{
	int64_t end = clock_mono_ms() + FINISH_S * 1000, busy;

	accept_rest(s, end);
	stop_reading(s);
	for (;;) {
		pthread_mutex_lock(&s->lock);
		busy = s->busy;
		pthread_mutex_unlock(&s->lock);
		if (busy == 0)
			break;
		if (clock_mono_ms() >= end)
			return false;
		wake_workers(s);
		clock_nap_ms(5);
	}
	end_threads(s);
	return true;
}

static enum err start_workers(struct server *s, struct fail *f)
{
	int64_t n = s->size.workers;

	for (int64_t i = 0; i < n; i++)
		s->workers[i] = (struct worker){
			.server = s, .number = i, .wake = PTHREAD_COND_INITIALIZER
		};
	for (int64_t i = 0; i < n; i++)
		TRY(start_thread(
		    worker_main, &s->workers[i], 0, &s->workers[i].thread, f));
	if (n == 0)
		notify_ready(); /* otherwise the last worker to begin says so */
	return OK;
}

/*
 * Finds the socket to serve on: descriptor 0 if it is a listening socket, otherwise a
 * new one at the program's path.
 */
static enum err open_socket(const struct serve_program *p, int *fd, struct fail *f)
{
	*fd = STDIN_FILENO;
	if (sock_listens(STDIN_FILENO))
		return OK;
	if (sock_answers(p->socket))
		return FAIL(f, E_RETRY, "another process serves %s already", p->socket);
	return sock_listen(p->socket, p->peer.group, fd, f);
}

/* Opens what the threads need, and starts the workers. */
static enum err serve_begin(struct server *s, int listening, struct fail *f)
{
	uint64_t seed;

	random_bytes(&seed, sizeof(seed));
	admission_begin(&s->admission, s->size.queued, seed, clock_mono_ms());
	s->workers = NEWN(s->a, struct worker, (size_t)s->size.workers);
	s->parked.last = &s->parked.first;
	pthread_condattr_init(&s->monotonic);
	pthread_condattr_setclock(&s->monotonic, CLOCK_MONOTONIC);
	/*
	 * Many threads hold little, so a few heaps suffice; memory of a large request
	 * is given back.
	 */
	mallopt(M_ARENA_MAX, HEAPS);
	proc_tune_malloc();
	s->connections_told = s->size.connections;
	s->connections = connections_possible(&s->size, s->size.connections);
	s->signals = signals_open();
	s->freed = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->signals < 0 || s->freed < 0)
		return FAIL_ERRNO(f, "waiting for signals");
	TRY(arrivals_begin(&s->arrivals, s->a, listening, &s->program->peer, f));
	if (FCGX_Init() != 0)
		return FAIL(f, E_SYS, "cannot initialise libfcgi");
	return start_workers(s, f);
}

enum err serve_run(
    const struct serve_program *p, const struct serve_size *size, struct fail *f)
{
	struct arena a = { 0 };
	struct server s = { .program = p,
		.size = *size,
		.a = &a,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.terms_lock = PTHREAD_MUTEX_INITIALIZER };
	struct fail why = { 0 };
	int sig, listening;

	TRY(open_socket(p, &listening, f));
	TRY(serve_begin(&s, listening, f));
	log_info("%s serves with %lld workers, at most %lld connections at once",
	    p->name, (long long)s.size.workers, (long long)s.connections);
	sig = accept_all(&s);
	proc_stopping = sig;
	notify_stopping();
	log_info("%s ends after signal %d", p->name, sig);
	if (listening != STDIN_FILENO && fs_unlink(p->socket, &why) != OK)
		log_fail("the socket", &why);
	if (!serve_finish(&s)) {
		log_warn("requests were still open after %d s", FINISH_S);
		log_end();
		_exit(0); /* exit() would destroy what the threads still use */
	}
	arrivals_close(&s.arrivals);
	arena_free(&a);
	return OK;
}

struct serve_size serve_size_of(
    const struct serve_options *o, const struct conf *cf, int64_t workers)
{
	return (struct serve_size){
		.workers = o->workers > 0 ? o->workers : workers,
		.connections = o->connections > 0 ? o->connections :
		                                    cf->max_connections,
		.queued = cf->max_queued_requests,
		.buffer_bytes = (size_t)(o->buffer_bytes > 0 ?
					     o->buffer_bytes :
					     cf->request_buffer_bytes),
	};
}

#define OF(member) FIELD_OF(struct serve_options, member)
const struct field serve_fields[] = {
	{ "socket", OF(socket), "PATH",
	    .help =
		"unix socket to listen on (in run_dir), unless descriptor 0 is a listening socket" },
	{ "workers", OF(workers), "N",
	    .help = "threads that answer requests (scheduler_workers, web_workers)",
	    .min = 1, .max = 4096 },
	{ "connections", OF(connections), "N",
	    .help = "connections open at once (max_connections)", .min = 1,
	    .max = 65536 },
	{ "buffer", OF(buffer_bytes), "BYTES",
	    .help = "memory for their requests (request_buffer_bytes)", .min = 1 },
	{ "project", OF(project), "DIR", .letter = 'p',
	    .help =
		"project directory; default: LOCUS_PROJECT, or the nearest parent directory with a config.xml" },
	{ 0 },
};

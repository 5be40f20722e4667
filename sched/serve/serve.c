/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main thread: accepts connections and shuts everything down.  All threads share
 * one lock and hold it only briefly.
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
#include "lib/log.h"
#include "lib/notify.h"
#include "lib/proc.h"
#include "lib/sock.h"
#include "lib/text.h"
#include "lib/banned.h"

enum {
	STACK = 256 << 10, /* of a connection thread */
	HEAPS = 4,
	SILENCE_S = 120, /* of the web server in the middle of a request */
	FINISH_S = 12,   /* after SIGTERM */
	HUNG_S = 60,     /* a worker is busy for as long only if it hangs */
	STATUS_EVERY_S = 5,
	FDS_OWN = 32 + ARRIVALS_MOST, /* of the process itself */
	FDS_WORKER = 16
};

static enum err
start_thread(void *(*run)(void *), void *arg, pthread_t *t, struct fail *f)
{
	pthread_attr_t attr;
	pthread_t own;
	int rc;

	pthread_attr_init(&attr);
	if (t == NULL) {
		pthread_attr_setstacksize(&attr, STACK);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	}
	rc = pthread_create(t == NULL ? &own : t, &attr, run, arg);
	pthread_attr_destroy(&attr);
	errno = rc;
	return rc == 0 ? OK : FAIL_ERRNO(f, "starting a thread");
}

static int
signals_open(void)
{
	static const int stops[] = { SIGTERM, SIGINT, SIGHUP };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < N(stops); i++)
		sigaddset(&set, stops[i]);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Limits connections to the number of descriptors that the process may have. */
static void
fit_descriptors(struct serve_size *size)
{
	int64_t own = FDS_OWN + FDS_WORKER * size->workers;
	struct rlimit fds;

	if (getrlimit(RLIMIT_NOFILE, &fds) < 0)
		return;
	fds.rlim_cur = fds.rlim_max;
	setrlimit(RLIMIT_NOFILE, &fds);
	if (fds.rlim_cur >= (rlim_t)(size->connections + own))
		return;
	size->connections = (int64_t)fds.rlim_cur - own;
	if (size->connections < 1)
		size->connections = 1;
	log_warn("only %lld connections at once: a process may have %lld open files",
	    (long long)size->connections, (long long)fds.rlim_cur);
}

/*
 * Is a thread idle?  If not, starts one if possible; the event `freed` tells when it is
 * idle.
 */
static bool
thread_is_idle(struct server *s)
{
	struct fail f = { 0 };
	bool yes, more;

	pthread_mutex_lock(&s->lock);
	yes = s->idle != NULL;
	more = !yes && s->threads < s->size.connections;
	s->starved = !yes;
	s->threads += more;
	pthread_mutex_unlock(&s->lock);
	if (!more || start_thread(conn_main, s, NULL, &f) == OK)
		return yes;
	pthread_mutex_lock(&s->lock);
	s->threads--;
	s->size.connections = s->threads > 0 ? s->threads : 1;
	pthread_mutex_unlock(&s->lock);
	log_fail("connections", &f);
	return false;
}

/* Gives an idle thread a connection; returns false if none has a request. */
static bool
serve_next(struct server *s)
{
	struct timeval silence = { .tv_sec = SILENCE_S };
	int fd = arrivals_take(&s->arrivals);
	struct conn *c;

	if (fd < 0)
		return false;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof(silence));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &silence, sizeof(silence));
	pthread_mutex_lock(&s->lock);
	c = s->idle;
	s->idle = c->next_idle;
	c->fd = fd;
	s->busy++;
	pthread_cond_signal(&c->wake);
	pthread_mutex_unlock(&s->lock);
	return true;
}

static void
clear_event(int fd)
{
	uint64_t n;

	(void)!read(fd, &n, sizeof(n));
}

/*
 * Do the workers hang?  All that they wait for has a limit of some seconds, so that a
 * worker which has been busy for HUNG_S will not answer any more.  That is fatal once
 * no other worker has answered anything for as long.
 */
static bool
workers_hang(const struct server *s, int64_t now_ms)
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
 * Tells the service manager that this process goes on.  It is the main thread that
 * does: it hangs with the others if one of them keeps the lock.  Logs nothing, because
 * it may be the log that hangs.
 */
static void
report_life(struct server *s)
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
static int
sooner_ms(int a, int b)
{
	if (a < 0 || b < 0)
		return a < 0 ? b : a;
	return a < b ? a : b;
}

/* Accepts connections until a signal asks to stop; returns its number. */
static int
accept_all(struct server *s)
{
	struct signalfd_siginfo told;

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
			clear_event(s->freed);
	}
}

/*
 * Accepts the connections still queued in the socket: if no path leads to the socket
 * any more, nobody else can. Those that are accepted already are served.
 */
static void
accept_rest(struct server *s, int64_t last_ms)
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
static void
stop_reading(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	for (struct conn *c = s->all; c != NULL; c = c->next)
		if (c->fd >= 0 && c->reading)
			shutdown(c->fd, SHUT_RD);
	pthread_mutex_unlock(&s->lock);
}

static bool
all_answered(struct server *s)
{
	bool yes;

	pthread_mutex_lock(&s->lock);
	yes = s->busy == 0;
	pthread_mutex_unlock(&s->lock);
	return yes;
}

static void
end_threads(struct server *s, struct worker *workers, int64_t n)
{
	bool left = true;

	pthread_mutex_lock(&s->lock);
	s->ended = true;
	for (int64_t i = 0; i < n; i++)
		pthread_cond_signal(&workers[i].wake);
	for (struct conn *c = s->all; c != NULL; c = c->next)
		pthread_cond_signal(&c->wake);
	pthread_mutex_unlock(&s->lock);
	for (int64_t i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
	while (left) {
		pthread_mutex_lock(&s->lock);
		left = s->threads > 0;
		pthread_mutex_unlock(&s->lock);
		if (left)
			clock_nap_ms(1);
	}
}

/* Ends all threads; returns false if some request does not finish in time. */
static bool
serve_finish(struct server *s, struct worker *workers, int64_t n)
{
	int64_t end = clock_mono_ms() + FINISH_S * 1000;

	accept_rest(s, end);
	stop_reading(s);
	while (!all_answered(s)) {
		if (clock_mono_ms() >= end)
			return false;
		wake_workers(s);
		clock_nap_ms(5);
	}
	end_threads(s, workers, n);
	return true;
}

static enum err
start_workers(struct server *s, struct worker *workers, struct fail *f)
{
	for (int64_t i = 0; i < s->size.workers; i++)
		workers[i] = (struct worker){
			.server = s, .number = i, .wake = PTHREAD_COND_INITIALIZER
		};
	for (int64_t i = 0; i < s->size.workers; i++)
		TRY(start_thread(worker_main, &workers[i], &workers[i].thread, f));
	return OK;
}

enum err
serve_run(const struct serve_program *p, const struct serve_size *size, int listening,
    struct fail *f)
{
	struct server s = { .program = p,
		.size = *size,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.terms_lock = PTHREAD_MUTEX_INITIALIZER };
	struct arena a = { 0 };
	struct worker *workers = NEWN(&a, struct worker, (size_t)size->workers);
	uint64_t seed;
	int sig;

	random_bytes(&seed, sizeof(seed));
	admission_begin(&s.admission, size->queued, seed, clock_mono_ms());
	s.workers = workers;
	s.parked.last = &s.parked.first;
	pthread_condattr_init(&s.monotonic);
	pthread_condattr_setclock(&s.monotonic, CLOCK_MONOTONIC);
	/*
	 * Many threads hold little, so a few heaps suffice; memory of a large request
	 * is given back.
	 */
	mallopt(M_ARENA_MAX, HEAPS);
	proc_tune_malloc();
	fit_descriptors(&s.size);
	s.signals = signals_open();
	s.freed = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s.signals < 0 || s.freed < 0)
		return FAIL_ERRNO(f, "waiting for signals");
	TRY(arrivals_begin(&s.arrivals, &a, listening, &p->peer, f));
	if (FCGX_Init() != 0)
		return FAIL(f, E_SYS, "cannot initialise libfcgi");
	TRY(start_workers(&s, workers, f));
	log_info("%s serves with %lld workers", p->name, (long long)s.size.workers);
	sig = accept_all(&s);
	proc_stopping = sig;
	notify_stopping();
	log_info("%s ends after signal %d", p->name, sig);
	if (!serve_finish(&s, workers, s.size.workers)) {
		log_warn("requests were still open after %d s", FINISH_S);
		_exit(0); /* exit() would destroy what the threads still use */
	}
	arrivals_close(&s.arrivals);
	arena_free(&a);
	return OK;
}

enum err
serve_socket(const char *path, const struct web_peer *peer, int *fd, struct fail *f)
{
	*fd = STDIN_FILENO;
	if (sock_listens(STDIN_FILENO))
		return OK;
	if (sock_answers(path))
		return FAIL(f, E_RETRY, "another process serves %s already", path);
	return sock_listen(path, peer->group, fd, f);
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Load generator: many hosts make requests as fast as they are answered, over a fixed
 * number of connections, in one process with plain sockets and poll(). Every host has
 * its own address in 127/8 and opens a connection for each request, as a client does
 * that connects every few minutes; --keep-alive reuses a connection as long as the
 * server allows.
 *
 *   load --url URL --request FILE [OPTION...]
 *
 * After an unmeasured first request of every host, prints "ready" and reads lines:
 *
 *   go    measures for --seconds, or until --until results are sent
 *   all   every host makes one request, all at the same moment
 *   down  the same while no server runs, so that every request fails
 *
 * Each prints a line "measured" with the figures of this phase. Anything else ends the
 * program with one line of figures. A host that is told that the server is busy comes
 * back after the delay it was given, not before.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>
#include "lib/clock.h"
#include "test/bench/load.h"
#include "lib/banned.h"

enum { CONNECTIONS_MOST = 4096, WARM_UP = 16, SPARE = 8 };

static double own_cpu(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* --- phases --- */

/*
 * Returns the next host in turn with a reason for a request; NULL if there is none now.
 */
static struct host *host_next(struct run *r)
{
	const struct habits *g = &r->w.habits;
	double now = clock_now_f();

	for (int i = 0; i < g->nhosts; i++) {
		struct host *h = &r->w.hosts[r->next];

		r->next = (r->next + 1) % g->nhosts;
		if (!h->busy && h->not_before <= now && (g->want > 0 || h->ntasks > 0))
			return h;
	}
	return NULL;
}

static bool any_comes_back(const struct run *r)
{
	double now = clock_now_f();

	for (int i = 0; i < r->w.habits.nhosts; i++)
		if (r->w.hosts[i].not_before > now)
			return true;
	return false;
}

/*
 * Makes the first request of every host. Uses SPARE more connections, so that the
 * server starts spare processes; but no crowd of them.
 */
static bool warm_up(struct run *r)
{
	const struct habits *g = &r->w.habits;
	int done = 0, nlines = (r->nlines < WARM_UP ? r->nlines : WARM_UP) + SPARE;
	bool good = true;

	while (good && (done < g->nhosts || r->open > 0)) {
		for (int i = 0; i < nlines && done < g->nhosts; i++)
			if (r->lines[i].host == NULL) {
				line_prepare(r, &r->lines[i], &r->w.hosts[done++],
				    g->first_want);
				line_open(r, &r->lines[i]);
			}
		good = lines_serve(r);
	}
	for (int i = 0; i < nlines; i++)
		line_close(&r->lines[i]);
	return good;
}

/* Lets each idle connection begin a request. Returns false if no host wants one. */
static bool lines_begin(struct run *r)
{
	for (int i = 0; i < r->nlines; i++) {
		struct host *h;

		if (r->lines[i].host != NULL)
			continue;
		if ((h = host_next(r)) == NULL)
			return r->open > 0 || any_comes_back(r);
		line_prepare(r, &r->lines[i], h, r->w.habits.want);
		line_open(r, &r->lines[i]);
	}
	return true;
}

static bool measure_phase(struct run *r)
{
	double end = clock_now_f() + r->seconds;
	long long enough = r->until > 0 ? r->w.tally.sent + r->until : 0;
	bool good = true, more = true;

	r->empty_before = r->w.tally.empty;
	r->hungry_before = r->hungry;
	while (good && (more || r->open > 0)) {
		more = more && clock_now_f() < end &&
		       (enough == 0 || r->w.tally.sent < enough) && lines_begin(r);
		good = lines_serve(r);
	}
	return good;
}

/* Every host makes one request. With `down`, all are expected to fail. */
static bool crowd_phase(struct run *r, bool down)
{
	bool good = true;

	r->down = down;
	for (int i = 0; i < r->w.habits.nhosts; i++)
		line_prepare(r, &r->lines[i], &r->w.hosts[i], r->w.habits.want);
	r->phase_from = clock_now_f();
	for (int i = 0; i < r->w.habits.nhosts; i++)
		line_open(r, &r->lines[i]);
	while (good && r->open > 0)
		good = lines_serve(r);
	r->down = false;
	return good;
}

static int float_order(const void *pa, const void *pb)
{
	const float *a = pa, *b = pb;

	return (*a > *b) - (*a < *b);
}

/* Share of the sorted times of `n` replies, in ms. */
static double took(const float *ms, size_t n, double share)
{
	return n == 0 ? 0 : (double)ms[(size_t)((double)(n - 1) * share)];
}

/* Runs one phase and prints its figures. */
static bool phase(struct run *r, char what)
{
	const struct tally *t = &r->w.tally, before = *t;
	long long errors = r->errors, refused = r->refused;
	size_t from = r->ntook, n;
	double cpu = own_cpu(), seconds;
	float *ms;
	bool good;

	r->phase_from = r->last_event = clock_now_f();
	good = what == 'g' ? measure_phase(r) : crowd_phase(r, what == 'd');
	seconds = clock_now_f() - r->phase_from;
	r->measured_s += seconds;
	r->cpu_s += own_cpu() - cpu;
	ms = r->took_ms + from;
	n = r->ntook - from;
	if (n > 0)
		qsort(ms, n, sizeof(*ms), float_order);
	printf("measured rpcs=%lld busy=%lld sent=%lld errors=%lld refused=%lld "
	       "seconds=%.3f p50=%.3f p99=%.2f max=%.2f\n",
	    t->rpcs - before.rpcs, t->busy - before.busy, t->sent - before.sent,
	    r->errors - errors, r->refused - refused, seconds, took(ms, n, 0.5),
	    took(ms, n, 0.99), took(ms, n, 1));
	fflush(stdout);
	return good;
}

static void figures(struct run *r)
{
	const struct tally *t = &r->w.tally, *b = &r->before;
	long long twice = events_twice(&r->w);

	if (r->ntook > 0)
		qsort(r->took_ms, r->ntook, sizeof(*r->took_ms), float_order);
	printf("load: rpcs=%lld sent=%lld acked=%lld hits=%lld empty=%lld hungry=%lld "
	       "seconds=%.3f "
	       "cpu=%.3f p50=%.2f p99=%.2f max=%.2f bytes_out=%lld bytes_in=%lld "
	       "errors=%lld invalid=%lld twice=%lld again=%lld unknown=%lld "
	       "overflow=%lld busy=%lld busy_s=%.0f:%.0f refused=%lld\n",
	    t->rpcs - b->rpcs, t->sent - b->sent, t->acked - b->acked,
	    t->hits - b->hits, t->empty - b->empty, r->hungry, r->measured_s, r->cpu_s,
	    took(r->took_ms, r->ntook, 0.5), took(r->took_ms, r->ntook, 0.99),
	    took(r->took_ms, r->ntook, 1), r->bytes_out, r->bytes_in, r->errors,
	    t->invalid, twice, t->again, t->unknown, t->overflow, t->busy,
	    t->busy_least_s, t->busy_most_s, r->refused);
}

static int run_load(struct run *r)
{
	char line[80];
	bool good;

	hosts_make(&r->w);
	r->last_event = clock_now_f();
	good = warm_up(r);
	r->before = r->w.tally;
	r->ntook = 0;
	r->hungry = 0;
	r->bytes_in = r->bytes_out = 0;
	puts("ready");
	fflush(stdout);
	while (good && fgets(line, sizeof(line), stdin) != NULL &&
	       strchr("gad", line[0]) != NULL)
		good = phase(r, line[0]);
	figures(r);
	if (r->log != NULL)
		good = events_write(&r->w, r->log) && good;
	return good ? 0 : 1;
}

/* --- options --- */

static const struct option options[] = {
	{ "url", 1, NULL, 'u' },
	{ "request", 1, NULL,
	    'R' }, /* a stock client's request, used as the template */
	{ "connections", 1, NULL, 'c' },
	{ "seconds", 1, NULL, 's' },
	{ "until", 1, NULL, 'U' },
	{ "hosts", 1, NULL, 'h' },       /* FIRST:NUMBER */
	{ "per-account", 1, NULL, 'p' }, /* hosts of one account */
	{ "files", 1, NULL, 'f' },       /* FIRST:NUMBER, to hold */
	{ "hold", 1, NULL, 'o' },        /* files per host */
	{ "file-bytes", 1, NULL, 'b' },
	{ "job-seconds", 1, NULL, 'j' },
	{ "forget", 0, NULL, 'F' }, /* downloaded files are gone by the next request */
	{ "want", 1, NULL, 'w' },   /* jobs asked for */
	{ "instances", 1, NULL, 'n' }, /* idle CPUs */
	{ "first", 1, NULL, 'i' },     /* jobs asked for in the first request */
	{ "report", 1, NULL, 'r' },    /* results reported at most */
	{ "log", 1, NULL, 'l' },
	{ "keep", 1, NULL, 'k' }, /* directory for pairs of request and reply */
	{ "keep-alive", 0, NULL, 'a' },
	{ NULL, 0, NULL, 0 },
};

static bool number_option(const char *text, int *to)
{
	char *end;

	*to = (int)strtol(text, &end, 10);
	return end != text && *end == '\0';
}

static bool number_range(const char *text, int *first, int *n)
{
	return sscanf(text, "%d:%d", first, n) == 2 && *n > 0;
}

/* http://HOST:PORT/PATH */
static bool take_url(struct run *r, const char *text)
{
	char where[100], path[200];

	if (sscanf(text, "http://%99[^:/]:%d%199s", where, &r->port, path) != 3)
		return false;
	r->where = arena_strdup(&r->w.life, where);
	r->path = arena_strdup(&r->w.life, path);
	return true;
}

static bool option(struct run *r, int c, const char *arg)
{
	struct habits *g = &r->w.habits;
	int n;

	switch (c) {
	case 'u':
		return take_url(r, arg);
	case 'R':
		return template_read(&r->w, arg);
	case 'c':
		return number_option(arg, &r->nlines);
	case 's':
		return (r->seconds = strtod(arg, NULL)) > 0;
	case 'U':
		return number_option(arg, &n) && (r->until = n) > 0;
	case 'h':
		return number_range(arg, &g->first_host, &g->nhosts);
	case 'p':
		return number_option(arg, &g->per_account) && g->per_account > 0;
	case 'f':
		return number_range(arg, &g->first_file, &g->nfiles);
	case 'o':
		return number_option(arg, &g->hold);
	case 'b':
		return number_option(arg, &n) && (g->file_bytes = n) > 0;
	case 'j':
		return number_option(arg, &n) && (g->job_s = n) > 0;
	case 'F':
		return g->forget = true;
	case 'w':
		return number_option(arg, &g->want);
	case 'n':
		return number_option(arg, &g->instances);
	case 'i':
		return number_option(arg, &g->first_want);
	case 'r':
		return number_option(arg, &g->report);
	case 'l':
		r->log = arg;
		return true;
	case 'k':
		r->keep = arg;
		return true;
	case 'a':
		return r->keep_alive = true;
	default:
		return false;
	}
}

int main(int argc, char **argv)
{
	struct run r = { .nlines = 16,
		.seconds = 5,
		.w.habits = { .want = 2,
		    .first_want = 2,
		    .report = 2,
		    .job_s = 1000,
		    .nfiles = 1,
		    .per_account = 1,
		    .file_bytes = 1e6 } };
	bool good = true;
	int c, code, nlines;
	struct rlimit fds;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		good = good && option(&r, c, optarg);
	if (!good || r.where == NULL || r.w.template.n == 0 || r.nlines < 1 ||
	    r.w.habits.nhosts < r.nlines || r.nlines > CONNECTIONS_MOST ||
	    r.w.habits.hold > HOLD_MOST) {
		fprintf(stderr,
		    "usage: load --url http://HOST:PORT/PATH --request FILE "
		    "--hosts FIRST:NUMBER [OPTION...]\n");
		return 2;
	}
	nlines = r.nlines + SPARE;
	if (nlines < r.w.habits.nhosts && r.w.habits.nhosts <= CONNECTIONS_MOST)
		nlines = r.w.habits.nhosts; /* for all at once */
	r.lines = NEWN(&r.w.life, struct line, (size_t)nlines);
	r.poll = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < nlines; i++)
		r.lines[i].fd = -1;
	if (getrlimit(RLIMIT_NOFILE, &fds) == 0) {
		fds.rlim_cur = fds.rlim_max;
		setrlimit(RLIMIT_NOFILE, &fds);
	}
	code = run_load(&r);
	for (int i = 0; i < nlines; i++) {
		line_close(&r.lines[i]);
		arena_free(&r.lines[i].a);
	}
	arena_free(&r.w.life);
	return code;
}

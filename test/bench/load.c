/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Load generator: many hosts make requests as fast as they are answered, over a fixed
 * number of connections, in one process with plain sockets and poll().  Every host has
 * its own address in 127/8 and opens a connection for each request, as a client does
 * that connects every few minutes; --keep-alive reuses a connection as long as the
 * server allows.
 *
 *   load --url URL --request FILE [OPTION...]
 *
 * After an unmeasured first request of every host, prints "ready" and reads a line:
 * "go" measures for --seconds, or until --until results are sent, prints "measured" and
 * reads the next line.  Anything else ends the program with one line of figures.
 */
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include "lib/clock.h"
#include "test/bench/load.h"
#include "lib/banned.h"

enum {
	CONNECTIONS_MOST = 1024,
	REPLY_MOST = 8 << 20,
	QUIET_MS = 30000,
	KEEP_EVERY = 100,
	SPARE = 8
};

struct line { /* a connection */
	int fd;
	struct host *host; /* NULL: idle */
	bool wanted;
	bool used; /* has served a request before */
	long long
	    empty; /* number of requests without work so far when this one was sent */
	struct arena a;
	struct buf out, in;
	size_t sent;
	double from;
};

struct run {
	struct world w;
	const char *path, *where, *log, *keep;
	int port, nlines, seconds;
	long long until;
	bool keep_alive;
	struct line *lines;
	struct pollfd *polls;
	float *took_ms;
	size_t ntook, took_cap;
	int next; /* host */
	double measured_s, cpu_s;
	long long bytes_out, bytes_in, errors;
	long long empty_before, hungry, hungry_before; /* for the measured phase */
	struct tally before;
};

static double
own_cpu(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* --- one request --- */

static void
line_close(struct line *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}

/* Connects in blocking mode: on loopback this returns at once. */
static bool
line_connect(struct run *r, struct line *l, int64_t host)
{
	struct sockaddr_in from = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(0x7f010000u + (uint32_t)host) };
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)r->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int on = 1;

	l->used = false;
	l->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (l->fd < 0)
		return false;
	setsockopt(l->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
	setsockopt(l->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (bind(l->fd, (struct sockaddr *)&from, sizeof(from)) == 0 &&
	    connect(l->fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		return true;
	perror("load: connect");
	line_close(l);
	return false;
}

static void
line_begin(struct run *r, struct line *l, struct host *h, int want)
{
	struct buf body;

	arena_reset(&l->a);
	body = buf_new(&l->a);
	l->out = buf_new(&l->a);
	l->in = buf_new(&l->a);
	l->sent = 0;
	l->host = h;
	l->wanted = want > 0;
	l->empty = r->w.tally.empty - r->empty_before;
	h->busy = true;
	request_put(&r->w, h, want, &body);
	buf_printf(&l->out,
	    "POST %s HTTP/1.1\r\nHost: %s:%d\r\n"
	    "User-Agent: BOINC client (x86_64-pc-linux-gnu 7.20.5)\r\nAccept: */*\r\n"
	    "Accept-Encoding: deflate, gzip, br, zstd\r\nContent-Length: %zu\r\n"
	    "Content-Type: application/x-www-form-urlencoded\r\n\r\n",
	    r->path, r->where, r->port, body.n);
	buf_put(&l->out, body.p, body.n);
	l->from = clock_now_f();
	if (l->fd < 0 && !line_connect(r, l, h->id)) {
		r->errors++;
		l->host = NULL;
		h->busy = false;
	}
}

static void
keep_one(struct run *r, const struct line *l, const char *what, const char *text)
{
	struct arena a = { 0 };
	const char *path = arena_printf(&a, "%s/%lld-%lld.%s.xml", r->keep,
	    (long long)l->host->id, (long long)l->host->seqno, what);
	FILE *out = fopen(path, "we");

	if (out == NULL || fputs(text, out) < 0 || fclose(out) != 0)
		perror(path);
	arena_free(&a);
}

/* Stores every KEEP_EVERY-th request and reply for check_reply. */
static void
keep(struct run *r, const struct line *l, const char *body)
{
	if (r->keep == NULL || r->w.tally.rpcs % KEEP_EVERY != 0)
		return;
	keep_one(r, l, "request", strstr(l->out.p, "\r\n\r\n") + 4);
	keep_one(r, l, "reply", body);
}

/* Joins a chunked body in place; stops at the first malformed chunk. */
static void
join_chunks(char *body)
{
	char *to = body, *from = body, *end;
	size_t n;

	while ((n = strtoul(from, &end, 16)) > 0 && strncmp(end, "\r\n", 2) == 0 &&
	       strlen(end) >= n + 4) {
		memmove(to, end + 2, n);
		to += n;
		from = end + n + 4;
	}
	*to = '\0';
}

static bool
chunked(const struct buf *in)
{
	const char *end = strstr(in->p, "\r\n\r\n");
	const char *how = strcasestr(in->p, "\r\nTransfer-Encoding: chunked");

	return how != NULL && how < end;
}

/* Returns the size of the whole response in bytes; 0 if not known yet. */
static size_t
answer_size(const struct buf *in)
{
	const char *end = strstr(in->p, "\r\n\r\n");
	const char *length = strcasestr(in->p, "\r\nContent-Length:");

	if (end != NULL && chunked(in))
		return in->n > 7 && strcmp(in->p + in->n - 7, "\r\n0\r\n\r\n") == 0 ?
		           in->n :
		           0;
	if (end == NULL || length == NULL || length > end)
		return 0;
	return (size_t)(end + 4 - in->p) + strtoul(length + 17, NULL, 10);
}

static void
line_end(struct run *r, struct line *l, bool good)
{
	const char *body = l->in.n == 0 ? NULL : strstr(l->in.p, "\r\n\r\n");

	if (good && body != NULL && strncmp(l->in.p, "HTTP/1.1 200 ", 13) == 0) {
		long long sent = r->w.tally.sent;

		if (chunked(&l->in))
			join_chunks(l->in.p + (body + 4 - l->in.p));
		keep(r, l, body + 4);
		reply_take(&r->w, l->host, l->wanted, body + 4);
		/*
		 * This request got work, so work was available when earlier requests
		 * got none.
		 */
		if (r->w.tally.sent > sent && r->hungry_before + l->empty > r->hungry)
			r->hungry = r->hungry_before + l->empty;
	} else {
		fprintf(stderr, "load: host %lld got: %.60s\n", (long long)l->host->id,
		    l->in.n == 0 ? "nothing" : l->in.p);
		r->errors++;
	}
	PUSH(&r->w.life, r->took_ms, r->ntook,
	    r->took_cap) = (float)((clock_now_f() - l->from) * 1e3);
	r->bytes_out += (long long)l->out.n;
	r->bytes_in += (long long)l->in.n;
	l->host->busy = false;
	l->host = NULL;
	l->used = true;
	if (!good || !r->keep_alive)
		line_close(l);
}

static void
line_read(struct run *r, struct line *l)
{
	char part[65536];
	ssize_t n = recv(l->fd, part, sizeof(part), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0 || l->in.n > REPLY_MOST) {
		bool stale = l->used && l->in.n == 0;

		line_close(l);
		if (!stale)
			line_end(r, l, false);
		else if (line_connect(
			     r, l, l->host->id)) /* the server closed it while idle */
			l->sent = 0;
		return;
	}
	buf_put(&l->in, part, (size_t)n);
	size_t size = answer_size(&l->in);
	if (size > 0 && l->in.n >= size)
		line_end(r, l, true);
}

static void
line_write(struct line *l)
{
	ssize_t n = send(
	    l->fd, l->out.p + l->sent, l->out.n - l->sent, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n > 0)
		l->sent += (size_t)n;
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		l->sent = l->out.n; /* the next read reports the error */
}

/* --- all of them --- */

/*
 * Returns the next host in turn with a reason for a request; NULL if there is none now.
 */
static struct host *
host_next(struct run *r)
{
	const struct habits *g = &r->w.habits;

	for (int i = 0; i < g->nhosts; i++) {
		struct host *h = &r->w.hosts[r->next];

		r->next = (r->next + 1) % g->nhosts;
		if (!h->busy && (g->want > 0 || h->ntasks > 0))
			return h;
	}
	return NULL;
}

/* Waits for events once. Returns false if none came within QUIET_MS. */
static bool
serve_lines(struct run *r)
{
	int n = 0;

	for (int i = 0; i < r->nlines; i++)
		if (r->lines[i].host != NULL)
			r->polls[n++] = (struct pollfd){ .fd = r->lines[i].fd,
				.events = r->lines[i].sent < r->lines[i].out.n ?
				              POLLOUT :
				              POLLIN };
	if (n == 0)
		return true;
	int ready = poll(r->polls, (nfds_t)n, QUIET_MS);
	if (ready == 0)
		fprintf(stderr, "load: no answer for %d s\n", QUIET_MS / 1000);
	for (int i = 0, k = 0; ready > 0 && i < r->nlines; i++) {
		struct line *l = &r->lines[i];

		if (l->host == NULL)
			continue;
		short got = r->polls[k++].revents;
		if (got & POLLOUT && l->sent < l->out.n)
			line_write(l);
		else if (got != 0)
			line_read(r, l);
	}
	return ready != 0;
}

static bool
busy(const struct run *r)
{
	for (int i = 0; i < r->nlines; i++)
		if (r->lines[i].host != NULL)
			return true;
	return false;
}

/*
 * Makes the first request of every host. Uses SPARE more connections, so that the
 * server starts spare processes.
 */
static bool
warm_up(struct run *r)
{
	const struct habits *g = &r->w.habits;
	int done = 0, nlines = r->nlines;
	bool good = true;

	r->nlines += SPARE;
	while (good && (done < g->nhosts || busy(r))) {
		for (int i = 0; i < r->nlines && done < g->nhosts; i++)
			if (r->lines[i].host == NULL)
				line_begin(r, &r->lines[i], &r->w.hosts[done++],
				    g->first_want);
		good = serve_lines(r);
	}
	r->nlines = nlines;
	for (int i = nlines; i < nlines + SPARE; i++)
		line_close(&r->lines[i]);
	return good;
}

static bool
measure_phase(struct run *r)
{
	double start = clock_now_f(), cpu = own_cpu(), end = start + r->seconds;
	long long enough = r->until > 0 ? r->w.tally.sent + r->until : 0;
	bool good = true, more = true;

	r->empty_before = r->w.tally.empty;
	r->hungry_before = r->hungry;
	while (good && (more || busy(r))) {
		more = more && clock_now_f() < end &&
		       (enough == 0 || r->w.tally.sent < enough);
		for (int i = 0; i < r->nlines && more; i++) {
			struct host *h = r->lines[i].host != NULL ? NULL : host_next(r);

			if (h != NULL)
				line_begin(r, &r->lines[i], h, r->w.habits.want);
		}
		more = more && busy(r);
		good = serve_lines(r);
	}
	r->measured_s += clock_now_f() - start;
	r->cpu_s += own_cpu() - cpu;
	return good;
}

static int
float_order(const void *pa, const void *pb)
{
	const float *a = pa, *b = pb;

	return (*a > *b) - (*a < *b);
}

static double
took(const struct run *r, double share)
{
	if (r->ntook == 0)
		return 0;
	return (double)r->took_ms[(size_t)((double)(r->ntook - 1) * share)];
}

static void
figures(struct run *r)
{
	const struct tally *t = &r->w.tally, *b = &r->before;
	long long twice = events_twice(&r->w);

	if (r->ntook > 0)
		qsort(r->took_ms, r->ntook, sizeof(*r->took_ms), float_order);
	printf("load: rpcs=%lld sent=%lld acked=%lld hits=%lld empty=%lld hungry=%lld "
	       "seconds=%.3f "
	       "cpu=%.3f p50=%.2f p99=%.2f max=%.2f bytes_out=%lld bytes_in=%lld "
	       "errors=%lld invalid=%lld twice=%lld again=%lld unknown=%lld "
	       "overflow=%lld\n",
	    t->rpcs - b->rpcs, t->sent - b->sent, t->acked - b->acked,
	    t->hits - b->hits, t->empty - b->empty, r->hungry, r->measured_s, r->cpu_s,
	    took(r, 0.5), took(r, 0.99), took(r, 1), r->bytes_out, r->bytes_in,
	    r->errors, t->invalid, twice, t->again, t->unknown, t->overflow);
}

static bool
told(const char *what)
{
	char line[80] = "";

	return fgets(line, sizeof(line), stdin) != NULL &&
	       strncmp(line, what, strlen(what)) == 0;
}

static int
run_load(struct run *r)
{
	bool good;

	hosts_make(&r->w);
	good = warm_up(r);
	r->before = r->w.tally;
	r->ntook = 0;
	r->hungry = 0;
	r->bytes_in = r->bytes_out = 0;
	puts("ready");
	fflush(stdout);
	while (told("go") && good) {
		good = measure_phase(r);
		puts("measured");
		fflush(stdout);
	}
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
	{ "hosts", 1, NULL, 'h' }, /* FIRST:NUMBER */
	{ "files", 1, NULL, 'f' }, /* FIRST:NUMBER, to hold */
	{ "hold", 1, NULL, 'o' },  /* files per host */
	{ "file-bytes", 1, NULL, 'b' },
	{ "job-seconds", 1, NULL, 'j' },
	{ "forget", 0, NULL, 'F' }, /* downloaded files are gone by the next request */
	{ "want", 1, NULL, 'w' },   /* jobs asked for */
	{ "first", 1, NULL, 'i' },  /* jobs asked for in the first request */
	{ "report", 1, NULL, 'r' }, /* results reported at most */
	{ "log", 1, NULL, 'l' },
	{ "keep", 1, NULL, 'k' }, /* directory for pairs of request and reply */
	{ "keep-alive", 0, NULL, 'a' },
	{ NULL, 0, NULL, 0 },
};

static bool
number_option(const char *text, int *to)
{
	char *end;

	*to = (int)strtol(text, &end, 10);
	return end != text && *end == '\0';
}

static bool
number_range(const char *text, int *first, int *n)
{
	return sscanf(text, "%d:%d", first, n) == 2 && *n > 0;
}

/* http://HOST:PORT/PATH */
static bool
take_url(struct run *r, const char *text)
{
	char where[100], path[200];

	if (sscanf(text, "http://%99[^:/]:%d%199s", where, &r->port, path) != 3)
		return false;
	r->where = arena_strdup(&r->w.life, where);
	r->path = arena_strdup(&r->w.life, path);
	return true;
}

static bool
option(struct run *r, int c, const char *arg)
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
		return number_option(arg, &r->seconds);
	case 'U':
		return number_option(arg, &n) && (r->until = n) > 0;
	case 'h':
		return number_range(arg, &g->first_host, &g->nhosts);
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

int
main(int argc, char **argv)
{
	struct run r = { .nlines = 16,
		.seconds = 5,
		.w.habits = { .want = 2,
		    .first_want = 2,
		    .report = 2,
		    .job_s = 1000,
		    .nfiles = 1,
		    .file_bytes = 1e6 } };
	bool good = true;
	int c, code;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		good = good && option(&r, c, optarg);
	if (!good || r.where == NULL || r.w.template.n == 0 || r.nlines < 1 ||
	    r.w.habits.nhosts < r.nlines || r.nlines > CONNECTIONS_MOST ||
	    r.w.habits.hold > HELD / 2) {
		fprintf(stderr,
		    "usage: load --url http://HOST:PORT/PATH --request FILE "
		    "--hosts FIRST:NUMBER [OPTION...]\n");
		return 2;
	}
	r.lines = NEWN(&r.w.life, struct line, (size_t)(r.nlines + SPARE));
	r.polls = NEWN(&r.w.life, struct pollfd, (size_t)(r.nlines + SPARE));
	for (int i = 0; i < r.nlines + SPARE; i++)
		r.lines[i].fd = -1;
	code = run_load(&r);
	for (int i = 0; i < r.nlines + SPARE; i++) {
		line_close(&r.lines[i]);
		arena_free(&r.lines[i].a);
	}
	arena_free(&r.w.life);
	return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many connections to one scheduler at once. Each sends the request in a file: all at
 * the same moment, again and again, or slowly.
 *
 *   crowd --url http://ADDRESS:PORT/PATH --request FILE --hosts N [--seconds S]
 *         [--from ADDRESS [--addresses N]] [--header LINE]
 *         [--slow head|body --rate BYTES_PER_S] [--cut BYTES] [--once]
 *
 * In the file and the header @N@ stands for the host's number with six digits, @n@ for
 * the same number without leading zeros.
 *
 *   --seconds    each host asks again as soon as it has its reply, until the time is
 * over; without it, or with --once, each host asks once
 *   --addresses  the hosts take turns at N addresses, starting with --from
 *   --slow       sends the head or the body at BYTES_PER_S, one piece a second
 *   --cut        leaves out the last BYTES of each request, then reads the reply
 *
 * Prints one line: requests=, replies= (HTTP 200 with a whole scheduler_reply), busy=
 * (the replies that say that the server is busy), lost= (requests without such a
 * reply), open= (connections that are open at the end), the 99th percentile and the
 * maximum of the replies' times in ms, the least and the greatest delay in s that a
 * busy reply asks for and the number of different delays, and the number of answers of
 * each HTTP status.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "lib/banned.h"

enum { REPLY = 32 << 10, EVENTS = 256, TICK_MS = 20, GIVE_UP_S = 100, STATUSES = 600 };

struct options {
	const char *url, *request, *from, *header, *slow;
	int64_t hosts, seconds, rate, cut, addresses;
	bool once;
};

struct host {
	int fd; /* -1 = not connected */
	int64_t since_ms;
	const char *out;
	size_t out_n, sent, head_n;
	char *reply;
	size_t reply_n;
};

struct crowd {
	struct arena a;
	struct options o;
	struct sockaddr_in to, from;
	struct host *hosts;
	int poll;
	int64_t start_ms;
	int64_t requests, replies, busy, lost, statuses[STATUSES];
	int64_t *took_ms;
	size_t ntook, took_cap;
	int64_t *delays_ms; /* of busy replies */
	size_t ndelays, delays_cap;
	int64_t open;
};

static void crowd_usage(void)
{
	fputs(
	    "usage: crowd --url URL --request FILE --hosts N [--seconds S] [--from ADDRESS [--addresses N]] [--header LINE] [--slow head|body --rate N] [--cut BYTES] [--once]\n",
	    stderr);
	_exit(2);
}

static bool text_option(int c, struct options *o)
{
	switch (c) {
	case 'u':
		o->url = optarg;
		return true;
	case 'r':
		o->request = optarg;
		return true;
	case 'f':
		o->from = optarg;
		return true;
	case 'H':
		o->header = optarg;
		return true;
	case 'w':
		o->slow = optarg;
		return true;
	case 'o':
		return o->once = true;
	default:
		return false;
	}
}

static bool crowd_number(int c, struct options *o)
{
	switch (c) {
	case 'n':
		return text_i64(optarg, 1, 20000, &o->hosts);
	case 's':
		return text_i64(optarg, 0, 3600, &o->seconds);
	case 'b':
		return text_i64(optarg, 1, 1000000, &o->rate);
	case 'c':
		return text_i64(optarg, 1, 1000, &o->cut);
	case 'a':
		return text_i64(optarg, 1, 200, &o->addresses);
	default:
		return false;
	}
}

static void parse_options(int argc, char **argv, struct options *o)
{
	static const struct option longopts[] = {
		{ "url", required_argument, NULL, 'u' },
		{ "request", required_argument, NULL, 'r' },
		{ "hosts", required_argument, NULL, 'n' },
		{ "seconds", required_argument, NULL, 's' },
		{ "from", required_argument, NULL, 'f' },
		{ "header", required_argument, NULL, 'H' },
		{ "slow", required_argument, NULL, 'w' },
		{ "rate", required_argument, NULL, 'b' },
		{ "cut", required_argument, NULL, 'c' },
		{ "addresses", required_argument, NULL, 'a' },
		{ "once", no_argument, NULL, 'o' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", longopts, NULL)) != -1)
		if (!text_option(c, o) && !crowd_number(c, o))
			crowd_usage();
	if (o->url == NULL || o->request == NULL || o->hosts == 0 ||
	    (o->slow != NULL && o->rate == 0))
		crowd_usage();
}

/* --- requests --- */

static const char *filled_in(
    struct arena *a, const char *text, int64_t number, size_t *n)
{
	struct buf b = buf_new(a);

	for (const char *gap; (gap = strchr(text, '@')) != NULL;) {
		bool wide = strncmp(gap, "@N@", 3) == 0;
		bool place = wide || strncmp(gap, "@n@", 3) == 0;

		buf_put(&b, text, (size_t)(gap - text) + !place);
		if (place)
			buf_printf(&b, "%0*lld", wide ? 6 : 1, (long long)number);
		text = gap + (place ? 3 : 1);
	}
	buf_puts(&b, text);
	*n = b.n;
	return b.p;
}

static void prepare_requests(struct crowd *c, const char *path, const char *where)
{
	struct fail f = { 0 };
	char *text;

	if (fs_read(&c->a, c->o.request, 64 << 20, &text, NULL, &f) != OK) {
		fprintf(stderr, "crowd: %s\n", f.detail);
		_exit(1);
	}
	c->hosts = NEWN(&c->a, struct host, (size_t)c->o.hosts);
	for (int64_t i = 0; i < c->o.hosts; i++) {
		struct host *h = &c->hosts[i];
		struct buf b = buf_new(&c->a);
		size_t n;
		const char *body = filled_in(&c->a, text, i, &n);
		size_t header_n;
		const char *header = filled_in(
		    &c->a, c->o.header == NULL ? "" : c->o.header, i, &header_n);

		buf_printf(&b,
		    "POST %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n%s%sContent-Type: text/xml\r\nContent-Length: %zu\r\n\r\n",
		    path, where, header, header_n == 0 ? "" : "\r\n", n);
		h->head_n = b.n;
		buf_put(&b, body, n);
		h->out = b.p;
		if ((size_t)c->o.cut > n) {
			fprintf(stderr, "crowd: --cut is longer than the request\n");
			_exit(1);
		}
		h->out_n = b.n - (size_t)c->o.cut;
		h->fd = -1;
		h->reply = arena_alloc(&c->a, REPLY + 1);
	}
}

static void find_server(struct crowd *c)
{
	const char *p = strstr(c->o.url, "://");
	const char *path = p == NULL ? NULL : strchr(p + 3, '/'), *colon;
	char *where;
	int64_t port = 80;

	if (path == NULL)
		crowd_usage();
	where = arena_memdup(&c->a, p + 3, (size_t)(path - p) - 3);
	colon = strchr(where, ':');
	if (colon != NULL && !text_i64(colon + 1, 1, 65535, &port))
		crowd_usage();
	c->to = (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_port = htons((uint16_t)port) };
	c->from = (struct sockaddr_in){ .sin_family = AF_INET };
	if (inet_pton(AF_INET, arena_memdup(&c->a, where, strcspn(where, ":")),
		&c->to.sin_addr) != 1 ||
	    (c->o.from != NULL &&
		inet_pton(AF_INET, c->o.from, &c->from.sin_addr) != 1))
		crowd_usage();
	prepare_requests(c, path, where);
}

/* --- one connection --- */

static void connection_begin(struct crowd *c, struct host *h)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT, .data.ptr = h };
	struct sockaddr_in from = c->from;

	if (c->o.addresses > 0)
		from.sin_addr.s_addr = htonl(
		    ntohl(from.sin_addr.s_addr) +
		    (uint32_t)((h - c->hosts) % c->o.addresses));
	h->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (h->fd < 0 ||
	    (c->o.from != NULL &&
		bind(h->fd, (const struct sockaddr *)&from, sizeof(from)) < 0) ||
	    (connect(h->fd, (const struct sockaddr *)&c->to, sizeof(c->to)) < 0 &&
		errno != EINPROGRESS)) {
		perror("crowd: connecting");
		_exit(1);
	}
	h->sent = h->reply_n = 0;
	h->since_ms = clock_mono_ms();
	if (c->o.slow != NULL)
		ev.events = EPOLLIN;
	epoll_ctl(c->poll, EPOLL_CTL_ADD, h->fd, &ev);
	c->requests++;
	c->open++;
}

static void note_busy(struct crowd *c, const char *reply)
{
	static const char tag[] = "<request_delay>";
	const char *delay = strstr(reply, tag);
	double s = 0;

	c->busy++;
	if (delay != NULL)
		s = strtod(delay + strlen(tag), NULL);
	PUSH(&c->a, c->delays_ms, c->ndelays, c->delays_cap) = (int64_t)(s * 1000);
}

/* Judges the reply after the server has closed the connection. */
static void connection_end(struct crowd *c, struct host *h)
{
	int status = 0;

	close(h->fd);
	h->fd = -1;
	c->open--;
	h->reply[h->reply_n] = '\0';
	if (strncmp(h->reply, "HTTP/1.1 ", 9) == 0)
		status = (int)strtol(h->reply + 9, NULL, 10) % STATUSES;
	c->statuses[status]++;
	if (status != 200 || strstr(h->reply, "<scheduler_reply>") == NULL ||
	    strstr(h->reply, "</scheduler_reply>") == NULL) {
		c->lost++;
	} else {
		c->replies++;
		if (strstr(h->reply, "is busy") != NULL)
			note_busy(c, h->reply);
		PUSH(&c->a, c->took_ms, c->ntook, c->took_cap) = clock_mono_ms() -
		                                                 h->since_ms;
	}
	if (!c->o.once && clock_mono_ms() - c->start_ms < c->o.seconds * 1000)
		connection_begin(c, h);
}

/* Number of the request's bytes that the host may have sent by now. */
static size_t bytes_allowed(const struct crowd *c, const struct host *h, int64_t now_ms)
{
	size_t due = (size_t)((now_ms - h->since_ms) / 1000 * c->o.rate) + 1;

	if (c->o.slow == NULL)
		return h->out_n;
	if (strcmp(c->o.slow, "body") == 0)
		due += h->head_n;
	else if (due >= h->head_n)
		return h->out_n;
	return due < h->out_n ? due : h->out_n;
}

static void connection_send(struct crowd *c, struct host *h)
{
	size_t most = bytes_allowed(c, h, clock_mono_ms());
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = h };

	while (h->sent < most) {
		ssize_t n = send(h->fd, h->out + h->sent, most - h->sent, MSG_NOSIGNAL);

		if (n < 0)
			return; /* the server's answer is still read */
		h->sent += (size_t)n;
	}
	if (h->sent == h->out_n && c->o.cut > 0)
		shutdown(h->fd, SHUT_WR);
	if (h->sent == h->out_n)
		epoll_ctl(c->poll, EPOLL_CTL_MOD, h->fd, &ev);
}

static void connection_receive(struct crowd *c, struct host *h)
{
	ssize_t n = recv(h->fd, h->reply + h->reply_n, REPLY - h->reply_n, 0);

	if (n > 0) {
		h->reply_n += (size_t)n;
		if (h->reply_n == REPLY) /* only its end matters */
			h->reply_n -= 1 << 10;
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		connection_end(c, h);
	}
}

/* --- the crowd --- */

static void crowd_run(struct crowd *c)
{
	struct epoll_event ev[EVENTS];
	int64_t stop_ms, slow_ms = 0;

	c->start_ms = clock_mono_ms();
	stop_ms = c->start_ms + (c->o.seconds + GIVE_UP_S) * 1000;
	if (c->o.slow != NULL)
		stop_ms = c->start_ms + c->o.seconds * 1000;
	for (int64_t i = 0; i < c->o.hosts; i++)
		connection_begin(c, &c->hosts[i]);
	while (c->open > 0 && clock_mono_ms() < stop_ms && !proc_stopping) {
		int n = epoll_wait(c->poll, ev, EVENTS, TICK_MS);

		for (int i = 0; i < n; i++) {
			struct host *h = ev[i].data.ptr;

			if (ev[i].events & EPOLLOUT)
				connection_send(c, h);
			if (h->fd >= 0 && (ev[i].events & ~(uint32_t)EPOLLOUT) != 0)
				connection_receive(c, h);
		}
		if (c->o.slow == NULL || clock_mono_ms() - slow_ms < 200)
			continue;
		slow_ms = clock_mono_ms();
		for (int64_t i = 0; i < c->o.hosts; i++)
			if (c->hosts[i].fd >= 0)
				connection_send(c, &c->hosts[i]);
	}
}

static int by_size(const void *x, const void *y)
{
	const int64_t *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

static void print_delays(struct crowd *c)
{
	size_t n = c->ndelays, different = 1;

	if (n == 0)
		return;
	qsort(c->delays_ms, n, sizeof(*c->delays_ms), by_size);
	for (size_t i = 1; i < n; i++)
		different += c->delays_ms[i] != c->delays_ms[i - 1];
	printf(" delay_min_s=%lld delay_max_s=%lld delays=%zu",
	    (long long)(c->delays_ms[0] / 1000),
	    (long long)(c->delays_ms[n - 1] / 1000), different);
}

static void print_figures(struct crowd *c)
{
	int64_t p99 = 0, most = 0;

	if (c->ntook > 0) {
		qsort(c->took_ms, c->ntook, sizeof(*c->took_ms), by_size);
		most = c->took_ms[c->ntook - 1];
		p99 = c->took_ms[c->ntook * 99 / 100];
	}
	c->lost += c->o.slow == NULL ? c->open : 0;
	printf(
	    "requests=%lld replies=%lld busy=%lld lost=%lld open=%lld p99_ms=%lld max_ms=%lld",
	    (long long)c->requests, (long long)c->replies, (long long)c->busy,
	    (long long)c->lost, (long long)c->open, (long long)p99, (long long)most);
	print_delays(c);
	for (int i = 0; i < STATUSES; i++)
		if (c->statuses[i] > 0)
			printf(" http_%d=%lld", i, (long long)c->statuses[i]);
	putchar('\n');
}

int main(int argc, char **argv)
{
	static struct crowd c;
	struct rlimit fds;

	parse_options(argc, argv, &c.o);
	proc_signals();
	if (getrlimit(RLIMIT_NOFILE, &fds) == 0) {
		fds.rlim_cur = fds.rlim_max;
		setrlimit(RLIMIT_NOFILE, &fds);
	}
	find_server(&c);
	c.poll = epoll_create1(EPOLL_CLOEXEC);
	crowd_run(&c);
	print_figures(&c);
	arena_free(&c.a);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The load generator's connections: one request at a time on each, without waiting. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "lib/clock.h"
#include "test/bench/load.h"
#include "lib/banned.h"

enum {
	REPLY_MOST = 8 << 20,
	QUIET_S = 30,
	TICK_MS = 50,
	EVENTS = 256,
	KEEP_EVERY = 100
};

void line_close(struct line *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}

static bool line_listen(struct run *r, struct line *l, int how, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = l };

	return epoll_ctl(r->poll, how, l->fd, &ev) == 0;
}

/* Connects without waiting. The first event reports a failure. */
static bool line_connect(struct run *r, struct line *l)
{
	struct sockaddr_in from = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(0x7f010000u + (uint32_t)l->host->id) };
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)r->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int on = 1;

	l->used = false;
	l->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->fd < 0)
		return false;
	setsockopt(l->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
	setsockopt(l->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (bind(l->fd, (struct sockaddr *)&from, sizeof(from)) == 0 &&
	    (connect(l->fd, (struct sockaddr *)&to, sizeof(to)) == 0 ||
		errno == EINPROGRESS) &&
	    line_listen(r, l, EPOLL_CTL_ADD, EPOLLIN | EPOLLOUT))
		return true;
	if (!r->down)
		perror("load: connect");
	line_close(l);
	return false;
}

void line_prepare(struct run *r, struct line *l, struct host *h, int want)
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
}

void line_open(struct run *r, struct line *l)
{
	bool good;

	l->from = clock_now_f();
	good = l->fd < 0 ? line_connect(r, l) :
	                   line_listen(r, l, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
	if (good) {
		r->open++;
		return;
	}
	*(r->down ? &r->refused : &r->errors) += 1;
	l->host->busy = false;
	l->host = NULL;
}

static void keep_one(
    struct run *r, const struct line *l, const char *what, const char *text)
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
static void keep(struct run *r, const struct line *l, const char *body)
{
	if (r->keep == NULL || r->w.tally.rpcs % KEEP_EVERY != 0)
		return;
	keep_one(r, l, "request", strstr(l->out.p, "\r\n\r\n") + 4);
	keep_one(r, l, "reply", body);
}

/* Joins a chunked body in place; stops at the first malformed chunk. */
static void join_chunks(char *body)
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

static bool chunked(const struct buf *in)
{
	const char *end = strstr(in->p, "\r\n\r\n");
	const char *how = strcasestr(in->p, "\r\nTransfer-Encoding: chunked");

	return how != NULL && how < end;
}

/* Returns the size of the whole response in bytes; 0 if not known yet. */
static size_t answer_size(const struct buf *in)
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

/* Applies the reply to the host. Returns false if it is none. */
static bool answer_take(struct run *r, struct line *l)
{
	char *body = l->in.n == 0 ? NULL : strstr(l->in.p, "\r\n\r\n");
	long long sent = r->w.tally.sent, busy = r->w.tally.busy;
	double now = clock_now_f();

	if (body == NULL || strncmp(l->in.p, "HTTP/1.1 200 ", 13) != 0)
		return false;
	if (chunked(&l->in))
		join_chunks(body + 4);
	keep(r, l, body + 4);
	reply_take(&r->w, l->host, l->wanted, body + 4, now);
	if (r->w.tally.busy == busy)
		PUSH(&r->w.life, r->took_ms, r->ntook,
		    r->took_cap) = (float)((now - l->from) * 1e3);
	/* This request got work, so work was available when earlier requests got none.
	 */
	if (r->w.tally.sent > sent && r->hungry_before + l->empty > r->hungry)
		r->hungry = r->hungry_before + l->empty;
	return true;
}

static void line_end(struct run *r, struct line *l, bool good)
{
	if (!good || !answer_take(r, l)) {
		if (!r->down)
			fprintf(stderr, "load: host %lld got: %.60s\n",
			    (long long)l->host->id, l->in.n == 0 ? "nothing" : l->in.p);
		*(r->down ? &r->refused : &r->errors) += 1;
	}
	r->bytes_out += (long long)l->out.n;
	r->bytes_in += (long long)l->in.n;
	l->host->busy = false;
	l->host = NULL;
	l->used = true;
	r->open--;
	if (!good || !r->keep_alive)
		line_close(l);
}

static void line_read(struct run *r, struct line *l)
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
		else if (line_connect(r, l)) /* the server closed it while idle */
			l->sent = 0;
		return;
	}
	buf_put(&l->in, part, (size_t)n);
	size_t size = answer_size(&l->in);
	if (size > 0 && l->in.n >= size)
		line_end(r, l, true);
}

static void line_write(struct run *r, struct line *l)
{
	ssize_t n = send(
	    l->fd, l->out.p + l->sent, l->out.n - l->sent, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n > 0)
		l->sent += (size_t)n;
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		l->sent = l->out.n; /* the next read reports the error */
	if (l->sent == l->out.n)
		line_listen(r, l, EPOLL_CTL_MOD, EPOLLIN);
}

bool lines_serve(struct run *r)
{
	struct epoll_event ev[EVENTS];
	int n = epoll_wait(r->poll, ev, EVENTS, TICK_MS);
	double now = clock_now_f();

	for (int i = 0; i < n; i++) {
		struct line *l = ev[i].data.ptr;

		if (ev[i].events & EPOLLOUT && l->host != NULL && l->sent < l->out.n)
			line_write(r, l);
		if ((ev[i].events & ~(uint32_t)EPOLLOUT) == 0)
			continue;
		if (l->host != NULL)
			line_read(r, l);
		else
			line_close(l); /* the server closed it while idle */
	}
	if (n > 0 || r->open == 0)
		r->last_event = now;
	if (now - r->last_event < QUIET_S)
		return true;
	fprintf(stderr, "load: no answer for %d s\n", QUIET_S);
	return false;
}

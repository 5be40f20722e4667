/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/serve/arrivals.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/banned.h"

enum {
	HEAD_MOST = 64 << 10, /* of a longer head, so much decides */
	ACCEPT_AT_ONCE = 64,
	ACCEPT_PAUSE_MS = 250,
	EVENTS = 64,
	SAY_EVERY_MS = 60000,
	/* FastCGI: the header of a record, and what Locus looks at */
	FCGI_HEADER = 8,
	FCGI_V1 = 1,
	FCGI_TYPE_PARAMS = 4
};

/* --- lists --- */

static void list_append(struct arrival_list *l, struct arrival *c)
{
	c->prev = l->last;
	c->next = NULL;
	if (l->last == NULL)
		l->first = c;
	else
		l->last->next = c;
	l->last = c;
	l->n++;
}

static struct arrival *list_remove(struct arrival_list *l, struct arrival *c)
{
	if (c->prev == NULL)
		l->first = c->next;
	else
		c->prev->next = c->next;
	if (c->next == NULL)
		l->last = c->prev;
	else
		c->next->prev = c->prev;
	l->n--;
	return c;
}

enum err arrivals_begin(struct arrivals *v, struct arena *a, int listening,
    const struct web_peer *peer, struct fail *f)
{
	struct arrival *all = NEWN(a, struct arrival, ARRIVALS_MOST);
	struct epoll_event ev = { .events = EPOLLIN };

	*v = (struct arrivals){ .events = epoll_create1(EPOLL_CLOEXEC),
		.listening = listening,
		.peer = *peer,
		.head = NEWN(a, char, HEAD_MOST),
		.wait_ms = ARRIVALS_WAIT_MS,
		.told_ms = clock_mono_ms() - SAY_EVERY_MS };
	for (size_t i = 0; i < ARRIVALS_MOST; i++)
		list_append(&v->unused, &all[i]);
	/* Another process or thread may be faster. */
	if (v->events < 0 || fcntl(listening, F_SETFL, O_NONBLOCK) < 0 ||
	    epoll_ctl(v->events, EPOLL_CTL_ADD, listening, &ev) < 0)
		return FAIL_ERRNO(f, "watching the socket");
	return OK;
}

static void close_silent(struct arrivals *v, struct arrival *c)
{
	/* A child process may still have the descriptor, and then closing it does not
	 * end its events. */
	epoll_ctl(v->events, EPOLL_CTL_DEL, c->fd, NULL);
	close(c->fd);
	list_append(&v->unused, list_remove(&v->silent, c));
}

void arrivals_close(struct arrivals *v)
{
	while (v->silent.first != NULL)
		close_silent(v, v->silent.first);
	while (v->ready.first != NULL)
		close(list_remove(&v->ready, v->ready.first)->fd);
	close(v->events);
}

/* --- what a connection has said --- */

enum head { HEAD_PART, HEAD_WHOLE, HEAD_NEVER };

static enum head head_of(struct arrivals *v, int fd)
{
	ssize_t n = recv(fd, v->head, HEAD_MOST, MSG_PEEK | MSG_DONTWAIT);
	const unsigned char *p = (const unsigned char *)v->head;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? HEAD_PART : HEAD_NEVER;
	if (n == 0)
		return HEAD_NEVER;
	for (ssize_t at = 0; at + FCGI_HEADER <= n;) {
		const unsigned char *r = p + at;
		int length = r[4] << 8 | r[5];

		if (r[0] != FCGI_V1)
			return HEAD_NEVER;
		if (r[1] == FCGI_TYPE_PARAMS && length == 0)
			return HEAD_WHOLE;
		at += FCGI_HEADER + length + r[6];
	}
	return n == HEAD_MOST ? HEAD_WHOLE : HEAD_PART;
}

/* Looks at a silent connection, whose time may be over. */
static void look(struct arrivals *v, struct arrival *c, bool over)
{
	switch (head_of(v, c->fd)) {
	case HEAD_WHOLE:
		epoll_ctl(v->events, EPOLL_CTL_DEL, c->fd, NULL);
		list_append(&v->ready, list_remove(&v->silent, c));
		return;
	case HEAD_NEVER:
		over = true;
		break;
	case HEAD_PART:
		break;
	}
	if (!over)
		return;
	v->closed++;
	close_silent(v, c);
}

/* --- accepting --- */

static void take_in(struct arrivals *v, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP | EPOLLET };
	struct arrival *c;
	uid_t uid;

	if (!web_peer_allows(&v->peer, fd, &uid)) {
		v->strangers++;
		v->stranger = uid;
		close(fd);
		return;
	}
	while (v->unused.n == 0) /* never are so many ready: accept_some() */
		look(v, v->silent.first, true);
	c = list_remove(&v->unused, v->unused.first);
	c->fd = fd;
	c->since_ms = clock_mono_ms();
	list_append(&v->silent, c);
	look(v, c, false);
	ev.data.ptr = c;
	if (v->silent.last == c && c->fd == fd &&
	    epoll_ctl(v->events, EPOLL_CTL_ADD, fd, &ev) < 0) {
		v->closed++;
		close_silent(v, c);
	}
}

/* Some at once; the event of the listening socket stays while there are more. */
static void accept_some(struct arrivals *v)
{
	for (int i = 0; i < ACCEPT_AT_ONCE && !v->ended; i++) {
		int fd = accept4(v->listening, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0) {
			take_in(v, fd);
			continue;
		}
		/* Out of descriptors or memory: pause and try again. */
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			clock_nap_ms(ACCEPT_PAUSE_MS);
		return;
	}
}

/* Says from time to time what was closed. */
static void say_closed(struct arrivals *v)
{
	int64_t now_ms = clock_mono_ms();

	if (v->strangers + v->closed == 0 || now_ms - v->told_ms < SAY_EVERY_MS)
		return;
	if (v->strangers > 0)
		log_warn(
		    "closed %lld connections of other accounts, the last one of uid %lld: only the web server's account may speak to this service (web_server_account)",
		    (long long)v->strangers, (long long)v->stranger);
	if (v->closed > 0)
		log_warn(
		    "closed %lld connections without a request", (long long)v->closed);
	v->strangers = v->closed = 0;
	v->told_ms = now_ms;
}

int arrivals_take(struct arrivals *v)
{
	struct epoll_event got[EVENTS];
	int64_t now_ms;
	int n = 0, fd;

	if (v->ready.n == 0)
		n = epoll_wait(v->events, got, EVENTS, 0);
	for (int i = 0; i < n; i++)
		if (got[i].data.ptr != NULL)
			look(v, got[i].data.ptr, false);
	/* Last, as it may close and use again what other events are about. */
	for (int i = 0; i < n; i++)
		if (got[i].data.ptr == NULL)
			accept_some(v);
	now_ms = clock_mono_ms();
	while (
	    v->silent.first != NULL && now_ms - v->silent.first->since_ms >= v->wait_ms)
		look(v, v->silent.first, true);
	say_closed(v);
	if (v->ready.n == 0)
		return -1;
	fd = v->ready.first->fd;
	list_append(&v->unused, list_remove(&v->ready, v->ready.first));
	return fd;
}

int arrivals_timeout_ms(const struct arrivals *v)
{
	int64_t ms;

	if (v->ready.n > 0)
		return 0;
	if (v->silent.first == NULL)
		return -1;
	ms = v->silent.first->since_ms + v->wait_ms - clock_mono_ms();
	return ms < 0 ? 0 : (int)ms + 1;
}

void arrivals_end(struct arrivals *v, bool more)
{
	v->wait_ms = ARRIVALS_END_MS;
	if (more || v->ended)
		return;
	v->ended = true;
	epoll_ctl(v->events, EPOLL_CTL_DEL, v->listening, NULL);
}

bool arrivals_left(const struct arrivals *v)
{
	return v->silent.n + v->ready.n > 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Connections to a running host. */
#include "client/control/server.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "client/control/control.h"
#include "client/control/gui.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/sock.h"
#include "lib/banned.h"

enum {
	LISTENERS_MOST = 3,
	CONNECTIONS_MOST = 16, /* of each listener */
	READ_BYTES = 16 << 10,
	FD_FREE = -1
};

struct connection {
	int fd;
	struct arena a; /* holds both buffers */
	struct buf in, out;
	size_t sent;
	bool waits; /* its request changes the host */
	int64_t active_ms;
	struct dialog dialog;
};
struct listener {
	int fd;
	const struct protocol *protocol;
	struct connection connections[CONNECTIONS_MOST];
};
struct control {
	struct listener listeners[LISTENERS_MOST];
	size_t n;
	char *path, *gui_path; /* of the sockets in the directory */
};

_Static_assert(LISTENERS_MOST *(CONNECTIONS_MOST + 1) <= CONTROL_FDS,
    "every connection can be polled");

/* --- opening and closing --- */

static bool answer_line(struct client *c, struct dialog *d, char *text, size_t n,
    bool may_change, struct buf *out)
{
	d->close = true;
	return local_answer(c, text, n, may_change, out);
}

static const struct protocol local = { .request_most = 64 << 10,
	.idle_s = 60,
	.end = '\n',
	.answer = answer_line };

/* Who can open the socket in the directory needs no password. */
static bool answer_gui_local(struct client *c, struct dialog *d, char *text, size_t n,
    bool may_change, struct buf *out)
{
	d->authorized = true;
	return gui_answer(c, d, text, n, may_change, out);
}

static const struct protocol gui_local = { .request_most = GUI_REQUEST_MOST,
	.idle_s = GUI_IDLE_S,
	.end = GUI_END,
	.answer = answer_gui_local };
static const struct protocol gui_remote = { .request_most = GUI_REQUEST_MOST,
	.idle_s = GUI_IDLE_S,
	.stranger_s = GUI_STRANGER_S,
	.end = GUI_END,
	.answer = gui_answer };

static void add_listener(struct control *k, int fd, const struct protocol *protocol)
{
	struct listener *l = &k->listeners[k->n++];

	l->fd = fd;
	l->protocol = protocol;
	for (size_t i = 0; i < CONNECTIONS_MOST; i++)
		l->connections[i].fd = FD_FREE;
}

static void open_gui_port(struct client *c, struct control *k)
{
	int fd, port;

	if (c->options.gui_port < 0)
		return;
	if (gui_password(c, &c->gui_password) == OK &&
	    sock_listen_loopback((int)c->options.gui_port, &fd, &port, &c->fail) ==
		OK) {
		add_listener(k, fd, &gui_remote);
		log_info(
		    "GUI RPC on port %d of 127.0.0.1, password in %s/" GUI_PASSWORD,
		    port, c->dir);
		return;
	}
	log_fail("no GUI RPC by TCP", &c->fail);
}

void control_open(struct client *c)
{
	struct control *k = NEW(&c->process, struct control);
	int fd;

	k->path = arena_printf(&c->process, "%s/%s", c->dir, CONTROL_SOCKET);
	c->control = k;
	if (sock_listen(k->path, (gid_t)-1, &fd, &c->fail) == OK)
		add_listener(k, fd, &local);
	else
		log_fail("commands will not reach this host", &c->fail);
	k->gui_path = arena_printf(&c->process, "%s/" GUI_SOCKET, c->dir);
	if (sock_listen(k->gui_path, (gid_t)-1, &fd, &c->fail) == OK)
		add_listener(k, fd, &gui_local);
	else
		log_fail("no GUI RPC by a local socket", &c->fail);
	open_gui_port(c, k);
}

static void drop_connection(struct connection *x)
{
	close(x->fd);
	arena_free(&x->a);
	*x = (struct connection){ .fd = FD_FREE };
}

void control_close(struct client *c)
{
	struct control *k = c->control;

	if (k == NULL)
		return;
	for (size_t i = 0; i < k->n; i++) {
		struct listener *l = &k->listeners[i];

		for (size_t j = 0; j < CONNECTIONS_MOST; j++)
			if (l->connections[j].fd != FD_FREE)
				drop_connection(&l->connections[j]);
		close(l->fd);
	}
	if (fs_unlink(k->path, &c->fail) != OK ||
	    fs_unlink(k->gui_path, &c->fail) != OK)
		log_fail("socket", &c->fail);
	c->control = NULL;
}

/* --- bytes --- */

static void start_request(struct connection *x)
{
	arena_reset(&x->a);
	x->in = buf_new(&x->a);
	x->out = buf_new(&x->a);
	x->sent = 0;
	x->waits = false;
}

static void accept_connections(struct listener *l)
{
	for (size_t i = 0; i < CONNECTIONS_MOST; i++) {
		struct connection *x = &l->connections[i];

		if (x->fd != FD_FREE)
			continue;
		x->fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (x->fd < 0) {
			x->fd = FD_FREE;
			return;
		}
		x->active_ms = clock_mono_ms();
		start_request(x);
	}
}

static bool is_stranger(const struct listener *l, const struct connection *x)
{
	return l->protocol->stranger_s > 0 && !x->dialog.authorized;
}

/* Sends what the socket takes; false: the connection is at its end. */
static bool send_some(const struct listener *l, struct connection *x)
{
	ssize_t n;

	if (x->sent == x->out.n)
		return true;
	n = send(x->fd, x->out.p + x->sent, x->out.n - x->sent, MSG_NOSIGNAL);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	x->sent += (size_t)n;
	if (!is_stranger(l, x))
		x->active_ms = clock_mono_ms();
	if (x->sent < x->out.n)
		return true;
	start_request(x);
	return !x->dialog.close;
}

/* Returns false if the connection is at its end: the peer closed it, or sent too
 * much. */
static bool receive_some(const struct listener *l, struct connection *x)
{
	char bytes[READ_BYTES];
	ssize_t n = recv(x->fd, bytes, sizeof(bytes), 0);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n == 0 || x->in.n + (size_t)n > l->protocol->request_most)
		return false;
	buf_put(&x->in, bytes, (size_t)n);
	if (!is_stranger(l, x))
		x->active_ms = clock_mono_ms();
	return true;
}

/* --- requests --- */

/* Answers the request that is here, if it may. */
static void answer_waiting(
    struct client *c, struct listener *l, struct connection *x, bool may_change)
{
	struct arena round;
	const char *end = x->in.n == 0 ? NULL :
	                                 memchr(x->in.p, l->protocol->end, x->in.n);
	size_t n;
	char *text;

	if (x->out.n > 0 || end == NULL)
		return;
	n = (size_t)(end - x->in.p);
	text = arena_memdup(&x->a, x->in.p, n);
	/* During a long exchange the round's scratch arena only grows. */
	round = c->scratch;
	c->scratch = (struct arena){ 0 };
	x->waits = !l->protocol->answer(c, &x->dialog, text, n, may_change, &x->out);
	arena_free(&c->scratch);
	c->scratch = round;
}

static void look_at(
    struct client *c, struct listener *l, struct connection *x, int64_t now_ms)
{
	int patience_s = is_stranger(l, x) ? l->protocol->stranger_s :
	                                     l->protocol->idle_s;
	bool open = true;

	if (!x->waits && x->out.n == 0)
		open = receive_some(l, x);
	if (open && !x->waits)
		answer_waiting(c, l, x, false);
	if (open && !x->waits)
		open = send_some(l, x);
	if (!open || (!x->waits && now_ms > x->active_ms + 1000LL * patience_s))
		drop_connection(x);
}

void control_look(struct client *c)
{
	struct control *k = c->control;
	int64_t now_ms = clock_mono_ms();

	for (size_t i = 0; k != NULL && i < k->n; i++) {
		struct listener *l = &k->listeners[i];

		accept_connections(l);
		for (size_t j = 0; j < CONNECTIONS_MOST; j++)
			if (l->connections[j].fd != FD_FREE)
				look_at(c, l, &l->connections[j], now_ms);
	}
}

bool control_waiting(const struct client *c)
{
	const struct control *k = c->control;

	for (size_t i = 0; k != NULL && i < k->n; i++)
		for (size_t j = 0; j < CONNECTIONS_MOST; j++)
			if (k->listeners[i].connections[j].waits)
				return true;
	return false;
}

void control_serve(struct client *c)
{
	struct connection *served[CONTROL_FDS];
	struct control *k = c->control;
	size_t n = 0;

	control_look(c);
	for (size_t i = 0; k != NULL && i < k->n; i++)
		for (size_t j = 0; j < CONNECTIONS_MOST; j++) {
			struct connection *x = &k->listeners[i].connections[j];

			if (!x->waits)
				continue;
			answer_waiting(c, &k->listeners[i], x, true);
			served[n++] = x;
		}
	if (n == 0)
		return;
	allowed_update(c);
	c->save_after_ms = 0;
	/* What could not be saved is not confirmed. */
	for (size_t i = 0; !client_save(c) && i < n; i++)
		drop_connection(served[i]);
	control_look(c);
}

/* --- waiting --- */

size_t control_fds(struct client *c, struct pollfd *fds)
{
	struct control *k = c->control;
	size_t n = 0;

	for (size_t i = 0; k != NULL && i < k->n; i++) {
		const struct listener *l = &k->listeners[i];
		size_t used = 0;

		for (size_t j = 0; j < CONNECTIONS_MOST; j++) {
			const struct connection *x = &l->connections[j];

			if (x->fd == FD_FREE)
				continue;
			used++;
			if (!x->waits)
				fds[n++] = (struct pollfd){ .fd = x->fd,
					.events = x->out.n > 0 ? POLLOUT : POLLIN };
		}
		/* When all connections are taken, others wait in the socket's queue. */
		if (used < CONNECTIONS_MOST)
			fds[n++] = (struct pollfd){ .fd = l->fd, .events = POLLIN };
	}
	return n;
}

void control_nap(struct client *c, int ms)
{
	struct pollfd fds[CONTROL_FDS];

	if (poll(fds, control_fds(c, fds), ms) > 0)
		control_look(c);
}

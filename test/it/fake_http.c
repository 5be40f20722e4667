/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP of the fake project. */
#include "test/it/fake_http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/banned.h"

enum { CHUNK = 64 << 10, PAUSE_MS = 10, HEAD_MAX = 16 << 10 };

int http_listen(int *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(at);
	union {
		struct sockaddr_in in;
		struct sockaddr any;
	} u = { at };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, &u.any, sizeof(at)) != 0 || listen(fd, 16) != 0 ||
	    getsockname(fd, &u.any, &n) != 0)
		return -1;
	*port = ntohs(u.in.sin_port);
	return fd;
}

static const char *http_header_value(const char *head, const char *name)
{
	const char *p = strcasestr(head, name);

	return p == NULL ? NULL : p + strlen(name);
}

static bool read_head(struct arena *a, int fd, struct buf *in, size_t *head_n)
{
	char chunk[4096];

	*in = buf_new(a);
	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));
		const char *end;

		if (n <= 0 || in->n > HEAD_MAX)
			return false;
		buf_put(in, chunk, (size_t)n);
		end = memmem(in->p, in->n, "\r\n\r\n", 4);
		if (end != NULL) {
			*head_n = (size_t)(end - in->p) + 4;
			return true;
		}
	}
}

bool http_read(struct arena *a, int fd, struct http_in *r,
    bool (*half)(void *ctx, const char *path), void *ctx)
{
	struct buf in;
	size_t head_n, want;
	char chunk[4096];
	const char *v, *path;
	ssize_t n;

	*r = (struct http_in){ .from = -1 };
	if (!read_head(a, fd, &in, &head_n))
		return false;
	char *head = arena_memdup(a, in.p, head_n);
	r->post = strncmp(head, "POST ", 5) == 0;
	path = head + strcspn(head, " ") + 1;
	r->path = arena_memdup(a, path, strcspn(path, " \r"));
	if ((v = http_header_value(head, "\r\nContent-Length:")) != NULL)
		r->declared_n = strtoul(v, NULL, 10);
	if ((v = http_header_value(head, "\r\nRange: bytes=")) != NULL)
		r->from = strtoll(v, NULL, 10);
	want = half != NULL && r->post && half(ctx, r->path) ? r->declared_n / 2 :
	                                                       r->declared_n;
	while (in.n - head_n < want && (n = read(fd, chunk, sizeof(chunk))) > 0)
		buf_put(&in, chunk, (size_t)n);
	r->body = in.p + head_n;
	r->body_n = in.n - head_n < want ? in.n - head_n : want;
	return true;
}

size_t http_answer(
    int fd, int status, int64_t from, const char *body, size_t n, size_t sent)
{
	struct arena a = { 0 };
	struct buf head = buf_new(&a);
	size_t done = 0;

	buf_printf(&head,
	    "HTTP/1.1 %d x\r\nConnection: close\r\nContent-Length: %zu\r\n", status, n);
	if (status == 206)
		buf_printf(&head, "Content-Range: bytes %lld-%lld/%lld\r\n",
		    (long long)from, (long long)from + (long long)n - 1,
		    (long long)from + (long long)n);
	buf_puts(&head, "\r\n");
	if (send(fd, head.p, head.n, MSG_NOSIGNAL) == (ssize_t)head.n)
		while (done < sent) {
			size_t more = sent - done < CHUNK ? sent - done : CHUNK;
			ssize_t w = send(fd, body + done, more, MSG_NOSIGNAL);

			if (w <= 0)
				break;
			done += (size_t)w;
			if (done < sent)
				clock_nap_ms(PAUSE_MS);
		}
	arena_free(&a);
	return done;
}

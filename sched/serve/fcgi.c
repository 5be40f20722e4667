/* SPDX-License-Identifier: Apache-2.0 */
/* Runs libfcgi on connections that another thread has accepted. */
#include "sched/serve/fcgi.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/text.h"
#include "lib/banned.h"

enum { FIRST = 16 << 10, ADDRESS_MAX = 45 };

/*
 * Returns the entry that the outermost of our proxies appended. Each proxy appends
 * one, so entries invented by a client come before those that count.
 */
static const char *forwarded_for(const char *list, int64_t proxies)
{
	const char *p = list + strlen(list);

	while (p > list && (p[-1] != ',' || --proxies > 0))
		p--;
	return p + strspn(p, " \t[");
}

const char *fcgi_peer(
    struct arena *a, const char *forwarded, const char *remote, int64_t proxies)
{
	const char *from = proxies > 0 && forwarded != NULL && forwarded[0] != '\0' ?
	                       forwarded_for(forwarded, proxies) :
	                   remote != NULL ? remote :
	                                    "";
	size_t n = strspn(from, "0123456789abcdefABCDEF.:");
	const char *colon = memchr(from, ':', n);

	/* 192.0.2.7:1234, but neither 2001:db8::7 nor ::ffff:192.0.2.7 */
	if (colon != NULL && memchr(from, '.', (size_t)(colon - from)) != NULL)
		n = (size_t)(colon - from);
	return arena_memdup(a, from, n < ADDRESS_MAX ? n : ADDRESS_MAX);
}

static const char *param(const FCGX_Request *f, const char *name)
{
	const char *v = FCGX_GetParam(name, f->envp);

	return v == NULL ? "" : v;
}

bool fcgi_begin(
    FCGX_Request *f, int fd, struct arena *a, int64_t proxies, struct fcgi_request *rq)
{
	static char none[1];
	const char *uri;

	if (FCGX_InitRequest(f, -1, FCGI_FAIL_ACCEPT_ON_INTR) != 0) {
		close(fd);
		return false;
	}
	/*
	 * FCGX_Accept_r() reads from the connection that exists already; without a
	 * listening socket it cannot wait for another.
	 */
	f->ipcFd = fd;
	f->keepConnection = 1;
	if (FCGX_Accept_r(f) != 0) {
		FCGX_Free(f, 1);
		return false;
	}
	uri = param(f, "REQUEST_URI");
	*rq = (struct fcgi_request){
		.f = f,
		.a = a,
		.method = param(f, "REQUEST_METHOD"),
		.uri = arena_memdup(a, uri, strcspn(uri, "?")),
		.query = param(f, "QUERY_STRING"),
		.auth = param(f, "HTTP_AUTHORIZATION"),
		.peer = fcgi_peer(a, param(f, "HTTP_X_FORWARDED_FOR"),
		    param(f, "REMOTE_ADDR"), proxies),
		.body = none,
	};
	if (!text_i64(param(f, "CONTENT_LENGTH"), 0, INT64_MAX, &rq->length))
		rq->length = -1;
	return true;
}

size_t fcgi_body(struct fcgi_request *rq, char *to, size_t n)
{
	int got = FCGX_GetStr(to, (int)(n < INT_MAX ? n : INT_MAX), rq->f->in);

	if (got <= 0)
		return 0;
	rq->body_n += (size_t)got;
	return (size_t)got;
}

bool fcgi_cut_off(const struct fcgi_request *rq)
{
	return FCGX_GetError(rq->f->in) != 0 ||
	       (rq->length >= 0 && rq->body_n < (size_t)rq->length);
}

enum fcgi_got fcgi_read(struct fcgi_request *rq, size_t max,
    bool (*room)(void *ctx, size_t bytes), void *ctx)
{
	size_t cap = rq->body_n, next;

	while (rq->body_n < max) {
		if (rq->body_n == cap) {
			char *larger;

			/* Content-Length is only a hint: it may be wrong. */
			next = cap == 0 ? FIRST : 2 * cap;
			if (cap == 0 && rq->length >= 0)
				next = (size_t)rq->length + 1;
			next = next < max ? next : max;
			if (!room(ctx, next))
				return FCGI_NO_ROOM;
			larger = arena_alloc(rq->a, next + 1);
			memcpy(larger, rq->body, rq->body_n);
			rq->body = larger;
			cap = next;
		}
		fcgi_body(rq, rq->body + rq->body_n, cap - rq->body_n);
		if (rq->body_n < cap)
			return fcgi_cut_off(rq) ? FCGI_CUT_OFF : FCGI_WHOLE;
	}
	return FCGI_MORE;
}

void fcgi_end(const struct fcgi_request *rq, const struct fcgi_reply *rp, bool whole)
{
	FCGX_Request *f = rq->f;

	if (rp->status != NULL)
		FCGX_FPrintF(f->out, "Status: %s\r\n", rp->status);
	/*
	 * Otherwise a web server that keeps the connection would read the rest of the
	 * request.
	 */
	FCGX_FPrintF(f->out, "Content-Type: %s\r\nContent-Length: %lu\r\n%s%s\r\n",
	    rp->type, (unsigned long)rp->body.n, whole ? "" : "Connection: close\r\n",
	    rp->headers == NULL ? "" : rp->headers);
	FCGX_PutStr(rp->body.p, (int)rp->body.n, f->out);
	/*
	 * If the request was not read to its end, libfcgi keeps reading until the web
	 * server has closed its side, so that the web server does not meet a closed
	 * socket before it has seen the reply.
	 */
	if (whole)
		FCGX_Detach(f);
	FCGX_Finish_r(f);
	FCGX_Free(
	    f, 1); /* closes the connection even if the web server would reuse it */
}

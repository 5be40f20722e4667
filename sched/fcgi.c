/* SPDX-License-Identifier: Apache-2.0 */
/* The accept loop of scheduler and web around libfcgi's reentrant calls. */
#include "sched/fcgi.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <fcgiapp.h>
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/banned.h"

enum { SPARE = 4 << 10, ADDRESS_MAX = 45 };

/*
 * Each proxy adds an entry at the end, so what a client invented stands before those
 * that count.
 */
static const char *
forwarded_for(const char *list, int64_t proxies)
{
	const char *p = list + strlen(list);

	while (p > list && (p[-1] != ',' || --proxies > 0))
		p--;
	return p + strspn(p, " \t[");
}

const char *
fcgi_peer(struct arena *a, const char *forwarded, const char *remote, int64_t proxies)
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

/*
 * The body up to max bytes.  CONTENT_LENGTH is only a hint for the first allocation: it
 * may be missing or wrong.  What is over the cap is read and thrown away, or the web
 * server reports an error.
 */
static void
read_body(struct fcgi_request *rq, FCGX_Stream *in, const char *length, size_t max)
{
	size_t hint = length == NULL ? 0 : (size_t)strtoull(length, NULL, 10);
	size_t cap = (hint < max ? hint : max) + SPARE;
	char *p = arena_alloc(rq->a, cap + 1);

	for (;;) {
		int got = FCGX_GetStr(p + rq->body_n,
		    (int)(cap - rq->body_n < INT_MAX ? cap - rq->body_n : INT_MAX), in);

		if (got <= 0)
			break;
		rq->body_n += (size_t)got;
		if (rq->body_n > max) {
			rq->too_large = true;
			rq->body_n = 0;
		}
		if (cap == rq->body_n) {
			char *larger = arena_alloc(rq->a, 2 * cap + 1);

			memcpy(larger, p, rq->body_n);
			p = larger;
			cap *= 2;
		}
	}
	if (rq->too_large)
		rq->body_n = 0;
	p[rq->body_n] = '\0';
	rq->body = p;
}

static const char *
param(const FCGX_Request *f, const char *name)
{
	const char *v = FCGX_GetParam(name, f->envp);

	return v == NULL ? "" : v;
}

static void
read_request(struct fcgi_request *rq, const FCGX_Request *f, struct fcgi_terms t)
{
	const char *uri = param(f, "REQUEST_URI");

	rq->method = param(f, "REQUEST_METHOD");
	rq->uri = arena_memdup(rq->a, uri, strcspn(uri, "?"));
	rq->query = param(f, "QUERY_STRING");
	rq->peer = fcgi_peer(rq->a, param(f, "HTTP_X_FORWARDED_FOR"),
	    param(f, "REMOTE_ADDR"), t.proxies);
	read_body(rq, f->in, FCGX_GetParam("CONTENT_LENGTH", f->envp), t.body_max);
}

static void
write_reply(const FCGX_Request *f, const struct fcgi_reply *rp)
{
	if (rp->status != NULL)
		FCGX_FPrintF(f->out, "Status: %s\r\n", rp->status);
	FCGX_FPrintF(f->out, "Content-Type: %s\r\nContent-Length: %lu\r\n%s\r\n",
	    rp->type, (unsigned long)rp->body.n,
	    rp->headers == NULL ? "" : rp->headers);
	FCGX_PutStr(rp->body.p, (int)rp->body.n, f->out);
}

/* Does the web server come by a socket of this machine? */
static bool
is_local(int listening)
{
	struct sockaddr_storage at = { 0 };
	socklen_t n = sizeof(at);

	return getsockname(listening, (struct sockaddr *)&at, &n) == 0 &&
	       at.ss_family == AF_UNIX;
}

void
fcgi_serve(struct fcgi_terms (*terms)(void *ctx),
    void (*handle)(void *ctx, const struct fcgi_request *, struct fcgi_reply *),
    void *ctx)
{
	bool local = is_local(0);
	struct arena a = { 0 };
	FCGX_Request f;

	if (FCGX_Init() != 0 ||
	    FCGX_InitRequest(&f, 0, FCGI_FAIL_ACCEPT_ON_INTR) != 0) {
		log_err("libfcgi cannot be set up");
		return;
	}
	proc_give_back();
	while (!proc_stopping && FCGX_Accept_r(&f) == 0) {
		struct fcgi_request rq = { .a = &a };
		struct fcgi_reply rp = { .type = "text/plain", .body = buf_new(&a) };

		read_request(&rq, &f, terms(ctx));
		handle(ctx, &rq, &rp);
		write_reply(&f, &rp);
		/* Else libfcgi waits until the web server has closed its end, lest
		 * TCP throw away what that has not read yet: all of the request is
		 * read, and a local socket loses nothing.
		 */
		if (local)
			FCGX_Detach(&f);
		FCGX_Finish_r(&f);
		arena_reset(&a);
	}
	FCGX_Free(&f, 1);
	arena_free(&a);
}

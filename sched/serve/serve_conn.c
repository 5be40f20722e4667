/* SPDX-License-Identifier: Apache-2.0 */
/* A connection thread: reads a request, waits for its answer, and writes the reply. */
#include "sched/serve/serve_threads.h"

#include <string.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/banned.h"

enum { REPLIED = 100 }; /* beside enum serve_refusal: a worker has replied already */

static struct serve_terms
conn_terms(struct server *s)
{
	struct serve_terms t;

	pthread_mutex_lock(&s->terms_lock);
	t = s->program->terms(s->program->ctx);
	pthread_mutex_unlock(&s->terms_lock);
	return t;
}

static void
conn_refuse(struct conn *c, enum serve_refusal why, const struct serve_terms *t,
    struct fcgi_reply *rp)
{
	struct server *s = c->server;
	double delay_s = 0;

	if (why == SERVE_BUSY) {
		pthread_mutex_lock(&s->lock);
		delay_s = admission_delay_s(
		    &s->admission, t->delay_min_s, clock_mono_ms());
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_lock(&s->terms_lock);
	s->program->refuse(s->program->ctx, why, delay_s, rp);
	pthread_mutex_unlock(&s->terms_lock);
}

/* Has the request answered by a worker; returns false if none will. */
static bool
conn_answer(struct conn *c, const struct fcgi_request *rq, struct fcgi_reply *rp,
    struct serve_job *j)
{
	const struct serve_program *p = c->server->program;

	j->rq = rq;
	j->rp = rp;
	j->ticket.host = p->host_key == NULL ? 0 : p->host_key(rq);
	return queue_and_wait(c, j);
}

/*
 * Claims memory for a larger buffer.  The arena keeps the smaller ones too, so each
 * counts in full.
 */
static bool
conn_has_room(void *ctx, size_t from, size_t to)
{
	struct conn *c = ctx;
	struct server *s = c->server;
	bool yes;

	(void)from;
	if (to <= HEAD_BYTES)
		return true;
	pthread_mutex_lock(&s->lock);
	yes = !s->stopping && to <= s->size.buffer_bytes - s->held;
	if (yes) {
		s->held += to;
		c->held += to;
	}
	pthread_mutex_unlock(&s->lock);
	return yes;
}

static bool
conn_method_known(const char *method)
{
	static const char *const known[] = { "GET", "HEAD", "POST" };

	for (size_t i = 0; i < N(known); i++)
		if (strcmp(method, known[i]) == 0)
			return true;
	return false;
}

/* Continues to read; returns -1, or the reason to refuse the request (0 or more). */
static int
read_to(struct conn *c, struct fcgi_request *rq, size_t max, enum fcgi_body *got)
{
	int why;

	*got = fcgi_read(&c->fcgi, &c->a, max, conn_has_room, c, rq);
	if (*got == FCGI_WHOLE || *got == FCGI_MORE)
		return -1;
	if (*got == FCGI_NO_ROOM)
		return SERVE_BUSY;
	/* An ending process shuts connections that are still being read. */
	pthread_mutex_lock(&c->server->lock);
	why = c->server->stopping ? SERVE_BUSY : SERVE_CUT_OFF;
	pthread_mutex_unlock(&c->server->lock);
	return why;
}

static bool
conn_is_apart(const struct conn *c, const struct fcgi_request *rq)
{
	const struct serve_program *p = c->server->program;

	return p->is_apart != NULL && p->is_apart(p->ctx, rq);
}

/*
 * Answers a request apart from the workers; REPLIED, the reason to refuse it, or -1 if
 * a worker may answer it after all.
 */
static int
answer_apart(struct conn *c, const struct fcgi_request *rq, struct fcgi_reply *rp)
{
	const struct serve_program *p = c->server->program;
	enum serve_refusal why;

	switch (p->answer_apart(p->ctx, rq, rp, &why)) {
	case APART_REPLIED:
		return REPLIED;
	case APART_REFUSED:
		return (int)why;
	case APART_NOT:
		break;
	}
	return -1;
}

/* Lets a worker check the first part of a large request; REPLIED: rp is the reply. */
static int
check_head(struct conn *c, const struct fcgi_request *rq, struct fcgi_reply *rp)
{
	struct serve_job j = { .head = true };

	if (c->server->program->head == NULL || conn_is_apart(c, rq))
		return -1;
	if (!conn_answer(c, rq, rp, &j))
		return SERVE_BUSY;
	return j.replied ? REPLIED : -1;
}

/*
 * Reads the whole request; returns -1, or the reason to refuse it earlier (0 or more).
 */
static int
read_whole(struct conn *c, struct fcgi_request *rq, size_t max, struct fcgi_reply *rp)
{
	enum fcgi_body got;
	int why;

	if (!conn_method_known(rq->method))
		return SERVE_METHOD;
	if (rq->length > (int64_t)max)
		return SERVE_TOO_LARGE;
	why = read_to(c, rq, HEAD_BYTES < max ? HEAD_BYTES : max + 1, &got);
	if (why < 0 && got == FCGI_MORE && max > HEAD_BYTES) {
		why = check_head(c, rq, rp);
		if (why < 0)
			why = read_to(c, rq, max + 1, &got);
	}
	return why < 0 && got == FCGI_MORE ? SERVE_TOO_LARGE : why;
}

/* Other threads may shut the connection only while `reading` is set. */
static void
set_reading(struct conn *c, bool reading)
{
	pthread_mutex_lock(&c->server->lock);
	c->reading = reading && !c->server->stopping;
	pthread_mutex_unlock(&c->server->lock);
}

static void
serve_one(struct conn *c, int fd)
{
	struct fcgi_reply rp = { .type = "text/plain", .body = buf_new(&c->a) };
	struct serve_terms t = conn_terms(c->server);
	struct fcgi_request rq;
	struct serve_job j = { 0 };
	int why;
	bool whole;

	if (!fcgi_begin(&c->fcgi, fd, &c->a, t.proxies, &rq))
		return;
	set_reading(c, true);
	why = read_whole(c, &rq, t.body_max, &rp);
	set_reading(c, false);
	whole = why < 0;
	if (whole && conn_is_apart(c, &rq))
		why = answer_apart(c, &rq, &rp);
	if (whole && why < 0 && !conn_answer(c, &rq, &rp, &j))
		why = SERVE_BUSY;
	if (why >= 0 && why != REPLIED)
		conn_refuse(c, (enum serve_refusal)why, &t, &rp);
	fcgi_end(&c->fcgi, &rp, whole);
}

/* Waits for a connection; returns false if the server ends. */
static bool
next_connection(struct conn *c)
{
	struct server *s = c->server;
	uint64_t one = 1;

	pthread_mutex_lock(&s->lock);
	c->fd = -1;
	c->next_idle = s->idle;
	s->idle = c;
	if (s->starved || s->stopping) {
		s->starved = false;
		(void)!write(s->freed, &one, sizeof(one));
	}
	while (c->fd < 0 && !s->ended)
		pthread_cond_wait(&c->wake, &s->lock);
	pthread_mutex_unlock(&s->lock);
	return c->fd >= 0;
}

static void
connection_over(struct conn *c)
{
	struct server *s = c->server;

	/* Thousands of idle threads may follow a crowd; none keeps memory. */
	arena_free(&c->a);
	pthread_mutex_lock(&s->lock);
	s->held -= c->held;
	s->busy--;
	s->answered++;
	pthread_mutex_unlock(&s->lock);
	c->held = 0;
}

void *
conn_main(void *arg)
{
	struct server *s = arg;
	struct conn c = { .server = s, .fd = -1 };

	pthread_cond_init(&c.wake, &s->monotonic);
	pthread_mutex_lock(&s->lock);
	c.next = s->all;
	s->all = &c;
	pthread_mutex_unlock(&s->lock);
	while (next_connection(&c)) {
		serve_one(&c, c.fd);
		connection_over(&c);
	}
	arena_free(&c.a);
	pthread_cond_destroy(&c.wake);
	pthread_mutex_lock(&s->lock);
	s->threads--;
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

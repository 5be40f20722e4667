/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of complete requests, and the workers that answer them. */
#include "sched/serve/serve_threads.h"

#include <time.h>
#include "lib/clock.h"
#include "lib/banned.h"

enum { QUEUE_S = 30 }; /* longest wait of a request for a worker */

static void
take_out(struct server *s, const struct job *j)
{
	for (struct job **at = &s->first; *at != NULL; at = &(*at)->next) {
		if (*at != j)
			continue;
		*at = j->next;
		if (*at == NULL)
			s->last = at;
		return;
	}
}

bool
queue_and_wait(struct conn *c, struct job *j)
{
	struct server *s = c->server;
	int64_t until_ms = clock_mono_ms() + QUEUE_S * 1000;
	struct timespec until = { until_ms / 1000, until_ms % 1000 * 1000000 };

	j->wake = &c->wake;
	pthread_mutex_lock(&s->lock);
	*s->last = j;
	s->last = &j->next;
	pthread_cond_signal(&s->work);
	while (!j->taken && pthread_cond_timedwait(&c->wake, &s->lock, &until) == 0)
		;
	if (!j->taken)
		take_out(s, j);
	while (j->taken && !j->done)
		pthread_cond_wait(&c->wake, &s->lock);
	pthread_mutex_unlock(&s->lock);
	return j->done;
}

/* Copies the reply into the memory of its connection. */
static void
copy_reply(struct fcgi_reply *to, const struct fcgi_reply *made)
{
	struct arena *a = to->body.a;

	*to = (struct fcgi_reply){
		.status = made->status == NULL ? NULL : arena_strdup(a, made->status),
		.type = arena_strdup(a, made->type),
		.headers = made->headers == NULL ? NULL :
		                                   arena_strdup(a, made->headers),
		.body = buf_sized(a, made->body.n),
	};
	buf_put(&to->body, made->body.p, made->body.n);
}

static struct job *
next_job(struct server *s)
{
	struct job *j;

	pthread_mutex_lock(&s->lock);
	while (s->first == NULL && !s->ended)
		pthread_cond_wait(&s->work, &s->lock);
	j = s->first;
	if (j != NULL) {
		s->first = j->next;
		if (s->first == NULL)
			s->last = &s->first;
		j->taken = true;
	}
	pthread_mutex_unlock(&s->lock);
	return j;
}

void *
worker_main(void *arg)
{
	struct worker *w = arg;
	struct server *s = w->server;
	void *own = s->program->worker(s->program->ctx, w->number);
	struct arena a = { 0 };
	struct job *j;

	while ((j = next_job(s)) != NULL) {
		struct fcgi_request rq = *j->rq;
		struct fcgi_reply rp = { .type = "text/plain", .body = buf_new(&a) };

		rq.a = &a;
		j->replied = true;
		if (j->head)
			j->replied = s->program->head(own, &rq, &rp);
		else
			s->program->answer(own, &rq, &rp);
		if (j->replied)
			copy_reply(j->rp, &rp);
		pthread_mutex_lock(&s->lock);
		j->done = true;
		pthread_cond_signal(j->wake);
		pthread_mutex_unlock(&s->lock);
		arena_reset(&a);
	}
	s->program->worker_end(own);
	arena_free(&a);
	return NULL;
}

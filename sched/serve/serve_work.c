/* SPDX-License-Identifier: Apache-2.0 */
/* Connections wait for workers, and workers answer what admission.h lets them. */
#include "sched/serve/serve_threads.h"

#include <time.h>
#include "lib/clock.h"
#include "lib/banned.h"

/* Returns the job of a ticket; NULL has none. */
static struct job *
job_of(struct ticket *t)
{
	return (struct job *)t;
}

/*
 * Waits for a change of the job's state.  Only a request that no worker has seen yet
 * gives up after a time.
 */
static void
job_wait(struct conn *c, struct job *j, const struct timespec *until)
{
	struct server *s = c->server;

	if (j->ticket.state != TICKET_QUEUED || j->ticket.resumed)
		pthread_cond_wait(&c->wake, &s->lock);
	else if (pthread_cond_timedwait(&c->wake, &s->lock, until) != 0 &&
		 j->ticket.state == TICKET_QUEUED)
		admission_leave(&s->admission, &j->ticket, false, clock_mono_ms());
}

bool
queue_and_wait(struct conn *c, struct job *j)
{
	struct server *s = c->server;
	int64_t now_ms = clock_mono_ms(), until_ms = now_ms + ADMISSION_WAIT_S * 1000;
	struct timespec until = { until_ms / 1000, until_ms % 1000 * 1000000 };
	struct ticket *replaced;

	j->wake = &c->wake;
	pthread_mutex_lock(&s->lock);
	if (admission_enter(&s->admission, &j->ticket, now_ms, &replaced))
		pthread_cond_signal(&s->work);
	if (replaced != NULL)
		pthread_cond_signal(job_of(replaced)->wake);
	while (j->ticket.state != TICKET_OUT)
		job_wait(c, j, &until);
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
	struct ticket *t;

	pthread_mutex_lock(&s->lock);
	while (
	    (t = admission_next(&s->admission, clock_mono_ms())) == NULL && !s->ended)
		pthread_cond_wait(&s->work, &s->lock);
	pthread_mutex_unlock(&s->lock);
	return job_of(t);
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
		admission_leave(&s->admission, &j->ticket, true, clock_mono_ms());
		pthread_cond_signal(j->wake);
		pthread_mutex_unlock(&s->lock);
		arena_reset(&a);
	}
	s->program->worker_end(own);
	arena_free(&a);
	return NULL;
}

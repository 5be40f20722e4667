/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections wait for workers, and workers answer what admission.h lets them.
 *
 * A worker takes what is queued, up to size.cohort jobs, but leaves a share to other
 * idle workers. At most size.active workers take jobs at once; one that has been busy
 * for STALLED_MS no longer counts, so a slow request or a lock in the database holds up
 * only its own companions.
 */
#include <time.h>
#include "lib/clock.h"
#include "lib/notify.h"
#include "lib/proc.h"
#include "sched/serve/serve_threads.h"
#include "lib/banned.h"

/*
 * Parked jobs: each waits for something in its connection thread; every now and then a
 * worker looks after all of them.
 */

/* Called under the server's lock. */
static void parked_remove(struct server *s, const struct serve_job *j)
{
	struct parked_jobs *all = &s->parked;

	for (struct serve_job **at = &all->first; *at != NULL; at = &(*at)->next_parked)
		if (*at == j) {
			*at = j->next_parked;
			if (*at == NULL)
				all->last = at;
			all->n--;
			return;
		}
}

void serve_park(struct serve_job *j, void *parked)
{
	struct server *s = j->server;

	pthread_mutex_lock(&s->lock);
	j->parked = parked;
	if (admission_park(&s->admission, &j->ticket)) {
		if (s->parked.n == 0)
			s->look_at_ms = clock_mono_ms() + s->program->cohort.look_ms;
		j->next_parked = NULL;
		*s->parked.last = j;
		s->parked.last = &j->next_parked;
		s->parked.n++;
	} else { /* the host has come again */
		admission_leave(&s->admission, &j->ticket, false, clock_mono_ms());
		pthread_cond_signal(j->wake);
	}
	pthread_mutex_unlock(&s->lock);
}

void *serve_parked(const struct serve_job *j)
{
	return j->parked;
}

/* Is it time to look after parked jobs? */
static bool parked_due(const struct server *s, int64_t now_ms)
{
	return s->parked.n > 0 && !s->looking &&
	       (now_ms >= s->look_at_ms || proc_stopping);
}

/*
 * Lets the program look, and queues those jobs again that go on; a replaced one may
 * leave now. Releases the lock meanwhile.
 */
static void look_after_parked(struct worker *w)
{
	struct server *s = w->server;
	size_t n = s->parked.n, i = 0;
	struct serve_job **jobs = NEWN(&w->a, struct serve_job *, n);
	bool *go_on = NEWN(&w->a, bool, n);

	s->looking = true;
	for (struct serve_job *j = s->parked.first; j != NULL; j = j->next_parked) {
		j->looked_at = true;
		jobs[i++] = j;
	}
	pthread_mutex_unlock(&s->lock);
	s->program->cohort.look(w->own, &w->a, jobs, n, go_on);
	pthread_mutex_lock(&s->lock);
	for (i = 0; i < n; i++) {
		struct serve_job *j = jobs[i];

		j->looked_at = false;
		if (j->ticket.state == TICKET_OUT) {
			parked_remove(s, j);
			pthread_cond_signal(j->wake);
		} else if (go_on[i]) {
			parked_remove(s, j);
			admission_resume(&s->admission, &j->ticket);
		}
	}
	s->looking = false;
	s->look_at_ms = clock_mono_ms() + s->program->cohort.look_ms;
	arena_reset(&w->a);
}

enum {
	STALLED_MS = 50,
	COHORT_MOST = 64,
	COHORT_BYTES = 2 << 20, /* of requests that are answered together */
};

/* --- waking workers; under the server's lock --- */

/* Returns the workers that took their jobs less than STALLED_MS ago. */
static int64_t workers_active(const struct server *s, int64_t now_ms)
{
	int64_t n = 0;

	for (int64_t i = 0; i < s->size.workers; i++)
		n += s->workers[i].since_ms != 0 &&
		     now_ms - s->workers[i].since_ms < STALLED_MS;
	return n;
}

/*
 * May one more worker take jobs? While others are busy, only if there are enough for
 * half a cohort: small cohorts are dear.
 */
static bool may_take(const struct server *s, int64_t now_ms)
{
	int64_t busy = s->size.active == 0 ? 0 : workers_active(s, now_ms);

	if (s->admission.queued == 0 || (busy > 0 && busy >= s->size.active))
		return false;
	return busy == 0 || s->admission.queued >= (int64_t)s->size.cohort / 2;
}

static void set_idle(struct worker *w, bool idle)
{
	w->server->idle_workers += (int64_t)idle - (int64_t)w->idle;
	w->idle = idle;
}

/* Wakes the first idle worker, whose connection is the warmest, if it has work. */
static void wake_worker(struct server *s)
{
	int64_t now_ms = clock_mono_ms();

	if (s->idle_workers == 0 || (!may_take(s, now_ms) && !parked_due(s, now_ms)))
		return;
	for (int64_t i = 0; i < s->size.workers; i++)
		if (s->workers[i].idle) {
			set_idle(&s->workers[i], false);
			pthread_cond_signal(&s->workers[i].wake);
			return;
		}
}

int wake_workers(struct server *s)
{
	int timeout_ms = -1;
	int64_t left_ms;

	pthread_mutex_lock(&s->lock);
	wake_worker(s);
	left_ms = s->look_at_ms - clock_mono_ms();
	if (s->busy > 0)
		timeout_ms = STALLED_MS;
	if (s->parked.n > 0 && left_ms < STALLED_MS)
		timeout_ms = left_ms > 1 ? (int)left_ms : 1;
	pthread_mutex_unlock(&s->lock);
	return timeout_ms;
}

/* --- jobs --- */

/* Returns the job of a ticket; NULL has none. */
static struct serve_job *job_of(struct ticket *t)
{
	return (struct serve_job *)t;
}

/*
 * Waits for a change of the job's state. Only a request that no worker has seen yet
 * gives up after a time.
 */
static void job_wait(struct serve_job *j, const struct timespec *until)
{
	struct server *s = j->server;

	if (j->ticket.state != TICKET_QUEUED || j->ticket.resumed)
		pthread_cond_wait(j->wake, &s->lock);
	else if (pthread_cond_timedwait(j->wake, &s->lock, until) != 0 &&
		 j->ticket.state == TICKET_QUEUED)
		admission_leave(&s->admission, &j->ticket, false, clock_mono_ms());
}

bool queue_and_wait(struct serve_job *j)
{
	struct server *s = j->server;
	int64_t now_ms = clock_mono_ms(), until_ms = now_ms + ADMISSION_WAIT_S * 1000;
	struct timespec until = { until_ms / 1000, until_ms % 1000 * 1000000 };
	struct ticket *replaced;

	if (s->program->host_key != NULL)
		j->ticket.host = s->program->host_key(j->rq);
	pthread_mutex_lock(&s->lock);
	if (admission_enter(&s->admission, &j->ticket, now_ms, &replaced))
		wake_worker(s);
	if (replaced != NULL)
		pthread_cond_signal(job_of(replaced)->wake);
	while (j->ticket.state != TICKET_OUT || j->looked_at)
		job_wait(j, &until);
	parked_remove(s, j);
	pthread_mutex_unlock(&s->lock);
	if (!j->done && j->parked != NULL)
		s->program->cohort.left(j->parked);
	return j->done;
}

const struct fcgi_request *serve_request(const struct serve_job *j)
{
	return j->rq;
}

static void job_over(struct serve_job *j)
{
	struct server *s = j->server;

	pthread_mutex_lock(&s->lock);
	j->done = true;
	admission_leave(&s->admission, &j->ticket, true, clock_mono_ms());
	pthread_cond_signal(j->wake);
	pthread_mutex_unlock(&s->lock);
}

void serve_reply(struct serve_job *j, const struct fcgi_reply *made)
{
	struct arena *a = j->rp->body.a; /* of the connection */

	*j->rp = (struct fcgi_reply){
		.status = made->status == NULL ? NULL : arena_strdup(a, made->status),
		.type = arena_strdup(a, made->type),
		.headers = made->headers == NULL ? NULL :
		                                   arena_strdup(a, made->headers),
		.body = buf_sized(a, made->body.n),
	};
	buf_put(&j->rp->body, made->body.p, made->body.n);
	j->replied = true;
	job_over(j);
}

/* --- workers --- */

/* Is the job answered alone: the head of a request, or a large request? */
static bool is_alone(const struct serve_job *j)
{
	return j->head || j->rq->body_n > COHORT_BYTES / 2;
}

/* Returns how many jobs a worker takes; other workers that may take some get a share.
 */
static size_t share_of_queue(const struct server *s, int64_t now_ms)
{
	int64_t others = s->size.active - workers_active(s, now_ms) - 1;
	size_t share;

	if (s->idle_workers < others)
		others = s->idle_workers;
	share = others > 0 ? 1 + (size_t)others : 1;
	share = ((size_t)s->admission.queued + share - 1) / share;
	if (share > s->size.cohort)
		share = s->size.cohort;
	return share < COHORT_MOST ? share : COHORT_MOST;
}

/* Takes jobs to answer together; 0 if those queued follow others of their hosts. */
static size_t take_jobs(struct server *s, struct serve_job **jobs, int64_t now_ms)
{
	size_t most = share_of_queue(s, now_ms), n = 0, bytes = 0;

	while (n == 0 || n < most) {
		struct serve_job *j = job_of(admission_first(&s->admission));

		if (j == NULL || (n > 0 && (is_alone(j) || is_alone(jobs[0]) ||
					       bytes + j->rq->body_n > COHORT_BYTES)))
			break;
		admission_next(&s->admission, now_ms);
		bytes += j->rq->body_n;
		jobs[n++] = j;
	}
	return n;
}

static void answer_alone(struct worker *w, struct serve_job *j)
{
	const struct serve_program *p = w->server->program;
	struct fcgi_request rq = *j->rq;
	struct fcgi_reply rp = { .type = "text/plain", .body = buf_new(&w->a) };
	bool replied = true;

	rq.a = &w->a;
	if (j->head)
		replied = p->head(w->own, &rq, &rp);
	else
		p->answer(w->own, &rq, &rp);
	if (replied)
		serve_reply(j, &rp);
	else
		job_over(j);
}

/* Answers some jobs; returns false if there is none for this worker. */
static bool work_once(struct worker *w)
{
	struct server *s = w->server;
	const struct serve_cohort *cohort = &s->program->cohort;
	struct serve_job *jobs[COHORT_MOST];
	int64_t now_ms = clock_mono_ms();
	size_t n;

	if (parked_due(s, now_ms)) {
		w->busy_ms = now_ms;
		look_after_parked(w);
		w->busy_ms = 0;
		s->done_ms = now_ms;
		return true;
	}
	n = may_take(s, now_ms) ? take_jobs(s, jobs, now_ms) : 0;
	if (n == 0)
		return false;
	w->since_ms = w->busy_ms = now_ms;
	wake_worker(s);
	pthread_mutex_unlock(&s->lock);
	if (cohort->answer == NULL || jobs[0]->head)
		answer_alone(w, jobs[0]);
	else
		cohort->answer(w->own, &w->a, jobs, n);
	arena_reset(&w->a);
	pthread_mutex_lock(&s->lock);
	w->since_ms = w->busy_ms = 0;
	s->done_ms = clock_mono_ms();
	return true;
}

void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct server *s = w->server;

	w->own = s->program->worker(s->program->ctx, w->number);
	pthread_mutex_lock(&s->lock);
	if (++s->workers_up == s->size.workers)
		notify_ready();
	for (;;) {
		while (work_once(w))
			;
		if (s->ended)
			break;
		set_idle(w, true);
		while (w->idle && !s->ended)
			pthread_cond_wait(&w->wake, &s->lock);
		set_idle(w, false);
	}
	pthread_mutex_unlock(&s->lock);
	s->program->worker_end(w->own);
	arena_free(&w->a);
	return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parked jobs: each waits for something in its connection thread; every now and then a
 * worker looks after all of them.
 */
#include "sched/serve/serve_threads.h"

#include "lib/clock.h"
#include "lib/proc.h"
#include "lib/banned.h"

static void
parked_put(struct server *s, struct serve_job *j)
{
	j->next_parked = NULL;
	*s->parked.last = j;
	s->parked.last = &j->next_parked;
	s->parked.n++;
}

void
parked_remove(struct server *s, const struct serve_job *j)
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

void
serve_park(struct serve_job *j, void *parked)
{
	struct server *s = j->server;

	pthread_mutex_lock(&s->lock);
	j->parked = parked;
	if (admission_park(&s->admission, &j->ticket)) {
		if (s->parked.n == 0)
			s->look_at_ms = clock_mono_ms() + s->program->together.look_ms;
		parked_put(s, j);
	} else { /* the host has come again */
		admission_leave(&s->admission, &j->ticket, false, clock_mono_ms());
		pthread_cond_signal(j->wake);
	}
	pthread_mutex_unlock(&s->lock);
}

void *
serve_parked(const struct serve_job *j)
{
	return j->parked;
}

bool
parked_due(const struct server *s, int64_t now_ms)
{
	return s->parked.n > 0 && !s->looking &&
	       (now_ms >= s->look_at_ms || proc_stopping);
}

/* Queues a job again if it goes on; a replaced one may leave now. */
static void
looked_after(struct server *s, struct serve_job *j, bool go_on)
{
	j->looked_at = false;
	if (j->ticket.state == TICKET_OUT) {
		parked_remove(s, j);
		pthread_cond_signal(j->wake);
	} else if (go_on) {
		parked_remove(s, j);
		admission_resume(&s->admission, &j->ticket);
	}
}

void
look_after_parked(struct worker *w)
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
	s->program->together.look(w->own, &w->a, jobs, n, go_on);
	pthread_mutex_lock(&s->lock);
	for (i = 0; i < n; i++)
		looked_after(s, jobs[i], go_on[i]);
	s->looking = false;
	s->look_at_ms = clock_mono_ms() + s->program->together.look_ms;
	arena_reset(&w->a);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/rpc/in_flight.h"

#include "model/decision.h"
#include "lib/banned.h"

void in_flight_begin(struct in_flight *g)
{
	pthread_mutex_init(&g->lock, NULL);
	g->all = (struct chosen_jobs){ .prev = &g->all, .next = &g->all };
}

void in_flight_close(struct in_flight *g)
{
	pthread_mutex_destroy(&g->lock);
}

void in_flight_reads(struct in_flight *g, struct chosen_jobs *own)
{
	pthread_mutex_lock(&g->lock);
	own->began = g->dropped;
	pthread_mutex_unlock(&g->lock);
}

static void leave_ring(struct in_flight *g, struct chosen_jobs *own)
{
	if (own->next == NULL)
		return;
	own->prev->next = own->next;
	own->next->prev = own->prev;
	for (size_t i = 0; i < own->n; i++)
		g->before[g->dropped++ % CHOSEN_BEFORE] = own->v[i];
	*own = (struct chosen_jobs){ .began = own->began };
}

static void enter_ring(struct in_flight *g, struct chosen_jobs *own)
{
	own->prev = &g->all;
	own->next = g->all.next;
	own->next->prev = own;
	g->all.next = own;
}

static bool job_in_flight(const struct in_flight *g, int64_t id)
{
	for (const struct chosen_jobs *c = g->all.next; c != &g->all; c = c->next)
		for (size_t i = 0; i < c->n; i++)
			if (c->v[i].id == id)
				return true;
	return false;
}

bool in_flight_choose(struct in_flight *g, struct arena *a, struct chosen_jobs *own,
    const struct decision *d)
{
	struct chosen_job *v = NEWN(a, struct chosen_job, d->nsends + 1);
	bool free = true;
	size_t n = 0;

	for (size_t i = 0; i < d->nsends; i++)
		if (!d->sends[i].expect_in_progress)
			v[n++] = (struct chosen_job){ d->sends[i].job->id,
				d->sends[i].job->fileset_id };
	pthread_mutex_lock(&g->lock);
	leave_ring(g, own);
	for (size_t i = 0; i < n && free; i++)
		free = !job_in_flight(g, v[i].id);
	if (free && n > 0) {
		own->v = v;
		own->n = n;
		enter_ring(g, own);
	}
	pthread_mutex_unlock(&g->lock);
	return free;
}

void in_flight_drop(struct in_flight *g, struct chosen_jobs *own)
{
	pthread_mutex_lock(&g->lock);
	leave_ring(g, own);
	pthread_mutex_unlock(&g->lock);
}

int64_t in_flight_last(
    struct in_flight *g, const struct chosen_jobs *own, int64_t fileset_id)
{
	int64_t last = 0;

	pthread_mutex_lock(&g->lock);
	for (const struct chosen_jobs *c = g->all.next; c != &g->all; c = c->next)
		for (size_t i = 0; c != own && i < c->n; i++)
			if (c->v[i].fileset_id == fileset_id && c->v[i].id > last)
				last = c->v[i].id;
	pthread_mutex_unlock(&g->lock);
	return last;
}

int64_t in_flight_expect(
    struct in_flight *g, struct chosen_jobs *own, int64_t fileset_id, int64_t n)
{
	int64_t others = 0;

	pthread_mutex_lock(&g->lock);
	leave_ring(g, own);
	for (const struct chosen_jobs *c = g->all.next; c != &g->all; c = c->next)
		others += c->reads == fileset_id ? c->expects : 0;
	own->reads = fileset_id;
	own->expects = n;
	enter_ring(g, own);
	pthread_mutex_unlock(&g->lock);
	return others;
}

struct chosen_job *in_flight_others(
    struct in_flight *g, struct arena *a, const struct chosen_jobs *own, size_t *n)
{
	struct chosen_job *v = NULL;
	size_t cap = 0;

	*n = 0;
	pthread_mutex_lock(&g->lock);
	for (const struct chosen_jobs *c = g->all.next; c != &g->all; c = c->next)
		for (size_t i = 0; c != own && i < c->n; i++)
			PUSH(a, v, *n, cap) = c->v[i];
	for (uint64_t i = g->dropped; i > own->began && g->dropped - i < CHOSEN_BEFORE;
	     i--)
		PUSH(a, v, *n, cap) = g->before[(i - 1) % CHOSEN_BEFORE];
	pthread_mutex_unlock(&g->lock);
	return v;
}

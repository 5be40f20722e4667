/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of requests, its bounds, the measured rate, and the virtual queue. */
#include "sched/serve/admission.h"

#include <assert.h>
#include <stddef.h>
#include "lib/banned.h"

enum {
	WINDOW_MS = 1000,  /* of the measurement */
	MEMORY_MS = 10000, /* time constant of the rate */
	TRUST_MS = 5000,   /* measured for less time, the rate refuses nobody */
	FORGET_MS = 60000, /* a rate that nothing has confirmed for this long */
	FEW = 32,          /* queued requests that are never too many for the rate */
	RATE_LEAST = 10,   /* per s, for delays: a lower rate is a stall's */
};
static const double jitter = 0.2;

void admission_begin(
    struct admission *a, int64_t max_queued, uint64_t seed, int64_t now_ms)
{
	*a = (struct admission){ .max_queued = max_queued,
		.window_ms = now_ms,
		.turned_ms = now_ms,
		.idle = true,
		.jitter = rng_seed(seed) };
}

/* --- the table of hosts: at most one request served and one that waits for each --- */

static struct ticket **bucket_of(struct admission *a, uint64_t host)
{
	return &a->hosts[host % ADMISSION_BUCKETS];
}

/* Returns the host's request that is being served, or the one that is not. */
static struct ticket *host_ticket(struct admission *a, uint64_t host, bool served)
{
	struct ticket *t = host == 0 ? NULL : *bucket_of(a, host);

	while (t != NULL && (t->host != host || (t->state == TICKET_SERVED) != served))
		t = t->chain;
	return t;
}

static void host_forget(struct admission *a, struct ticket *t)
{
	struct ticket **at = bucket_of(a, t->host);

	if (t->host == 0)
		return;
	while (*at != t)
		at = &(*at)->chain;
	*at = t->chain;
}

/* --- the queues --- */

static struct ticket_queue *queue_of(struct admission *a, const struct ticket *t)
{
	return t->resumed ? &a->resumed : &a->fresh;
}

/* Inserts t behind prev; NULL: at the front. */
static void queue_insert(struct admission *a, struct ticket *t, struct ticket *prev)
{
	struct ticket_queue *q = queue_of(a, t);

	t->prev = prev;
	t->next = prev == NULL ? q->first : prev->next;
	*(prev == NULL ? &q->first : &prev->next) = t;
	*(t->next == NULL ? &q->last : &t->next->prev) = t;
	t->state = TICKET_QUEUED;
	a->queued++;
}

static void queue_remove(struct admission *a, struct ticket *t)
{
	struct ticket_queue *q = queue_of(a, t);

	*(t->prev == NULL ? &q->first : &t->prev->next) = t->next;
	*(t->next == NULL ? &q->last : &t->next->prev) = t->prev;
	t->prev = t->next = NULL;
	if (--a->queued == 0)
		a->idle = true;
}

/* --- the measured rate --- */

/*
 * Ends the window if it is over. A window in which workers had nothing to do only
 * shows that the rate is no lower; it does not make a rate known.
 */
static void measure(struct admission *a, int64_t now_ms)
{
	int64_t ms = now_ms - a->window_ms;
	double sample;

	if (ms < WINDOW_MS)
		return;
	sample = (double)a->answered * 1000 / (double)ms;
	if (!a->idle) {
		a->measured_ms += ms;
		a->measured_ms = a->measured_ms < MEMORY_MS ? a->measured_ms :
		                                              MEMORY_MS;
		a->measured_at_ms = now_ms;
	} else if (now_ms - a->measured_at_ms > FORGET_MS) {
		a->measured_ms = 0;
		a->rate = 0;
	}
	if (a->measured_ms > 0 && (!a->idle || sample > a->rate))
		a->rate += (sample - a->rate) *
		           (ms < a->measured_ms ? (double)ms / (double)a->measured_ms :
						  1);
	a->window_ms = now_ms;
	a->answered = 0;
	a->idle = a->queued == 0;
}

static bool queue_is_full(const struct admission *a)
{
	if (a->queued >= a->max_queued)
		return true;
	return a->queued >= FEW && a->measured_ms >= TRUST_MS &&
	       (double)a->queued > a->rate * ADMISSION_WAIT_S;
}

double admission_delay_s(struct admission *a, double min_s, int64_t now_ms)
{
	double rate, room, wait;

	measure(a, now_ms);
	rate = a->rate > RATE_LEAST ? a->rate : RATE_LEAST;
	a->turned_away -= rate * (double)(now_ms - a->turned_ms) / 1000;
	a->turned_ms = now_ms;
	if (a->turned_away < 0)
		a->turned_away = 0;
	wait = ((double)a->queued + a->turned_away) / rate;
	if (wait < ADMISSION_DELAY_S)
		a->turned_away++;
	/* With the jitter, the longest wait fills what min_s leaves of the longest
	 * delay. */
	room = ADMISSION_DELAY_S > min_s ? (ADMISSION_DELAY_S - min_s) / (1 + jitter) :
	                                   0;
	if (wait > room)
		wait = room;
	return min_s + wait * (1 - jitter + 2 * jitter * rng_unit(&a->jitter));
}

/* --- the ways of a request --- */

bool admission_enter(
    struct admission *a, struct ticket *t, int64_t now_ms, struct ticket **replaced)
{
	struct ticket *old = host_ticket(a, t->host, false);
	struct ticket *prev = a->fresh.last;

	assert(t->state == TICKET_OUT);
	measure(a, now_ms);
	*replaced = old;
	if (old == NULL && queue_is_full(a))
		return false;
	t->resumed = false;
	t->follows = host_ticket(a, t->host, true) != NULL;
	if (old != NULL && old->state == TICKET_QUEUED && !old->resumed)
		prev = old;
	queue_insert(a, t, prev);
	if (old != NULL)
		admission_leave(a, old, false, now_ms);
	if (t->host != 0) {
		struct ticket **bucket = bucket_of(a, t->host);

		t->chain = *bucket;
		*bucket = t;
	}
	return true;
}

struct ticket *admission_first(const struct admission *a)
{
	struct ticket *t = a->resumed.first;

	while (t != NULL && t->follows)
		t = t->next;
	if (t == NULL)
		t = a->fresh.first;
	while (t != NULL && t->follows)
		t = t->next;
	return t;
}

struct ticket *admission_next(struct admission *a, int64_t now_ms)
{
	struct ticket *t = admission_first(a);

	measure(a, now_ms);
	if (t == NULL)
		return NULL;
	queue_remove(a, t);
	t->state = TICKET_SERVED;
	return t;
}

bool admission_park(struct admission *a, struct ticket *t)
{
	assert(t->state == TICKET_SERVED);
	if (host_ticket(a, t->host, false) != NULL)
		return false;
	t->state = TICKET_PARKED;
	return true;
}

void admission_resume(struct admission *a, struct ticket *t)
{
	assert(t->state == TICKET_PARKED);
	t->resumed = true;
	queue_insert(a, t, a->resumed.last);
}

void admission_leave(
    struct admission *a, struct ticket *t, bool answered, int64_t now_ms)
{
	struct ticket *later; /* it follows t */

	if (t->state == TICKET_OUT)
		return;
	measure(a, now_ms);
	a->answered += answered;
	if (t->state == TICKET_QUEUED)
		queue_remove(a, t);
	host_forget(a, t);
	later = t->state == TICKET_SERVED ? host_ticket(a, t->host, false) : NULL;
	if (later != NULL)
		later->follows = false;
	t->state = TICKET_OUT;
}

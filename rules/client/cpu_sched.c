/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the host's tasks run now. */
#include "rules/client/client_rules.h"

#include <stdlib.h>
#include "lib/banned.h"

static bool
endangered(const struct runnable *t, int64_t now)
{
	return (double)now + t->remaining_s >= (double)t->deadline;
}

static int
three_way(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

/* What runs goes on; then in order of arrival; the id makes the order total. */
static int
by_arrival(const void *pa, const void *pb)
{
	const struct runnable *a = pa, *b = pb;

	if (a->running != b->running)
		return a->running ? -1 : 1;
	if (a->received_at != b->received_at)
		return three_way(a->received_at, b->received_at);
	return a->id < b->id ? -1 : 1;
}

static int
by_deadline(const void *pa, const void *pb)
{
	const struct runnable *a = pa, *b = pb;

	return a->deadline != b->deadline ? three_way(a->deadline, b->deadline) :
	                                    by_arrival(pa, pb);
}

/* Moves the endangered tasks to the front; how many. */
static size_t
split(struct runnable *t, size_t n, int64_t now)
{
	size_t front = 0;

	for (size_t i = 0; i < n; i++) {
		struct runnable keep = t[i];

		if (!endangered(&keep, now))
			continue;
		t[i] = t[front];
		t[front++] = keep;
	}
	return front;
}

void
cpu_sched(struct runnable *t, size_t n, double ncpus, int64_t now, size_t *chosen)
{
	size_t urgent = split(t, n, now), k = 0;
	double used = 0;

	qsort(t, urgent, sizeof(*t), by_deadline);
	qsort(t + urgent, n - urgent, sizeof(*t), by_arrival);
	while (k < n && used + t[k].ncpus <= ncpus + 1e-9)
		used += t[k++].ncpus;
	*chosen = k;
}

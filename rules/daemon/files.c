/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the files with which new hosts start (locality.md 1.1 (L13 to L15)): about
 * active hosts / holders wanted of them, so that every file reaches as many hosts as
 * its workunits need.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "model/rows.h"
#include "rules/daemon/daemon_rules.h"
#include "lib/banned.h"

struct candidate {
	const struct ws_file *f;
	bool enough; /* has as many holders as wanted */
};

/* Those that the project's chooser has named, in its order; then files that need new
 * hosts most. A file in the set stays there as long as possible. */
static int by_need(const void *x, const void *y)
{
	const struct candidate *a = x, *b = y;

	if (a->f->place != b->f->place)
		return b->f->place == 0 ||
		               (a->f->place != 0 && a->f->place < b->f->place) ?
		           -1 :
		           1;
	if (a->enough != b->enough)
		return a->enough ? 1 : -1;
	if (a->f->has_unsent != b->f->has_unsent)
		return a->f->has_unsent ? -1 : 1;
	if (a->f->in_set != b->f->in_set)
		return a->f->in_set ? -1 : 1;
	if (a->f->holders != b->f->holders)
		return a->f->holders < b->f->holders ? -1 : 1;
	return a->f->fileset_id < b->f->fileset_id ? -1 : 1;
}

/* A file that was found empty comes back after a wait period, so that a slow generator
 * is asked again, but a dead one not endlessly. */
bool ws_may_be_in(const struct ws_file *f, int64_t now, int64_t wait_period_s)
{
	if (f->paused)
		return false;
	if (f->has_unsent)
		return true;
	if (wait_period_s == 0 || f->no_work_available || f->reported_empty)
		return false;
	return f->in_set || f->dropped_at == 0 || now - f->dropped_at >= wait_period_s;
}

size_t ws_size(int64_t active_hosts, int64_t holders_wanted)
{
	int64_t m = holders_wanted < 1 ? 1 : holders_wanted,
		size = (active_hosts + m - 1) / m;

	return size < 1 ? 1 : (size_t)size;
}

static void list_changes(
    struct ws_change *c, const struct ws_file *f, size_t n, const bool *chosen)
{
	for (size_t i = 0; i < n; i++) {
		if (chosen[i] && !f[i].in_set)
			c->add[c->nadd++] = f[i].name;
		if (!chosen[i] && f[i].in_set)
			c->drop[c->ndrop++] = f[i].name;
		if (f[i].reported_empty)
			c->clear_no_work[c->nclear++] = f[i].name;
	}
}

struct ws_change working_set(struct arena *a, const struct ws_file *f, size_t n,
    int64_t active_hosts, int64_t holders_wanted, int64_t now, int64_t wait_period_s)
{
	int64_t m = holders_wanted < 1 ? 1 : holders_wanted;
	struct candidate *cand = NEWN(a, struct candidate, n + 1);
	bool *chosen = NEWN(a, bool, n + 1);
	struct ws_change c = { 0 };
	size_t ncand = 0, live = 0, want = ws_size(active_hosts, m);

	c.add = NEWN(a, const char *, n + 1);
	c.drop = NEWN(a, const char *, n + 1);
	c.clear_no_work = NEWN(a, const char *, n + 1);
	for (size_t i = 0; i < n; i++) {
		/* Not DEAD: results of it may still be sent some day. */
		live += !f[i].paused && (f[i].has_unsent || f[i].has_open_wu ||
					    !f[i].no_work_available);
		if (ws_may_be_in(&f[i], now, wait_period_s))
			cand[ncand++] = (struct candidate){ &f[i], f[i].holders >= m };
	}
	qsort(cand, ncand, sizeof(*cand), by_need);
	c.size = want < live ? want : live;
	for (size_t i = 0; i < ncand && i < c.size; i++)
		chosen[cand[i].f - f] = true;
	c.running_dry = ncand < want;
	list_changes(&c, f, n, chosen);
	return c;
}

/* Predicts when the work will run out, from the rate in the ledger. */

enum { DAY_S = 86400 };

void drain_count(struct drain *d, const struct drain_file *f)
{
	if (d->files++ == 0 || f->create_time < d->since)
		d->since = f->create_time;
	d->jobs += f->jobs;
	if (f->paused == FILESET_PAUSED)
		return;
	d->unsent += f->unsent;
	d->makeable += f->no_work || f->paused != FILESET_OPEN ? 0 :
	                                                         f->parts * f->results;
}

int64_t drain_period_s(const struct drain *d, int64_t now)
{
	int64_t start = (now / DAY_S - 1) * DAY_S;

	if (d->since > start)
		start = d->since;
	return now > start ? now - start : 1;
}

int64_t drain_s(const struct drain *d, int64_t now)
{
	int64_t left = d->unsent + d->makeable;
	double s;

	if (left <= 0)
		return 0;
	if (d->jobs <= 0 || d->stuck)
		return -1;
	s = (double)left * (double)drain_period_s(d, now) / (double)d->jobs;
	return s < (double)(INT64_MAX / 2) ? (int64_t)s : INT64_MAX / 2;
}

/* Splits a range into parts for the built-in generator. */

/* The first total % n parts are longer by one; no product overflows. */
void range_part(int64_t total, int32_t n, int32_t i, int64_t *from, int64_t *to)
{
	int64_t size = total / n, longer = total % n;

	assert(total >= 0 && n > 0 && i >= 0 && i < n);
	*from = size * i + (i < longer ? i : longer);
	*to = *from + size + (i < longer ? 1 : 0);
}

/* The end of life of a file set: it goes when nothing can need it any more. */

/* May work of the set still be made, or is some of it in the database? Only a generator
 * or an admin can say that no more will come. */
static bool set_is_needed(const struct retire_set *s)
{
	bool made = s->gen_parts > 0 && s->gen_next >= s->gen_parts;

	return s->has_workunit || s->paused == FILESET_PAUSED ||
	       !(made || s->no_work_available || s->paused == FILESET_DRAINING);
}

enum retire_step retire(const struct retire_set *s, int64_t retain_s, int64_t now)
{
	if (set_is_needed(s) || now < s->idle_since)
		return s->idle_since == 0 ? RETIRE_NONE : RETIRE_NEEDED;
	if (s->idle_since == 0)
		return RETIRE_IDLE;
	if (now - s->idle_since < retain_s)
		return RETIRE_NONE;
	if (s->paused != FILESET_DRAINING)
		return RETIRE_DRAIN;
	return now - s->idle_since < retain_s + RETIRE_SETTLE_S ? RETIRE_NONE :
	                                                          RETIRE_REMOVE;
}

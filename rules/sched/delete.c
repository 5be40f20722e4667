/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files a host is told to give up (seed 003, L7; design.md, Locality): those that
 * no result will come of any more, and, when jobs were refused for lack of disk, one
 * more to make room.
 */
#include "rules/sched/ctx.h"

#include "lib/banned.h"

enum { SPACE_DELAY_S = 14400 };

/* Used by a job of this reply, a resent one included. */
static bool
used_in_reply(const struct ctx *c, int64_t fileset_id)
{
	for (size_t i = 0; i < c->d->nsends; i++)
		if (c->d->sends[i].job->fileset_id == fileset_id)
			return true;
	return false;
}

/* The host has it, by that name, and nothing in this reply needs it. */
static bool
may_go(const struct ctx *c, const struct dec_file *df)
{
	const struct snap_file *f = df->file;

	return f->held && !f->paused && names_has(&c->held, f->name) &&
	       !used_in_reply(c, f->fileset_id);
}

static void
order(struct ctx *c, const struct dec_file *df, bool for_space)
{
	struct decision *d = c->d;

	PUSH(c->a, d->deletes, d->ndeletes,
	    c->deletes_cap) = (struct dec_delete){ .name = df->file->name,
		.bytes = df->file->bytes,
		.state = df->state,
		.for_space = for_space };
	messages_add(c, false, "File ", df->file->name,
	    for_space ? " will be deleted when no longer needed, to make room" :
			" will be deleted: no more tasks use it");
}

/* Jobs of the file that this host could get once it has room. */
static size_t
future_jobs(const struct ctx *c, const struct snap_file *f)
{
	size_t n = f->njobs;

	for (size_t i = 0; i < f->njobs; i++)
		if (!locality_in_order(c, &f->jobs[i], f->last_id) ||
		    ids_has(&c->user_wus, f->jobs[i].workunitid))
			n--;
	return n;
}

/* Least future value goes first, then what frees most, then the smaller id. */
static bool
worth_less(const struct ctx *c, const struct snap_file *a, const struct snap_file *b)
{
	size_t x = future_jobs(c, a), y = future_jobs(c, b);

	if (x != y)
		return x < y;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes;
	return a->fileset_id < b->fileset_id;
}

static void
order_for_space(struct ctx *c)
{
	const struct dec_file *least = NULL;

	for (size_t i = 0; i < c->snap->nfiles; i++) {
		const struct dec_file *df = &c->d->files[i];

		if (may_go(c, df) &&
		    (least == NULL || worth_less(c, df->file, least->file)))
			least = df;
	}
	if (least == NULL)
		return;
	order(c, least, true);
	decide_delay(c, SPACE_DELAY_S);
}

void
delete_orders(struct ctx *c)
{
	const struct decision *d = c->d;

	for (size_t i = 0; i < c->snap->nfiles; i++) {
		const struct dec_file *df = &d->files[i];

		/* Jobs may be on their way, and need it again. */
		if (df->state == FILE_EXHAUSTED && df->file->no_work_is_news)
			continue;
		/* New holders will not come, so these compute what is made again. */
		if (df->state == FILE_EXHAUSTED && df->file->draining)
			continue;
		if (df->state >= FILE_EXHAUSTED && may_go(c, df))
			order(c, df, false);
	}
	if (d->work_wanted && d->nsends == 0 && d->ndeletes == 0 &&
	    d->counts[WHY_DISK] > 0)
		order_for_space(c);
}

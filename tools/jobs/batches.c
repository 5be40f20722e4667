/* SPDX-License-Identifier: Apache-2.0 */
/* The batches of jobs that are being added. */
#include <stdlib.h>
#include "db/job_batch.h"
#include "lib/clock.h"
#include "model/rows.h"
#include "tools/jobs/jobs.h"
#include "lib/banned.h"

enum { BATCHES_MOST = 1000 };

static enum err
check_batch(const struct job_batches *b, const struct row_job_batch *row, size_t n)
{
	struct fail *f = b->x->f;

	if (n > 1)
		return FAIL(f, E_BADREQ,
		    "there are several batches %s; choose another name", row->name);
	if (row->app_id != b->app->id)
		return FAIL(f, E_BADREQ,
		    "batch %s is one of another app; choose another name", row->name);
	if (row->state == BATCH_ABORTED || row->state == BATCH_RETIRED)
		return FAIL(f, E_BADREQ, "batch %s was %s; choose another name",
		    row->name, row->state == BATCH_ABORTED ? "cancelled" : "retired");
	return OK;
}

enum err
job_batch_find(struct job_batches *b, const char *name, size_t *place)
{
	struct cmd_ctx *x = b->x;
	struct row_job_batch *row = NULL;
	size_t n = 1;
	enum err e;

	if (names_find(&b->names, name, place) && (b->v[*place].id != 0 || !b->make))
		return OK;
	e = job_batch_by_name(x->db, x->a, name, &row, &n, x->f);
	if (e == E_NOTFOUND && b->make) {
		n = 1;
		e = job_batch_make(
		    x->db, x->a, name, b->app->id, clock_now(), &row, x->f);
	}
	if (e != OK && e != E_NOTFOUND)
		return e;
	if (row != NULL)
		TRY(check_batch(b, row, n));
	if (!names_find(&b->names, name, place)) {
		if (b->n == BATCHES_MOST)
			return FAIL(
			    x->f, E_BADREQ, "more than %d batches", (int)BATCHES_MOST);
		*place = b->n;
		PUSH(x->a, b->v, b->n,
		    b->cap) = (struct batch_of){ .name = arena_strdup(x->a, name) };
		names_put(x->a, &b->names, b->v[*place].name, *place);
	}
	if (row != NULL) {
		b->v[*place].id = row->id;
		b->v[*place].state = row->state;
	}
	return OK;
}

static int
batch_order(const void *a, const void *b)
{
	int64_t x = ((const struct batch_of *)a)->id,
		y = ((const struct batch_of *)b)->id;

	return (x > y) - (x < y);
}

/* A copy of the list, by id: the order of locks. */
static struct batch_of *
batches_by_id(const struct job_batches *b)
{
	struct batch_of *v = arena_memdup(b->x->a, b->v, mul_or_die(b->n, sizeof(*v)));

	if (b->n > 1)
		qsort(v, b->n, sizeof(*v), batch_order);
	return v;
}

enum err
job_batches_hold(struct job_batches *b)
{
	const struct batch_of *v = b->n > 1 ? batches_by_id(b) : b->v;
	struct cmd_ctx *x = b->x;
	int64_t state;

	for (size_t i = 0; i < b->n; i++) {
		enum err e = job_batch_hold(x->db, v[i].id, &state, x->f);

		if (e != OK && e != E_NOTFOUND)
			return e;
		if (e == E_NOTFOUND || state == BATCH_ABORTED || state == BATCH_RETIRED)
			return FAIL(x->f, E_BADREQ,
			    "batch %s was cancelled while its jobs were being added; no more of them are released",
			    v[i].name);
	}
	return OK;
}

enum err
job_batches_save(struct job_batches *b, bool started)
{
	struct cmd_ctx *x = b->x;

	for (size_t i = 0; i < b->n; i++) {
		struct batch_of *v = &b->v[i];

		if (v->added > 0)
			TRY(job_batch_grow(x->db, v->id, v->added, x->f));
		if (started) {
			enum err e = job_batch_move(
			    x->db, v->id, BATCH_INIT, BATCH_IN_PROGRESS, x->f);
			if (e == E_RACE) /* it has started before, or is over */
				e = job_batch_move(x->db, v->id, BATCH_COMPLETE,
				    BATCH_IN_PROGRESS, x->f);
			if (e != OK && e != E_RACE)
				return e;
		}
	}
	return OK;
}

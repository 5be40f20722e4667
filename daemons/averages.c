/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decay is computed from the time that a row itself names, so a pass may be killed
 * anywhere, repeated, or missed for days.  Each batch is a transaction of its own.
 */
#include "daemons/averages.h"

#include "db/user.h"
#include "lib/log.h"
#include "lib/banned.h"

enum { BATCHES = 8, DAY_S = 86400, EVERY_S = 3600 };

struct decay {
	enum averages_of of;
	const int64_t *ids;
	size_t n;
};

static enum err
tx_decay(struct daemon_ctx *x, void *arg)
{
	const struct decay *d = arg;

	return averages_decay(x->db, d->of, d->ids, d->n, x->now, &x->fail);
}

/* *n: rows that were due; below AVERAGES_BATCH, the table has no more. */
static enum err
decay_batch(struct daemon_ctx *x, struct averages *p, size_t *n)
{
	struct decay d = { .of = (enum averages_of)p->table };
	int64_t *ids;
	enum err e;

	TRY(averages_due(
	    x->db, &x->a, d.of, p->after, x->now - DAY_S, &ids, n, &x->fail));
	if (*n == 0)
		return OK;
	d.ids = ids;
	d.n = *n;
	e = daemon_transaction(x, tx_decay, &d);
	/* Contention: the next pass finds them. */
	if (e != OK && e != E_RACE && e != E_RETRY)
		return e;
	p->after = ids[*n - 1];
	log_debug(
	    "[CREDIT] updated %zu averages up to id %lld", *n, (long long)p->after);
	return OK;
}

enum err
averages_step(struct daemon_ctx *x, struct averages *p, bool *full)
{
	if (x->mod_i != 0 || x->dry_run)
		return OK;
	if (p->begun_at == 0 ||
	    (p->table == AVERAGES__MAX &&
		(x->now < p->begun_at || x->now - p->begun_at >= EVERY_S)))
		*p = (struct averages){ .begun_at = x->now };
	for (int i = 0; i < BATCHES && p->table < AVERAGES__MAX; i++) {
		size_t n = 0;

		if (daemon_stopping(x))
			return OK;
		TRY(decay_batch(x, p, &n));
		if (n < AVERAGES_BATCH) {
			p->table++;
			p->after = 0;
		}
	}
	*full = *full || p->table < AVERAGES__MAX;
	return OK;
}
